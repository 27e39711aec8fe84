"""Cast: the name and the number of a type; saturate and round_mode."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import model, refusal, run
from split_rewrite.rewriter import convert_version


@pytest.mark.parametrize(
    ("text", "opset", "target", "message"),
    [
        pytest.param(
            'g (float[2] x) => (int64[2] y) { y = Cast <to = "integer"> (x) }',
            *(5, 6, "'integer' is no type"),
            id="no_type_of_that_name",
        ),
        pytest.param(
            "g (float[2] x) => (float[2] y) { t = Cast <to = 17, saturate = 0> (x) y = Cast <to = 1> (t) }",
            *(19, 18, "saturate=0 does not exist"),
            id="float8_without_saturation",
        ),
    ],
)
def test_refused(text: str, opset: int, target: int, message: str) -> None:
    assert message in refusal(model(text, opset), target)


@pytest.mark.parametrize(("name", "number"), [("INT64", 7), ("float", 1), ("BOOL", 9), ("DOUBLE", 11)])
def test_name_to_number_and_back(name: str, number: int) -> None:
    text = f'g (float[2] x) => ({name.lower()}[2] y) {{ y = Cast <to = "{name}"> (x) }}'
    new = convert_version(model(text, opset=5), 13).model
    assert new.graph.node[0].attribute[0].i == number
    assert convert_version(new, 5).model.graph.node[0].attribute[0].s == name.upper().encode()


@pytest.mark.parametrize("saturate", [0, 1])
def test_saturate_says_nothing_of_other_types(saturate: int) -> None:
    text = f"g (float[2] x) => (int32[2] y) {{ y = Cast <to = 6, saturate = {saturate}> (x) }}"
    (node,) = convert_version(model(text, opset=19), 13).model.graph.node
    assert [attribute.name for attribute in node.attribute] == ["to"]


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 24, reason="the installed onnx has no opset 24")
def test_round_mode_says_nothing_of_other_types() -> None:
    text = 'g (float[2] x) => (double[2] y) { y = Cast <to = 11, round_mode = "down"> (x) }'
    result = convert_version(model(text, opset=24), 13).model
    assert [attribute.name for attribute in result.graph.node[0].attribute] == ["to"]
    np.testing.assert_array_equal(
        run(result, {"x": np.array([0.1, 2], np.float32)})[0], np.array([0.1, 2], np.float32).astype(np.float64)
    )
