"""One node of an operator of another domain, as the functions in `shapes/` see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto, helper, numpy_helper

from ..type_protos import Dimension, Shape, shape_of


class Call(NamedTuple):
    """A node, and what is known about its inputs: the `types`, and the `constants` among them that may say a shape, by name.

    An input is given by its number.
    """

    node: NodeProto
    types: Mapping[str, TypeProto]
    constants: Mapping[str, TensorProto]

    def has(self, index: int) -> bool:
        """Whether the input is there."""
        return self._name(index) != ""

    def shape(self, index: int) -> Shape | None:
        """The shape of the input; None where its rank is unknown."""
        kind = self.types.get(self._name(index))
        return None if kind is None else shape_of(kind)

    def dimension(self, index: int, axis: int) -> Dimension:
        """One dimension of the input; None where it is unknown. Raises IndexError where the input has no such axis."""
        shape = self.shape(index)
        return None if shape is None else shape[axis]

    def constant(self, index: int) -> np.ndarray | None:
        """The value of the input if it is a small constant."""
        tensor = self.constants.get(self._name(index))
        return None if tensor is None else numpy_helper.to_array(tensor)

    def attr(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or `default` where the node does not have it."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                value = helper.get_attribute_value(attribute)
                return value.decode() if isinstance(value, bytes) else value
        return default

    @property
    def depends_on_caller(self) -> bool:
        """Whether the caller of a function sets one of the attributes."""
        return any(attribute.ref_attr_name for attribute in self.node.attribute)

    def _name(self, index: int) -> str:
        return self.node.input[index] if index < len(self.node.input) else ""
