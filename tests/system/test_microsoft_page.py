"""The page about onnxruntime's operators is what its generator writes, and says rightly which operators have no kernel."""

from __future__ import annotations

import microsoft_page
import pytest
from packaging.version import Version

from split_rewrite.rewriter.opsets import facts

pytestmark = pytest.mark.quick


def test_the_page_is_up_to_date() -> None:
    assert microsoft_page.PAGE.read_text(encoding="utf-8") == microsoft_page.text(), "run python docs/site/microsoft_page.py"


def test_which_operators_have_no_kernel() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    if Version(onnxruntime.__version__) < Version("1.32"):
        pytest.skip("the rows are those of onnxruntime 1.32")
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

    kernels = {f"{kernel.domain}::{kernel.op_name}" for kernel in get_all_opkernel_def()} | {
        f"com.microsoft::{kernel.op_name}" for kernel in get_all_opkernel_def() if not kernel.domain
    }
    rows = {name for name in facts.known_operators() if name.startswith("com.microsoft::")}
    assert {name for name in rows if facts._fact(name).has("no-kernel")} == rows - kernels
