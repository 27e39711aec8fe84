"""Compares a conversion node by node: each distinct rewrite runs old against new, as two tiny models, on random inputs.

This is for models that are too large to run. Its cost depends on how many distinct rewrites there are, not on the weights, which
are not read. `regions` cuts the nodes into regions; each distinct region is written as two model files and judged by `compare`.
"equal" is said only where every one of them was.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, TypeProto, helper

from .. import progress
from ..errors import InvalidModelError
from ..graph.declarations import DECLARED_SIZE
from ..graph.model import Model, Semantics
from ..graph.protos import only_moves, subgraphs
from ..opsets.inference import Shape, shape_of, type_string
from ..storage.payload import inline_copy, is_external, raw_length, tensor_of
from ..storage.skeleton import Skeleton
from .by_model import Comparison, Piece, Runtime, compare
from .model_client import Worker
from .regions import ChangedNode, GraphPair, Input, Region, RegionFinder, element_count, free_reads, is_small_whole_numbers
from .retyped import with_own_names
from .samples import Samples
from .tolerance import EXACT, Tolerance

MAX_PIECES = 1000
"""Distinct regions that are run."""
MAX_SECONDS = 120.0
"""Seconds after which no further regions are run."""
_PIECE_SECONDS = 20.0
"""Seconds that one region may take."""
_MAX_ELEMENTS = 1 << 22
"""Elements in the inputs of one region; where there are more, dimensions above 64 are reduced."""
_FEW = 64
"""Elements of a floating-point constant that is used as it is: scales, bounds, exponents. Larger ones are weights."""
_MAX_VALUES = 1 << 24
"""Bytes of constants that are read where a rewrite computed with them, as when it cuts a weight into parts."""
_WIDENINGS = 3
"""How often a region that seems different is tried again, each time with the nodes that make its inputs."""


class _UnfitError(Exception):
    """A region cannot be made into models; `str()` is the reason."""


class _Plan(NamedTuple):
    """How the inputs of a region are filled: whether with the model's constants, and whether with dimensions at full size."""

    with_values: bool = False
    reduced: bool = False
    declared_from: int | None = None
    """The first axis from which on sizes that only a declaration says are taken; None where no axis takes them."""


class _Settings(NamedTuple):
    """How regions are run and judged."""

    runtime: Runtime
    seed: int
    tolerance: Tolerance
    worker: Worker
    semantics: Semantics | None


def compare_nodes(
    original: Model,
    result: Skeleton,
    aliases: Mapping[str, str],
    *,
    runtime: Runtime = "auto",
    seed: int = 0,
    tolerance: Tolerance = EXACT,
) -> Comparison:
    """Compare `result` with `original`, which is not converted, node by node.

    `aliases` are values that the conversion found to be equal to others. Nodes that were rewritten are compared within `tolerance`.
    Nodes that stayed may differ in the last bits at the opset of the result; that is the runtime's doing, and the piece says so.
    """
    if _interface(original.proto) != _interface(result.proto):
        return Comparison("different", reason="the result has other inputs or outputs than the original", seed=seed)
    result = with_own_names(original, result)
    finder = RegionFinder(original, result.proto, aliases)
    groups = _group(finder)
    with tempfile.TemporaryDirectory() as folder, Worker(time_limit=_PIECE_SECONDS) as worker:
        settings = _Settings(runtime, seed, tolerance, worker, original.semantics)
        judge = _Judge(finder, _Models(original, result), Path(folder), settings)
        pieces, runtimes = _judge_all(groups, judge)
    return replace(_sum_up(pieces), runtime=" and ".join(sorted(runtimes)), seed=seed)


def _interface(model: ModelProto) -> tuple[list[str], list[str]]:
    """The names of the inputs and outputs of a model."""
    return [value.name for value in model.graph.input], [value.name for value in model.graph.output]


