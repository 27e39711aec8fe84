"""Finds the lengths that have to be equal though they have different names: onnxruntime has kernels that do not look.

Such a kernel reads the elements of its second input as if it were as long as the first. What it gives for another length proves
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from ...onnx_model.all_nodes import with_inner
from ...opsets import facts
from ...opsets.cases import Values
from ...opsets.foreign.models import rounds, state_types
from ...opsets.inference import infer_node
from .readers import Dim


def equal_lengths(model: onnx.ModelProto) -> dict[str, Dim]:
    """What stands for symbolic dimensions: another one, or a length. A dimension without a name is called "input[axis]"."""
    found: dict[str, Dim] = {}
    for one, other in _pairs(model):
        kept, dropped = _last(found, one), _last(found, other)
        if isinstance(kept, int):
            kept, dropped = dropped, kept
        if isinstance(kept, str) and kept != dropped:
            if isinstance(dropped, str):
                found[dropped] = kept
            else:
                found[kept] = dropped
    return {name: _last(found, name) for name in found}


def _last(found: dict[str, Dim], dim: Dim) -> Dim:
    while isinstance(dim, str) and dim in found:
        dim = found[dim]
    return dim


def _pairs(model: onnx.ModelProto) -> Iterator[tuple[Dim, Dim]]:
    """The dimensions that have to be equal, two at a time."""
    nodes = [(node, facts.of(node.op_type, node.domain).names("alike")) for node in with_inner(model.graph.node)]
    values = Values(_with_types(model) if any(pairs for _, pairs in nodes) else model)
    for node, pairs in nodes:
        for pair in pairs:
            one, other = (_dims(values, node, int(number)) for number in pair.split("-"))
            for first, second in zip(reversed(one), reversed(other), strict=False):
                if second != 1:  # a single element is repeated
                    yield first, second


def _with_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without data, with the types of what operators of other domains make."""
    graph = model.graph
    bare = onnx.GraphProto(node=graph.node, input=graph.input, output=graph.output, value_info=graph.value_info)
    named = {value.name for value in graph.input}
    stored = (tensor for tensor in graph.initializer if tensor.name not in named)
    bare.input.extend(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in stored)
    typed = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions, graph=bare)
    left = rounds(typed, typed.SerializeToString())
    try:
        typed = onnx.shape_inference.infer_shapes(typed)
        while left and state_types(typed, infer_node):
            typed, left = onnx.shape_inference.infer_shapes(typed), left - 1
    except onnx.shape_inference.InferenceError:
        pass  # what was found until then
    return typed


def _dims(values: Values, node: onnx.NodeProto, index: int) -> list[Dim]:
    """The dimensions of an input; [] where they are not known."""
    name = node.input[index]
    kind = values.tensor_of(name)
    return [] if kind is None else list(_named(name, kind.shape.dim))


def _named(name: str, dims: Iterable[onnx.TensorShapeProto.Dimension]) -> Iterator[Dim]:
    for axis, dim in enumerate(dims):
        yield dim.dim_value if dim.HasField("dim_value") else dim.dim_param or f"{name}[{axis}]"
