"""The types of what one node of an operator of another domain makes.

The element types follow from the schema. The shapes are computed by a function of a module in `shapes/`, which the word `shapes` in
the operator's row of facts names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module

from onnx import NodeProto, TensorProto, TypeProto, helper

from .. import facts
from ..type_protos import Shape
from .call import Call
from .schemas import paired, schema_of

_INVALID = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)


def tied_values(node: NodeProto) -> list[list[str]]:
    """Groups of two or more inputs and outputs of `node` that must have the same element type."""
    schema = schema_of(node.op_type, node.domain)
    tied: dict[str, dict[str, None]] = {}
    for values, parameters in () if schema is None else ((node.output, schema.outputs), (node.input, schema.inputs)):
        for name, parameter in paired(values, parameters):
            if parameter.presence != "**":
                tied.setdefault(parameter.type, {})[name] = None
    return [list(values) for values in tied.values() if len(values) > 1]


def fixed_types(node: NodeProto) -> dict[str, TypeProto]:
    """The types of those outputs of `node` that can only have one type. Their shapes are unknown."""
    schema = schema_of(node.op_type, node.domain)
    if schema is None:
        return {}
    allowed = ((name, schema.allowed(parameter)) for name, parameter in paired(node.output, schema.outputs))
    return {name: _tensor(TensorProto.DataType.Value(min(kinds).upper()), None) for name, kinds in allowed if len(kinds) == 1}


def infer(node: NodeProto, types: Mapping[str, TypeProto], data: Mapping[str, TensorProto]) -> dict[str, TypeProto]:
    """The types of the outputs of `node`, as far as they follow from the `types` of its inputs, some of which are known to be the
    constants `data`. An output of which not even the element type is known is left out.
    """
    elem_types = {name: kind.tensor_type.elem_type for name, kind in fixed_types(node).items()}
    for values in tied_values(node):
        known = (types[name].tensor_type.elem_type for name in values if name in types)
        number = next(filter(None, known), 0)
        elem_types.update((name, number) for name in values if number)
    if node.output and node.output[0] not in elem_types and (number := _type_by_facts(node, types)):
        elem_types[node.output[0]] = number
    shapes = _shapes(Call(node, types, data))
    found = {name: shapes[index] if index < len(shapes) else None for index, name in enumerate(node.output) if name in elem_types}
    return {name: _tensor(elem_types[name], shape) for name, shape in found.items() if name}


def _type_by_facts(node: NodeProto, types: Mapping[str, TypeProto]) -> int:
    """The element type of the first output, of which the schema does not say it; 0 where it is unknown."""
    fact = facts.of(node.op_type, node.domain)
    if fact.has("type-of"):
        index = int(fact.word("type-of"))
        name = node.input[index] if index < len(node.input) else ""
        if name:
            return types[name].tensor_type.elem_type if name in types else 0
    untold = fact.word("untold-type")
    return TensorProto.DataType.Value(untold.upper()) if untold else 0


def _tensor(elem_type: int, shape: Shape | None) -> TypeProto:
    return helper.make_tensor_type_proto(elem_type, shape)


def _shapes(call: Call) -> Sequence[Shape | None]:
    function = _function(facts.of(call.node.op_type, call.node.domain).word("shapes"))
    if function is None or call.depends_on_caller:
        return ()
    try:
        return function(call)
    except _INVALID:
        return ()  # an invalid node has no shape; whoever runs it says why


@cache
def _function(name: str) -> Callable[[Call], Sequence[Shape | None]] | None:
    """The function that a row of facts names: "module.function"."""
    module, _, function = name.partition(".")
    return getattr(import_module(f"{__package__}.shapes.{module}"), function) if name else None
