"""Makes the two models of a region: what the original computes there, and what the result computes, with
the same inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, TypeProto, helper

from ...onnx_model.protos import subgraphs
from ...opsets.type_protos import shape_of, symbol
from ...storage.payload import inline_copy, is_external, raw_length, tensor_of
from ...storage.skeleton import Skeleton
from ...structure.declarations import DECLARED_SIZE
from ...structure.function_calls import nodes_run
from ..original import Original
from .changed_nodes import constant_tensor
from .dependence import FEW
from .division import MAX_NODES, Input, Region, element_count, free_reads
from .keys import small_constant
from .observation import Observations, Seen, is_given

_MAX_ELEMENTS = 1 << 22
"""The number of elements in the inputs of a region above which dimensions over 64 are reduced."""
_MAX_RANK = 5
"""The highest rank that is tried for inputs of unknown rank."""
_MAX_VALUES = 1 << 24
"""The bytes of constants that are read where a rewrite computed with them, for example where it cut a weight into parts."""


class UnfitError(Exception):
    """No models can be made for this region; `str()` is the reason."""


class Plan(NamedTuple):
    """How the inputs of a region are filled: with the model's constants or random values, and with full or reduced dimensions."""

    with_values: bool = False
    reduced: bool = False
    declared_from: int | None = None
    """The first axis from which on sizes are used that only a declaration states; None where no such size is used."""
    rank: int | None = None
    """The rank for inputs of unknown rank; None leaves the choice to the samples."""
    seen: Seen | None = None
    """A run of the original, whose shapes and values the inputs have."""
    weak: bool = False
    """Whether of the inputs that the original computes nothing is known but the element type and `rank`."""
    settled: bool = False
    """Whether inputs have the value that they had in all runs of the original, if it was the same."""


