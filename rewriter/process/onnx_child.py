"""onnx's checker and shape inference in a child process, because they can abort, overflow the stack or loop on unusual models.

Only the C++ part of onnx is imported, which takes 5 ms; all of onnx, with numpy and protobuf, takes 200 ms. So models, nodes and
types travel as serialized protobuf messages, in tuples and dicts that `marshal` writes. `child_call` starts this module, and
provides an empty package `onnx` for it.
"""

from __future__ import annotations

import marshal

from onnx import onnx_cpp2py_export

from .serving import serve as serve_requests

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` takes a tenth of the start
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_onnx: Any = onnx_cpp2py_export  # it has no complete type stubs


def check_model(model: bytes, full: bool) -> None:
    """Run onnx.checker on a serialized model; with `full`, shape inference too."""
    _onnx.checker.check_model(model, full, False, False)


def check_nodes(nodes: Sequence[bytes], opset: int, ir_version: int) -> None:
    """Run onnx.checker on serialized nodes of the default domain."""
    context = _onnx.checker.CheckerContext()
    context.ir_version, context.opset_imports = ir_version, {"": opset}
    for node in nodes:
        _onnx.checker.check_node(node, context, _onnx.checker.LexicalScopeContext())


def infer_model(model: bytes) -> bytes:
    """The serialized `model` with the value_info of all its graphs filled in."""
    return _onnx.shape_inference.infer_shapes(model, False, False, True)


def infer_without_entries(model: bytes) -> bytes:
    """As `infer_model`, but no entries of shapes are followed through what computes with them."""
    return _onnx.shape_inference.infer_shapes(model, False, False, False)


def inline_functions(model: bytes) -> bytes:
    """The serialized `model` with the nodes of its functions in place of their calls, where the opsets are the same."""
    return _onnx.inliner.inline_local_functions(model, False)


def infer_strictly(model: bytes) -> None:
    """Run shape inference on the serialized `model` as the full check does: it refuses what contradicts what it finds."""
    _onnx.shape_inference.infer_shapes(model, True, True, False)


def infer_node(
    op_type: str, opset: int, node: bytes, types: Mapping[str, bytes], data: Mapping[str, bytes], ir_version: int
) -> dict[str, bytes]:
    """The serialized types of the outputs of `node`, by name."""
    schema = _onnx.defs.get_schema(op_type, opset, "")
    return schema._infer_node_outputs(node, types, data, {}, {"": opset}, ir_version)


OPERATIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (check_model, check_nodes, infer_model, infer_without_entries, inline_functions, infer_strictly, infer_node)
}


def serve() -> None:
    """Answer requests until the parent is gone, each with (True, the result) or (False, onnx's complaint)."""
    _onnx.defs.get_schema("Split", 13, "")  # onnx builds all schemas now, while the parent does something else
    serve_requests(_answer, by_processor_time=True, watches_parent=False)


def _answer(request: memoryview) -> bytes:
    return marshal.dumps(answer(*marshal.loads(request)))


def answer(operation: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """(True, the result) of an operation, or (False, onnx's complaint). Raises MemoryError."""
    try:
        return True, OPERATIONS[operation](*arguments)
    except MemoryError:
        raise
    except Exception as error:
        return False, " ".join(str(error).split()) or type(error).__name__
