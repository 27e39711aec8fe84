"""The smallest model that fails in the same way, without names and numbers of its owner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import model
from onnx import numpy_helper

from split_rewrite.rewriter import InvalidModelError, Options, UnconvertibleError
from split_rewrite.rewriter.reproducing import reproducing
from split_rewrite.rewriter.reproducing.reproducing import reproduce

SECRET = np.linspace(5, 9, 128, dtype=np.float32).reshape(16, 8)
NODES = """h = MatMul (patients, secret) r = Relu (h) d = Det (q) u = StringConcat (t, t) zz = Identity (u)"""
TEXT = f"g (float[batch, 16] patients, float[2, 2] q, string[2] t) => (float[batch, 8] r, float d, string[2] zz) {{ {NODES} }}"


@pytest.fixture(name="path")
def saved(tmp_path: Path) -> Path:
    proto = model(TEXT, 20)
    proto.graph.initializer.append(numpy_helper.from_array(SECRET, "secret"))
    proto.doc_string = "trained by somebody"
    onnx.save(proto, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_what_is_converted_has_no_failure(path: Path) -> None:
    assert reproduce(path, 21, "auto", Options()) is None


def test_of_many_nodes_the_one_that_fails_is_left(path: Path) -> None:
    found = reproduce(path, 13, "auto", Options())
    assert found is not None
    assert [node.op_type for node in found.proto.graph.node] == ["StringConcat"]
    assert found.nodes == (1, 5) and found.kept == ()
    assert isinstance(found.error, UnconvertibleError)
    assert [blocker.op_type for blocker in found.error.blockers] == ["StringConcat"]
    text = str(found.proto)
    assert not any(word in text for word in ("patients", "secret", "batch", "somebody"))


def test_weights_are_generated(tmp_path: Path) -> None:
    """The weights that the branches of an If read go along with it."""
    text = """g (float[N, 16] x, bool c, string[2] t) => (float[N, 8] y, string[2] z) {
        y, z = If (c) <then_branch = a () => (float[N, 8] p, string[2] r) { p = MatMul (x, secret) r = Identity (t) },
                       else_branch = b () => (float[N, 8] q, string[2] s) { m = MatMul (x, secret) s = StringConcat (t, t) q = Neg (m) }> }"""
    proto = model(text, 20)
    proto.graph.initializer.append(numpy_helper.from_array(SECRET, "secret"))
    onnx.save(proto, tmp_path / "m.onnx")
    found = reproduce(tmp_path / "m.onnx", 13, "auto", Options())
    assert found is not None and [node.op_type for node in found.proto.graph.node] == ["If"]
    (weights,) = map(numpy_helper.to_array, found.proto.graph.initializer)
    assert weights.shape == SECRET.shape and not np.isin(weights, SECRET).any()


def test_numbers_on_which_the_failure_depends_stay(tmp_path: Path) -> None:
    text = "g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <float[4] s = {1, 1, 2, 0.6}> { r = Neg (x) y = Resize (r, s) }"
    onnx.save(model(text, 10), tmp_path / "m.onnx")
    found = reproduce(tmp_path / "m.onnx", 9, "auto", Options())
    assert found is not None and "rounds one axis up and another down" in str(found.error)
    (scales,) = found.proto.graph.initializer
    assert found.kept == (scales.name,)
    np.testing.assert_array_equal(numpy_helper.to_array(scales), np.float32([1, 1, 2, 0.6]))


def test_numbers_of_a_constant_that_stay_are_told(tmp_path: Path) -> None:
    text = """g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) {
        s = Constant <value = float[4] {1, 1, 2, 0.6}> () y = Resize (x, s) }"""
    onnx.save(model(text, 10), tmp_path / "m.onnx")
    found = reproduce(tmp_path / "m.onnx", 9, "auto", Options())
    assert found is not None and found.kept == ("a Constant",)


def test_attributes_on_which_the_failure_depends_are_told(tmp_path: Path) -> None:
    text = """g (float[1, 1, 10, 8] x) => (float[A, B, C, D] y) {
        s = Constant <value_floats = [1.0, 1.0, 0.7, 1.0]> () y = Resize <mode = "linear"> (x, , s) }"""
    onnx.save(model(text, 13), tmp_path / "m.onnx")
    found = reproduce(tmp_path / "m.onnx", 10, "auto", Options())
    assert found is not None and "is 6 or 7 depending on rounding" in str(found.error)
    assert found.kept == ("attributes",)


def test_operators_of_others_get_other_names(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17, "acme.secret" : 1]>
        g (float[N] x) => (float[N] y) { a = Relu (x) y = acme.secret.Hidden <key = "password"> (a) }"""
    onnx.save(model(text, 17), tmp_path / "m.onnx")
    found = reproduce(tmp_path / "m.onnx", None, "auto", Options(standard=True))
    assert found is not None
    assert [(node.domain, node.op_type) for node in found.proto.graph.node] == [("com.example", "Op1")]
    assert "com.example::Op1 is not an ONNX operator" in str(found.error)
    assert not any(word in str(found.proto) for word in ("acme", "Hidden", "password"))


def test_names_in_options_stay_and_the_others_do_not(tmp_path: Path) -> None:
    nodes = "r = Relu (secret) y = StringConcat (mine, mine)"
    proto = model(f"g (string[secret_a] mine, float[secret_b] secret) => (string[secret_a] y, float[secret_b] r) {{ {nodes} }}", 20)
    onnx.save(proto, tmp_path / "m.onnx")
    found = reproduce(tmp_path / "m.onnx", 13, "auto", Options(overwrite_input_shapes={"mine": (2,)}))
    assert found is not None and found.is_renamed and found.named == ("mine",)
    assert "mine" in str(found.proto) and "secret" not in str(found.proto)


def test_a_failure_that_depends_on_names_says_so(tmp_path: Path) -> None:
    proto = model("g (float[2] secret) => (float[2] y) { y = Relu (secret) }", 20)
    proto.training_info.add().algorithm.name = "secret"
    onnx.save(proto, tmp_path / "m.onnx")
    found = reproduce(tmp_path / "m.onnx", 13, "auto", Options())
    assert found is not None and "training_info" in str(found.error)
    assert not found.is_renamed


@pytest.mark.parametrize("content", [b"plain text", b"\x08"])
def test_what_is_no_model_fails_as_ever(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(InvalidModelError):
        reproduce(tmp_path / "m.onnx", 13, "auto", Options())


def test_the_search_ends(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproducing, "MOST_TRIES", 1)
    monkeypatch.setattr(reproducing, "MOST_CHANGES", 5)
    found = reproduce(path, 13, "auto", Options())
    assert found is not None and found.tries < 10 and found.is_renamed


def test_external_weights_are_not_read(tmp_path: Path) -> None:
    proto = model(TEXT, 20)
    proto.graph.initializer.append(numpy_helper.from_array(SECRET, "secret"))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0, location="m.data")
    found = reproduce(tmp_path / "m.onnx", 13, "auto", Options())
    assert found is not None and found.nodes == (1, 5)
