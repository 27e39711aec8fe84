"""What onnxruntime's optimizer lays out in blocks of channels, back in ONNX's own order.

The blocks of the processor at hand are not those of the tests, so the numbers come from the operators of ONNX, in onnxruntime.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from contrib import STANDARD, operators
from drawing import normal
from helpers import model, run
from onnx import helper, numpy_helper

from split_rewrite.rewriter import UnconvertibleError, convert_version
from split_rewrite.rewriter.conversion import attempts

X = normal(2, 24, 5, 6)


def filled(array: np.ndarray, block: int, axis: int = 0) -> np.ndarray:
    """`array` with zeros behind it, so that its length is a multiple of `block`."""
    pads = [(0, 0)] * array.ndim
    pads[axis] = (0, -array.shape[axis] % block)
    return np.pad(array, pads)


def in_blocks(weights: np.ndarray, block: int) -> np.ndarray:
    """Weights [maps, channels, y, x] as the optimizer stores them: element by element, as the layout is described."""
    inner = block if weights.shape[1] >= block else 1
    whole = filled(filled(weights, block), inner, 1)
    maps, channels, height, width = whole.shape
    order = [
        whole[o + a, i + b, y, x]
        for o in range(0, maps, block)
        for i in range(0, channels, inner)
        for y in range(height)
        for x in range(width)
        for b in range(inner)
        for a in range(block)
    ]
    return np.array(order, np.float32).reshape(whole.shape)


def laid_out(nodes: str, x: str = "float[N,24,5,6] x", **stored: np.ndarray) -> onnx.ModelProto:
    proto = model(f"""<ir_version: 8, opset_import: ["" : 17, "com.microsoft.nchwc" : 1]>
        g ({x}) => (float[N,C,H,W] y) {{ {nodes.replace("nchwc.", "com.microsoft.nchwc.")} }}""")
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in stored.items())
    return proto


def converted(proto: onnx.ModelProto, target: int = 13) -> onnx.ModelProto:
    result = convert_version(proto, target, compare="off", options=STANDARD).model
    assert [entry.domain for entry in result.opset_import] == [""]
    return result


def refused(proto: onnx.ModelProto) -> str:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(proto, 13, compare="off", options=STANDARD)
    return str(caught.value)


def plain(nodes: str, data: np.ndarray, **stored: np.ndarray) -> np.ndarray:
    """What ONNX's own operators make of `data`."""
    proto = model(f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[{",".join(map(str, data.shape))}] x) => (float[N,C,H,W] y) {{ {nodes} }}""")
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in stored.items())
    return run(proto, {"x": data})[0]


CONVOLUTION = "a = nchwc.ReorderInput (x) b = nchwc.Conv (a, w) y = nchwc.ReorderOutput <channels = {}> (b)"


@pytest.fixture
def processor(monkeypatch):
    """Lets onnxruntime have blocks of a size on this processor, or nobody know it."""
    return lambda block: monkeypatch.setattr(attempts, "block_of_processor", lambda: block)


def test_blocks_that_nothing_shows(processor):
    processor(None)
    proto = laid_out(CONVOLUTION.format(32), x="float[N,16,5,6] x", w=normal(32, 16, 1, 1))
    assert "Conv is laid out for one kind of processor, and nothing in the file shows for which" in refused(proto)
    assert "optimize the model at the level extended" in refused(proto)


def test_blocks_that_neither_the_file_nor_the_processor_has(processor):
    processor(4)
    proto = laid_out(CONVOLUTION.format(32), x="float[N,16,5,6] x", w=normal(32, 16, 1, 1))
    assert "nothing in the file shows for which" in refused(proto)


@pytest.mark.parametrize("block", [8, 16])
def test_blocks_of_this_processor(block, processor):
    """Where the file shows nothing, what onnxruntime computes of it here counts, and there is a warning."""
    processor(block)
    weights = normal(32, 16, 3, 3)
    proto = laid_out(CONVOLUTION.format(32), x="float[N,16,5,6] x", w=in_blocks(weights, block))
    report = convert_version(proto, 13, compare="off", options=STANDARD)
    expected = plain("y = Conv (x, w)", X[:, :16].copy(), w=weights)
    np.testing.assert_allclose(run(report.model, {"x": X[:, :16].copy()})[0], expected, rtol=1e-5, atol=1e-5)
    text = f"nothing in the file shows how large its blocks of channels are: they are taken to have {block}, as on this processor"
    assert any(text in warning for warning in report.report.warnings)


def test_the_file_counts_before_the_processor(processor):
    processor(16)
    weights = normal(24, 24, 1, 1)
    proto = laid_out(CONVOLUTION.format(24), w=in_blocks(weights, 8))
    np.testing.assert_allclose(run(converted(proto), {"x": X})[0], plain("y = Conv (x, w)", X, w=weights), rtol=1e-5, atol=1e-5)


def test_what_needs_no_blocks(processor):
    processor(None)
    proto = laid_out(
        "a = nchwc.ReorderInput (x) b = nchwc.MaxPool <kernel_shape = [2,2]> (a) y = nchwc.ReorderOutput <channels = 64> (b)",
        x="float[1,64,4,4] x",
    )
    assert operators(converted(proto)) == ["MaxPool"]


def test_blocks_of_another_processor(processor):
    processor(16)
    proto = laid_out(CONVOLUTION.format(24), w=in_blocks(normal(24, 24, 1, 1), 8))
    warnings = convert_version(proto, 13, compare="off", options=STANDARD).report.warnings
    text = "its blocks have 8 channels, and 16 on this processor, where onnxruntime misreads the original"
    assert any(text in warning for warning in warnings)


@pytest.mark.parametrize("window", [np.ones((1, 1), np.float32), np.float32([[1, 0, 1]])])
def test_blocks_that_only_look_filled_up(window, processor):
    """Twelve maps in blocks of 8, of one number each, or of three whose second is 0, look like a block of 16."""
    processor(None)
    weights = normal(12, 1, 1, 1) * window
    proto = laid_out(
        "b = nchwc.Conv (x, w) y = nchwc.ReorderOutput <channels = 12> (b)", x="float[N,1,5,6] x", w=in_blocks(weights, 8)
    )
    assert "nothing in the file shows for which" in refused(proto)


def test_blocks_in_a_branch_are_not_those_of_the_processor(processor):
    """The main graph has others."""
    processor(16)
    proto = model("""<ir_version: 8, opset_import: ["" : 17, "com.microsoft.nchwc" : 1]>
        g (float[N,24,5,6] x, bool c) => (float[N,C,H,W] z) {
        a = com.microsoft.nchwc.ReorderInput (x) b = com.microsoft.nchwc.Conv (a, w)
        y = com.microsoft.nchwc.ReorderOutput <channels = 24> (b)
        z = If (c) <then_branch = t () => (float[N,C,H,W] r) { p = com.microsoft.nchwc.ReorderInput (y)
            q = com.microsoft.nchwc.Conv (p, v) r = com.microsoft.nchwc.ReorderOutput <channels = 32> (q) },
            else_branch = e () => (float[N,C,H,W] s) { s = Identity (y) }> }""")
    stored = {"w": in_blocks(normal(24, 24, 1, 1), 8), "v": normal(32, 32, 1, 1)}
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in stored.items())
    assert "Conv 'q' (If 'z' then_branch): Conv is laid out for one kind of processor" in refused(proto)


def test_weights_of_zeros_show_nothing(processor):
    processor(None)
    proto = laid_out(CONVOLUTION.format(32), x="float[N,16,5,6] x", w=np.zeros((32, 16, 1, 1), np.float32))
    assert "nothing in the file shows for which" in refused(proto)


def test_maps_that_are_left_out_show_nothing(processor):
    """Weights of zeros, as pruning leaves them, are no end of a block where the bias goes on."""
    processor(None)
    weights, bias = normal(32, 16, 1, 1), normal(32)
    weights[15::16] = weights[7::16] = 0
    nodes = CONVOLUTION.format(32).replace("(a, w)", "(a, w, c)")
    message = refused(laid_out(nodes, x="float[N,16,5,6] x", w=in_blocks(weights, 8), c=bias))
    assert "nothing in the file shows for which" in message


def test_what_would_see_the_blocks():
    nodes = CONVOLUTION.format(24).replace("y = ", "c = Softmax (b) y = ").replace("> (b)", "> (c)")
    message = refused(laid_out(nodes, w=normal(24, 24, 1, 1)))
    assert "Softmax 'c' reads what Conv lays out in blocks" in message


def test_an_output_in_blocks():
    proto = laid_out("a = nchwc.ReorderInput (x) b = nchwc.Conv (a, w) y = Relu (b)", w=normal(24, 24, 1, 1))
    assert "the output 'y' of the graph is laid out in blocks" in refused(proto)


def in_groups(weights, block, groups):
    """Weights of groups of whole blocks, as the optimizer stores them."""
    parts = np.split(weights, groups)
    return np.concatenate([in_blocks(part, block) for part in parts])


def test_groups_have_whole_blocks(processor):
    """As in a ResNeXt: 8 channels in each group show blocks of 8, though all else would do for 16."""
    processor(16)
    first, second = normal(32, 16, 1, 1), normal(32, 8, 3, 3)
    nodes = """a = nchwc.ReorderInput (x) b = nchwc.Conv (a, w) c = nchwc.Conv <group = 4> (b, v)
        y = nchwc.ReorderOutput <channels = 32> (c)"""
    proto = laid_out(nodes, x="float[N,16,5,6] x", w=in_blocks(first, 8), v=in_groups(second, 8, 4))
    data = X[:, :16].copy()
    expected = plain("a = Conv (x, w) y = Conv <group = 4> (a, v)", data, w=first, v=second)
    np.testing.assert_allclose(run(converted(proto), {"x": data})[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("block", "nodes"), [(16, "b = nchwc.Conv (x, w)"), (8, "a = nchwc.ReorderInput (x) b = nchwc.Conv (a, w)")]
)
def test_eight_channels_are_read_in_blocks_of_eight_alone(block, nodes, processor):
    processor(24 - block)
    weights, data = normal(32, 8, 3, 3), X[:, :8].copy()
    stored = in_blocks(weights, 8) if block == 8 else _without_blocks_of_channels(weights)
    proto = laid_out(f"{nodes} y = nchwc.ReorderOutput <channels = 32> (b)", x="float[N,8,5,6] x", w=stored)
    expected = plain("y = Conv (x, w)", data, w=weights)
    np.testing.assert_allclose(run(converted(proto), {"x": data})[0], expected, rtol=1e-4, atol=1e-4)


def _without_blocks_of_channels(weights):
    """Weights of fewer channels than fill a block of 16, as the optimizer stores them."""
    maps = weights.shape[0]
    return weights.reshape(maps // 16, 16, -1).transpose(0, 2, 1).reshape(weights.shape).copy()


@pytest.mark.parametrize("shape", [(24, 24, 1, 1), (12, 16, 1, 1)])
def test_weights_that_contradict_others(shape):
    nodes = "a = nchwc.ReorderInput (x) c = nchwc.Conv (a, w) b = nchwc.Conv (c, v) y = nchwc.ReorderOutput <channels = 8> (b)"
    message = refused(laid_out(nodes, w=in_blocks(normal(20, 24, 1, 1), 16), v=np.ones(shape, np.float32)))
    assert f"weights of the shape {list(shape)} do not fill blocks of 16" in message


@pytest.mark.parametrize("shape", [(16,), (), (0,)])
def test_weights_of_odd_shapes(shape, processor):
    processor(16)
    given = {"w": np.ones(shape, np.float32), "c": np.ones(shape, np.float32)}
    proto = laid_out(CONVOLUTION.format(16).replace("(a, w)", "(a, w, c)"), **given)
    assert f"weights of the shape {list(shape)} do not fill blocks of 16" in refused(proto)


@pytest.mark.parametrize("shape", [(0, 24, 1, 1), (16, 0, 1, 1)])
def test_weights_without_elements_show_nothing(shape, processor):
    processor(None)
    proto = laid_out(CONVOLUTION.format(16), w=np.ones(shape, np.float32))
    assert "nothing in the file shows for which" in refused(proto)


def test_what_would_see_the_blocks_behind_others():
    nodes = CONVOLUTION.format(24).replace("y = ", "r = Relu (b) c = Softmax (r) y = ").replace("> (b)", "> (c)")
    message = refused(laid_out(nodes, w=normal(24, 24, 1, 1)))
    assert "Softmax 'c' reads what Conv lays out in blocks" in message


def test_weights_that_are_computed():
    nodes = "v = Abs (x) " + CONVOLUTION.format(24).replace("(a, w)", "(a, v)")
    assert "the weights" in refused(laid_out(nodes))


def test_an_unknown_attribute():
    message = refused(laid_out(CONVOLUTION.format(24).replace("Conv (", "Conv <extra = 1> ("), w=normal(24, 24, 1, 1)))
    assert "Conv of onnxruntime has no attribute extra of this type" in message


SIZES = [
    (channels, maps, block) for channels in (24, 20, 12) for maps in (24, 20, 12, 40, 28) for block in (8, 16) if channels >= block
]


@pytest.mark.parametrize(("channels", "maps", "block"), SIZES)
def test_weights_of_whole_blocks(channels, maps, block):
    data, weights, bias = X[:, :channels], normal(maps, channels, 3, 2), normal(maps)
    nodes = "a = nchwc.ReorderInput (x) b = nchwc.Conv <pads = [1,0,1,1], strides = [2,1]> (a, w, c) y = nchwc.ReorderOutput <channels = {}> (b)"
    proto = laid_out(nodes.format(maps), x=f"float[N,{channels},5,6] x", w=in_blocks(weights, block), c=filled(bias, block))
    expected = plain("y = Conv <pads = [1,0,1,1], strides = [2,1]> (x, w, c)", data, w=weights, c=bias)
    np.testing.assert_allclose(run(converted(proto), {"x": data})[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("block", [8, 16])
def test_few_channels_are_read_without_blocks(block):
    weights = normal(20, 3, 3, 3)
    proto = laid_out(
        "b = nchwc.Conv (x, w) y = nchwc.ReorderOutput <channels = 20> (b)", x="float[N,3,5,6] x", w=in_blocks(weights, block)
    )
    expected = plain("y = Conv (x, w)", X[:, :3].copy(), w=weights)
    np.testing.assert_allclose(run(converted(proto), {"x": X[:, :3].copy()})[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("block", [8, 16])
def test_one_channel_for_each_map(block):
    weights = normal(20, 1, 3, 3)
    groups = len(filled(weights, block))
    proto = laid_out(
        f"a = nchwc.ReorderInput (x) b = nchwc.Conv <group = {groups}> (a, w) y = nchwc.ReorderOutput <channels = 20> (b)",
        x="float[N,20,5,6] x",
        w=in_blocks(weights, block),
    )
    data = X[:, :20].copy()
    expected = plain("y = Conv <group = 20> (x, w)", data, w=weights)
    np.testing.assert_allclose(run(converted(proto), {"x": data})[0], expected, rtol=1e-5, atol=1e-5)


def test_what_is_fused_into_a_convolution():
    weights, more = normal(24, 24, 1, 1), normal(24, 24, 1, 1)
    proto = laid_out(
        """a = nchwc.ReorderInput (x) s = nchwc.Conv (a, v)
        b = nchwc.Conv <activation = "LeakyRelu", activation_params = [0.1]> (a, w, , s)
        y = nchwc.ReorderOutput <channels = 24> (b)""",
        w=in_blocks(weights, 8),
        v=in_blocks(more, 8),
    )
    expected = plain("a = Conv (x, w) s = Conv (x, v) b = Add (a, s) y = LeakyRelu <alpha = 0.1> (b)", X, w=weights, v=more)
    np.testing.assert_allclose(run(converted(proto), {"x": X})[0], expected, rtol=1e-5, atol=1e-5)


BETWEEN = {
    "MaxPool <kernel_shape = [2,2], strides = [2,1], pads = [0,1,1,0], ceil_mode = 1>": None,
    "MaxPool <kernel_shape = [2,2], dilations = [2,1]>": None,
    'MaxPool <kernel_shape = [2,2], auto_pad = "SAME_LOWER">': None,
    "AveragePool <kernel_shape = [2,3], pads = [1,1,0,1], count_include_pad = 1>": None,
    "AveragePool <kernel_shape = [2,3]>": None,
    "GlobalAveragePool": None,
    "GlobalMaxPool": None,
    "Upsample <scales = [1,1,2,3]>": ("nearest", "asymmetric"),
    'Upsample <scales = [1,1,2,2], mode = "linear", coordinate_transformation_mode = "align_corners">': ("linear", "align_corners"),
    'Upsample <scales = [1,1,2,2], mode = "linear", coordinate_transformation_mode = "half_pixel">': ("linear", "half_pixel"),
}


@pytest.mark.parametrize("text", BETWEEN)
def test_between_convolutions(text):
    first, second = normal(20, 24, 1, 1), normal(24, 20, 1, 1)
    proto = laid_out(
        f"""a = nchwc.ReorderInput (x) b = nchwc.Conv (a, w) c = Relu (b) d = nchwc.{text} (c) e = nchwc.Conv (d, v)
        y = nchwc.ReorderOutput <channels = 24> (e)""",
        w=in_blocks(first, 16),
        v=in_blocks(second, 16),
    )
    resized = BETWEEN[text]
    node = text
    if resized is not None:
        scales = text.partition("[")[2].partition("]")[0]
        mode, place = resized
        node = f'Resize <mode = "{mode}", coordinate_transformation_mode = "{place}", nearest_mode = "floor"> (c, , s)'
    else:
        scales, node = "1", f"{node} (c)"
    expected = plain(
        f"b = Conv (x, w) c = Relu (b) s = Constant <value_floats = [{', '.join(f'{each}.0' for each in scales.split(','))}]> () d = {node} y = Conv (d, v)",
        X,
        w=first,
        v=second,
    )
    np.testing.assert_allclose(run(converted(proto, 19), {"x": X})[0], expected, rtol=1e-5, atol=1e-5)
    if "AveragePool <" not in text:
        np.testing.assert_allclose(run(converted(proto), {"x": X})[0], expected, rtol=1e-5, atol=1e-5)


def test_channels_that_are_last():
    weights = normal(20, 24, 3, 3)
    proto = laid_out(
        """a = nchwc.ReorderInput <channels_last = 1> (x) b = nchwc.Conv (a, w)
        y = nchwc.ReorderOutput <channels = 20, channels_last = 1> (b)""",
        x="float[N,5,6,24] x",
        w=in_blocks(weights, 16),
    )
    expected = plain("y = Conv (x, w)", X, w=weights).transpose(0, 2, 3, 1)
    data = np.ascontiguousarray(X.transpose(0, 2, 3, 1))
    np.testing.assert_allclose(run(converted(proto), {"x": data})[0], expected, rtol=1e-5, atol=1e-5)


def test_lists_of_channels_between():
    weights = [normal(16, 24, 1, 1), normal(16, 24, 1, 1), normal(20, 32, 1, 1)]
    proto = laid_out(
        """a = nchwc.ReorderInput (x) b = nchwc.Conv (a, w0) c = nchwc.Conv (a, w1) d = Concat <axis = 1> (b, c)
        e = nchwc.Conv (d, w2) y = nchwc.ReorderOutput <channels = 20> (e)""",
        **{f"w{number}": in_blocks(array, 16) for number, array in enumerate(weights)},
    )
    expected = plain(
        "b = Conv (x, w0) c = Conv (x, w1) d = Concat <axis = 1> (b, c) y = Conv (d, w2)",
        X,
        **{f"w{number}": array for number, array in enumerate(weights)},
    )
    result = converted(proto)
    np.testing.assert_allclose(run(result, {"x": X})[0], expected, rtol=1e-5, atol=1e-5)
    assert operators(result) == ["Pad", "Conv", "Conv", "Concat", "Conv", "Slice"]


@pytest.mark.parametrize("maps", [24, 20])
def test_channels_of_unknown_number(maps):
    weights = normal(maps, 20, 1, 1)
    proto = laid_out(CONVOLUTION.format(maps), x="float[N,C0,H0,W0] x", w=in_blocks(weights, 16))
    data = X[:, :20].copy()
    np.testing.assert_allclose(
        run(converted(proto), {"x": data})[0], plain("y = Conv (x, w)", data, w=weights), rtol=1e-5, atol=1e-5
    )


def optimized(proto: onnx.ModelProto, folder) -> onnx.ModelProto:
    """The model as onnxruntime's optimizer writes it at the level "all", for the processor at hand."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "optimized.onnx")


