"""Attributes that are a choice between words."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_same, model, refusal

from split_rewrite.rewriter.opsets.choices import CHOICES

X = np.array([-1, 2], np.float32)
_FREE = {
    ("Cast", "to"),
    ("Constant", "value_string"),
    ("Einsum", "equation"),
    ("RegexFullMatch", "pattern"),
    ("StringNormalizer", "locale"),
    ("StringSplit", "delimiter"),
}
"""Attributes that are text of any kind, or in the oldest form a type, which Cast itself reads."""


@pytest.mark.parametrize(
    ("text", "opset", "target", "message"),
    [
        (
            'g (float[2] x) => (float[2] y) { y = Gelu<approximate = "tahn">(x) }',
            20,
            13,
            "approximate is 'tahn'; Gelu has only none, tanh … hint: correct the model",
        ),
        (
            'g (float[1,4,2,2] x) => (float[1,1,4,4] y) { y = DepthToSpace<blocksize = 2, mode = "CDR">(x) }',
            11,
            10,
            "mode is 'CDR'; DepthToSpace has only DCR, CRD … hint: correct the model",
        ),
    ],
)
def test_refuses_a_word_that_the_specification_does_not_have(text: str, opset: int, target: int, message: str) -> None:
    assert message in refusal(model(text, opset), target)


def test_takes_the_words_of_the_specification() -> None:
    assert_same(model('g (float[2] x) => (float[2] y) { y = Gelu<approximate = "tanh">(x) }', 20), 13, {"x": X}, rtol=1e-6)


def test_every_attribute_that_is_a_word_is_here() -> None:
    schemas = onnx.defs.get_all_schemas_with_history()
    words = {
        (schema.name, name)
        for schema in schemas
        for name, attribute in schema.attributes.items()
        if schema.domain == "" and attribute.type == onnx.defs.OpSchema.AttrType.STRING
    }
    assert words - _FREE <= set(CHOICES), "what newer versions of ONNX add"


def test_every_default_is_a_choice() -> None:
    for schema in onnx.defs.get_all_schemas_with_history():
        for name, attribute in schema.attributes.items():
            default, known = attribute.default_value.s.decode(), CHOICES.get((schema.name, name))
            if schema.domain == "" and known and default and default != "foward":  # a slip of GRU-1
                assert default in known, (schema.name, name)
