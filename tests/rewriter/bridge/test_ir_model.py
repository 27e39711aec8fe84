"""Models of onnx_ir and torch: the same kind comes back, tensors are never read, and Python objects stay where they belong."""

from __future__ import annotations

import subprocess
import sys
import types
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from helpers import model, run

from split_rewrite.rewriter import (
    InvalidModelError,
    UnconvertibleError,
    check_convertible,
    convert_version,
    round_trip,
    simplify,
)

NORMED = """agraph (float[2,4] x) => (float[2,4] y)
<float[4] scale = {1.0, 2.0, 3.0, 4.0}, float[4] bias = {0.5, 0.5, 0.5, 0.5}>
{
    h = Relu(x)
    n = LayerNormalization(h, scale, bias)
    y = Neg(n)
}"""
REFUSED = "agraph (string[2] x) => (string[2] y) { y = StringConcat(x, x) }"


def normed() -> ir.Model:
    return ir.from_proto(model(NORMED))


def never_read(shape: list[int], name: str = "w") -> ir.LazyTensor:
    def read() -> Any:
        raise AssertionError(f"{name} was read")

    return ir.LazyTensor(read, dtype=ir.DataType.FLOAT, shape=ir.Shape(shape), name=name)


def with_weight(tensor: Any, text: str = "m = MatMul(x, w)") -> ir.Model:
    """`y = LayerNormalization(x · w)`, where the initializer w is `tensor`."""
    rows, columns = tensor.shape.numpy()
    found = ir.from_proto(
        model(f"""agraph (float[2,{rows}] x, float[{rows},{columns}] w) => (float[2,{columns}] y)
        <float[1] s = {{1.0}}> {{ {text} y = LayerNormalization(m, s) }}""")
    )
    return store(found, tensor)


def store(found: ir.Model, tensor: Any) -> ir.Model:
    """Let the last input of `found` be an initializer that is `tensor`."""
    value = found.graph.inputs.pop()
    value.const_value = tensor
    found.graph.register_initializer(value)
    return found


# -- what is refused


def test_a_refusal_leaves_the_model_as_it_was():
    given = ir.from_proto(model(REFUSED, opset=20))
    before = ir.to_proto(given).SerializeToString(deterministic=True)
    with pytest.raises(UnconvertibleError, match="StringConcat"):
        convert_version(given, 18)
    assert ir.to_proto(given).SerializeToString(deterministic=True) == before


def test_a_tensor_that_says_a_wrong_size_is_reported():
    short = ir.LazyTensor(lambda: ir.tensor(np.zeros(3, np.float32)), dtype=ir.DataType.FLOAT, shape=ir.Shape([4, 4]), name="w")
    with pytest.raises(InvalidModelError, match="tensor 'w': has 12 bytes of data, but declares 64"):
        convert_version(with_weight(short), 13, compare="required")


def test_a_tensor_that_cannot_be_read_is_reported(tmp_path):
    gone = ir.ExternalTensor("gone.bin", 0, 64, ir.DataType.FLOAT, shape=ir.Shape([4, 4]), name="w", base_dir=tmp_path)
    with pytest.raises(InvalidModelError, match=r"tensor 'w': cannot be read: .*gone.bin"):
        convert_version(with_weight(gone), 13, compare="required")


# -- kinds


def test_an_ir_model_gives_an_ir_model_and_stays_as_it_is():
    given = normed()
    before = ir.to_proto(given).SerializeToString(deterministic=True)
    result = convert_version(given, 13, compare="required")
    assert isinstance(result.model, ir.Model)
    assert result.model is not given
    assert result.model.opset_imports[""] == 13
    assert ir.to_proto(given).SerializeToString(deterministic=True) == before
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    expected, got = run(model(NORMED), {"x": x}), run(ir.to_proto(result.model), {"x": x})
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-5, atol=1e-6)


def test_all_calls_take_an_ir_model():
    assert isinstance(simplify(normed()).model, ir.Model)
    assert isinstance(round_trip(normed(), 13).model, ir.Model)
    assert not check_convertible(normed(), 13).blockers


def test_a_program_of_torch_gives_a_program(monkeypatch):
    class ONNXProgram:
        def __init__(self, model: ir.Model, exported_program: object) -> None:
            self.model = model
            self.exported_program = exported_program

    torch_onnx = types.ModuleType("torch.onnx")
    torch_onnx.ONNXProgram = ONNXProgram  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.onnx", torch_onnx)
    given = ONNXProgram(normed(), exported_program="the exported program")
    result = convert_version(given, 13).model
    assert type(result) is ONNXProgram
    assert result.model.opset_imports[""] == 13
    assert result.exported_program == "the exported program"
    assert given.model.opset_imports[""] == 18


def test_the_library_imports_no_library_of_models():
    script = "import sys, split_rewrite.rewriter as r; r.convert_version, r.Options; print([n for n in ('onnx_ir', 'onnxscript', 'torch') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


# -- tensors


def test_tensors_are_not_read_and_come_back_as_the_same_objects():
    lazy = never_read([4096, 4096])
    result = convert_version(with_weight(lazy), 13, compare="off").model
    assert result.graph.initializers["w"].const_value is lazy


