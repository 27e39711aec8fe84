"""Einsum with letters that a runtime does not read. https://onnx.ai/onnx/operators/onnx__Einsum.html"""

from __future__ import annotations

from string import ascii_letters, ascii_lowercase

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node


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

    It is exact for all types. The ranks have to be known, and axes that are repeated are refused.
    """
    equation = str(node.attr("equation")).replace(" ", "")
    if "..." not in equation:
        return
    terms = equation.partition("->")[0].split(",")
    free = [letter for letter in ascii_letters if letter not in equation]
    hidden = [node.need_rank(index) - len(term.replace("...", "")) if "..." in term else 0 for index, term in enumerate(terms)]
    letters = "".join(free[: max(hidden)])
    if len(letters) < max(hidden):
        raise Unconvertible(f"it has {max(hidden)} axes behind an ellipsis, and {len(free)} letters are left")
    seen: dict[str, object] = {}
    for index, (term, count) in enumerate(zip(terms, hidden, strict=True)):
        terms[index] = term.replace("...", letters[len(letters) - count :])
        for axis, letter in enumerate(terms[index]):
            length = node.dimension(axis, index)
            if letter in letters and (length is None or seen.setdefault(letter, length) != length):
                raise Unconvertible("axes behind an ellipsis may have to be repeated", "write the equation without an ellipsis")
    _, arrow, result = equation.partition("->")
    if not arrow:
        every = "".join(terms)
        result = "..." + "".join(sorted(letter for letter in set(every) - {*letters} if every.count(letter) == 1))
    node.set_attr("equation", f"{','.join(terms)}->{result.replace('...', letters)}")
