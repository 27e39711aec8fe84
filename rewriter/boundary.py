"""What leaves a public function: results, and errors of this package that hold nothing of the model."""

from __future__ import annotations

import errno
import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from .errors import (
    ArgumentError,
    InternalError,
    InvalidModelError,
    SplitRewriteError,
    SystemLimitError,
    WrongTypeError,
    is_out_of_memory,
    status_and_line,
)
from .python_words import in_python

P = ParamSpec("P")
R = TypeVar("R")

_OF_THE_SYSTEM = {errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EROFS, errno.EPERM}


class Theirs(Exception):
    """Carries an exception of the caller's own code, a callback, through `public`."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def public(function: Callable[P, R]) -> Callable[P, R]:
    """A public function: only errors of this package, wrong arguments and what the caller's own callbacks raise leave it.

    An error that is kept keeps no model: the variables of the frames that it went through are cleared.
    """

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            del args, kwargs
            if isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise  # the call itself does not fit the function
            raised = told(error)
            forget_variables(raised)
            if raised is error:
                raise
            raise raised from raised.__cause__

    return guarded


def told(error: Exception) -> Exception:
    """`error`, if the caller expects it, else the error of this package for it."""
    if isinstance(error, SplitRewriteError | WrongTypeError):
        return _in_python(error) if isinstance(error, ArgumentError) else error
    if isinstance(error, Theirs):
        return error.error if isinstance(error.error, Exception) else error
    found = _of_this_package(error)
    found.__cause__ = error
    return found


@contextmanager
def speaking_python() -> Iterator[None]:
    """For the time of a `with`, errors about arguments name parameters instead of options of the command line."""
    try:
        yield
    except ArgumentError as error:
        raise _in_python(error) from error.__cause__


def _in_python(error: ArgumentError) -> ArgumentError:
    """`error`, which names a parameter instead of an option of the command line from now on."""
    error.args = tuple(in_python(part) if isinstance(part, str) else part for part in error.args)
    return error


def _of_this_package(error: Exception) -> SplitRewriteError:
    line = status_and_line(error)[1]
    if is_out_of_memory(error):
        return SystemLimitError(line)
    if isinstance(error, RecursionError):
        return InvalidModelError(line)
    if isinstance(error, OSError):
        return SystemLimitError(line) if error.errno in _OF_THE_SYSTEM else SplitRewriteError(line)
    return InternalError(f"internal error: {line}; please report it")


def forget_variables(error: BaseException) -> None:
    """Clear the variables of all frames in the tracebacks of `error`, its causes and contexts. Their lines stay."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            traceback.clear_frames(each.__traceback__)
            pending += [each.__cause__, each.__context__]
