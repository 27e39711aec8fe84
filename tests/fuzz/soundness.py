"""Soundness of knowledge: what the program states about the values of a model, before it runs, holds in every run.

    python tests/fuzz/soundness.py                         # all node tests, models/ and 2000 random models
    python tests/fuzz/soundness.py --ops Slice --random 0  # the node tests of one operator
    python tests/fuzz/soundness.py --seed 7 --random 500   # other random models

Each model is weakened in one place at a time: constants become inputs, lengths, dimensions and ranks become unknown, all symbols get
one name, and what `value_info` says of inner values becomes stale or false. Each weakened model is run on several inputs, with all
values as outputs, without what it declares of inner values. `ask` is the only place that knows how the program is asked.

Printed are the statements that were checked, by kind and by operator, and each contradiction with its model. The exit status is 1 if
there is a contradiction.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, TypeProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from opset_matrix import Case, collect_cases
from random_models import random_case
from random_shapes import random_shapes

from split_rewrite.rewriter.comparison.judging.runtime_defects import known_defects
from split_rewrite.rewriter.execution.messages import Failure
from split_rewrite.rewriter.execution.model_client import lent_worker
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.scope import Scope
from split_rewrite.rewriter.storage.skeleton import Skeleton
from split_rewrite.rewriter.structure.survey import all_graphs

MODELS = Path(__file__).resolve().parents[2] / "models"
KINDS = ("type", "rank", "dimension", "symbol", "entry", "constant", "origin")
MOST_ELEMENTS = 1 << 16
"""The elements of the largest input whose sizes are varied."""
_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)

Dimension = int | str | None
Feeds = dict[str, Any]
Values = dict[str, Any]
Bodies = list[tuple[tuple[Any, ...], Values]]
"""The values of each run of each graph, which `_key` identifies."""


# -- what the program states


class Knowledge(NamedTuple):
    """What the program states as a fact about a value; None, also for a single dimension or entry, where it states nothing."""

    type: str | None
    shape: tuple[Dimension, ...] | None
    entries: tuple[Dimension, ...] | None
    constant: np.ndarray | None
    origins: tuple[tuple[str, int] | None, ...]
    """For each dimension, the input of the model and its axis that have the same length."""


def ask(scope: Scope, name: str) -> Knowledge:
    """Everything that the program states about the value `name` of a graph, and does not call a claim of the model."""
    reliance = scope.model.sizes_relied_on
    reliance.clear()
    shape, constant, entries = scope.shape(name), scope.constant(name), scope.types.entries(name)
    proven = scope.types.proven_shape(name)
    rank, sizes = scope.types.rank(name), () if shape is None else [scope.types.size(name, axis) for axis in range(len(shape))]
    assert (shape is None) == (rank is None) and list(shape or ()) == list(sizes), f"'{name}': the answers differ"
    facts = proven if scope.resolve(name) in reliance else shape
    origins = [scope.origin_of_dimension(name, axis) for axis in range(len(shape or ()))]
    found = tuple(None if origin == (name, axis) else origin for axis, origin in enumerate(origins))
    return Knowledge(scope.type_string(name), facts, entries, constant, found)


def graphs_of(model: ModelProto) -> Iterator[tuple[Scope, Any]]:
    """The graphs of a model, its functions and subgraphs, each with the graph as it is stored."""
    whole = Model(Skeleton.of(model), constants_as_initializers=True)
    pending = [whole.main, *whole.functions]
    while pending:
        scope = pending.pop()
        yield scope, scope.graph
        for index, node in enumerate(scope.graph.node):
            if any(attribute.type in _GRAPHS for attribute in node.attribute):
                pending.extend(scope.children(node, index, scope.opset))


# -- what is stated, and what is so


@dataclass
class Tally:
    """The statements that were checked, by kind and operator, and the contradictions."""

    statements: Counter[tuple[str, str]] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    models: int = 0
    runs: int = 0

    def of_kind(self, kind: str) -> int:
        return sum(count for (found, _), count in self.statements.items() if found == kind)

    def operators(self, kind: str) -> set[str]:
        return {op_type for found, op_type in self.statements if found == kind}


class _Graph:
    """One graph with what is stated about its values."""

    def __init__(self, scope: Scope, graph: Any) -> None:
        self.makers = {name: node.op_type for node in graph.node for name in node.output if name}
        inputs = list(graph.input) if not isinstance(graph, GraphProto) else [value.name for value in graph.input]
        self.names = [*inputs, *self.makers]
        self.known = {name: ask(scope, name) for name in self.names}

    def check(self, values: Values, symbols: Mapping[str, int], tally: Tally, where: str) -> None:
        """Compare the statements with the `values` of one run, in which the `symbols` of the model's inputs have these sizes."""
        bound = dict(symbols)
        for name, known in self.known.items():
            if name in values:
                for kind, is_right, text in _statements(name, known, values, bound):
                    tally.statements[kind, self.makers.get(name, "input")] += 1
                    if not is_right:
                        tally.contradictions.append(f"{where}: {self.makers.get(name, 'input')} '{name}': {text}")


