"""StringNormalizer below opset 10, by onnxruntime's own; constant StringConcat below 20."""

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run


def normalizer(attributes: str, shape: str = "N") -> str:
    return f"g (string[{shape}] x) => (string[{shape.replace('N', 'M')}] y) {{ y = StringNormalizer <{attributes}> (x) }}"


@pytest.mark.parametrize(
    "attributes, target, reason",
    [
        pytest.param('case_change_action="LOWER"', 9, "older operators cannot change or ignore the case", id="lower"),
        pytest.param('stopwords=["a"]', 9, "older operators cannot change or ignore the case", id="A is a"),
        pytest.param('stopwords=["a"], is_case_sensitive=1', 8, "older operators cannot compare strings", id="words below 9"),
    ],
)
def test_refused(attributes, target, reason):
    assert reason in refusal(model(normalizer(attributes), 10), target)


def same(text: str, target: int, x: np.ndarray) -> onnx.ModelProto:
    """The converted model, whose output is as before."""
    proto = model(text, 10)
    result = convert_version(proto, target).model
    np.testing.assert_array_equal(run(result, {"x": x})[0], run(proto, {"x": x})[0], strict=True)
    return result


WORDS = [["Monday", "a", "ä", "a", ""], ["a"], ["b"], ["ä", "a"], ["", "a"], ["A", "a "]]


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("shape", ["N", "1,N"])
def test_stopwords(words, shape):
    x = np.array(words if shape == "N" else [words], object)
    result = same(normalizer('stopwords=["a", "ä", "a"], is_case_sensitive=1', shape), 9, x)
    assert "TfIdfVectorizer" in {node.op_type for node in result.graph.node}


@pytest.mark.parametrize("attributes", ["is_case_sensitive=1", 'case_change_action="NONE"'])
def test_nothing_to_do(attributes):
    result = same(normalizer(attributes), 7, np.array(["a", "B"], object))
    assert [node.op_type for node in result.graph.node] == ["Identity"]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param('string a = {"x"}', 'string b = {"y"}', np.array("xy", object), id="scalars"),
        pytest.param('string[1] a = {"x"}', 'string b = {"y"}', np.array(["xy"], object), id="scalar-on-the-right"),
        pytest.param("string[0] a = {}", 'string b = {"y"}', np.array([], object), id="empty"),
    ],
)
def test_constants_are_joined(left, right, expected):
    shape = "" if expected.ndim == 0 else list(expected.shape)
    proto = model(f"g () => (string{shape} y) <{left}, {right}> {{y = StringConcat(a, b)}}", 20)
    result = convert_version(proto, 13).model
    assert [node.op_type for node in result.graph.node] == ["Constant"]
    np.testing.assert_array_equal(run(result, {})[0], expected, strict=True)


REWRITES = [
    (
        "string_normalizer.drop_stopwords",
        10,
        9,
        'g (string[3] x) => (string[N] y) { y = StringNormalizer <is_case_sensitive = 1, stopwords = ["the"]> (x) }',
        """
            <int64[2] column = {-1, 1}, float zero = {0}, float[1] one = {1}, int64[1] flat = {-1}, string[1] empty = {""}>
            {
              texts = Reshape (x, column)
              counts = TfIdfVectorizer <max_gram_length = 1, max_skip_count = 0, min_gram_length = 1, mode = "TF", ngram_counts = [0], ngram_indexes = [0], pool_strings = ["the"]> (texts)
              total = ReduceSum <axes = [1], keepdims = 0> (counts)
              is_stopword = Greater (total, zero)
              kept = Not (is_stopword)
              kept_2 = Cast <to = 1> (kept)
              some = ReduceMax <axes = [0], keepdims = 1> (kept_2)
              none = Sub (one, some)
              chosen = Concat <axis = 0> (kept_2, none)
              places = NonZero (chosen)
              places_2 = Reshape (places, flat)
              words = Concat <axis = 0> (x, empty)
              y = Gather <axis = 0> (words, places_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
