"""Conv and ConvTranspose: opset 11 changed the specification of automatic padding. Both directions warn where this may matter.

https://onnx.ai/onnx/operators/onnx__Conv.html (Conv-1, Conv-11), https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.graph.node import Node
from .shared.same_padding import is_same_padded, may_be_odd, warn_where_length_differs


@upgrade("Conv", 11)
@downgrade("Conv", 11)
def warn_of_same_padding(node: Node) -> None:
    """Nothing changes. Warns of automatic padding with a stride, which the specification before opset 11 leaves open."""
    warn_where_length_differs(node)


@upgrade("ConvTranspose", 11)
@downgrade("ConvTranspose", 11)
def warn_of_odd_padding(node: Node) -> None:
    """Nothing changes. Warns of odd automatic padding: before opset 11, its larger half is specified to be on the other side."""
    if is_same_padded(node) and may_be_odd(node):
        node.caution(
            f"auto_pad={node.attr('auto_pad')} with odd padding: the text before opset 11 puts the odd element on the other "
            "side; runtimes put it where the newer text says"
        )
