"""Col2Im, and AffineGrid where the sizes are known.

https://onnx.ai/onnx/operators/onnx__Col2Im.html, onnx__AffineGrid.html
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose
from .col2im_places import places_at_run_time
from .indices import int64
from .tables import arange, index_grid, require_few


@decompose("Col2Im", opset=13, exact=False)
def sum_of_blocks(node: Node) -> None:
    """Each pixel gathers its element of each place in a block, or a zero behind the columns, and sums them."""
    kind = node.need_elem_type()
    if kind not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64):
        raise Unconvertible(f"older operators cannot add {TensorProto.DataType.Name(kind).lower()}")
    image, block = node.constant(1), node.constant(2)
    if image is not None and block is not None:
        places, form = _known_places(node, image.tolist(), block.tolist())
    else:
        places, beyond = places_at_run_time(node)
        form = node.before("Concat", [int64(node, [0, -1], "images"), beyond], what="form", axis=0)
    flat = node.before("Reshape", [node.input(0), form], what="flat")
    zero = node.add_constant(0, helper.tensor_dtype_to_np_dtype(kind), "zero")
    padded = node.before("Pad", [flat, int64(node, [0, 0, 0, 0, 0, 1], "pads"), zero], what="padded")
    parts = node.before("Gather", [padded, places], what="parts", axis=2)
    total = node.before("ReduceSum", [parts, int64(node, [2], "axis")], what="sum", keepdims=0)
    if image is not None:
        shape = int64(node, [0, 0, *image.tolist()], "image")
    else:
        shape = node.before("Concat", [int64(node, [0, 0], "images"), node.input(1)], what="image", axis=0)
    node.become("Reshape", [total, shape])


def _known_places(node: Node, image: list[int], block: list[int]) -> tuple[str, str]:
    """(places in a block, pixels): where in the flattened columns the element is, a constant; and the shape to flatten to."""
    rank = len(image)
    strides, dilations = node.attr("strides", [1] * rank), node.attr("dilations", [1] * rank)
    pads = node.attr("pads", [0] * 2 * rank)
    steps = [(image[d] + pads[d] + pads[rank + d] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in range(rank)]
    require_few(prod(block) * prod(image))
    places = _places(image, block, steps, strides, dilations, pads)
    return node.add_constant(places, np.int64, "places"), int64(node, [0, -1, prod(block) * prod(steps)], "form")


def _places(
    image: list[int], block: list[int], steps: list[int], strides: list[int], dilations: list[int], pads: list[int]
) -> np.ndarray:
    """(places in a block, pixels): where in the flattened columns the element is; behind the last one where there is none."""
    pixels = index_grid(image).reshape(len(image), -1)
    columns = prod(steps)
    rows = []
    for number, offset in enumerate(np.ndindex(*block)):
        place, valid = np.zeros(pixels.shape[1], np.int64), np.ones(pixels.shape[1], bool)
        for d in range(len(image)):
            distance = pixels[d] + pads[d] - offset[d] * dilations[d]
            step = distance // strides[d]
            valid &= (distance >= 0) & (distance % strides[d] == 0) & (step < steps[d])
            place = place * steps[d] + step
        rows.append(np.where(valid, number * columns + place, prod(block) * columns))
    return np.stack(rows)


@decompose("AffineGrid", opset=13, exact=False)
def transform_a_constant_grid(node: Node) -> None:
    """theta times the homogeneous positions of the grid. ONNX's own body drops the batch axis where it is 1."""
    sizes = _sizes(node)
    if node.attr("align_corners", 0) and 1 in sizes:
        raise Unconvertible("the position of a single pixel is not defined for align_corners=1")
    require_few(prod(sizes))
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    grid = np.stack(np.meshgrid(*(_positions(size, bool(node.attr("align_corners", 0))) for size in sizes), indexing="ij"))
    homogeneous = np.concatenate([grid[::-1].reshape(len(sizes), -1), np.ones((1, prod(sizes)))])
    moved = node.before("MatMul", [node.input(0), node.add_constant(homogeneous, dtype, "grid")], what="moved")
    positions = node.before("Transpose", [moved], what="positions", perm=[0, 2, 1])
    node.become("Reshape", [positions, int64(node, [0, *sizes, len(sizes)], "form")])


def _sizes(node: Node) -> list[int]:
    """The spatial sizes: of a constant, or of the output as the model declares it."""
    value = node.constant(1)
    if value is not None:
        return [int(size) for size in value[2:]]
    shape = node.output_shape()
    known = [] if shape is None else [dim for dim in shape[1:-1] if isinstance(dim, int)]
    if shape is None or len(known) != len(shape) - 2:
        node.const_input(1, "the size")
    return known


def _positions(size: int, align_corners: bool) -> np.ndarray:
    return np.linspace(-1, 1, size) if align_corners else (2 * arange(size) + 1) / size - 1