def _statements(name: str, known: Knowledge, values: Values, bound: dict[str, int]) -> Iterator[tuple[str, bool, str]]:
    """Each statement about a value: its kind, whether it holds, and a text. Symbols get their sizes in `bound`."""
    value = values[name]
    if known.type is not None and not known.type.startswith(_UNSEEN) and (found := _type_of(value)) is not None:
        yield "type", found == known.type, f"it is {found}, not {known.type}"
    if not isinstance(value, np.ndarray):
        return
    if known.shape is not None:
        yield "rank", len(known.shape) == value.ndim, f"its shape is {value.shape}, not {known.shape}"
        for stated, size in zip(known.shape, value.shape, strict=False):
            yield from _of_dimension(stated, size, bound, f"its shape is {value.shape}, not {known.shape}")
    if known.entries is not None:
        text = f"its entries are {value.tolist()}, not {known.entries}"
        yield "entry", value.ndim < 2 and value.size == len(known.entries), text
        for stated, entry in zip(known.entries, value.reshape(-1).tolist(), strict=False):
            for _, is_right, _ in _of_dimension(stated, int(entry), bound, ""):
                yield "entry", is_right, f"{text} {bound}"
    if known.constant is not None:
        text = f"it is {value!r}, not {known.constant!r}"
        is_same = value.shape == known.constant.shape and value.dtype.name == known.constant.dtype.name
        yield "constant", is_same and _equal(value, known.constant), text
    for axis, origin in enumerate(known.origins):
        if origin is not None and origin[0] in values and axis < value.ndim:  # an input that is not given has its default
            size = np.shape(values[origin[0]])[origin[1]]
            yield "origin", value.shape[axis] == size, f"axis {axis} is not as long as {origin}"


_UNSEEN = (
    "optional",
    "tensor(float8",
    "tensor(float4",
    "tensor(int4",
    "tensor(uint4",
    "tensor(int2",
    "tensor(uint2",
    "tensor(bfloat16",
)
"""The beginnings of types that a run does not show: numpy has no such types, and an optional is its element."""


def _of_dimension(stated: Dimension, size: int, bound: dict[str, int], text: str) -> Iterator[tuple[str, bool, str]]:
    if isinstance(stated, int):
        yield "dimension", stated == size, text
    elif isinstance(stated, str):
        expected = bound.setdefault(stated, size)
        yield "symbol", expected == size, f"{text}: {stated} is {expected}"


def _equal(value: np.ndarray, constant: np.ndarray) -> bool:
    if value.dtype == object or value.dtype.kind in "US":
        return value.tolist() == constant.tolist()
    return value.tobytes() == constant.tobytes() or bool(np.array_equal(value, constant, equal_nan=value.dtype.kind in "fc"))


def _type_of(value: Any) -> str | None:
    """The type of a value as schemas write it; None where the run does not tell."""
    if isinstance(value, np.ndarray):
        if value.dtype == object or value.dtype.kind in "US":
            return "tensor(string)"
        number = helper.np_dtype_to_tensor_dtype(value.dtype)
        return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"
    inner = _type_of(value[0]) if isinstance(value, list) and value else None
    return None if inner is None else f"seq({inner})"


