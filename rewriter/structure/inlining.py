"""Replaces calls of local functions by the nodes of their bodies.

https://onnx.ai/onnx/repo-docs/IR.html#functions says what a call means: a parameter has the value that the call sets, or else its
default, or else the attributes that refer to it are absent. An input or output that a call leaves out is absent in the body.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from ..errors import InvalidModelError
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GraphLike, bind_attributes, captured, defined_names, shown_name, subgraphs

MOST_NESTED = 30
"""The depth of subgraphs after inlining, at most. protobuf reads at most 100 messages in each other, three for each level."""
Key = tuple[str, str, str]
"""The domain, name and overload of a function."""


def key_of(function: FunctionProto) -> Key:
    return function.domain, function.name, getattr(function, "overload", "")


def callee(node: NodeProto) -> Key:
    """The key of the function that `node` calls, if it calls one."""
    return node.domain, node.op_type, getattr(node, "overload", "")


def nodes_within(graph: GraphLike) -> Iterator[NodeProto]:
    """The nodes of `graph` and of its subgraphs."""
    for node in graph.node:
        yield node
        for _, inner in subgraphs(node):
            yield from nodes_within(inner)


def arguments_of(function: FunctionProto, call: NodeProto) -> dict[str, AttributeProto]:
    """The parameters of `function` that have a value at `call`, which is the one that the call sets, or else the default."""
    names = {*function.attribute, *(attribute.name for attribute in function.attribute_proto)}
    given = {attribute.name: attribute for attribute in function.attribute_proto}
    given.update((attribute.name, attribute) for attribute in call.attribute if attribute.name in names)
    return dict(sorted(given.items()))


def changed(model: ModelProto, prepared: ModelProto) -> frozenset[Key]:
    """The functions of `model` that are gone or another in `prepared`, and those that call one of these, at any depth."""
    others = {key_of(function): function for function in prepared.functions}
    bodies = {key_of(function): function for function in model.functions}
    return frozenset(with_callers(bodies, [key for key, function in bodies.items() if others.get(key) != function]))


def with_callers(functions: Mapping[Key, FunctionProto], names: Iterable[Key]) -> set[Key]:
    """The functions `names`, and all functions that call one of them, directly or through others."""
    callees = {key: {callee(node) for node in nodes_within(function)} for key, function in functions.items()}
    wanted = functions.keys() & set(names)
    while callers := {key for key, called in callees.items() if key not in wanted and called & wanted}:
        wanted |= callers
    return wanted


def inline(model: ModelProto, functions: Collection[Key]) -> None:
    """Replace the calls of `functions`, which do not call themselves, in the graphs of `model` and in its other functions.

    A call stays where the function has another opset than the graph around the call, where a parameter would lose its default, or
    where graphs would be nested too deep; so do the functions that it needs. Nodes without metadata get those of the call.
    Raises InvalidModelError where a call has too many inputs or outputs, or a function reads a value that it does not define.
    """
    _Inlining(model, functions).run()


class _Inlining:
    def __init__(self, model: ModelProto, functions: Collection[Key]) -> None:
        self._model = model
        self._bodies = {key: function for function in model.functions if (key := key_of(function)) in functions}
        self._staying = [function for function in model.functions if key_of(function) not in self._bodies]
        local = {key_of(function) for function in model.functions}
        self._domains = {
            key: {_short(node.domain) for node in nodes_within(function) if callee(node) not in local}
            for key, function in self._bodies.items()
        }
        """The domains of the operators, other than local functions, in each body."""
        self._nested = {key: _nesting(function) for key, function in self._bodies.items()}
        hosts = (model.graph, *self._staying)
        self._values = _Names(name for host in hosts for name in _value_names(host))
        self._nodes = _Names(node.name for host in hosts for node in nodes_within(host))

    def run(self) -> None:
        for function in self._bodies.values():
            _require_closed(function)
        self._inline_in(self._model.graph, self._model)
        for function in self._staying:
            self._inline_in(function, function)
        self._remove()

    def _remove(self) -> None:
        """Remove the functions that nothing calls any more."""
        bodies = dict(self._bodies)
        needed = [callee(node) for host in (self._model.graph, *self._staying) for node in nodes_within(host)]
        while needed:
            body = bodies.pop(needed.pop(), None)
            needed += [] if body is None else map(callee, nodes_within(body))
        for function in bodies.values():
            self._model.functions.remove(function)

    def _inline_in(self, graph: GraphLike, owner: ModelProto | FunctionProto, depth: int = 0) -> None:
        """Replace the calls in `graph` and its subgraphs. `owner` is the model or the function that it belongs to, and `depth` the
        number of graphs around it.
        """
        if all(callee(node) not in self._bodies for node in nodes_within(graph)):
            return
        done: list[NodeProto] = []
        pending = list(graph.node)[::-1]
        while pending:
            node = pending.pop()
            function = self._bodies.get(callee(node))
            if function is not None and self._fits(function, node, owner, depth):
                _import_domains(function, owner)
                pending += self._replacement(node, function)[::-1]
                continue
            for _, inner in subgraphs(node):
                self._inline_in(inner, owner, depth + 1)
            done.append(node)
        copies = GraphProto(node=done)
        del graph.node[:]
        graph.node.extend(copies.node)

    def _fits(self, function: FunctionProto, call: NodeProto, owner: ModelProto | FunctionProto, depth: int) -> bool:
        """Whether the nodes of `function` mean the same in `owner`, and `call` gives it the same arguments there."""
        if depth + self._nested[key_of(function)] > MOST_NESTED:
            return False
        inside, outside = _versions(function), _versions(owner)
        if any(outside.get(domain, inside.get(domain)) != inside.get(domain) for domain in self._domains[key_of(function)]):
            return False
        # A parameter of `owner` that has no value would be absent in the body, instead of the default there.
        defaults = {attribute.name for attribute in function.attribute_proto}
        given = {attribute.name for attribute in owner.attribute_proto} if isinstance(owner, FunctionProto) else set()
        passed = [attribute for attribute in call.attribute if attribute.ref_attr_name and attribute.name in defaults]
        return all(attribute.ref_attr_name in given for attribute in passed)

    def _replacement(self, call: NodeProto, function: FunctionProto) -> list[NodeProto]:
        """The nodes that replace `call`, some of which may be calls."""
        if len(call.input) > len(function.input) or len(call.output) > len(function.output):
            what = f"'{shown_name(call)}' has more inputs or outputs than the function '{function.name}' that it calls"
            raise InvalidModelError(f"the input is not a valid model: {what}")
        names = dict(itertools.zip_longest(function.input, call.input, fillvalue=""))
        doubled: list[tuple[str, str]] = []
        for inner, outer in zip(function.output, call.output, strict=False):
            if outer and inner in names:  # an input of the function, or another output too
                doubled.append((names[inner], outer))
            elif outer:
                names[inner] = outer
        arguments = arguments_of(function, call)
        nodes = [NodeProto.FromString(node.SerializeToString()) for node in function.node]
        self._rename(nodes, names)
        for node in nodes:
            self._bind(node, arguments)
        nodes += [NodeProto(op_type="Identity", input=[inner], output=[outer]) for inner, outer in doubled]
        for node in nodes:
            if not node.metadata_props:
                node.metadata_props.extend(call.metadata_props)
        return nodes

    def _rename(self, nodes: Sequence[NodeProto], names: dict[str, str]) -> None:
        """Rename the values of `nodes`, and nodes whose name is taken. Values that `names` lacks and that the nodes make are
        added to it, with fresh names.
        """
        for name in [name for node in nodes for name in node.output if name and name not in names]:
            names[name] = self._values.fresh(name)
        for node in nodes:
            if node.name:
                node.name = self._nodes.fresh(node.name)
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
            for _, graph in subgraphs(node):
                self._rename_graph(graph, dict(names))

    def _rename_graph(self, graph: GraphProto, names: dict[str, str]) -> None:
        """Rename the values of `graph`, a subgraph. `names` has the new names of the values that it captures."""
        stored = [*graph.initializer, *(tensor.values for tensor in graph.sparse_initializer)]
        names.update({name: self._values.fresh(name) for name in {value.name: None for value in (*graph.input, *stored)}})
        for made in [name for node in graph.node for name in node.output if name]:
            names[made] = self._values.fresh(made)
        self._rename(graph.node, names)
        for value in (*graph.input, *graph.output, *stored):
            value.name = names.get(value.name, value.name)
        del graph.value_info[:], graph.quantization_annotation[:]  # what they say need not be true of every call

    def _bind(self, node: NodeProto, arguments: Mapping[str, AttributeProto]) -> None:
        """Give the attributes of `node`, and of the nodes in its subgraphs, that are parameters their values in `arguments`."""
        for _, graph in subgraphs(node):
            for inner in graph.node:
                self._bind(inner, arguments)
        parameters = {attribute.name for attribute in node.attribute if attribute.ref_attr_name}
        bind_attributes(node, arguments)
        for name, graph in subgraphs(node) if parameters else ():
            if name in parameters:  # a graph of the caller, whose values have their names, and which may be here twice
                self._rename_graph(graph, {})


class _Names:
    """The names in use."""

    def __init__(self, names: Iterable[str]) -> None:
        self._taken = set(names)
        self._numbers: dict[str, int] = {}

    def fresh(self, wanted: str) -> str:
        """`wanted` if it is not in use, otherwise `wanted` with a number appended. The name is in use from now on."""
        name, number = wanted, self._numbers.get(wanted, 1)
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._numbers[wanted] = number
        self._taken.add(name)
        return name


def _value_names(graph: GraphLike) -> Iterator[str]:
    """The names of all values in `graph` and its subgraphs."""
    yield from defined_names(graph)
    for node in graph.node:
        yield from node.input
        for _, inner in subgraphs(node):
            yield from _value_names(inner)


def _nesting(graph: GraphLike) -> int:
    """The depth of the subgraphs in `graph`; 0 where it has none."""
    return max((1 + _nesting(inner) for node in graph.node for _, inner in subgraphs(node)), default=0)


def _require_closed(function: FunctionProto) -> None:
    """Raises InvalidModelError where `function` reads a value that it does not define: after inlining it might find one."""
    read = {*function.output, *(name for node in function.node for name in node.input)}
    read |= {name for node in function.node for _, graph in subgraphs(node) for name in captured(graph)}
    foreign = sorted(read - {"", *defined_names(function)})
    if foreign:
        raise InvalidModelError(
            f"the input is not a valid model: function '{function.name}' reads '{foreign[0]}', which is not in it"
        )


def _short(domain: str) -> str:
    return "" if domain in DEFAULT_DOMAINS else domain


def _versions(owner: ModelProto | FunctionProto) -> dict[str, int]:
    """The version of each domain that `owner` imports."""
    return {_short(entry.domain): entry.version for entry in owner.opset_import}


def _import_domains(function: FunctionProto, owner: ModelProto | FunctionProto) -> None:
    """Import in `owner` the domains of the nodes of `function`."""
    versions, imported = _versions(function), _versions(owner)
    for domain in sorted({_short(node.domain) for node in nodes_within(function)} & (versions.keys() - imported.keys())):
        owner.opset_import.add(domain=domain, version=versions[domain])
