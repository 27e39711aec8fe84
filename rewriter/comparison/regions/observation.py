"""Observes which shapes the values of the original have in a run.

A comparison node by node must not take shapes from inference, because a rule may have been misled by the same inference. So the
original is run on a few samples, with `Shape` nodes as its only outputs. Its large weights are not read: constants of the same
type and shape take their place. The body of an If, Loop or Scan, and that of a function, is run as a model of its own, on what
was observed around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from ...execution.budget import Budget
from ...execution.effort import Weigh
from ...execution.messages import Failure, Outputs, RejectedError
from ...execution.model_client import Session, Worker
from ...onnx_model.domains import DEFAULT_DOMAINS
from ...onnx_model.meanings import Semantics
from ...onnx_model.protos import GraphLike, bind_attributes, captured, reads, subgraphs
from ...opsets import facts
from ...storage.payload import element_type_of, inline_copy, is_external
from ...structure.inlining import nodes_within
from ..inputs.choice import SampleError
from ..inputs.description import description_of
from ..inputs.samples import InputSpace, Samples
from ..judging.runtime_defects import known_defects
from ..original import Original
from .changed_nodes import GraphPair, constant_tensor
from .dependence import MANY, is_weight
from .division import Input, element_count, is_small_whole_numbers

MOST_RUNS = 3
"""The number of runs that are observed, of other sizes where sizes are open."""
LEAST_RUNS = 2
"""The number of runs where no size is open, which tell constants from what depends on the inputs."""
MOST_TRIED = 24
"""The number of samples that are tried."""
MOST_REFERENCE_NODES = 1000
"""The number of nodes of the largest graph that onnx.reference runs where onnxruntime cannot."""
_FILLS: dict[int, float] = {
    **dict.fromkeys((TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE), 0.02),
    **dict.fromkeys((TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64), 1),
}
"""The element types of weights that are not read, and the number that takes the place of their elements."""
_CONSTANT_OF_SHAPE = 9
"""The opset of the oldest ConstantOfShape."""
_SHAPE, _VALUE = "_observed_shape", "_observed_value"

Shape = tuple[int, ...]


class Runner(NamedTuple):
    """How models of parts of a conversion are run: files are put into `folder`; `engines` are the runtimes to ask, in order."""

    folder: Path
    engines: Sequence[str]
    worker: Worker
    budget: Budget
    semantics: Semantics | None
    """Whose meaning nodes have that the specification and onnxruntime read differently; None where both judge."""


class Seen(NamedTuple):
    """What was seen in one run of a graph: the shapes of the observed values, and the values of some of them."""

    shapes: Mapping[str, Shape]
    values: Mapping[str, Any]


class Observations:
    """What is seen of the values that regions read, in runs of the original."""

    def __init__(self, original: Original, pairs: Sequence[GraphPair], inputs: Iterable[Input], runner: Runner) -> None:
        """Prepare to observe the `inputs` of regions in the graphs `pairs` of the original."""
        self._original = original
        self._pairs = pairs
        self._path = runner.folder / "observed.onnx"
        self._runner = runner
        self._names: dict[int, dict[str, None]] = {}
        self._seen: dict[int, list[Seen]] = {}
        self._constants: dict[tuple[int, str], np.ndarray | None] = {}
        self._varies = True
        for value in inputs:
            home = value.pair.home(value.name)
            if home is not None and not is_given(value):
                self._names.setdefault(id(home), {})[value.name] = None

    def of(self, value: Input) -> list[Seen]:
        """What was seen in each run of the graph that makes `value`; empty where it was not observed."""
        home = value.pair.home(value.name)
        return [] if home is None else [seen for seen in self._runs(home) if value.name in seen.shapes]

    def constant(self, value: Input) -> np.ndarray | None:
        """The value of an input that is the same in every run: it is stored, or made of constants and lengths, and equal in all
        runs that were observed. Else None.
        """
        home = value.pair.home(value.name)
        if home is None:
            return None
        key = id(home), value.name
        if key not in self._constants:
            stored = value.pair.stored_value(value.name)
            self._constants[key] = self._observed_constant(value) if stored is None else stored
        return self._constants[key]

    def _observed_constant(self, value: Input) -> np.ndarray | None:
        return self.settled(value) if _may_be_constant(value) else None

    def settled(self, value: Input) -> np.ndarray | None:
        """What an input was in all runs that were observed; None where it was not the same, or not kept."""
        runs = self.of(value)
        found = [array for seen in runs if isinstance(array := seen.values.get(value.name), np.ndarray)]
        if len(found) < len(runs) or not self._are_enough(found):
            return None
        return found[0] if all(_is_same(array, found[0]) for array in found) else None

    def are_unknown_sizes(self, value: Input) -> bool:
        """Whether nodes compute small whole numbers here that were not observed in any run."""
        is_computed = value.pair.old_maker(value.name) is not None and not is_given(value)
        return is_computed and is_small_whole_numbers(value.pair.type(value.name)) and not self.of(value)

    def sizes(self, value: Input) -> tuple[int | None, ...] | None:
        """The dimensions of an input that were the same in all runs that were observed, None for others; None for no runs."""
        found = [seen.shapes[value.name] for seen in self.of(value)]
        if not self._are_enough(found) or len(set(map(len, found))) > 1:
            return None
        return tuple(dims[0] if len(set(dims)) == 1 else None for dims in zip(*found, strict=True))

    def _are_enough(self, runs: Sequence[object]) -> bool:
        """Whether what is the same in all these runs does not depend on what the inputs are."""
        return len(runs) > (1 if self._varies else 0)

    def _runs(self, pair: GraphPair) -> list[Seen]:
        if id(pair) not in self._seen:
            self._seen[id(pair)] = []  # a function that calls itself has no runs
            self._seen[id(pair)] = list(self._run(pair))
        return self._seen[id(pair)]

    def _run(self, pair: GraphPair) -> Iterator[Seen]:
        names = list(self._names.get(id(pair), {}))
        kept = list(dict.fromkeys(self._passed_on(pair)))
        if pair.parent is None and isinstance(pair.old, GraphProto):
            model = self._whole(pair.old, names, kept)
            yield from self._on_samples(model, names, kept)
            return
        for inputs in self._arguments(pair):
            model = self._body(pair, inputs, names, kept)
            yield from self._on_inputs(model, [inputs], names, kept)

    # -- what is run

    def _passed_on(self, pair: GraphPair) -> Iterator[str]:
        """The values of `pair` on which bodies are run, and those that may be constants."""
        yield from (name for name in self._names.get(id(pair), {}) if _may_be_sizes(Input(pair, name)))
        for inner in self._pairs:
            if inner.parent is pair and id(inner) in self._needed:
                yield from (name for name in _read_by(inner) if pair.defines(name))
            elif inner.parent is pair.parent is None and inner is not pair and id(inner) in self._needed:
                yield from (name for call in _calls(pair, inner) for name in call.input if name and pair.defines(name))

    @property
    def _needed(self) -> set[int]:
        """The graphs of which something is to be observed, or of a graph in them."""
        found = set(self._names)
        for pair in self._pairs:
            outer = pair.parent if id(pair) in found else None
            while outer is not None:
                found.add(id(outer))
                outer = outer.parent
        return found

    def _whole(self, graph: GraphProto, names: Sequence[str], kept: Sequence[str]) -> ModelProto:
        stored = {tensor.name for tensor in graph.initializer}
        inputs = [value for value in graph.input if value.name not in stored]
        return self._model(graph, inputs, [*graph.initializer], names, kept, self._original.opset)

    def _body(self, pair: GraphPair, inputs: Mapping[str, Any], names: Sequence[str], kept: Sequence[str]) -> ModelProto:
        declared = [
            helper.make_tensor_value_info(name, element_type_of(array.dtype), array.shape) for name, array in inputs.items()
        ]
        graph = pair.old
        stored = [*graph.initializer] if isinstance(graph, GraphProto) else []
        return self._model(graph, declared, stored, names, kept, pair.opsets[0])

    def _model(
        self,
        graph: GraphLike,
        inputs: Sequence[ValueInfoProto],
        stored: Sequence[TensorProto],
        names: Sequence[str],
        kept: Sequence[str],
        opset: int,
    ) -> ModelProto:
        """A model of the nodes of `graph`, whose outputs are the shapes of `names` and the values of `kept`."""
        whole = GraphProto(name="observed", input=inputs, initializer=stored)
        whole.node.extend(_needed_nodes(graph, {*names, *kept}))
        if isinstance(graph, FunctionProto):
            call = next((call for pair in self._pairs for call in _calls_of(pair, graph)), NodeProto())
            given = {attribute.name: attribute for attribute in (*graph.attribute_proto, *call.attribute)}
            for node in nodes_within(whole):
                bind_attributes(node, given)
        self._lighten(whole, opset)
        for names_, suffix, op_type in ((names, _SHAPE, "Shape"), (kept, _VALUE, "Identity")):
            whole.node.extend(helper.make_node(op_type, [name], [name + suffix]) for name in names_)
            whole.output.extend(ValueInfoProto(name=name + suffix) for name in names_)
        original = self._original.proto
        model = ModelProto(ir_version=min(max(original.ir_version, 4), 10), graph=whole, functions=original.functions)
        imports = graph.opset_import if isinstance(graph, FunctionProto) else original.opset_import
        model.opset_import.extend(imports)
        return model

    def _lighten(self, graph: GraphProto, opset: int) -> None:
        """Take what is declared of inner values from `graph` and its subgraphs, and replace large weights by nodes that fill."""
        del graph.value_info[:]
        first: list[NodeProto] = []
        for tensor in [tensor for tensor in graph.initializer if not self._keep(tensor, opset)]:
            first += _filled(tensor, tensor.name)
            graph.initializer.remove(tensor)
        nodes: list[NodeProto] = []
        for node in graph.node:
            value = constant_tensor(node)
            nodes += [node] if value is None or self._keep(value, opset) else _filled(value, node.output[0])
            for _, inner in subgraphs(node):
                self._lighten(inner, opset)
        copies = (
            [NodeProto.FromString(node.SerializeToString()) for node in (*first, *nodes)]
            if first or len(nodes) > len(graph.node)
            else []
        )
        if copies:
            del graph.node[:]
            graph.node.extend(copies)

    def _keep(self, tensor: TensorProto, opset: int) -> bool:
        """Whether the elements of `tensor` are used; they are read then."""
        if tensor.data_type in _FILLS and is_weight(tensor) and opset >= _CONSTANT_OF_SHAPE:
            return False
        payload = self._original.skeleton.payload(tensor) if is_external(tensor) else None
        if payload is not None:
            tensor.CopyFrom(inline_copy(tensor, payload))
        return True

    # -- on which inputs

    def _arguments(self, pair: GraphPair) -> list[dict[str, Any]]:
        """The inputs of a body, and the values that it captures, in each run of the graph around it."""
        graph = pair.old
        if isinstance(graph, FunctionProto):
            found = [
                dict(zip(graph.input, [seen.values.get(name) for name in call.input], strict=False))
                for home in self._pairs
                for call in list(_calls_of(home, graph))[:1]
                for seen in self._runs(home)
            ][:MOST_RUNS]
        else:
            assert pair.parent is not None
            found = [self._inputs_of_body(pair, pair.parent, seen) for seen in self._runs(pair.parent)]
        return [
            inputs for inputs in found if inputs is not None and all(isinstance(value, np.ndarray) for value in inputs.values())
        ]

    def _inputs_of_body(self, pair: GraphPair, outer: GraphPair, seen: Seen) -> dict[str, Any] | None:
        graph, node = pair.old, outer.old_nodes[pair.place[-2]]
        assert isinstance(graph, GraphProto)
        found = {name: seen.values.get(name) for name in captured(graph)}
        given = [seen.values.get(name) for name in node.input]
        if node.domain not in DEFAULT_DOMAINS or any(value is None for value in given[2:]):
            return None
        over = facts.of(node.op_type).word("iterates")
        if over == "turns":
            given = [np.array(0), np.array(True), *given[2:]]
        elif over == "slices":
            given = _first_slices(node, given)
        elif graph.input:
            return None
        return {**found, **dict(zip([value.name for value in graph.input], given, strict=False))}

    def _on_samples(self, model: ModelProto, names: Sequence[str], kept: Sequence[str]) -> Iterator[Seen]:
        """Run the whole original on samples, until it ran on enough of them."""
        if not (names or kept):
            return
        self._path.write_bytes(model.SerializeToString())
        for engine in self._usable(model):
            found = 0
            about = description_of(self._runner.worker, self._path)
            if isinstance(about, Failure):
                continue
            space = InputSpace(about, about, Samples(), {})
            self._varies = len(space.choices()) > 1
            self._weigh(engine, space.shapes(next(iter(space.choices()))))
            with self._opened(engine) as session:
                tried: set[Any] = set()
                for choice in space.choices():
                    key = (choice.size, choice.rank) if space.has_open_sizes else choice
                    if key in tried:
                        continue
                    tried.add(key)
                    try:
                        inputs = space.make(choice)
                    except (SampleError, RejectedError):
                        break
                    answer = session.run(inputs)
                    if isinstance(answer, Outputs):
                        found += 1
                        yield _seen(answer, inputs, names, kept)
                    if found == (MOST_RUNS if space.has_open_sizes else LEAST_RUNS) or len(tried) == MOST_TRIED:
                        break
                    if isinstance(answer, Failure) and answer.kind == "timeout":
                        return
                    if isinstance(answer, Failure) and answer.kind == "crashed":
                        break
            if found:
                return

    def _on_inputs(
        self, model: ModelProto, samples: list[dict[str, Any]], names: Sequence[str], kept: Sequence[str]
    ) -> Iterator[Seen]:
        """Run the model of a body on `samples`."""
        self._path.write_bytes(model.SerializeToString())
        for engine in self._usable(model):
            self._weigh(engine, {name: array.shape for name, array in samples[0].items()} if samples else {})
            with self._opened(engine) as session:
                answers = list(session.run_all(samples))
            ran = [_seen(answer, inputs, names, kept) for inputs, answer in answers if isinstance(answer, Outputs)]
            if ran:
                yield from ran
                return

    @contextmanager
    def _opened(self, engine: str) -> Iterator[Session]:
        """A session of the model that was written, within the budget."""
        worker = self._runner.worker
        with worker.within(self._runner.budget), worker.open(self._path, engine) as session:
            yield session

    def _weigh(self, engine: str, shapes: Mapping[str, Shape]) -> None:
        """Allow for the runs of the model that was written."""
        effort = self._runner.worker.ask(Weigh(str(self._path), dict(shapes)))
        if not isinstance(effort, Failure):
            self._runner.budget.weigh(effort.load + effort.run(engine) * MOST_RUNS)

    def _usable(self, model: ModelProto) -> list[str]:
        """The runtimes that may show the values of `model`: none that is known to compute one of its nodes wrongly."""
        is_large = len(model.graph.node) > MOST_REFERENCE_NODES
        engines = [engine for engine in self._runner.engines if not is_large or engine == "onnxruntime"]
        wrong = known_defects(model)
        return [engine for engine in engines if engine not in wrong]


def _needed_nodes(graph: GraphLike, names: set[str]) -> list[NodeProto]:
    """The nodes of `graph` that compute `names`, in their order. A Loop that nothing reads may never end."""
    needed, found = set(names), []
    for node in reversed(graph.node):
        if not needed.isdisjoint(node.output):
            needed.update(reads(node))
            found.append(node)
    return found[::-1]


def is_given(value: Input) -> bool:
    """Whether a value is an input of the model or stored in it, so that its type is a fact.

    So is what a node of another domain makes, if the model states its shape: nobody else can say what such a node does.
    """
    home = value.pair.home(value.name)
    if home is None:
        return False
    main = home.parent is None and isinstance(home.old, GraphProto)
    maker = home.old_makers.get(value.name)
    is_stored = value.name in home.stored or (maker is not None and home.old_nodes[maker].op_type == "Constant")
    return is_stored or (main and value.name in home.inputs) or (maker is not None and _is_foreign(home, value.name))


def _is_foreign(pair: GraphPair, name: str) -> bool:
    """Whether a node of another domain than ONNX's makes `name`, and the model states its shape."""
    node, declared = pair.old_nodes[pair.old_makers[name]], pair.declared(name)
    local = {(body.domain, body.name) for body in pair.original.proto.functions}
    is_foreign = node.domain not in DEFAULT_DOMAINS and (node.domain, node.op_type) not in local
    return is_foreign and declared is not None and bool(declared.tensor_type.shape.dim)  # no dimensions: often, nobody knew