def test_small_tensors_come_back_as_the_same_objects():
    given = normed()
    scale = given.graph.initializers["scale"].const_value
    assert convert_version(given, 13).model.graph.initializers["scale"].const_value is scale


def test_external_tensors_come_back_with_their_folder(tmp_path):
    external = ir.ExternalTensor("w.bin", 4096, 64, ir.DataType.FLOAT, shape=ir.Shape([4, 4]), name="w", base_dir=tmp_path)
    result = convert_version(with_weight(external), 13, compare="off").model
    assert result.graph.initializers["w"].const_value is external


def test_tensors_of_attributes_come_back_as_the_same_objects():
    lazy = never_read([64, 64])
    given = with_weight(never_read([64, 64], "unused"), "c = Constant <value = float[1] {1.0}> () m = MatMul(x, c)")
    constant = next(node for node in given.graph if node.op_type == "Constant")
    constant.attributes["value"] = ir.AttrTensor("value", lazy)
    result = convert_version(given, 13, compare="off").model
    assert next(node for node in result.graph if node.op_type == "Constant").attributes["value"].value is lazy
    assert constant.attributes["value"].value is lazy


def test_parts_of_a_tensor_that_was_split_are_read_when_they_are_needed():
    values = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    lazy = ir.LazyTensor(lambda: ir.tensor(values), dtype=ir.DataType.FLOAT, shape=ir.Shape([64, 64]), name="w")
    given = ir.from_proto(
        model("""agraph (float[2,32] x, float[64,64] w) => (float[2,64] y, float[2,64] z)
        { a, b = Split <axis = 0, num_outputs = 2> (w) y = MatMul(x, a) z = MatMul(x, b) }""")
    )
    result = simplify(store(given, lazy)).model
    parts = [value.const_value for value in result.graph.initializers.values()]
    np.testing.assert_array_equal(np.concatenate([part.numpy() for part in parts]), values)


def test_the_comparison_reads_the_tensors():
    weight = np.random.default_rng(1).standard_normal((64, 64), np.float32)
    lazy = ir.LazyTensor(lambda: ir.tensor(weight), dtype=ir.DataType.FLOAT, shape=ir.Shape([64, 64]), name="w")
    comparison = convert_version(with_weight(lazy), 13, compare="required").report.comparison
    assert comparison is not None and comparison.status == "equal"


# -- what protobuf does not carry


def test_python_objects_stay_at_untouched_nodes_and_values_and_go_to_what_replaces_them():
    given = normed()
    layer, relu = object(), object()
    next(node for node in given.graph if node.op_type == "LayerNormalization").meta["layer"] = layer
    next(node for node in given.graph if node.op_type == "Relu").meta["layer"] = relu
    given.graph.outputs[0].meta["what"] = "result"
    given.graph.inputs[0].meta["what"] = "image"
    given.graph.meta["graph"] = given.meta["model"] = 1
    result = convert_version(given, 13).model
    owners = [node.meta.get("layer") for node in result.graph]
    assert owners == [relu, *[layer] * (len(owners) - 2), None]
    assert len(owners) > 3
    assert (result.graph.outputs[0].meta["what"], result.graph.inputs[0].meta["what"]) == ("result", "image")
    assert (result.graph.meta["graph"], result.meta["model"]) == (1, 1)
    assert not any("split_rewrite" in key for node in (*given.graph, *result.graph) for key in node.metadata_props)


def test_python_objects_of_subgraphs_and_functions_stay():
    given = ir.from_proto(
        model("""<ir_version: 8, opset_import: ["" : 18, "f" : 1]>
        agraph (float[2,4] x, bool c) => (float[2,4] y)
        {
            a = f.twice(x)
            y = If(c) <then_branch = t () => (float[2,4] r) { r = Neg(a) }, else_branch = e () => (float[2,4] q) { q = Mish(a) }>
        }
        <opset_import: ["" : 18], domain: "f"> twice (v) => (w) { w = Add(v, v) }""")
    )
    for body in (given.functions["f", "twice", ""], *given.graph.subgraphs()):
        for node in body:
            node.meta["of"] = node.outputs[0].name
            node.outputs[0].meta["name"] = node.outputs[0].name
    result = convert_version(given, 17).model
    twice = list(result.functions["f", "twice", ""])
    assert [(node.meta["of"], node.outputs[0].meta["name"]) for node in twice] == [("w", "w")]
    branches = {graph.outputs[0].name: graph for graph in result.graph.subgraphs() if graph is not result.graph}
    assert [node.meta["of"] for node in branches["r"]] == ["r"]
    assert {node.meta["of"] for node in branches["q"]} == {"q"}
    assert branches["q"].outputs[0].meta["name"] == "q"


@pytest.mark.skipif(onnx.IR_VERSION < 11, reason="the installed onnx has no device configurations")
def test_sharding_stays():
    given = normed()
    if not hasattr(given, "add_device_configuration"):
        pytest.skip("this onnx_ir has no device configurations")
    given.ir_version = 11
    given.add_device_configuration("two", num_devices=2)
    result = convert_version(given, 17).model
    assert [configuration.name for configuration in result.device_configurations] == ["two"]
