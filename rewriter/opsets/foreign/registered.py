"""The types of what operators make whose schemas the caller registered with onnx, each with a function that infers them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import NodeProto, TensorProto, TypeProto, shape_inference

from ...errors import ArgumentError
from ...onnx_model.all_nodes import with_inner
from ...onnx_model.domains import DEFAULT_DOMAINS
from .schemas import known_domains

_ONNX = "ai.onnx."
"""What the names of ONNX's other domains begin with."""
_NEWEST = 2**31 - 1
"""The largest version that onnx takes."""


def versions(model: onnx.ModelProto) -> dict[str, int]:
    """The imported versions of those domains of which the caller may have registered schemas, neither ONNX's nor known here."""
    own = {*DEFAULT_DOMAINS, *known_domains()}
    entries = (entry for entry in model.opset_import if entry.domain not in own and not entry.domain.startswith(_ONNX))
    return {entry.domain: entry.version for entry in entries}


def are_in(model: onnx.ModelProto) -> bool:
    """Whether the main graph of `model`, or a graph in it, has a node of such an operator."""
    imported = versions(model)
    return bool(imported) and any(schema_of(node, imported.get(node.domain)) for node in with_inner(model.graph.node))


def schema_of(node: NodeProto, version: int | None) -> onnx.defs.OpSchema | None:
    """The schema that the caller registered for the operator of `node` in this version of its domain, if it infers types. With None
    for the version, the only one that there is. onnx's child process has none of these.
    """
    op_type, domain = node.op_type, node.domain
    if domain in DEFAULT_DOMAINS or domain.startswith(_ONNX) or not onnx.defs.has(op_type, domain):
        return None
    found = onnx.defs.get_schema(op_type, domain=domain)
    if version is None and found.since_version > 1 and onnx.defs.has(op_type, found.since_version - 1, domain):
        return None
    if version is not None:
        version = min(version, _NEWEST)
        if not onnx.defs.has(op_type, version, domain):
            return None
        found = onnx.defs.get_schema(op_type, version, domain)
    return found if found.has_type_and_shape_inference_function else None


def infer(
    schema: onnx.defs.OpSchema, node: NodeProto, types: Mapping[str, TypeProto], data: Mapping[str, TensorProto]
) -> dict[str, TypeProto]:
    """The types of the outputs of `node` by its schema, with the `types` of its inputs; none where one of these is unknown, or the
    function of the schema refuses them.

    Raises ArgumentError where this function fails.
    """
    if any(name and name not in types for name in node.input):
        return {}
    imports = [onnx.helper.make_opsetid(node.domain, schema.since_version)]
    known = {name: data[name] for name in node.input if name in data}
    try:
        return shape_inference.infer_node_outputs(schema, node, dict(types), known, None, imports, onnx.IR_VERSION)
    except (shape_inference.InferenceError, onnx.checker.ValidationError):
        return {}
    except Exception as error:  # of the caller's function
        what = f"the inference that is registered for {node.domain}.{node.op_type} fails"
        raise ArgumentError(f"{what}: {type(error).__name__}: {error}") from error