def check(model: ModelProto, samples: Sequence[Feeds], tally: Tally, where: str, *, deep: bool = False) -> None:
    """Check everything that is stated about the values of `model` on all `samples` on which it runs.

    With `deep`, onnx.reference runs it, and the values of subgraphs and functions are checked too.
    """
    honest = _honest(model)
    given = [_given(model, feeds) for feeds in samples]
    bound = [_symbols(model, feeds) for feeds in samples]
    fitting = [(values, symbols) for values, symbols in zip(given, bound, strict=True) if symbols is not None]
    found = _in_runtime(honest, [values for values, _ in fitting])
    if found is None:  # onnx.reference runs much that is invalid, so that only the sample that is known to be right counts
        fitting = [pair for pair in fitting if deep or len(honest.graph.node) == 1 if pair[0] is given[0]]
        found = [values for values, _ in fitting]
        deep = True
    ran: list[tuple[Bodies, dict[str, int]]] = []
    for (feeds, symbols), values in zip(fitting, found, strict=True):
        bodies = None if values is None else _run_deep(honest, feeds) if deep else [(_key(honest.graph), {**feeds, **values})]
        ran += [] if bodies is None else [(bodies, symbols)]
    runs = [run for run in ran if _keeps_interface(model, run[0]) and _is_specified(model, run[0])]
    if not runs:
        return
    graphs = {_key(graph): _Graph(scope, graph) for scope, graph in graphs_of(model)}
    tally.models += 1
    tally.runs += len(runs)
    for bodies, symbols in runs:
        for key, values in bodies:
            if key in graphs:
                graphs[key].check(values, symbols, tally, where)


def _key(graph: Any) -> tuple[Any, ...]:
    return tuple(tuple(node.output) for node in graph.node)


def _given(model: ModelProto, feeds: Feeds) -> Feeds:
    """The values of the inputs of `model` in a run on `feeds`: those that are not fed have their defaults."""
    defaults = _defaults(model)
    fed = {value.name for value in model.graph.input} - (set(defaults) if model.ir_version < _OVERRIDABLE else set())
    return {**defaults, **{name: value for name, value in feeds.items() if name in fed}}


_OVERRIDABLE = 4
"""The first IR version in which a stored value that is also an input can be replaced."""


def _defaults(model: ModelProto) -> Feeds:
    inputs = {value.name for value in model.graph.input}
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name in inputs}


def _symbols(model: ModelProto, feeds: Feeds) -> dict[str, int] | None:
    """The sizes of the symbols of the inputs; None where `feeds` are not what the inputs are declared to be.

    Defaults promise nothing: editors give symbols to all inputs, and leave the stored values as they are.
    """
    symbols: dict[str, int] = {}
    defaults = _defaults(model)
    for value in model.graph.input:
        if value.name in defaults and (value.name not in feeds or model.ir_version < _OVERRIDABLE):
            continue
        if value.name not in feeds:
            return None
        array, kind = feeds[value.name], value.type.tensor_type
        if not isinstance(array, np.ndarray) or not kind.HasField("shape"):
            continue
        if len(kind.shape.dim) != array.ndim:
            return None
        for dim, size in zip(kind.shape.dim, array.shape, strict=True):
            is_wrong = dim.HasField("dim_value") and dim.dim_value != size
            if is_wrong or (dim.dim_param and symbols.setdefault(dim.dim_param, size) != size):
                return None
    return symbols


def _keeps_interface(model: ModelProto, bodies: Bodies) -> bool:
    """Whether the outputs of a run have the ranks and sizes that the model declares; it states something for such runs only."""
    values = next(values for key, values in bodies if key == _key(model.graph))
    for output in model.graph.output:
        value, kind = values[output.name], output.type.tensor_type
        if isinstance(value, np.ndarray) and kind.HasField("shape"):
            sizes = [
                dim.dim_value if dim.HasField("dim_value") else size for dim, size in zip(kind.shape.dim, value.shape, strict=False)
            ]
            if len(kind.shape.dim) != value.ndim or sizes != list(value.shape):
                return False
    return True


