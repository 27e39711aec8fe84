"""What is told of a runtime's error: its own message, without traceback and backtrace."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.execution.other_runtimes import own_message

pytestmark = pytest.mark.quick

NATIVE = """Traceback (most recent call last):
  File "adapters.py", line 135, in load
    self._model = tract.onnx().load(path).into_model()
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: Translating node #3 "y" GridSample

Caused by:
    0: in ToTypedTranslator
    1: mode cubic is not supported

Stack backtrace:
   0: <unknown>
   1: clone
"""
CHAIN = """Traceback (most recent call last):
  File "a.py", line 1, in <module>
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in <module>
ValueError: no model
"""
CASES = {
    "nothing": ("", "no reason given"),
    "only lines": ("\n---\n", "no reason given"),
    "a line": ("unsupported type 8\n", "unsupported type 8"),
    "a chain of exceptions": (CHAIN, "ValueError: no model"),
    "native code": (
        NATIVE,
        'RuntimeError: Translating node #3 "y" GridSample Caused by: 0: in ToTypedTranslator 1: mode cubic is not supported',
    ),
}


@pytest.mark.parametrize(("text", "told"), CASES.values(), ids=CASES)
def test_the_message_is_the_runtimes_own(text: str, told: str) -> None:
    assert own_message(text) == told
