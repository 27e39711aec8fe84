"""Finds numbers of heads, scales, caps and pasts that no Attention can have.

https://onnx.ai/onnx/operators/onnx__Attention.html
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...graph.node import Node
from ..registry import checks

_PAST_KEY, _PAST_VALUE = 4, 5


@checks("Attention")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the heads, the scale, the cap and the past."""
    for name in ("q_num_heads", "kv_num_heads"):
        count = node.attr(name)
        if count is not None and (count < 0 or (count == 0 and node.rank(0) == 3)):
            yield f"the number of heads {name} is {count}"
    scale = node.attr("scale")
    if scale is not None and scale <= 0:
        yield f"scale is {scale:g}, and has to be positive"
    cap = node.attr("softcap", 0.0)
    if not 0 <= cap < math.inf:  # kernels cap nothing, or give NaN
        yield f"softcap is {cap:g}, and has to be 0 or positive, and finite"
    if node.has_input(_PAST_KEY) != node.has_input(_PAST_VALUE):
        yield "it has only one of past_key and past_value"
