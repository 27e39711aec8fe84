"""The file of the adapters, which another environment's Python runs."""

from __future__ import annotations

import ast
from pathlib import Path

import fake_adapters
import pytest

from split_rewrite.rewriter.execution import adapters

SOURCE = Path(adapters.__file__).read_text(encoding="utf-8")


def test_it_imports_nothing_but_the_standard_library_and_numpy_before_a_runtime_is_asked_for() -> None:
    imported = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert all(getattr(node, "level", 0) == 0 for node in imported)
    names = {(getattr(node, "module", None) or node.names[0].name).partition(".")[0] for node in imported}
    assert names - {"__future__", "numpy"} <= set(__import__("sys").stdlib_module_names)


def test_an_interpreter_of_an_older_environment_runs_it() -> None:
    tree = ast.parse(SOURCE, feature_version=(3, 8))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "zip"]
    assert not any(keyword.arg == "strict" for call in calls for keyword in call.keywords)


def test_an_adapter_has_a_package_and_two_methods() -> None:
    for kind in adapters.ADAPTERS.values():
        assert isinstance(kind.package, str) and callable(kind.load) and callable(kind.run)


def test_a_class_of_ones_own_is_found_by_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(fake_adapters.__file__).parent)
    assert adapters.find_adapter("fake_adapters:Right").__name__ == "Right"
    with pytest.raises(AttributeError):
        adapters.find_adapter("fake_adapters:Nobody")
