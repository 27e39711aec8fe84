"""EmbedLayerNormalization of onnxruntime as ONNX's own operators, beside onnxruntime's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import assert_standard, contrib_model, operators, refused
from drawing import normal, whole

from split_rewrite.rewriter import Options, convert_version

WORDS = {"x": np.array([[0, 1, 4], [2, 2, 3]], np.int32)}
SEGMENTS = {"s": np.array([[0, 1, 1], [0, 0, 1]], np.int32)}
TABLES = {"t": normal(5, 8), "p": normal(6, 8), "u": normal(2, 8), "g": normal(8), "b": normal(8)}
NAMES = ("x", "s", "t", "p", "u", "g", "b", "m", "i")
BOTH = ("y, n", "float[2,3,8] y, int32[2] n")


def node_of(given: dict[str, np.ndarray], outputs: str) -> str:
    names = [name if name in given else "ABSENT" for name in NAMES]
    while names[-1] == "ABSENT":
        names.pop()
    return f"{outputs} = com.microsoft.EmbedLayerNormalization <epsilon = 0.00001> ({', '.join(names)})"


def test_segments_without_a_table():
    given = WORDS | SEGMENTS | {name: table for name, table in TABLES.items() if name != "u"}
    assert "has segments without a table, or a table without segments" in refused(node_of(given, "y"), given, "float[2,3,8] y")


CASES = {
    "no segments": (WORDS, *BOTH),
    "no mask": (WORDS | SEGMENTS, *BOTH),
    "the sum": (WORDS | SEGMENTS, "y, n, z", "float[2,3,8] y, int32[2] n, float[2,3,8] z"),
    "a mask": (WORDS | {"m": np.array([[1, 1, 0], [0, 0, 0]], np.int32)}, *BOTH),
    "a mask with other numbers": (WORDS | {"m": np.array([[1, 0, 2], [-1, 1, 0]], np.int32)}, *BOTH),
    "positions": (WORDS | SEGMENTS | {"i": np.array([[3, 2, 1], [0, 5, 5]], np.int32)}, *BOTH),
    "the same positions for all": (WORDS | {"i": np.array([[3, 2, 1]], np.int32)}, *BOTH),
}


@pytest.mark.parametrize(("given", "outputs", "declared"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("kind", ["float", "float16"])
def test_it_computes_the_same(given, outputs, declared, kind):
    tables = {
        name: table.astype(kind.replace("float16", "float16").replace("float", "float32", kind == "float"))
        for name, table in TABLES.items()
    }
    tables = {name: table for name, table in tables.items() if name != "u" or "s" in given}
    declared = declared.replace("float", kind)
    tolerance = 1e-5 if kind == "float" else 4e-3
    node = node_of(given | tables, outputs)
    assert_standard(node, given, declared, constants=tables, targets=(18, 13, 9), rtol=tolerance, atol=tolerance, compare="off")


def test_what_is_written():
    tables = TABLES | {"p": normal(3, 8)}
    proto = contrib_model(node_of(WORDS | SEGMENTS | tables, "y"), WORDS | SEGMENTS, "float[2,3,8] y", constants=tables)
    result = convert_version(proto, 17, compare="off", options=Options(standard=True)).model
    assert operators(result) == ["Gather", "Add", "Gather", "Add", "LayerNormalization"]


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("has_segments", [True, False])
def test_quantized_tables(kind, has_segments):
    tables = {name: whole(kind, *table.shape) for name, table in TABLES.items() if has_segments or name != "u"}
    scales = {f"{name}s": np.array(0.01 + 0.01 * number, np.float32) for number, name in enumerate(tables)}
    zeros = {f"{name}z": np.array(number, kind) for number, name in enumerate(tables)}
    order = [name if name in tables else "ABSENT" for name in "tpugb"]
    names = ["x", "s" if has_segments else "ABSENT", *order, "m"]
    names += [f"{name}{letter}" if name in tables else name for letter in "sz" for name in order]
    inputs = WORDS | ({"s": SEGMENTS["s"]} if has_segments else {}) | {"m": np.array([[1, 1, 0], [1, 0, 0]], np.int32)}
    node = f"y, n = com.microsoft.QEmbedLayerNormalization <epsilon = 0.00001> ({', '.join(names)})"
    constants = tables | scales | zeros
    assert_standard(node, inputs, BOTH[1], constants=constants, targets=(18, 13), rtol=1e-4, atol=1e-4, compare="off")