class RegionModels:
    """Makes the two models of a region."""

    def __init__(self, original: Original, result: Skeleton, observations: Observations) -> None:
        self._original = original
        self._result = result
        self._observations = observations

    def plans(self, region: Region) -> list[Plan]:
        """Ways to fill the inputs, the cheapest first. The first verdict "equal" counts; if there is none, the last verdict.

        A size that only a declaration states may be wrong, so it is used only where the original does not run otherwise: at first
        for all axes but the first, which is usually the batch.
        """
        plans = self._plans(region)
        is_certain = not any(_has_declared_sizes(value) for value in region.inputs.values())
        return plans if is_certain else [plan._replace(declared_from=axis) for axis in (None, 1, 0) for plan in plans]

    @staticmethod
    def weak_plans() -> list[Plan]:
        """A plan for each rank that the computed inputs may have."""
        return [Plan(rank=rank, weak=True) for rank in range(_MAX_RANK + 1)]

    def contradicts(self, region: Region, seen: Seen) -> bool:
        """Whether a run of the original has other shapes than the plans assume."""
        symbols: dict[str, int] = {}
        for name, value in region.inputs.items():
            if not value.name or value.name not in seen.shapes or self._constant_of(value) is not None:
                continue
            try:
                kind = self._input_type(name, value, {}, Plan())
            except UnfitError:
                continue
            if not _fits(kind, seen.shapes[value.name], symbols):
                return True
        return False

    def by_rank(self, region: Region) -> list[Plan]:
        """A plan for each rank that inputs of unknown rank may have; none where every rank is known."""
        unknown = any(self._is_unranked(value) for value in region.inputs.values())
        return [Plan(rank=rank) for rank in range(_MAX_RANK + 1)] if unknown else []

    def _plans(self, region: Region) -> list[Plan]:
        sizes = [_elements(value) for value in region.inputs.values() if value.name and self._constant_of(value) is None]
        weights = [name for name, value in region.inputs.items() if value.name and self._stored(name, value) is not None]
        if self._has_new_weights(region):
            return [Plan(with_values=True)]
        if sum(sizes) > _MAX_ELEMENTS:
            return [Plan(reduced=True)]
        return [Plan(), Plan(with_values=True)] if weights else [Plan()]

    def of(self, region: Region, plan: Plan) -> tuple[ModelProto, ModelProto]:
        """The two models of the region, old and new. Raises UnfitError and InvalidModelError."""
        if self._has_new_weights(region):
            plan = plan._replace(with_values=True)
        inputs: list[onnx.ValueInfoProto] = []
        constants: list[TensorProto] = []
        budget = _Budget()
        sizes = _reduced_sizes(region) if plan.reduced else {}
        for name, value in region.inputs.items():
            tensor = self._constant(name, value, plan, budget)
            if tensor is None:
                inputs.append(onnx.ValueInfoProto(name=name, type=self._input_type(name, value, sizes, plan)))
            else:
                constants.append(tensor)
        old = [_inlined(_renamed(node, region.renamed), self._original.skeleton, budget) for node in region.old]
        new = [_inlined(node, self._result, budget) for node in region.new]
        stored = [_inlined_tensor(tensor, self._result, budget) for tensor in self._new_tensors(region).values()]
        (before, after), outputs = region.pair.opsets, _outputs(region)
        if not all(_is_copied(region.pair.type(name), after) for name in region.aliases):
            raise UnfitError(f"opset {after} has no node that copies a list or an optional")
        stored, links = _as_outputs(region, stored)
        return (
            self._model(self._original.proto, old, inputs, constants, outputs, before),
            self._model(self._result.proto, [*new, *links], inputs, constants + stored, outputs, after),
        )

    def _has_new_weights(self, region: Region) -> bool:
        """Whether the result stores weights that were computed from those of the original, so that others would not fit."""
        stored = self._new_tensors(region).values()
        return any(tensor.data_type != TensorProto.STRING and raw_length(tensor) > FEW for tensor in stored)

    @staticmethod
    def _model(
        whole: ModelProto,
        nodes: list[NodeProto],
        inputs: list[onnx.ValueInfoProto],
        constants: list[TensorProto],
        outputs: list[onnx.ValueInfoProto],
        opset: int,
    ) -> ModelProto:
        """A model of `nodes`, which are those of `whole` in the form of `opset`, with the functions that they call there."""
        read = {name for node in nodes for name in free_reads(node)}
        graph = onnx.GraphProto(name="region", node=nodes, input=inputs)
        graph.initializer.extend(tensor for tensor in constants if tensor.name in read)
        graph.output.extend(outputs)
        # What a node computes does not depend on the IR version; before 4 initializers would have to be inputs, and a
        # runtime may refuse the newest.
        model = ModelProto(ir_version=min(max(whole.ir_version, 4), 10), graph=graph, functions=whole.functions)
        imports = {entry.domain: entry.version for entry in whole.opset_import} | {"": opset}
        model.opset_import.extend(helper.make_opsetid(*pair) for pair in imports.items())
        if model.functions and (count := nodes_run(model)) > MAX_NODES:
            raise UnfitError(f"it calls functions that stand for {count:,} nodes, and up to {MAX_NODES:,} are run")
        return model

    def _constant(self, name: str, value: Input, plan: Plan, budget: _Budget) -> TensorProto | None:
        """The input as an initializer; None where it becomes an input of the models."""
        if not value.name:
            raise UnfitError(f"what replaces it reads '{name}', which only the result has")
        seen = None if plan.seen is None or is_given(value) else plan.seen.values.get(value.name)
        array = self._constant_of(value) if seen is None else seen
        if array is None and plan.settled:
            array = self._observations.settled(value)
        if array is not None:
            return tensor_of(array, name)
        stored = self._stored(name, value) if plan.with_values else None
        if stored is None:
            return None
        tensor = _inlined_tensor(*stored, budget)
        tensor.name = name
        return tensor

    def _stored(self, name: str, value: Input) -> tuple[TensorProto, Skeleton] | None:
        """The stored tensor that an input is, in the original or, where nodes of the original make it, in the result; and whose."""
        weight = self._weight(value)
        if weight is not None:
            return weight, self._original.skeleton
        if self._constant_of(value) is not None or value.pair.old_maker(value.name) is None:
            return None
        tensor, maker = value.pair.new_tensor(name), value.pair.new_maker(name)
        tensor = constant_tensor(maker[0].new_nodes[maker[1]]) if maker is not None else tensor
        return None if tensor is None else (tensor, self._result)

    def _weight(self, value: Input) -> TensorProto | None:
        """The tensor with the value of an input, from an initializer or a Constant node; None where there
        is none or it is small.
        """
        if self._constant_of(value) is not None:
            return None
        tensor = value.pair.tensor(value.name)
        maker = value.pair.old_maker(value.name)
        if tensor is not None or maker is None:
            return tensor
        return constant_tensor(maker[0].old_nodes[maker[1]])

    def _is_unranked(self, value: Input) -> bool:
        """Whether the input is an input of the models, a tensor of unknown rank."""
        kind = value.pair.type(value.name) if value.name and self._constant_of(value) is None else None
        if kind is None or kind.WhichOneof("value") != "tensor_type" or kind.tensor_type.HasField("shape"):
            return False
        return self._observations.sizes(value) is None

    def _input_type(self, name: str, value: Input, sizes: Mapping[int, int], plan: Plan) -> TypeProto:
        kind = value.pair.type(value.name)
        if kind is None or kind.WhichOneof("value") is None:
            raise UnfitError(f"the type of '{name}' is unknown")
        kind = TypeProto.FromString(kind.SerializeToString())
        if kind.WhichOneof("value") == "tensor_type" and plan.seen is not None and value.name in plan.seen.shapes:
            return helper.make_tensor_type_proto(kind.tensor_type.elem_type, plan.seen.shapes[value.name])
        if kind.WhichOneof("value") == "tensor_type" and plan.weak and not is_given(value):
            return helper.make_tensor_type_proto(kind.tensor_type.elem_type, [None] * (plan.rank or 0))
        if kind.WhichOneof("value") == "tensor_type":
            sizes_seen = self._observations.sizes(value)
            if sizes_seen is None and plan.rank is not None:
                sizes_seen = (None,) * plan.rank
            _fill_sizes(kind.tensor_type, sizes_seen)
            for axis, dim in enumerate(kind.tensor_type.shape.dim):
                if plan.declared_from is not None and axis >= plan.declared_from and symbol(dim).startswith(DECLARED_SIZE):
                    dim.dim_value = int(dim.dim_param.removeprefix(DECLARED_SIZE))
                if dim.dim_value in sizes:
                    dim.dim_value = sizes[dim.dim_value]
        return kind

    def _constant_of(self, value: Input) -> np.ndarray | None:
        """The value of a small constant, else None."""
        return small_constant(value, self._observations)

    def _new_tensors(self, region: Region) -> dict[str, TensorProto]:
        """The stored tensors that only the result has, as far as the region needs them."""
        made = {name for node in region.new for name in node.output}
        names = [name for node in region.new for name in free_reads(node)]
        names += [region.aliases.get(name, name) for name in region.outputs]
        found: dict[str, TensorProto] = {}
        for name in names:
            if name not in made and name not in region.inputs and name not in found:
                tensors = (changed.pair.new_tensor(name) for changed in reversed(region.members))
                tensor = next((tensor for tensor in tensors if tensor is not None), None)
                if tensor is not None:
                    found[name] = tensor
        return found


