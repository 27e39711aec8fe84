"""AveragePool, MaxPool, LpPool: rounding up, dilations, what counts, and cautions."""

import numpy as np
import onnx
import pytest
from avoiding import converted
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

from split_rewrite import rewriter
from split_rewrite.rewriter import Options, UnconvertibleError, check_convertible


def pool(op, attributes, opset, shape="[1,2,7,6]"):
    text = f"g (float{shape} x) => (float[A,B,C,D] y) {{ y = {op} <kernel_shape=[3,3]{attributes}> (x) }}"
    return model(text, opset)


REFUSED = [
    pytest.param("MaxPool", ', dilations=[2,2], auto_pad="VALID"', 9, "together with auto_pad=VALID", id="dilated"),
    pytest.param(
        "MaxPool", ', ceil_mode=1, strides=[2,2], auto_pad="VALID"', 9, "together with auto_pad=VALID", id="automatic padding"
    ),
    pytest.param("LpPool", ', ceil_mode=1, dilations=[2,2], auto_pad="SAME_UPPER"', 21, "with auto_pad=SAME", id="rounded up"),
    pytest.param("MaxPool", ', ceil_mode=1, strides=[7,2], auto_pad="VALID"', 21, "together with auto_pad=VALID", id="behind"),
    pytest.param(
        "MaxPool",
        ", ceil_mode=1, strides=[6,6], dilations=[3,3], pads=[1,0,2,2]",
        21,
        "need padding as long as the kernel",
        id="more padding than the kernel",
    ),
    pytest.param(
        "AveragePool",
        ", ceil_mode=1, strides=[1,6], dilations=[2,1], pads=[1,0,1,2], count_include_pad=1",
        18,
        "the last window sees padding only",
        id="counted padding",
    ),
    pytest.param("AveragePool", ', count_include_pad=1, auto_pad="SAME_UPPER"', 6, "together with automatic", id="SAME counts"),
]


@pytest.mark.parametrize("op, attributes, target, message", REFUSED)
def test_refuses(op, attributes, target, message):
    assert message in refusal(pool(op, attributes, max(13, target + 1)), target)


@pytest.mark.parametrize("target", [9, 7])
@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize(
    "geometry", ["dilations=[2,1]", "dilations=[2,2], strides=[2,1], pads=[1,2,2,1]", "dilations=[3,2], strides=[1,3]"]
)
def test_a_dilated_maximum_to_the_last_bit(geometry, ceil, target):
    x = X.copy()
    x[0, 0, 3, 3], x[0, 1, 0, 0] = np.inf, -np.inf
    assert_same(pool("MaxPool", f", {geometry}, ceil_mode={ceil}", 13), target, {"x": x})


def maxima(attributes: str, shape: str = "2,3,7,8") -> str:
    rank = shape.count(",") + 1
    result = ",".join("ABCDE"[:rank])
    return f"g (float[{shape}] x) => (float[{result}] y, int64[{result}] i) {{ y, i = MaxPool <{attributes}> (x) }}"


def test_refuses_indices_of_unknown_lengths():
    assert "the axis dimension 'N' of 'x' is unknown" in refusal(model(maxima("kernel_shape=[2,2]", "1,1,N,4"), 8), 7)


@pytest.mark.parametrize("order", ["", ", storage_order=1"])
@pytest.mark.parametrize("target", [9, 8, 7])
@pytest.mark.parametrize(
    "attributes, shape",
    [
        ("kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1]", "2,3,7,8"),
        ("kernel_shape=[3,2], pads=[1,1,2,1], dilations=[2,2]", "2,3,7,8"),
        ("kernel_shape=[3,2,2], pads=[1,1,0,1,1,1], dilations=[1,2,1]", "1,2,5,4,6"),
        ("kernel_shape=[3], strides=[2], ceil_mode=1", "2,1,8"),
    ],
)
def test_where_the_first_maximum_is(attributes, shape, target, order):
    """Of few values, so that most windows have several maxima."""
    x = np.random.default_rng(8).integers(0, 4, [int(size) for size in shape.split(",")]).astype(np.float32)
    assert_same(model(maxima(attributes + order, shape), 12), target, {"x": x})


