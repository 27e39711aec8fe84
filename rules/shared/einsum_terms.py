"""The terms of an Einsum, and the diagonal that a letter twice in a term means.

https://onnx.ai/onnx/operators/onnx__Einsum.html
"""

from __future__ import annotations

import re
from string import ascii_letters

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from .indices import length
from .tables import arange

Operand = tuple[str, str]
"""The name of a value, and one letter for each of its axes."""


def terms_of(node: Node) -> tuple[list[str], str]:
    """The letters of each operand and of the output. The axes of an ellipsis get letters that the equation does not use."""
    equation = node.attr("equation").replace(" ", "")
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    _require_sense(node, equation, terms, output)
    spare = [letter for letter in ascii_letters if letter not in equation]
    counts = {node.need_rank(i) - len(term) + 3 for i, term in enumerate(terms) if "..." in term}
    if len(counts) > 1:
        raise Unconvertible(f"the ellipses of '{equation}' stand for different numbers of axes")
    ellipsis = "".join(spare[: counts.pop()]) if counts else ""
    if not arrow:
        letters = re.sub(r"[.,]", "", left)
        output = ("..." if ellipsis else "") + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    return [term.replace("...", ellipsis) for term in terms], output.replace("...", ellipsis)


def _require_sense(node: Node, equation: str, terms: list[str], output: str) -> None:
    """Raises Unconvertible where the equation has another form than the specification gives, or does not fit the operands."""
    inner = [term.replace("...", "", 1) for term in terms]
    result = output.replace("...", "", 1)
    if any(letter not in ascii_letters for letter in "".join([*inner, result])):
        raise Unconvertible(f"the equation '{equation}' is not of the form that Einsum has", "correct it")
    if len(terms) != len(node.inputs):
        raise Unconvertible(f"the equation '{equation}' has {len(terms)} terms for {len(node.inputs)} operands", "correct it")
    if len(set(result)) < len(result) or not set(result) <= set("".join(inner)):
        raise Unconvertible(f"the result of the equation '{equation}' has letters twice, or that no operand has", "correct it")
    for index, term in enumerate(terms):
        rank, letters = node.rank(index), len(inner[index])
        if rank is not None and (rank < letters or (rank > letters and "..." not in term)):
            raise Unconvertible(f"the term '{term}' does not fit '{node.input(index)}', which has rank {rank}", "correct it")


def diagonal(node: Node, operand: Operand) -> Operand:
    """Take the diagonal of two axes with the same letter: they are merged into one axis, from which a
    Gather takes the diagonal elements.
    """
    op = node.op
    name, letters = operand
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first, last = letters.index(letter), letters.rindex(letter)
            rest = [axis for axis in range(len(letters)) if axis not in (first, last)]
            shape = node.shape(name)
            size = None if shape is None else shape[first]
            if not isinstance(size, int) or shape is None or shape[last] != size:
                raise Unconvertible(f"the diagonal '{letter}' of '{name}' is of unknown length", node.shape_hint())
            moved = op.Transpose(name, perm=[*rest, first, last])
            lengths = [length(node, moved, axis) for axis in range(len(rest))]
            form = op.Concat(*lengths, op.int64([size * size]), axis=0)
            flat = op.Reshape(moved, form)
            places = op.int64((arange(size) * (size + 1)).tolist())
            name = op.Gather(flat, places, axis=len(rest))
            letters = "".join(letters[axis] for axis in rest) + letter
    return name, letters