def _is_specified(model: ModelProto, bodies: Bodies) -> bool:
    """Whether the operands in a run have the one batch size that the specification demands; onnxruntime takes others."""
    values = next(values for key, values in bodies if key == _key(model.graph))
    shapes = {name: np.shape(value) for name, value in values.items() if isinstance(value, np.ndarray)}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer if tensor.name not in shapes}
    pairs = [[*node.input[:1], *node.input[_BATCHED[n] :][:1]] for node in model.graph.node if (n := node.op_type) in _BATCHED]
    return all(len({shapes[name][0] for name in names if name in shapes}) < 2 for names in pairs)


_BATCHED = {"Attention": 6, "NegativeLogLikelihoodLoss": 1, "SoftmaxCrossEntropyLoss": 1}
"""Operators with an input that has as many entries or rows as the first input, by the specification, and its position."""


def _honest(model: ModelProto) -> ModelProto:
    """`model` without what it declares of inner values and outputs, in which runtimes may believe."""
    copy = ModelProto.FromString(model.SerializeToString())
    del copy.graph.value_info[:]
    for value in copy.graph.output:
        if value.type.WhichOneof("value") == "tensor_type":
            value.type.tensor_type.ClearField("shape")
    for body in _inner_graphs(copy):
        del body.value_info[:]
        for value in (*body.input, *body.output):
            if value.type.WhichOneof("value") == "tensor_type":
                value.type.tensor_type.ClearField("shape")
    for function in copy.functions if hasattr(FunctionProto, "value_info") else ():
        del function.value_info[:]
    return copy


def _inner_graphs(model: ModelProto) -> list[GraphProto]:
    """The subgraphs of the main graph and of functions, at any depth."""
    return [graph for graph in all_graphs(model) if isinstance(graph, GraphProto) and graph is not model.graph]


def _in_runtime(model: ModelProto, samples: Sequence[Feeds]) -> list[Values | None] | None:
    """All values of the main graph on each of `samples` in onnxruntime, None where it fails; None where it refuses the model or is
    known to compute it wrongly.

    It runs in a child process, which it may crash.
    """
    if "onnxruntime" in known_defects(model):
        return None
    made = dict.fromkeys(name for node in model.graph.node for name in node.output if name)
    probes = tuple(made.keys() - {value.name for value in model.graph.output})
    fed = {value.name for value in model.graph.input} - (set(_defaults(model)) if model.ir_version < _OVERRIDABLE else set())
    feeds = [{name: value for name, value in sample.items() if name in fed} for sample in samples]
    with TemporaryDirectory() as folder, lent_worker() as worker:
        path = Path(folder, "model.onnx")
        path.write_bytes(model.SerializeToString())
        with worker.open(path, probes=probes) as session:
            answers = [answer for _, answer in session.run_all(feeds)]
    if answers and all(isinstance(answer, Failure) and answer.kind in ("invalid", "unsupported") for answer in answers):
        return None
    return [None if isinstance(answer, Failure) else dict(zip(answer.names, answer.values, strict=True)) for answer in answers]


def _run_deep(model: ModelProto, feeds: Feeds) -> Bodies | None:
    """The values of all graphs in one run in onnx.reference, for each run of a body apart; None where it fails or is known to be wrong."""
    if "onnx.reference" in known_defects(model):
        return None
    found: Bodies = []
    original = ReferenceEvaluator.run

    def run(self: Any, wanted: Any, feed_inputs: Any, attributes: Any = None, intermediate: bool = False) -> Any:
        names = wanted or self.output_names
        values = original(self, None, feed_inputs, attributes, intermediate=True)
        body = self.proto_.graph if isinstance(self.proto_, ModelProto) else self.proto_
        if hasattr(body, "node"):
            found.append((_key(body), {name: _as_array(value) for name, value in values.items() if name and value is not None}))
        return values if intermediate else [values[name] for name in names]

    ReferenceEvaluator.run = run  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ReferenceEvaluator(model).run(None, feeds)
    except Exception:
        return None
    finally:
        ReferenceEvaluator.run = original  # type: ignore[method-assign]
    return found


def _as_array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.generic) else value


# -- weaker models