@pytest.mark.parametrize("target", [9, 7])
def test_maxima_of_no_image(target):
    proto = model(maxima("kernel_shape=[2,3], dilations=[1,2], ceil_mode=1", "0,1,4,6"), 12)
    assert_same(proto, target, {"x": np.zeros((0, 1, 4, 6), np.float32)})


def test_dilations_that_say_nothing_are_dropped_with_a_tolerance():
    """onnxruntime has another kernel for 19: its last bits are not those of 18."""
    result = convert_version(pool("AveragePool", ", dilations=[1,1]", 19), 18)
    assert [attribute.name for attribute in result.model.graph.node[0].attribute] == ["kernel_shape"]
    assert result.report.inexact == {"pooling.average_as_convolution"}


def _skipping(kernel: int, stride: int, side: str) -> onnx.ModelProto:
    attributes = f'kernel_shape=[{kernel}], strides=[{stride}], auto_pad="SAME_{side}"'
    return model(f"g (float[1,1,9] x) => (float[1,1,A] y) {{ y = AveragePool <{attributes}> (x) }}", 19)


@pytest.mark.parametrize("side", ["UPPER", "LOWER"])
def test_refuses_automatic_padding_that_skips_elements(side):
    assert f"auto_pad SAME_{side} needs a padding of [-2], which is negative" in refusal(_skipping(1, 3, side), 18)


@pytest.mark.parametrize("target", [18, 9])
def test_refuses_automatic_padding_beside_dilations_also_where_another_axis_skips_elements(target):
    text = 'g (float[1,1,5,6] x) => (float[1,1,A,B] y) {y = AveragePool <kernel_shape=[3,1], auto_pad="SAME_UPPER", strides=[1,2], dilations=[2,1]> (x)}'
    assert "auto_pad" in refusal(model(text, 21), target)


@pytest.mark.parametrize("side", ["UPPER", "LOWER"])
def test_automatic_padding_that_leaves_out_the_last_element_is_written_out(side):
    """onnxruntime takes auto_pad there from 19 on only."""
    x = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 9)
    result = assert_same(_skipping(2, 3, side), 18, {"x": x})
    assert "pads" in {attribute.name for attribute in result.graph.node[0].attribute}


@pytest.mark.parametrize("source, target", [(19, 9), (22, 21), (22, 10)])
def test_an_average_without_ceil_mode_may_be_added_in_another_order(source, target):
    """onnxruntime has a kernel of its own for ceil_mode, whose last bits differ."""
    proto = pool("AveragePool", ', ceil_mode=1, strides=[2,2], auto_pad="SAME_LOWER"', source, "[1,1,7,7]")
    compared = rewriter.convert_version(proto, target, compare="required").report.comparison
    assert compared is not None and compared.status == "equal"


@pytest.mark.parametrize("op, source, target", [("MaxPool", 10, 9), ("LpPool", 18, 17), ("AveragePool", 19, 18)])
def test_refuses_lengths_that_are_unknown(op, source, target):
    attributes = ", dilations=[2,2]" if op == "AveragePool" else ", ceil_mode=1"
    assert "dimension 'N' of 'x' is unknown" in refusal(pool(op, attributes, source, "[1,2,N,6]"), target).replace("axis ", "")


X = np.random.default_rng(6).normal(size=(1, 2, 7, 6)).astype(np.float32)

