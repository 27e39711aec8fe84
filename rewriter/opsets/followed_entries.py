"""Entries of shapes that onnx's inference follows to wrong numbers: through casts, behind a second axis, and by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import onnx
from onnx import TensorProto

from ..onnx_model.all_nodes import Stored, nodes_with_opset, with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from . import facts


def integers_cut_before(model: onnx.ModelProto) -> dict[int, int]:
    """The positions of nodes that cast numbers back to integers which a Cast to a smaller type, or arithmetic in another type than
    int64, may have changed, each with its type: onnx takes the entries of a shape for the same behind both, and computes in int64.
    """
    casts = [
        (index, node, _type_cast_to(node))
        for index, (node, _) in enumerate(nodes_with_opset(model))
        if node.op_type == "Cast" and node.input and node.domain in DEFAULT_DOMAINS
    ]
    kinds = {kind for _, _, kind in casts}
    if kinds == {TensorProto.INT64} or kinds.isdisjoint(_INTEGERS):
        return {}
    changed = _values_that_may_be_changed(model)
    return {index: kind for index, node, kind in casts if kind in _INTEGERS and node.input[0] in changed}


def _values_that_may_be_changed(model: onnx.ModelProto) -> set[str]:
    """The values that may come from a Cast to a small type, or from arithmetic in another type than int64, through nodes that onnx
    follows entries through, in any graph with such names; so may the parameters of functions, and what calls make.
    """
    readers: dict[str, list[onnx.NodeProto]] = {}
    changed = [name for function in model.functions for name in function.input]  # whatever was computed of it
    cast: list[str] = []  # to a type in which arithmetic gives other numbers
    for node, _ in nodes_with_opset(model):
        kind = _type_cast_to(node) if node.op_type == "Cast" else TensorProto.UNDEFINED
        if node.domain not in DEFAULT_DOMAINS or (node.op_type == "Cast" and kind not in _WIDE):
            changed += node.output
        elif facts.of(node.op_type).has("entries"):
            for name in node.input:
                readers.setdefault(name, []).append(node)
            if kind not in (TensorProto.UNDEFINED, TensorProto.INT64):
                cast += node.output
    of_other_types = [reader for name in _behind(cast, readers) for reader in readers.get(name, ())]
    changed += [name for node in of_other_types if facts.of(node.op_type).kind is facts.Kind.ELEMENTWISE for name in node.output]
    return _behind(changed, readers)


def _behind(names: Iterable[str], readers: Mapping[str, Sequence[onnx.NodeProto]]) -> set[str]:
    """The values `names`, and those that follow from them through `readers`."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += (output for reader in readers.get(name, ()) for output in reader.output)
    return found


def _type_cast_to(node: onnx.NodeProto) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == "to"), 0)


_INTEGERS = {TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64}
"""The types in which runtimes take sizes, and those beside them."""
_WIDE = {*_INTEGERS, TensorProto.FLOAT, TensorProto.DOUBLE}
"""The types that hold every size below 2^24."""


def rows_of_entries(model: onnx.ModelProto, stored: Mapping[str, Sequence[Stored]]) -> set[int]:
    """The positions of nodes that give the entries of a vector another axis: onnx takes those entries for elements of what comes
    out, so that a Gather of a row finds one of them. `stored` are the constants of the model, by name.
    """
    found: set[int] = set()
    ranks = {name: max(map(_rank, made)) for name, made in stored.items()}
    followed = facts.with_word("entries") | facts.of_kind(facts.Kind.SHAPE)
    for index, (node, _) in enumerate(nodes_with_opset(model)):
        if node.op_type not in followed or node.domain not in DEFAULT_DOMAINS:
            continue
        rank = _rank_of_entries(node, ranks)
        if node.op_type == "Unsqueeze" and rank > 1:
            found.add(index)
        elif rank in (0, 1):
            ranks.update(dict.fromkeys(node.output, rank))
    return found


def _rank_of_entries(node: onnx.NodeProto, ranks: Mapping[str, int]) -> int:
    """The least number of axes of the entries that `node`, of an operator that onnx follows, makes; -1 where it follows none."""
    if node.op_type in facts.of_kind(facts.Kind.SHAPE):
        return int(node.op_type == "Shape")
    of_inputs = [ranks.get(name, -1) for name in node.input]
    if not of_inputs:
        return -1
    if node.op_type == "Unsqueeze":
        return of_inputs[0] + 1 if of_inputs[0] >= 0 else -1
    if node.op_type == "Squeeze":
        return min(of_inputs[0], 0)
    if node.op_type == "Gather" and of_inputs[0] >= 0:
        return 0 if of_inputs[1] == 0 else 1
    return max(of_inputs)


def _rank(made: Stored) -> int:
    """The number of axes of a constant of integers; -1 for others, and where there are more than one."""
    if isinstance(made, TensorProto):
        tensor = made
    else:
        ints = next((each for each in made.attribute if each.name in ("value_int", "value_ints")), None)
        if ints is not None:
            return int(ints.name == "value_ints")
        tensor = next((each.t for each in made.attribute if each.name == "value"), TensorProto())
    return len(tensor.dims) if tensor.data_type in _INTEGERS and len(tensor.dims) < 2 else -1


def are_told_apart(model: onnx.ModelProto) -> bool:
    """Whether no name stands for two values, in different graphs, of which onnx follows the entries of one: it keeps them by name,
    and takes those of one branch for the value in another.
    """
    for owner in (model.graph, *model.functions):
        if not any(node.op_type in facts.GRAPH_HOLDERS for node in owner.node):
            continue
        seen: set[str] = set()
        followed: set[str] = set()
        twice: set[str] = set()
        for node in with_inner(owner.node):
            row = facts.of(node.op_type, node.domain)
            twice |= seen.intersection(node.output)
            seen.update(node.output)
            if row.has("entries") or row.kind is facts.Kind.SHAPE:
                followed.update(node.output)
        if twice & followed - {""}:
            return False
    return True