Weaker = tuple[str, ModelProto, list[Feeds]]


def weaker(model: ModelProto, feeds: Feeds, random: Random) -> Iterator[Weaker]:
    """`model`, and each model that says less, or something false, in one place, with samples."""
    yield "as given", model, _samples(model, feeds, random)
    stored = [tensor for tensor in model.graph.initializer if tensor.data_type in (6, 7, 9) and np.prod(tensor.dims) <= 64]
    for tensor in stored:
        opened = _as_input(model, tensor.name)
        feed = {**feeds, tensor.name: numpy_helper.to_array(tensor)}
        yield f"{tensor.name} is an input", opened, _samples(opened, feed, random)
        longer = _with_dims(opened, tensor.name, lambda _: None)
        yield f"{tensor.name} is an input of unknown length", longer, _samples(longer, feed, random)
    small = [
        name for name, value in feeds.items() if isinstance(value, np.ndarray) and value.dtype.kind in "ib" and value.size <= 64
    ]
    several = [small] * (len(small) > 1)
    several += [[name for name in small if name != open_] for open_ in small] if len(small) > 2 else []
    for names in [*([name] for name in small), *several]:
        if len(names) < len(feeds):
            fixed = _as_constants(model, {name: feeds[name] for name in names})
            rest = {name: value for name, value in feeds.items() if name not in names}
            yield f"{','.join(names)} constant", fixed, _samples(fixed, rest, random)
            for label, other in _with_less_declared(fixed):
                yield f"{','.join(names)} constant, {label}", other, _samples(other, rest, random)
    for label, other in _with_less_declared(model):
        yield label, other, _samples(other, feeds, random)


def _with_less_declared(model: ModelProto) -> Iterator[tuple[str, ModelProto]]:
    """`model` with other declarations: of one input, of all inputs, or false ones of inner values."""
    inputs = [value.name for value in model.graph.input if value.type.WhichOneof("value") == "tensor_type"]
    for name in inputs:
        yield f"{name} with symbols", _with_dims(model, name, lambda axis, name=name: f"{name}_{axis}")
        yield f"{name} with one symbol", _with_dims(model, name, lambda _: "N")
        yield f"{name} of unknown sizes", _with_dims(model, name, lambda _: None)
        yield f"{name} of unknown rank", _with_dims(model, name, None)
    for label, dims in FALSE.items():
        yield label, _with_claims(model, dims)
        every = _with_claims(model, dims)
        for name in inputs:
            every = _with_dims(every, name, lambda axis, name=name: "N" if axis == 0 else f"{name}_{axis}")
        yield f"{label}, symbols", every
        for name in inputs:
            every = _with_dims(every, name, lambda _: None)
        yield f"{label}, unknown sizes", every


FALSE: dict[str, Callable[[Sequence[int]], list[Dimension]]] = {
    "every claimed symbol the same": lambda shape: ["N"] * len(shape),
    "claimed sizes are false": lambda shape: [size + 1 for size in shape],
    "a claimed size is false": lambda shape: [*shape[:-1], *(size + 1 for size in shape[-1:])],
    "the first claimed size is a symbol": lambda shape: ["N", *(size + 1 for size in shape[1:])] if shape else [],
    "the claimed rank is false": lambda shape: [*shape, 1],
    "claimed scalars": lambda _: [],
}
"""False declarations of inner values, made from the sizes of a run."""


def _copy(model: ModelProto) -> ModelProto:
    return ModelProto.FromString(model.SerializeToString())


def _as_input(model: ModelProto, name: str) -> ModelProto:
    copy = _copy(model)
    tensor = next(tensor for tensor in copy.graph.initializer if tensor.name == name)
    if name not in [value.name for value in copy.graph.input]:
        copy.graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, tensor.dims))
    copy.graph.initializer.remove(tensor)
    return copy


def _as_constants(model: ModelProto, values: Feeds) -> ModelProto:
    copy = _copy(model)
    copy.ir_version = max(copy.ir_version, 4)
    for value in [value for value in copy.graph.input if value.name in values]:
        copy.graph.input.remove(value)
        copy.graph.initializer.append(numpy_helper.from_array(values[value.name], value.name))
    return copy


