"""The opset and IR version of a model: which versions belong together, which one a model needs, and how
they are written at the end.
"""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import GraphProto, TensorProto, helper

from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GraphLike

_NEEDS_IR = {
    "BFLOAT16": 4,
    "FLOAT8E4M3FN": 9,
    "FLOAT8E4M3FNUZ": 9,
    "FLOAT8E5M2": 9,
    "FLOAT8E5M2FNUZ": 9,
    "UINT4": 10,
    "INT4": 10,
    "FLOAT4E2M1": 11,
    "FLOAT8E8M0": 12,
    "UINT2": 13,
    "INT2": 13,
    "FLOAT6E2M3": 14,
    "FLOAT6E3M2": 14,
}
"""Element types, and the IR version that introduced each."""


def ir_version_of(opset: int) -> int:
    """The IR version of the first onnx release that had `opset`."""
    rows = [(row[2], row[1]) for row in helper.VERSION_TABLE]
    return min(ir for version, ir in rows if version >= opset)


def opset_of(ir_version: int) -> int:
    """The newest opset of the onnx releases that wrote `ir_version`, or of those before."""
    return max((row[2] for row in helper.VERSION_TABLE if row[1] <= ir_version), default=1)


def needed_ir_version(model: onnx.ModelProto, graphs: Iterable[GraphLike]) -> int:
    """The oldest IR version that can express `model`, all of whose graphs are in `graphs`."""
    needs = 3
    if model.functions:
        needs = max(needs, 10 if any(getattr(f, "overload", "") for f in model.functions) else 8)
    if model.training_info:
        needs = max(needs, 7)
    for graph in graphs:
        if not isinstance(graph, GraphProto):
            continue
        inputs = {value.name for value in graph.input}
        if any(tensor.name not in inputs for tensor in graph.initializer):
            needs = max(needs, 4)
        if graph.sparse_initializer:
            needs = max(needs, 5)
        for number in {tensor.data_type for tensor in graph.initializer} | {
            value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)
        }:
            needs = max(needs, _needed_by_type(number))
    return needs


def _has_defaults(graph: GraphProto) -> bool:
    """Whether callers may override initializers of the graph, because they are also inputs."""
    inputs = {value.name for value in graph.input}
    return any(tensor.name in inputs for tensor in graph.initializer)


def _needed_by_type(number: int) -> int:
    """The IR version that introduced the element type with this number."""
    try:
        return _NEEDS_IR.get(TensorProto.DataType.Name(number), 3)  # type: ignore[arg-type]
    except ValueError:
        return 3


def chosen_ir_version(
    model: onnx.ModelProto,
    graphs: Iterable[GraphLike],
    source: int,
    target: int,
    wanted: int | None,
    highest: int | None = None,
    runtimes: str = "",
) -> int:
    """The IR version to write.

    It is `wanted`, if given. Otherwise, on the way down, it is the one of the onnx release that brought the target, but not less
    than the model needs, nor more than `highest`, the last one that the `runtimes`, as messages name them, accept. It is not
    lowered below 4 where callers may override initializers: before 4, runtimes take all initializers for constants.
    Raises ValueError where `wanted` or `highest` is too low for the model, or the installed onnx does not know `wanted`.
    """
    needs = needed_ir_version(model, graphs)
    if highest is not None and max(needs, wanted or 0) > highest:
        asked = max(needs, wanted or 0)
        raise ValueError(
            f"--for: this model needs at least IR version {asked}, and the runtimes accept at most {highest}: {runtimes}"
        )
    if wanted is not None:
        if wanted < needs:
            raise ValueError(f"--ir-version {wanted}: this model needs at least IR version {needs}")
        if wanted > onnx.IR_VERSION:
            raise ValueError(f"--ir-version {wanted}: the installed onnx knows IR versions up to {onnx.IR_VERSION}")
        return wanted
    if target < source:
        lowest = min(model.ir_version, 4) if _has_defaults(model.graph) else needs
        return min(max(needs, lowest, min(model.ir_version, ir_version_of(target))), highest or onnx.IR_VERSION)
    return min(max(needs, model.ir_version), highest or max(needs, model.ir_version))


def assume(model: onnx.ModelProto, opset: int | None, ir_version: int | None) -> bool:
    """Write into `model` what the user says of it: its opset, and its IR version where it states none that onnx knows.

    Returns whether the model is no longer what its file says.
    """
    declared, known = model.ir_version, range(1, onnx.IR_VERSION + 1)
    if ir_version is not None and ir_version in known and declared not in known:
        model.ir_version = ir_version
    if opset is not None:
        if not model.opset_import:
            model.opset_import.add(domain="", version=opset)
        stamp(model, opset)
    return opset is not None or model.ir_version != declared


def stamp(model: onnx.ModelProto, opset: int) -> None:
    """Write `opset` wherever the default domain is imported, in the model and in its functions."""
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            if entry.domain in DEFAULT_DOMAINS:
                entry.version = opset


def drop_imports(model: onnx.ModelProto, before: Iterable[str], after: Iterable[str]) -> None:
    """Remove the imports of domains whose nodes are all gone: `before` and `after` are the labels of the operators of `model`.

    Runtimes refuse models that import a domain they do not know, even if no node uses it. An import of a domain that is not among
    those of `before` stays.
    """
    gone = _domains(before) - _domains(after) - {function.domain for function in model.functions} - set(DEFAULT_DOMAINS)
    for owner in (model, *model.functions):
        for entry in [entry for entry in owner.opset_import if entry.domain in gone]:
            owner.opset_import.remove(entry)


def imports_of(model: onnx.ModelProto) -> list[onnx.OperatorSetIdProto]:
    """The imports of opsets by the model and by its functions."""
    return [entry for owner in (model, *model.functions) for entry in owner.opset_import]


def _domains(labels: Iterable[str]) -> set[str]:
    """The domains in labels such as "com.example::Mystery"; those of the default domain have none."""
    return {label.rpartition("::")[0] for label in labels if "::" in label}
