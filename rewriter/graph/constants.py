"""Which values are the same in every run, and what they are: initializers, and what can be computed from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper

from ..cached import cached_property
from ..opsets import by_reference, folding
from ..storage.payload import raw_length, tensor_of
from .protos import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from .scope import Scope

_SHAPE_READERS = frozenset({"Shape", "Size"})


def _may_fold(op_type: str) -> bool:
    """Whether the operator of the default domain can be computed where its inputs are constant and small."""
    return op_type in folding.FOLDABLE or by_reference.evaluates(op_type)


def _is_large(tensor: TensorProto | None) -> bool:
    """Whether `tensor` is one that `folding` does not look at."""
    return tensor is not None and math.prod(tensor.dims) > folding.MAX_ELEMENTS


class Constants:
    """The constants of one scope: those that it stores, those that can be computed from them, and those that rules add."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._values: dict[str, np.ndarray | None] = {}
        """What has been asked for: the value by its name, None where it is only known at run time."""
        self._added: dict[tuple[np.dtype, tuple[int, ...], bytes | tuple[str, ...]], str] = {}
        """The name of the initializer that a rule added, by the type, shape and content of the array."""

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
        """The initializers that are inputs as well, and no constants; before IR 4 all in the main graph have to be, and are."""
        if self._scope.parent is None and self._scope.model.ir_version < 4:
            return frozenset()
        return self._scope.inputs & self._scope.initializers.keys()

    def value(self, name: str) -> np.ndarray | None:
        """The value of `name` where it is the same in every run, else None. Cut and external payloads are read on demand.

        Raises InvalidModelError when the data of a tensor is missing or does not fit its shape.
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
        """What decides the value of `name`, each with the graph that defines it: the inputs of the node that makes it.

        None where the value cannot be computed, as that of an initializer, or where `folding` would not look at an operand, whose
        data need not be read then.
        """
        node = self._maker(name)
        if node is None or node.domain not in DEFAULT_DOMAINS or not _may_fold(node.op_type):
            return None
        names = [self._scope.resolve(value) for value in node.input if value]
        found = [(scope, value) for value in names if (scope := self._scope.find(value)) is not None]
        return None if any(_is_large(scope.initializers.get(value)) for scope, value in found) else found

    def decided_by(self, name: str) -> Sequence[str]:
        """What decides whether `name` has a value: as `operands`, and where it is a Shape or Size, what that reads."""
        node = self._scope.producers.get(name)
        if node is None or node.op_type not in _SHAPE_READERS or node.domain not in DEFAULT_DOMAINS:
            return [operand for _, operand in self.operands(name) or ()]
        return node.input[:1]

    def _evaluate_with_operands(self, name: str) -> None:
        """Operands come first, without recursion: what a value is computed from may be thousands of nodes long."""
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
        """Whether an operand of `name` is known to have no value, so that it has none either.

        So it is with most nodes that rules make, and takes 1 µs to see; to find all operands takes 5 µs.
        """
        node = self._maker(name)
        if node is None or node.op_type in _SHAPE_READERS:
            return False
        values, resolve = self._values, self._scope.resolve
        return any(values.get(resolve(read), self) is None for read in node.input[:] if read)

    def _maker(self, name: str) -> NodeProto | None:
        """The node of this graph that makes `name`. For initializers, nobody lists the makers: that takes 2 µs a node."""
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
        results = folding.evaluate(node, inputs) if node.op_type in folding.FOLDABLE else self._by_reference(name, node.op_type)
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
        """What `node`, a Shape or Size, gives, if the dimensions that it reads are numbers."""
        shape = self._scope.shape(node.input[0])
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
        """A value became constant: what was computed from it may be constant as well."""
        self._values = {name: value for name, value in self._values.items() if value is not None}

    # -- adding

    @property
    def takes_initializers(self) -> bool:
        """Whether constants can be initializers: not in functions, nor before IR 4, where each is an input as well."""
        return isinstance(self._scope.graph, GraphProto) and self._scope.model.constants_as_initializers

    def add(self, array: np.ndarray, name: str) -> str | NodeProto:
        """A constant that every node of this scope can use.

        The name of an initializer (an equal one made before is used again), or, where initializers are not possible
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
        """As `add`, for a tensor that has its name."""
        graph = self._scope.graph
        if isinstance(graph, GraphProto) and self.takes_initializers:
            self._scope.model.unread.add(tensor.name)
            graph.initializer.append(tensor)
            self._scope.initializers[tensor.name] = graph.initializer[-1]
            return tensor.name
        return helper.make_node("Constant", [], [tensor.name], name=tensor.name, value=tensor)

    @staticmethod
    def byte_length(tensor: TensorProto) -> int:
        """Bytes of raw data that `tensor` takes, whether its payload is in memory or on disk."""
        return raw_length(tensor)
