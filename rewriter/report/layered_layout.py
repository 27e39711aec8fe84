"""Positions the boxes of a small graph in layers, from top to bottom. Lengths are in pixels.

The method is that of Sugiyama, Tagawa and Toda (1981). The layer of a box is its longest distance from a source. Each edge has a
virtual box in every layer that it passes. The order within a layer follows the mean positions of the neighbours, and so do the
final positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

GAP = 18.0
"""Pixels between two boxes of a layer."""
LAYER_GAP = 34.0
"""Pixels between two layers."""
MARGIN = 6.0
"""Pixels around the drawing."""
_VIRTUAL_WIDTH = 8.0
"""The pixels that an edge takes in a layer that it passes."""
_SWEEPS = 8
"""The number of times that the layers are sorted and spread, downwards and upwards."""
_PORT_GAP = 22.0
"""The pixels between two edges at the same side of a box."""


class Size(NamedTuple):
    width: float
    height: float


class Point(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True)
class Layout:
    """The `centers` of the boxes and the `routes` of the edges, in the given order.

    A route leads from a lower side to an upper side.
    """

    size: Size
    centers: list[Point]
    routes: list[list[Point]]


def place(boxes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> Layout:
    """Lay out `boxes`. Each edge is a pair of positions in the list and leads from a box to a later one."""
    grid = _Grid(boxes, edges)
    grid.sort_layers()
    grid.spread()
    return grid.layout(edges)


class _Grid:
    """Boxes and virtual boxes, in layers."""

    def __init__(self, boxes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> None:
        self._real = len(boxes)
        self._sizes = list(boxes)
        self._layer_of = _ranks(len(boxes), edges)
        self._above: list[list[int]] = [[] for _ in boxes]
        self._below: list[list[int]] = [[] for _ in boxes]
        self._chains = [self._chain(start, end) for start, end in edges]
        self._layers: list[list[int]] = [[] for _ in range(max(self._layer_of, default=-1) + 1)]
        for box, layer in enumerate(self._layer_of):
            self._layers[layer].append(box)
        self._x = [0.0] * len(self._sizes)

    def _chain(self, start: int, end: int) -> list[int]:
        """The boxes that an edge passes from `start` to `end`, with a virtual box in each layer between them."""
        chain = [start]
        for layer in range(self._layer_of[start] + 1, self._layer_of[end]):
            self._sizes.append(Size(_VIRTUAL_WIDTH, 0.0))
            self._layer_of.append(layer)
            self._above.append([])
            self._below.append([])
            chain.append(len(self._sizes) - 1)
        chain.append(end)
        for upper, lower in pairwise(chain):
            self._below[upper].append(lower)
            self._above[lower].append(upper)
        return chain

    def sort_layers(self) -> None:
        """Sort each layer by the positions of its neighbours, alternately downwards and upwards."""
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            neighbours = self._above if down else self._below
            for layer in self._layers if down else self._layers[::-1]:
                rank = {box: index for other in self._layers for index, box in enumerate(other)}
                layer.sort(key=_mean_of(neighbours, rank))

    def spread(self) -> None:
        """Move boxes towards the mean position of their neighbours, as far as the boxes beside them allow."""
        for layer in self._layers:
            self._settle(layer, [0.0] * len(layer))
        for sweep in range(2 * _SWEEPS):
            down = sweep % 2 == 0
            neighbours = self._above if down else self._below
            for layer in self._layers if down else self._layers[::-1]:
                self._settle(layer, [_mean([self._x[n] for n in neighbours[box]], self._x[box]) for box in layer])

    def _settle(self, layer: list[int], wanted: list[float]) -> None:
        """Find the positions closest to `wanted` (least squares) that keep the order and the gaps, by isotonic regression."""
        offsets = [0.0]
        for left, right in pairwise(layer):
            offsets.append(offsets[-1] + (self._sizes[left].width + self._sizes[right].width) / 2 + GAP)
        blocks: list[tuple[float, int]] = []  # mean, length
        for want, offset in zip(wanted, offsets, strict=True):
            mean, length = want - offset, 1
            while blocks and blocks[-1][0] > mean:
                other, count = blocks.pop()
                mean, length = (mean * length + other * count) / (length + count), length + count
            blocks.append((mean, length))
        means = [mean for mean, length in blocks for _ in range(length)]
        for box, mean, offset in zip(layer, means, offsets, strict=True):
            self._x[box] = mean + offset

    def layout(self, edges: Sequence[tuple[int, int]]) -> Layout:
        left = min((x - size.width / 2 for x, size in zip(self._x, self._sizes, strict=True)), default=0.0)
        right = max((x + size.width / 2 for x, size in zip(self._x, self._sizes, strict=True)), default=0.0)
        y, centers = MARGIN, [Point(0.0, 0.0)] * len(self._sizes)
        for layer in self._layers:
            height = max(self._sizes[box].height for box in layer)
            for box in layer:
                centers[box] = Point(self._x[box] - left + MARGIN, y + height / 2)
            y += height + LAYER_GAP
        size = Size(right - left + 2 * MARGIN, max(y - LAYER_GAP, 0.0) + MARGIN)
        return Layout(size, centers[: self._real], self._routes(edges, centers))

    def _routes(self, edges: Sequence[tuple[int, int]], centers: list[Point]) -> list[list[Point]]:
        starts = self._ports([start for start, _ in edges], [centers[chain[1]].x for chain in self._chains], centers)
        ends = self._ports([end for _, end in edges], [centers[chain[-2]].x for chain in self._chains], centers)
        routes: list[list[Point]] = []
        for (start, end), chain, from_x, to_x in zip(edges, self._chains, starts, ends, strict=True):
            first = Point(from_x, centers[start].y + self._sizes[start].height / 2)
            last = Point(to_x, centers[end].y - self._sizes[end].height / 2)
            routes.append([first, *(centers[box] for box in chain[1:-1]), last])
        return routes

    def _ports(self, boxes: list[int], towards: list[float], centers: list[Point]) -> list[float]:
        """Where each edge meets its box: side by side, in the order of the boxes at the other ends."""
        ports = [0.0] * len(boxes)
        for box in dict.fromkeys(boxes):
            mine = sorted((edge for edge, other in enumerate(boxes) if other == box), key=lambda edge: towards[edge])
            step = min(_PORT_GAP, self._sizes[box].width * 0.8 / len(mine))
            for index, edge in enumerate(mine):
                ports[edge] = centers[box].x + (index - (len(mine) - 1) / 2) * step
        return ports


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box: below all boxes that lead to it; for a source, just above the first box that it leads to."""
    ranks, has_source = [0] * count, [False] * count
    for start, end in sorted(edges, key=lambda edge: edge[1]):
        ranks[end] = max(ranks[end], ranks[start] + 1)
        has_source[end] = True
    for box in range(count):
        after = [ranks[end] for start, end in edges if start == box]
        if after and not has_source[box]:
            ranks[box] = min(after) - 1
    return ranks


def _mean_of(neighbours: list[list[int]], rank: dict[int, int]) -> Callable[[int], float]:
    """A function of a box that returns the mean rank of its neighbours."""
    return lambda box: _mean([rank[other] for other in neighbours[box]], rank[box])


def _mean(values: Sequence[float], default: float) -> float:
    """The mean of `values`; `default` where there are none."""
    return sum(values) / len(values) if values else default
