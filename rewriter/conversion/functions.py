"""The functions of the library: each checks its arguments, and works within the caller's limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from onnx import ModelProto

from .. import calls
from ..boundary import Theirs, forget_variables, public
from ..bridge.opening import AnyModel
from ..errors import CompareError, UnconvertibleError
from ..progress import Listener
from ..report.report import Report
from ..report.summary import in_a_line
from ..storage import NamedFile
from . import arguments, driver
from .options import Comparing, Options, checked, checked_each

if TYPE_CHECKING:
    from onnx_ir import Model

M = TypeVar("M")
Path_ = str | os.PathLike[str]


class ConversionResult(NamedTuple, Generic[M]):
    """The result of a conversion: the converted `model`, of the kind that was given (a ModelProto for a path), and the `report`."""

    model: M
    report: Report

    def __repr__(self) -> str:
        return f"<ConversionResult: {in_a_line(self.report, type(self.model).__name__)}>"


@overload
def convert_version(
    model: ModelProto | Path_,
    target_opset: int | None = None,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[ModelProto]: ...
@overload
def convert_version(
    model: Model,
    target_opset: int | None = None,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[Model]: ...
@overload
def convert_version(
    model: M,
    target_opset: int | None = None,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[M]: ...
@public
def convert_version(
    model: AnyModel,
    target_opset: int | None = None,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[Any]:
    """Convert `model` to `target_opset` of the default domain.

    `model` is a path, a ModelProto, an onnx_ir.Model or a torch ONNXProgram. It is not changed, and the result is of the same kind
    (a ModelProto for a path). Sequences with known elements are removed and constant Splits are folded. `target_opset` None keeps
    the opset, or leaves the choice to the runtimes in `options.for_runtimes`. The original and the result are run and compared, as
    on the command line; `compare="off"` skips that, for speed. All other settings are in `options`. `report.comparison` says what
    could not be compared, and why; `report.warnings` has everything that the user should know.

    `timeout` is the number of seconds after which the call ends with OutOfTimeError, unless it is inside a rule or another
    function of yours. `progress` is called with the stage, the number of steps done and that of all steps; what it raises ends the
    call, and leaves it. `name` is the name of the model in log records, reports and errors; default: its path.

    Raises: UnconvertibleError with all blockers; InvalidModelError; CheckError; CompareError; OutOfTimeError; ArgumentError or
    TypeError for wrong arguments.
    """
    return _converted(model, target_opset, compare, options, timeout, progress, name)


@overload
def convert_versions(
    model: ModelProto | Path_,
    target_opsets: Iterable[int],
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> dict[int, ConversionResult[ModelProto] | UnconvertibleError | CompareError]: ...
@overload
def convert_versions(
    model: M,
    target_opsets: Iterable[int],
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> dict[int, ConversionResult[M] | UnconvertibleError | CompareError]: ...
@public
def convert_versions(
    model: AnyModel,
    target_opsets: Iterable[int],
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> dict[int, ConversionResult[Any] | UnconvertibleError | CompareError]:
    """Convert `model` to each of `target_opsets`: as `convert_version` for each, but read and checked only once.

    The results are in the order of `target_opsets`, by opset. Where a target cannot be reached, or its result differs from the
    original, its place holds the error that `convert_version` would raise. Arguments and all other errors are those of
    `convert_version`, and raised; `timeout` is for all targets together.
    """
    arguments.check_model(model)
    targets, options = checked_each(target_opsets, compare, options)
    with _call(model, name, timeout, progress):
        found = driver.convert_to_each(model, targets, compare=compare, options=options)
    for error in (done for done in found.values() if isinstance(done, Exception)):
        forget_variables(error)
    return {target: ConversionResult(*done) if isinstance(done, tuple) else done for target, done in found.items()}


@overload
def simplify(
    model: ModelProto | Path_,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[ModelProto]: ...
@overload
def simplify(
    model: M,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[M]: ...
@public
def simplify(
    model: AnyModel,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[Any]:
    """Simplify `model` at its own opset: remove sequences and fold constant Splits.

    Arguments and errors are those of `convert_version`.
    """
    return _converted(model, None, compare, options, timeout, progress, name)


@public
def convert_file(
    source: Path_,
    destination: Path_,
    target_opset: int | None,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    others: Sequence[NamedFile] = (),
    announce: Callable[[Report, Path], object] | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> Report:
    """Convert the file `source` into the file `destination`, which may be the same. It is written only after all checks have
    passed.

    `others` are further files (`NamedFile`) that the caller reads and writes; no two files may be the same. `announce` is called
    with the report and the finished temporary file, just before it is renamed to `destination`; if it raises an error, the file is
    not renamed.
    The other arguments are those of `convert_version`.
    Raises: as `convert_version`; SplitRewriteError where `destination` cannot be written or contains data of `source`. In each of
    these cases, nothing is written.
    """
    arguments.check_path("source", source)
    arguments.check_path("destination", destination)
    arguments.check_files("others", others)
    arguments.check_function("announce", announce)
    target, options = checked(target_opset, compare, options)

    def announced(done: driver.Done, path: Path) -> None:
        try:
            if announce is not None:
                announce(done.report, path)
        except Exception as error:
            raise Theirs(error) from None

    with _call(source, name, timeout, progress):
        return driver.convert_path(source, destination, target, compare=compare, options=options, others=others, announce=announced)


@overload
def round_trip(
    model: ModelProto | Path_,
    target_opset: int,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[ModelProto]: ...
@overload
def round_trip(
    model: M,
    target_opset: int,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[M]: ...
@public
def round_trip(
    model: AnyModel,
    target_opset: int,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> ConversionResult[Any]:
    """Convert `model` to `target_opset` and back to its own opset.

    The final model means the same as `model`, but may have other nodes. Arguments and errors are those of `convert_version`, for
    both directions.
    """
    arguments.check_model(model)
    target, options = checked(target_opset, compare, options)
    with _call(model, name, timeout, progress):
        there, report = driver.convert_model(model, target, compare=compare, options=options)
        return ConversionResult(*driver.convert_model(there, report.source_opset, compare=compare, options=options))


@public
def check_convertible(
    model: AnyModel,
    target_opset: int | None,
    *,
    options: Options | None = None,
    others: Sequence[NamedFile] = (),
    timeout: float | None = None,
    progress: Listener | None = None,
    name: str = "",
) -> Report:
    """Dry run: find out what `convert_version` would do and refuse, without checking, comparing or writing a result.

    The report has all blockers (if there are none, the model can be converted), and the lowest and highest opset within reach.
    `others` is as for `convert_file`, and the other arguments are those of `convert_version`.
    Raises: InvalidModelError where the input is not valid; OutOfTimeError.
    """
    arguments.check_model(model)
    arguments.check_files("others", others)
    target, options = checked(target_opset, "off", options)
    with _call(model, name, timeout, progress):
        return driver.dry_run(model, target, options=options, others=others).report


def _converted(
    model: AnyModel,
    target_opset: int | None,
    compare: Comparing,
    options: Options | None,
    timeout: float | None,
    progress: Listener | None,
    name: str,
) -> ConversionResult[Any]:
    """The result of `convert_version`, whose arguments and errors these are."""
    arguments.check_model(model)
    target, options = checked(target_opset, compare, options)
    with _call(model, name, timeout, progress):
        return ConversionResult(*driver.convert_model(model, target, compare=compare, options=options))


def _call(model: AnyModel, name: str, timeout: float | None, progress: Listener | None) -> AbstractContextManager[None]:
    """The limits of one call on `model`. Raises: ArgumentError and TypeError for wrong arguments."""
    arguments.check_call(name, timeout, progress)
    path = os.fspath(model) if isinstance(model, str | os.PathLike) else ""
    return calls.limits(name or path, timeout, progress)