@pytest.mark.parametrize("compare", ["required", "nodes"])
def test_what_the_optimizer_writes(tmp_path, compare):
    """Parts that are compared do not end within the layout: what is there has other elements under the same name."""
    proto = model("""<ir_version: 8, opset_import: ["" : 17]> g (float[N,24,8,8] x) => (float[N,20,C] y) {
        a = Conv (x, w0) b = Relu (a) c = Conv (b, w1) d = Conv (b, w2) e = Concat <axis = 1> (c, d) f = Sigmoid (e) g = Mul (e, f)
        h = MaxPool <kernel_shape = [2,2], strides = [2,2]> (g) i = Conv (h, w3) s = Constant <value_ints = [0,20,-1]> ()
        y = Reshape (i, s) }""")
    shapes = [(20, 24, 1, 1), (16, 20, 3, 3), (16, 20, 3, 3), (20, 32, 3, 3)]
    proto.graph.initializer.extend(numpy_helper.from_array(normal(*shape), f"w{i}") for i, shape in enumerate(shapes))
    written = optimized(proto, tmp_path)
    converted = convert_version(written, 13, compare=compare, options=STANDARD)
    assert {node.domain for node in converted.model.graph.node} == {""}
    data = normal(2, 24, 8, 8)
    np.testing.assert_allclose(run(converted.model, {"x": data})[0], run(proto, {"x": data})[0], rtol=1e-4, atol=1e-4)


