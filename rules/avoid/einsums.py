"""Einsum with letters that a runtime does not read, or twice in a term. https://onnx.ai/onnx/operators/onnx__Einsum.html"""

from __future__ import annotations

import re
from string import ascii_letters, ascii_lowercase

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.einsum_terms import diagonal, terms_of

_WITHOUT = "write the equation without an ellipsis"


@avoid("Einsum with capital letters", "Einsum", opset=12)
def use_small_letters(node: Node) -> None:
    """All letters become small ones in the same order, which is also that of an output that the equation does not state.

    It is exact for all types.
    """
    equation = str(node.attr("equation"))
    letters = sorted(set(equation) & set(ascii_letters))
    if equation.lower() == equation:
        return
    if len(letters) > len(ascii_lowercase):
        raise Unconvertible(f"it has {len(letters)} letters, and there are {len(ascii_lowercase)} small ones")
    node.set_attr("equation", equation.translate({ord(old): new for old, new in zip(letters, ascii_lowercase, strict=False)}))


@avoid("Einsum with an ellipsis", "Einsum", opset=12)
def name_all_axes(node: Node) -> None:
    """The axes behind an ellipsis get letters, and an output that the equation does not state is stated.

    It is exact for all types. The ranks have to be known, and axes that may have to be repeated are refused.
    """
    equation = str(node.attr("equation")).replace(" ", "")
    if "..." not in equation:
        return
    given, arrow, result = equation.partition("->")
    terms = given.split(",")
    hidden = [node.need_rank(index) - len(term.replace("...", "")) if "..." in term else 0 for index, term in enumerate(terms)]
    free = [letter for letter in ascii_letters if letter not in equation]
    letters = "".join(free[: max(hidden)])
    if len(letters) < max(hidden) or (arrow and "..." not in result):
        raise Unconvertible("it has more axes behind an ellipsis than letters are left, or leaves them out", _WITHOUT)
    named = [term.replace("...", letters[len(letters) - count :]) for term, count in zip(terms, hidden, strict=True)]
    _require_same_lengths(node, named, letters)
    if not arrow:
        every = "".join(terms)
        result = "..." + "".join(sorted(letter for letter in set(every) - {"."} if every.count(letter) == 1))
    node.set_attr("equation", f"{','.join(named)}->{result.replace('...', letters)}")


@avoid("Einsum of a diagonal", "Einsum", opset=12)
def take_diagonals(node: Node) -> None:
    """An operand with a letter twice in its term becomes its diagonal, by a Gather from both axes as one.

    It is exact for all types. The length of the diagonal has to be known.
    """
    equation = str(node.attr("equation"))
    if all(term.count(letter) == 1 for term in re.split("->|,", equation) for letter in term if letter.isalpha()):
        return
    terms, output = terms_of(node)
    behind = "".join(dict.fromkeys(letter for term in terms for letter in term if letter not in equation))
    operands = [diagonal(node, operand) for operand in zip(node.inputs, terms, strict=True)]
    for index, (name, _) in enumerate(operands):
        node.set_input(index, name)
    named = f"{','.join(letters for _, letters in operands)}->{output}"
    node.set_attr("equation", named.replace(behind, "...") if behind else named)


def _require_same_lengths(node: Node, terms: list[str], letters: str) -> None:
    """Raises Unconvertible where one of the letters may stand for axes of several lengths."""
    for letter in letters:
        lengths = [node.dimension(term.index(letter), index) for index, term in enumerate(terms) if letter in term]
        if len(lengths) > 1 and (None in lengths or len({*lengths}) > 1):
            raise Unconvertible("axes behind an ellipsis may have to be repeated", _WITHOUT)
