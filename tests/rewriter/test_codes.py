"""Codes are unique, and every documented reason has one. `python tests/rewriter/test_codes.py` writes docs/codes.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from split_rewrite.rewriter.codes import OTHER, code_of, listed

pytestmark = pytest.mark.quick

PAGE = Path(__file__).resolve().parents[2] / "docs" / "codes.md"
HEAD = """# Codes of refusals and warnings

In Python, `blocker.code` and `remark.code` name a reason; in [JSON reports](report.md), the field `code` does. The text of a
message may change between versions, its code does not. In the messages, … stands for any text; `*` in a code stands for the words in
parentheses at the end of the message: `runtime.wrong.gru-with-linear-before-reset-0`. A message of other people's rules has the code
`other`. [errors.md](errors.md) says what helps.

| code | message |
|---|---|
"""


def page() -> str:
    """The page, from the table of the program."""
    return HEAD + "".join(f"| `{row.code}` | `{row.message}` |\n" for row in sorted(listed()))


def test_the_page_lists_the_codes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/rewriter/test_codes.py"


def test_codes_are_unique() -> None:
    codes = [row.code for row in listed()]
    assert len(codes) == len(set(codes)) > 200


CODES = [
    ("the rank of 't' is unknown", "unknown.rank"),
    ("its rewrite needs Concat: the rank of 't' is unknown", "unknown.rank"),
    ("StringConcat is new in opset 20 and older operators cannot express it exactly", "form.newer-operator"),
    ("OpenCV dnn 5.0 computes it wrongly (GRU with linear_before_reset 0)", "runtime.wrong.gru-with-linear-before-reset-0"),
    (
        "ncnn 2026 computes it wrongly (Div of integers): it divides integers, and no other form of it is exact",
        "runtime.wrong.div-of-integers",
    ),
    ("what a rule of somebody else says", OTHER),
]


@pytest.mark.parametrize(("message", "code"), CODES)
def test_a_message_has_the_code_of_its_most_telling_part(message: str, code: str) -> None:
    assert code_of(message) == code


@pytest.mark.parametrize("row", listed(), ids=lambda row: row.code)
def test_each_message_has_its_own_code(row) -> None:
    text = row.message.replace("…", "~")
    assert code_of(text) == row.code.replace("*", "") or "*" in row.code


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
