"""What keeps the shapes of a model from being fixed."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import TypeProto

from ..errors import Blocker, Unconvertible
from ..graph.hints import shape_hint, two_meanings_hint
from ..graph.model import Model
from ..graph.scope import Scope
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import shown_name
from ..opsets.facts import may_hold_graphs
from ..opsets.type_protos import Shape, shape_of

_BY_DATA = "its length depends on numbers: end the model before the node, or do without it"
"""The hint for a node of ONNX's own domain that gives another shape for other numbers."""


def open_shapes(model: Model) -> list[Blocker]:
    """A blocker for each input of the main graph that has an open shape, or else for each node that makes one of fixed ones."""
    main = model.main
    found: list[Blocker] = []
    for value in model.proto.graph.input:
        shape = shape_of(value.type) if value.name in main.initializers else main.shape(value.name)
        if _is_tensor(value.type) and not _is_fixed(shape):
            refusal = _refusal(value.name, shape, shape_hint(main, value.name))
            found.append(Blocker("input", value.name, main.where, "", refusal.reason, refusal.hint))
    return found or list(_causes(main))


def _causes(scope: Scope) -> Iterator[Blocker]:
    """A blocker for each node of the graph, or of the graphs in it, that makes an open shape of fixed ones."""
    for node in scope.graph.node:
        made = next((name for name in node.output if name and _is_open(scope, name)), "")
        if made and not any(_is_open(scope, name) for name in node.input if name):
            is_by_data = node.domain in DEFAULT_DOMAINS and not may_hold_graphs(node.op_type)
            hint = two_meanings_hint(node) or (_BY_DATA if is_by_data else shape_hint(scope, made))
            refusal = _refusal(made, scope.shape(made), hint)
            yield Blocker(node.op_type, shown_name(node), scope.where, "", refusal.reason, refusal.hint)
        for inner in scope.children(node, None, scope.opset) if may_hold_graphs(node.op_type) else ():
            yield from _causes(inner)


def _is_open(scope: Scope, name: str) -> bool:
    """Whether a tensor, or a value of unknown type, has no fixed shape."""
    return _is_tensor(scope.type(name)) and not _is_fixed(scope.shape(name))


def _is_tensor(kind: TypeProto | None) -> bool:
    return kind is None or kind.WhichOneof("value") in ("tensor_type", None)


def _is_fixed(shape: Shape | None) -> bool:
    return shape is not None and all(isinstance(length, int) for length in shape)


def _refusal(name: str, shape: Shape | None, hint: str) -> Unconvertible:
    what = "unknown" if shape is None else f"({', '.join('?' if length is None else str(length) for length in shape)})"
    return Unconvertible(f"--static needs fixed shapes, and that of '{name}' is {what}", hint)
