"""Finds lengths of n-grams that no TfIdfVectorizer can have.

https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.node import Node
from ..registry import checks


@checks("TfIdfVectorizer")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the lengths and the skips."""
    shortest, longest = node.attr("min_gram_length"), node.attr("max_gram_length")
    if shortest is not None and shortest < 1:
        yield f"min_gram_length is {shortest}, and has to be positive"
    elif shortest is not None and longest is not None and longest < shortest:
        yield f"max_gram_length is {longest}, below min_gram_length, which is {shortest}"
    if node.attr("max_skip_count", 0) < 0:
        yield f"max_skip_count is {node.attr('max_skip_count')}"
