"""The window functions: a0 - a1 cos(t) + a2 cos(2t), with t from 0 to 2 pi in steps of 2 pi / size, or size - 1.

ONNX's own bodies count in floating point; here the positions are integers, a constant where the size is one.

https://onnx.ai/onnx/operators/onnx__HannWindow.html, onnx__HammingWindow.html, onnx__BlackmanWindow.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up, int64
from .shared.parameters import one_number
from .shared.tables import arange
from .shared.typed import FLOATING, typed

_COEFFICIENTS = {"HannWindow": (0.5, 0.5, 0.0), "HammingWindow": (25 / 46, 21 / 46, 0.0), "BlackmanWindow": (0.42, 0.5, 0.08)}
_FLOAT = TensorProto.FLOAT


@decompose(("HannWindow", "HammingWindow", "BlackmanWindow"), opset=13, exact=False)
def sum_of_cosines(node: Node) -> None:
    """Computed in float, or in double where that is what it gives."""
    kind = node.attr("output_datatype", _FLOAT)
    if kind not in (*FLOATING, TensorProto.BFLOAT16):
        name = TensorProto.DataType.Name(kind).lower()
        raise Unconvertible(
            f"a window of {name}: which number an element is cut to is up to its last bit", "use a window of floats"
        )
    known = node.constant(0)
    if known is not None and kind in FLOATING:
        table = _table(node, int(one_number(known))).astype(helper.tensor_dtype_to_np_dtype(kind))
        node.become("Constant", [], value=numpy_helper.from_array(table))
        return
    work = TensorProto.DOUBLE if kind == TensorProto.DOUBLE else _FLOAT
    a0, a1, a2 = _COEFFICIENTS[node.op_type]
    size = _size(node)
    count = count_up(node, int64(node, [0], "zero"), size, int64(node, [1], "one"))
    places = node.before("Cast", [count], what="places", to=work)
    period = node.before("Cast", [size], what="period", to=work)
    if not node.attr("periodic", 1):
        period = node.before("Sub", [period, typed(node, 1, work, "one")], what="period")
    step = node.before("Div", [typed(node, 2 * np.pi, work, "circle"), period], what="step")
    angle = node.before("Mul", [places, step], what="angle")
    first = node.before("Mul", [node.before("Cos", [angle], what="cos"), typed(node, a1, work, "coefficient")], what="first")
    window = node.before("Sub", [typed(node, a0, work, "coefficient"), first], what="window")
    if a2:
        double = node.before("Cos", [node.before("Mul", [angle, typed(node, 2, work, "two")], what="double")], what="cos")
        window = node.before(
            "Add", [window, node.before("Mul", [double, typed(node, a2, work, "coefficient")], what="second")], what="window"
        )
    node.become("Cast", [window], to=kind)


def _table(node: Node, size: int) -> np.ndarray:
    """The window of known size, in double."""
    a0, a1, a2 = _COEFFICIENTS[node.op_type]
    period = np.float64(size if node.attr("periodic", 1) else size - 1)
    angle = arange(size) * (2 * np.pi / period)
    return a0 - a1 * np.cos(angle) + a2 * np.cos(2 * angle)


def _size(node: Node) -> str:
    """The size as a vector of one int64."""
    known = node.constant(0)
    if known is not None:
        return int64(node, [int(one_number(known))], "size")
    size = node.before("Cast", [node.input(0)], what="size", to=TensorProto.INT64)
    return node.before("Reshape", [size, int64(node, [1], "vector")], what="size")
