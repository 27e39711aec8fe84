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
