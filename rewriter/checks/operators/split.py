"""Finds sizes and numbers of parts that no Split can have.

One of them makes onnx abort; the others mean different things to different runtimes.

https://onnx.ai/onnx/operators/onnx__Split.html
"""

from __future__ import annotations

from collections.abc import Iterator

from onnx import TensorProto

from ...graph.node import Node, Shape
from ...opsets import type_protos
from ..registry import checks

MOST_MISSING_PARTS = 4096
"""How many more parts than outputs a Split may have: in older opsets, each of them needs a named output."""


@checks("Split")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the number of parts and with the sizes."""
    if node.opset >= 18:
        yield from _count_problems(node)
    if node.opset >= 13 and node.has_input(1):
        yield from size_type_problems(node, {TensorProto.INT64})
    stated = node.attr("split")
    value = node.constant(1)
    sizes = None if value is None else [float(size) for size in value.reshape(-1)]
    if stated is not None and sizes is not None:
        yield "it has both the attribute and the input split"
    if value is not None and node.opset >= 13 and value.ndim != 1:
        yield f"split must be 1-D and has rank {value.ndim}"
    sizes = sizes if stated is None else [float(size) for size in stated]
    if sizes is not None:
        yield from _size_problems(sizes, node)
    elif node.has_input(1) and node.graph.is_main:  # a branch may never run
        yield from _length_problems(node.shape(1) or (), node)
    if sizes is not None and (
        node.opset < 2 or not node.graph.defines(node.input(1))
    ):  # inference takes what is captured for unknown
        yield from _sum_problems(node, sizes)
    if node.opset < 2 and sizes is None and not node.has_input(1):
        yield from _uneven_problems(node)


def _count_problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with num_outputs or the number of outputs."""
    count = node.attr("num_outputs")
    if node.has_input(1) == (count is not None):
        yield "it has both split and num_outputs" if count is not None else "it has neither split nor num_outputs"
        return
    if count is None:
        return
    if count < 1:
        yield f"num_outputs is {count}"
        return
    if len(node.outputs) > count:
        yield f"it has {len(node.outputs)} outputs and num_outputs is {count}"
        return
    if count > len(node.outputs) + MOST_MISSING_PARTS:
        yield f"num_outputs is {count}, and only {len(node.outputs)} of the parts are outputs"
        return
    dimension = node.dimension(node.attr("axis", 0))
    if not isinstance(dimension, int) or not node.graph.is_main:
        return  # a branch may never run
    if dimension < -(-dimension // count) * (count - 1):
        size = -(-dimension // count)
        yield f"a dimension of {dimension} cannot make {count} parts: parts of {size} leave nothing for the last"


def _size_problems(sizes: list[float], node: Node) -> Iterator[str]:
    """Yield what is wrong with the single sizes, such as a negative one."""
    if any(size < 0 for size in sizes):
        yield f"split has negative sizes: {shown(sizes)}"
    yield from _length_problems((len(sizes),), node)


def _length_problems(shape: Shape, node: Node) -> Iterator[str]:
    """Yield what is wrong with the number of sizes, where `shape`, that of the vector of sizes, is known."""
    if len(shape) == 1 and isinstance(shape[0], int) and shape[0] != len(node.outputs):
        yield f"split has {shape[0]} sizes and the node {len(node.outputs)} outputs"


def _sum_problems(node: Node, sizes: list[float]) -> Iterator[str]:
    """Yield what is wrong with the sum of the sizes, where onnx does not check it.

    Split-1 has no shape inference, and inference does not see constants that a subgraph captures.
    """
    dimension = _split_dimension(node)
    if dimension is not None and sum(sizes) != dimension:
        yield f"the sizes {shown(sizes)} do not add up to the dimension {dimension}"


def _uneven_problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with equal parts of an axis that cannot be divided equally."""
    dimension = _split_dimension(node)
    if dimension is not None and dimension % len(node.outputs):
        yield f"a dimension of {dimension} does not divide into {len(node.outputs)} equal parts"


def _split_dimension(node: Node) -> int | None:
    """The length of the axis that is split; None where it is unknown."""
    axis = node.attr("axis", None if node.opset < 2 else 0)
    dimension = None if axis is None else node.dimension(axis)
    return dimension if isinstance(dimension, int) else None


def size_type_problems(node: Node, allowed: set[int]) -> Iterator[str]:
    """Yield what is wrong with the type and the rank of the sizes."""
    declared = node.graph.declared_type(node.input(1))
    if declared is None or declared.WhichOneof("value") != "tensor_type":
        return
    number = declared.tensor_type.elem_type
    if number and number not in allowed:
        names = " or ".join(sorted(type_protos.elem_type_name(kind) for kind in allowed))
        yield f"split must be {names} and is {type_protos.elem_type_name(number)}"
    shape = type_protos.shape_of(declared)
    if shape is not None and len(shape) != 1 and node.op_type == "Split":
        yield f"split must be 1-D and has rank {len(shape)}"


def shown(sizes: list[float]) -> str:
    """The sizes as messages show them."""
    text = ", ".join(f"{size:g}" for size in sizes[:8])
    return f"[{text}, …]" if len(sizes) > 8 else f"[{text}]"
