"""What the schema of an operator says about the types of a node, without inference."""

from __future__ import annotations

import onnx
from onnx import TensorProto, TypeProto

from ..onnx_model.domains import DEFAULT_DOMAINS
from .foreign import schemas
from .foreign import types as foreign
from .type_protos import tensor_type

_DATA_TYPES = frozenset(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}


def has_schemas(domain: str) -> bool:
    """Whether the schemas of the operators of `domain` tie types of values to each other."""
    return domain in DEFAULT_DOMAINS or domain in schemas.known_domains()


def is_inferred(node: onnx.NodeProto) -> bool:
    """Whether onnx can infer the outputs of `node`, whatever its domain."""
    if not onnx.defs.has(node.op_type, node.domain):
        return False
    return onnx.defs.get_schema(node.op_type, domain=node.domain).has_type_and_shape_inference_function


def fixed_types(node: onnx.NodeProto, opset: int, domain: str = "") -> dict[str, TypeProto]:
    """The types of outputs that do not depend on an input: int64 for Shape, bool for Less, the one that a Cast names. Their shapes
    are unknown.
    """
    if node.domain in schemas.known_domains():
        return foreign.fixed_types(node)
    if node.domain not in ((domain,) if domain else DEFAULT_DOMAINS):
        return {}
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, domain)
    except onnx.defs.SchemaError:
        return {}
    found: dict[str, TypeProto] = {}
    for name, parameter in zip(node.output, schema.outputs, strict=False):
        if name and len(parameter.types) == 1 and (number := tensor_type(next(iter(parameter.types)))):
            found[name] = TypeProto(tensor_type=TypeProto.Tensor(elem_type=number))
    for attribute in node.attribute:
        if attribute.name == "to" and attribute.i in _DATA_TYPES and node.output:
            found[node.output[0]] = TypeProto(tensor_type=TypeProto.Tensor(elem_type=attribute.i))
    return found


def tied_values(node: onnx.NodeProto, opset: int, domain: str = "") -> list[list[str]]:
    """Groups of two or more inputs and outputs of `node` that must have the same type by its schema."""
    if node.domain in schemas.known_domains():
        return foreign.tied_values(node)
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, domain)
    except onnx.defs.SchemaError:
        return []
    tied: dict[str, dict[str, None]] = {}
    for values, parameters in ((node.output, schema.outputs), (node.input, schema.inputs)):
        for index, value in enumerate(values if parameters else ()):
            parameter = parameters[min(index, len(parameters) - 1)]
            if value and parameter.is_homogeneous and "(" not in parameter.type_str:
                tied.setdefault(parameter.type_str, {})[value] = None
    return [list(values) for values in tied.values() if len(values) > 1]
