"""Which of two meanings a SplitToSequence has: what settles it, what does not, and what is known where nothing does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import command_line, convert_version, model, refusal, run, simplify

from split_rewrite.rewriter import InvalidModelError, Options, UnconvertibleError

X = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
SETTLED = "of which only onnxruntime's fits the shapes in the rest of the model"


def unbind(node: str, output: str, more: str = "", split: str = "int64 one = {1}") -> onnx.ModelProto:
    """A SequenceAt behind what PyTorch writes for `unbind`, and a node behind that."""
    text = (
        f"g (float[3,b,4] x) => (float{output} y) <{split}, int64 zero = {{0}}{more}> "
        f"{{ q = SplitToSequence<axis = 0, keepdims = 0>(x, one) e = SequenceAt(q, zero) y = {node} }}"
    )
    return model(text, 17)


WEIGHTS = ", float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"


@pytest.mark.parametrize("output", ["[1,b,4]", "[1,2,4]"])
def test_a_shape_that_onnx_infers_settles_nothing(output: str) -> None:
    proto = unbind("Relu(e)", output)
    result = convert_version(proto, 18)
    assert [node.op_type for node in result.model.graph.node] == ["SplitToSequence", "SequenceAt", "Relu"]
    assert result.model.graph.output[0] == proto.graph.output[0]
    assert not result.report.warnings


def without_shape(proto: onnx.ModelProto) -> onnx.ModelProto:
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    return proto


def test_the_rank_is_unknown_where_nothing_settles_it() -> None:
    message = refusal(without_shape(unbind("Softmax<axis = -2>(e)", "[b,4]")), 11)
    assert "the rank of 'e' is unknown" in message
    assert (
        "Hint: SplitToSequence 'q' has two meanings: choose one with --semantics specification or --semantics onnxruntime"
        in message
    )


@pytest.mark.parametrize("target", [11, 13, 18])
@pytest.mark.parametrize(
    ("node", "output", "more"),
    [
        ("Relu(e)", "[b,4]", ""),
        ("Softmax<axis = -2>(e)", "[b,4]", ""),
        ("Gemm(e, w)", "[b,2]", WEIGHTS),
    ],
)
def test_a_declared_rank_or_an_operator_that_takes_one_settles_it(node: str, output: str, more: str, target: int) -> None:
    proto = unbind(node, output, more)
    result = convert_version(proto, target)
    assert [SETTLED in str(remark) for remark in result.report.warnings] == [True]
    assert result.model.graph.output == proto.graph.output
    np.testing.assert_allclose(run(result.model, {"x": X})[0], run(proto, {"x": X})[0], rtol=1e-6)


def test_a_split_that_nothing_else_reads_is_gone() -> None:
    alone = convert_version(unbind("Relu(e)", "[b,4]"), 18)
    beside = convert_version(unbind("Mul(e, k)", "[b,4]", ", float k = {2}"), 18)
    read = convert_version(unbind("Gather(e, one)", "[4]"), 18)
    assert "one" not in {tensor.name for result in (alone, beside) for tensor in result.model.graph.initializer}
    assert "one" in {tensor.name for tensor in read.model.graph.initializer}


def test_a_runtime_that_lacks_the_operator_names_the_option(tmp_path: Path) -> None:
    onnx.save(without_shape(unbind("Relu(e)", "[b,4]")), tmp_path / "in.onnx")
    ended = command_line("--for", "tensorrt-8.6", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx"))
    assert ended.status == 1
    assert "NVIDIA TensorRT 8.6 does not allow it" in ended.err
    assert "it stays because it has two meanings" in ended.err
    assert "Hint: choose one with --semantics" in ended.err


def test_it_is_a_refusal_where_warnings_are() -> None:
    with pytest.raises(UnconvertibleError, match=SETTLED):
        convert_version(unbind("Relu(e)", "[b,4]"), 18, options=Options(strict=True))


@pytest.mark.parametrize(("semantics", "rank"), [("specification", 3), ("onnxruntime", 2)])
def test_what_the_user_says_counts(semantics: str, rank: int) -> None:
    proto = without_shape(unbind("Relu(e)", "[b,4]"))
    result = convert_version(proto, 11, options=Options(semantics=semantics))
    assert not any("two meanings" in str(remark) for remark in result.report.warnings)
    assert run(result.model, {"x": X})[0].ndim == rank


def test_the_command_line_compares_it_with_the_file_as_it_was_read(tmp_path: Path) -> None:
    onnx.save(unbind("Softmax<axis = -2>(e)", "[b,4]"), tmp_path / "in.onnx")
    ended = command_line("-t", "11", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx"))
    assert (ended.status, SETTLED in ended.err) == (0, True)
    assert "comparison  equal, exact" in ended.out


def test_a_vector_of_sizes_has_one_meaning() -> None:
    proto = unbind("Relu(e)", "[1,b,4]", split="int64[3] one = {1, 1, 1}")
    assert [node.op_type for node in simplify(proto).model.graph.node][-1] == "Relu"
    assert not simplify(proto).report.warnings


def test_a_split_that_cannot_be_read_settles_nothing() -> None:
    proto = unbind("Relu(e)", "[b,4]")
    next(tensor for tensor in proto.graph.initializer if tensor.name == "one").CopyFrom(
        onnx.TensorProto(name="one", data_type=onnx.TensorProto.INT64, raw_data=b"12345")
    )
    with pytest.raises(InvalidModelError, match="'one'"):
        convert_version(proto, 18)


def test_parts_of_two_have_one_meaning() -> None:
    """onnxruntime fails for them."""
    proto = unbind("Relu(e)", "[2,b,4]", split="int64 one = {2}")
    result = convert_version(proto, 18)
    assert "SplitToSequence" not in {node.op_type for node in result.model.graph.node}
    assert not result.report.warnings


@pytest.mark.parametrize("sizes", ["6", "4, 2"])
def test_a_constant_vector_of_sizes_is_no_scalar(sizes: str) -> None:
    count = len(sizes.split(","))
    text = f"""g (float[N,6] x) => (seq(float[A,B]) s) {{
        c = Constant<value = int64[{count}] {{{sizes}}}>() s = SplitToSequence<axis = 1, keepdims = 0>(x, c) }}"""
    assert [node.op_type for node in convert_version(model(text, 18), 17).model.graph.node][-1] in (
        "SplitToSequence",
        "SequenceConstruct",
    )
