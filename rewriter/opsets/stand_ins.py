"""Puts other nodes in the place of those that onnx infers wrongly, for the time of an inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
import onnx.parser
from onnx import TypeProto

from ..onnx_model.all_nodes import constants, nodes_with_opset
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import default_opset
from . import facts
from .followed_entries import integers_cut_before, rows_of_entries
from .misinferred import (
    WRONG_SYMBOLS,
    Operands,
    any_depends_on_operands,
    goes_to_two_ends,
    has_empty_axes,
    has_old_axes_in_disorder,
    has_unknown_starts,
    has_unknown_steps,
    inferred_as,
    keeps_its_input,
    stated_shape,
)

_STAND_INS = "split_rewrite.stand_ins"


def may_need_stand_ins(model: onnx.ModelProto, serialized: bytes) -> bool:
    """Whether `model` contains the names of operators that need a stand-in. Looking at all nodes would take longer."""
    imports = (model.opset_import, *(function.opset_import for function in model.functions))
    opsets = {default_opset(entries) or 0 for entries in imports}
    if b"Slice" in serialized and 10 in opsets:
        return True
    if (b"Slice" in serialized or b"Squeeze" in serialized) and any_depends_on_operands(model):
        return True
    if b"Reshape" in serialized and min(opsets) < 5:
        return True
    if min(opsets) < 11 and (b"Squeeze" in serialized or b"Unsqueeze" in serialized):
        return True
    if b"Cast" in serialized and integers_cut_before(model):
        return True
    if b"Unsqueeze" in serialized and rows_of_entries(model, constants(model)):
        return True
    if any(op_type.encode() in serialized for op_type in facts.with_word("inferred-as")):
        return True
    return any(
        op_type.encode() in serialized
        for opset in opsets
        for op_type in facts.with_word("keeps-input")
        if keeps_its_input(op_type, opset)
    )


def put_stand_ins(model: onnx.ModelProto) -> dict[int, onnx.NodeProto]:
    """Replace nodes that onnx cannot infer, or infers wrongly, by others with the right result.

    Returns the old nodes by their position.
    """
    replaced: dict[int, onnx.NodeProto] = {}
    functions: dict[str, onnx.FunctionProto] = {}
    stored = constants(model)
    known, cut, rows = Operands(stored), integers_cut_before(model), rows_of_entries(model, stored)
    for index, (node, opset) in enumerate(nodes_with_opset(model)):
        if node.domain not in DEFAULT_DOMAINS or not node.input or not node.output:
            continue
        if keeps_its_input(node.op_type, opset):
            replaced[index] = _copy(node)
            node.op_type = "Identity"
            del node.input[1:], node.output[1:], node.attribute[:]
        elif inferred_as(node.op_type, opset) != node.op_type:
            replaced[index] = _copy(node)
            node.op_type = inferred_as(node.op_type, opset)
        elif has_old_axes_in_disorder(node, opset):
            replaced[index] = _copy(node)
            for attribute in node.attribute:
                attribute.ints[:] = sorted(attribute.ints)
        else:
            function = _ROWS.get(len(node.input)) if index in rows else _stand_in(node, opset, known, cut.get(index))
            if function is None:
                continue
            replaced[index] = _copy(node)
            functions[function.name] = function
            node.domain, node.op_type = _STAND_INS, function.name
            del node.input[len(function.input) :]
            if not function.attribute:
                del node.attribute[:]
    if functions:
        for owner in (model, *model.functions):
            owner.opset_import.add(domain=_STAND_INS, version=1)
        model.functions.extend(functions.values())
    return replaced


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    return onnx.NodeProto.FromString(node.SerializeToString())


def _stand_in(node: onnx.NodeProto, opset: int, known: Operands, kind: int | None) -> onnx.FunctionProto | None:
    """The function in place of a node, where the values `known` are constants; None for one that onnx infers rightly.

    `kind`: the type to which the node casts numbers that an earlier Cast may have changed.
    """
    if kind is not None:
        return _cast_anyhow(kind)
    shape = stated_shape(node, opset)
    if shape is not None:
        return _reshape_to(shape)
    if has_unknown_steps(node, known) or goes_to_two_ends(node, known):
        return _CUT_ANYHOW
    if has_empty_axes(node, known):
        return _OF_ANY_SHAPE
    if has_unknown_starts(node, known):
        return _SLICES_FROM_ANYWHERE.get(len(node.input))
    return _SLICES.get(len(node.input)) if (node.op_type, opset) == WRONG_SYMBOLS else None


def take_stand_ins_back(model: onnx.ModelProto, replaced: Mapping[int, onnx.NodeProto]) -> None:
    """Restore the nodes that `put_stand_ins` replaced."""
    for index, (node, _) in enumerate(nodes_with_opset(model)):
        if index in replaced:
            node.CopyFrom(replaced[index])
    for function in [function for function in model.functions if function.domain == _STAND_INS]:
        model.functions.remove(function)
    for owner in (model, *model.functions):
        for entry in [entry for entry in owner.opset_import if entry.domain == _STAND_INS]:
            owner.opset_import.remove(entry)


def _slice_of_opset_11(inputs: int) -> onnx.FunctionProto:
    names = ["data", "starts", "ends", "axes", "steps"][:inputs]
    node = onnx.helper.make_node("Slice", names, ["part"])
    return onnx.helper.make_function(_STAND_INS, f"Slice{inputs}", names, ["part"], [node], [onnx.helper.make_opsetid("", 11)])


_SLICES = {inputs: _slice_of_opset_11(inputs) for inputs in (3, 4, 5)}
"""The stand-ins for Slice by their number of inputs, because a call cannot pass an absent input to a function."""


def _slice_from_anywhere(inputs: int) -> onnx.FunctionProto:
    names = ["data", "starts", "ends", "axes", "steps"][:inputs]
    bounds = ", ".join(["starts", "reached", *names[3:]])
    body = f"{{ zero = Sub (starts, starts)\n reached = Add (ends, zero)\n part = Slice (data, {bounds}) }}"
    return onnx.parser.parse_function(
        f'<domain: "{_STAND_INS}", opset_import: ["" : 18]> SliceFromAnywhere{inputs} ({", ".join(names)}) => (part) {body}'
    )


_SLICES_FROM_ANYWHERE = {inputs: _slice_from_anywhere(inputs) for inputs in (3, 4, 5)}
"""The stand-ins for Slice from starts that are computed: where onnx cannot follow these, it cannot follow the ends either, as which
it infers nothing.
"""


def _slice_by_unknown_bounds() -> onnx.FunctionProto:
    """A Slice of which only the rank can be inferred: no inference follows its bounds through an Exp."""
    body = "{ f = Cast <to = 1> (starts)\n e = Exp (f)\n unknown = Cast <to = 7> (e)\n part = Slice (data, unknown, unknown) }"
    return onnx.parser.parse_function(
        f'<domain: "{_STAND_INS}", opset_import: ["" : 13]> SliceAnyhow (data, starts) => (part) {body}'
    )


_CUT_ANYHOW = _slice_by_unknown_bounds()
"""The stand-in for Slice along axes or by steps that are not constant, or to an end of two meanings."""


_OF_ANY_SHAPE = onnx.parser.parse_function(
    f'<domain: "{_STAND_INS}", opset_import: ["" : 13]> OfAnyShape (data) => (part) '
    "{ sizes = Shape (data)\n there = Cast <to = 9> (sizes)\n some = Compress (sizes, there)\n part = Reshape (data, some) }"
)
"""The stand-in for Squeeze with empty axes: it gives the data in a shape of unknown rank."""


def _cast_anyhow(kind: int) -> onnx.FunctionProto:
    """A Cast of numbers of which nothing is inferred but shape and type: no inference follows them through an Exp."""
    return onnx.parser.parse_function(
        f'<domain: "{_STAND_INS}", opset_import: ["" : 13]> Cast{kind} (data) => (numbers) '
        f"{{ f = Cast <to = 1> (data)\n e = Exp (f)\n numbers = Cast <to = {kind}> (e) }}"
    )


_ROWS = {
    len(names): onnx.parser.parse_function(
        f'<domain: "{_STAND_INS}", opset_import: ["" : {opset}]> Rows{opset} {parameter} ({", ".join(names)}) => (part) '
        f"{{ rows = Unsqueeze {axes} ({', '.join(names)})\n part = Abs (rows) }}"
    )
    for opset, parameter, axes, names in ((11, "<axes>", "<axes : ints = @axes>", ["data"]), (13, "", "", ["data", "axes"]))
}
"""The stand-ins for Unsqueeze of entries of a shape, by their number of inputs: no inference follows them through an Abs."""


def _reshape_to(shape: Sequence[int]) -> onnx.FunctionProto:
    """A Reshape to `shape`, whose entries 0 and -1 mean in every version what they mean in the first."""
    stated = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [len(shape)], shape)
    nodes = [
        onnx.helper.make_node("Constant", [], ["shape"], value=stated),
        onnx.helper.make_node("Reshape", ["data", "shape"], ["result"]),
    ]
    name = "_".join(["Reshape", *map(str, shape)])
    return onnx.helper.make_function(_STAND_INS, name, ["data"], ["result"], nodes, [onnx.helper.make_opsetid("", 13)])


def hidden(serialized: bytes, wrong: Mapping[int, dict[str, TypeProto]], replaced: dict[int, onnx.NodeProto]) -> bytes:
    """The serialized model in which no inference sees the nodes at the positions `wrong`; they are added to `replaced`."""
    model = onnx.ModelProto.FromString(serialized)
    for index, (node, _) in enumerate(nodes_with_opset(model)):
        if index in wrong:
            replaced[index] = onnx.NodeProto.FromString(node.SerializeToString())
            node.domain = _STAND_INS
    stated = {value.name for value in model.graph.value_info}
    model.graph.value_info.extend(
        onnx.ValueInfoProto(name=name, type=kind) for types in wrong.values() for name, kind in types.items() if name not in stated
    )
    for owner in (model, *model.functions):
        if not any(entry.domain == _STAND_INS for entry in owner.opset_import):
            owner.opset_import.add(domain=_STAND_INS, version=1)
    return model.SerializeToString()
