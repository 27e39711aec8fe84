"""What keeps the shapes of a model from being fixed."""

from __future__ import annotations

from ..errors import Blocker
from ..graph.hints import shape_hint
from ..graph.model import Model
from ..graph.scope import Scope
from ..onnx_model.protos import shown_name


def open_shapes(model: Model) -> list[Blocker]:
    """A blocker for each input of the main graph that has an open shape, or else for each node that makes one of fixed ones."""
    main, graph = model.main, model.proto.graph
    inputs = [value.name for value in graph.input if value.name not in main.initializers and _is_open(main, value.name)]
    found = [Blocker("input", name, main.where, "", _reason(main, name), shape_hint(main, name)) for name in inputs]
    for node in () if found else graph.node:
        made = next((name for name in node.output if name and _is_open(main, name)), "")
        if made and not any(_is_open(main, name) for name in node.input if name):
            found.append(Blocker(node.op_type, shown_name(node), main.where, "", _reason(main, made), shape_hint(main, made)))
    return found


def _is_open(scope: Scope, name: str) -> bool:
    """Whether a tensor, or a value of unknown type, has no fixed shape."""
    kind = scope.type(name)
    if kind is not None and kind.WhichOneof("value") not in ("tensor_type", None):
        return False
    shape = scope.shape(name)
    return shape is None or not all(isinstance(length, int) for length in shape)


def _reason(scope: Scope, name: str) -> str:
    shape = scope.shape(name)
    what = "unknown" if shape is None else f"({', '.join('?' if length is None else str(length) for length in shape)})"
    return f"--static needs fixed shapes, and that of '{name}' is {what}"
