"""Random valid models: graphs of `operators`, with subgraphs, functions, dynamic sizes, and every way to give a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import onnx
from building import Feed, Graph, NotHereError, Value, World, elem_type, random_array, schema_of
from onnx import TypeProto, helper
from operators import add_operator

NEWEST = onnx.defs.onnx_opset_version()


@dataclass(frozen=True)
class Case:
    """A model, the opset to take it to, and what to feed it: the sizes that it was built for, and, where it is dynamic, others."""

    model: onnx.ModelProto
    target: int
    feeds: dict[str, Feed]
    sizes: dict[str, int]
    steps: tuple[int, ...]
    random: Random

    @property
    def opset(self) -> int:
        return self.model.opset_import[0].version

    def inputs(self) -> dict[str, np.ndarray]:
        return {name: feed.array for name, feed in self.feeds.items()}

    def other_inputs(self) -> dict[str, np.ndarray] | None:
        """Inputs of other sizes, which the model may not accept; None where no size is open."""
        if not self.sizes:
            return None
        sizes = {name: size + self.random.choice(self.steps) for name, size in self.sizes.items()}
        sizes = {name: max(size, 1) for name, size in sizes.items()}
        return {name: self._resized(feed, sizes) for name, feed in self.feeds.items()}

    def _resized(self, feed: Feed, sizes: dict[str, int]) -> np.ndarray:
        if all(isinstance(dim, int) for dim in feed.dims):
            return feed.array
        return random_array(
            self.random, feed.dtype, tuple(sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in feed.dims)
        )


def random_case(random: Random) -> Case:
    """A model of 1 to 8 operators at any opset, and a target, which is any opset as well."""
    opset = random.randint(7, NEWEST) if random.random() < 0.85 else random.randint(1, 6)
    natural = helper.find_min_ir_version_for([helper.make_opsetid("", opset)], ignore_unknown=True)
    ir_version = max(natural, 3) if random.random() < 0.6 else random.randint(3, onnx.IR_VERSION)
    world = World(random, opset, ir_version, dynamic=random.random() < 0.6)
    graph = Graph(world, main=True)
    for _ in range(random.randint(1, 6)):
        random.choice(STEPS)(graph)
    model = finished(graph)
    target = random.randint(1, NEWEST) if random.random() < 0.5 else random.randint(max(1, opset - 6), min(NEWEST, opset + 6))
    return Case(model, target, world.feeds, world.sizes, world.steps, random)


def one_operator(g: Graph) -> None:
    try:
        add_operator(g)
    except NotHereError:
        return


def attempt(builder: Callable[[Graph], Any]) -> Callable[[Graph], None]:
    def step(g: Graph) -> None:
        try:
            builder(g)
        except NotHereError:
            one_operator(g)

    return step


# -- graphs inside of graphs


@attempt
def conditional(g: Graph) -> None:
    condition = g.operand(bool(g.integer(0, 1)), "bool", dynamic=0.8)
    first, second = _branch(g), _branch(g)
    result = g.choose(first.values)
    if result.sequence:
        raise NotHereError
    alike = [value for value in second.values if (value.dtype, value.shape, value.sequence) == (result.dtype, result.shape, False)]
    if not alike:
        made = second.constant(random_array(g.random, result.dtype, result.shape), result.dtype)
        alike = [made if made in second.values else _copied(second, made)]
    name = g.world.fresh("if_")
    branches = {
        "then_branch": _as_proto(first, [result], f"{name}_then"),
        "else_branch": _as_proto(second, [g.choose(alike)], f"{name}_else"),
    }
    g.node("If", [condition], [(result.dtype, result.shape)], **branches)


def _branch(g: Graph) -> Graph:
    branch = Graph(g.world, g, opset=g.opset)
    for _ in range(g.integer(1, 3)):
        (conditional if g.maybe(0.05) else one_operator)(branch)
    if not branch.values:
        value = g.of("Identity")
        _copied(branch, value)
    return branch


def _copied(g: Graph, value: Value) -> Value:
    return g.node("Identity", [value], [(value.dtype, value.shape)])[0]


@attempt
def loop(g: Graph) -> None:
    """A counted loop that carries one tensor and may collect another."""
    state = g.of("Identity", 1)
    trips = g.integer(1, 3)
    body = Graph(g.world, g, opset=g.opset)
    body.named("i", "int64", ())
    body.named("keep", "bool", ())
    body.named("state", state.dtype, state.shape)
    inputs = list(body.values)
    for _ in range(g.integer(1, 2)):
        one_operator(body)
    alike = [value for value in body.values if (value.dtype, value.shape, value.sequence) == (state.dtype, state.shape, False)]
    carried = _copied(body, g.choose(alike))
    condition = body.node("Identity", [inputs[1]], [("bool", ())])[0]
    collected = [
        value for value in body.values if not value.sequence and value not in inputs and value not in (carried, condition)
    ][-1:]
    results = [condition, carried, *(_copied(body, value) for value in collected)]
    proto = _as_proto(body, results, g.world.fresh("loop"), inputs)
    outputs = [(state.dtype, state.shape), *((value.dtype, (trips, *value.shape)) for value in collected)]
    g.node("Loop", [g.operand(trips), "" if g.maybe(0.5) else g.operand(True, "bool"), state], outputs, body=proto)


@attempt
def scan(g: Graph) -> None:
    """A scan along axis 0 (9 on), or along axis 1 of a batch (8)."""
    if g.opset < 8:
        raise NotHereError
    state, x = g.like("float", (1, 2) if g.opset == 8 else (2,)), g.like("float", (1, 3, 2) if g.opset == 8 else (3, 2))
    body = Graph(g.world, g, opset=g.opset)
    inputs = [body.named("state", "float", (2,)), body.named("slice", "float", (2,))]
    one_operator(body)
    total = body.node("Add", inputs, [("float", (2,))])[0]
    item = body.node("Mul", [total, inputs[1]], [("float", (2,))])[0]
    proto = _as_proto(body, [total, item], g.world.fresh("scan"), inputs)
    if g.opset == 8:
        g.node("Scan", ["", state, x], [("float", (1, 2)), ("float", (1, 3, 2))], body=proto, num_scan_inputs=1)
        return
    direction = g.choose((None, [0], [1]))
    g.node("Scan", [state, x], [("float", (2,)), ("float", (3, 2))], body=proto, num_scan_inputs=1, scan_input_directions=direction)


@attempt
def sequence_map(g: Graph) -> None:
    if schema_of("SequenceMap", g.opset) is None:
        raise NotHereError
    first = g.like("float", (2, 3))
    parts = [first, *(g.like("float", (2, 3)) for _ in range(g.integer(0, 2)))]
    (sequence,) = g.node("SequenceConstruct", parts, [("float", (2, 3))], sequence=True)
    body = Graph(g.world, g, opset=g.opset)
    item = body.named("item", "float", (2, 3))
    result = body.node("Relu", [item], [("float", (2, 3))])[0]
    (mapped,) = g.node(
        "SequenceMap", [sequence], [("float", (2, 3))], sequence=True, body=_as_proto(body, [result], "each", [item])
    )
    g.node("ConcatFromSequence", [mapped], [("float", (2 * len(parts), 3))], axis=0)


@attempt
def function(g: Graph) -> None:
    """A call of a new local function, which may import another opset than the model."""
    if g.world.ir_version < 8 or not g.main:
        raise NotHereError
    opset = g.opset if g.maybe(0.9) else g.integer(max(1, g.opset - 2), min(NEWEST, g.opset + 2))
    body = Graph(g.world, opset=opset)
    for _ in range(g.integer(1, 3)):
        one_operator(body)
    results = [value for value in body.values if not value.sequence][-2:]
    if not results:
        raise NotHereError
    name = g.world.fresh("function")
    imports = [helper.make_opsetid("", opset)]
    outputs = [_copied(body, value) for value in results]
    names = [value.name for value, _, _ in body.arguments]
    g.world.functions.append(helper.make_function("local", name, names, [v.name for v in outputs], body.nodes, imports))
    for _ in range(g.integer(1, 2)):
        arguments = [
            g.given(array, v.dtype, fixed) if fixed or g.maybe(0.5) else g.like(v.dtype, v.shape)
            for v, array, fixed in body.arguments
        ]
        g.node(name, arguments, [(value.dtype, value.shape) for value in outputs], domain="local")


STEPS = (one_operator,) * 20 + (conditional, loop, scan, sequence_map, function, function)


# -- as protobufs


def _type(value: Value, dims: list[int | str | None] | None) -> TypeProto:
    """Of a sequence, sizes are not stated: the elements may differ in them."""
    if not value.sequence:
        return helper.make_tensor_type_proto(elem_type(value.dtype), dims)
    unknown = None if dims is None else [None] * len(dims)
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(elem_type(value.dtype), unknown))


def _as_proto(g: Graph, results: list[Value], name: str, inputs: list[Value] | None = None) -> onnx.GraphProto:
    """A subgraph; what is not an output stays unused."""
    given = [onnx.ValueInfoProto(name=value.name, type=_type(value, _stated(g, value))) for value in inputs or ()]
    outputs = [
        onnx.ValueInfoProto(name=value.name, type=_type(value, None if g.maybe(0.3) else _stated(g, value))) for value in results
    ]
    return helper.make_graph(g.nodes, name, given, outputs, g.initializers)


def finished(g: Graph) -> onnx.ModelProto:
    """The whole model: its outputs are the values that nothing reads, and some others."""
    read = {name for node in g.nodes for name in _reads(node)}
    made = {name for node in g.nodes for name in node.output}
    results = [v for v in g.values if v.name in made and (v.name not in read or g.maybe(0.15))]
    if not results:
        results = [_copied(g, g.source("float", (2, 3)))]
    outputs = [onnx.ValueInfoProto(name=value.name, type=_type(value, _declared(g, value))) for value in results]
    graph = helper.make_graph(g.nodes, "fuzz", g.inputs, outputs, g.initializers)
    imports = [helper.make_opsetid("ai.onnx" if g.maybe(0.03) else "", g.opset)]
    if g.world.functions:
        imports.append(helper.make_opsetid("local", 1))
    model = helper.make_model(graph, opset_imports=imports, functions=g.world.functions)
    model.ir_version = g.world.ir_version
    _annotate(g, model)
    return model


def _stated(g: Graph, value: Value) -> list[int | str | None] | None:
    """The sizes of a value between, where they are sure."""
    return None if g.world.dynamic and value.rank else list(value.shape)


def _declared(g: Graph, value: Value) -> list[int | str | None]:
    """What an output says of its sizes: only how many, or, where none is open, all."""
    if g.world.dynamic or g.maybe(0.3):
        return [f"{value.name}_{axis}" if g.maybe(0.7) else None for axis in range(value.rank)]
    return list(value.shape)


def _annotate(g: Graph, model: onnx.ModelProto) -> None:
    """What a converter has to leave alone: documentation, metadata, types of values between."""
    if g.maybe(0.2):
        model.doc_string, model.producer_name = "made at random", "fuzz"
        model.metadata_props.add(key="seed", value="?")
    outputs = {value.name for value in model.graph.output}
    for value in g.values:
        made = any(value.name in node.output for node in g.nodes)
        if made and value.name not in outputs and not value.sequence and g.maybe(0.1):
            model.graph.value_info.add(name=value.name, type=_type(value, _stated(g, value)))


def _reads(node: onnx.NodeProto) -> set[str]:
    names = set(node.input)
    for attribute in node.attribute:
        names |= {value.name for value in attribute.g.output}
        for inner in attribute.g.node:
            names |= _reads(inner)
    return names
