"""Folding of constants: nothing large is made, and nothing is mistaken for its bits."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from helpers import model, run
from onnx import TensorProto, helper

from split_rewrite.rewriter.opsets.folding import evaluate


@pytest.mark.parametrize("operator", ["Add", "Mul", "Min"])
def test_folding_makes_nothing_large(operator: str) -> None:
    wide, high = np.ones((1, 65_536), np.int64), np.ones((65_536, 1), np.int64)
    assert evaluate(helper.make_node(operator, ["a", "b"], ["c"]), [wide, high]) is None


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceProd"])
def test_the_order_of_a_sum_of_floats_is_left_to_the_runtime(operator: str) -> None:
    node = helper.make_node(operator, ["a"], ["b"], keepdims=0)
    assert evaluate(node, [np.array([0.1, 0.2, 0.3], np.float32)]) is None
    expected = {"ReduceSum": 5, "ReduceProd": 6}[operator]
    assert evaluate(node, [np.array([2, 3], np.float32)]) == [expected]
    assert evaluate(node, [np.array([1, 2, 3])]) == [6]


def test_folding_gathers_nothing_large() -> None:
    node = helper.make_node("Gather", ["a", "b"], ["c"])
    assert evaluate(node, [np.ones((1, 65_536), np.int64), np.zeros(65_536, np.int64)]) is None


def test_folding_takes_no_bits_for_numbers() -> None:
    """onnx 1.17 reads them as 16128."""
    value = helper.make_tensor("v", TensorProto.BFLOAT16, [1], [0.5])
    found = evaluate(helper.make_node("ConstantOfShape", ["a"], ["b"], value=value), [np.array([2])])
    assert found is None or found[0].astype(np.float64).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "given, target", [([-1], "UINT8"), ([256], "UINT8"), ([-129], "INT8"), ([2**32], "UINT32"), ([-1], "UINT64")]
)
def test_casts_beyond_a_narrow_type_are_left_to_the_runtime(given: list[int], target: str) -> None:
    cast = helper.make_node("Cast", ["a"], ["b"], to=TensorProto.DataType.Value(target))
    assert evaluate(cast, [np.array(given)]) is None


@pytest.mark.parametrize("given", [[0, 255], [-0.5, 254.9]])
def test_casts_to_a_narrow_type(given: list[float]) -> None:
    (found,) = evaluate(helper.make_node("Cast", ["a"], ["b"], to=TensorProto.UINT8), [np.array(given)]) or [None]
    assert found is not None and found.dtype == np.uint8
    np.testing.assert_array_equal(found, [0, int(given[1])])


@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_are_folded_but_for_diagonals_far_away(upper: int) -> None:
    node, data = helper.make_node("Trilu", ["a", "k"], ["b"], upper=upper), np.full((3, 3), -np.inf, np.float32)
    (found,) = evaluate(node, [data, np.array(1)]) or [None]
    rows, columns = np.indices((3, 3))
    np.testing.assert_array_equal(found, np.where(columns - rows >= 1 if upper else columns - rows <= 1, data, np.float32(0)))
    assert evaluate(node, [data, np.array(2**62)]) is None


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_are_gathered_from_long_rows(axis: int) -> None:
    """onnx.reference takes the first index of a row for all of the row there."""
    node = helper.make_node("GatherElements", ["a", "i"], ["b"], axis=axis)
    data = np.arange(4900).reshape(70, 70)
    indices = np.argsort(np.sin(data), axis) - 35
    (found,) = evaluate(node, [data, indices]) or [None]
    np.testing.assert_array_equal(found, np.take_along_axis(data, indices, axis))
    assert evaluate(node, [data, indices - 36]) is None, "out of bounds"
    assert evaluate(node, [data, indices[:1, :1]]) is None, "fewer rows"


POWERS = {
    "root": ([4.0, 0.0, 2.25], [0.5], [2.0, 0.0, 1.5]),
    "square": ([3.0, -0.5], [2.0], [9.0, 0.25]),
    "inverse": ([4.0], [-1.0], [0.25]),
    "a root of two": ([2.0], [0.5], None),
    "a third": ([3.0], [-1.0], None),
    "a square that rounds": ([2.0**13 + 1], [2.0], None),
    "beyond the type": ([2.0**100], [2.0], None),
    "a root of a negative number": ([-4.0], [0.5], None),
    "one of nothing": ([0.0], [-1.0], None),
    "infinite": ([np.inf], [1.0], None),
    "large exponents": ([1.0], [9.0], None),
}


@pytest.mark.parametrize(("base", "exponent", "expected"), POWERS.values(), ids=POWERS.keys())
def test_powers_are_folded_where_they_are_exact(base: list[float], exponent: list[float], expected: list[float] | None) -> None:
    node = helper.make_node("Pow", ["a", "b"], ["c"])
    found = evaluate(node, [np.array(base, np.float32), np.array(exponent, np.float32)])
    assert (found is None) if expected is None else (found is not None and found[0].tolist() == expected)
    assert found is None or found[0].dtype == np.float32


def test_powers_of_integers() -> None:
    node = helper.make_node("Pow", ["a", "b"], ["c"])
    assert evaluate(node, [np.array([-3, 2]), np.array([3, 0])])[0].tolist() == [-27, 1]  # pyright: ignore[reportOptionalSubscript]
    assert evaluate(node, [np.array([2]), np.array([-1])]) is None
    assert evaluate(node, [np.array([2**30]), np.array([2])]) is None, "rounded in a double, as some runtimes do"


@pytest.mark.parametrize("start", [-9, -4, -1, 0, 2, 3, 9])
@pytest.mark.parametrize("end", [-(2**63) + 1, -9, -4, -2, 0, 3, 9])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_backward_slices(start: int, end: int, length: int) -> None:
    """As onnxruntime cuts them. By the specification, a start before the data is its first element; numpy takes nothing then."""
    node = helper.make_node("Slice", ["a", "s", "e", "x", "t"], ["b"])
    data = np.arange(length)
    given = [data, np.array([start]), np.array([end]), np.array([0]), np.array([-2])]
    (found,) = evaluate(node, given) or [None]
    assert (found is None) == (start < -length)
    if found is not None:
        np.testing.assert_array_equal(found, run_in_onnxruntime(node, given))


def run_in_onnxruntime(node: onnx.NodeProto, inputs: list[np.ndarray]) -> np.ndarray:
    """What onnxruntime makes of one node of opset 18."""
    ends = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), None)
        for n, a in zip(node.input, inputs, strict=True)
        if n
    ]
    graph = helper.make_graph([node], "g", ends, [onnx.ValueInfoProto(name=node.output[0])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {name: value for name, value in zip(node.input, inputs, strict=True) if name})[0]


@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_with_the_attribute(fmod: int) -> None:
    node = helper.make_node("Mod", ["a", "b"], ["c"], fmod=fmod)
    assert evaluate(node, [np.array([7, 8]), np.array([4])])[0].tolist() == [3, 0]  # pyright: ignore[reportOptionalSubscript]
    negative = evaluate(node, [np.array([-7]), np.array([4])])
    assert negative is None if fmod == 0 else negative == [np.array([-3])]


SIZES = {
    "sizes": (["x", "", "", "s"], [5, 4], True),
    "other sizes": (["x", "", "", "s"], [5, 5], False),
    "scales": (["x", "", "s"], [1.0, 1.0], True),
    "other scales": (["x", "", "s"], [1.0, 1.1], False),
    "no scales": (["x", "", "s"], [], False),
}


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("places", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize(("inputs", "value", "is_own"), SIZES.values(), ids=SIZES.keys())
def test_a_resize_to_its_own_size_is_folded(mode: str, places: str, inputs: list[str], value: list[float], is_own: bool) -> None:
    node = helper.make_node("Resize", inputs, ["y"], mode=mode, coordinate_transformation_mode=places)
    data = np.arange(20, dtype=np.float32).reshape(5, 4) / 7
    given = [
        data if name == "x" else np.array(value, np.int64 if inputs[2] == "" else np.float32) if name else None for name in inputs
    ]
    found = evaluate(node, given)
    assert (found is not None) == is_own
    if found:
        np.testing.assert_array_equal(found[0], data)
        np.testing.assert_array_equal(run_in_onnxruntime(node, given), data)
    assert evaluate(node, [None if v is None else v * np.float32(np.inf) if v is data else v for v in given]) is None


def test_a_part_of_an_image_is_not_folded() -> None:
    node = helper.make_node("Resize", ["x", "r", "s"], ["y"], coordinate_transformation_mode="tf_crop_and_resize", mode="linear")
    given = [np.ones((2, 2), np.float32), np.array([0, 0.5, 1, 1], np.float32), np.ones(2, np.float32)]
    assert evaluate(node, given) is None


SCATTERED = {
    "rows": ([[0], [-1]], (2, 4), True),
    "elements": ([[0, 0], [-5, 1], [4, -1]], (3,), True),
    "a place twice": ([[0], [-5]], (2, 4), False),
    "out of bounds": ([[5]], (1, 4), False),
    "below": ([[-6]], (1, 4), False),
    "other updates": ([[0], [1]], (1, 4), False),
}


@pytest.mark.parametrize(("indices", "shape", "is_known"), SCATTERED.values(), ids=SCATTERED.keys())
def test_scattered_updates(indices: list[list[int]], shape: tuple[int, ...], is_known: bool) -> None:
    node = helper.make_node("ScatterND", ["a", "i", "u"], ["b"])
    data = np.arange(20, dtype=np.float32).reshape(5, 4)
    given = [data, np.array(indices), -np.ones(shape, np.float32)]
    found = evaluate(node, given)
    assert (found is not None) == is_known
    if found is not None:
        np.testing.assert_array_equal(found[0], run_in_onnxruntime(node, given))
        assert evaluate(helper.make_node("ScatterND", ["a", "i", "u"], ["b"], reduction="add"), given) is None


MOST32, MOST64 = 2**31 - 1, 2**63 - 1


@pytest.mark.parametrize("end", [MOST32, MOST64])
def test_a_slice_back_to_the_end_has_two_meanings(end: int) -> None:
    node = helper.make_node("Slice", ["a", "s", "e", "x", "t"], ["b"])
    given = [np.array([1, 2, 1]), *(np.array([number]) for number in (0, end, 0, -1))]
    assert evaluate(node, given) is None
    assert evaluate(node, [*given[:4], np.array([1])])[0].tolist() == [1, 2, 1]  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.parametrize(
    ("operator", "data"),
    [
        ("ReduceSum", np.array([MOST32, MOST32, 4], np.int32)),
        ("ReduceSum", np.array([2**53, 1])),
        ("ReduceSum", np.array([2**53, 1, -(2**53)])),
        ("ReduceProd", np.array([94906267, 94906267])),
        ("ReduceMax", np.array([7, 1, np.nan], np.float32)),
        ("ReduceMin", np.array([7, 1, np.nan], np.float32)),
    ],
)
def test_reductions_beyond_what_all_runtimes_agree_on_are_left_alone(operator: str, data: np.ndarray) -> None:
    assert evaluate(helper.make_node(operator, ["x"], ["y"], keepdims=0), [data]) is None


@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_of_zeros_of_both_signs_nobody_says_which_is_larger(operator: str) -> None:
    node = helper.make_node(operator, ["x", "z"], ["y"])
    zeros = [np.array([0, 1], np.float32), np.array([-0.0, 2], np.float32)]
    assert evaluate(node, zeros) is None
    assert evaluate(node, [abs(zero) for zero in zeros]) is not None


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("axis", [np.array(0), np.array([-1])], ids=["a number", "a vector"])
def test_running_sums_of_integers(axis: np.ndarray, exclusive: int, reverse: int) -> None:
    attributes = {"exclusive": exclusive, "reverse": reverse}
    proto = model(
        f"g (int64[2,3] x, int64{list(axis.shape)} a) => (int64[2,3] y) {{ y = CumSum(x, a) }}".replace("int64[]", "int64"), 14
    )
    proto.graph.node[0].attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    feeds = {"x": np.array([[1, 2, 2**63 - 1], [4, 5, 6]]), "a": axis}
    (found,) = evaluate(proto.graph.node[0], list(feeds.values())) or [None]
    np.testing.assert_array_equal(found, run(proto, feeds)[0])


def test_running_sums_of_floats_are_left_to_the_runtime() -> None:
    assert evaluate(helper.make_node("CumSum", ["x", "a"], ["y"]), [np.ones(2, np.float32), np.array(0)]) is None
