"""Specializes functions of a model: parameters become constants, with one copy of the function for each choice of its callers.

A function has a finite number of calls, and everything that decides how a node is converted is known at each call: the attributes
that it sets, the inputs that it leaves out, and the types of its inputs. The elements of a list are known where the list is made,
so functions that take or return lists are inlined.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, MutableSequence
from contextlib import suppress
from typing import NamedTuple

import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from ..onnx_model.protos import GraphLike, bind_attributes, default_opset, defined_names, subgraphs
from ..opsets import facts, function_inference, inference
from .inlining import Key, arguments_of, callee, inline, key_of, nodes_within, with_callers

_Choice = tuple[Key, tuple[bytes, ...], frozenset[str], tuple[bytes, ...]]
"""A function, the attributes that a call sets, the inputs that it leaves out, and the types that it passes."""

MOST_CHOICES = 1_000
"""The number of specialized functions up to which a model is specialized. With more, it is refused instead."""
MOST_INLINED = 10_000
"""The number of nodes up to which functions are inlined."""
_NONE_KEPT: Mapping[Key, set[str]] = {}
LIST_OPERATORS = facts.of_kind(facts.Kind.SEQUENCE) | facts.with_word("lists")
"""Operators that make or read lists or optionals."""


class TooManyChoices(Exception):
    """The calls would need more than MOST_CHOICES functions."""


def specialize(
    model: onnx.ModelProto,
    names: Collection[Key],
    inferred: onnx.ModelProto | None = None,
    kept: Mapping[Key, set[str]] = _NONE_KEPT,
) -> bool:
    """Specialize the functions `names` of `model`, and those that call them. Returns whether anything changed.

    Where all callers make the same choice, it becomes part of the function. Otherwise each choice gets a copy of the function, with
    a number appended to the name; a copy with a single call is inlined. An input that a call leaves out is absent in its copy. With
    `inferred`, the model with inferred types, calls that pass different types are different choices. Functions that nobody calls
    are not changed, and with more than MOST_CHOICES choices, nothing is. `kept` are parameters that stay parameters, by function.
    """
    if not names:
        return False
    before = model.SerializeToString(deterministic=True)
    try:
        single = _Specialization(model, names, inferred, kept).run()
    except TooManyChoices:
        return False
    inline(model, set(map(key_of, single)))
    return model.SerializeToString(deterministic=True) != before


def with_values(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` if no function in it depends on its calls; otherwise a copy in which each function has the values of its parameters,
    and not the inputs that its calls leave out.

    Functions that nobody calls stay as they are, and all do if there are more than MOST_CHOICES choices.
    """
    names = depending_on_calls(model)
    copy = onnx.ModelProto()
    copy.CopyFrom(model if names else onnx.ModelProto())
    with suppress(TooManyChoices):
        _Specialization(copy, names).run()
    return copy if names else model


def depending_on_calls(model: onnx.ModelProto) -> set[Key]:
    """The functions of `model` that have parameters, or inputs that a call leaves out."""
    functions = {key_of(function): function for function in model.functions}
    names = {function.name for function in model.functions}
    found = {key for key, function in functions.items() if parameters_of(function)}
    for host in (model.graph, *model.functions) if functions else ():
        for node in nodes_within(host):
            function = functions.get(callee(node)) if node.op_type in names else None
            if function is not None and _left_out(function, node):
                found.add(callee(node))
    return found


def uncertain_inputs(model: onnx.ModelProto) -> dict[Key, frozenset[str]]:
    """The inputs of each function of `model` that may be absent in it: those that a call leaves out, or for which it hands on such
    an input of the function around it; and all inputs of functions that nobody calls.
    """
    functions = {key_of(function): function for function in model.functions}
    called = _called(model.graph, functions)
    found = {key: set[str]() if key in called else set(function.input) for key, function in functions.items()}
    pending: list[tuple[GraphLike, set[str]]] = [(model.graph, set()), *((functions[key], found[key]) for key in called)]
    while pending:
        host, absent = pending.pop()
        for node in nodes_within(host):
            key = callee(node)
            if key not in called:
                continue
            more = _left_out(functions[key], node, absent) - found[key]
            if more:
                found[key] |= more
                pending.append((functions[key], found[key]))
    return {key: frozenset(names) for key, names in found.items()}


def _left_out(function: FunctionProto, call: NodeProto, absent: Collection[str] = ()) -> set[str]:
    """The inputs of `function` for which `call` gives nothing, or one of the values `absent`."""
    pairs = itertools.zip_longest(function.input, call.input, fillvalue="")
    return {name for name, given in pairs if name and (not given or given in absent)}


