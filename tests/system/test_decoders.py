"""Decoders generate the same words after a conversion: two kinds of export, with their caches, over four steps.

The first has the operators that torch writes at opset 23; the second those of onnxruntime-genai's model builder.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from helpers import known, run
from onnx import ModelProto, numpy_helper, parser

from split_rewrite.rewriter import Options, convert_version

LAYERS, HEADS, PAIRS, SIZE, WIDTH, WORDS = 2, 4, 2, 16, 16, 23
"""How many layers, heads and heads of keys there are; the size of a head and of a word's vector; how many words."""
STEPS, BATCH, PROMPT, LONGEST = 4, 2, 3, 16


def weights(shapes: dict[str, tuple[int, ...]]) -> list[onnx.TensorProto]:
    rng = np.random.default_rng(0)
    return [numpy_helper.from_array(rng.normal(0, 0.4, shape).astype(np.float32), name) for name, shape in shapes.items()]


def decoder(head: str, layer: Callable[[int], str], tail: str, ends: str, shapes: dict[str, tuple[int, ...]]) -> ModelProto:
    body = "\n".join(map(layer, range(LAYERS)))
    made = parser.parse_model(f"<ir_version: 10, {ends} {{ {head} {body} {tail} }}")
    made.graph.initializer.extend(weights(shapes))
    return made


def caches(name: str) -> str:
    shape = f"float[B,{PAIRS},{name.upper()}L,{SIZE}]"
    return ", ".join(f"{shape} {name}{kind}{layer}" for layer in range(LAYERS) for kind in "kv")


def torch_layer(i: int) -> str:
    return f"""
    n{i} = RMSNormalization <axis = -1, epsilon = 1e-6> (x{i}, ln{i})
    q{i} = MatMul (n{i}, wq{i}) k{i} = MatMul (n{i}, wk{i}) v{i} = MatMul (n{i}, wv{i})
    qh{i} = Reshape (q{i}, heads) kh{i} = Reshape (k{i}, pairs) vh{i} = Reshape (v{i}, pairs)
    qt{i} = Transpose <perm = [0,2,1,3]> (qh{i}) kt{i} = Transpose <perm = [0,2,1,3]> (kh{i}) vt{i} = Transpose <perm = [0,2,1,3]> (vh{i})
    qr{i} = RotaryEmbedding (qt{i}, cos, sin, pos) kr{i} = RotaryEmbedding (kt{i}, cos, sin, pos)
    a{i}, nk{i}, nv{i} = Attention <is_causal = 1> (qr{i}, kr{i}, vt{i}, , pk{i}, pv{i})
    at{i} = Transpose <perm = [0,2,1,3]> (a{i}) ar{i} = Reshape (at{i}, flat) o{i} = MatMul (ar{i}, wo{i}) s{i} = Add (x{i}, o{i})
    m{i} = RMSNormalization <axis = -1, epsilon = 1e-6> (s{i}, ls{i}) u{i} = MatMul (m{i}, wu{i}) g{i} = Sigmoid (u{i})
    h{i} = Mul (u{i}, g{i}) d{i} = MatMul (h{i}, wd{i}) x{i + 1} = Add (s{i}, d{i})"""


def genai_layer(i: int) -> str:
    norm = "SkipSimplifiedLayerNormalization <epsilon = 1e-6>"
    first = f"n{i} = SimplifiedLayerNormalization <axis = -1, epsilon = 1e-6, stash_type = 1> (x0, ln0) s{i} = Identity (x0)"
    next_one = f"n{i}, , , s{i} = com.microsoft.{norm} (t{i - 1}, d{i - 1}, ln{i})"
    return f"""
    {next_one if i else first}
    q{i} = MatMul (n{i}, wq{i}) k{i} = MatMul (n{i}, wk{i}) v{i} = MatMul (n{i}, wv{i})
    a{i}, nk{i}, nv{i} = com.microsoft.GroupQueryAttention <num_heads = {HEADS}, kv_num_heads = {PAIRS}, do_rotary = 1, scale = 0.25,
        rotary_interleaved = 0, local_window_size = -1, softcap = 0.0> (q{i}, k{i}, v{i}, pk{i}, pv{i}, seqlens, total, cos, sin)
    o{i} = MatMul (a{i}, wo{i})
    m{i}, , , t{i} = com.microsoft.{norm} (s{i}, o{i}, ls{i})
    u{i} = MatMul (m{i}, wu{i}) g{i} = Sigmoid (u{i}) h{i} = Mul (u{i}, g{i}) d{i} = MatMul (h{i}, wd{i})"""


SHAPES: dict[str, tuple[int, ...]] = {"words": (WORDS, WIDTH), "wl": (WIDTH, WORDS), "lf": (WIDTH,)}
for _i in range(LAYERS):
    SHAPES |= {f"ln{_i}": (WIDTH,), f"ls{_i}": (WIDTH,), f"wq{_i}": (WIDTH, HEADS * SIZE), f"wo{_i}": (HEADS * SIZE, WIDTH)}
    SHAPES |= {f"wk{_i}": (WIDTH, PAIRS * SIZE), f"wv{_i}": (WIDTH, PAIRS * SIZE), f"wu{_i}": (WIDTH, 32), f"wd{_i}": (32, WIDTH)}
