"""The options that print what there is."""

from __future__ import annotations

import re

import pytest
from helpers import command_line

pytestmark = pytest.mark.quick


def test_a_word_that_no_rule_has_is_an_error_with_a_suggestion() -> None:
    ended = command_line("--list-rules", "gellu")
    assert (ended.status, ended.out) == (2, "")
    assert "no rule has this in its line; did you mean 'Gelu'" in ended.err


def test_rules_are_found_by_a_word_in_any_case() -> None:
    everything = command_line("--list-rules").out.splitlines()
    found = command_line("--list-rules", "GELU").out.splitlines()
    assert found and set(found) < set(everything)
    assert all("gelu" in line.casefold() for line in found)


def test_a_runtime_or_a_release_of_it() -> None:
    assert command_line("--list-runtimes").out.startswith("runtime ")
    assert command_line("--list-runtimes", "TensorRT 8.6").out.startswith("NVIDIA TensorRT 8.6\n")


def test_the_versions() -> None:
    assert re.fullmatch(r"split-rewrite \S+ \(onnx \S+, onnxruntime \S+\)\n", command_line("--version").out)
