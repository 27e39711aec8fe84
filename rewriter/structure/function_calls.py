"""Checks how local functions call each other: not in a circle, not too deep, and not so often that inlining would never end.

onnx's checker, shape inference and runtimes follow every call. In a circle or a deep chain they may overflow the stack, and sixty
functions that each call the next one twice keep them busy forever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import onnx

from ..errors import InvalidModelError
from ..onnx_model.protos import GraphLike, subgraphs

MOST_REPEATED = 100_000
"""The number of nodes that calls may add to those of the file, counting those of functions for every call."""
MOST_REPEATED_BYTES = 64 << 20
"""The number of bytes that calls may add, counted like nodes; payloads that stay on disk do not count."""
DEEPEST_CALL = 200
"""The deepest nesting of function calls that is accepted."""

Name = tuple[str, str]
"""Domain and operator type of a local function."""


class _Body(NamedTuple):
    """The number of nodes of a graph or function, those in its subgraphs included, its size in bytes, and how often it calls
    each function.
    """

    nodes: int
    bytes: int
    calls: Counter[Name]


class _Extent(NamedTuple):
    """The number of nodes that a call of a function stands for, the calls among them included, their bytes, and how deep calls are
    nested.
    """

    nodes: int
    bytes: int
    depth: int


def check_calls(model: onnx.ModelProto) -> None:
    """Raises InvalidModelError where two local functions have the same name, or functions call each other
    in a circle, too deep or too often. This takes as long as reading the functions, however often they are called.
    """
    if not model.functions:
        return
    signatures = Counter((f.domain, f.name, getattr(f, "overload", "")) for f in model.functions)
    (_, name, _), count = signatures.most_common(1)[0]
    if count > 1:
        raise InvalidModelError(f"there are {count} functions '{name}'")
    bodies, total = _measured(model)
    if total.depth > DEEPEST_CALL:
        raise InvalidModelError(f"its functions call each other more than {DEEPEST_CALL} deep")
    advice = "more than in the file are accepted: call the inner ones less often, or inline those with few nodes"
    if total.nodes - sum(body.nodes for body in bodies) > MOST_REPEATED:
        what = f"stand for {_shown(total.nodes)} nodes, and up to {MOST_REPEATED:,}"
        raise InvalidModelError(f"its functions call each other so often that they {what} {advice}")
    if total.bytes - sum(body.bytes for body in bodies) > MOST_REPEATED_BYTES:
        what = f"stand for {_shown(total.bytes >> 20)} MiB, and up to {MOST_REPEATED_BYTES >> 20}"
        advice = "more than in the file are accepted: let them have their constants as inputs"
        raise InvalidModelError(f"its functions call each other so often that they {what} {advice}")


def nodes_run(model: onnx.ModelProto) -> int:
    """The number of nodes in the graph and its subgraphs, and in the functions that they call, counted for every call.

    Raises InvalidModelError where functions call each other in a circle.
    """
    return _measured(model)[1].nodes


def _measured(model: onnx.ModelProto) -> tuple[list[_Body], _Extent]:
    """The main graph and all functions, and the extent of the main graph. Raises as `nodes_run`."""
    names = {(function.domain, function.name) for function in model.functions}
    main = _body(model.graph, names)
    bodies = {(function.domain, function.name): _body(function, names) for function in model.functions}
    extents: dict[Name, _Extent] = {}
    for name in bodies:
        _measure(name, bodies, extents)
    return [main, *bodies.values()], _sum_up(main, extents)


def _body(graph: GraphLike, names: set[Name]) -> _Body:
    """The nodes of `graph` and its subgraphs, and their calls of the functions `names`."""
    count, calls = 0, Counter[Name]()
    pending: list[Iterable[onnx.NodeProto]] = [graph.node]
    while pending:
        for node in pending.pop():
            count += 1
            if (name := (node.domain, node.op_type)) in names:
                calls[name] += 1
            pending.extend(graph.node for _, graph in subgraphs(node))
    return _Body(count, graph.ByteSize(), calls)


def _measure(start: Name, bodies: dict[Name, _Body], extents: dict[Name, _Extent]) -> None:
    """Add to `extents` the extent of `start` and of each function that it calls, directly or through others."""
    path = {start: None}  # in order, and quick to ask
    while path:
        name = next(reversed(path))
        unknown = next((callee for callee in bodies[name].calls if callee not in extents), None)
        if unknown is None:
            extents[name] = _sum_up(bodies[name], extents)
            del path[name]
        elif unknown in path:
            raise InvalidModelError(f"function '{unknown[1]}' calls itself, at once or through others")
        else:
            path[unknown] = None


def _sum_up(body: _Body, extents: dict[Name, _Extent]) -> _Extent:
    """The extent of a function with this body."""
    nodes = body.nodes + sum(extents[callee].nodes * count for callee, count in body.calls.items())
    size = body.bytes + sum(extents[callee].bytes * count for callee, count in body.calls.items())
    return _Extent(nodes, size, 1 + max((extents[callee].depth for callee in body.calls), default=0))


def _shown(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"over 2^{count.bit_length() - 1}"
