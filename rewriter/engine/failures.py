"""Reports an exception that leaves a rule and is no refusal: it is a bug in the rule, and not a mistake in the model."""

from __future__ import annotations

from typing import NoReturn

from ..errors import ArgumentError, OutOfTimeError, RuleError, SplitRewriteError, SystemLimitError, in_one_line
from ..graph.node import Node

NOT_OF_THE_RULE = (SplitRewriteError, MemoryError, RecursionError, OSError)
"""The exceptions that may pass through a rule without its being wrong: errors with a message of their own, and limits of the
system.
"""

OF_THE_CALL = (ArgumentError, OutOfTimeError, SystemLimitError, MemoryError)
"""What may pass through a function of the caller without its being wrong, beside the refusals of a rule."""

WHATEVER_A_CALLER_RAISES = (Exception, SystemExit, GeneratorExit)
"""The exceptions that are mistakes of a caller's function: all but KeyboardInterrupt, by which a user ends the program."""


def raise_rule_error(rule: str, node: Node, transition: str, error: Exception) -> NoReturn:
    """Raises RuleError: `rule` failed on `node` with `error`. `transition` is "17→18", or "" outside of a version step."""
    step = transition and f" {transition}"
    what = f"{node.op_type} '{node.name}' ({node.where}){step}: {type(error).__name__}: {error}"
    raise RuleError(f"rule {rule} failed on {what}; please report this") from error


def raise_mistake_of_caller(rule: str, node: Node, error: BaseException) -> NoReturn:
    """Raises ArgumentError: `rule`, which is the caller's, failed on `node` with `error`."""
    try:
        text = in_one_line(str(error))
    except Exception:  # of the caller's class
        text = "it has no text"
    what = f"{node.op_type} '{node.name}' ({node.where}): {type(error).__name__}: {text}"
    raise ArgumentError(f"rules: {rule} failed on {what}") from error
