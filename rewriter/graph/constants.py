"""Finds values that are the same in every run: initializers, and what can be computed from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper

from ..cached import cached_property
from ..opsets import by_reference, facts, folding
from ..storage.payload import raw_length, tensor_of
from .protos import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from .scope import Scope

_SHAPE_READERS = facts.of_kind(facts.Kind.SHAPE)


def _may_fold(op_type: str) -> bool:
    """Whether nodes of this operator of the default domain can be computed if their inputs are constant and small."""
    return facts.of(op_type).has("folds") or by_reference.evaluates(op_type)


def _is_large(tensor: TensorProto | None) -> bool:
    """Whether `tensor` is an initializer that is too large for `folding`."""
    return tensor is not None and math.prod(tensor.dims) > folding.MAX_ELEMENTS


class Constants:
    """The constants of one scope: the stored ones, those that can be computed, and those that rules add."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._values: dict[str, np.ndarray | None] = {}
        """The values that were asked for, by name; None for values that are only known at run time."""
        self._added: dict[tuple[np.dtype, tuple[int, ...], bytes | tuple[str, ...]], str] = {}
        """The names of initializers that rules added, by type, shape and content of the array."""

    # -- asking

    def tensor(self, name: str) -> TensorProto | None:
        """The initializer called `name`, here or in an outer graph, unless a caller of the model may override it."""
        name = self._scope.resolve(name)
        scope = self._scope.find(name)
        if scope is None:
            return None
        tensor = scope.initializers.get(name)
        return None if tensor is None or tensor.name in scope.constants.overridable else tensor

    @cached_property
    def overridable(self) -> frozenset[str]:
        """The initializers that callers may override, because they are also inputs.

        Before IR 4 there are none, since all initializers have to be inputs.
        """
        if self._scope.parent is None and self._scope.model.ir_version < 4:
            return frozenset()
        return self._scope.inputs & self._scope.initializers.keys()

    def value(self, name: str) -> np.ndarray | None:
        """The value of `name` if it is the same in every run, else None. Payloads on disk are read when needed.

        Raises InvalidModelError where the data of a tensor is missing or does not fit its shape.
        """
        name = self._scope.resolve(name)
        if name in self._values:
            return self._values[name]
        scope = self._scope.find(name)
        if scope is None:
            return None
        home = scope.constants
        if name not in home._values:
            if home._reads_what_has_none(name):
                home._values[name] = None
            else:
                home._evaluate_with_operands(name)
        return home._values[name]

    def operands(self, name: str) -> list[tuple[Scope, str]] | None:
        """The inputs of the node that makes `name`, each with the graph that defines it.

        None where the value cannot be computed from them: it is an initializer, or an input is too large for `folding`, so that its
        data need not be read.
        """
        node = self._maker(name)
        if node is None or node.domain not in DEFAULT_DOMAINS or not _may_fold(node.op_type):
            return None
        names = [self._scope.resolve(value) for value in node.input if value]
        found = [(scope, value) for value in names if (scope := self._scope.find(value)) is not None]
        return None if any(_is_large(scope.initializers.get(value)) for scope, value in found) else found

    def decided_by(self, name: str) -> Sequence[str]:
        """The values that decide whether `name` is constant: its `operands`, or the input whose shape a Shape or Size reads."""
        node = self._scope.producers.get(name)
        if node is None or node.op_type not in _SHAPE_READERS or node.domain not in DEFAULT_DOMAINS:
            return [operand for _, operand in self.operands(name) or ()]
        return node.input[:1]

    def _evaluate_with_operands(self, name: str) -> None:
        """Compute `name` after everything that it is computed from.

        There is no recursion, because a chain may be thousands of nodes long.
        """
        pending: list[tuple[Constants, str, bool]] = [(self, name, False)]
        while pending:
            home, name, is_ready = pending.pop()
            if is_ready:
                home._values[name] = home._evaluate(name)
            elif name not in home._values:
                home._values[name] = None  # a cycle has no value
                if not home._reads_what_has_none(name):
                    pending.append((home, name, True))
                    operands = home.operands(name) or ()
                    pending.extend((owner.constants, operand, False) for owner, operand in operands)

    def _reads_what_has_none(self, name: str) -> bool:
        """Whether an operand of `name` is known not to be constant, so that `name` is not constant either.

        This is true for most nodes that rules make. It takes 1 µs to find out, while finding all operands takes 5 µs.
        """
        node = self._maker(name)
        if node is None or node.op_type in _SHAPE_READERS:
            return False
        values, resolve = self._values, self._scope.resolve
        return any(values.get(resolve(read), self) is None for read in node.input[:] if read)

    def _maker(self, name: str) -> NodeProto | None:
        """The node of this graph that makes `name`.

        Initializers are found first, because listing all makers takes 2 µs for each node.
        """
        return None if name in self._scope.initializers else self._scope.producers.get(name)

    def _evaluate(self, name: str) -> np.ndarray | None:
        scope = self._scope
        if (tensor := scope.initializers.get(name)) is not None:
            return None if name in self.overridable else scope.model.skeleton.array(tensor)
        node = scope.producers.get(name)
        if node is None or node.domain not in DEFAULT_DOMAINS:
            return None
        if node.op_type == "Constant":
            return folding.constant_value(node, scope.model.skeleton.array)
        if node.op_type in _SHAPE_READERS:
            return self._shape_value(node)
        if self.operands(name) is None:
            return None
        inputs = [self.value(value) if value else None for value in node.input]
        if any(value is None and name for value, name in zip(inputs, node.input, strict=True)):
            return None
        results = folding.evaluate(node, inputs) if facts.of(node.op_type).has("folds") else self._by_reference(name, node.op_type)
        return None if results is None else results[list(node.output).index(name)]

    def _by_reference(self, name: str, op_type: str) -> list[np.ndarray] | None:
        """The outputs of the node that makes `name`, as ONNX's reference implementation computes them."""
        node, opset = self._scope.types.maker(name)
        if node is None or node.op_type != op_type:
            return None
        inputs = [self.value(value) if value else None for value in node.input]
        if any(value is not None and value.size > folding.MAX_ELEMENTS for value in inputs):
            return None
        return by_reference.evaluate(node, opset, inputs, folding.MAX_ELEMENTS)

    def _shape_value(self, node: NodeProto) -> np.ndarray | None:
        """The value of `node`, a Shape or Size, if the dimensions that it reads are known numbers."""
        shape = self._scope.types.proven_shape(node.input[0])
        if shape is None:
            return None
        if node.op_type == "Size":
            known = [dim for dim in shape if isinstance(dim, int)]
            return np.array(math.prod(known), np.int64) if len(known) == len(shape) else None
        attributes = {attribute.name: attribute for attribute in node.attribute}
        if any(attribute.ref_attr_name for attribute in attributes.values()):
            return None
        start = attributes["start"].i if "start" in attributes else 0
        end = attributes["end"].i if "end" in attributes else len(shape)
        part = shape[start:end]
        return np.array(part, np.int64) if all(isinstance(dim, int) for dim in part) else None

    def reconsider(self) -> None:
        """Forget that values are not constant: a value became constant, so others that depend on it may be constant now."""
        self._values = {name: value for name, value in self._values.items() if value is not None}

    # -- adding

    @property
    def takes_initializers(self) -> bool:
        """Whether constants can be initializers. They cannot in functions, and before IR 4, where each would be an input too."""
        return isinstance(self._scope.graph, GraphProto) and self._scope.model.constants_as_initializers

    def add(self, array: np.ndarray, name: str) -> str | NodeProto:
        """Add a constant that every node of this scope can use.

        Returns the name of an initializer, which may be an equal one that was added before; or, where initializers are not possible
        (functions, IR 3), a new Constant node whose output it is.
        """
        array = np.asarray(array, order="C")
        key = (array.dtype, array.shape, tuple(array.flat) if array.dtype == object else array.tobytes())
        if key in self._added:
            return self._added[key]
        tensor = tensor_of(array, self._scope.model.fresh_name(name))
        if self.takes_initializers:  # a Constant node may come too late for another use
            self._added[key] = tensor.name
        self._values[tensor.name] = array
        return self.add_tensor(tensor)

    def add_tensor(self, tensor: TensorProto) -> str | NodeProto:
        """Add the constant `tensor`, which has a name already. Returns the same as `add`."""
        graph = self._scope.graph
        if isinstance(graph, GraphProto) and self.takes_initializers:
            self._scope.model.unread.add(tensor.name)
            graph.initializer.append(tensor)
            self._scope.initializers[tensor.name] = graph.initializer[-1]
            return tensor.name
        return helper.make_node("Constant", [], [tensor.name], name=tensor.name, value=tensor)

    @staticmethod
    def byte_length(tensor: TensorProto) -> int:
        """The number of bytes of the raw data of `tensor`, whether it is in memory or on disk."""
        return raw_length(tensor)
