"""Einsum below opset 12: Transpose, ReduceSum and MatMul, for two operands at a time.

https://onnx.ai/onnx/operators/onnx__Einsum.html
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.einsum_terms import Operand, diagonal, terms_of
from .shared.indices import length
from .shared.typed import FLOATING, type_name

_WHOLE = (TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64)


@decompose("Einsum", opset=12)
def pairwise_products(node: Node) -> None:
    """Operands are multiplied two at a time by MatMul, from left to right; an axis is summed when nothing else needs it."""
    kind = node.need_elem_type()
    if kind not in (*_WHOLE, *FLOATING):
        raise Unconvertible(f"MatMul of opset 9 takes no {type_name(kind)}")
    node.approximate = kind in FLOATING
    terms, output = terms_of(node)
    operands = [diagonal(node, operand) for operand in zip(node.inputs, terms, strict=True)]
    joined = operands[0]
    for index, operand in enumerate(operands[1:], 1):
        needed = set(output).union(*(letters for _, letters in operands[index + 1 :]))
        joined = _multiply(node, joined, operand, needed)
    name, letters = _sum(node, joined, set(output))
    node.become.Transpose(name, perm=[letters.index(letter) for letter in output])


def _sum(node: Node, operand: Operand, keep: set[str]) -> Operand:
    """Sum `operand` over the axes whose letters are not in `keep`."""
    name, letters = operand
    axes = [axis for axis, letter in enumerate(letters) if letter not in keep]
    if not axes:
        return operand
    summed = node.op.ReduceSum(name, axes=axes, keepdims=0)
    return summed, "".join(letter for letter in letters if letter in keep)


def _multiply(node: Node, left: Operand, right: Operand, needed: set[str]) -> Operand:
    """Multiply two operands by MatMul. Shared axes that are `needed` are its batch; other shared axes are summed."""
    left, right = _sum(node, left, needed | set(right[1])), _sum(node, right, needed | set(left[1]))
    left, right = _without_broadcast(node, left, right, needed), _without_broadcast(node, right, left, needed)
    left, right = _sum(node, left, needed | set(right[1])), _sum(node, right, needed | set(left[1]))
    batch = [letter for letter in left[1] if letter in right[1] and letter in needed]
    inner = [letter for letter in left[1] if letter in right[1] and letter not in needed]
    rows = [letter for letter in left[1] if letter not in right[1]]
    columns = [letter for letter in right[1] if letter not in left[1]]
    for letter in inner:
        left, right = _repeated(node, letter, left, right), _repeated(node, letter, right, left)
        _warn_of_broadcast(node, letter, left, right)
    sizes = {letter: length(node, name, axis) for name, letters in (right, left) for axis, letter in enumerate(letters)}
    a = _as_matrices(node, left, batch, rows, inner, sizes)
    b = _as_matrices(node, right, batch, inner, columns, sizes)
    product, letters = node.op.MatMul(a, b), [*batch, *rows, *columns]
    if len(rows) <= 1 and len(columns) <= 1:
        gone = _places_of_none(len(batch), rows, columns)
        return (node.op.Squeeze(product, axes=gone) if gone else product), "".join(letters)
    # the lengths of a batch are those of the product: one of its operands may have broadcast
    lengths = [*(length(node, product, axis) for axis in range(len(batch))), *(sizes[letter] for letter in rows + columns)]
    return _reshape(node, product, lengths), "".join(letters)


def _places_of_none(batch: int, rows: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Which axes of a stack of matrices have the length 1 because they stand for no letter; `batch` axes are before them."""
    return [batch + place for place, letters in enumerate((rows, columns)) if not letters]


def _without_broadcast(node: Node, operand: Operand, other: Operand, needed: set[str]) -> Operand:
    """`operand` without the axes of length 1 that are longer in `other`, and that MatMul does not broadcast as it does a batch."""
    name, letters = operand
    shape, other_shape = node.shape(name), node.shape(other[0])
    if shape is None or other_shape is None:
        return operand
    own, others = dict(zip(letters, shape, strict=True)), dict(zip(other[1], other_shape, strict=True))
    is_batched = len(own.keys() - others) == len(others.keys() - own) == 1  # MatMul itself broadcasts the batch
    gone = [x for x in letters if own[x] == 1 and others.get(x, 1) != 1 and not (x in needed and is_batched)]
    if not gone:
        return operand
    squeezed = node.op.Squeeze(name, axes=[letters.index(letter) for letter in gone])
    return squeezed, "".join(letter for letter in letters if letter not in gone)


def _repeated(node: Node, letter: str, operand: Operand, other: Operand) -> Operand:
    """`operand` with the length that `other` has along a summed axis, where only that one is known: its own may be 1."""
    name, letters = operand
    shape, other_shape = node.proven_shape(name), node.proven_shape(other[0])
    known = None if other_shape is None else other_shape[other[1].index(letter)]
    axis = letters.index(letter)
    if not isinstance(known, int) or known == 1 or (shape is not None and isinstance(shape[axis], int)):
        return operand
    return node.op.Expand(name, node.op.int64([known if place == axis else 1 for place in range(len(letters))])), letters


def _warn_of_broadcast(node: Node, letter: str, left: Operand, right: Operand) -> None:
    """Warn where the lengths of a summed axis that both operands have are not known to be equal: MatMul does not broadcast it.

    A symbol that is declared for several inputs of the model promises that their lengths are equal.
    """
    places = [(name, letters.index(letter)) for name, letters in (left, right)]
    shapes = [node.proven_shape(name) for name, _ in places]
    one, other = (None if shape is None else shape[axis] for shape, (_, axis) in zip(shapes, places, strict=True))
    is_promised = isinstance(one, int) or one in node.graph.input_symbols
    if places[0] != places[1] and not (is_promised and one == other):
        axes = " and ".join(f"dimension {axis} of '{name}'" for name, axis in places)
        node.caution(
            f"fails if {axes} differ: opset 12 broadcasts one that is 1, MatMul does not; --overwrite-input-shape avoids it"
        )


def _as_matrices(
    node: Node, operand: Operand, batch: Sequence[str], rows: Sequence[str], columns: Sequence[str], sizes: dict[str, str]
) -> str:
    """The operand with its axes in the order batch, rows, columns, with all rows merged into one axis and all columns into one."""
    name, letters = operand
    order = [letters.index(letter) for letter in (*batch, *rows, *columns)]
    if order != list(range(len(order))):
        name = node.op.Transpose(name, perm=order)
    gone = _places_of_none(len(batch), rows, columns)
    if len(rows) > 1 or len(columns) > 1:
        if not batch:
            return node.op.Flatten(name, axis=len(rows))
        if len(batch) == 1 and gone:
            return node.op.Unsqueeze(node.op.Flatten(name, axis=1), axes=gone)
        lengths = [length(node, operand[0], letters.index(letter)) for letter in batch]
        return _reshape(node, name, [*lengths, _product(node, rows, sizes), _product(node, columns, sizes)])
    return node.op.Unsqueeze(name, axes=gone) if gone else name


def _product(node: Node, letters: Sequence[str], sizes: dict[str, str]) -> str:
    """The product of the lengths of the axes `letters`, as a vector of one int64."""
    if not letters:
        return node.op.int64([1])
    total = sizes[letters[0]]
    for letter in letters[1:]:
        total = node.op.Mul(total, sizes[letter])
    return total


def _reshape(node: Node, name: str, lengths: list[str]) -> str:
    """Reshape `name` to the shape that `lengths`, vectors of one int64, make together; a length may be 0."""
    return node.op.Reshape(name, node.op.Concat(*lengths, axis=0), opset=14, allowzero=1)
