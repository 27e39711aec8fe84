"""The limits of one call: time, progress, cancelling, and the name of its model."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter import InvalidModelError, OutOfTimeError, calls, progress
from split_rewrite.rewriter.boundary import Theirs

pytestmark = pytest.mark.quick


def test_outside_a_call_nothing_is_limited() -> None:
    calls.check()
    assert (calls.name(), calls.remaining(), calls.is_watched()) == ("", None, False)


def test_time_that_is_over_stops_whatever_handles_errors() -> None:
    with pytest.raises(OutOfTimeError, match=r"^not finished within 1e-09 s$"), calls.limits("m", 1e-9):
        try:
            calls.check()
        except Exception:
            pytest.fail("it was handled")
    assert calls.remaining() is None


def test_the_earlier_limit_counts() -> None:
    with calls.limits("m", 1000), calls.limits(timeout=5000):
        assert calls.name() == "m" and (calls.remaining() or 5000) <= 1000


def test_what_the_listener_raises_ends_the_call() -> None:
    def listener(what: str, done: int, total: int) -> None:
        if done:
            raise KeyError(what)

    with pytest.raises(Theirs) as caught, calls.limits("m", listener=listener):
        progress.begin("cutting", 3)(3)
    assert repr(caught.value.error) == "KeyError('cutting')"


def test_a_wait_calls_the_listener_again() -> None:
    heard: list[tuple[str, int, int]] = []
    with calls.limits("m", listener=lambda *step: heard.append(step)):
        progress.stage("reading")
        calls.beat()
    assert heard == [("reading", 0, 1)] * 2


def test_an_error_names_the_model() -> None:
    with pytest.raises(InvalidModelError) as caught, calls.limits("m.onnx"):
        raise InvalidModelError("no")
    assert caught.value.model == "m.onnx"