class _Budget:
    """The number of bytes that may still be read from disk for one region."""

    def __init__(self) -> None:
        self._left = _MAX_VALUES

    def spend(self, tensor: TensorProto) -> None:
        """Subtract the bytes of `tensor`. Raises UnfitError where too few are left."""
        self._left -= raw_length(tensor)
        if self._left < 0:
            raise UnfitError(f"it computes with constants of over {_MAX_VALUES >> 20} MiB, which are not read")


def _elements(value: Input) -> int:
    """The number of elements of an input."""
    kind = value.pair.type(value.name)
    return 0 if kind is None or kind.WhichOneof("value") != "tensor_type" else element_count(kind)


def _reduced_sizes(region: Region) -> dict[int, int]:
    """A small size in place of each dimension above 64. Different dimensions get different sizes."""
    kinds = [value.pair.type(value.name) for value in region.inputs.values()]
    dims = {dim.dim_value for kind in kinds if kind is not None for dim in kind.tensor_type.shape.dim}
    return {size: 12 + 4 * number for number, size in enumerate(sorted(dim for dim in dims if dim > 64))}


def _has_declared_sizes(value: Input) -> bool:
    kind = value.pair.type(value.name) if value.name else None
    return kind is not None and any(symbol(dim).startswith(DECLARED_SIZE) for dim in kind.tensor_type.shape.dim)


