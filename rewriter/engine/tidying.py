"""Removes nodes that a rule made but that no person would have written.

A node that gives the same value in every run becomes an initializer; readers of a node that returns its input unchanged read that
input; and a value that was already computed is not computed again. Nodes and names of the author of the model stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from onnx import AttributeProto, NodeProto

from ..graph.scope import Scope
from ..opsets import facts, type_protos
from ..opsets.facts import GRAPH_HOLDERS
from ..opsets.folding import MAX_ELEMENTS
from ..storage.payload import element_type_of
from .between_casts import holds
from .standing import Standing
from .task import Task
from .unused import HAVE_EFFECTS

_NOT_COMPARED = HAVE_EFFECTS | facts.with_word("may-draw") | GRAPH_HOLDERS
"""Operators of which two equal nodes may give different results, or that take long to compare."""


class Tidying:
    """Keeps track of what the nodes made by rules in one graph compute, in the order in which they will stand."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._computed: dict[tuple[object, ...], tuple[str, Task]] = {}
        self._standing = Standing(scope)
        self._takes_initializers = scope.constants.takes_initializers
        self.position = 0
        """The number of the node, among those that the graph was read with, that is being converted."""

    def dissolves(self, node: Task) -> bool:
        """Whether `node`, which a rule made, is not needed. If so, its readers already read something else."""
        proto, model = node.proto, self._scope.model
        outputs = proto.output[:]
        if len(outputs) != 1 or proto.domain:
            return False
        merge = _MERGES.get(facts.of(proto.op_type).word("merges"))
        if merge is not None:
            merge(self, node)
        name = outputs[0]
        is_ours = name in model.fresh_names and name not in model.kept_names and name not in self._scope.outputs
        value = self._unchanged(node) or (self._constant(node) or self._computed_before(node) if is_ours else None)
        if value is None:
            if name not in self._scope.outputs:
                model.unread.add(name)
            return False
        if not is_ours:
            return self._give_name(node, value, name)
        if not model.is_unique(value):
            return False
        self._scope.types.note_equal(name, value)
        self._scope.forget(proto)
        node.removed = True
        self._scope.alias(name, value)
        model.new_uses.add(value)
        model.lost_uses.add(value)  # perhaps nothing reads `name` in its place
        return True

    def _merge_transposes(self, node: Task) -> None:
        """Combine a Transpose with the Transpose before it, so that it reads the input of that one."""
        inner, outer = self._made_before(node, node.op_type), node.attr("perm")
        first = None if inner is None else next((list(known.ints) for known in inner.attribute if known.name == "perm"), None)
        if inner is None or first is None or outer is None:
            return
        node.set_attr("perm", [first[axis] for axis in outer])
        node.set_input(0, inner.input[0])

    def _merge_reshapes(self, node: Task) -> None:
        """Let a Reshape to known sizes skip a node before it that only changes the shape."""
        inner = self._made_before(node, *facts.with_word("only-reshapes"))
        sizes = node.constant(1) if node.has_input(1) else None
        if inner is None or sizes is None or (sizes == 0).any():
            return
        if (sizes > 0).all() or type_protos.is_known(self._scope.shape(inner.input[0])):
            node.set_input(0, inner.input[0])

    def _merge_casts(self, node: Task) -> None:
        """Let a Cast skip the Cast before it, if that goes to a wider type of the same class, or comes from
        the type that this one gives.
        """
        inner = self._made_before(node, node.op_type)
        if inner is None:
            return
        kinds = self._scope.elem_type(inner.input[0]), _cast_type(inner), _cast_type(node.proto)
        if None in kinds:
            return
        given, between, result = (type_protos.elem_type_name(kind) for kind in kinds if kind is not None)
        same_class = result != "string" and _is_whole(given) == _is_whole(between)
        if holds(between, given) and (same_class or result == given):
            node.set_input(0, inner.input[0])

    def _made_before(self, node: Task, *op_types: str) -> NodeProto | None:
        """The node that makes the first input of `node`, if a rule made it in this graph and it is one of `op_types`."""
        name = self._scope.resolve(node.input(0))
        inner = self._scope.producer(name)
        if inner is None or inner.op_type not in op_types or inner.domain or inner.output[0] not in self._scope.model.fresh_names:
            return None
        return inner if self._scope.find(name) is self._scope else None

    def _unchanged(self, node: Task) -> str | None:
        """The input that `node` returns unchanged, or None."""
        return self._scope.resolve(node.input(0)) if gives_its_input(node) else None

    def _constant(self, node: Task) -> str | None:
        """The name of an initializer with the value of `node`, if this is the same in every run, or None."""
        if not self._takes_initializers or _is_large(node.proto):
            return None
        name = node.output(0)
        array = self._scope.constant(name)
        if array is None or element_type_of(array.dtype) != self._scope.elem_type(name):
            return None
        made = self._scope.constants.add(array, name)
        return made if isinstance(made, str) else None

    def _computed_before(self, node: Task) -> str | None:
        """The output of an equal node that stands before this one; where there is none, this one is remembered.

        Of the author's nodes, those that compute with shapes are compared.
        """
        proto = node.proto
        op_type, output = proto.op_type, node.output(0)
        if op_type in _NOT_COMPARED:
            return None
        inputs = map(self._scope.resolve, proto.input[:])
        essences = sorted(map(_without_name, proto.attribute[:]))
        key = (op_type, node.opset, *inputs, *essences)
        found, maker = self._computed.setdefault(key, (output, node))
        if found != output and (
            maker.proto is proto or maker.waits
        ):  # a rule gave the name to another node, or put this one before it
            found, _ = self._computed[key] = (output, node)
        return self._standing.find(proto, self.position) if found == output else self._scope.resolve(found)

    def _give_name(self, node: Task, value: str, name: str) -> bool:
        """Let the node that makes `value` make `name` instead, which is a name of the author, so that no Identity is needed."""
        if not self._scope.rename_made(value, name):
            return False
        self._scope.model.lost_uses.update(filter(None, node.proto.input))
        node.removed = True
        return True


