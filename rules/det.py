"""Det below opset 11, for small matrices: expansion by minors along the rows, with each minor computed once.

onnxruntime uses elimination with pivots. Both are off by a few units in the last place of the product of the largest elements.
https://onnx.ai/onnx/operators/onnx__Det.html
"""

from __future__ import annotations

from itertools import combinations

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node

MAX_SIZE = 4
"""The number of rows of the largest matrix. For larger ones, the expansion has more and more terms, which cancel badly."""


@decompose("Det", opset=10, exact=False)
def expand_along_the_rows(node: Node) -> None:
    """The determinant of a matrix with up to 4 rows is expanded by minors, from the last row upwards."""
    rank, size = node.need_rank(), node.need_dimension(-1)
    if not 0 < size <= MAX_SIZE:
        raise Unconvertible(f"older operators cannot express the determinant of {size} rows without pivots")
    rows = [node.op.Gather(node.input(0), node.op.int64(i), axis=rank - 2) for i in range(size)]
    cells = [[_cell(node, row, column, rank) for column in range(size)] for row in rows]
    minors: dict[tuple[int, ...], str] = {(column,): cell for column, cell in enumerate(cells[-1])}
    for height in range(2, size + 1):
        row = cells[size - height]
        minors = {columns: _minor(node, row, columns, minors) for columns in combinations(range(size), height)}
    node.become.Identity(minors[tuple(range(size))])


def _cell(node: Node, row: str, column: int, rank: int) -> str:
    """The element in `column` of a row of matrices that had `rank` axes."""
    return node.op.Gather(row, node.op.int64(column), axis=rank - 2)


def _minor(node: Node, row: list[str], columns: tuple[int, ...], below: dict[tuple[int, ...], str]) -> str:
    """The determinant of `row` and the rows below it, restricted to these columns."""
    total = ""
    for number, column in enumerate(columns):
        others = tuple(other for other in columns if other != column)
        term = node.op.Mul(row[column], below[others])
        total = (node.op.Sub if number % 2 else node.op.Add)(total, term) if total else term
    return total
