"""Boxes and edges of a drawing: nothing overlaps, every edge goes down."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.report.layered_layout import GAP, Size, place

LAYOUTS = {
    "one": (1, []),
    "chain": (4, [(0, 1), (1, 2), (2, 3)]),
    "skip": (4, [(0, 1), (1, 2), (2, 3), (0, 3)]),
    "fan": (7, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (2, 6)]),
    "two-parts": (6, [(0, 2), (1, 2), (3, 5), (4, 5)]),
    "late-source": (6, [(0, 1), (1, 2), (2, 3), (4, 3), (0, 5)]),
}


@pytest.mark.parametrize(("count", "edges"), LAYOUTS.values(), ids=LAYOUTS)
def test_layout(count: int, edges: list[tuple[int, int]]) -> None:
    sizes = [Size(40.0 + 25 * (index % 3), 30.0 + 10 * (index % 2)) for index in range(count)]
    layout = place(sizes, edges)
    boxes = [
        (c.x - s.width / 2, c.y - s.height / 2, c.x + s.width / 2, c.y + s.height / 2)
        for c, s in zip(layout.centers, sizes, strict=True)
    ]
    for left, top, right, bottom in boxes:
        assert left >= 0 and top >= 0 and right <= layout.size.width and bottom <= layout.size.height
    for index, one in enumerate(boxes):
        for other in boxes[:index]:
            apart = max(one[0] - other[2], other[0] - one[2], one[1] - other[3], other[1] - one[3])
            assert apart > GAP - 0.001
    for (start, end), route in zip(edges, layout.routes, strict=True):
        assert route[0].y == pytest.approx(boxes[start][3]) and route[-1].y == pytest.approx(boxes[end][1])
        assert boxes[start][0] < route[0].x < boxes[start][2] and boxes[end][0] < route[-1].x < boxes[end][2]
        assert [point.y for point in route] == sorted(point.y for point in route)
