"""Specializes functions of a model: parameters become constants, with one copy of the function for each choice of its callers.

A function has a finite number of calls, and everything that decides how a node is converted is known at each call: the attributes
that it sets, and the types of its inputs. The elements of a list are known where the list is made, so functions that take or return
lists are inlined.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from .. import child_call
from ..opsets import facts, inference
from .bodies import bind_attributes
from .protos import GraphLike, default_opset, subgraphs

Key = tuple[str, str, str]
"""The domain, name and overload of a function."""
_Choice = tuple[Key, tuple[bytes, ...], tuple[bytes, ...]]
"""A function, the attributes that a call sets, and the types that it passes."""

MOST_CHOICES = 1_000
"""The number of specialized functions up to which a model is specialized. With more, it is refused instead."""


MOST_INLINED = 10_000
"""The number of nodes up to which functions that take or return lists are inlined."""
LIST_OPERATORS = facts.of_kind(facts.Kind.SEQUENCE) | facts.with_word("lists")
"""Operators that make or read lists or optionals."""


class TooManyChoices(Exception):
    """The calls would need more than MOST_CHOICES functions."""


def key_of(function: FunctionProto) -> Key:
    return function.domain, function.name, getattr(function, "overload", "")


def specialize(model: onnx.ModelProto, names: Collection[Key], inferred: onnx.ModelProto | None, *, by_types: bool) -> bool:
    """Specialize the functions `names` of `model`, and those that call them. Returns whether anything changed.

    Where all callers make the same choice, it becomes part of the function. Otherwise each choice gets a copy of the function, with
    a number appended to the name; a copy with a single call is inlined. With `by_types`, calls that pass different types are
    different choices; `inferred`, the model with inferred types, tells the types. Functions that nobody calls are not changed.
    """
    if by_types and inferred is None:
        return False
    before = model.SerializeToString(deterministic=True)
    try:
        _Specialization(model, names, inferred if by_types else None).run()
    except TooManyChoices:
        return False
    return model.SerializeToString(deterministic=True) != before


def inline_lists(model: onnx.ModelProto, bodies: Mapping[Key, onnx.GraphProto]) -> bool:
    """Inline the functions of `model` that take or return lists. Returns whether there were any.

    `bodies` are the functions as graphs with inferred types. Functions of another opset than the model's are not inlined, and none
    is if the result would have too many nodes.
    """
    opset = default_opset(model.opset_import)
    passing = [
        function
        for function in model.functions
        if _passes_lists(bodies.get(key_of(function))) and default_opset(function.opset_import) in (None, opset)
    ]
    if not passing or _inlined_nodes(model, {key_of(function) for function in passing}) > MOST_INLINED:
        return False
    before = len(model.functions)
    _inline(model, passing)
    return len(model.functions) < before


def _passes_lists(body: onnx.GraphProto | None) -> bool:
    """Whether the function takes or returns a list or an optional."""
    values = () if body is None else (*body.input, *body.output)
    return any(value.type.WhichOneof("value") in ("sequence_type", "optional_type") for value in values)


def _inlined_nodes(model: onnx.ModelProto, inlined: Collection[Key]) -> int:
    """The number of nodes that the calls of the functions `inlined`, which do not call themselves, would become."""
    functions = {key_of(function): function for function in model.functions}
    sizes: dict[Key, int] = {}

    def size(graph: GraphLike) -> int:
        return sum(size_of(_callee(node)) for node in _nodes(graph))

    def size_of(key: Key) -> int:
        if key not in inlined:
            return 1
        if key not in sizes:
            sizes[key] = size(functions[key])
        return sizes[key]

    return size(model.graph) + sum(size(function) for key, function in functions.items() if key not in inlined)


def inline_all(model: onnx.ModelProto) -> None:
    """Inline all functions of the model's own opset. Functions that onnx cannot inline stay."""
    opset = default_opset(model.opset_import)
    _inline(model, [function for function in model.functions if default_opset(function.opset_import) in (None, opset)])


class _Call(NamedTuple):
    node: NodeProto
    types: Mapping[str, TypeProto]


class _Made(NamedTuple):
    """A specialized function, and its calls."""

    function: FunctionProto
    calls: list[NodeProto]


