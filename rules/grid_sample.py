"""GridSample: opset 20 renames its modes and allows any number of dimensions. Below 16, a sample is a weighted sum of gathered
pixels.

https://onnx.ai/onnx/operators/onnx__GridSample.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import prod

from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import length
from .shared.tables import arange

_CUBIC = -0.75
"""The coefficient a of the cubic filter, as in PyTorch and onnxruntime."""
_TAPS = {"nearest": (0,), "linear": (0, 1), "bilinear": (0, 1), "cubic": (-1, 0, 1, 2), "bicubic": (-1, 0, 1, 2)}
"""The pixels that each mode combines for a sample, counted from the pixel before the sample."""
_NEW_NAMES = {"bilinear": "linear", "bicubic": "cubic"}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}


@dataclass(frozen=True)
class Tap:
    """One pixel along one axis for every sample, as names of values of shape [N, samples]."""

    index: str
    """The position of the pixel on the axis, int64, at least 0 and less than its length."""
    weight: str
    """The weight of the pixel; "" where a sample is a single pixel."""
    inside: str
    """Whether the pixel is inside the data, for padding_mode=zeros; "" for other modes."""


@upgrade("GridSample", 20)
def new_mode_names(node: Node) -> None:
    """The modes bilinear and bicubic are renamed to linear and cubic."""
    if node.has_attr("mode"):
        node.set_attr("mode", _NEW_NAMES.get(node.attr("mode"), node.attr("mode")))


@downgrade("GridSample", 20)
def old_mode_names(node: Node) -> None:
    """The modes linear and cubic are renamed to bilinear and bicubic. For data that is not an image, the node is written out."""
    if node.need_rank() != 4:
        sample_by_gather(node)
        node.approximate = True
    elif node.has_attr("mode"):
        node.set_attr("mode", _OLD_NAMES.get(node.attr("mode"), node.attr("mode")))


@decompose("GridSample", opset=15, exact=False, sums=True)
def sum_of_pixels(node: Node) -> None:
    """Each sample becomes a weighted sum of pixels that are gathered from the flattened data."""
    sample_by_gather(node)


def sample_by_gather(node: Node) -> None:
    """Write the nodes that replace `node`, for any opset from 13 to 19.

    Raises Unconvertible where the rank of the data is unknown, and for types and modes that older operators cannot express.
    """
    kind = node.need_elem_type()
    if kind == TensorProto.FLOAT16:
        _sample_in_float(node)
        return
    if kind not in (TensorProto.FLOAT, TensorProto.DOUBLE):
        raise Unconvertible("only float and double are sampled by older operators", "cast the data")
    rank = node.need_rank()
    for index in (0, 1):
        if 0 in (node.shape(index) or ()):
            raise Unconvertible(f"'{node.input(index)}' has no elements, and a Reshape cannot tell what its shape becomes")
    _Sampler(node, kind, rank - 2).run()


def _sample_in_float(node: Node) -> None:
    """Turn the node into a GridSample of float between Casts, as runtimes compute half precision."""
    op = node.op
    operands = [op.Cast(node.input(index), to=TensorProto.FLOAT) for index in (0, 1)]
    attributes = {name: node.attr(name) for name in ("align_corners", "mode", "padding_mode")}
    node.become.Cast(op.GridSample(*operands, opset=node.opset, **attributes), to=TensorProto.FLOAT16)


@dataclass(frozen=True)
class Side:
    """One axis of the data that is sampled. What is not known before run time is the name of a scalar."""

    count: str
    """Its length as int64."""
    length: float | str
    """Its length in the type of the data."""
    last: float | str
    """The length less 1."""


class _Sampler:
    """Writes the nodes that replace one GridSample, of data with `rank` axes that are sampled."""

    def __init__(self, node: Node, kind: int, rank: int) -> None:
        self.node = node
        self.op = node.op
        self.kind = kind
        self.shape = [node.dimension(axis) for axis in range(rank + 2)]
        self.sides = [self._side(axis) for axis in range(2, rank + 2)]
        self.starts = "" if self.shape[0] == 1 else self._starts()
        self.mode = node.attr("mode", "linear")
        self.padding = node.attr("padding_mode", "zeros")
        self.aligned = bool(node.attr("align_corners", 0))
        if self.padding == "reflection" and self.aligned and 1 in self.shape[2:]:
            raise Unconvertible("reflection at the corners of an axis of length 1 has no meaning")

    def run(self) -> None:
        """Write all nodes; the GridSample becomes the last of them."""
        op = self.op
        node, rank = self.node, len(self.sides)
        pixels = op.Flatten(op.Transpose(node.input(0), perm=[0, *range(2, rank + 2), 1]), axis=rank + 1)
        # The last number of a position in the grid belongs to the first axis of the data.
        taps = [self._taps(self._coordinate(rank - 1 - axis), side) for axis, side in enumerate(self.sides)]
        samples = op.Transpose(self._sum(pixels, taps, []), perm=[0, 2, 1])
        lengths = [length(node, node.input(1), axis) for axis in range(1, rank + 1)]
        kept = op.int64([size if isinstance(size, int) else 0 for size in self.shape[:2]])
        node.become.Reshape(samples, op.Concat(kept, *lengths, axis=0))

    # -- nodes

    def _side(self, axis: int) -> Side:
        count = length(self.node, self.node.input(0), axis, "scalar")
        known = self.shape[axis]
        size = known if isinstance(known, int) else self.op.Cast(count, to=self.kind)
        return Side(count, size, self._less(size, 1))

    def _less(self, value: float | str, number: float) -> float | str:
        """`value` - `number`; a number where the value is one."""
        return self._calculate(self.op.Sub, value, number) if isinstance(value, str) else value - number

    def _number(self, value: float) -> str:
        """A scalar constant in the type of the data."""
        return self.op.const(value, self.kind)

    def _calculate(self, operator: Callable[..., str], *operands: str | float) -> str:
        """An operator on values or numbers."""
        return operator(*(self._number(value) if isinstance(value, int | float) else value for value in operands))

    # -- coordinates

    def _coordinate(self, number: int) -> str:
        """The grid's positions along one axis, from -1 to 1: [N, samples]."""
        op = self.op
        node, grid = self.node, self.node.input(1)
        if node.need_elem_type(1) != self.kind:
            grid = op.Cast(grid, to=self.kind)
        part = op.Gather(grid, op.int64(number), axis=len(self.sides) + 1)
        return op.Flatten(part, axis=1)

    def _taps(self, position: str, side: Side) -> list[Tap]:
        """The pixels that contribute to each sample along one axis."""
        op = self.op
        one_up = self._calculate(op.Add, position, 1)
        if self.aligned:
            place = self._calculate(op.Mul, self._calculate(op.Div, one_up, 2), side.last)
        else:
            place = self._calculate(op.Div, self._calculate(op.Sub, self._calculate(op.Mul, one_up, side.length), 1), 2)
        if self.mode == "nearest":
            place = op.Round(place)
        if self.padding == "border" and len(_TAPS[self.mode]) < 4:
            # The cubic curve goes on outside, over pixels of the border: so do PyTorch and onnxruntime, not onnx.reference.
            place = self._where_outside(place, self._clamp(place, side), side)
        elif self.padding == "reflection":
            place = self._reflect(place, side)
        if self.padding != "zeros":  # NaN, and what comes of infinities, is not within any borders: its index would be none
            place = op.Where(op.IsNaN(place), self._number(0), place)
        if self.mode == "nearest":
            return [self._tap(place, "", side)]
        first = op.Floor(place)
        weights = self._weights(self._calculate(op.Sub, place, first))
        steps = _TAPS[self.mode]
        places = [self._calculate(op.Add, first, step) if step else first for step in steps]
        return [self._tap(place, weight, side) for place, weight in zip(places, weights, strict=True)]

    def _tap(self, place: str, weight: str, side: Side) -> Tap:
        """The pixel at `place`, moved into the axis as padding_mode says."""
        op = self.op
        if self.padding == "zeros":  # a place, which is whole, is 0 outside, also where it is NaN: its index would be none
            inside = op.And(self._calculate(op.Greater, place, -1), self._calculate(op.Less, place, side.length))
            return Tap(op.Cast(op.Where(inside, place, self._number(0)), to=TensorProto.INT64), weight, inside)
        if self.padding == "reflection":
            place = self._reflect(place, side)
        return Tap(op.Cast(self._clamp(place, side), to=TensorProto.INT64), weight, "")

    def _clamp(self, place: str, side: Side) -> str:
        """`place`, limited to the first index at least and the last one at most."""
        return self._calculate(self.op.Clip, place, 0, side.last)

    def _borders(self, side: Side) -> tuple[float, float | str]:
        """The first and the last position of an axis that count as inside."""
        return (0, side.last) if self.aligned else (-0.5, self._less(side.length, 0.5))

    def _where_outside(self, place: str, otherwise: str, side: Side) -> str:
        """`otherwise` where `place` is outside the borders, else `place`."""
        op = self.op
        low, high = self._borders(side)
        outside = op.Or(self._calculate(op.Less, place, low), self._calculate(op.Greater, place, high))
        return op.Where(outside, otherwise, place)

    def _reflect(self, place: str, side: Side) -> str:
        """`place`, reflected back and forth between the borders of the axis."""
        op = self.op
        low, high = self._borders(side)
        span = side.last if self.aligned else side.length
        if self.aligned and isinstance(span, str):  # of a single pixel, every place is that of the pixel
            span = op.Max(span, self._number(1))
        way = op.Abs(self._calculate(op.Sub, place, low))
        turns = op.Floor(self._calculate(op.Div, way, span))
        rest = self._calculate(op.Sub, way, self._calculate(op.Mul, turns, span))
        half = op.Floor(self._calculate(op.Div, turns, 2))
        is_odd = self._calculate(op.Greater, self._calculate(op.Sub, turns, self._calculate(op.Mul, half, 2)), 0.5)
        back, forth = self._calculate(op.Sub, high, rest), self._calculate(op.Add, rest, low)
        return self._where_outside(place, op.Where(is_odd, back, forth), side)

    # -- weights

    def _weights(self, part: str) -> list[str]:
        """The weight of each tap. `part` is the distance of the sample from the pixel before it, 0 to 1."""
        op = self.op
        rest = self._calculate(op.Sub, 1, part)
        if len(_TAPS[self.mode]) == 2:
            return [rest, part]
        outer = [self._outer(self._calculate(op.Add, distance, 1)) for distance in (part, rest)]
        return [outer[0], self._inner(part), self._inner(rest), outer[1]]

    def _outer(self, distance: str) -> str:
        """((a d - 5a) d + 8a) d - 4a, the cubic weight of a pixel at a distance d from 1 to 2."""
        op = self.op
        value = self._calculate(op.Sub, self._calculate(op.Mul, distance, _CUBIC), 5 * _CUBIC)
        value = self._calculate(op.Add, self._calculate(op.Mul, value, distance), 8 * _CUBIC)
        return self._calculate(op.Sub, self._calculate(op.Mul, value, distance), 4 * _CUBIC)

    def _inner(self, distance: str) -> str:
        """((a + 2) d - (a + 3)) d d + 1, the cubic weight of a pixel at a distance d below 1."""
        op = self.op
        value = self._calculate(op.Sub, self._calculate(op.Mul, distance, _CUBIC + 2), _CUBIC + 3)
        value = self._calculate(op.Mul, self._calculate(op.Mul, value, distance), distance)
        return self._calculate(op.Add, value, 1)

    # -- pixels

    def _sum(self, pixels: str, taps: list[list[Tap]], chosen: list[Tap]) -> str:
        """The sum over the taps of the remaining axes, with the taps `chosen` for the other axes: [N, samples, C]."""
        op = self.op
        if len(chosen) == len(taps):
            return self._pixel(pixels, chosen)
        parts: list[str] = []
        for tap in taps[len(chosen)]:
            part = self._sum(pixels, taps, [*chosen, tap])
            if tap.weight:
                part = op.Mul(part, op.Unsqueeze(tap.weight, op.int64([-1])))
            parts.append(part)
        return reduce(op.Add, parts)

    def _pixel(self, pixels: str, chosen: list[Tap]) -> str:
        """One pixel for each sample, [N, samples, C], with 0 outside the data if padding_mode is zeros."""
        op = self.op
        index = chosen[0].index
        for tap, side in zip(chosen[1:], self.sides[1:], strict=True):
            index = op.Add(op.Mul(index, side.count), tap.index)
        if self.starts:
            index = op.Add(index, self.starts)
        pixel = op.Gather(pixels, index, axis=0)
        if not chosen[0].inside:
            return pixel
        inside = reduce(op.And, [tap.inside for tap in chosen])
        return op.Where(op.Unsqueeze(inside, op.int64([-1])), pixel, self._number(0))

    def _starts(self) -> str:
        """The index of the first pixel of each image among those of all images, as a column: [N, 1]."""
        op = self.op
        sizes = [self.shape[0], *self.shape[2:]]
        batch, *known = [size for size in sizes if isinstance(size, int)] or [0]
        if len(known) == len(self.sides):
            return op.int64((arange(batch) * prod(known)).reshape(-1, 1))
        each = reduce(op.Mul, [side.count for side in self.sides])
        numbers = op.Range(op.int64(0), length(self.node, self.node.input(0), 0, "scalar"), op.int64(1))
        return op.Mul(op.Unsqueeze(numbers, op.int64([-1])), each)
