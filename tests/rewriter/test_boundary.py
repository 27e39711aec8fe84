"""What leaves a public function."""

from __future__ import annotations

import errno

import pytest

from split_rewrite.rewriter import InternalError, InvalidModelError, SplitRewriteError, SystemLimitError
from split_rewrite.rewriter.boundary import Theirs, public

pytestmark = pytest.mark.quick

THROUGH = [
    (KeyError("k"), InternalError, "internal error: KeyError: 'k'; please report it"),
    (TypeError("of our own"), InternalError, "internal error: TypeError: of our own; please report it"),
    (MemoryError(), SystemLimitError, "out of memory"),
    (RecursionError(), InvalidModelError, "the model is nested too deeply"),
    (OSError(errno.ENOSPC, "No space left on device", "f"), SystemLimitError, "f: No space left on device"),
    (OSError(errno.EISDIR, "Is a directory", "f"), SplitRewriteError, "f: Is a directory"),
]


@pytest.mark.parametrize(("error", "kind", "message"), THROUGH)
def test_whatever_fails_is_an_error_of_this_package(error: Exception, kind: type[SplitRewriteError], message: str) -> None:
    @public
    def fail() -> None:
        raise error

    with pytest.raises(SplitRewriteError) as caught:
        fail()
    assert type(caught.value) is kind and str(caught.value) == message and caught.value.__cause__ is error


def test_what_the_callers_code_raises_is_theirs() -> None:
    @public
    def call() -> None:
        raise Theirs(LookupError("mine"))

    with pytest.raises(LookupError, match="mine"):
        call()


def test_a_call_that_does_not_fit_is_a_type_error() -> None:
    @public
    def call(one: int) -> None: ...

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        call()  # type: ignore[call-arg]


def test_a_kept_error_keeps_no_variables() -> None:
    @public
    def fail(model: list[int]) -> None:
        held = model
        raise InvalidModelError(str(len(held)))

    with pytest.raises(InvalidModelError) as caught:
        fail([1, 2])
    trace, found = caught.value.__traceback__, []
    while trace is not None:
        found += [name for name in trace.tb_frame.f_locals if name in ("model", "held", "args")]
        trace = trace.tb_next
    assert found == []
