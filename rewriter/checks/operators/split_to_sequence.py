"""Finds sizes that no SplitToSequence can have.

Inference misses some of them for symbolic dimensions, and one crashes onnxruntime.

https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
"""

from __future__ import annotations

from collections.abc import Iterator

from onnx import TensorProto

from ...graph.node import Node
from ..registry import checks
from .split import shown, size_type_problems


@checks("SplitToSequence", reads_attributes=False)
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the sizes."""
    yield from size_type_problems(node, {TensorProto.INT64, TensorProto.INT32})
    sizes = node.constant(1)
    if sizes is None:
        return
    if sizes.ndim == 0 and sizes <= 0:
        yield f"a scalar split must be positive and is {sizes}"
    if sizes.ndim > 1:
        yield f"split must be a scalar or 1-D and has rank {sizes.ndim}"
    if sizes.ndim == 1 and not sizes.size:
        yield "split is empty"
    if sizes.ndim == 1 and (sizes < 0).any():
        yield f"split has negative sizes: {shown(sizes.tolist())}"
