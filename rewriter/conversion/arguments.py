"""Checks of the arguments of the library's functions, made before any work, so that the error shows where the slip was made.

A value of a wrong type is a TypeError; a value that is not possible is an ArgumentError, which is a ValueError. Messages show at
most a few words of the value, as it may be a model of a gigabyte.
"""

from __future__ import annotations

import itertools
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ..boundary import Theirs
from ..bridge.opening import is_of_library, is_pattern, is_pattern_set
from ..comparison.judging.tolerance import Tolerance
from ..engine.registry import RuleFunction
from ..errors import ArgumentError, WrongTypeError, shortened
from ..storage.conflicts import NamedFile

if TYPE_CHECKING:
    from onnxscript.rewriter import RewriteRule

LONGEST_PATH = 4096
"""The number of characters that a path may have at most.

No system takes a longer path, so a longer text was passed as a path by mistake.
"""


def check_model(model: object) -> None:
    """Raises TypeError where `model` is not something that can be converted, ArgumentError where it is a path that cannot exist."""
    if isinstance(model, onnx.ModelProto) or is_of_library(model):
        return
    if isinstance(model, bytes | bytearray | memoryview):
        raise WrongTypeError(f"model has to be {_MODELS}, not bytes: onnx.load_model_from_string reads a serialized model")
    if hasattr(model, "read"):
        raise WrongTypeError(f"model has to be {_MODELS}, not an open file ({_kind(model)}): pass its path")
    _check_path("model", model, _MODELS)


_MODELS = "a path, a ModelProto, an onnx_ir.Model or a torch ONNXProgram"


def check_path(name: str, path: object) -> None:
    """Raises TypeError where `path` is not a path of text, ArgumentError where no file can have this path."""
    _check_path(name, path, "a path (str or os.PathLike)")


def _check_path(name: str, path: object, expected: str) -> None:
    """Raises TypeError where `path` is not a path of text, with `expected` in the message; ArgumentError
    where no file can have this path.
    """
    if not isinstance(path, str | os.PathLike):
        raise WrongTypeError(f"{name} has to be {expected}, not {_kind(path)}")
    try:
        text = os.fspath(path)
    except Exception as error:  # of the caller's class
        raise WrongTypeError(f"{name} has to be {expected}, and asked for one this {_kind(path)} fails: {error}") from error
    if not isinstance(text, str):
        raise WrongTypeError(f"{name} has to be {expected}, not a path of bytes")
    if not text or len(text) > LONGEST_PATH or "\0" in text or not _can_be_encoded(text):
        raise ArgumentError(f"{name} is not a path: {shortened(text)!r}")


