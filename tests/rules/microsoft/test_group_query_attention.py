"""GroupQueryAttention of onnxruntime as ONNX's own operators, beside onnxruntime's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, refused
from drawing import normal
from helpers import convert_version, known, run

from split_rewrite.rewriter import UnconvertibleError

NAMES = ("q", "k", "v", "pk", "pv", "e", "t", "c", "s", "i", "a", "h", "ks", "vs", "qw", "kw", "l")
Arrays = dict[str, np.ndarray]


def node_of(given: Arrays, attributes: str = "", outputs: str = "y, w, z") -> str:
    names = [name if name in given else "ABSENT" for name in NAMES]
    while names[-1] == "ABSENT":
        names.pop()
    listed = ", ".join(filter(None, ["num_heads = 4, kv_num_heads = 2", attributes]))
    return f"{outputs} = com.microsoft.GroupQueryAttention <{listed}> ({', '.join(names)})"


def prompt(length: int = 3, batch: int = 2, ends: tuple[int, ...] = ()) -> Arrays:
    """New tokens only, four heads of 16 elements for queries and two for keys. `ends` are the places of the last tokens."""
    sizes = {"q": 64, "k": 32, "v": 32}
    return {name: normal(batch, length, size) for name, size in sizes.items()} | {
        "e": np.array(ends or [length - 1] * batch, np.int32),
        "t": np.array(length, np.int32),
    }


def decode(past: int = 4, ends: tuple[int, ...] = (), total: int = 0, length: int = 1, batch: int = 2) -> Arrays:
    """New tokens behind a cache of `past` places."""
    total = total or past + length
    return prompt(length, batch, ends or (total - 1,) * batch) | {
        "pk": normal(batch, 2, past, 16),
        "pv": normal(batch, 2, past, 16),
        "t": np.array(total, np.int32),
    }


ROTARY = {"c": normal(32, 8), "s": normal(32, 8)}


def declared(given: Arrays) -> str:
    batch, length = given["q"].shape[:2]
    places = max(given["pk"].shape[2], int(given["t"])) if "pk" in given else length
    return f"float[{batch},{length},64] y, float[{batch},2,{places},16] w, float[{batch},2,{places},16] z"


# -- what is refused


@pytest.mark.parametrize(
    ("attributes", "more", "message"),
    [
        ("local_window_size = 4, sliding_window_cache = 1", {}, "GroupQueryAttention with sliding_window_cache=1 is not written"),
        ('k_quant_type = "PER_TENSOR"', {}, "GroupQueryAttention with k_quant_type=PER_TENSOR is not written"),
        ("", {"ks": normal(1)}, "GroupQueryAttention with k_scale is not written"),
        ("", {"qw": normal(16), "kw": normal(16)}, "GroupQueryAttention with q_norm_weight is not written"),
        ("", {"l": np.array([1, 1], np.int32)}, "GroupQueryAttention with query_seqlens is not written"),
    ],
)
def test_what_is_not_written(attributes, more, message):
    given = decode() | more
    assert message in refused(node_of(given, attributes), given, declared(given))


def test_a_past_that_no_output_gives_on():
    given = decode()
    message = refused(node_of(given, outputs="y"), given, "float[2,1,64] y")
    assert "GroupQueryAttention has past keys, and onnxruntime only computes with them if the present ones are outputs" in message


def test_keys_without_values():
    given = decode()
    del given["pv"]
    assert "GroupQueryAttention has past keys without values" in refused(node_of(given), given, "float[2,1,64] y")


def test_scores_of_a_cache():
    given = decode()
    node = node_of(given, "qk_output = 1", "y, w, z, u")
    message = refused(node, given, f"{declared(given)}, float[2,4,1,5] u")
    assert "GroupQueryAttention with the output output_qk is written without past keys only" in message


# -- what is written

POSITIONS = {"i": np.array([[3, 1, 2], [5, 6, 7]])}
CASES = {
    "prompt": (prompt(), ""),
    "padded prompt": (prompt(ends=(1, 2)), ""),
    "rotated prompt": (prompt() | ROTARY, "do_rotary = 1"),
    "rotated pairs": (prompt() | ROTARY, "do_rotary = 1, rotary_interleaved = 1"),
    "positions of a prompt": (prompt() | ROTARY | POSITIONS, "do_rotary = 1"),
    "one token": (decode(), ""),
    "sequences of different lengths": (decode(ends=(2, 4)) | ROTARY, "do_rotary = 1"),
    "a static cache": (decode(6, (2, 4), 5) | ROTARY, "do_rotary = 1"),
    "a prompt into a static cache": (decode(5, total=3, length=3), ""),
    "an empty cache": (decode(0, length=3), ""),
    "more tokens of one sequence": (decode(4, length=3, batch=1) | ROTARY, "do_rotary = 1"),
    "positions behind a cache": (decode(4, (2, 4)) | ROTARY | {"i": np.array([[3], [5]])}, "do_rotary = 1"),
    "window": (prompt(5), "local_window_size = 2"),
    "window of a cache": (decode(6, (2, 6)), "local_window_size = 3"),
    "window of padded queries": (prompt(5, ends=(0, 2)), "local_window_size = 2"),
    "window of padded queries, added": (prompt(5, ends=(0, 2)) | {"a": normal(1, 1, 5, 5)}, "local_window_size = 1"),
    "window of padded queries, smooth": (prompt(5, ends=(0, 2)), "local_window_size = 1, smooth_softmax = 1"),
    "window of padded queries, sink": (prompt(5, ends=(0, 2)) | {"h": normal(4)}, "local_window_size = 2"),
    "window of padded queries, softcap": (prompt(5, ends=(0, 2)), "local_window_size = 2, softcap = 2.0"),
    "softcap": (prompt(), "softcap = 2.0"),
    "scale": (prompt(), "scale = 0.3"),
    "added": (prompt() | {"a": normal(2, 4, 3, 3)}, "softcap = 1.0"),
    "added behind a cache": (decode(6, (2, 4), 5) | {"a": normal(1, 1, 1, 5)}, ""),
    "sink": (prompt() | {"h": normal(4)}, ""),
    "sink behind a cache": (decode() | {"h": normal(4)}, ""),
    "smooth": (prompt(), "smooth_softmax = 1"),
    "not causal": (prompt(ends=(1, 2)), "causal = 0"),
    "not causal behind a cache": (decode(4, (1, 4)), "causal = 0"),
}


@pytest.mark.parametrize(("given", "attributes"), CASES.values(), ids=CASES)
def test_it_computes_the_same(given, attributes):
    targets = (*known(23), 18, 13) if "do_rotary" in attributes and known(23) else (18, 13)
    if "do_rotary" not in attributes or known(23):
        node = node_of(given, attributes)
        assert_standard(node, given, declared(given), targets=targets, rtol=1e-5, atol=1e-5, compare="off")


@pytest.mark.parametrize(("given", "attributes"), CASES.values(), ids=CASES)
def test_with_lengths_of_run_time(given, attributes):
    if "do_rotary" in attributes and not known(23):
        pytest.skip("onnx has no RotaryEmbedding")
    proto = contrib_model(node_of(given, attributes), given, declared(given))
    free = {"q": "bt", "k": "bt", "v": "bt", "pk": "b-p", "pv": "b-p", "e": "b", "i": "bt", "a": "xytu"}
    for value in proto.graph.input:
        for dim, symbol in zip(value.type.tensor_type.shape.dim, free.get(value.name, ""), strict=False):
            if symbol != "-":
                dim.dim_param = symbol
    for value in proto.graph.output:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}{axis}"
    result = convert_version(proto, 13, options=STANDARD).model
    for wanted, got in zip(run(proto, given), run(result, given), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_queries_keys_and_values_in_one():
    given = prompt()
    given["q"] = np.concatenate([given.pop(name) for name in "qkv"], axis=2)
    node = node_of(given, "", "y")
    assert_standard(node, given, "float[2,3,64] y", rtol=1e-5, atol=1e-5, compare="off")


@pytest.mark.parametrize("kind", [1, 2])
def test_scores_of_a_prompt(kind):
    given = prompt(5)
    node = node_of(given, f"qk_output = {kind}, local_window_size = 2", "y, w, z, u")
    assert_standard(node, given, f"{declared(given)}, float[2,4,5,5] u", rtol=1e-5, atol=1e-5, compare="off")


def test_a_query_that_sees_minus_infinity_only():
    given = prompt() | {"a": np.zeros((1, 1, 3, 3), np.float32)}
    given["a"][..., 0] = -np.inf
    assert_standard(node_of(given), given, declared(given), rtol=1e-5, atol=1e-5, compare="off")


def test_a_query_that_sees_the_lowest_numbers_only():
    """As exporters write padding."""
    given = prompt() | {"a": np.zeros((1, 1, 3, 3), np.float32)}
    given["a"][0, 0, 1] = np.finfo(np.float32).min
    assert_standard(node_of(given), given, declared(given), rtol=1e-5, atol=1e-5, compare="off")


def test_float16():
    given = {name: array if name in "et" else array.astype(np.float16) for name, array in prompt().items()}
    node = node_of(given, "", "y")
    assert_standard(node, given, "float16[2,3,64] y", rtol=4e-3, atol=4e-3, compare="off")


def test_an_unknown_size_of_heads():
    given = prompt()
    proto = contrib_model(node_of(given), given, declared(given))
    proto.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "d"
    with pytest.raises(UnconvertibleError, match="is unknown"):
        convert_version(proto, 13, options=STANDARD)


def test_scores_beyond_float16_hide_no_key():
    """One key of which the score is about -160,000: a softmax over it is 1."""
    past = np.zeros((1, 1, 0, 16), np.float16)
    given = {name: np.full((1, 1, 16), fill, np.float16) for name, fill in zip("qkv", (200, -200, 3), strict=True)}
    given |= {"b": past, "c": past, "e": np.zeros(1, np.int32), "t": np.array(1, np.int32), "a": np.zeros((1, 1, 1, 1), np.float16)}
    node = 'y, w, z = com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1>(q, k, v, b, c, e, t, "", "", "", a)'
    outputs = "float16[1,1,16] y, float16[1,1,1,16] w, float16[1,1,1,16] z"
    assert_standard(node, given, outputs, rtol=0, atol=0, compare="off")