class _Specialization:
    def __init__(self, model: onnx.ModelProto, names: Collection[Key], inferred: onnx.ModelProto | None) -> None:
        self._model = model
        self._inferred = inferred
        self._functions = {key_of(function): function for function in model.functions}
        self._wanted = self._with_callers(names)
        self._made: dict[_Choice, _Made] = {}
        self._names = {function.name for function in model.functions}

    def _with_callers(self, names: Collection[Key]) -> set[Key]:
        """The functions `names`, and all functions that call one of them, directly or through others."""
        callees = {key: {_callee(node) for node in _nodes(function)} for key, function in self._functions.items()}
        wanted = set(names)
        while callers := {key for key, called in callees.items() if key not in wanted and called & wanted}:
            wanted |= callers
        return wanted

    def run(self) -> None:
        outer = {} if self._inferred is None else _types_in(self._inferred.graph)
        pending = [_Call(node, outer) for node in _nodes(self._model.graph)]
        while pending:
            call = pending.pop()
            key = _callee(call.node)
            if key not in self._wanted or key not in self._functions:
                continue
            made = self._definite(key, call)
            made.calls.append(call.node)
            if len(made.calls) == 1:
                inner = self._types_inside(made.function, call)
                pending.extend(_Call(node, inner) for node in _nodes(made.function))
        self._install()

    def _definite(self, key: Key, call: _Call) -> _Made:
        """The specialized function for `call`."""
        function = self._functions[key]
        given = _given(function, call.node)
        passed: tuple[bytes, ...] = ()
        if self._inferred is not None:
            passed = tuple(call.types.get(name, TypeProto()).SerializeToString(deterministic=True) for name in call.node.input)
        choice = key, tuple(attribute.SerializeToString(deterministic=True) for attribute in given.values()), passed
        if choice not in self._made:
            if len(self._made) >= MOST_CHOICES:
                raise TooManyChoices
            copy = FunctionProto()
            copy.CopyFrom(function)
            for node in list(_nodes(copy)):
                bind_attributes(node, given)
            self._made[choice] = _Made(copy, [])
        return self._made[choice]

    def _types_inside(self, function: FunctionProto, call: _Call) -> Mapping[str, TypeProto]:
        if self._inferred is None:
            return {}
        types = [call.types.get(name, TypeProto()) for name in call.node.input]
        return _types_in(inference.infer_body(self._model, function, types))

    def _install(self) -> None:
        """Name the specialized functions, write these names into the calls, and add the functions to the model or inline them."""
        choices: dict[Key, list[_Made]] = {}
        for (key, _, _), made in self._made.items():
            choices.setdefault(key, []).append(made)
        several = {key for key, made in choices.items() if len(made) > 1}
        for key in several:
            for made in choices[key]:
                self._rename(made)
        single = [made for key in several for made in choices[key] if len(made.calls) == 1 and self._fits_callers(made.function)]
        for made in single:
            _hand_metadata_on(made)
        for key, all_made in choices.items():
            if key in several:
                self._model.functions.extend(made.function for made in all_made)
            else:
                self._functions[key].CopyFrom(all_made[0].function)
        for key in several:
            self._model.functions.remove(self._functions[key])
        _inline(self._model, [made.function for made in single])

    def _rename(self, made: _Made) -> None:
        name = f"{made.function.name}_{next(n for n in itertools.count(1) if f'{made.function.name}_{n}' not in self._names)}"
        self._names.add(name)
        made.function.name = name
        for call in made.calls:
            call.op_type = name

    def _fits_callers(self, function: FunctionProto) -> bool:
        """Whether the nodes of the function mean the same in its callers, whose opset may be another."""
        return default_opset(function.opset_import) in (None, default_opset(self._model.opset_import))


def _callee(node: NodeProto) -> Key:
    return node.domain, node.op_type, getattr(node, "overload", "")


def _nodes(graph: GraphLike) -> Iterator[NodeProto]:
    """The nodes of `graph` and of its subgraphs."""
    for node in graph.node:
        yield node
        for _, inner in subgraphs(node):
            yield from _nodes(inner)


def _given(function: FunctionProto, call: NodeProto) -> dict[str, AttributeProto]:
    """The parameters of `function` that have a value at `call`, which is the one that the call sets, or else the default."""
    names = {*function.attribute, *(attribute.name for attribute in function.attribute_proto)}
    given = {attribute.name: attribute for attribute in function.attribute_proto}
    given.update((attribute.name, attribute) for attribute in call.attribute if attribute.name in names)
    return dict(sorted(given.items()))


def _types_in(graph: onnx.GraphProto) -> dict[str, TypeProto]:
    """The types of the values of `graph` and of its subgraphs."""
    types = {tensor.name: onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims) for tensor in graph.initializer}
    for values in (graph.value_info, graph.output, graph.input):
        types.update((value.name, value.type) for value in values)
    for node in graph.node:
        for _, inner in subgraphs(node):
            types.update(_types_in(inner))
    return types


def _hand_metadata_on(made: _Made) -> None:
    for node in made.function.node:
        if not node.metadata_props:
            node.metadata_props.extend(made.calls[0].metadata_props)


def _inline(model: onnx.ModelProto, functions: Sequence[FunctionProto]) -> None:
    """Inline `functions`. Those that onnx cannot inline stay."""
    if not functions:
        return
    names = [(function.domain, function.name) for function in functions]
    with suppress(child_call.Crashed, child_call.Refused):
        model.ParseFromString(child_call.inline_functions(model.SerializeToString(deterministic=True), names))