def _with_dims(model: ModelProto, name: str, dims: Callable[[int], Dimension] | None) -> ModelProto:
    """`model` with the dimensions `dims`, by axis, in the declared type of the input `name`; None for an unknown rank."""
    copy = _copy(model)
    kind = next(value.type.tensor_type for value in copy.graph.input if value.name == name)
    if not kind.HasField("shape"):
        return copy
    rank = len(kind.shape.dim)
    kind.ClearField("shape")
    if dims is not None:
        found = helper.make_tensor_type_proto(kind.elem_type, [dims(axis) for axis in range(rank)])
        kind.shape.CopyFrom(found.tensor_type.shape)
    return copy


def _with_claims(model: ModelProto, dims: Callable[[Sequence[int]], list[Dimension]]) -> ModelProto:
    """`model`, whose outputs became inner values; of all inner values, a shape is declared that is not theirs."""
    copy = _copy(model)
    given = {value.name for value in copy.graph.input} | {tensor.name for tensor in copy.graph.initializer}
    types = {value.name: value.type for value in (*copy.graph.value_info, *copy.graph.output)}
    outputs = [value for value in copy.graph.output if value.name not in given]
    tensors = [value.name for value in outputs if value.type.WhichOneof("value") == "tensor_type"]
    sizes: dict[str, tuple[int, ...]] = {}
    for value in (*copy.graph.value_info, *copy.graph.output):
        found = value.type.tensor_type.shape.dim
        sizes[value.name] = tuple(dim.dim_value for dim in found)
    del copy.graph.value_info[:]
    for value in outputs:
        copy.graph.output.remove(value)
        if value.name not in tensors:
            copy.graph.output.append(value)
    for name, kind in types.items():
        if kind.WhichOneof("value") == "tensor_type" and name not in given:
            claimed = helper.make_tensor_type_proto(kind.tensor_type.elem_type, dims(sizes[name]))
            copy.graph.value_info.append(ValueInfoProto(name=name, type=claimed))
    numbers = [
        graph.input[0].name for graph in _inner_graphs(copy) if graph.input
    ]  # the number of a Loop's iteration keeps its rank
    for graph in _inner_graphs(copy):
        for value in (*graph.value_info, *graph.input, *graph.output):
            tensor = value.type.tensor_type
            if tensor.elem_type and value.name not in numbers:
                shape = [dim.dim_value for dim in tensor.shape.dim]
                value.type.CopyFrom(helper.make_tensor_type_proto(tensor.elem_type, dims(shape)))
    for name in tensors:
        copy.graph.node.append(helper.make_node("Identity", [name], [f"{name}_same"]))
        copy.graph.node.append(helper.make_node("Shape", [name], [f"{name}_sizes"]))
        copy.graph.node.append(helper.make_node("Size", [name], [f"{name}_size"]))
        number = types[name].tensor_type.elem_type
        copy.graph.output.append(
            ValueInfoProto(name=f"{name}_same", type=TypeProto(tensor_type=TypeProto.Tensor(elem_type=number)))
        )
        copy.graph.output.append(helper.make_tensor_value_info(f"{name}_sizes", 7, None))
        copy.graph.output.append(helper.make_tensor_value_info(f"{name}_size", 7, None))
    return copy


def _samples(model: ModelProto, feeds: Feeds, random: Random) -> list[Feeds]:
    """`feeds`, and others that the declared types of the inputs allow."""
    found = [feeds]
    feeds = _given(model, feeds)
    sizes: dict[str, int] = {}
    step = random.choice((1, 2, -1))
    other: Feeds = {}
    for value in model.graph.input:
        array, kind = feeds.get(value.name), value.type.tensor_type
        if not isinstance(array, np.ndarray):
            if array is not None:
                other[value.name] = array
            continue
        shape = list(array.shape)
        for axis, dim in enumerate(kind.shape.dim if array.size <= MOST_ELEMENTS else ()):
            if not dim.HasField("dim_value") and axis < len(shape):
                shape[axis] = sizes.setdefault(dim.dim_param or f"{value.name}[{axis}]", max(shape[axis] + step, 1))
        other[value.name] = np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
    found.append(other)
    for name, array in feeds.items():
        if isinstance(array, np.ndarray) and array.dtype.kind == "i" and 0 < array.size <= 64:
            found += [{**feeds, name: changed} for changed in (np.roll(array, 1), array + 1, -array, array * 0)]
            found += [{**feeds, name: array[:-1]}, {**feeds, name: array * 0 + 1}] if array.ndim else []
        if isinstance(array, np.ndarray) and array.dtype.kind == "b" and array.size == 1:
            found.append({**feeds, name: ~array})
    return found


