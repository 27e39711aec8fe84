"""Draws a few nodes as SVG: boxes for nodes, and pills (rounded boxes) for the values that enter and leave.

The page defines colours and fonts, for the classes `graph`, `op`, `value`, `constant`, `edge`, `head` and `small`. Text is measured
as a fixed-width font of the sizes below, so the page has to use one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from onnx import AttributeProto, NodeProto, TensorProto, TypeProto

from ..errors import InvalidModelError
from ..graph.scope import Scope
from ..opsets.type_protos import elem_type_name, shape_of
from ..storage.payload import array_of, is_external
from .layered_layout import Point, Size, place

MAX_NODES = 300
"""The number of nodes up to which a drawing is made; a larger one would be a tangle."""
HEAD_SIZE, SMALL_SIZE = 13, 11
"""Font sizes in pixels."""
_ADVANCE = 0.61
"""The width of a character of a fixed-width font, relative to its size: Consolas has 0.55, others up to 0.62."""
_LONGEST = 30
"""The number of characters of the longest line in a box."""
_LINES = 4
"""The number of lines in a box below its head; the last one tells how many more there are."""
LARGE = 20
"""The number of nodes above which constants are written into the boxes that read them: pills would need
edges across the whole drawing.
"""
_PILLS = 5
"""The number of values of one node that get a pill each; if there are more, they share one."""
_FEW = 8
"""The number of elements up to which an attribute or constant is shown."""


def visible(text: str, longest: int = 200) -> str:
    """`text`, with escapes for characters that cannot be printed, cut at `longest` characters.

    Names in a model may contain anything.
    """
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)


class Drawing(NamedTuple):
    """An SVG element and its width."""

    svg: str
    width: float
    """The width in pixels."""


def draw(nodes: Sequence[NodeProto], values: Values, title: str, name: str) -> Drawing:
    """Draw `nodes`, in topological order, as an SVG element.

    `name` is the prefix of its ids, which have to be unique on the page.
    """
    boxes, edges = _boxes(nodes, values)
    layout = place([box.size for box in boxes], edges)
    routes = "".join(map(_route, layout.routes))
    shapes = "".join(map(_shape, boxes, layout.centers))
    width, height = layout.size
    description = "; ".join(_sentence(node) for node in nodes) or "no node"
    svg = (
        f'<svg class="graph" role="img" aria-labelledby="{name}-t {name}-d" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><title id="{name}-t">{escape(title)}</title>'
        f'<desc id="{name}-d">{escape(visible(description, 600))}</desc><g class="edge">{routes}</g>{shapes}</svg>'
    )
    return Drawing(svg, width)


@dataclass(frozen=True)
class Values:
    """The values that the drawn nodes read and make: their `scope`, `constants` by
    name, and their old names.
    """

    scope: Scope
    constants: Mapping[str, NodeProto]
    renamed: Mapping[str, str]


@dataclass(frozen=True)
class _Box:
    """A box or pill: its text and how it is drawn."""

    kind: str
    head: str
    lines: tuple[str, ...] = ()
    full: str = ""
    """The full text, which is shown while the pointer is over the box."""

    @property
    def size(self) -> Size:
        """Width and height in pixels."""
        widths = [_columns(self.head) * HEAD_SIZE, *(_columns(line) * SMALL_SIZE for line in self.lines)]
        padding = 24 if self.kind == "op" else 28
        return Size(max(widths) * _ADVANCE + padding, 18.0 + HEAD_SIZE + len(self.lines) * (SMALL_SIZE + 4))


def _boxes(nodes: Sequence[NodeProto], values: Values) -> tuple[list[_Box], list[tuple[int, int]]]:
    """The boxes, with those of sources first, and the edges as pairs of positions in the list of boxes."""
    made_here = {node.output[0]: node for node in nodes if node.op_type == "Constant" and len(nodes) > 1 and node.output}
    constants = {**values.constants, **made_here}
    drawn = [node for node in nodes if not (node.output and node.output[0] in made_here)]
    made = {name for node in drawn for name in node.output if name}
    sources: dict[object, _Box] = {}
    reads: list[list[object]] = []
    inside: list[list[str]] = []
    for number, node in enumerate(drawn):
        stored = _stored_inputs(node, made, constants, values.scope) if len(drawn) > LARGE else {}
        inside.append(list(stored.values()))
        keys: list[object] = [name for name in dict.fromkeys(node.input) if name and name not in stored]
        outer = [name for name in keys if name not in made]
        for name in outer[_PILLS:] if len(outer) > _PILLS + 1 else []:
            if name not in sources:
                keys[keys.index(name)] = ("more", number)
        for key in keys:
            if key not in made and isinstance(key, str):
                sources.setdefault(key, _outer(key, constants, values.scope))
        hidden = sum(isinstance(key, tuple) for key in keys)
        if hidden:
            sources["more", number] = _Box("value", f"{hidden:,} more")
        reads.append(list(dict.fromkeys(keys)))
    index: dict[object, int] = {key: place for place, key in enumerate(sources)}
    boxes, edges = list(sources.values()), []
    for number, node in enumerate(drawn):
        edges += [(index[key], len(boxes)) for key in reads[number] if key in index]
        index.update((name, len(boxes)) for name in node.output if name)
        boxes.append(_operator(node, inside[number]))
    read = {key for keys in reads for key in keys}
    for number, node in enumerate(drawn):
        outputs = [name for name in node.output if name and (name not in read or name in values.scope.outputs)]
        hidden = len(outputs) - _PILLS if len(outputs) > _PILLS + 1 else 0
        pills = [_value(name, values.scope, values.renamed.get(name, "")) for name in outputs[: len(outputs) - hidden]]
        for pill in [*pills, *([_Box("value", f"{hidden:,} more")] if hidden else [])]:
            edges.append((len(sources) + number, len(boxes)))
            boxes.append(pill)
    return boxes, edges


def _outer(name: str, constants: Mapping[str, NodeProto], scope: Scope) -> _Box:
    """The box of a value that none of the drawn nodes makes."""
    return _constant(constants[name]) if name in constants else _source(name, scope)


def _stored_inputs(node: NodeProto, made: set[str], constants: Mapping[str, NodeProto], scope: Scope) -> dict[str, str]:
    """The inputs of a node that are constants: name → a line of text with the value."""
    outer = {name: _outer(name, constants, scope) for name in node.input if name and name not in made}
    places = list(node.input)
    return {name: f"input {places.index(name) + 1} = {box.head}" for name, box in outer.items() if box.kind == "constant"}


def _operator(node: NodeProto, inputs: Sequence[str]) -> _Box:
    """The box of a node. `inputs` are lines of text for inputs that have no box of their own."""
    attributes = [f"{visible(attribute.name, _LONGEST)} = {attribute_text(attribute)}" for attribute in node.attribute]
    lines = [*inputs, *attributes]
    shown = lines if len(lines) <= _LINES else [*lines[: _LINES - 1], f"and {len(lines) - _LINES + 1} more"]
    head = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    full = "\n".join([f"{node.op_type} {node.name}".rstrip(), *lines])
    return _Box("op", _short(head), tuple(map(_short, shown)), full)


def _source(name: str, scope: Scope) -> _Box:
    """The box of an initializer, of an input of the graph, or of a value that a node outside the drawing makes."""
    tensor = scope.constants.tensor(name)
    return _value(name, scope) if tensor is None else _stored(name, tensor)


def _stored(name: str, tensor: TensorProto) -> _Box:
    """The box of an initializer."""
    text = tensor_text(tensor)
    return _Box("constant", _short(text), (_short(_tail(name)),), f"{name} = {text}")


def _constant(node: NodeProto) -> _Box:
    """The box of a Constant node."""
    value = next((attribute for attribute in node.attribute if attribute.name.startswith(("value", "sparse_value"))), None)
    return _Box("constant", _short("Constant" if value is None else attribute_text(value)), (_short(_tail(node.output[0])),))


def _value(name: str, scope: Scope, was: str = "") -> _Box:
    """The box of a value; `was` is its name in the original if that is another one."""
    kind = scope.types.declared(name)
    lines = [*([f"was {_tail(was)}"] if was else []), *([type_text(kind)] if kind and type_text(kind) else [])]
    return _Box("value", _short(_tail(name)), tuple(map(_short, lines)), "\n".join([name, *lines]))


def type_text(kind: TypeProto) -> str:
    """A tensor type as "float[batch,3]"; "" for other types."""
    if kind.WhichOneof("value") != "tensor_type" or not kind.tensor_type.elem_type:
        return ""
    shape = shape_of(kind)
    dims = "" if shape is None else f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"
    return elem_type_name(kind.tensor_type.elem_type) + dims


def tensor_text(tensor: TensorProto) -> str:
    """The elements of a tensor if they are few, otherwise its type and shape."""
    dims = ",".join(map(str, tensor.dims))
    whole = f"{elem_type_name(tensor.data_type)}[{dims}]"
    count = 1
    for dim in tensor.dims:
        count *= dim
    if not 0 <= count <= _FEW or is_external(tensor):
        return whole
    if tensor.data_type == TensorProto.STRING:
        return _list([value.decode("utf-8", "backslashreplace") for value in tensor.string_data])
    try:
        values = array_of(tensor).tolist()
    except InvalidModelError:
        return whole
    return _list(values) if isinstance(values, list) else _number(values)


def attribute_text(attribute: AttributeProto) -> str:
    """The value of an attribute in short form."""
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    if attribute.type == AttributeProto.TENSOR:
        return tensor_text(attribute.t)
    if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
        count = sum(len(graph.node) for graph in (attribute.g, *attribute.graphs))
        return "graph of 1 node" if count == 1 else f"graph of {count:,} nodes"
    if attribute.type == AttributeProto.STRING:
        return f'"{attribute.s.decode("utf-8", "backslashreplace")}"'
    if attribute.type == AttributeProto.STRINGS:
        return _list([value.decode("utf-8", "backslashreplace") for value in attribute.strings])
    if attribute.type in (AttributeProto.INT, AttributeProto.FLOAT):
        return _number(attribute.i if attribute.type == AttributeProto.INT else attribute.f)
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return _list(attribute.ints if attribute.type == AttributeProto.INTS else attribute.floats)
    return "…"


def node_line(node: NodeProto) -> str:
    """`node` on one line, with its attributes in short form."""
    attributes = ", ".join(f"{attribute.name} = {attribute_text(attribute)}" for attribute in node.attribute)
    return f"{', '.join(node.output)} = {node.op_type} <{attributes}> ({', '.join(node.input)})"


def _list(values: Iterable[object]) -> str:
    items = [value if isinstance(value, str) else _number(value) for value in values]
    return f"[{', '.join(items[:_FEW])}{', …' if len(items) > _FEW else ''}]"


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sentence(node: NodeProto) -> str:
    """A sentence about `node`, for readers who do not see the drawing."""
    reads, makes = (", ".join(name or "nothing" for name in names[:6]) for names in (node.input, node.output))
    return f"{node.op_type} of {reads or 'nothing'} makes {makes}"


def _tail(name: str) -> str:
    """The last part of a name, which tells most, because exporters write paths."""
    return name if len(name) <= _LONGEST else "…" + name[1 - _LONGEST :]


def _short(text: str) -> str:
    """`text`, cut to the length of a line in a box."""
    shown = visible(text, _LONGEST)
    return shown if _columns(shown) <= _LONGEST + 4 else shown[: (_LONGEST + 4) // 2] + "…"


def _columns(text: str) -> int:
    """The width of `text` in characters of a fixed-width font; ideographs count twice."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _shape(box: _Box, center: Point) -> str:
    """The SVG of a box around `center`."""
    width, height = box.size
    left, top = center.x - width / 2, center.y - height / 2
    radius = 6.0 if box.kind == "op" else min(height, 36.0) / 2
    baseline = top + 8 + HEAD_SIZE
    texts = [f'<text class="name" x="{center.x:.1f}" y="{baseline:.1f}">{escape(box.head)}</text>']
    for number, line in enumerate(box.lines, 1):
        y = baseline + number * (SMALL_SIZE + 4)
        texts.append(f'<text class="small" x="{center.x:.1f}" y="{y:.1f}">{escape(line)}</text>')
    hover = f"<title>{escape(_lines(box.full))}</title>" if box.full else ""
    return (
        f'<g class="{box.kind}">{hover}<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{radius:g}"/>{"".join(texts)}</g>'
    )


def _lines(text: str) -> str:
    """The SVG of the lines of text."""
    return "\n".join(visible(line) for line in text.split("\n")[:20])


def _route(points: list[Point]) -> str:
    """The SVG of a curve that leaves and enters every point vertically, with an arrow head at its end."""
    start, end = points[0], points[-1]
    path = [f"M{start.x:.1f} {start.y:.1f}"]
    for one, other in zip(points, [*points[1:-1], Point(end.x, end.y - 6)], strict=False):
        middle = (one.y + other.y) / 2
        path.append(f"C{one.x:.1f} {middle:.1f} {other.x:.1f} {middle:.1f} {other.x:.1f} {other.y:.1f}")
    head = f"M{end.x - 4:.1f} {end.y - 7:.1f}L{end.x:.1f} {end.y:.1f}L{end.x + 4:.1f} {end.y - 7:.1f}z"
    return f'<path d="{"".join(path)}"/><path class="head" d="{head}"/>'
