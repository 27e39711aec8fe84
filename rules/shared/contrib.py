"""The decorator of rules for onnxruntime's own operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from ...rewriter.engine.registry import RuleFunction, replace
from ...rewriter.graph.node import Node

DOMAIN = "com.microsoft"


def contrib(
    op_types: str | tuple[str, ...],
    *,
    opset: int,
    exact: bool = False,
    sums: bool = False,
    steps: bool = False,
    domain: str = DOMAIN,
) -> Callable[[RuleFunction], RuleFunction]:
    """Mark a function as a rule that replaces an operator of `domain` by nodes written for `opset`.

    Before it runs, the node is refused if it has an input, an attribute or a type that the operator does not have. So the rule sees
    known forms only, and has to treat each of them or refuse it. `steps` says that the kernel rounds to steps otherwise at times.
    """

    def decorate(function: RuleFunction) -> RuleFunction:
        @wraps(function)
        def replace_known_form(node: Node) -> None:
            node.require_known_form()
            function(node)

        return replace(domain, op_types, opset=opset, exact=exact, sums=sums, steps=steps, module="microsoft")(replace_known_form)

    return decorate
