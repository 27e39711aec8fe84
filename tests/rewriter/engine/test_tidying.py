"""What rules made and nobody would have written is left out; what the author wrote stays."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, known, model, run
from onnx import numpy_helper


def operators(proto):
    return [node.op_type for node in proto.graph.node]


# What must stay.


@pytest.mark.parametrize(
    "body",
    [
        "a = Identity (x)  y = Softmax (a)",
        "a = Cast <to = 1> (x)  y = Softmax (a)",
        "t = Transpose <perm = [1, 0]> (x)  a = Transpose <perm = [1, 0]> (t)  y = Softmax (a)",
        "a = Relu (x)  b = Relu (x)  c = Add (a, b)  y = Softmax (c)",
        "k = Constant <value = float {1}> ()  a = Mul (x, k)  y = Softmax (a)",
        "s = Shape (x)  t = Shape (x)  a = Reshape (x, s)  b = Reshape (a, t)  y = Softmax (b)",
        "k = Constant <value = float {1}> ()  a = Div (x, k)  y = Softmax (a)",
        "a = Cast <to = 11> (x)  b = Cast <to = 1> (a)  y = Softmax (b)",
        "a = Sum (x)  y = Softmax (a)",
        """n = Constant <value = int64[1] {-1}> ()  a = Reshape (x, n)
        m = Constant <value = int64[2] {3, 4}> ()  b = Reshape (a, m)  y = Softmax (b)""",
        "a = Relu (x)  y = Softmax (x)",
    ],
)
@pytest.mark.parametrize("target", [11, 18])
def test_what_the_author_wrote_stays(body, target):
    source = model(f"g (float[3,4] x) => (float[3,4] y) {{ {body} }}", 13)
    assert operators(convert_version(source, target).model) == operators(source)


def test_names_of_the_author_stay():
    """The value between is the author's, so it keeps its name, made by the last node of what replaces the first."""
    source = model("g (float[3,4] x) => (float[3,4] y) { between = Celu (x)  y = Relu (between) }", 12)
    result = convert_version(source, 11).model
    assert [list(node.output) for node in result.graph.node] == [["between"], ["y"]]


@pytest.mark.skipif(not known(15), reason="CastLike is of opset 15")
def test_random_numbers_are_drawn_as_often_as_before():
    source = model("g (float[3,4] x) => (float[3,4] a, float[3,4] b) { a = Bernoulli (x)  b = Bernoulli (x) }", 15)
    drawn = [name for name in operators(convert_version(source, 13).model) if name.startswith("Random")]
    assert len(drawn) == 2


@pytest.mark.skipif(not known(21), reason="GroupNormalization of opset 21")
def test_weights_are_not_stored_again_in_another_form():
    """They are more than is worth computing in advance, so that a Reshape of them stays one, and their data is never read."""
    source = model(
        "g (float[1,70000,2] x, float[70000] s) => (float[1,70000,2] y) { y = GroupNormalization <num_groups = 2> (x, s, s) }",
        21,
        10,
    )
    source.graph.initializer.append(numpy_helper.from_array(np.ones(70000, np.float32), "s"))
    del source.graph.input[1]
    result = convert_version(source, 17).model
    assert sum("s" in node.input for node in result.graph.node) == 1
    assert [tensor.name for tensor in result.graph.initializer if tensor.dims[0] == 70000] == ["s"]


# What goes.


@pytest.mark.skipif(not known(18), reason="CenterCropPad is of opset 18")
def test_sizes_that_are_known_leave_nothing_but_the_work():
    assert_rewrites(
        "g (float[2,4,8] x) => (float[2,4,6] y) <int64[3] n = {2, 4, 6}> { y = CenterCropPad (x, n) }",
        "<int64[3] start = {0, 0, 1}, int64[3] end = {2, 4, 7}> { y = Slice (x, start, end) }",
        "center_crop_pad.sizes_as_int64",
        opset=18,
        target=13,
    )


def test_what_nothing_reads_any_more_is_not_stored():
    result = convert_version(model("g (float[2,4] x) => (float[2,4] y) { y = Trilu (x) }", 14), 13).model
    read = {name for node in result.graph.node for name in node.input}
    assert {tensor.name for tensor in result.graph.initializer} <= read


def test_two_splits_of_one_tensor_share_their_sizes():
    text = """g (float[B,N] x) => (float[B,I] a, float[B,J] b, float[B,K] c, float[B,L] d) {
      a, b = Split <axis = 1, num_outputs = 2> (x)
      c, d = Split <axis = 1, num_outputs = 2> (x)
    }"""
    result = convert_version(model(text, 18), 13).model
    assert operators(result).count("Shape") == 1
    assert operators(result).count("Div") == 1
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    a, b, c, d = run(result, {"x": x})
    np.testing.assert_array_equal(a, x[:, :3])
    np.testing.assert_array_equal(b, x[:, 3:])
    np.testing.assert_array_equal(c, a)
    np.testing.assert_array_equal(d, b)


@pytest.mark.skipif(not known(23), reason="the installed onnx has no Attention")
def test_two_transposes_in_a_row_are_one():
    """The keys are split into heads and transposed for the product: one Transpose, beside those of queries, values and result."""
    text = "g (float[2,4,6] x) => (float[2,4,6] y) { y = Attention <q_num_heads = 2, kv_num_heads = 2> (x, x, x) }"
    nodes = convert_version(model(text, 23, 10), 13).model.graph.node
    orders = [list(node.attribute[0].ints) for node in nodes if node.op_type == "Transpose"]
    assert sorted(orders) == [[0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 3, 1]]  # queries and values are one value here


def test_in_a_function_equal_constants_are_one():
    text = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
    g (float[5,6] x) => (float[A,B] y) { y = local.halves (x) }
    <domain: "local", opset_import: ["" : 18]> halves (x) => (y) {
      a, b = Split <axis = 1, num_outputs = 2> (x)
      c, d = Split <axis = 1, num_outputs = 2> (x)
      e = Add (a, d)
      f = Add (b, c)
      y = Add (e, f)
    }"""
    result = convert_version(model(text), 13).model
    values = [node.attribute[0].t.raw_data for node in result.functions[0].node if node.op_type == "Constant"]
    assert len(values) == len(set(values))
    assert [node.op_type for node in result.functions[0].node].count("Shape") <= 1