ANGLES = np.arange(LONGEST)[:, None] / 10.0 ** np.arange(SIZE // 2)
TABLES = [numpy_helper.from_array(f(ANGLES).astype(np.float32), name) for name, f in (("cos", np.cos), ("sin", np.sin))]


def torch_decoder() -> ModelProto:
    made = decoder(
        "x0 = Gather (words, ids)",
        torch_layer,
        f"f = RMSNormalization <axis = -1, epsilon = 1e-6> (x{LAYERS}, lf) logits = MatMul (f, wl)",
        f"""opset_import: ["" : 23]> g (int64[B,T] ids, int64[B,T] pos, {caches("p")}) => (float[B,T,{WORDS}] logits, {caches("n")})
        <int64[4] heads = {{0,0,{HEADS},{SIZE}}}, int64[4] pairs = {{0,0,{PAIRS},{SIZE}}}, int64[3] flat = {{0,0,{HEADS * SIZE}}}>""",
        SHAPES,
    )
    made.graph.initializer.extend(TABLES)
    return made


def genai_decoder() -> ModelProto:
    last = LAYERS - 1
    made = decoder(
        """x0 = Gather (words, ids) lengths = ReduceSum <keepdims = 0> (mask, one) before = Sub (lengths, one)
        seqlens = Cast <to = 6> (before) shape = Shape (mask) whole = Gather <axis = 0> (shape, at) total = Cast <to = 6> (whole)""",
        genai_layer,
        f"""f = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 1e-6> (t{last}, d{last}, lf)
        logits = MatMul (f, wl)""",
        f"""opset_import: ["" : 21, "com.microsoft" : 1]>
        g (int64[B,T] ids, int64[B,A] mask, {caches("p")}) => (float[B,T,{WORDS}] logits, {caches("n")})
        <int64[1] one = {{1}}, int64 at = {{1}}>""",
        SHAPES,
    )
    made.graph.initializer.extend(TABLES)
    return made


def generated(proto: ModelProto, starts_with: int) -> list[list[np.ndarray]]:
    """What four steps give. The caches begin with `starts_with` words of which nothing is known but their keys and values."""
    rng = np.random.default_rng(1)
    names = [value.name for value in proto.graph.input]
    cache = [rng.normal(size=(BATCH, PAIRS, starts_with, SIZE)).astype(np.float32) for _ in range(2 * LAYERS)]
    ids, total = rng.integers(0, WORDS, (BATCH, PROMPT)), starts_with
    steps: list[list[np.ndarray]] = []
    for _ in range(STEPS):
        length = ids.shape[1]
        positions = np.broadcast_to(np.arange(total, total + length), ids.shape)
        second = positions if "pos" in names else np.ones((BATCH, total + length), np.int64)
        steps.append(run(proto, dict(zip(names, [ids, second, *cache], strict=True))))
        logits, *cache = steps[-1]
        ids, total = logits[:, -1:].argmax(-1), total + length
    return steps


def assert_generates_the_same(before: ModelProto, after: ModelProto, starts_with: int) -> None:
    for old, new in zip(generated(before, starts_with), generated(after, starts_with), strict=True):
        assert np.array_equal(old[0].argmax(-1), new[0].argmax(-1))
        for left, right in zip(old, new, strict=True):
            np.testing.assert_allclose(right, left, rtol=1e-4, atol=1e-5)


NEWER = {"Attention", "RotaryEmbedding", "RMSNormalization", "SimplifiedLayerNormalization"}


@pytest.mark.parametrize("starts_with", [0, 2])
@pytest.mark.parametrize("target", [13, 17])
def test_as_torch_writes_it(target: int, starts_with: int) -> None:
    if 23 not in known(23):
        pytest.skip("onnx has no opset 23")
    given = torch_decoder()
    result = convert_version(given, target).model
    assert NEWER.isdisjoint(node.op_type for node in result.graph.node)
    assert_generates_the_same(given, result, starts_with)


@pytest.mark.parametrize("target", [13, 17])
def test_as_genai_writes_it(target: int) -> None:
    if 23 not in known(23):
        pytest.skip("onnx has no opset 23, from whose RotaryEmbedding the positions are rewritten")
    given = genai_decoder()
    result = convert_version(given, target, options=Options(standard=True)).model
    assert {node.domain for node in result.graph.node} == {""}
    assert NEWER.isdisjoint(node.op_type for node in result.graph.node)
    assert_generates_the_same(given, result, 0)


def test_a_runtime_that_has_them_keeps_them() -> None:
    if 23 not in known(23):
        pytest.skip("onnx has no opset 23")
    result = convert_version(torch_decoder(), options=Options(for_runtimes=["onnxruntime-1.24"])).model
    kept = [node.op_type for node in result.graph.node if node.op_type in NEWER]
    assert len(kept) == 5 * LAYERS + 1


def test_newer_operators_again() -> None:
    """What became of them below is written as one operator each again, as far as nothing else reads its parts."""
    if 23 not in known(23):
        pytest.skip("onnx has no opset 23")
    older = convert_version(torch_decoder(), 17).model
    result = convert_version(older, 23, options=Options(modernize=True)).model
    assert [node.op_type for node in result.graph.node].count("RMSNormalization") == 2 * LAYERS + 1
    assert_generates_the_same(torch_decoder(), result, 2)
