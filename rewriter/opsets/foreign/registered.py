"""The types of what operators make whose schemas the caller registered with onnx, each with a function that infers them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import NodeProto, TensorProto, TypeProto, shape_inference

from ...errors import ArgumentError
from ...onnx_model.domains import DEFAULT_DOMAINS
from .schemas import known_domains


def domains(model: onnx.ModelProto) -> list[str]:
    """The imported domains that are neither ONNX's nor known here: those of which schemas may be registered."""
    own = {*DEFAULT_DOMAINS, *known_domains()}
    return [entry.domain for entry in model.opset_import if entry.domain not in own and not entry.domain.startswith("ai.onnx.")]


def is_registered(node: NodeProto) -> bool:
    """Whether the operator of `node`, which is none of ONNX's own, has a schema here that infers types. onnx's child has none."""
    if node.domain in DEFAULT_DOMAINS or not onnx.defs.has(node.op_type, node.domain):
        return False
    return onnx.defs.get_schema(node.op_type, domain=node.domain).has_type_and_shape_inference_function


def infer(node: NodeProto, types: Mapping[str, TypeProto], data: Mapping[str, TensorProto]) -> dict[str, TypeProto]:
    """The types of the outputs of `node` by the newest schema of its operator, with the `types` of its inputs; none where its
    function refuses them.

    Raises ArgumentError where this function fails.
    """
    schema = onnx.defs.get_schema(node.op_type, domain=node.domain)
    imports = [onnx.helper.make_opsetid(node.domain, schema.since_version)]
    known = {name: data[name] for name in node.input if name in data}
    try:
        return shape_inference.infer_node_outputs(schema, node, dict(types), known, None, imports, onnx.IR_VERSION)
    except (shape_inference.InferenceError, onnx.checker.ValidationError):
        return {}
    except Exception as error:  # of the caller's function
        what = f"the inference that is registered for {node.domain}.{node.op_type} fails"
        raise ArgumentError(f"{what}: {type(error).__name__}: {error}") from error