def _may_be_constant(value: Input) -> bool:
    """Whether nodes compute the value from constants and lengths alone, so that it may be the same in every run."""
    maker = value.pair.old_maker(value.name)
    return maker is not None and maker[0].old_nodes[maker[1]].op_type != "Constant" and not value.pair.depends_on_data(value.name)


def _may_be_sizes(value: Input) -> bool:
    """Whether the value may decide how a node works, which random numbers in its place would not."""
    kind = value.pair.type(value.name)
    return is_small_whole_numbers(kind) or ((kind is None or element_count(kind) <= MANY) and _may_be_constant(value))


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether both hold the same bits."""
    return (one.dtype, one.shape) == (other.dtype, other.shape) and _bits(one) == _bits(other)


def _bits(array: np.ndarray) -> bytes | list[str]:
    return array.ravel().tolist() if array.dtype.hasobject else array.tobytes()


def _read_by(pair: GraphPair) -> list[str]:
    """What the body `pair` captures, and the inputs of the node that holds it."""
    assert pair.parent is not None
    graph, node = pair.old, pair.parent.old_nodes[pair.place[-2]]
    assert isinstance(graph, GraphProto)
    return [*captured(graph), *filter(None, node.input)]


def _calls(pair: GraphPair, function: GraphPair) -> Iterator[NodeProto]:
    graph = function.old
    if isinstance(graph, FunctionProto):
        yield from list(_calls_of(pair, graph))[:1]


def _calls_of(pair: GraphPair, function: FunctionProto) -> Iterator[NodeProto]:
    key = function.domain, function.name
    yield from (node for node in pair.old_nodes if (node.domain, node.op_type) == key)


def _first_slices(node: NodeProto, given: list[Any]) -> list[Any]:
    """The inputs of the body of a Scan in its first iteration."""
    attributes = {attribute.name: attribute for attribute in node.attribute}
    states = len(given) - attributes["num_scan_inputs"].i
    axes = list(attributes["scan_input_axes"].ints) if "scan_input_axes" in attributes else [0] * len(given)
    slices = [
        None if array is None or not array.size else array.take(0, axis) for array, axis in zip(given[states:], axes, strict=False)
    ]
    return [*given[:states], *slices]


def _seen(answer: Outputs, inputs: Mapping[str, Any], names: Sequence[str], kept: Sequence[str]) -> Seen:
    found = dict(zip(answer.names, answer.values, strict=True))
    shapes = {name: tuple(map(int, found[name + _SHAPE])) for name in names}
    values = {**inputs, **{name: found[name + _VALUE] for name in kept}}
    return Seen(shapes, values)


def _filled(tensor: TensorProto, name: str) -> list[NodeProto]:
    """Nodes that make a tensor of the type and shape of `tensor`, with other elements."""
    sizes = helper.make_tensor(f"{name}_sizes", TensorProto.INT64, [len(tensor.dims)], tensor.dims)
    element = helper.make_tensor(f"{name}_element", tensor.data_type, [1], [_FILLS[tensor.data_type]])
    return [
        helper.make_node("Constant", [], [f"{name}_observed_sizes"], value=sizes),
        helper.make_node("ConstantOfShape", [f"{name}_observed_sizes"], [name], value=element),
    ]