def idle_parameters(function: FunctionProto, stays: Callable[[NodeProto], bool]) -> set[str]:
    """The parameters of `function` that decide nothing for its conversion: numbers in nodes for which `stays` is true. No rule
    looks at these nodes, and no type and no shape depends on the numbers.
    """
    working = {
        attribute.ref_attr_name
        for node in nodes_within(function)
        for attribute in node.attribute
        if attribute.ref_attr_name and not (inference.is_mere_number(node, attribute) and stays(node))
    }
    return parameters_of(function) - working


def parameters_of(function: FunctionProto) -> set[str]:
    """The parameters of `function` that attributes of its nodes refer to."""
    return {attribute.ref_attr_name for node in nodes_within(function) for attribute in node.attribute if attribute.ref_attr_name}


def inline_lists(model: onnx.ModelProto, bodies: Mapping[Key, onnx.GraphProto]) -> bool:
    """Inline the functions of `model` that take or return lists. Returns whether there were any.

    `bodies` are the functions as graphs with inferred types. Functions of another opset than the model's are not inlined, and none
    is if the result would have too many nodes.
    """
    opset = default_opset(model.opset_import)
    passing = {
        key_of(function)
        for function in model.functions
        if _passes_lists(bodies.get(key_of(function))) and default_opset(function.opset_import) in (None, opset)
    }
    return _inline_few(model, passing)


def inline_with_callers(model: onnx.ModelProto, names: Collection[Key]) -> bool:
    """Inline the functions `names`, and all that call them. Returns whether there were any.

    The nodes are then in the main graph, with the types that it declares. Functions of another opset than the model's are not
    inlined, and none is if the result would have too many nodes, or if nobody calls one of `names`.
    """
    opset = default_opset(model.opset_import)
    functions = {key_of(function): function for function in model.functions}
    if not functions.keys() & set(names) <= _called(model.graph, functions):
        return False
    wanted = {key for key in with_callers(functions, names) if default_opset(functions[key].opset_import) in (None, opset)}
    return _inline_few(model, wanted)


def _inline_few(model: onnx.ModelProto, functions: Collection[Key]) -> bool:
    """Inline `functions`, unless the result would have too many nodes. Returns whether any is gone."""
    if not functions or _inlined_nodes(model, functions) > MOST_INLINED:
        return False
    before = len(model.functions)
    inline(model, functions)
    return len(model.functions) < before


def _called(graph: GraphLike, functions: Mapping[Key, FunctionProto]) -> set[Key]:
    """The functions that `graph` calls, directly or through others."""
    found: set[Key] = set()
    pending = [graph]
    while pending:
        callees = {callee(node) for node in nodes_within(pending.pop())} & functions.keys() - found
        found |= callees
        pending += [functions[key] for key in callees]
    return found


def _passes_lists(body: onnx.GraphProto | None) -> bool:
    """Whether the function takes or returns a list or an optional."""
    values = () if body is None else (*body.input, *body.output)
    return any(value.type.WhichOneof("value") in ("sequence_type", "optional_type") for value in values)


def _inlined_nodes(model: onnx.ModelProto, inlined: Collection[Key]) -> int:
    """The number of nodes that the calls of the functions `inlined`, which do not call themselves, would become."""
    functions = {key_of(function): function for function in model.functions}
    sizes: dict[Key, int] = {}

    def size(graph: GraphLike) -> int:
        return sum(size_of(callee(node)) for node in nodes_within(graph))

    def size_of(key: Key) -> int:
        if key not in inlined:
            return 1
        if key not in sizes:
            sizes[key] = size(functions[key])
        return sizes[key]

    return size(model.graph) + sum(size(function) for key, function in functions.items() if key not in inlined)


class _Call(NamedTuple):
    node: NodeProto
    types: Mapping[str, TypeProto]


class _Made(NamedTuple):
    """A specialized function, and its calls."""

    function: FunctionProto
    calls: list[NodeProto]


