"""Nothing changes that need not: `--minimal`, and `--ir-version` alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import command_line, model, run

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.conversion.attempts import Attempts
from split_rewrite.rewriter.storage.skeleton import Skeleton

LIST = """g (float[6] x) => (float[2] y) <int64[3] s = {2, 2, 2}, int64 p = {1}>
    { q = SplitToSequence (x, s)  y = SequenceAt (q, p) }"""
X = {"x": np.arange(6, dtype=np.float32)}


@pytest.fixture(name="path")
def saved(tmp_path: Path) -> Path:
    onnx.save(model(LIST, 18), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def converted(path: Path, *options: str) -> onnx.ModelProto:
    out = path.with_name("out.onnx")
    ended = command_line(*options, str(path), str(out))
    assert (ended.status, ended.err) == (0, "")
    return onnx.load(out)


def operators(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


def test_a_target_without_sequences_has_none(path: Path) -> None:
    """Those came with opset 11, so that they have to be removed below."""
    result = converted(path, "--minimal", "-t", "9")
    assert not any("Sequence" in name for name in operators(result))
    np.testing.assert_array_equal(run(result, X)[0], X["x"][2:4])


def test_what_the_target_has_stays(path: Path) -> None:
    assert operators(converted(path, "--minimal", "-t", "13")) == ["SplitToSequence", "SequenceAt"]
    assert "SequenceAt" not in operators(converted(path, "-t", "13"))


def test_what_one_opset_needs_is_not_done_for_the_next(path: Path) -> None:
    """As where several opsets are tried for a runtime."""
    attempts = Attempts(18, Options(minimal=True), None)
    found = {}
    for opset in (9, 13):
        skeleton = Skeleton.of(onnx.load(path))
        assert not attempts.convert(attempts.model_of(skeleton, opset), opset).outcome.blockers
        found[opset] = operators(skeleton.proto)
    assert "SequenceAt" not in found[9] and found[13] == ["SplitToSequence", "SequenceAt"]


def test_functions_with_lists_stay(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "my" : 1]> g (float[6] x) => (float[2] y) { y = my.second (x) }
    <domain: "my", opset_import: ["" : 18]> second (x) => (y)
    { s = Constant <value_ints = [2, 2, 2]> ()  p = Constant <value_int = 1> ()  q = SplitToSequence (x, s)  y = SequenceAt (q, p) }"""
    onnx.save(model(text), tmp_path / "m.onnx")
    result = converted(tmp_path / "m.onnx", "--minimal", "-t", "17")
    assert operators(result) == ["second"] and len(result.functions[0].node) == 4


def test_another_ir_version_alone_changes_one_number(path: Path) -> None:
    result, original = converted(path, "--ir-version", "9"), onnx.load(path)
    original.ir_version = 9
    assert result == original


@pytest.mark.parametrize("more", [["-t", "18"], ["--for", "onnxruntime-1.20"]])
def test_with_more_it_is_a_conversion_as_ever(path: Path, more: list[str]) -> None:
    assert "SequenceAt" not in operators(converted(path, "--ir-version", "9", *more))


def test_a_runtime_without_sequences_gets_none(path: Path) -> None:
    assert not any(
        "Sequence" in name for name in operators(converted(path, "--minimal", "--for", "openvino-2024.2", "--no-verify"))
    )


def test_once_more_changes_no_byte(path: Path) -> None:
    first = converted(path, "--minimal", "-t", "13")
    onnx.save(first, path)
    assert converted(path, "--minimal", "-t", "13") == first


def needed_at(path: Path, target: str) -> dict[str, bool]:
    ended = command_line("-t", target, "--report", "-", str(path), str(path.with_name("out.onnx")))
    return {change["rule"]: change["needed"] for change in json.loads(ended.out)["changes"]}


def test_the_report_says_what_was_needed(path: Path) -> None:
    """Opset 11 has sequences, opset 10 does not."""
    found = needed_at(path, "11")
    assert found["sequences.pick_element"] is False
    assert needed_at(path, "10")["sequences.pick_element"] is True


def test_a_step_of_the_conversion_is_needed(tmp_path: Path) -> None:
    onnx.save(model("g (float[4] x) => (float[2] y, float[2] z) { y, z = Split <num_outputs = 2> (x) }", 18), tmp_path / "m.onnx")
    assert list(needed_at(tmp_path / "m.onnx", "13").values()) == [True]


def test_the_details_mark_what_was_not(path: Path) -> None:
    ended = command_line("-v", "-t", "11", str(path), str(path.with_name("out.onnx")))
    assert (
        "split_to_sequence.split_then_construct: SplitToSequence 'q' (main graph), not needed for the target"
        in ended.err + ended.out
    )
