"""Finds element types that nothing states from the operators around a value: schemas require some inputs
and outputs to have one type.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from onnx import NodeProto

from ..cached import cached_property
from ..opsets import inference
from .protos import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from .scope import Scope


class TiedTypes:
    """Groups of values of one scope that have the same type, because an operator that makes or reads them requires it."""

    def __init__(self, scope: Scope, makers: dict[str, NodeProto]) -> None:
        """Group the values of `scope`. `makers` has the node that makes each value, in the form that it had before any rule."""
        self._scope = scope
        self._makers = makers
        self._found: dict[int, str | None] = {}
        """The type of each group that was asked for, by the id of its list."""

    def type_string(self, name: str) -> str | None:
        """The type of `name`, as schemas write it, if the type of any value in its group is known."""
        group = self._groups.setdefault(name, [name])
        if id(group) not in self._found:
            self._found[id(group)] = next(filter(None, map(self._stated, group)), None)
        return self._found[id(group)]

    def _stated(self, name: str) -> str | None:
        home, maker = self._scope.find(name), self._makers.get(name)
        if home is not None and home is not self._scope:
            return home.type_string(name)
        proto = None if maker is None else inference.fixed_types(maker, self._scope.opset).get(name)
        proto = proto or self._scope.types.stated(name)
        return None if proto is None else inference.type_string(proto)

    @cached_property
    def _groups(self) -> dict[str, list[str]]:
        """The group of each value. Values of one group share the same list object."""
        groups: dict[str, list[str]] = {}
        for node in _distinct(self._makers.values()):
            for values in inference.tied_values(node, self._scope.opset) if node.domain in DEFAULT_DOMAINS else ():
                _join(groups, values)
        return groups


def _distinct(nodes: Iterable[NodeProto]) -> Iterable[NodeProto]:
    return {id(node): node for node in nodes}.values()


def _join(groups: dict[str, list[str]], values: Sequence[str]) -> None:
    """Put all `values` into one group, together with the groups that they are in already."""
    joined = {id(group): group for value in values if (group := groups.get(value)) is not None}
    largest = max(joined.values(), key=len, default=[])
    joined.pop(id(largest), None)
    for value in itertools.chain(*joined.values(), (value for value in values if value not in groups)):
        groups[value] = largest
        largest.append(value)
