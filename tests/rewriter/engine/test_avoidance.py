"""Operators, types and forms that a runtime does not take: rewritten, refused, or left with a warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import convert_version, model

from split_rewrite.rewriter import Options, UnconvertibleError

CHOICE = """agraph (bool c, float[2] x) => (float[2] y) {
    [choice] y = If(c) <then_branch = one () => (float[2] a) { a = Relu(x) }, else_branch = other () => (float[2] b) { b = Neg(x) }>
}"""

UNEVEN = "agraph (float[N,4] x) => (float[a,4] y, float[b,4] z) { [cut] y, z = Split<num_outputs=2>(x) }"


def test_an_operator_that_is_not_taken_is_a_blocker() -> None:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(CHOICE, 11), options=Options(for_runtimes=["tensorrt-7.0"]))
    assert "If 'choice' (main graph): NVIDIA TensorRT 7.0 does not allow it: it is not among the operators" in str(caught.value)


def test_a_type_that_is_not_taken_is_a_blocker(tmp_path: Path) -> None:
    profile = tmp_path / "npu.toml"
    profile.write_text('title = "NPU"\n[[release]]\nfrom = "1"\ntypes_refused = ["float"]\nevidence = "by documentation"\n')
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model("agraph (float[2] x) => (float[2] y) { y = Relu(x) }"), options=Options(for_runtimes=[str(profile)]))
    assert "Relu 'y' (main graph): NPU 1 does not support the type float" in str(caught.value)


def test_one_node_that_cannot_be_told_is_refused_with_a_hint() -> None:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(UNEVEN), 18, options=Options(for_runtimes=["mnn-3.6"]))
    assert "Split 'cut' (main graph): Alibaba MNN 3.6 computes it wrongly (Split by num_outputs, uneven)" in str(caught.value)
    assert "--overwrite-input-shape x:N" in str(caught.value)


def test_one_node_that_cannot_be_told_stays_where_the_runtime_refuses_it_aloud() -> None:
    """It is right for lengths that divide evenly, and no result is ever wrong. With --strict it is refused."""
    result, report = convert_version(model(UNEVEN), options=Options(for_runtimes=["opencv-4.12"]))
    assert [node.op_type for node in result.graph.node] == ["Split"]
    (warning,) = report.warnings
    assert "OpenCV dnn 4.12 refuses it (Split by num_outputs, uneven), if the node has that form: the axis dimension 'N'" in warning
    with pytest.raises(UnconvertibleError, match="if the node has that form"):
        convert_version(model(UNEVEN), options=Options(for_runtimes=["opencv-4.12"], strict=True))
    with pytest.raises(UnconvertibleError, match=r"OpenCV dnn 4.12 refuses it .*; Alibaba MNN 3.6 computes it wrongly"):
        convert_version(model(UNEVEN), 18, options=Options(for_runtimes=["opencv-4.12", "mnn-3.6"]))