def _judge_all(groups: list[_Group], judge: _Judge) -> tuple[list[Piece], set[str]]:
    """The verdicts, and the runtimes that gave them."""
    deadline = time.monotonic() + MAX_SECONDS
    pieces: list[Piece] = []
    runtimes: set[str] = set()
    advance = progress.begin("comparing", len(groups))
    for number, group in enumerate(groups):
        advance(1)
        if number >= MAX_PIECES:
            pieces.append(group.piece("not compared", f"only the first {MAX_PIECES:,} distinct changes are"))
        elif time.monotonic() > deadline:
            pieces.append(group.piece("not compared", f"the ones before it took {MAX_SECONDS:g} s"))
        else:
            found = judge.verdict(group.region)
            runtimes |= {found.runtime} - {""}
            pieces.append(group.of(found))
    return pieces, runtimes


class _Group:
    """Regions that are alike: the first of them, and their number."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.count = 1

    def of(self, found: Comparison) -> Piece:
        assert found.status != "partly compared"
        difference = max((output.max_abs for output in found.outputs), default=0.0)
        return replace(self.piece(found.status, found.reason), max_abs=difference, last_bits=found.last_bits)

    def piece(self, status: str, reason: str = "") -> Piece:
        region = self.region
        first = next((node for node in region.old if set(node.output) & set(region.outputs)), None)
        name = region.outputs[0] if first is None else first.name or region.outputs[0]
        change = _operators(region.old)
        if region.rewritten:
            change = f"{change or 'tensor'} → {_operators(region.new) or 'nothing'}"
        example = f"{first.op_type if first else 'tensor'} '{name}' ({region.pair.where})"
        return Piece(change, example, self.count, status, reason)  # type: ignore[arg-type]


def _operators(nodes: list[NodeProto]) -> str:
    """The operators of `nodes`, as "Split ×2, Concat"."""
    counts = Counter(node.op_type for node in nodes if node.op_type != "Constant" or len(nodes) == 1)
    shown = [name if count == 1 else f"{name} ×{count}" for name, count in counts.items()]
    return ", ".join(shown[:6]) + (", …" if len(shown) > 6 else "")


def _sum_up(pieces: list[Piece]) -> Comparison:
    """The verdict on the whole conversion."""
    count = Counter(piece.status for piece in pieces)
    different = [piece for piece in pieces if piece.status == "different"]
    if different:
        reason = f"{different[0].example}, {different[0].change}: {different[0].reason}"
        return Comparison("different", reason=reason, pieces=tuple(pieces), last_bits=all(piece.last_bits for piece in different))
    skipped = [piece for piece in pieces if piece.status == "not compared"]
    if not skipped:
        return Comparison("equal", pieces=tuple(pieces))
    status = "partly compared" if count["equal"] else "not compared"
    listed = "; ".join(f"{piece.count} × {piece.change} ({piece.reason})" for piece in skipped[:3])
    more = f"; and {len(skipped) - 3} more" if len(skipped) > 3 else ""
    reason = f"{len(skipped)} of {len(pieces)} distinct changes could not be compared: {listed}{more}"
    return Comparison(status, reason=reason, pieces=tuple(pieces))


# --- which regions are alike ------------------------------------------------------------------------------------------


def _group(finder: RegionFinder) -> list[_Group]:
    """The regions of a conversion, those that are alike as one group."""
    keys = _Keys()
    groups: dict[Hashable, _Group] = {}
    for region in finder.rewritten():
        key = keys.of_region(region)
        if key in groups:
            groups[key].count += 1
        else:
            groups[key] = _Group(region)
    for changed in finder.kept:
        key = keys.of_node(changed)
        if key in groups:
            groups[key].count += 1
        else:
            groups[key] = _Group(finder.cut([changed]))
    return list(groups.values())


class _Keys:
    """Makes keys that tell regions apart: operators, attributes, connections, types, shapes, small constants."""

    def __init__(self) -> None:
        self._kinds: dict[bytes, _Kind] = {}

    def of_region(self, region: Region) -> Hashable:
        """The key of a region."""
        if region.problem:
            return region.problem, region.pair.where, tuple(region.outputs)
        numbers: dict[str, int] = {}
        symbols: dict[str, int] = {}
        parts: list[Hashable] = [region.pair.opsets]
        for name, value in region.inputs.items():
            numbers[name] = len(numbers)
            parts.append(self._described(value, symbols) if value.name else _stored(region.pair, name))
        for name, value in region.renamed.items():
            numbers[name] = numbers.setdefault(value, len(numbers))
        for node in (*region.old, None, *region.new):
            parts.append(None if node is None else self._node(node, numbers, region.pair))
        outputs = tuple((numbers[name], numbers.get(region.aliases.get(name, ""))) for name in region.outputs)
        return (*parts, outputs)

    def of_node(self, changed: ChangedNode) -> Hashable:
        """The key of the region that consists of one node, which stayed as it is."""
        node, pair = changed.node, changed.pair
        symbols: dict[str, int] = {}
        names = list(node.input)
        inputs = tuple([self._described(Input(pair, name), symbols) if name else None for name in names])
        wiring = tuple(map(names.index, names)) if len(set(names)) < len(names) else ()
        return pair.opsets, node.op_type, _attributes(node), inputs, wiring, tuple(map(bool, node.output))

    def _node(self, node: NodeProto, numbers: dict[str, int], pair: GraphPair) -> Hashable:
        inputs = []
        for name in node.input:
            if name and name not in numbers:
                numbers[name] = len(numbers)
                inputs.append(_stored(pair, name))
            inputs.append(numbers[name] if name else None)
        for name in node.output:
            numbers.setdefault(name, len(numbers))
        return node.op_type, node.domain, _attributes(node), tuple(inputs), tuple(numbers[name] for name in node.output)

    def _described(self, value: Input, symbols: dict[str, int]) -> Hashable:
        """The value of an input, or its type and shape. Symbolic dimensions get numbers, which `symbols` keeps."""
        declared = value.pair.type(value.name)
        if declared is None:
            return "unknown", value.name
        data = declared.SerializeToString()
        kind = self._kinds.get(data)
        if kind is None:
            kind = self._kinds[data] = _Kind.of(declared)
        if kind.may_decide and (constant := _constant_of(value, kind.is_whole)) is not None:
            return constant.dtype.str, constant.shape, _bytes(constant)
        if not kind.symbols:
            return data
        return kind.text, tuple([symbols.setdefault(d, -1 - len(symbols)) if isinstance(d, str) else d for d in kind.shape])


class _Kind(NamedTuple):
    """A type as schemas write it, its dimensions, and whether a small constant of integers, or of other numbers, can have it."""

    text: str
    shape: Shape
    symbols: bool
    is_whole: bool
    may_decide: bool

    @staticmethod
    def of(declared: TypeProto) -> _Kind:
        shape = shape_of(declared) or ()
        symbols = any(isinstance(dim, str) for dim in shape)
        is_whole = is_small_whole_numbers(declared)
        return _Kind(type_string(declared) or "", shape, symbols, is_whole, is_whole or _is_few(declared))


def _bytes(array: np.ndarray) -> Hashable:
    return tuple(array.reshape(-1).tolist()) if array.dtype.hasobject else array.tobytes()


def _stored(pair: GraphPair, name: str) -> Hashable:
    """A key for a tensor that only the result has; the reference to its payload where that is not in memory."""
    tensor = pair.new_tensor(name)
    if tensor is None:
        return "nothing", name
    nameless = TensorProto()
    nameless.CopyFrom(tensor)
    nameless.ClearField("name")
    return nameless.SerializeToString(deterministic=True)


def _attributes(node: NodeProto) -> Hashable:
    """A key for the attributes of a node."""
    return tuple(sorted([attribute.SerializeToString(deterministic=True) for attribute in node.attribute]))


def _is_few(kind: TypeProto) -> bool:
    """Whether a type has so few elements that a constant of it is used as it is."""
    return kind.WhichOneof("value") == "tensor_type" and element_count(kind) <= _FEW


def _small_constant(value: Input) -> np.ndarray | None:
    """The value of a constant that may decide what a node does: integers, and a few others; else None."""
    kind = value.pair.type(value.name)
    if kind is None:
        return None
    is_whole = is_small_whole_numbers(kind)
    return _constant_of(value, is_whole) if is_whole or _is_few(kind) else None


def _constant_of(value: Input, is_whole: bool) -> np.ndarray | None:
    """The value of a small constant; where it is of integers, also one that is computed from constants."""
    maker = value.pair.old_maker(value.name)
    is_stored = maker is None or maker[0].old_nodes[maker[1]].op_type == "Constant"
    return value.pair.constant(value.name) if is_stored or is_whole else None


# --- old against new --------------------------------------------------------------------------------------------------


class _Judge:
    """Runs regions, old against new."""

    def __init__(self, finder: RegionFinder, models: _Models, folder: Path, settings: _Settings) -> None:
        self._finder = finder
        self._models = models
        self._folder = folder
        self._settings = settings

    def verdict(self, region: Region) -> Comparison:
        """The verdict on the region for any inputs; where that is not "equal", the one for inputs that the nodes before it make."""
        first = found = self._verdict_alone(region)
        widest = region
        for _ in range(_WIDENINGS):
            wider = None if found.status == "equal" else self._finder.widened(widest)
            if wider is None:
                break
            widest, found = wider, self._verdict_alone(wider)
        if found.status == "equal":
            return found
        if "different" in (first.status, found.status) and (name := widest.cut_sequence):
            return Comparison("not compared", reason=f"what makes the sequence '{name}' has a subgraph or another domain")
        if first.status == "different" and not region.foreign:
            return first
        if found.status == "different" and (not widest.foreign or widest.starts_from_inputs):
            return found
        if "different" not in (first.status, found.status):
            return first
        reads = ", ".join(f"'{name}'" for name in widest.foreign[:3])
        return Comparison("not compared", reason=f"what replaces it reads {reads}, which it did not depend on")

    def _verdict_alone(self, region: Region) -> Comparison:
        found = Comparison("different" if region.is_wrong else "not compared", reason=region.problem)
        for plan in [] if region.problem else self._models.plans(region):
            if plan.declared_from is not None and found.status == "different":
                break
            try:
                found = self._run(region, plan)
            except (_UnfitError, InvalidModelError) as problem:
                found = Comparison("not compared", reason=str(problem))
            if found.status == "equal":
                break
        return found

    def _run(self, region: Region, plan: _Plan) -> Comparison:
        paths = self._folder / "old.onnx", self._folder / "new.onnx"
        for path, model in zip(paths, self._models.of(region, plan), strict=True):
            path.write_bytes(model.SerializeToString())
        found = self._compare(*paths, replace(self._settings.tolerance, inexact=False))
        stayed = not region.rewritten or only_moves(region.old, region.new, region.renamed)
        if found.status == "different" and self._settings.tolerance.inexact and not stayed:
            found = self._compare(*paths, self._settings.tolerance)
        elif found.last_bits and stayed:
            found = self._compare(*paths, replace(self._settings.tolerance, inexact=True))
            found = replace(found, last_bits=True, reason="but for last bits: the runtime has another kernel for the other opset")
        if plan.reduced and found.status != "equal":
            reason = f"its inputs are too big to run, and of reduced sizes they give no answer ({found.reason})"
            return Comparison("not compared", reason=reason)
        return found

    def _compare(self, old: Path, new: Path, tolerance: Tolerance) -> Comparison:
        settings = self._settings
        return compare(
            old,
            new,
            runtime=settings.runtime,
            samples=Samples(seed=settings.seed),
            tolerance=tolerance,
            worker=settings.worker,
            thorough=True,
            semantics=settings.semantics,
        )


class _Models:
    """Makes the two models of a region."""

    def __init__(self, original: Model, result: Skeleton) -> None:
        self._original = original
        self._result = result

    def plans(self, region: Region) -> list[_Plan]:
        """Ways to fill the inputs, the cheapest first. Of their verdicts the first "equal" counts, otherwise the last one.

        A size that only a declaration states may be stale, so it is taken only where the original runs with no other: first that of
        all axes but the first, which is usually the batch.
        """
        plans = self._plans(region)
        is_certain = not any(_has_declared_sizes(value) for value in region.inputs.values())
        return plans if is_certain else [plan._replace(declared_from=axis) for axis in (None, 1, 0) for plan in plans]

    def _plans(self, region: Region) -> list[_Plan]:
        sizes = [_elements(value) for value in region.inputs.values() if value.name and _small_constant(value) is None]
        weights = [value for value in region.inputs.values() if value.name and self._weight(value) is not None]
        if any(raw_length(tensor) > _FEW for tensor in self._new_tensors(region).values()):
            return [_Plan(with_values=True)]  # computed from the weights, so that others would not fit
        if sum(sizes) > _MAX_ELEMENTS:
            return [_Plan(reduced=True)]
        return [_Plan(), _Plan(with_values=True)] if weights else [_Plan()]

    def of(self, region: Region, plan: _Plan) -> tuple[ModelProto, ModelProto]:
        """The models of the region, old and new. Raises _UnfitError and InvalidModelError."""
        inputs: list[onnx.ValueInfoProto] = []
        constants: list[TensorProto] = []
        budget = _Budget()
        sizes = _reduced_sizes(region) if plan.reduced else {}
        for name, value in region.inputs.items():
            tensor = self._constant(name, value, plan, budget)
            if tensor is None:
                inputs.append(onnx.ValueInfoProto(name=name, type=_input_type(name, value, sizes, plan.declared_from)))
            else:
                constants.append(tensor)
        old = [_inlined(_renamed(node, region.renamed), self._original.skeleton, budget) for node in region.old]
        new = [_inlined(node, self._result, budget) for node in region.new]
        stored = [_inlined_tensor(tensor, self._result, budget) for tensor in self._new_tensors(region).values()]
        stored, links = _as_outputs(region, stored)
        before, after = region.pair.opsets
        return (
            self._model(old, inputs, constants, region.outputs, before, self._original.ir_version),
            self._model([*new, *links], inputs, constants + stored, region.outputs, after, self._result.proto.ir_version),
        )

    def _model(
        self,
        nodes: list[NodeProto],
        inputs: list[onnx.ValueInfoProto],
        constants: list[TensorProto],
        outputs: list[str],
        opset: int,
        ir_version: int,
    ) -> ModelProto:
        read = {name for node in nodes for name in free_reads(node)}
        graph = onnx.GraphProto(name="region", node=nodes, input=inputs)
        graph.initializer.extend(tensor for tensor in constants if tensor.name in read)
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
        # What a node computes does not depend on the IR version; before 4 initializers would have to be inputs, and a
        # runtime may refuse the newest.
        model = ModelProto(ir_version=min(max(ir_version, 4), 10), graph=graph, functions=self._original.proto.functions)
        model.opset_import.extend(helper.make_opsetid(*pair) for pair in self._imports(opset).items())
        return model

    def _imports(self, opset: int) -> dict[str, int]:
        """The opset imports of a model of the default domain's `opset`."""
        return {entry.domain: entry.version for entry in self._original.proto.opset_import} | {"": opset}

    def _constant(self, name: str, value: Input, plan: _Plan, budget: _Budget) -> TensorProto | None:
        """The input as an initializer; None where it is fed."""
        if not value.name:
            raise _UnfitError(f"what replaces it reads '{name}', which only the result has")
        array = _small_constant(value)
        if array is not None:
            return tensor_of(array, name)
        weight = self._weight(value) if plan.with_values else None
        if weight is None:
            return None
        tensor = _inlined_tensor(weight, self._original.skeleton, budget)
        tensor.name = name
        return tensor

    def _weight(self, value: Input) -> TensorProto | None:
        """The stored tensor that an input is, in an initializer or a Constant node; None where there is none or it is small."""
        if _small_constant(value) is not None:
            return None
        tensor = value.pair.old.constants.tensor(value.name)
        maker = value.pair.old_maker(value.name)
        if tensor is not None or maker is None:
            return tensor
        node = maker[0].old_nodes[maker[1]]
        if node.op_type != "Constant":
            return None
        return next((attribute.t for attribute in node.attribute if attribute.name == "value"), None)

    def _new_tensors(self, region: Region) -> dict[str, TensorProto]:
        """The stored tensors that the region needs in the result, and that the original does not have."""
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
    """The bytes that may still be read from disk for one region."""

    def __init__(self) -> None:
        self._left = _MAX_VALUES

    def spend(self, tensor: TensorProto) -> None:
        """Take the bytes of `tensor` off. Raises _UnfitError where they are too many."""
        self._left -= raw_length(tensor)
        if self._left < 0:
            raise _UnfitError(f"it computes with constants of over {_MAX_VALUES >> 20} MiB, which are not read")


