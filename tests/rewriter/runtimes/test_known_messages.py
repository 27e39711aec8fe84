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
