"""What a schema infers that the caller registers with onnx is known, and what fails there is said to be the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter import ArgumentError, convert_version

pytestmark = pytest.mark.skipif(
    not hasattr(onnx.defs.OpSchema, "set_type_and_shape_inference_function"),
    reason="this onnx takes no Python function for inference",
)
_TEXT = "g (float[N,5] x) => (float[A,B] y, float[C,D] z) { a = my.npu.Mystery (x) b = Relu (a) y, z = Split <axis = -1, num_outputs = 2> (b) }"


def _source(text: str = _TEXT) -> onnx.ModelProto:
    found = model(text, 18)
    found.opset_import.add(domain="my.npu", version=1)
    return found


def _keeps(context: Any) -> None:
    context.set_output_type(0, context.get_input_type(0))


def _fails(context: Any) -> None:
    raise LookupError("no such thing")


def _refuses(context: Any) -> None:
    raise onnx.shape_inference.InferenceError("nothing is known")


@pytest.fixture
def register() -> Iterator[Callable[[Callable[[Any], None]], None]]:
    """Registers Mystery of my.npu with a function that infers its types, until the test ends."""

    def register_with(function: Callable[[Any], None], version: int = 1, name: str = "Mystery") -> None:
        parameter = onnx.defs.OpSchema.FormalParameter
        types = [("T", ["tensor(float)"], "")]
        schema = onnx.defs.OpSchema(
            name, "my.npu", version, inputs=[parameter("x", "T")], outputs=[parameter("y", "T")], type_constraints=types
        )
        schema.set_type_and_shape_inference_function(function)
        onnx.defs.register_schema(schema)

    yield register_with
    for name in ("Mystery", "Other"):
        while onnx.defs.has(name, "my.npu"):
            onnx.defs.deregister_schema(name, onnx.defs.get_schema(name, domain="my.npu").since_version, "my.npu")


def test_a_function_that_fails_is_named(register) -> None:
    register(_fails)
    with pytest.raises(ArgumentError) as caught:
        convert_version(_source(), 13)
    assert str(caught.value) == "the inference that is registered for my.npu.Mystery fails: LookupError: no such thing"


def _constant_sizes(text: str = _TEXT) -> list[int] | None:
    """The sizes of the Split at opset 13, where there have to be some; None where they are computed at run time."""
    graph = convert_version(_source(text), 13).model.graph
    inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
    [split] = [node for each in (graph, *inner) for node in each.node if node.op_type == "Split"]
    stored = {tensor.name: tensor for each in (graph, *inner) for tensor in each.initializer}
    return onnx.numpy_helper.to_array(stored[split.input[1]]).tolist() if split.input[1] in stored else None


def test_nothing_is_known_without_a_schema_or_where_it_refuses(register) -> None:
    assert _constant_sizes() is None
    register(_refuses)
    assert _constant_sizes() is None


def test_what_follows_from_the_schema_is_known(register) -> None:
    register(_keeps)
    assert _constant_sizes() == [3, 2]


def test_nothing_is_known_behind_an_operator_without_a_schema(register) -> None:
    register(_fails)
    assert _constant_sizes(_TEXT.replace("a = my.npu.Mystery (x)", "w = my.npu.Other (x) a = my.npu.Mystery (w)")) is None


def test_the_schema_is_that_of_the_imported_version(register) -> None:
    register(_keeps)
    register(_fails, 2)
    assert _constant_sizes() == [3, 2]


def test_a_schema_of_a_later_version_is_none(register) -> None:
    register(_fails, 2)
    assert _constant_sizes() is None
    register(_keeps, name="Other")
    assert _constant_sizes(_TEXT.replace("a = my.npu.Mystery (x)", "w = my.npu.Other (x) a = my.npu.Mystery (w)")) is None


def test_it_is_known_in_a_branch(register) -> None:
    register(_keeps)
    body = "{ a = my.npu.Mystery (x) y, u = Split <axis = -1, num_outputs = 2> (a) }"
    branches = f"then_branch = t () => (float[A,B] y) {body}, else_branch = e () => (float[A,B] w) {{ w = Relu (x) }}"
    assert _constant_sizes(f"g (float[N,5] x, bool c) => (float[A,B] z) {{ z = If (c) <{branches}> }}") == [3, 2]