# -- all models


def check_case(case: Case, tally: Tally, random: Random, share: float = 1.0) -> None:
    """Check a node test and its weaker forms."""
    deep = any(attribute.type in _GRAPHS for node in case.model.graph.node for attribute in node.attribute)
    for label, model, samples in weaker(case.model, case.feeds, random):
        if random.random() < share:
            check(model, samples, tally, f"{case.name}, {label}", deep=deep or bool(model.functions))


def check_shapes(seed: int, tally: Tally) -> None:
    """Check a random model that computes with sizes."""
    model, samples = random_shapes(Random(seed))
    check(model, samples, tally, f"random shapes {seed}")


def check_random(seed: int, tally: Tally) -> None:
    """Check a random model of operators and its weaker forms."""
    random = Random(seed)
    case = random_case(random)
    others = case.other_inputs()
    deep = bool(case.model.functions) or any(a.type in _GRAPHS for node in case.model.graph.node for a in node.attribute)
    for label, model, samples in weaker(case.model, case.inputs(), random):
        check(model, [*samples, *([others] if others else [])], tally, f"random model {seed}, {label}", deep=deep)


def stored_models() -> Iterator[tuple[str, ModelProto, Feeds]]:
    """The models of the folder models/, with the inputs that lie beside them."""
    for path in sorted(MODELS.glob("*.onnx")):
        inputs = path.with_suffix(".npz")
        model = onnx.load(path)
        feeds = dict(np.load(inputs)) if inputs.exists() else _filled(model)
        yield path.stem, model, feeds


def _filled(model: ModelProto) -> Feeds:
    stored = {tensor.name for tensor in model.graph.initializer}
    feeds: Feeds = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        if value.name not in stored:
            shape = [dim.dim_value or 6 for dim in kind.shape.dim]
            feeds[value.name] = np.ones(shape, helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return feeds


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ops", default=".*", metavar="REGEX", help="only node tests of operators that match entirely")
    parser.add_argument("--random", type=int, default=2000, metavar="N", help="the number of random models of each generator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="0/1", metavar="I/N", help="only each Nth model, from the Ith on")
    options = parser.parse_args(arguments)
    part, parts = map(int, options.part.split("/"))
    started, tally = time.monotonic(), Tally()
    for case in collect_cases(options.ops)[part::parts]:
        check_case(case, tally, Random(options.seed))
    for name, model, feeds in [] if options.ops != ".*" or part else stored_models():
        for label, other, samples in weaker(model, feeds, Random(options.seed)):
            check(other, samples, tally, f"{name}, {label}", deep=bool(model.functions))
    for seed in range(options.seed + part, options.seed + options.random, parts):
        check_shapes(seed, tally)
        check_random(seed, tally)
    print(report(tally))
    print(f"{tally.models:,} models, {tally.runs:,} runs, {time.monotonic() - started:.0f} s")
    return 1 if tally.contradictions else 0


def report(tally: Tally) -> str:
    """The statements by kind and operator, and the contradictions."""
    lines = [f"{kind}: {tally.of_kind(kind):,} of {len(tally.operators(kind))} operators" for kind in KINDS]
    operators = sorted({op_type for _, op_type in tally.statements})
    lines += [f"{'operator':28}" + "".join(f"{kind:>11}" for kind in KINDS)]
    lines += [f"{op_type:28}" + "".join(f"{tally.statements[kind, op_type]:>11}" for kind in KINDS) for op_type in operators]
    lines += [f"{len(tally.contradictions)} contradictions", *tally.contradictions]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
