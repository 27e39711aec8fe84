"""Finds scales, zero points and blocks that do not fit, for the checks of QuantizeLinear and DequantizeLinear.

https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html, https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from onnx import TensorProto

from ..graph.node import Node
from ..opsets.type_protos import Shape, elem_type_name
from ..storage.payload import element_bits

_SCALE, ZERO_POINT = 1, 2
_STORED_AS_INT32: dict[int, tuple[int, int]] = {
    TensorProto.INT8: (-128, 127),
    TensorProto.UINT8: (0, 255),
    TensorProto.INT16: (-32768, 32767),
    TensorProto.UINT16: (0, 65535),
}
"""The smallest and largest value of each integer type whose elements a TensorProto may store in int32_data."""
_SIGNED_AND_PACKED = (22, 26)
"""The numbers of INT4 and INT2 in TensorProto.DataType: the oldest supported onnx has no name for INT2."""
BLOCKS_FROM, _AXES_FROM = 21, 13
"""The first opsets with a scale for each block (21) and with a scale for each index of an axis (13)."""


def scale_problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the scale, the zero point and the blocks, as far as their shapes and values are known."""
    block = node.attr("block_size", 0) if node.opset >= BLOCKS_FROM else 0
    if block < 0:
        yield f"block_size is {block}"
    elif block:
        yield from _block_problems(node, block)
    else:
        yield from _axis_problems(node)
    yield from _zero_point_problems(node)
    stated = node.attr("output_dtype", 0)
    if stated not in TensorProto.DataType.values():
        yield f"output_dtype is {stated}, which is not a type"


def _block_problems(node: Node, block: int) -> Iterator[str]:
    """Yield what is wrong with blocked scales, which have the shape of x, but along one axis the number of blocks."""
    shape, scale = node.shape(), node.shape(_SCALE)
    if shape is None or scale is None:
        return
    if len(shape) != len(scale):
        yield f"with block_size the scale has the rank of x, which is {len(shape)}, and not {len(scale)}"
        return
    axis = node.attr("axis", 1)
    if not -len(shape) <= axis < len(shape):
        yield f"axis={axis} is out of range for rank {len(shape)}"
        return
    axis %= len(shape)
    for index, (size, scales) in enumerate(zip(shape, scale, strict=True)):
        blocks = -(-size // block) if index == axis and isinstance(size, int) else size
        if isinstance(blocks, int) and isinstance(scales, int) and blocks != scales:
            what = f"a dimension of {size} has {blocks} blocks of {block}" if index == axis else f"dimension {index} of x is {size}"
            yield f"{what}, and the scale has {scales}"


def _axis_problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with a single scale for all of x, or with a scale for each index of an axis."""
    shape, scale = node.shape(), node.shape(_SCALE)
    if scale is None or scale in ((), (1,)):
        return
    axis = node.attr("axis", 1)
    if len(scale) != 1:
        if any(size != 1 for size in scale):
            yield f"the scale has rank {len(scale)}" + (" and there is no block_size" if node.opset >= BLOCKS_FROM else "")
    elif node.opset < _AXES_FROM:
        if isinstance(scale[0], int):
            yield f"the scale has {scale[0]} elements, and before opset {_AXES_FROM} it is a scalar"
    elif shape is not None and -len(shape) <= axis < len(shape):
        if isinstance(scale[0], int) and isinstance(shape[axis], int) and scale[0] != shape[axis]:
            yield f"axis {axis} of x has a length of {shape[axis]}, and the scale {scale[0]} elements"
    elif shape is not None and len(shape) > 1:
        yield f"axis={axis} is out of range for rank {len(shape)}"


def _zero_point_problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the shape or the values of the zero point."""
    scale, zero = node.shape(_SCALE), node.shape(ZERO_POINT)
    if scale is not None and zero is not None and _differ(scale, zero):
        yield f"the shape of the zero point is {_shown(zero)}, and that of the scale {_shown(scale)}"
    tensor = node.graph.tensor(node.input(ZERO_POINT)) if node.has_input(ZERO_POINT) else None
    wrong = None if tensor is None else _number_beyond(tensor)
    if tensor is not None and wrong is not None:
        yield f"the zero point is {wrong}, beyond {elem_type_name(tensor.data_type)}"


def _number_beyond(tensor: TensorProto) -> int | None:
    """A number in int32_data that the type of `tensor` cannot hold, or None. Types of less than 8 bits are checked only for a
    single element.

    The unused bits of that element's byte are 0, or in a negative number may repeat the sign.
    """
    if tensor.data_type in _STORED_AS_INT32:
        low, high = _STORED_AS_INT32[tensor.data_type]
        return next((number for number in tensor.int32_data if not low <= number <= high), None)
    bits = element_bits(tensor)
    if bits not in (2, 4) or not tensor.int32_data or prod(tensor.dims) % (8 // bits) != 1:
        return None
    last = tensor.int32_data[-1]
    lowest_negative = -(1 << (bits - 1)) if tensor.data_type in _SIGNED_AND_PACKED else 0
    is_held = lowest_negative <= last < 1 << bits or lowest_negative <= last - 256 < 0
    return None if is_held else last


def _differ(scale: Shape, zero: Shape) -> bool:
    """Whether two shapes certainly differ. A scalar and a vector of one element count as equal, as they do in runtimes."""
    if {scale, zero} <= {(), (1,)}:
        return False
    pairs = zip(scale, zero, strict=False)
    return len(scale) != len(zero) or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def _shown(shape: Shape) -> str:
    """A shape as messages show it."""
    return "(" + ", ".join("?" if dim is None else str(dim) for dim in shape) + ")"
