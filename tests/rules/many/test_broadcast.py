"""Broadcasting by attributes (opset 6) and as numpy does it (7, 8)."""

import numpy as np
import onnx
import pytest
from helpers import assert_compares_equal, assert_rewrites, assert_same, convert_version, model, refusal, run

REFUSED_DOWN = [
    pytest.param("float[N,M] a, float[N,K] b", "'M' may or may not equal 'K' (dimension -1", id="which one broadcasts"),
    pytest.param("float[1,N] a, float[4] b", "'N' may or may not equal 4", id="N may be 1"),
]


@pytest.mark.parametrize("inputs, message", REFUSED_DOWN)
def test_refuses_what_shapes_do_not_tell(inputs, message):
    proto = model(f"g ({inputs}) => (float[A,B] y) {{ y = Add (a, b) }}", 7)
    assert message in refusal(proto, 6)


def test_refuses_an_infinite_slope_that_is_not_one_per_channel():
    proto = model("g (float[2,3] x) => (float[2,3] y) <float[2,1] s = {inf, 1.0}> { y = PRelu (x, s) }", 7)
    assert "not finite" in refusal(proto, 6)


def test_refuses_a_slope_at_run_time_that_is_not_one_per_channel():
    proto = model("g (float[2,3] x, float[2,1] s) => (float[2,3] y) { y = PRelu (x, s) }", 7)
    assert "the older form needs a slope that is not one per channel as a constant, and 's' is computed at run time" in refusal(
        proto, 6
    )


def test_refuses_a_negative_axis_that_has_no_one_meaning():
    proto = model("g (float[2,3] a, float[3,1] s) => (float[2,3] y) { y = Add <broadcast=1, axis=-2> (a, s) }", 6)
    assert "axis=-2 has no meaning before opset 7" in refusal(proto, 7)


LEGACY = [
    pytest.param((2, 3, 4, 5), (), None, (), id="scalar"),
    pytest.param((2, 3, 4, 5), (1, 1), None, (1, 1), id="one element"),
    pytest.param((2, 3, 4, 5), (1,), 1, (1,), id="one element with an axis"),
    pytest.param((2, 3, 4, 5), (5,), None, (5,), id="last dimension"),
    pytest.param((2, 3, 4, 5), (5,), -1, (5,), id="axis=-1"),
    pytest.param((2, 3, 4, 5), (4, 5), None, (4, 5), id="last dimensions"),
    pytest.param((2, 3, 4, 5), (4, 5), 2, (4, 5), id="last dimensions by axis"),
    pytest.param((2, 3, 4, 5), (3, 4), 1, (3, 4, 1), id="middle dimensions"),
    pytest.param((2, 3, 4, 5), (2,), 0, (2, 1, 1, 1), id="first dimension"),
]


def dims(shape):
    return "float" + (f"[{','.join(map(str, shape))}]" if shape else "")


@pytest.mark.parametrize("first, second, axis, aligned", LEGACY)
def test_attributes_become_the_broadcast_of_numpy(first, second, axis, aligned):
    attributes = "broadcast=1" + ("" if axis is None else f", axis={axis}")
    proto = model(f"g ({dims(first)} a, {dims(second)} b) => ({dims(first)} y) {{ y = Sub <{attributes}> (a, b) }}", 6)
    a, b = sample(first), sample(second, 7)
    result = convert_version(proto, 13).model
    np.testing.assert_array_equal(run(result, {"a": a, "b": b})[0], a - b.reshape(aligned))


def test_axis_without_broadcast_means_nothing():
    proto = model("g (float[2,2] a, float[2,2] b) => (float[2,2] y) { y = Add <axis=0> (a, b) }", 6)
    assert not convert_version(proto, 7).model.graph.node[0].attribute


def sample(shape, seed=3):
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    if values.size > 2:
        values.reshape(-1)[:2] = [-0.0, np.nan]
    return values