def test_all_channels_fill_whole_blocks(tmp_path):
    """As in ResNet: the blocks are those of the processor at hand."""
    proto = model("""<ir_version: 8, opset_import: ["" : 17]> g (float[N,16,8,8] x) => (float[N,32,6,6] y) {
        a = Conv (x, w0) b = Relu (a) y = Conv (b, w1) }""")
    shapes = [(32, 16, 1, 1), (32, 32, 3, 3)]
    proto.graph.initializer.extend(numpy_helper.from_array(normal(*shape), f"w{i}") for i, shape in enumerate(shapes))
    result = convert_version(optimized(proto, tmp_path), 13, compare="required", options=STANDARD).model
    data = normal(2, 16, 8, 8)
    np.testing.assert_allclose(run(result, {"x": data})[0], run(proto, {"x": data})[0], rtol=1e-4, atol=1e-4)


WRITTEN = {
    "MaxPool": "m = MaxPool <kernel_shape = [3,3], strides = [2,2]> (a)",
    "AveragePool": "m = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1> (a)",
    "GlobalAveragePool": "m = GlobalAveragePool (a)",
    "GlobalMaxPool": "m = GlobalMaxPool (a)",
    "Upsample": 'm = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (a, , s)',
    "ReorderOutput": "t = Transpose <perm = [0,2,3,1]> (a) u = Erf (t) m = Transpose <perm = [0,3,1,2]> (u)",
    "Conv": "m = Conv <group = 2> (a, w2)",
}


