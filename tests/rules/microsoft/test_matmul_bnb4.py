"""MatMulBnb4 as ONNX's own operators, beside onnxruntime's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import assert_standard, refused
from drawing import RANDOM, normal, whole


def text(rows: int, columns: int, block: int, kind: int, transposed: int = 1) -> str:
    stated = f"N = {rows}, K = {columns}, block_size = {block}, quant_type = {kind}, transB = {transposed}"
    return f"y = com.microsoft.MatMulBnb4 <{stated}> (a, w, m)"


def test_a_table_that_there_is_not():
    stored = {"w": whole(np.uint8, 32), "m": normal(4)}
    assert "of a form that is not written in ONNX" in refused(
        text(4, 16, 16, 2), {"a": normal(2, 16)}, "float[2,4] y", constants=stored
    )


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("rows", "columns", "block"), [(4, 16, 16), (6, 32, 64), (8, 48, 32)])
def test_it_computes_the_same(rows, columns, block, kind):
    blocks = rows * columns // block
    stored = {"w": whole(np.uint8, rows * columns // 2), "m": RANDOM.uniform(0.1, 2, blocks).astype(np.float32)}
    inputs = {"a": normal(2, 3, columns)}
    node = text(rows, columns, block, kind)
    assert_standard(node, inputs, f"float[2,3,{rows}] y", constants=stored, rtol=1e-4, atol=1e-4)
