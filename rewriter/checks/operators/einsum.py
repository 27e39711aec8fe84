"""Finds equations with two ellipses in one term. onnx and onnxruntime take them for one that never ends.

https://onnx.ai/onnx/operators/onnx__Einsum.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnx import AttributeProto

from ...graph.node import Node
from ..registry import checks

_TWICE = re.compile(r"\.\.\.[^,>-]*\.")


@checks("Einsum")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the dots of the equation."""
    for attribute in node.proto.attribute:
        text = attribute.s.decode(errors="replace") if attribute.type == AttributeProto.STRING else ""
        if attribute.name == "equation" and _TWICE.search(text):
            yield f"a term of the equation '{text}' has more than one ellipsis"
