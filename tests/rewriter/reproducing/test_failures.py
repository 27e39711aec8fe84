"""Failures are equal where the reason is, whatever the names and numbers are."""

from __future__ import annotations

from helpers import model

from split_rewrite.rewriter import CompareError, UnconvertibleError, convert_version
from split_rewrite.rewriter.reproducing.failures import failures_of, quoted_names


def refused(name: str, operator: str = "StringConcat") -> UnconvertibleError:
    node = f"{name} = StringConcat (t, t)" if operator == "StringConcat" else f"s = StringSplit (t) {name} = Identity (s)"
    try:
        convert_version(model(f"g (string[2] t) => (string[N] {name}) {{ {node} }}", 20), 13)
    except UnconvertibleError as error:
        return error
    raise AssertionError("opset 13 has none of these")


def test_names_do_not_matter() -> None:
    assert failures_of(refused("a")) == failures_of(refused("b"))
    assert quoted_names(refused("a"))[0] == "a"


def test_numbers_do_not_matter_but_reasons_do() -> None:
    one, same, other = (
        CompareError(text)
        for text in ("outputs differ: 'y' has 1.5 at [0]", "outputs differ: 'z' has -3e-4 at [7]", "the result fails")
    )
    assert failures_of(one) == failures_of(same) != failures_of(other)
