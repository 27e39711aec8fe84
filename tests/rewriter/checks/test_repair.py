"""Models that run and are not quite valid: repaired with a warning, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import assert_compares_equal, command_line, invalidity, model, refusal, run
from onnx import TensorProto, helper

from split_rewrite import rewriter
from split_rewrite.rewriter import CheckError, InvalidModelError, Options, UnconvertibleError, check_convertible, convert_version

Damage = Callable[[onnx.ModelProto], None]
X = np.arange(8, dtype=np.float32).reshape(2, 4)


def healthy() -> onnx.ModelProto:
    return model(
        """agraph (float[2,4] x) => (float[2,4] y) <float[4] b = {1.0,2.0,3.0,4.0}>
        { [first] h = Add(x, b) [second] s = Softmax <axis = 1> (h) [third] y = Neg(s) }""",
        opset=13,
    )


def declare(name: str, elem_type: int, *shape: int | str) -> Damage:
    return lambda proto: proto.graph.value_info.append(helper.make_tensor_value_info(name, elem_type, shape))


def declare_output(elem_type: int, *shape: int | str) -> Damage:
    return lambda proto: proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", elem_type, shape))


def both(*damages: Damage) -> Damage:
    def apply(proto: onnx.ModelProto) -> None:
        for damage in damages:
            damage(proto)

    return apply


def import_foo(version: int) -> Damage:
    return lambda proto: proto.opset_import.append(helper.make_opsetid("foo", version))


def declare_negative(proto):
    for value in (proto.graph.input[0], proto.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_value = -1


def call_sizes(name: str) -> Damage:
    def apply(proto: onnx.ModelProto) -> None:
        for value in (proto.graph.input[0], proto.graph.output[0]):
            for dim in value.type.tensor_type.shape.dim:
                dim.dim_param = name

    return apply


def put_last(proto: onnx.ModelProto) -> None:
    proto.graph.node.append(proto.graph.node[0])
    del proto.graph.node[0]


def name_alike(proto: onnx.ModelProto) -> None:
    proto.graph.node[2].name = "first"


def lower_ir(proto: onnx.ModelProto) -> None:
    proto.ir_version = 3


# -- what stays refused

REFUSED: dict[str, tuple[Damage, str]] = {
    "another type": (declare("h", TensorProto.INT64, 2, 4), "has unsupported type: tensor(int64)"),
    "another type of an output": (declare_output(TensorProto.INT64, 2, 4), "Inferred elem type differs"),
    "a circle": (lambda proto: proto.graph.node[0].input.__setitem__(1, "y"), "topologically sorted"),
    "two versions of the default domain": (
        lambda proto: proto.opset_import.append(helper.make_opsetid("", 11)),
        "imports the default domain twice, as opset 11 and 13",
    ),
    "a domain that is used and not imported": (
        lambda proto: proto.graph.node[2].__setattr__("domain", "foo"),
        "No opset import for domain 'foo'",
    ),
}


@pytest.mark.parametrize(("damage", "message"), REFUSED.values(), ids=REFUSED)
def test_what_might_mean_something_else_is_refused(damage, message):
    proto = healthy()
    damage(proto)
    assert message in invalidity(proto, 12)


# -- what is repaired

REPAIRED: dict[str, tuple[Damage, str]] = {
    "initializers that are no inputs": (
        lower_ir,
        "Initializer 'b' (main graph): it is not an input, as IR version 3 requires, so the IR version was raised",
    ),
    "a stale dimension": (
        declare("h", TensorProto.FLOAT, 2, 5),
        "Value 'h' (main graph): its declared shape is none that it can have: the declaration is gone",
    ),
    "a stale rank": (
        declare("h", TensorProto.FLOAT, 2, 4, 1),
        "Value 'h' (main graph): its declared shape is none that it can have: the declaration is gone",
    ),
    "another size of an output": (
        declare_output(TensorProto.FLOAT, "N", 5),
        "Output 'y' (main graph): its declared shape [N,5] contradicts [2,4], which inference finds: [N,?] is left",
    ),
    "another rank of an output": (
        declare_output(TensorProto.FLOAT, 2),
        "Output 'y' (main graph): its declared shape [2] contradicts [2,4], which inference finds: [?,?] is left",
    ),
    "declared twice alike": (
        both(declare("h", TensorProto.FLOAT, 2, 4), declare("h", TensorProto.FLOAT, 2, 4)),
        "Value 'h' (main graph): it is declared twice: one declaration is left",
    ),
    "declared twice": (
        both(declare("h", TensorProto.FLOAT, 2, 4), declare("h", TensorProto.FLOAT, "a", "b")),
        "Value 'h' (main graph): it is declared twice: no declaration is left",
    ),
    "unsorted nodes": (
        put_last,
        "Node 'first' (main graph): it comes behind a node that reads what it makes: the nodes are sorted now",
    ),
    "a domain imported twice": (
        both(import_foo(1), import_foo(1)),
        "Domain 'foo' (model): it is imported twice: one import is left",
    ),
    "a domain imported as two": (
        both(import_foo(1), import_foo(2)),
        "Domain 'foo' (model): it is imported twice: one import is left",
    ),
    "negative sizes": (
        declare_negative,
        "Value 'x' (model): a negative size in its declared shape counts as unknown, and 1 more",
    ),
    "sizes without a name": (
        call_sizes("?"),
        "Value 'x' (model): a dimension called '?' in its declared shape counts as unknown, and 1 more",
    ),
    "metadata twice": (
        lambda proto: proto.metadata_props.extend([onnx.StringStringEntryProto(key="a", value=value) for value in "bc"]),
        "Metadata 'a' (model): it is stated twice: the last value is left",
    ),
    "a name twice": (
        name_alike,
        "Node 'first' (main graph): another node has its name: it has a number behind it now",
    ),
}


@pytest.mark.parametrize(("damage", "warning"), REPAIRED.values(), ids=REPAIRED)
def test_it_is_repaired_with_a_warning(damage, warning):
    proto = healthy()
    damage(proto)
    result = convert_version(proto, 12, compare="required")
    assert result.report.warnings == [warning]
    onnx.checker.check_model(result.model, full_check=True)
    np.testing.assert_allclose(run(result.model, {"x": X})[0], run(healthy(), {"x": X})[0], rtol=1e-6)


@pytest.mark.parametrize(("damage", "warning"), REPAIRED.values(), ids=REPAIRED)
def test_strict_refuses(damage, warning):
    proto = healthy()
    damage(proto)
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(proto, 12, options=Options(strict=True))
    assert [str(blocker).partition(". Hint: ")[0] for blocker in caught.value.blockers] == [warning]


def with_a_parameter(name: str) -> onnx.ModelProto:
    """A model with a function whose Softmax has the attribute `name`, a parameter, without a type."""
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "f": 1]> g (float[2,4] x) => (float[2,4] y) { y = f.F<a = 0>(x) } '
        '<domain: "f", opset_import: ["": 17]> F<a>(x) => (y) { y = Softmax<axis: int = @a>(x) }'
    )
    proto.functions[0].node[0].attribute[0].name = name
    proto.functions[0].node[0].attribute[0].ClearField("type")
    return proto


def test_a_parameter_of_a_function_has_the_type_of_the_attribute():
    result, report = convert_version(with_a_parameter("axis"), 13, compare="required")
    message = "the attribute axis in it, a parameter, has no type: it is that of the operator"
    assert report.warnings == [f"Function 'F' (model): {message}"]
    expected = np.exp(X) / np.exp(X).sum(0)
    np.testing.assert_allclose(run(result, {"x": X})[0], expected, rtol=1e-6)


def test_a_parameter_that_the_operator_does_not_have_is_refused():
    with pytest.raises(InvalidModelError):
        convert_version(with_a_parameter("scale"), 13)


def test_a_dry_run_says_it_too():
    proto = healthy()
    put_last(proto)
    report = check_convertible(proto, 12)
    assert not report.blockers
    assert report.warnings == [REPAIRED["unsorted nodes"][1]]


def test_files_too(tmp_path: Path):
    proto = healthy()
    put_last(proto)
    onnx.save(proto, tmp_path / "m.onnx")
    ended = command_line(f"{tmp_path}/m.onnx", f"{tmp_path}/o.onnx", "-t", "12", "--compare", "required")
    assert (ended.status, REPAIRED["unsorted nodes"][1] in ended.err) == (0, True)


def test_many_of_a_kind_are_one_warning():
    proto = healthy()
    for name in ("h", "s"):
        declare(name, TensorProto.FLOAT, 2, 5)(proto)
    found = convert_version(proto, 12).report.warnings
    assert len(found) == 1 and "'h' (main graph) and 1 more:" in found[0]


def test_nodes_stay_where_they_can():
    proto = model("agraph (float[2] x) => (float[2] y, float[2] z) { z = Abs(b) a = Neg(x) b = Neg(a) y = Abs(x) }")
    assert [node.output[0] for node in convert_version(proto, 17).model.graph.node] == ["a", "b", "z", "y"]


def test_a_valid_model_is_not_touched():
    report = convert_version(healthy(), 13).report
    assert (list(report.warnings), list(report.changes)) == ([], [])


def test_a_constant_may_share_the_name_of_a_node():
    proto = model(
        "agraph (float[2] x) => (float[2] y) { [same] c = Constant <value = float[1] {1.0}> () [same] y = Add(x, c) }", opset=13
    )
    result = convert_version(proto, 12)
    assert result.report.warnings == []
    assert [node.name for node in result.model.graph.node] == ["same", "same"]


# -- outputs that only the result belies

THIRDS = """agraph (float[9,4] x) => (float[2,4] y) <int64[1] size = {3}, int64 last = {-1}>
{ sizes = Tile(size, size) parts = SplitToSequence <axis = 0> (x, sizes) y = SequenceAt(parts, last) }"""
"""Three parts of 3 rows, as torch.tensor_split is exported: of 2, says the exporter, and inference does not see the sizes."""
BELIED = "Output 'y' (main graph): its declared shape [2,4] contradicts [3,4], which inference finds: [?,4] is left"


def test_an_output_that_the_result_belies_is_corrected_where_both_are_equal():
    result = rewriter.convert_version(model(THIRDS, 13), 9)
    assert result.report.warnings == [BELIED]
    assert [dim.dim_value for dim in result.model.graph.output[0].type.tensor_type.shape.dim] == [0, 4]
    x = np.arange(36, dtype=np.float32).reshape(9, 4)
    np.testing.assert_array_equal(run(result.model, {"x": x})[0], x[6:])


def test_without_a_comparison_the_result_may_be_wrong():
    with pytest.raises(CheckError) as caught:
        rewriter.convert_version(model(THIRDS, 13), 9, compare="off")
    assert str(caught.value) == (
        "the model declares another shape of output 'y' than the result has, and no comparison shows that the result is right: "
        "correct the declaration, or let the models be compared"
    )


def test_strict_refuses_what_the_result_belies():
    with pytest.raises(UnconvertibleError) as caught:
        rewriter.convert_version(model(THIRDS, 13), 9, options=Options(strict=True))
    assert [str(blocker) for blocker in caught.value.blockers] == [f"{BELIED}. Hint: without --strict this is a warning"]


NEGATIVE = "g (float[N,M,3] x) => (float[A] w) <int64[1] n = {-1}> {y = Squeeze(x) z = Softmax<axis = -2>(y) w = Reshape(z, n)}"


def test_a_negative_size_is_not_one_that_squeeze_keeps() -> None:
    proto = model(NEGATIVE, 13)
    for dim in proto.graph.input[0].type.tensor_type.shape.dim[:2]:
        dim.dim_value = -1
    assert "the rank of 'y' is unknown" in refusal(proto, 12)


def test_a_model_with_negative_sizes_is_compared() -> None:
    proto = model("g (float[N,M] x) => (float[N,M] z) <int64 a = {1}> {z = CumSum<reverse = 1>(x, a)}", 18)
    for value in (*proto.graph.input, *proto.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_value = -1
    assert_compares_equal(proto, 10)


def test_dimensions_without_a_name_need_not_be_equal() -> None:
    """As converters from Paddle and Keras write images: the sizes of both axes are called alike."""
    text = "g (float[2,a,a] x) => (float[2,a,a] y) { s = Shape (x) t = Transpose <perm = [0,2,1]> (x) y = Reshape (t, s) }"
    proto = model(text, 13)
    for dim in (*proto.graph.input[0].type.tensor_type.shape.dim, *proto.graph.output[0].type.tensor_type.shape.dim):
        dim.dim_param = dim.dim_param and "None"
    result = convert_version(proto, 9, options=Options(overwrite_input_shapes={"x": [2, 3, 5]}))
    x = np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    np.testing.assert_array_equal(run(result.model, {"x": x})[0], x.swapaxes(1, 2).reshape(2, 3, 5))
    kept = model("g (float[a,4] x) => (float[a,4] y) { y = Relu (x) }", 13)
    kept.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "None"
    assert convert_version(kept, 14).model.graph.input == kept.graph.input
