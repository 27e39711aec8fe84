"""Attributes that are a choice between words or numbers."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from helpers import assert_same, convert_version, model, refusal

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.opsets import facts

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
            "Gelu 'y' (main graph) is invalid: approximate is 'tahn'; Gelu has only none, tanh",
        ),
        (
            'g (float[1,4,2,2] x) => (float[1,1,4,4] y) { y = DepthToSpace<blocksize = 2, mode = "CDR">(x) }',
            11,
            10,
            "mode is 'CDR'; DepthToSpace has only DCR, CRD",
        ),
        pytest.param(
            'g (float[4] x, int64[2] i, float[2] u) => (float[4] y) { y = ScatterElements<reduction = "odd">(x, i, u) }',
            16,
            18,
            "reduction is 'odd'; ScatterElements has only none, add, mul, max, min",
            id="where-no-rule-reads-it",
        ),
        pytest.param(
            "g (float[2,3] x) => (float[2,3] y) { y = LpNormalization<p = 7>(x) }",
            1,
            9,
            "LpNormalization 'y' (main graph) is invalid: p is 7; LpNormalization has only 1, 2",
            id="number",
        ),
        pytest.param(
            "g (bool c, float[1,1,4,4] x) => (float[1,1,4,4] y) { y = If(c) <then_branch = t () => (float[1,1,4,4] a) "
            '{ a = Pad<mode = "mirror", pads = [0,0,0,0,0,0,0,0]>(x) }, else_branch = e () => (float[1,1,4,4] b) { b = Relu(x) }> }',
            7,
            9,
            "Pad 'a' (If 'y' then_branch) is invalid: mode is 'mirror'; Pad has only constant, reflect, edge, wrap",
            id="in-a-branch",
        ),
    ],
)
def test_names_a_word_that_the_specification_does_not_have_at_the_check_of_the_input(
    text: str, opset: int, target: int, message: str
) -> None:
    with pytest.raises(InvalidModelError, match=re.escape(message)):
        convert_version(model(text, opset), target)


def test_does_not_turn_a_value_away_that_onnxruntime_takes_for_the_default() -> None:
    text = "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization<stash_type = 0>(x, s) }"
    convert_version(model(text, 17), 18)
    assert_same(model(text, 17), 16, {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "s": np.ones(3, np.float32)}, rtol=1e-5)


@pytest.mark.parametrize("operator", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_an_empty_reduction_of_a_loss_is_refused_where_a_rule_reads_it(operator: str) -> None:
    """onnxruntime sums then, and the default is the mean."""
    text = f'g (float[3,5] x, int64[3] t) => (float y) {{ y = {operator}<reduction = "">(x, t) }}'
    assert "reduction is ''; " in refusal(model(text, 13), 11)


@pytest.mark.parametrize(
    ("node", "opset", "target"),
    [
        ('Conv<auto_pad = "", pads = [1, 1, 0, 1]>(x, w)', 13, 9),
        ('ConvTranspose<auto_pad = "", output_padding = [1, 0], strides = [2, 2]>(x, w)', 13, 9),
        ('MaxPool<auto_pad = "", ceil_mode = 1, kernel_shape = [2, 2], strides = [2, 2]>(x)', 13, 9),
        ('AveragePool<auto_pad = "", kernel_shape = [2, 2], pads = [1, 0, 1, 0]>(x)', 13, 9),
        ('LpPool<auto_pad = "", kernel_shape = [2, 2]>(x)', 13, 9),
        ('ScatterND<reduction = "">(x, i, u)', 18, 13),
        ('ScatterElements<reduction = "">(x, j, v)', 18, 13),
    ],
)
def test_an_empty_word_is_the_default_where_onnxruntime_takes_it_for_that(node: str, opset: int, target: int) -> None:
    inputs = "float[1,1,5,5] x, float[1,1,3,3] w, int64[1,1] i, float[1,1,5,5] u, int64[1,1,1,1] j, float[1,1,1,1] v"
    rng = np.random.default_rng(0)
    values = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in (("x", (1, 1, 5, 5)), ("w", (1, 1, 3, 3)))}
    values |= {"u": values["x"] + 1, "v": np.full((1, 1, 1, 1), 7, np.float32)}
    values |= {"i": np.zeros((1, 1), np.int64), "j": np.full((1, 1, 1, 1), 0, np.int64)}
    assert_same(model(f"g ({inputs}) => (float[a,b,c,d] y) {{ y = {node} }}", opset), target, values, rtol=1e-6)


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
    assert {(name, word) for name, word in words - _FREE if word not in facts.of(name).choices} == set(), (
        "what newer versions of ONNX add"
    )


def test_every_default_is_a_choice() -> None:
    for schema in onnx.defs.get_all_schemas_with_history():
        for name, attribute in schema.attributes.items():
            default, known = attribute.default_value.s.decode(), facts.of(schema.name).choices.get(name)
            if schema.domain == "" and known and default and default != "foward":  # a slip of GRU-1
                assert default in known, (schema.name, name)