DOWN = [
    pytest.param("MaxPool", ", ceil_mode=1, strides=[2,2]", 10, 9, id="maximum rounding up"),
    pytest.param("MaxPool", ", ceil_mode=1, strides=[2,2], pads=[1,1,1,1]", 13, 7, id="maximum rounding up with padding"),
    pytest.param("MaxPool", ", ceil_mode=1, strides=[3,2], pads=[0,1,2,0]", 13, 7, id="maximum rounding up, uneven padding"),
    pytest.param("MaxPool", ", dilations=[1,1]", 13, 7, id="dilations of one"),
    pytest.param("MaxPool", ", storage_order=1", 13, 7, id="an order that concerns nothing"),
    pytest.param("MaxPool", ', ceil_mode=1, strides=[2,2], auto_pad="SAME_UPPER"', 13, 9, id="SAME rounds up anyway"),
    pytest.param("AveragePool", ", ceil_mode=1, strides=[2,2], pads=[1,1,1,1]", 10, 9, id="average rounding up"),
    pytest.param("AveragePool", ", count_include_pad=0", 9, 7, id="padding does not count"),
]


@pytest.mark.parametrize("op, attributes, source, target", DOWN)
def test_down_to_the_last_bit(op, attributes, source, target):
    result = assert_same(pool(op, attributes, source), target, {"x": X})
    assert [node.op_type for node in result.graph.node] == [op]


