"""Explains failures that come from names which are not valid UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnx

from ..errors import InvalidModelError, RuleError
from ..onnx_model.protos import GraphLike


def require_text(*names: str) -> None:
    """Raises InvalidModelError where one of the values is not valid UTF-8; protobuf returns such a string as bytes."""
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise InvalidModelError(f"the input is not a valid model: the name {wrong!r} is not valid UTF-8") from None


@contextmanager
def names_explained(graphs: list[GraphLike]) -> Iterator[None]:
    """Raises InvalidModelError where the code inside the `with` fails because a name is not valid UTF-8.

    Such names do no harm where nothing reads them, and looking at all names would take half as long as a whole conversion.
    """
    try:
        yield
    except (TypeError, AttributeError, UnicodeDecodeError, RuleError):
        for graph in graphs:
            if isinstance(graph, onnx.FunctionProto):
                require_text(*graph.input, *graph.output)
            for node in graph.node:
                require_text(node.op_type, node.domain, node.name, *node.input, *node.output)
        raise
