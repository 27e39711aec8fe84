"""MelWeightMatrix below opset 17, where all inputs are constants: the matrix itself.

Refused where an edge is so close to the boundary of a bin that runtimes may round it differently.
https://onnx.ai/onnx/operators/onnx__MelWeightMatrix.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.parameters import one_number
from .shared.tables import arange, require_few

_MARGIN = 1e-4
"""The distance, in bins, that an edge must have from a boundary.

The error of float32 is less than a tenth of it at usual frequencies.
"""


@decompose("MelWeightMatrix", opset=13)
def constant_triangles(node: Node) -> None:
    """The matrix becomes a constant, whose columns are triangles with edges evenly spaced on the mel scale."""
    names = ("number of mel bins", "DFT length", "sample rate", "lower edge", "upper edge")
    columns, length, rate, lower, upper = (float(one_number(node.const_input(i, f"the {name}"))) for i, name in enumerate(names))
    kind = node.attr("output_datatype", TensorProto.FLOAT)
    rows, columns = int(length) // 2 + 1, int(columns)
    require_few(rows * columns)
    edges = _edges(columns, int(length), rate, lower, upper)
    if not 0 <= edges[0] <= edges[-1] < rows:
        raise Unconvertible("the edges of MelWeightMatrix reach beyond the spectrum")
    matrix = np.stack([_triangle(rows, *edges[i : i + 3]) for i in range(columns)], axis=1) if columns else np.zeros((rows, 0))
    if kind == TensorProto.FLOAT:
        node.become.Constant(value=numpy_helper.from_array(matrix.astype(np.float32)))
    else:
        node.become.Cast(node.op.const(matrix, np.float64), to=kind)


def _edges(columns: int, length: int, rate: float, lower: float, upper: float) -> np.ndarray:
    """The number of the bin of each edge. Raises Unconvertible where it depends on rounding."""
    first, last = (2595 * np.log10(1 + hertz / 700) for hertz in (lower, upper))
    mels = first + arange(columns + 2) * (last - first) / (columns + 2)
    places = (length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate
    at_boundary = np.abs(places - np.round(places)) < _MARGIN
    if lower == 0:
        at_boundary[0] = False  # nothing rounds 0
    if not np.isfinite(places).all() or at_boundary.any():
        raise Unconvertible("an edge of MelWeightMatrix falls on the boundary of a bin, where runtimes round differently")
    return np.floor(places).astype(int)


def _triangle(rows: int, low: int, middle: int, high: int) -> np.ndarray:
    """A column of `rows` weights that rise from 0 at `low` to 1 at `middle` and fall to 0 at `high`."""
    row = arange(rows)
    rising = (row - low) / max(middle - low, 1)
    falling = (high - row) / max(high - middle, 1)
    values = np.where(row < middle, rising, falling) * ((row >= low) & (row < high))
    values[middle] = 1
    return values