def windows(size, kernel, stride, dilation, begin, end, ceil):
    """Of each window, the positions inside the input, and inside the padded input."""
    room = size + begin + end - ((kernel - 1) * dilation + 1)
    count = (-(-room // stride) if ceil else room // stride) + 1
    count = min(count, (size + begin - 1) // stride + 1)
    for window in range(count):
        positions = [window * stride - begin + step * dilation for step in range(kernel)]
        yield [p for p in positions if 0 <= p < size], [p for p in positions if -begin <= p < size + end]


def average(x, strides, dilations, pads, ceil, count_padding):
    """The page's definition, element by element, in double."""
    axes = [list(windows(x.shape[2 + i], 3, strides[i], dilations[i], pads[i], pads[2 + i], ceil)) for i in (0, 1)]
    y = np.empty((*x.shape[:2], len(axes[0]), len(axes[1])))
    for i, (rows, padded_rows) in enumerate(axes[0]):
        for j, (columns, padded_columns) in enumerate(axes[1]):
            total = x[:, :, rows][..., columns].astype(np.float64).sum(axis=(2, 3))
            count = len(padded_rows) * len(padded_columns) if count_padding else len(rows) * len(columns)
            y[:, :, i, j] = total / count
    return y


@pytest.mark.parametrize("target", [18, 11, 9, 7, 6])
@pytest.mark.parametrize("count_padding", [0, 1])
@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize(
    "strides, dilations, pads",
    [
        ([1, 1], [2, 1], [0, 0, 0, 0]),
        ([2, 2], [2, 2], [1, 1, 1, 2]),
        ([2, 3], [1, 1], [1, 0, 1, 1]),
        ([4, 4], [1, 1], [0, 0, 0, 0]),
    ],
)
def test_averages_of_every_kind(target, count_padding, ceil, strides, dilations, pads):
    attributes = f", strides={strides}, dilations={dilations}, pads={pads}, ceil_mode={ceil}, count_include_pad={count_padding}"
    result = convert_version(pool("AveragePool", attributes, 22), target).model
    if target < 7:
        result = convert_version(result, 7).model  # onnxruntime starts there
    expected = average(X, strides, dilations, pads, ceil, count_padding)
    np.testing.assert_allclose(run(result, {"x": X})[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "attributes", [", dilations=[2,1], pads=[1,1,1,1]", ", ceil_mode=1, strides=[2,2]", ", dilations=[1,1], p=3"]
)
@pytest.mark.parametrize("target", [17, 11, 7])
def test_norms_of_every_kind(attributes, target):
    assert_same(pool("LpPool", attributes, 18), target, {"x": X}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["LpPool", "GlobalLpPool"])
def test_the_power_is_of_floating_type_in_opset_1(op):
    kernel = "kernel_shape=[2,2], " if op == "LpPool" else ""
    text = f"g (float[1,1,4,4] x) => (float[A,B,C,D] y) {{ y = {op} <{kernel}p=3> (x) }}"
    older = convert_version(model(text, 2), 1).model
    attribute = next(a for a in older.graph.node[0].attribute if a.name == "p")
    assert attribute.f == 3.0
    assert convert_version(older, 2).model.graph.node == model(text, 2).graph.node
    for power in (2.5, float("inf"), float("nan"), 3e38):
        attribute.f = power
        assert f"p={attribute.f:g} is not a 64-bit integer, which opset 2 and newer need" in refusal(older, 2)


@pytest.mark.parametrize("source, target", [(21, 22), (22, 21)])
@pytest.mark.parametrize("op", ["AveragePool", "LpPool", "MaxPool"])
def test_refuses_where_a_window_may_see_only_padding(op, source, target):
    proto = pool(op, ", ceil_mode=1, strides=[3,3], pads=[1,1,1,1]", source, "[1,2,N,M]")
    assert "ceil_mode=1 makes windows that see only the padding behind the input before opset 22" in refusal(proto, target)
    result = convert_version(proto, target, options=Options(semantics="onnxruntime"))
    assert result.model.graph.node == proto.graph.node


@pytest.mark.parametrize("source, target", [(21, 22), (22, 21)])
@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param(", strides=[3,3], pads=[1,1,1,1]", id="rounding down"),
        pytest.param(", ceil_mode=1, strides=[2,2], pads=[1,1,1,1]", id="stride and padding as long as the kernel"),
    ],
)
def test_converts_where_none_can(attributes, source, target):
    assert convert_version(pool("MaxPool", attributes, source, "[1,2,N,M]"), target).report.warnings == []


def test_a_window_of_padding_is_cut_downward():
    text = "g (float[1,1,2,2] x) => (float[1,1,1,1] y) { y = MaxPool <kernel_shape=[1,1], ceil_mode=1, strides=[2,2]> (x) }"
    x = np.float32([[[[1, 2], [3, 4]]]])
    for target in (21, 13, 9):
        result = convert_version(model(text, 22), target).model
        np.testing.assert_array_equal(run(result, {"x": x})[0], [[[[1]]]])


def unpooled(geometry: str, sizes: str = "") -> str:
    shape = f" <int64[4] s = {{{sizes}}}>" if sizes else ""
    inputs = "x, i, s" if sizes else "x, i"
    return (
        f"g (float[2,3,4,5] x, int64[2,3,4,5] i) => (float[A,B,C,D] y){shape} "
        f"{{ y = MaxUnpool <kernel_shape=[2,3]{geometry}> ({inputs}) }}"
    )


def test_refuses_to_unpool_to_a_shape_that_means_two_things():
    assert "an output shape other than by kernel, strides and pads" in refusal(model(unpooled("", "2,3,9,9"), 9), 8)


@pytest.mark.parametrize("target", [8, 7])
@pytest.mark.parametrize(
    "geometry, sizes, result",
    [
        ("", "", (2, 3, 5, 7)),
        (", strides=[2,3]", "2,3,8,15", (2, 3, 8, 15)),
        (", strides=[2,2], pads=[0,1,1,0]", "", (2, 3, 7, 10)),
    ],
)
def test_unpooled(geometry, sizes, result, target):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(2, 3, 4, 5)).astype(np.float32)
    x[0, 0, 0, 0] = np.inf
    expected = np.zeros(result, np.float32)
    places = rng.permutation(expected.size)[: x.size].reshape(x.shape)
    expected.reshape(-1)[places.reshape(-1)] = x.reshape(-1)
    got = run(convert_version(model(unpooled(geometry, sizes), 9), target).model, {"x": x, "i": places})[0]
    np.testing.assert_array_equal(got, expected, strict=True)


SMALLER = "LpPool <ceil_mode = 1, kernel_shape = [1, 2], strides = [2, 2]> (x)"
DECLARED = {
    "as-the-output": f"(float[1,1,6,4] x, int64 n) => (float[1,1,4,2] y) {{ y = {SMALLER} }}",
    "by-what-collects-it": f"""(float[1,1,6,4] x, int64 n, bool t) => (float[s,1,1,4,2] y) {{
        y = Loop (n, t) <body = b (int64 i, bool k) => (bool c, float[] v) {{ v = {SMALLER}\n c = Identity (k) }}> }}""",
}


@pytest.mark.parametrize("text", DECLARED.values(), ids=DECLARED)
def test_an_output_that_gets_smaller_is_refused(text: str) -> None:
    proto = model(f"g {text}", 21)
    meanings = "by the specification ceil_mode=1 makes windows that see only the padding behind the input before opset 22"
    assert meanings in refusal(proto, 22)
    with pytest.raises(UnconvertibleError, match="are dropped since opset 22"):
        convert_version(proto, 22, options=Options(semantics="specification"))
    report = check_convertible(proto, 22)
    assert report.blockers
    assert report.reach is not None and report.reach.highest == 21


def test_onnxruntime_has_always_dropped_those_windows() -> None:
    proto = model(f"g (float[1,1,6,4] x) => (float[a,b,c,d] y) {{ y = {SMALLER} }}", 21)
    result = convert_version(proto, 22, options=Options(semantics="onnxruntime"))
    assert result.report.warnings == []
    assert result.model.graph.node[0].SerializeToString() == proto.graph.node[0].SerializeToString()


REWRITES = [
    (
        "pooling.drop_storage_order",
        8,
        7,
        "g (float[1,1,4] x) => (float[1,1,2] y) { y = MaxPool <kernel_shape = [3], storage_order = 1> (x) }",
        "{ y = MaxPool <kernel_shape = [3]> (x) }",
    ),
    (
        "pooling.power_to_float",
        2,
        1,
        "g (float[1,1,4] x) => (float[1,1,1] y) { y = GlobalLpPool <p = 3> (x) }",
        "{ y = GlobalLpPool <p = 3.0> (x) }",
    ),
    (
        "pooling.power_to_integer",
        1,
        2,
        "g (float[1,1,4] x) => (float[1,1,1] y) { y = GlobalLpPool <p = 3.0> (x) }",
        "{ y = GlobalLpPool <p = 3> (x) }",
    ),
    (
        "pooling.round_down",
        10,
        9,
        "g (float[1,1,6] x) => (float[1,1,3] y) { y = MaxPool <ceil_mode = 1, kernel_shape = [3], strides = [2]> (x) }",
        "{ y = MaxPool <kernel_shape = [3], pads = [0, 1], strides = [2]> (x) }",
    ),
    (
        "pooling.average_as_convolution",
        19,
        18,
        "g (float[1,1,4] x) => (float[1,1,2] y) { y = AveragePool <dilations = [2], kernel_shape = [2]> (x) }",
        """
            <float[1,1,2] ones = {1, 1}, float[2] counts = {2, 2}>
            {
              sums = Conv <dilations = [2], group = 1, kernel_shape = [2], pads = [0, 0], strides = [1]> (x, ones)
              y = Div (sums, counts)
            }
        """,
    ),
    (
        "pooling.drop_windows_behind_the_input",
        22,
        21,
        "g (float[1,1,2] x) => (float[1,1,1] y) { y = MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [0, 1], strides = [2]> (x) }",
        "{ y = MaxPool <kernel_shape = [2], pads = [0, 0], strides = [2]> (x) }",
    ),
    (
        "pooling.norm_as_convolution",
        18,
        17,
        "g (float[1,1,4] x) => (float[1,1,2] y) { y = LpPool <dilations = [2], kernel_shape = [2]> (x) }",
        """
            <float p = {2}, float[1,1,2] ones = {1, 1}, float root = {0.5}>
            {
              absolute = Abs (x)
              powers = Pow (absolute, p)
              sums = Conv <dilations = [2], group = 1, kernel_shape = [2], pads = [0, 0], strides = [1]> (powers, ones)
              y = Pow (sums, root)
            }
        """,
    ),
    (
        "pooling.norm_as_convolution",
        18,
        17,
        "g (float[1,1,4] x) => (float[1,1,2] y) { y = LpPool <ceil_mode = 1, kernel_shape = [3], strides = [2]> (x) }",
        "{ y = LpPool <kernel_shape = [3], pads = [0, 1], strides = [2]> (x) }",
    ),
    (
        "pooling.pad_before_pooling",
        7,
        6,
        "g (float[1,1,4] x) => (float[1,1,4] y) { y = AveragePool <count_include_pad = 1, kernel_shape = [3], pads = [1, 1]> (x) }",
        "{ padded = Pad <pads = [0, 0, 1, 0, 0, 1]> (x) y = AveragePool <kernel_shape = [3]> (padded) }",
    ),
    (
        "pooling.scatter_maxima",
        9,
        8,
        "g (float[1,1,2] x, int64[1,1,2] i) => (float[1,1,4] y) { y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, i) }",
        """
            {
              flat_double = Constant <value = double[1] {-1}> ()
              flat = Cast <to = 7> (flat_double)
              flat_2 = Reshape (i, flat)
              zeros = Constant <value = float[4] {0, 0, 0, 0}> ()
              unpooled_length_double = Constant <value = double {4}> ()
              unpooled_length = Cast <to = 7> (unpooled_length_double)
              unpooled_sign = Cast <to = 1> (flat_2)
              unpooled_zero = Constant <value = float {0}> ()
              unpooled_negative = Less (unpooled_sign, unpooled_zero)
              unpooled_negative_2 = Cast <to = 7> (unpooled_negative)
              unpooled_shift = Mul (unpooled_negative_2, unpooled_length)
              unpooled_wrapped = Add (flat_2, unpooled_shift)
              unpooled_places_2_double = Constant <value = double[4,1] {0, 1, 2, 3}> ()
              unpooled_places = Cast <to = 7> (unpooled_places_2_double)
              unpooled_is_there = Equal (unpooled_wrapped, unpooled_places)
              unpooled_is_there_2 = Cast <to = 1> (unpooled_is_there)
              unpooled_numbers = Constant <value = float[2] {1, 2}> ()
              unpooled_numbered = Mul (unpooled_is_there_2, unpooled_numbers)
              unpooled_last = ReduceMax <axes = [1], keepdims = 0> (unpooled_numbered)
              unpooled_number = Cast <to = 7> (unpooled_last)
              unpooled_is_updated = Cast <to = 9> (unpooled_last)
              unpooled_is_updated_2 = Cast <to = 7> (unpooled_is_updated)
              unpooled_way_double = Constant <value = double[4] {3, 2, 1, 0}> ()
              unpooled_way = Cast <to = 7> (unpooled_way_double)
              unpooled_way_2 = Add (unpooled_number, unpooled_way)
              unpooled_moved = Mul (unpooled_way_2, unpooled_is_updated_2)
              unpooled_own_double = Constant <value = double[4] {0, 1, 2, 3}> ()
              unpooled_own = Cast <to = 7> (unpooled_own_double)
              unpooled_places_2 = Add (unpooled_moved, unpooled_own)
              unpooled_flat = Reshape (x, flat)
              unpooled_both = Concat <axis = 0> (zeros, unpooled_flat)
              unpooled = Gather <axis = 0> (unpooled_both, unpooled_places_2)
              shape_double = Constant <value = double[3] {1, 1, 4}> ()
              shape = Cast <to = 7> (shape_double)
              y = Reshape (unpooled, shape)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("op", ["AveragePool", "LpPool"])
def test_rounding_up_says_nothing_beside_automatic_padding(op):
    """The output is ceil(length / stride) long either way, and below opset 22 onnx infers another length for rounding up."""
    text = f"""g (float[1,1,4,4] x) => (float[1,1,2,2] y) {{
      y = {op} <kernel_shape=[1,1], strides=[2,2], auto_pad="SAME_UPPER", ceil_mode=1> (x)
    }}"""
    assert_same(model(text, 22), 21, {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)})


@pytest.mark.parametrize("target", [21, 9])
@pytest.mark.parametrize("op", ["AveragePool", "LpPool", "MaxPool"])
def test_rounding_up_says_nothing_beside_valid_where_the_window_is_behind_the_input(op, target):
    """Below opset 22 onnx infers that window, which no runtime makes."""
    text = f"""g (float[1,1,4,4] x) => (float[1,1,2,2] y) {{
      y = {op} <kernel_shape=[1,1], strides=[2,2], auto_pad="VALID", ceil_mode=1> (x)
    }}"""
    assert_same(model(text, 22), target, {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)})


def test_rounding_up_beside_valid_stays_where_it_makes_a_window():
    text = """g (float[1,1,5,5] x) => (float[1,1,3,3] y) {
      y = MaxPool <kernel_shape=[2,2], strides=[2,2], auto_pad="VALID", ceil_mode=1> (x)
    }"""
    (node,) = convert_version(model(text, 22), 21).model.graph.node
    assert any(attribute.name == "ceil_mode" and attribute.i == 1 for attribute in node.attribute)


@pytest.mark.parametrize(("op", "source"), [("AveragePool", 10), ("LpPool", 18), ("MaxPool", 10)])
def test_a_window_behind_the_input_has_two_meanings_below_opset_22(op, source):
    text = f"g (float[1,1,8] x) => (float[1,1,A] y) {{ y = {op}<kernel_shape=[1], strides=[2], ceil_mode=1> (x) }}"
    before, x = model(text, source), np.arange(8, dtype=np.float32).reshape(1, 1, 8)
    assert "it has two meanings: by the specification ceil_mode=1 makes windows" in refusal(before, source - 1)
    with pytest.raises(UnconvertibleError, match="with ceil_mode=1 the last window sees padding only"):
        convert_version(before, source - 1, options=Options(semantics="specification"))
    result = convert_version(before, source - 1, options=Options(semantics="onnxruntime"))
    np.testing.assert_array_equal(run(result.model, {"x": x})[0], x[..., ::2])


def test_no_window_at_all_is_refused_with_either_meaning():
    text = "g (float[1,1,0] x) => (float[1,1,A] y) { y = MaxPool<kernel_shape=[1], strides=[2], ceil_mode=1> (x) }"
    with pytest.raises(UnconvertibleError, match="no window fits into the input"):
        convert_version(model(text, 10), 9, options=Options(semantics="onnxruntime"))


def test_a_window_behind_the_input_is_dropped_for_a_runtime_that_counts_it(tmp_path):
    before = model(
        "g (float[1,1,6] x) => (float[1,1,3] y) { y = MaxPool<kernel_shape = [1], strides = [2], ceil_mode = 1>(x) }", 13
    )
    result = converted(before, "Window behind the input", tmp_path)
    assert {attribute.name for attribute in result.graph.node[0].attribute} == {"kernel_shape", "pads", "strides"}
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    np.testing.assert_array_equal(run(result, {"x": x})[0], x[..., ::2])


def test_a_last_window_that_sees_the_input_stays(tmp_path):
    before = model(
        "g (float[1,1,6] x) => (float[1,1,3] y) { y = MaxPool<kernel_shape = [3], strides = [2], ceil_mode = 1>(x) }", 13
    )
    assert converted(before, "Window behind the input", tmp_path).graph.node == before.graph.node


def test_an_average_whose_automatic_padding_may_be_negative_needs_its_length() -> None:
    text = (
        'g (float[N,1,{}] x) => (float[N,1,A] y) {{ y = AveragePool <kernel_shape=[1], strides=[2], auto_pad="SAME_LOWER"> (x) }}'
    )
    refused = refusal(model(text.format("W"), 19), 18)
    assert (
        "a stride is longer than the kernel, and a negative auto_pad needs opset 19: the axis dimension 'W' of 'x' is unknown"
        in refused
    )
    assert_same(model(text.format("7"), 19), 18, {"x": X[:, :1, :, 0]})
    assert_same(model(text.format("6"), 19), 18, {"x": X[:, :1, 0, :]})