@pytest.mark.parametrize("op_type", WRITTEN)
def test_each_operator_that_the_optimizer_writes(tmp_path, op_type):
    proto = model(f"""<ir_version: 8, opset_import: ["" : 17]> g (float[N,32,8,8] x) => (float[N,C,D,E] y) <float[4] s = {{1,1,2,2}}> {{
        a = Conv (x, w0) {WRITTEN[op_type]} y = Conv (m, w1) }}""")
    shapes = [(32, 32, 1, 1), (20, 32, 1, 1), (32, 16, 1, 1)]
    proto.graph.initializer.extend(numpy_helper.from_array(normal(*shape), f"w{i}") for i, shape in enumerate(shapes))
    written = optimized(proto, tmp_path)
    assert op_type in {node.op_type for node in written.graph.node}
    result = convert_version(written, 13, compare="required", options=STANDARD).model
    data = normal(2, 32, 8, 8)
    np.testing.assert_allclose(run(result, {"x": data})[0], run(proto, {"x": data})[0], rtol=1e-4, atol=1e-4)


def test_new_weights_are_not_compared_with_others(tmp_path):
    """Weights in another order fit only those that they were made of, also where a part has more than are read."""
    proto = model("""<ir_version: 8, opset_import: ["" : 17]> g (float[N,1024,3,3] x) => (float[N,C,3,3] y) {
        r = Abs (x) a = Conv (r, w0) b = Conv (a, w1) c = Conv (b, w2) y = Conv (c, w3) }""")
    big = [helper.make_tensor(f"w{i}", 1, (1024, 1024, 1, 1), normal(1024 * 1024) / 32) for i in range(3)]
    proto.graph.initializer.extend([*big, numpy_helper.from_array(normal(20, 1024, 1, 1), "w3")])
    written = optimized(proto, tmp_path)
    report = convert_version(written, 13, compare="nodes", options=STANDARD).report
    assert report.comparison is not None
    assert report.comparison.status == "not compared"
