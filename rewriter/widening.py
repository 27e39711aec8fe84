"""An operator that did not yet take a type: do the work in a wider type that it did take, where that is exact."""

from __future__ import annotations

from .graph import Node
from .rule import Unconvertible
from .transitions import Delta


def widen(node: Node, wrong: list[str], delta: Delta) -> None:
    """Wrap `node` in Casts so that `wrong`, the values whose types the target does not take, have types that it does.

    Raises Unconvertible where no exact way is known.
    """
    kinds = ", ".join(sorted({node.scope.type_string(name) or "?" for name in wrong}))
    raise Unconvertible(
        f"{node.op_type} of opset {delta.target.since_version} does not take {kinds} ('{wrong[0]}')",
        "cast the model to another type, or choose a newer target",
    )