def _elements(value: Input) -> int:
    """The number of elements of an input."""
    kind = value.pair.type(value.name)
    return 0 if kind is None or kind.WhichOneof("value") != "tensor_type" else element_count(kind)


def _reduced_sizes(region: Region) -> dict[int, int]:
    """A small size for each dimension above 64, different ones for different dimensions."""
    kinds = [value.pair.type(value.name) for value in region.inputs.values()]
    dims = {dim.dim_value for kind in kinds if kind is not None for dim in kind.tensor_type.shape.dim}
    return {size: 12 + 4 * number for number, size in enumerate(sorted(dim for dim in dims if dim > 64))}


def _has_declared_sizes(value: Input) -> bool:
    kind = value.pair.type(value.name) if value.name else None
    return kind is not None and any(dim.dim_param.startswith(DECLARED_SIZE) for dim in kind.tensor_type.shape.dim)


def _input_type(name: str, value: Input, sizes: Mapping[int, int], declared_from: int | None) -> TypeProto:
    kind = value.pair.type(value.name)
    if kind is None or kind.WhichOneof("value") is None:
        raise _UnfitError(f"the type of '{name}' is unknown")
    kind = TypeProto.FromString(kind.SerializeToString())
    if kind.WhichOneof("value") == "tensor_type":
        _fill_sizes(kind.tensor_type, value.pair.old.types.proven_shape(value.name))
        for axis, dim in enumerate(kind.tensor_type.shape.dim):
            if declared_from is not None and axis >= declared_from and dim.dim_param.startswith(DECLARED_SIZE):
                dim.dim_value = int(dim.dim_param.removeprefix(DECLARED_SIZE))
            if dim.dim_value in sizes:
                dim.dim_value = sizes[dim.dim_value]
    return kind


