"""The checks of single operators: modules in `operators/` register them here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..graph.node import Node

Check = Callable[[Node], Iterator[str]]
"""Yields what is wrong with a node, and what onnx.checker does not see."""
CHECKS: dict[str, Check] = {}
"""The check of each operator that has one."""


def checks(op_type: str, *, reads_attributes: bool = True) -> Callable[[Check], Check]:
    """Register the decorated function as the check of the operator `op_type` of the default domain.

    A check that reads attributes is not called for a node with an attribute that is a parameter of a function. Raises ValueError
    where the operator has a check.
    """

    def register(check: Check) -> Check:
        if op_type in CHECKS:
            raise ValueError(f"{op_type} has two checks")
        CHECKS[op_type] = _where_known(check) if reads_attributes else check
        return check

    return register


def _where_known(check: Check) -> Check:
    """`check`, except for nodes with attributes that are parameters of a function."""
    return lambda node: iter(()) if any(attribute.ref_attr_name for attribute in node.proto.attribute) else check(node)
