"""The shapes of the outputs of a run beside those that the model declares."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from split_rewrite.rewriter.comparison.judging.declared_outputs import DeclaredOutputs, bound_sizes
from split_rewrite.rewriter.execution.messages import Outputs

ROWS = {
    "as declared": ("float[2,n] y", (2, 5), {"n": 5}, None),
    "a symbol that nothing determines": ("float[2,m] y", (2, 5), {"n": 4}, None),
    "no dimensions": ("float y", (2, 5), {}, None),
    "another size": ("float[3,n] y", (2, 5), {"n": 5}, "output 'y' of the original has shape [2, 5], which is declared as [3, 5]"),
    "another rank": ("float[n] y", (2, 5), {}, "output 'y' of the original has shape [2, 5], which is declared as [n]"),
    "a symbol that the inputs determine": (
        "float[2,n] y",
        (2, 5),
        {"n": 4},
        "output 'y' of the original has shape [2, 5], which is declared as [2, 4]",
    ),
}


@pytest.mark.parametrize("declared, got, sizes, expected", ROWS.values(), ids=ROWS.keys())
def test_contradictions(declared: str, got: tuple[int, ...], sizes: dict[str, int], expected: str | None) -> None:
    graph = onnx.parser.parse_graph(f"g (float x) => ({declared}) {{ y = Relu(x) }}")
    found = DeclaredOutputs(graph.output).contradictions(Outputs(("y",), (np.zeros(got),), "test 1"), sizes)
    assert list(map(str, found)) == ([expected] if expected else [])


def test_values_without_a_shape_contradict_nothing() -> None:
    graph = onnx.parser.parse_graph("g (float x) => (float[2] y) { y = Relu(x) }")
    for value in (None, [np.zeros(3)], {"a": 1}):
        assert not DeclaredOutputs(graph.output).contradictions(Outputs(("y",), (value,), "test 1"), {})


def test_sizes_that_inputs_determine() -> None:
    inputs = {"x": np.zeros((2, 3)), "y": np.zeros((2, 4)), "z": [np.zeros(1)]}
    shapes = {"x": ("b", "n"), "y": ("b", "n"), "z": ("k",), "absent": ("m",)}
    assert bound_sizes(inputs, shapes) == {"b": 2}  # n stands for two sizes
