"""Groups of values that have the same type, because schemas require it of inputs and outputs of one node."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from onnx import NodeProto

from ...opsets import schema_types

Groups = dict[str, list[str]]


def tied_groups(nodes: Iterable[NodeProto], opset: int) -> Groups:
    """The values that must have the same type as each value, because one of `nodes` makes or reads them and requires it.

    Values of one group share the same list object.
    """
    groups: Groups = {}
    for node in nodes:
        for values in schema_types.tied_values(node, opset) if schema_types.has_schemas(node.domain) else ():
            _join(groups, values)
    return groups


def _join(groups: Groups, values: Sequence[str]) -> None:
    """Put all `values` into one group, together with the groups that they are in already."""
    joined = {id(group): group for value in values if (group := groups.get(value)) is not None}
    largest = max(joined.values(), key=len, default=[])
    joined.pop(id(largest), None)
    for value in itertools.chain(*joined.values(), (value for value in values if value not in groups)):
        groups[value] = largest
        largest.append(value)