def _outputs(region: Region) -> list[onnx.ValueInfoProto]:
    """The outputs, with the element types of tensors: a runtime that gives other types computes something else."""
    outputs = [onnx.ValueInfoProto(name=name) for name in region.outputs]
    for output in outputs:
        kind = region.pair.type(output.name)
        if kind is not None and kind.tensor_type.elem_type:
            output.type.tensor_type.elem_type = kind.tensor_type.elem_type
    return outputs


def _fits(kind: TypeProto, shape: Sequence[int], symbols: dict[str, int]) -> bool:
    """Whether a tensor of this type may have the `shape`, where `symbols` have their sizes; new ones are added."""
    known = shape_of(kind) if kind.WhichOneof("value") == "tensor_type" else None
    if known is None:
        return True
    pairs = zip(known, shape, strict=False)
    bound = (size if dim is None else dim if isinstance(dim, int) else symbols.setdefault(dim, size) for dim, size in pairs)
    return len(known) == len(shape) and list(bound) == list(shape)


def _fill_sizes(tensor: TypeProto.Tensor, seen: Sequence[int | None] | None) -> None:
    """Set the sizes that inference does not know and that all runs have: what a rule wrote may be right for these sizes only."""
    if seen is not None and not tensor.HasField("shape"):
        tensor.shape.CopyFrom(TensorShapeProto(dim=[TensorShapeProto.Dimension()] * len(seen)))
    if seen is not None and len(seen) == len(tensor.shape.dim):
        for dim, size in zip(tensor.shape.dim, seen, strict=True):
            if size is not None and dim.WhichOneof("value") != "dim_value":
                dim.dim_value = size


def _renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """A copy of the node in which the values have other names."""
    read = names.keys() & set(free_reads(node))
    if not read:
        return node
    if not read <= set(node.input):
        raise UnfitError("a subgraph of it reads a value that is another one in the result")
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    return copy


def _inlined(node: NodeProto, skeleton: Skeleton, budget: _Budget) -> NodeProto:
    """A copy of the node that contains the payloads of all its tensors."""
    if not any(is_external(tensor) for tensor in _tensors(node)):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    for tensor in _tensors(copy):
        if is_external(tensor):
            tensor.CopyFrom(_inlined_tensor(tensor, skeleton, budget))
    return copy


def _tensors(node: NodeProto) -> Iterator[TensorProto]:
    """The tensors in the attributes of a node."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            yield attribute.t
        yield from attribute.tensors
    for _, graph in subgraphs(node):
        yield from graph.initializer
        for inner in graph.node:
            yield from _tensors(inner)


def _inlined_tensor(tensor: TensorProto, skeleton: Skeleton, budget: _Budget) -> TensorProto:
    budget.spend(tensor)
    payload = skeleton.payload(tensor)
    copy = TensorProto()
    copy.CopyFrom(tensor if payload is None else inline_copy(tensor, payload))
    return copy


_COPIED_FROM = {"sequence_type": 14, "optional_type": 16}
"""The opsets whose Identity copies these as well as tensors."""


def _is_copied(kind: TypeProto | None, opset: int) -> bool:
    return kind is None or opset >= _COPIED_FROM.get(kind.WhichOneof("value") or "", 1)


def _as_outputs(region: Region, stored: list[TensorProto]) -> tuple[list[TensorProto], list[NodeProto]]:
    """Tensors and nodes that provide the outputs which no node of the result makes: aliases, and values
    that became stored tensors.
    """
    made = {name for node in region.new for name in node.output}
    links = [helper.make_node("Identity", [value], [name]) for name, value in region.aliases.items()]
    renamed: list[TensorProto] = []
    for tensor in stored:
        if tensor.name in region.outputs and tensor.name not in made and tensor.name not in region.aliases:
            links.append(helper.make_node("Identity", [f"{tensor.name}_stored"], [tensor.name]))
            tensor.name += "_stored"
        renamed.append(tensor)
    return renamed, links
