"""The table of known messages: that it is well formed, and what of a text is found."""

from __future__ import annotations

import re

import pytest

from split_rewrite.rewriter.runtimes.known_messages import Known, find_messages, known_messages, line_of
from split_rewrite.rewriter.runtimes.naming import find_profile

pytestmark = pytest.mark.quick
NOT_RUNTIMES = {
    "onnx", "onnx.checker", "onnx.version_converter", "onnxscript", "torch.onnx", "onnx2torch", "onnx2tf", "onnxruntime-web", "rten", "tengine",
    "kinference",
}  # fmt: skip
"""The tools that are not runtimes of `--for`."""


@pytest.mark.parametrize("text", ["", "all is well", "opset", "Relu", "error: 3", "Split num_outputs axes"])
def test_nothing_is_found_in_other_words(text: str) -> None:
    assert find_messages(text) == []


OF_OTHERS = (
    "Warning: feature foo not supported yet! continuing with the others",
    "RuntimeError: the dtype int64 is not supported on this device, use int32 instead",
    "UnicodeEncodeError: 'ascii' codec cannot encode characters: EncodeError",
    "terminate called after throwing an instance of 'std::length_error' what(): vector::_M_default_append",
    "copy failed: HRESULT 80070057 for the file. The parameter is incorrect. Try again later",
)


@pytest.mark.parametrize("text", OF_OTHERS)
def test_common_words_of_other_programs_are_not_taken_for_a_message(text: str) -> None:
    assert find_messages(text) == []


def test_common_words_count_where_the_text_says_more_or_nothing_else() -> None:
    for text in (
        "[TRT] ModelImporter: vector::_M_default_append",
        "vector::_M_default_append",
        "onnx2ncnn\nShape not supported yet!",
    ):
        assert find_messages(text), text


HOSTILE = (
    "a" * 200_000,
    "a:" * 100_000,
    " " * 200_000,
    "7" * 200_000,
    "In Node, (" * 50_000,
    ("x" * 70 + " ") * 5_000,
    "op='" * 50_000,
)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_text_is_searched_in_linear_time(number: int) -> None:
    """In quadratic time, each of these would take minutes, and the test would not end."""
    assert find_messages(HOSTILE[number]) == []


def test_colours_of_a_terminal_do_not_matter() -> None:
    (place,) = find_messages("\x1b[31mUnsupported model IR version:\x1b[0m 10, max supported IR version: \x1b[1m9\x1b[0m")
    assert dict(place.values) == {"ir": "10", "ir_max": "9"}


def test_a_type_and_a_list_of_operators_are_whole() -> None:
    (wrong,) = find_messages("Type Error: Type 'tensor(int64)' of input parameter (x) of operator (MatMul) in node (M) is invalid.")
    assert wrong.values["type"] == "tensor(int64)"
    (place,) = find_messages("These Op Not Support: ONNX::Gelu | ONNX::Trilu \n")
    assert place.meaning.startswith("MNN has no Gelu | ONNX::Trilu")


@pytest.mark.parametrize("known", known_messages(), ids=lambda known: known.says[:40])
def test_an_entry_is_complete(known: Known) -> None:
    assert known.means.endswith(".") and known.weight >= 8
    assert known.tries or known.advice, "something has to help"
    assert known.evidence.startswith(("tried with ", "by source: ")) or (known.evidence == "by documentation" and known.source)
    for tool in known.by:
        assert tool in NOT_RUNTIMES or not find_profile(tool).warning.startswith("nothing"), tool
    for options in known.tries:
        for name in re.findall(r"--for (\S+)(?<!\})$", options):
            find_profile(name)
    told = set(re.findall(r"\{(\w+)\}", known.means + known.advice))
    assert told <= known.names


def test_no_message_stands_there_twice() -> None:
    said = [known.says for known in known_messages()]
    assert len(set(said)) == len(said)


def test_what_varies_is_passed_on_whatever_the_quotes_and_lines() -> None:
    for text in (
        "Error: No Op registered for Gelu with domain_version of 17",
        'Error: No Op registered for "Gelu" with\n   domain_version of 17.',
        "Error: No Op registered for `Gelu` with domain_version of '17'",
    ):
        (place,) = find_messages(text)
        assert dict(place.values) == {"op": "Gelu", "opset": "17"}


def test_of_two_messages_in_one_place_the_one_that_says_more_counts() -> None:
    text = "Opset 5 is under development and support for this is limited. Current official support for domain ai.onnx.ml is till opset 3."
    (place,) = find_messages(text)
    assert "ai.onnx.ml" in place.known.means


LOG = """[I] loading
[E] While parsing node number 12 [LayerNormalization -> "y"]:
[E] Assertion failed: creator && "Plugin not found, are the plugin name, version, and namespace correct?"
[W] No importer registered for op: LayerNormalization. Attempting to import as plugin.
"""


def test_what_only_follows_comes_last() -> None:
    first, second = find_messages(LOG)
    assert first.values == {"op": "LayerNormalization"} and second.known.minor
    assert line_of(LOG, first) == (4, "[W] No importer registered for op: LayerNormalization. Attempting to import as plugin.")
