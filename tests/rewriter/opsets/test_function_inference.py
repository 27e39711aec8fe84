"""Types in the bodies of functions: what all calls agree on, and nothing that a parameter decides."""

from __future__ import annotations

import onnx
import onnx.parser

from split_rewrite.rewriter.opsets import function_inference, inference, type_protos


def test_the_shape_that_a_parameter_decides_is_unknown() -> None:
    """onnx takes the parameter for 0, and infers [4,3,4]."""
    source = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        g (float[2,3,4] x) => (float[2,3,8] y) { y = f.both <dim = 2> (x) }
        <opset_import: ["" : 13], domain: "f"> both <dim> (v) => (w)
        { c = Concat <axis: int = @dim> (v, v) w = Neg(c) l = LeakyRelu <alpha: float = @slope> (v) }""")
    body = function_inference.infer_body(source, source.functions[0], [source.graph.input[0].type])
    found = {value.name: type_protos.shape_of(value.type) for value in body.value_info}
    assert (found.get("c"), found["l"]) == (None, (2, 3, 4))
    assert [node.domain for node in body.node] == ["", "", ""]


def test_what_two_calls_agree_on_is_known_in_the_body() -> None:
    source = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        g (float[2,3] x, float[2,4] z) => (float[2,3] y, float[2,4] w) { y = f.half (x)\n w = f.half (z) }
        <opset_import: ["" : 13], domain: "f"> half (v) => (u) { n = Neg (v)\n u = Neg (n) }""")
    inferred = inference.infer_model(source)
    assert inferred is not None
    (body,) = function_inference.infer_functions(inferred).values()
    assert {value.name: type_protos.shape_of(value.type) for value in body.value_info} == {"n": (2, None), "u": (2, None)}
