"""Checks how local functions call each other: not in a circle, not too deep, and not so often that inlining would never end.

onnx's checker and shape inference follow every call. In a circle or a deep chain they may overflow the stack, and sixty functions
that each call the next one twice keep them busy forever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import onnx

from ..errors import InvalidModelError
from ..graph.protos import subgraphs

MOST_CALLS = 1_000_000
"""The largest number of calls in a model, counting each call as often as it would run: calls inside
functions count for every call.
"""
DEEPEST_CALL = 200
"""The deepest nesting of function calls that is accepted."""

Name = tuple[str, str]
"""Domain and operator type of a local function."""


class _Extent(NamedTuple):
    """How many calls one call of a function causes, itself included, and how deep they are nested."""

    calls: int
    depth: int


def check_calls(model: onnx.ModelProto) -> None:
    """Raises InvalidModelError where two local functions have the same name, or functions call each other
    in a circle, too deep or too often.
    """
    names = {(function.domain, function.name) for function in model.functions}
    if not names:
        return
    signatures = Counter((f.domain, f.name, getattr(f, "overload", "")) for f in model.functions)
    (_, name, _), count = signatures.most_common(1)[0]
    if count > 1:
        raise InvalidModelError(f"there are {count} functions '{name}'")
    calls = {(function.domain, function.name): _calls(function.node, names) for function in model.functions}
    extents: dict[Name, _Extent] = {}
    for name in calls:
        _measure(name, calls, extents)
    total = _sum_up(_calls(model.graph.node, names), extents)
    if total.depth > DEEPEST_CALL:
        raise InvalidModelError(f"its functions call each other more than {DEEPEST_CALL} deep")
    if total.calls > MOST_CALLS:
        raise InvalidModelError(f"its functions call each other more than {MOST_CALLS:,} times in all")


def _calls(nodes: Iterable[onnx.NodeProto], names: set[Name]) -> Counter[Name]:
    """How often `nodes`, and the nodes in their subgraphs, call each of the functions `names`."""
    found: Counter[Name] = Counter()
    pending = [nodes]
    while pending:
        for node in pending.pop():
            if (name := (node.domain, node.op_type)) in names:
                found[name] += 1
            pending.extend(graph.node for _, graph in subgraphs(node))
    return found


def _measure(start: Name, calls: dict[Name, Counter[Name]], extents: dict[Name, _Extent]) -> None:
    """Add to `extents` the extent of `start` and of each function that it calls, directly or through others."""
    path = {start: None}  # in order, and quick to ask
    while path:
        name = next(reversed(path))
        unknown = next((callee for callee in calls[name] if callee not in extents), None)
        if unknown is None:
            extents[name] = _sum_up(calls[name], extents)
            del path[name]
        elif unknown in path:
            raise InvalidModelError(f"function '{unknown[1]}' calls itself, at once or through others")
        else:
            path[unknown] = None


def _sum_up(calls: Counter[Name], extents: dict[Name, _Extent]) -> _Extent:
    """The extent of a function whose body has these calls."""
    inner = sum(extents[callee].calls * count for callee, count in calls.items())
    return _Extent(1 + inner, 1 + max((extents[callee].depth for callee in calls), default=0))