def _without_name(attribute: AttributeProto) -> bytes:
    """The attribute, serialized; without the name of a tensor in it, which does not matter."""
    if attribute.HasField("t") and attribute.t.name:
        attribute = AttributeProto.FromString(attribute.SerializeToString())
        attribute.t.ClearField("name")
    return attribute.SerializeToString()


def gives_its_input(node: Task) -> bool:
    """Whether the output of `node` always equals its first input."""
    unchanged = _IDLE.get(facts.of(node.op_type).word("idle"))
    return unchanged is not None and unchanged(node)


def _has_type_already(node: Task) -> bool:
    kind = node.elem_type(0)
    return kind is not None and kind == (node.elem_type(1) if node.op_type == "CastLike" else _cast_type(node.proto))


def _keeps_shape(node: Task) -> bool:
    shape = node.shape()
    return type_protos.is_known(shape) and shape == node.shape(node.output(0))


def _takes_all(node: Task) -> bool:
    """Whether a Slice with a step of 1 takes all elements."""
    steps = node.constant(4) if node.has_input(4) else np.ones(1)
    return steps is not None and bool((steps == 1).all()) and _keeps_shape(node)


def _keeps_order(node: Task) -> bool:
    perm = node.attr("perm")
    return perm is not None and perm == sorted(perm)


def _is_alone(node: Task) -> bool:
    """Whether an operator with any number of operands has only one."""
    return len(node.inputs) == 1


def _adds_nothing(node: Task) -> bool:
    """Whether a Pad, whose pads are an input, neither adds nor removes anything."""
    pads = node.constant(1)
    return pads is not None and not pads.any()


def _is_combined_with(number: int, kinds: str = "iu") -> Callable[[Task], bool]:
    """A test whether all elements of the second operand are `number`, in a type of one of numpy's `kinds`.

    Floating-point weights do not count, even if all are 1: runtimes fuse a normalization only together with its scale.
    """

    def test(node: Task) -> bool:
        value = node.constant(1)
        if value is None or value.dtype.kind not in kinds or (value.dtype.kind == "f" and value.size > 1):
            return False
        if (value != number).any():
            return False
        rank = node.rank()
        return value.ndim == 0 or (value.size == 1 and rank is not None and value.ndim <= rank) or _keeps_shape(node)

    return test


_IDLE: dict[str, Callable[[Task], bool]] = {
    "always": lambda _: True,
    "alone": _is_alone,
    "and_true": _is_combined_with(1, "b"),
    "by_1": _is_combined_with(1, "iuf"),
    "no_pads": _adds_nothing,
    "or_false": _is_combined_with(0, "b"),
    "plus_0": _is_combined_with(0),  # of floating point, -0 + 0 is 0
    "same_order": _keeps_order,
    "same_shape": _keeps_shape,
    "same_type": _has_type_already,
    "whole": _takes_all,
}
"""For each condition that rows of facts name, whether a node gives its first input unchanged."""

_MERGES: dict[str, Callable[[Tidying, Task], None]] = {
    "casts": Tidying._merge_casts,
    "reshapes": Tidying._merge_reshapes,
    "transposes": Tidying._merge_transposes,
}
"""The methods that combine a node with the node before it, by the names that rows of facts give them."""


def _is_whole(type_name: str) -> bool:
    """Whether a type holds only integers or booleans."""
    return type_name == "bool" or "int" in type_name


def _cast_type(cast: NodeProto) -> int | None:
    """The TensorProto.DataType that a Cast gives; None where the caller of a function sets it, or where it
    is a name, as before opset 6.
    """
    return next((attribute.i for attribute in cast.attribute if attribute.name == "to" and attribute.i), None)


def _is_large(proto: NodeProto) -> bool:
    """Whether `proto` is a Constant whose large data should stay where it is."""
    return proto.op_type == "Constant" and any(math.prod(attribute.t.dims) > MAX_ELEMENTS for attribute in proto.attribute)