STRETCHED = [
    pytest.param((2, 3, 4), (2, 3, 4), ["Op {}"], id="equal"),
    pytest.param((2, 3, 4), (), ["Op {'broadcast': 1}"], id="scalar"),
    pytest.param((2, 3, 4), (4,), ["Op {'broadcast': 1}"], id="last dimension"),
    pytest.param((2, 3, 4), (3, 1), ["Squeeze {'axes': [1]}", "Op {'axis': 1, 'broadcast': 1}"], id="middle dimension"),
    pytest.param((2, 3, 4), (1, 3, 1), ["Squeeze {'axes': [0, 2]}", "Op {'axis': 1, 'broadcast': 1}"], id="ones at both ends"),
    pytest.param((2, 3, 4), (1, 1, 1), ["Op {'broadcast': 1}"], id="one element"),
    pytest.param((2, 3, 4), (2, 1, 4), ["Constant", "Cast", "Tile", "Op {'broadcast': 1}"], id="a one between"),
    pytest.param((3, 1), (1, 4), None, id="both"),
    pytest.param((4,), (2, 3, 4), None, id="first operand"),
    pytest.param((), (2, 3), None, id="first operand a scalar"),
    pytest.param((3,), (1, 3), None, id="only the rank"),
    pytest.param((0, 3), (1, 3), None, id="empty"),
]


@pytest.mark.parametrize("op", ["Sub", "Mul", "Less", "Div"])
@pytest.mark.parametrize("first, second, expected", STRETCHED)
def test_the_broadcast_of_numpy_becomes_attributes(op, first, second, expected):
    shape = np.broadcast_shapes(first, second)
    kind = dims(shape).replace("float", "bool") if op == "Less" else dims(shape)
    proto = model(f"g ({dims(first)} a, {dims(second)} b) => ({kind} y) {{ y = {op} (a, b) }}", 7)
    older = convert_version(proto, 6).model
    if expected is not None:
        found = [f"{node.op_type} {attributes(node)}" for node in older.graph.node]
        assert all(text.startswith(want.replace("Op", op)) for text, want in zip(found, expected, strict=True)), found
    assert all(is_legal(node, older) for node in older.graph.node)
    a, b = sample(first), sample(second, 7)
    there_and_back = convert_version(older, 7).model
    np.testing.assert_array_equal(run(there_and_back, {"a": a, "b": b}), run(proto, {"a": a, "b": b}))


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in sorted(node.attribute, key=lambda a: a.name)}


def is_legal(node, proto):
    """Whether the operands of a binary operator before 7 have shapes that its text allows."""
    if len(node.input) != 2 or node.op_type in ("Tile", "Gather"):
        return True
    values = onnx.shape_inference.infer_shapes(proto).graph
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in (*values.input, *values.value_info)}
    if any(producer.op_type == "Tile" and {*producer.output} & {*node.input} for producer in proto.graph.node):
        return True  # inference does not follow its repeats; the way back up shows the shape
    first, second = (shapes[name] for name in node.input)
    given = attributes(node)
    if not given.get("broadcast"):
        return first == second
    start = given.get("axis", len(first) - len(second))
    return (np.prod(second) == 1 and len(second) <= len(first)) or first[start : start + len(second)] == second


def test_a_symbol_equals_itself_and_one_dimension_is_read_at_run_time():
    proto = model("g (float[N,3,M] a, float[N,1,M] b, float[1,3,1] c) => (float[N,3,M] y) { t = Sub (b, c) y = Sub (t, a) }", 7)
    a, b, c = sample((2, 3, 4)), sample((2, 1, 4)), sample((1, 3, 1))
    back = convert_version(convert_version(proto, 6).model, 7).model
    np.testing.assert_array_equal(run(back, {"a": a, "b": b, "c": c})[0], b - c - a)


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_logic(op):
    proto = model(f"g (bool[2,3] a, bool[2,1] b) => (bool[2,3] y) {{ y = {op} (b, a) }}", 7)
    a, b = np.array([[1, 0, 1], [0, 1, 1]], bool), np.array([[1], [0]], bool)
    back = convert_version(convert_version(proto, 6).model, 7).model
    np.testing.assert_array_equal(run(back, {"a": a, "b": b}), run(proto, {"a": a, "b": b}))


SLOPES = [
    pytest.param((2, 3, 4), (1,), "PRelu", id="shared"),
    pytest.param((2, 3, 4), (3, 1), "PRelu", id="one per channel"),
    pytest.param((2, 3, 4), (1, 3, 1), "PRelu", id="one per channel with a batch dimension"),
    pytest.param((2, 3), (3,), "PRelu", id="matrix"),
    pytest.param((2, 3, 4), (4,), "Mul", id="last dimension"),
    pytest.param((2, 3, 4), (2, 3, 4), "Mul", id="elementwise"),
]


