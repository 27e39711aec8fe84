"""The pictures of rewrites: what they show, and what they show as text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import helpers
import pytest
from onnx import NodeProto

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.report.drawing import Drawing, Values, draw, visible
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytestmark = pytest.mark.quick

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = "g (float[4] x, float[4] b) => (float[4] y) { h = Relu(x) y = Add(h, b) }"


def drawn(text: str) -> tuple[Drawing, ElementTree.Element]:
    """The nodes of a model, drawn, and the elements of the picture."""
    model = Model(Skeleton.of(helpers.model(text, 13)), constants_as_initializers=True)
    nodes: list[NodeProto] = list(model.proto.graph.node)
    drawing = draw(nodes, Values(model.main, {}, {}), "Before: Relu, Add", "n")
    return drawing, ElementTree.fromstring(drawing.svg)


def elements(picture: ElementTree.Element, kind: str, name: str) -> list[ElementTree.Element]:
    """All elements `name` in the picture, with or without a namespace, that are of the class `kind`."""
    return [each for each in picture.iter() if each.tag.removeprefix(SVG) == name and each.get("class") == kind]


def test_visible() -> None:
    assert visible("a\tb\u202eé漢") == r"a\tb\u202eé漢"
    assert visible("a" * 300) == "a" * 199 + "…"


def test_each_value_is_a_line_with_a_head_in_the_group_that_the_style_sheet_draws() -> None:
    _, picture = drawn(CHAIN)
    (edges,) = elements(picture, "edge", "g")
    lines = [path for path in edges if path.get("class") is None]
    heads = [path for path in edges if path.get("class") == "head"]
    assert len(lines) == len(heads) == 4, "x to Relu, Relu to Add, b to Add, Add to y"


def test_each_node_is_a_box_with_its_operator() -> None:
    _, picture = drawn(CHAIN)
    names = [text.text for text in elements(picture, "name", "text")]
    assert {"Relu", "Add", "x", "b", "y"} <= set(names)
    boxes = [each for each in picture.iter() if each.tag.removeprefix(SVG) == "rect"]
    assert len(boxes) == len(names)


def test_boxes_are_inside_of_the_picture_and_below_what_they_read() -> None:
    drawing, picture = drawn(CHAIN)
    rects = [each for each in picture.iter() if each.tag.removeprefix(SVG) == "rect"]
    for rect in rects:
        assert float(rect.get("x", "-1")) >= 0
        assert float(rect.get("x", "-1")) + float(rect.get("width", "0")) <= drawing.width
    tops = {
        text.text: float(text.get("y", "0")) for text in elements(picture, "name", "text") if text.text in ("x", "Relu", "Add", "y")
    }
    assert tops["x"] < tops["Relu"] < tops["Add"] < tops["y"]


def test_the_picture_says_what_it_shows_to_who_does_not_see_it() -> None:
    drawing, picture = drawn(CHAIN)
    assert picture.get("aria-labelledby") == "n-t n-d"
    title, description = (next(each for each in picture.iter() if each.get("id") == name) for name in ("n-t", "n-d"))
    assert title.text == "Before: Relu, Add"
    assert re.search("Relu.*;.*Add", description.text or "")
    assert drawing.svg.count("<svg") == 1