class _Specialization:
    def __init__(
        self,
        model: onnx.ModelProto,
        names: Collection[Key],
        inferred: onnx.ModelProto | None = None,
        kept: Mapping[Key, set[str]] = _NONE_KEPT,
    ) -> None:
        self._model = model
        self._inferred = inferred
        self._functions = {key_of(function): function for function in model.functions}
        self._wanted = with_callers(self._functions, names)
        self._kept = kept
        self._made: dict[_Choice, _Made] = {}
        self._names = {function.name for function in model.functions}

    def run(self) -> list[FunctionProto]:
        """Specialize the functions. Returns those that a single call needs, and that may take its place."""
        outer = {} if self._inferred is None else _types_in(self._inferred.graph)
        pending = [_Call(node, outer) for node in nodes_within(self._model.graph)]
        while pending:
            call = pending.pop()
            key = callee(call.node)
            if key not in self._wanted or key not in self._functions:
                continue
            made = self._definite(key, call)
            made.calls.append(call.node)
            if len(made.calls) == 1:
                inner = self._types_inside(made.function, call)
                pending.extend(_Call(node, inner) for node in nodes_within(made.function))
        return self._install()

    def _definite(self, key: Key, call: _Call) -> _Made:
        """The specialized function for `call`."""
        function = self._functions[key]
        kept = self._kept.get(key, set())
        bound = parameters_of(function) - kept
        given = {name: value for name, value in arguments_of(function, call.node).items() if name in bound}
        passed: tuple[bytes, ...] = ()
        if self._inferred is not None:
            passed = tuple(call.types.get(name, TypeProto()).SerializeToString(deterministic=True) for name in call.node.input)
        absent = frozenset(_left_out(function, call.node) - _returned(function))
        choice = key, tuple(attribute.SerializeToString(deterministic=True) for attribute in given.values()), absent, passed
        if choice not in self._made:
            if len(self._made) >= MOST_CHOICES:
                raise TooManyChoices
            copy = FunctionProto()
            copy.CopyFrom(function)
            stays = {name: AttributeProto(name=name, type=AttributeProto.FLOAT, ref_attr_name=name) for name in kept}
            for node in list(nodes_within(copy)):
                bind_attributes(node, {**given, **stays})
            _remove(copy.attribute_proto, given)
            copy.attribute[:] = [name for name in copy.attribute if name not in bound]
            if absent:
                copy.input[:] = [name for name in function.input if name not in absent]
                _make_absent(copy, absent)
            self._made[choice] = _Made(copy, [])
        _remove(call.node.attribute, given)
        if absent:
            pairs = zip(function.input, call.node.input, strict=False)
            call.node.input[:] = [value for name, value in pairs if name not in absent]
        return self._made[choice]

    def _types_inside(self, function: FunctionProto, call: _Call) -> Mapping[str, TypeProto]:
        if self._inferred is None:
            return {}
        types = [call.types.get(name, TypeProto()) for name in call.node.input]
        return _types_in(function_inference.infer_body(self._model, function, types))

    def _install(self) -> list[FunctionProto]:
        """Name the specialized functions, write these names into the calls, and add the functions to the model."""
        choices: dict[Key, list[_Made]] = {}
        for (key, *_), made in self._made.items():
            choices.setdefault(key, []).append(made)
        several = {key for key, made in choices.items() if len(made) > 1}
        for key in several:
            for made in choices[key]:
                self._rename(made)
        single = [made for key in several for made in choices[key] if len(made.calls) == 1 and self._fits_callers(made.function)]
        for key, all_made in choices.items():
            if key in several:
                self._model.functions.extend(made.function for made in all_made)
            else:
                self._functions[key].CopyFrom(all_made[0].function)
        for key in several:
            self._model.functions.remove(self._functions[key])
        return [made.function for made in single]

    def _rename(self, made: _Made) -> None:
        name = f"{made.function.name}_{next(n for n in itertools.count(1) if f'{made.function.name}_{n}' not in self._names)}"
        self._names.add(name)
        made.function.name = name
        for call in made.calls:
            call.op_type = name

    def _fits_callers(self, function: FunctionProto) -> bool:
        """Whether the nodes of the function mean the same in its callers, whose opset may be another."""
        return default_opset(function.opset_import) in (None, default_opset(self._model.opset_import))


def _remove(attributes: MutableSequence[AttributeProto], names: Collection[str]) -> None:
    """Remove the attributes called `names`. A graph that nothing refers to any more would stay in the form of its old opset."""
    for index in reversed(range(len(attributes))):
        if attributes[index].name in names:
            del attributes[index]


def _returned(graph: GraphLike) -> set[str]:
    """The outputs of a function and of the subgraphs in it, which cannot be absent."""
    names = set(graph.output) if isinstance(graph, FunctionProto) else {value.name for value in graph.output}
    return names.union(*(_returned(inner) for node in graph.node for _, inner in subgraphs(node)))


def _make_absent(graph: GraphLike, names: frozenset[str]) -> None:
    """Let no node in `graph` and in its subgraphs read the values `names`, which `graph` does not define."""
    for node in graph.node:
        if not names.isdisjoint(node.input):
            node.input[:] = ["" if name in names else name for name in node.input]
        for _, inner in subgraphs(node):
            _make_absent(inner, names - frozenset(defined_names(inner)))


def _types_in(graph: onnx.GraphProto) -> dict[str, TypeProto]:
    """The types of the values of `graph` and of its subgraphs."""
    types = {tensor.name: onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims) for tensor in graph.initializer}
    for values in (graph.value_info, graph.output, graph.input):
        types.update((value.name, value.type) for value in values)
    for node in graph.node:
        for _, inner in subgraphs(node):
            types.update(_types_in(inner))
    return types