def _fill_sizes(tensor: TypeProto.Tensor, proven: Shape | None) -> None:
    """Set the sizes that inference of the whole model left open and rules know: they may write what is right for these alone."""
    if proven is not None and not tensor.HasField("shape"):
        tensor.shape.CopyFrom(TensorShapeProto(dim=[TensorShapeProto.Dimension()] * len(proven)))
    if proven is not None and len(proven) == len(tensor.shape.dim):
        for dim, size in zip(tensor.shape.dim, proven, strict=True):
            if isinstance(size, int) and dim.WhichOneof("value") != "dim_value":
                dim.dim_value = size


def _renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """The node with other names for its values."""
    read = names.keys() & set(free_reads(node))
    if not read:
        return node
    if not read <= set(node.input):
        raise _UnfitError("a subgraph of it reads a value that is another one in the result")
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    return copy


def _inlined(node: NodeProto, skeleton: Skeleton, budget: _Budget) -> NodeProto:
    """The node with all payloads inside."""
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


def _as_outputs(region: Region, stored: list[TensorProto]) -> tuple[list[TensorProto], list[NodeProto]]:
    """Tensors and nodes that name those outputs which no node of the result makes: aliases, and what became a stored tensor."""
    made = {name for node in region.new for name in node.output}
    links = [helper.make_node("Identity", [value], [name]) for name, value in region.aliases.items()]
    renamed: list[TensorProto] = []
    for tensor in stored:
        if tensor.name in region.outputs and tensor.name not in made and tensor.name not in region.aliases:
            links.append(helper.make_node("Identity", [f"{tensor.name}_stored"], [tensor.name]))
            tensor.name += "_stored"
        renamed.append(tensor)
    return renamed, links
