"""Results that are not right: the whole message, as docs/errors.md lists it, and exit status 3."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from documentation import unseen
from failures import Row, a_rule_fails, a_rule_is_wrong, a_rule_makes_an_invalid_model, assert_fails, conversion_ends_with, prepare


def fake_runtimes(patch: pytest.MonkeyPatch) -> None:
    """A runtime that refuses all models, and one that is wrong, as modules in the working folder, of which no bytecode is kept."""
    patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    patch.setattr(sys, "dont_write_bytecode", True)
    Path("fake_adapters.py").write_bytes((Path(__file__).resolve().parents[2] / "support" / "fake_adapters.py").read_bytes())


WRONG: dict[str, Row] = {
    "refused-by-a-runtime": Row(
        "lone.onnx o.onnx --verify-with fake_adapters:Refuse",
        "fake_adapters:Refuse refuses the result: RuntimeError: first line no Relu here",
        fake_runtimes,
    ),
    "differs-in-a-runtime": Row(
        "abs.onnx o.onnx --verify-with fake_adapters:WrongAbs",
        "output 'y' of the result in fake_adapters:WrongAbs … …; it begins with Abs 'y'",
        fake_runtimes,
    ),
    "differs-in-a-runtime-of-for": Row(
        "open.onnx o.onnx -t 17 --for onnxruntime --compare off",
        "output 'b' of the result in onnxruntime …; it begins with Split … (--no-verify leaves out this run)",
        a_rule_is_wrong,
    ),
    "text-for-a-runtime": Row(
        "words.onnx o.onnx --verify-with fake_adapters:Right",
        "the result cannot be run in fake_adapters:Right: the input 'x' is not a NumPy array of numbers",
        fake_runtimes,
    ),
    "random-numbers-for-a-runtime": Row(
        "random.onnx o.onnx --verify-with fake_adapters:Right",
        "the result cannot be verified with fake_adapters:Right: …",
        fake_runtimes,
    ),
    "fails-the-check": Row(
        "m.onnx o.onnx -t 13",
        "the result failed onnx.checker: it is broken (the model was not written; if the input runs, please report this)",
        a_rule_makes_an_invalid_model,
    ),
    "declares-something-else": Row(
        "belied.onnx o.onnx --compare off",
        "the model declares another shape of output 'y' than the result has, and no comparison shows that the result is right: "
        "correct the declaration, or let the models be compared",
    ),
    "computes-something-else": Row(
        "open.onnx o.onnx -t 17", "outputs differ (onnxruntime …): output 'b' differs: …", a_rule_is_wrong
    ),
    "computes-something-else-and-is-kept": Row(
        "open.onnx o.onnx -t 17 --keep-different",
        "outputs differ (onnxruntime …): output 'b' differs: …; the result is in o.different.onnx",
        a_rule_is_wrong,
        frozenset({"o.different.onnx"}),
    ),
    "cannot-be-compared": Row("foreign.onnx o.onnx -t 13 --compare required", "the result could not be compared: …"),
    "bug-in-a-rule": Row(
        "open.onnx o.onnx -t 17",
        "internal error: rule split.spell_out_parts failed on Split 'cut' (main graph) 18→17: KeyError: 0; please report this "
        "(-v shows where it is from)",
        a_rule_fails,
    ),
    "bug": Row(
        "m.onnx o.onnx",
        "internal error: KeyError: 'x'; please report it (-v shows where it is from)",
        conversion_ends_with(KeyError("x")),
    ),
}


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG)
def test_wrong_results(folder: Path, monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    prepare(folder, row.arguments)
    row.circumstance(monkeypatch)
    assert_fails(folder, row.arguments, 3, row.message, row.written)


def test_no_message_is_missing() -> None:
    messages = [row.message for row in WRONG.values()]
    assert unseen("The result is not right (status 3)", messages) == set()
