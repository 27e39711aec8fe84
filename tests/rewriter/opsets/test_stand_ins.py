"""Nodes that onnx infers wrongly, or not at all, are inferred by others in their place, and stand in the model again afterwards."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import convert_version, model, refusal, run

from split_rewrite.rewriter.opsets import inference, type_protos

TWO_NORMALIZATIONS = """g (float[1,8,4,4] x, float[{parts}] s, float[{parts}] t, float[8,8,3,3] w) => (float[1,8,4,4] y) {{
    a = GroupNormalization <num_groups = 4> (x, s, t)
    b = Conv <pads = [1, 1, 1, 1]> (a, w)
    c = GroupNormalization <num_groups = 4> (b, s, t)
    y = Relu (c)
}}"""


def inferred_shapes(source: onnx.ModelProto) -> dict[str, inference.Shape | None]:
    inferred = inference.infer_model(source)
    assert inferred is not None
    assert [node.op_type for node in inferred.graph.node] == [node.op_type for node in source.graph.node]
    return {value.name: type_protos.shape_of(value.type) for value in inferred.graph.value_info}


@pytest.mark.parametrize(("opset", "parts"), [(18, 4), (21, 8)])
def test_group_normalization_keeps_type_and_shape(opset: int, parts: int) -> None:
    source = model(TWO_NORMALIZATIONS.format(parts=parts), opset)
    assert inferred_shapes(source) == dict.fromkeys("abc", (1, 8, 4, 4))


@pytest.mark.parametrize(("opset", "parts"), [(18, 4), (21, 8)])
def test_two_group_normalizations_with_a_convolution_between_are_written_in_older_operators(opset: int, parts: int) -> None:
    report = convert_version(model(TWO_NORMALIZATIONS.format(parts=parts), opset), 17, compare="auto").report
    assert report.comparison is not None and report.comparison.status == "equal"


def test_group_normalization_in_a_subgraph_and_in_a_function_keeps_type_and_shape() -> None:
    source = model("""<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    g (float[1,4,2] x, float[4] s, bool c) => (float[1,4,2] y, float[1,4,2] z) {
        p = If (c) <
            then_branch = t () => (float[1,4,2] q) { n = GroupNormalization <num_groups = 2> (x, s, s)
                q = Relu (n) },
            else_branch = e () => (float[1,4,2] r) { r = Relu (x) }
        >
        y = Neg (p)
        h = local.f (x, s)
        i = Neg (h)
        z = Relu (i)
    }
    <domain: "local", opset_import: ["" : 21]> f (v, s) => (w) { w = GroupNormalization <num_groups = 2> (v, s, s) }""")
    inferred = inference.infer_model(source)
    assert inferred is not None
    branch = inferred.graph.node[0].attribute[0].g
    assert [type_protos.shape_of(value.type) for value in branch.value_info] == [(1, 4, 2)]
    assert branch.node[0] == source.graph.node[0].attribute[0].g.node[0]
    assert inferred.functions == source.functions
    assert inferred_shapes(source) == dict.fromkeys("phi", (1, 4, 2))


def test_operators_of_opset_1_that_keep_the_shape_of_their_input_are_known_to() -> None:
    source = model(
        """g (float[2,3] x, float[3] b) => (float[2,3] y) {
            p = Add <axis = 1, broadcast = 1> (x, b)
            q = Max (p, x)
            r = Dropout <is_test = 1> (q)
            y = Relu (r)
        }""",
        1,
        3,
    )
    assert inferred_shapes(source) == dict.fromkeys("pqr", (2, 3))


CUT = "g (float[N,4] x) => (float[N,4] y) <int64[1] s = {0}, int64[1] e = {1}, int64[1] a = {0}> { h = Slice(x, s, e, a) y = Add(h, x) }"


def test_a_named_dimension_that_slice_of_opset_10_cuts_has_another_length() -> None:
    original = model(CUT, 10)
    found = inference.infer_model(original)
    assert found is not None
    assert {value.name: type_protos.shape_of(value.type) for value in found.graph.value_info} == {"h": (None, 4)}
    del found.graph.value_info[:]
    assert found == original


def test_what_it_cuts_elsewhere_is_known() -> None:
    found = inference.infer_model(model(CUT.replace("a = {0}", "a = {1}"), 10))
    assert found is not None
    assert {value.name: type_protos.shape_of(value.type) for value in found.graph.value_info} == {"h": ("N", 1)}


def test_it_is_not_known_whether_the_parts_broadcast() -> None:
    assert "an unknown dimension may or may not equal 'N'" in refusal(model(CUT, 10), 6)


def test_the_shape_that_a_reshape_below_opset_5_states_is_known() -> None:
    source = model(
        "g (float[N,3,4] x) => (float y) { a = Reshape <shape = [-1, 12]> (x) b = Reshape <shape = [0, 2, 6]> (a) y = Relu (b) }", 4
    )
    assert inferred_shapes(source)["a"] == (None, 12)
    assert inferred_shapes(source)["b"] == (None, 2, 6)
    source = model("g (float[N,3,4] x) => (float[A,B] y) { a = Reshape <shape = [-1, 12]> (x) y = Softmax (a) }", 4)
    assert [node.op_type for node in convert_version(source, 13).model.graph.node] == ["Reshape", "Softmax"]


@pytest.mark.parametrize(
    ("opset", "start", "shape"),
    [
        (11, "v", None),
        (18, "v", None),
        (18, "Neg (v)", None),
        (10, "Reshape (one, all)", None),
        (18, "Reshape (one, all)", None),
        (18, "Concat <axis = 0> (one)", ("B", "P", 1, 3)),
    ],
)
def test_a_slice_from_a_start_that_is_computed_does_not_start_at_0(
    opset: int, start: str, shape: tuple[int | str, ...] | None
) -> None:
    made = f"s = {start}" if "(" in start else "s = Identity (v)"
    text = f"g (float[B,P,1,1] x, int64[1] v) => (float[a,b,c,d] y) <int64[1] one = {{1}}, int64[1] all = {{-1}}, int64[1] e = {{3}}, int64[4] sizes = {{2,1,3,1}}> {{ {made} w = Slice (sizes, s, e) y = Expand (x, w) }}"
    proto = model(text, opset)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    inferred = inference.infer_model(proto)
    assert inferred is not None
    assert [node.op_type for node in inferred.graph.node][1:] == ["Slice", "Expand"]
    found = type_protos.shape_of(inferred.graph.output[0].type)
    assert found == shape


@pytest.mark.parametrize(
    ("casts", "shape"),
    [
        ("Cast<to = 3>(s)", None),
        ("Cast<to = 9>(s)", None),
        ("Cast<to = 10>(s)", None),
        ("Cast<to = 1>(s)", (301,)),
        ("Cast<to = 6>(s)", (301,)),
        ("Gather(s, zero)", (301,)),
    ],
)
@pytest.mark.parametrize("way", ["l = Gather(h, zero)", "k = Squeeze(h) l = Unsqueeze(k, zero)"])
def test_sizes_that_a_cast_may_change_are_not_known(casts: str, shape: tuple[int] | None, way: str) -> None:
    text = f"g (float[N] x, float[301] z) => (float[a] y) <int64[1] zero = {{0}}> {{ s = Shape(z) h = {casts} {way} q = Cast<to = 7>(l) y = Reshape(x, q) }}"
    proto = model(text, 18)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    inferred = inference.infer_model(proto)
    assert inferred is not None and inferred.graph.node[-2].op_type == "Cast"
    found = type_protos.shape_of(inferred.graph.output[0].type)
    assert found == ((None,) if shape is None else shape)


def test_a_split_behind_such_a_cast_has_no_constant_sizes() -> None:
    text = "g (float[N] x, float[301] z) => (float[a] y, float[b] w) { s = Shape(z) r = Cast<to = 3>(s) q = Cast<to = 7>(r) u = Reshape(x, q) y, w = Split<axis = 0, num_outputs = 2>(u) }"
    result = convert_version(model(text, 18), 17).model
    x = np.arange(45, dtype=np.float32)
    first, second = run(result, {"x": x, "z": np.zeros(301, np.float32)})
    np.testing.assert_array_equal(first, x[:23], strict=True)
    np.testing.assert_array_equal(second, x[23:], strict=True)


FROM_BOTH = '<ir_version: 8, opset_import: ["" : 18, "c" : 1]> g (float[N] x, float[301] z) => (float[a] y) { s = Shape(z) %s q = Cast<to = 7>(r) y = Reshape(x, q) } <domain: "c", opset_import: ["" : 18]> f (a) => (r) { r = %s(a) }'


@pytest.mark.parametrize(
    ("made", "inside"),
    [("r = Cast<to = 3>(s)", "Relu"), ("r = c.f(s)", "Cast<to = 3>"), ("t = c.f(s) r = Gather(t, t)", "Cast<to = 9>")],
)
def test_a_cast_is_found_where_names_repeat_and_behind_calls(made: str, inside: str) -> None:
    proto = onnx.parser.parse_model(FROM_BOTH % (made, inside))
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    inferred = inference.infer_model(proto)
    assert inferred is not None
    assert type_protos.shape_of(inferred.graph.output[0].type) in (None, (None,))
