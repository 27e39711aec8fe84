"""What the user says of types is in the whole result: fixed inputs leave no symbol that they decide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
import pytest
from helpers import model, refusal, run
from onnx import GraphProto

from split_rewrite.rewriter import ArgumentError, convert_version
from split_rewrite.rewriter.conversion.options import Options


def fixed(source: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], target: int = 13) -> onnx.ModelProto:
    return convert_version(source, target, options=Options(overwrite_input_shapes=shapes)).model


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def shown(proto: onnx.ModelProto) -> dict[str, str]:
    """Each value with a type in any graph: name → "float[1,3]", with an empty place for a dimension that nothing is said of."""
    found: dict[str, str] = {}
    for graph in graphs(proto.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            text = onnx.printer.to_text(GraphProto(name="g", input=[onnx.ValueInfoProto(name="v", type=value.type)]))
            found[value.name] = text[text.index("(") + 1 : text.index(" v)")]
    return found


def test_a_size_that_nothing_decides_stays_open() -> None:
    source = model("""g (float[N,K] x, float[N,K] z) => (float[N,K] y, float[A,B] u) <float[s0,K] r> {
        r = Relu (x)
        y = Add (r, z)
        shape = Constant <value_ints = [-1, 1]> ()
        u = Reshape (z, shape)
    }""")
    assert shown(fixed(source, {"x": [2, 3], "z": [2, 3]})) == dict.fromkeys("xzyr", "float[2,3]") | {"u": "float[6,1]"}
    source.graph.input[1].type.tensor_type.shape.dim[1].dim_param = "M"
    source.graph.node[1].input[1] = "x"
    source.graph.output[1].type.tensor_type.shape.dim[0].dim_param = "M"
    assert shown(fixed(source, {"x": [2, 3]})) == {
        "x": "float[2,3]",
        "z": "float[2,M]",
        "r": "float[2,3]",
        "y": "float[2,3]",
        "u": "float[M,1]",
    }


def test_fixed_inputs_leave_no_symbol_that_they_decide() -> None:
    source = model("""g (float[N,3,H,W] x, float[N,5] z) => (float[N,3,H,W] y, float[batch,features] f, float[N,5] k)
        <float[N,3,H,W] r, float[s0,s1] q> {
        r = Relu (x)
        y = Neg (r)
        q = Flatten (y)
        f = Abs (q)
        k = Neg (z)
    }""")
    result = fixed(source, {"x": [1, 3, 64, 64]})
    image, flat, rows = "float[1,3,64,64]", "float[1,12288]", "float[1,5]"
    assert shown(result) == {"x": image, "z": rows, "y": image, "r": image, "f": flat, "q": flat, "k": rows}
    assert [value.name for value in result.graph.output] == ["y", "f", "k"]


def test_fixed_inputs_decide_formulas_of_their_symbols() -> None:
    """Inference does not see through the operator, whose outputs are declared as torch declares them."""
    dims = ["((N + 1)//2)*M", "N - M", "M//(N - 4)", "N + K", "N-M", "N**M", "Max(N, M)", "-N"]
    source = model("""<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
        g (float[N,M] x) => (float[a,b,c,d,e,f,h,i] y) { y = com.example.Mystery (x) }""")
    for dim, text in zip(source.graph.output[0].type.tensor_type.shape.dim, dims, strict=True):
        dim.dim_param = text
    declared = shown(fixed(source, {"x": [4, 3]}))["y"].replace('"', "")  # old releases of onnx write no quotation marks
    assert declared == "float[6,1,M//(N - 4),N + K,N-M,N**M,Max(N, M),-N]"


def test_fixed_inputs_decide_in_subgraphs_and_in_sequences_too() -> None:
    source = model("""g (float[N,4] x, bool b) => (float[N,4] y, seq(float[N,4]) s) {
        y = If (b) <
            then_branch = t () => (float[N,4] p) <float[N,M] n> { n = Neg (x)
                p = Abs (n) },
            else_branch = e () => (float[N,4] q) { q = Relu (x) }
        >
        s = SequenceConstruct (x, y)
    }""")
    assert shown(fixed(source, {"x": [2, 4]})) == {
        "x": "float[2,4]",
        "b": "bool",
        "y": "float[2,4]",
        "s": "seq(float[2,4])",
        "p": "float[2,4]",
        "n": "float[2,4]",
        "q": "float[2,4]",
    }


def test_a_symbol_that_names_another_size_by_chance_gets_what_follows_from_the_inputs() -> None:
    source = model("""g (float[N,4] x) => (float[N,M] y) {
        shape = Constant <value_ints = [-1, 2]> ()
        y = Reshape (x, shape)
    }""")
    result = fixed(source, {"x": [3, 4]})
    assert shown(result)["y"] == "float[6,2]"
    assert run(result, {"x": np.ones((3, 4), np.float32)})[0].shape == (6, 2)


def test_what_a_default_of_an_input_would_decide_stays_open() -> None:
    source = model("""g (float[N,4] x, int64[2] shape) => (float[A,B] y) <int64[2] shape = {-1, 2}> { y = Reshape (x, shape) }""")
    assert shown(fixed(source, {"x": [3, 4]}))["y"] == "float[A,B]"


MYSTERY = """<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]> g (float[N,64] x) => (float[N,64] y) {
    a = com.example.Mystery (x)
    y = LayerNormalization <axis = 1> (a, w)
}"""


def mystery() -> onnx.ModelProto:
    source = model(MYSTERY)
    source.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(64, np.float32), "w"))
    return source


def test_a_declared_type_stands_for_what_inference_cannot_know() -> None:
    assert "the rank of 'a' is unknown" in refusal(mystery(), 16)
    result = convert_version(mystery(), 16, options=Options(declare={"a": "float[N,64]"})).model
    assert shown(result)["a"] == "float[N,64]"
    assert "LayerNormalization" not in {node.op_type for node in result.graph.node}


def test_a_declared_symbol_of_a_fixed_input_is_fixed_with_it() -> None:
    options = Options(declare={"a": "float[N,64]"}, overwrite_input_shapes={"x": (2, 64)})
    assert shown(convert_version(mystery(), 16, options=options).model)["a"] == "float[2,64]"


def test_what_follows_from_the_inputs_cannot_be_declared_otherwise() -> None:
    source = model("g (float[N,4] x) => (float[N,4] y) { r = Relu (x)\n y = Neg (r) }")
    for text, known in [("float[4,N]", "float[N,4]"), ("float[N]", "float[N,4]"), ("double[N,4]", "float[N,4]")]:
        with pytest.raises(ArgumentError, match=re.escape(f"declare: 'r' is {known}, not {text}")):
            convert_version(source, 13, options=Options(declare={"r": text}))
    assert shown(convert_version(source, 13, options=Options(declare={"r": "float[N,4]"})).model)["r"] == "float[N,4]"


@pytest.mark.parametrize(
    "text", ["", "float[N", "flaot[N]", "float[99999999999999999999]", "float[-1]", "float x, float", "float v) => () {} #", "[2]"]
)
def test_what_is_no_type_cannot_be_declared(text: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(f"declare: '{text}' of 'a' is not a type as in float[N,64]")):
        convert_version(mystery(), 16, options=Options(declare={"a": text}))


def test_a_symbol_that_is_not_utf_8_says_nothing() -> None:
    source = model("g (float[N,3] x) => (float[N,3] z) <float[WXYZ,3] y> { y = Relu (x)\n z = Neg (y) }", 13)
    damaged = onnx.ModelProto.FromString(source.SerializeToString().replace(b"WXYZ", b"\xff\xfe\xfd\xfc"))
    assert shown(fixed(damaged, {"x": [2, 3]}))["z"] == "float[2,3]"