@pytest.mark.parametrize("shape, slope, op", SLOPES)
def test_prelu_down_and_up_again(shape, slope, op):
    proto = model(f"g ({dims(shape)} x) => ({dims(shape)} y) {{ y = PRelu (x, s) }}", 7)
    slopes = np.linspace(-1, 2, int(np.prod(slope)), dtype=np.float32).reshape(slope)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(slopes, "s"))
    older = convert_version(proto, 6).model
    assert older.graph.node[-1].op_type == op
    x = np.concatenate([[np.inf, -np.inf, np.nan, 0.0, -2.5], np.linspace(-3, 3, 30)]).astype(np.float32)
    x = x[: int(np.prod(shape))].reshape(shape)
    np.testing.assert_array_equal(run(convert_version(older, 7).model, {"x": x}), run(proto, {"x": x}))


def test_a_slope_of_opset_6_belongs_to_the_channels():
    proto = model("g (float[2,3,3] x, float[3] s) => (float[2,3,3] y) { y = PRelu (x, s) }", 6)
    x, s = sample((2, 3, 3)), np.array([1, 2, 3], np.float32)
    expected = np.where(x < 0, x * s[:, None], x)
    np.testing.assert_array_equal(run(convert_version(proto, 16).model, {"x": x, "s": s})[0], expected)


@pytest.mark.parametrize("op", ["Max", "Min", "Mean", "Sum"])
@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param(("[2,3]", "[3]"), id="known"),
        pytest.param(("[N,M]", "[K]"), id="unknown"),
        pytest.param(("[2,1]", "[1,3]", "[3]"), id="none has the common shape"),
    ],
)
def test_inputs_of_several_shapes(op, shapes):
    names = "abc"[: len(shapes)]
    text = ", ".join(f"float{shape} {name}" for shape, name in zip(shapes, names, strict=True))
    proto = model(f"g ({text}) => (float[A,B] y) {{ y = {op} ({', '.join(names)}) }}", 8)
    values = [sample((2, 3)), sample((3,), 5)] if len(shapes) == 2 else [sample((2, 1)), sample((1, 3), 5), sample((3,), 6)]
    assert_same(proto, 7, dict(zip(names, values, strict=True)))


def test_equal_shapes_stay_as_they_are():
    proto = model("g (float[N,3] a, float[N,3] b) => (float[N,3] y) { y = Max (a, b) }", 8)
    assert [node.op_type for node in convert_version(proto, 6).model.graph.node] == ["Max"]


def test_broadcast_of_what_was_not_inferred() -> None:
    text = (
        "g (float[3,6] x, float[2,1] z) => (float[A,B] p, float[C,D] y) <int64[2] s = {1, 2}> {"
        "t = Identity(s)\n p, q = Split<axis = 0>(x, t)\n y = Sub(z, q)}"
    )
    assert_compares_equal(model(text, 15), 6)


REWRITES = [
    (
        "broadcast.numpy_broadcast",
        6,
        7,
        "g (float[2,3,4] a, float[3] b) => (float[2,3,4] y) { y = Add <axis = 1, broadcast = 1> (a, b) }",
        "{ v1 = Unsqueeze <axes = [1]> (b) y = Add (a, v1) }",
    ),
    (
        "broadcast.limited_broadcast",
        7,
        6,
        "g (float[2,3,4] a, float[3,1] b) => (float[2,3,4] y) { y = Add (a, b) }",
        "{ v1 = Squeeze <axes = [1]> (b) y = Add <axis = 1, broadcast = 1> (a, v1) }",
    ),
    (
        "broadcast.equal_shapes",
        8,
        7,
        "g (float[2,3] a, float[3] b) => (float[2,3] y) { y = Max (a, b) }",
        "{ v1 = Less (a, a) v2 = Not (v1) v3 = Cast <to = 1> (v2) v4 = Mul (b, v3) y = Max (a, v4) }",
    ),
    (
        "broadcast.slope_per_channel",
        6,
        7,
        "g (float[1,3,4] x, float[3] s) => (float[1,3,4] y) { y = PRelu (x, s) }",
        "{ v1 = Unsqueeze <axes = [1]> (s) y = PRelu (x, v1) }",
    ),
    (
        "broadcast.slope_of_one_dimension",
        7,
        6,
        "g (float[1,3,4] x) => (float[1,3,4] y) <float[3,1] s = {1, 2, 3}> { y = PRelu (x, s) }",
        "<float[3,1] v1 = {1, 2, 3}> { v2 = Squeeze <axes = [1]> (v1) y = PRelu (x, v2) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
