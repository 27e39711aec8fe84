"""Models whose inputs became dynamic while what they declare of inner values, or of outputs, kept the old sizes.

The conversion gives the right numbers at other sizes, or refuses, or warns of what it had to believe.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import model, run

from split_rewrite.rewriter import UnconvertibleError, convert_version
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.storage.skeleton import Skeleton
from split_rewrite.rewriter.structure import declarations

F = "float[N,4] x"
STALE = {
    "split-of-a-reshape": (
        18,
        13,
        f"g ({F}) => (float[A] p, float[B] q) <float[4] h> {{ s = Constant <value_ints = [-1]> ()\n h = Reshape (x, s)\n p, q = Split <axis = 0, num_outputs = 2> (h) }}",
    ),
    "split-of-the-batch": (
        18,
        13,
        f"g ({F}) => (float[A,4] p, float[B,4] q) <float[2,4] h> {{ h = Relu (x)\n p, q = Split <axis = 0, num_outputs = 2> (h) }}",
    ),
    "split-of-an-output": (
        18,
        13,
        f"g ({F}) => (float[2,4] h, float[A,4] p, float[B,4] q) {{ h = Relu (x)\n p, q = Split <axis = 0, num_outputs = 2> (h) }}",
    ),
    "split-to-sequence": (
        13,
        10,
        f"g ({F}) => (float[A,4] p) <float[1,4] h> {{ h = Relu (x)\n s = SplitToSequence <axis = 0> (h)\n p = ConcatFromSequence <axis = 0> (s) }}",
    ),
    "gather": (
        11,
        10,
        f"g ({F}) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n i = Constant <value = int64[1] {{-1}}> ()\n y = Gather (h, i) }}",
    ),
    "gather-of-elements": (
        11,
        10,
        f"g ({F}) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n i = Constant <value = int64[1,4] {{-1, -1, -1, -1}}> ()\n y = GatherElements (h, i) }}",
    ),
    "slice": (
        10,
        9,
        f"g ({F}) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n s = Constant <value = int64[1] {{-1}}> ()\n e = Constant <value = int64[1] {{1000}}> ()\n y = Slice (h, s, e) }}",
    ),
    "backward-slice": (
        10,
        9,
        f"g ({F}) => (float[A,4] y) <float[2,4] h> {{ h = Relu (x)\n s = Constant <value = int64[1] {{-1}}> ()\n e = Constant <value = int64[1] {{-1000}}> ()\n a = Constant <value = int64[1] {{0}}> ()\n y = Slice (h, s, e, a, s) }}",
    ),
    "softmax-over-the-batch": (13, 11, f"g ({F}) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n y = Softmax <axis = 0> (h) }}"),
    "layer-normalization": (
        17,
        13,
        f"g ({F}, float[4] w) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n y = LayerNormalization <axis = -1> (h, w) }}",
    ),
    "broadcast": (7, 6, f"g ({F}, float[N,4] b) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n y = Add (h, b) }}"),
    "squeeze": (
        13,
        11,
        "g (float[N,1,4] x) => (float[A,4] y) <float[2,1,4] h> { h = Relu (x)\n a = Constant <value = int64[1] {-2}> ()\n y = Squeeze (h, a) }",
    ),
    "expand": (
        9,
        7,
        "g (float[N,1] x) => (float[A,4] y) <float[1,1] h> { h = Relu (x)\n s = Constant <value = int64[2] {1, 4}> ()\n y = Expand (h, s) }",
    ),
    "expand-like-a-shape": (
        8,
        7,
        f"g ({F}) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n s = Shape (h)\n one = Constant <value = float[1] {{1.0}}> ()\n y = Expand (one, s) }}",
    ),
    "constant-of-shape": (
        9,
        8,
        f"g ({F}) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n s = Shape (h)\n y = ConstantOfShape (s) }}",
    ),
    "resize-by-sizes": (
        13,
        10,
        'g (float[N,1,4,4] x) => (float[A,1,8,8] y) <float[1,1,4,4] h> { h = Relu (x)\n s = Constant <value = int64[4] {3, 1, 8, 8}> ()\n y = Resize <coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor"> (h, , , s) }',
    ),
    "cumulative-sum": (
        14,
        10,
        f"g ({F}) => (float[A,4] y) <float[1,4] h> {{ h = Relu (x)\n a = Constant <value = int64 {{0}}> ()\n y = CumSum (h, a) }}",
    ),
    "triangle": (14, 13, "g (float[N,N] x) => (float[A,B] y) <float[2,2] h> { h = Relu (x)\n y = Trilu (h) }"),
    "the-largest": (
        11,
        9,
        f"g ({F}) => (float[A,4] v, int64[A,4] i) <float[1,4] h> {{ h = Relu (x)\n k = Constant <value = int64[1] {{1}}> ()\n v, i = TopK <axis = 0, largest = 0> (h, k) }}",
    ),
    "mean-of-all": (18, 13, f"g ({F}) => (float y) <float[1,4] h> {{ h = Relu (x)\n y = ReduceMean <keepdims = 0> (h) }}"),
    "center-crop": (
        18,
        17,
        f"g ({F}) => (float[2,4] y) <float[2,4] h> {{ h = Relu (x)\n s = Constant <value = int64[2] {{2, 4}}> ()\n y = CenterCropPad (h, s) }}",
    ),
    "behind-a-foreign-node": (
        18,
        13,
        f'<ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1]>\ng ({F}) => (float[A,4] p, float[B,4] q) <float[2,4] h> {{ h = com.microsoft.Gelu (x)\n p, q = Split <axis = 0, num_outputs = 2> (h) }}',
    ),
    "in-a-branch": (
        18,
        13,
        f"g ({F}, bool c) => (float[A,4] p) {{ p = If (c) <then_branch = t () => (float[A,4] a) <float[2,4] h> {{ h = Relu (x)\n a, b = Split <axis = 0, num_outputs = 2> (h) }}, else_branch = e () => (float[A,4] d) {{ d = Neg (x) }}> }}",
    ),
    "carried-by-a-loop": (
        18,
        13,
        f"g ({F}, int64 n, bool c) => (float[N,4] z) {{ z = Loop (n, c, x) <body = b (int64 i, bool k, float[2,4] v) => (bool k2, float[2,4] w) {{ k2 = Identity (k)\n p, q = Split <axis = 0, num_outputs = 2> (v)\n w = Concat <axis = 0> (q, p) }}> }}",
    ),
    "scanned": (
        18,
        13,
        "g (float[3,N] x) => (float[3,A] z) { z = Scan <num_scan_inputs = 1, body = b (float[2] v) => (float[1] p) { p, q = Split <axis = 0, num_outputs = 2> (v) }> (x) }",
    ),
}


def honest(proto: onnx.ModelProto) -> onnx.ModelProto:
    """`proto` without the shapes that it declares of inner values, which runtimes believe as well."""
    copy = onnx.ModelProto.FromString(proto.SerializeToString())
    pending = [copy.graph]
    while pending:
        graph = pending.pop()
        del graph.value_info[:]
        inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
        for value in (value for body in inner for value in (*body.input, *body.output)):
            if value.type.tensor_type.shape.dim:
                value.type.tensor_type.ClearField("shape")
        pending += inner
    return copy


def outcome(proto: onnx.ModelProto, target: int, inputs: dict[str, np.ndarray]) -> str:
    try:
        result = convert_version(proto, target, compare="off")
    except UnconvertibleError as refusal:
        return f"refused: {refusal}"
    said = [str(remark) for remark in result.report.remarks if remark.kind == "warning"]
    expected = run(honest(proto), inputs)
    got = run(honest(result.model), inputs, "onnxruntime" if target > 6 else "onnx.reference")
    same = all(a.shape == b.shape and np.allclose(a, b, 1e-5, 1e-6) for a, b in zip(expected, got, strict=True))
    return "right" if same else f"warned: {said}" if said else "wrong"


@pytest.mark.parametrize("name", STALE)
def test_a_stale_size_is_not_believed(name: str) -> None:
    opset, target, text = STALE[name]
    proto = model(text, opset)
    inputs = {value.name: made(value.type.tensor_type) for value in proto.graph.input}
    found = outcome(proto, target, inputs)
    assert found == "right"


def made(declared: onnx.TypeProto.Tensor) -> np.ndarray:
    shape = [dim.dim_value or 6 for dim in declared.shape.dim]
    if declared.elem_type == onnx.TensorProto.FLOAT:
        return np.random.default_rng(0).standard_normal(shape).astype(np.float32) + 1
    return np.array(True) if declared.elem_type == onnx.TensorProto.BOOL else np.array(2, np.int64)


def warnings(text: str, opset: int, target: int) -> list[str]:
    result = convert_version(model(text, opset), target, compare="off")
    return [str(remark) for remark in result.report.remarks if remark.kind == "warning"]


def test_what_contradicts_the_inputs_is_dropped_and_said() -> None:
    said = warnings(STALE["gather"][2], 11, 10)
    assert said == ["value 'h' (declared shapes): the declared shape [1,4] is ignored, because the inputs give [N,4]"]


FOREIGN = """<ir_version: 8, opset_import: ["" : 11, "com.example" : 1]>
g (float[SIZE,4] x) => (float[A,4] y) <float[3,4] h> {
    h = com.example.Gelu (x)
    i = Constant <value = int64[1] {-1}> ()
    y = Gather (h, i)
}"""


def test_a_size_that_only_a_declaration_says_is_used_with_a_warning() -> None:
    (said,) = warnings(FOREIGN.replace("SIZE", "N"), 11, 10)
    assert said.startswith("Gather 'y' (main graph): the model declares the shape [3,4] for 'h', and its rewrite relies")


def test_no_warning_where_all_sizes_are_fixed() -> None:
    assert warnings(FOREIGN.replace("SIZE", "3"), 11, 10) == []


def test_no_warning_where_the_inputs_confirm_what_is_declared() -> None:
    confirmed = """g (float[N,4] x) => (float[A,2] y) <float[B,2] h> {
        n = Shape (x)
        f = Constant <value_ints = [0]> ()
        first = Gather (n, f)
        s = Constant <value_ints = [-1]> ()
        two = Constant <value_ints = [2]> ()
        shape = Concat <axis = 0> (s, two)
        h = Reshape (x, shape)
        y = Softmax <axis = -1> (h)
    }"""
    assert warnings(confirmed, 13, 11) == []


@pytest.mark.parametrize(
    ("number", "shape"), [("int64 i", (4,)), ("int64[1] i", (1, 4)), ("int64[2] i", (1, 4)), ("int64[1,1] i", None)]
)
def test_the_number_of_an_iteration_has_the_rank_that_the_body_declares(number: str, shape: tuple[int, ...] | None) -> None:
    """onnxruntime makes one entry, whatever the declared length, and refuses a matrix."""
    text = f"""g ({F}, int64 n) => (float[A,B] y) <bool on = {{1}}> {{
        y = Loop (n, on) <body = b ({number}, bool k) => (bool still, float[C] row) {{
            still = Identity (k)
            row = Gather <axis = 0> (x, i)
        }}>
    }}"""
    derived = declarations.derive(model(text, 13).SerializeToString())
    assert derived is not None
    (body,) = (attribute.g for node in derived.graph.node for attribute in node.attribute)
    assert declarations.shapes_of(body).get("row") == shape


def test_what_a_node_of_another_domain_hands_to_its_body_has_the_rank_that_the_body_declares() -> None:
    text = f"""g ({F}) => (float[A] y) {{
        y = other.Apply (x) <body = b (float[H,W,3] given) => (float[H,W,5] result) {{ result = Relu (given) }}>
    }}"""
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13, "other" : 1]> {text}')
    evidence = declarations.weigh(proto.SerializeToString())
    assert evidence is not None
    (body,) = (attribute.g for node in evidence.believed.graph.node for attribute in node.attribute)
    assert declarations.shapes_of(body)["given"] == (None, None, 3)
    assert "result" not in declarations.shapes_of(body)


@pytest.mark.parametrize(("ir_version", "shapes"), [(3, [(1, 4), (1, 4)]), (8, [(None, 4), (None, 4)])])
def test_a_symbol_of_an_input_says_nothing_of_its_stored_value(ir_version: int, shapes: list[object]) -> None:
    source = model("g (float[N,4] x, float[N,4] c) => (float[] y) <float[1,4] c = {1, 2, 3, 4}> { y = Abs (c) }", 13)
    source.ir_version = ir_version
    scope = Model(Skeleton.of(source), constants_as_initializers=True).main
    assert [scope.shape(name) for name in ("c", "y")] == shapes
    assert scope.shape("x") == ("N", 4)


def test_a_branch_that_returns_a_stored_value_returns_its_shape() -> None:
    """Inference takes what the branch declares of it, symbols of the inputs among them."""
    text = """g (bool c, float[N,N] x) => (int64[A,B] y) {
        y = If (c) <
            then_branch = t () => (int64[N,N] a) <int64[2,1] a = {4, -2}> { u = Neg (x) },
            else_branch = e () => (int64[N,N] b) <int64[2,1] b = {1, 3}> { w = Neg (x) }>
    }"""
    assert Model(Skeleton.of(model(text, 13)), constants_as_initializers=True).main.shape("y") == (2, 1)


def test_a_symbol_in_the_type_of_a_sequence_is_not_one_number() -> None:
    """The elements of a sequence may differ in length, so that a symbol there says nothing of another input."""
    proto = model(
        """g (seq(float[N]) s, float[N] x, int64 i) => (float[K] y) { e = SequenceAt(s, i) y = Concat<axis = 0>(e, x) }""", 13
    )
    seen = Model(Skeleton(proto), constants_as_initializers=False).main
    assert seen.shape("x") == ("N",)
    assert seen.shape("e") == (None,)
    assert seen.shape("s") is None