def _can_be_encoded(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def paths(name: str, value: object) -> list[str]:
    """Return `value` as a list of paths.

    Raises TypeError where it is a single path or contains anything else; ArgumentError as `check_path`.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise WrongTypeError(f"{name} has to be a collection of paths, not {_shown(value)}")
    found = list(value)
    for one in found:
        check_path(f"each of {name}", one)
    return [os.fspath(one) for one in found]


def models(name: str, value: Mapping[Any, Any]) -> dict[str, onnx.ModelProto]:
    """Return `value` as a mapping of names to models. Raises TypeError where it is none."""
    for one, model in value.items():
        if not isinstance(one, str) or not isinstance(model, onnx.ModelProto):
            raise WrongTypeError(f"{name} has to map names to ModelProtos, not {_shown(one)} to {_kind(model)}")
    return dict(value)


def check_call(name: object, timeout: object, progress: object) -> None:
    """Raises TypeError and ArgumentError where the limits of a call are not possible."""
    check_kind("name", name, str, "a str")
    check_limit("timeout", timeout)
    check_function("progress", progress)


def check_function(name: str, value: object) -> None:
    """Raises TypeError where `value` is neither a function nor None."""
    if value is not None and not callable(value):
        raise WrongTypeError(f"{name} has to be a function or None, not {_shown(value)}")


def check_files(name: str, value: object) -> None:
    """Raises TypeError where `value` is not a sequence of files with the names that messages give them."""
    is_sequence = isinstance(value, Sequence) and not isinstance(value, str | bytes | NamedFile)
    wrong = [one for one in value if not isinstance(one, NamedFile)] if isinstance(value, Sequence) and is_sequence else [value]
    if wrong:
        raise WrongTypeError(f"{name} has to be a sequence of NamedFile, as NamedFile('my file', path), not of {_shown(wrong[0])}")


def check_limit(name: str, value: object) -> None:
    """Raises TypeError where `value` is neither a number nor None, ArgumentError where it is not above 0."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongTypeError(f"{name} has to be a number or None, not {_shown(value)}")
    if not value > 0:
        raise ArgumentError(f"{name} has to be above 0, not {_shown(value)}")
    if isinstance(value, int) and value > _LARGEST:
        raise ArgumentError(f"{name} is too large")


_LARGEST = 1 << 62
"""A number above all that arguments can mean."""


def integer(name: str, value: object) -> int | None:
    """Return `value` as an int, and None as None. Raises TypeError for anything that is not an integer, and for a bool."""
    return None if value is None else _integer(name, value, "an integer or None")


def _integer(name: str, value: object, expected: str = "an integer") -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise WrongTypeError(f"{name} has to be {expected}, not {_shown(value)}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:  # an array of several numbers
        raise WrongTypeError(f"{name} has to be {expected}, not {_kind(value)}") from None
    if abs(number) > _LARGEST:
        raise ArgumentError(f"{name} is too large")
    return number


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raises TypeError where `value` is not a str, ArgumentError where it is not one of `choices`."""
    expected = " or ".join(filter(None, [", ".join(map(repr, choices[:-1])), repr(choices[-1])]))
    if not isinstance(value, str):
        raise WrongTypeError(f"{name} has to be {expected}, not {_shown(value)}")
    if value not in choices:
        raise ArgumentError(f"{name} has to be {expected}, not {_shown(value)}")


def check_kind(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Raises TypeError where `value` is not an instance of `kind`; `expected` describes that in the message."""
    if not isinstance(value, kind):
        raise WrongTypeError(f"{name} has to be {expected}, not {_shown(value)}")


def rule_names(name: str, value: object) -> frozenset[str]:
    """Return `value` as a set of rule names. Raises TypeError where it is a single str or contains anything else."""
    return frozenset(_names(name, value, "rule"))


def runtime_names(name: str, value: object) -> tuple[str, ...]:
    """Return `value` as a tuple of runtime names. Raises TypeError where it is a single str or contains anything else."""
    return _names(name, value, "runtime")


def _names(name: str, value: object, of: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise WrongTypeError(f"{name} has to be a collection of names of {of}s, not {_shown(value)}")
    names = tuple(value)
    for one in names:
        check_kind(f"each of {name}", one, str, f"the name of a {of}")
    return names


def texts(name: str, value: object) -> dict[str, str]:
    """Return `value`, a mapping of text to text, as a dict. Raises TypeError where it is anything else."""
    check_kind(name, value, Mapping, "a mapping of names of values to types")
    assert isinstance(value, Mapping)
    for key, text in value.items():
        check_kind(f"{name}[{_shown(key)}]", text, str, "a type as in 'float[N,64]'")
    return dict(value)


def rules(name: str, value: object) -> tuple[str | RuleFunction | RewriteRule, ...]:
    """Return `value` as a tuple of onnxscript rules, functions, and names of rules that packages offer.

    Raises TypeError where it is a single one of these, or contains anything else.
    """
    expected = "a collection of onnxscript's RewriteRules, of functions and of names by which packages offer some"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise WrongTypeError(f"{name} has to be {expected}, not {_shown(value)}")
    found = tuple(itertools.chain.from_iterable(one if is_pattern_set(one) else (one,) for one in value))
    for one in found:
        if not is_pattern(one) and not callable(one):
            check_kind(f"each of {name}", one, str, "a RewriteRule, a function or the name by which a package offers some")
    return found


def shapes(name: str, value: object) -> dict[str, tuple[int, ...]]:
    """Return `value`, a mapping of input names to dimensions, with the dimensions as plain ints.

    Raises TypeError where it is anything else.
    """
    check_kind(name, value, Mapping, "a mapping of input names to dimensions")
    assert isinstance(value, Mapping)
    expected = "a sequence of dimensions"
    return {key: integers(f"{name}[{_shown(key)}]", dims, expected, "dimension") for key, dims in value.items()}


def check_tolerance(value: object) -> None:
    """Raises TypeError where `value` is not a Tolerance of numbers, ArgumentError where a bound is negative, infinite or NaN."""
    check_kind("tolerance", value, Tolerance, "a Tolerance")
    assert isinstance(value, Tolerance)
    for name in ("rtol", "atol"):
        _check_bound(f"tolerance.{name}", getattr(value, name))
        bounds = getattr(value, f"{name}_of")
        check_kind(f"tolerance.{name}_of", bounds, Mapping, "a mapping of output names to numbers")
        for output, bound in bounds.items():
            _check_bound(f"tolerance.{name}_of[{_shown(output)}]", bound)


def _check_bound(name: str, value: object) -> None:
    """Raises TypeError where `value` is neither a number nor None, ArgumentError where it is negative, infinite or NaN."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongTypeError(f"{name} has to be a number or None, not {_shown(value)}")
    if not 0 <= float(value) < math.inf:
        raise ArgumentError(f"{name} has to be a number from 0 on, not {_shown(value)}")


def check_samples(value: object) -> None:
    """Raises TypeError where `value` is not a Samples or a field has the wrong type; ArgumentError for a negative seed."""
    from ..comparison.inputs.samples import Samples

    check_kind("samples", value, Samples, "Samples or None")
    assert isinstance(value, Samples)
    shapes("samples.shapes", value.shapes)
    seed = _integer("samples.seed", value.seed)
    if seed < 0:
        raise ArgumentError(f"samples.seed has to be 0 or more, not {_shown(value.seed)}")
    check_kind("samples.data", value.data, Sequence, "a sequence of samples, each a mapping of input names to arrays")
    for sample in value.data:
        check_kind("each of samples.data", sample, Mapping, "a mapping of input names to arrays")
        for input_name, array in sample.items():
            check_kind(f"samples.data for {shortened(str(input_name))}", array, (np.ndarray, np.generic), "a numpy array")


def integers(name: str, value: object, expected: str, one: str) -> tuple[int, ...]:
    """Return `value`, a collection of integers, as a tuple of plain ints. Raises TypeError where it is anything else.

    `expected` and `one` describe the collection and an element of it in the message.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise WrongTypeError(f"{name} has to be {expected}, not {_shown(value)}")
    try:
        given = list(value)
    except Exception as error:  # of the caller's generator
        raise Theirs(error) from None
    return tuple(_integer(f"each {one} of {name}", each) for each in given)


def _shown(value: object) -> str:
    """A value as an error message shows it: scalars and short text as Python writes them, everything else by its type."""
    if value is None or isinstance(value, bool | int | float):
        return shortened(repr(value))
    return repr(shortened(value)) if isinstance(value, str) else _kind(value)


def _kind(value: Any) -> str:
    """The type of `value` by its full name, such as "numpy.ndarray", or "None"."""
    if value is None:
        return "None"
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
