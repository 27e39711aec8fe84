"""The facts about one model: what it is made of, what is open in it, how far it can be converted, and who takes it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import onnx
from onnx import TensorProto, ValueInfoProto

from ..bridge.opening import AnyModel, Opened
from ..conversion.acceptance import Accepted
from ..conversion.driver import examine
from ..conversion.stages import Job
from ..engine.outcome import Remark
from ..engine.reach import Reach, find_reach
from ..graph.model import Model
from ..opsets.transitions import newest_opset
from ..opsets.type_protos import shape_of
from ..storage.payload import raw_length
from ..structure.declarations import show
from ..structure.survey import all_tensors
from .suitability import Suitability, suitabilities


@dataclass
class Value:
    """An input or output of the model."""

    name: str
    type: str
    """Such as "float[N,3,224,224]"."""


@dataclass
class Inspection:
    """What was found about one model."""

    opset: int | None
    ir_version: int
    exporter: str
    """The program that wrote it, with its release; "" where the model does not say."""
    inputs: list[Value]
    outputs: list[Value]
    parameters: dict[str, tuple[int, int]]
    """By element type: the number of elements, and of bytes, of all stored tensors."""
    operators: dict[str, dict[str, int]]
    """By domain, "ai.onnx" for ONNX's own: the number of nodes of each operator."""
    open: list[str]
    """What is not known before a run: dimensions of inputs, and values of which not even the rank is known."""
    repaired: list[Remark]
    reach: Reach | None
    runtimes: list[Suitability] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        """The number of nodes in all graphs."""
        return sum(count for domain in self.operators.values() for count in domain.values())


def inspect_model(model: AnyModel) -> Inspection:
    """Find out what `model` is. Raises: InvalidModelError where it is no valid model, and no known repair makes it one."""
    return examine(model, _inspected)


def _inspected(opened: Opened, accepted: Accepted, job: Job, model: Model) -> Inspection:
    prepared, proto = job.prepared, opened.skeleton.proto
    reach = (
        None if prepared.opset is None else find_reach(prepared.opset, newest_opset(), lambda opset: job.outcome_at(opset, model))
    )
    with_default = {tensor.name for tensor in proto.graph.initializer}
    return Inspection(
        opset=prepared.opset,
        ir_version=prepared.ir_version,
        exporter=" ".join(filter(None, (proto.producer_name, proto.producer_version))),
        inputs=[value_of(value) for value in proto.graph.input if value.name not in with_default],
        outputs=[value_of(value) for value in proto.graph.output],
        parameters=_parameters(proto),
        operators=_operators(prepared.operators),
        open=_open(model, with_default),
        repaired=list(prepared.repairs),
        reach=reach,
        runtimes=[] if prepared.opset is None else list(suitabilities(job, model, opened.skeleton, accepted)),
    )


def value_of(value: ValueInfoProto) -> Value:
    """Name and type of an input or output."""
    kind = value.type.tensor_type
    if value.type.WhichOneof("value") != "tensor_type":
        return Value(value.name, value.type.WhichOneof("value") or "?")
    name = TensorProto.DataType.Name(kind.elem_type).lower() if kind.elem_type in TensorProto.DataType.values() else "?"
    shape = shape_of(value.type)
    dims = "[?]" if shape is None else show(shape).replace("(", "[").replace(")", "]")
    return Value(value.name, f"{name}{dims}")


def _parameters(proto: onnx.ModelProto) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for tensor in all_tensors(proto):
        name = TensorProto.DataType.Name(tensor.data_type).lower()
        count = 1
        for dim in tensor.dims:
            count *= dim
        elements, size = found.get(name, (0, 0))
        found[name] = elements + count, size + (raw_length(tensor) if tensor.data_type != TensorProto.STRING else 0)
    return dict(sorted(found.items()))


def _operators(counts: Counter[str]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for label, count in sorted(counts.items()):
        domain, _, name = label.rpartition("::")
        found.setdefault(domain or "ai.onnx", {})[name] = count
    return found


def _open(model: Model, with_default: set[str]) -> list[str]:
    """What is open: dimensions of inputs by name, then values of unknown rank."""
    found: list[str] = []
    for value in model.proto.graph.input:
        shape = None if value.name in with_default else model.main.shape(value.name)
        dims = [str(dim) if dim is not None else f"axis {axis}" for axis, dim in enumerate(shape or ()) if not isinstance(dim, int)]
        if dims:
            found.append(f"{value.name}: {', '.join(dims)}")
    names = [name for node in model.proto.graph.node for name in node.output if name and model.main.types.rank(name) is None]
    return [*found, *([f"the rank of {len(names):,} values, the first of which is {names[0]}"] if names else [])]
