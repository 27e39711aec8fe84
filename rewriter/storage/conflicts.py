"""Refuses a run that would write a file that it also reads, or write one file twice.

All files of the run, of one model or of many, are named before the first model is converted. They are told apart by what they
are and not by how they are spelled: links, `..`, and letter case where the file system ignores it, lead to the same file.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple, NoReturn

from ..errors import InvalidModelError, PathConflictError
from .paths import Identity, Path_, Place, check_destination, identity_of, is_special, place_of, temporary_path
from .reading import data_locations

INPUT, DATA_OF_INPUT = "INPUT", "the external data of INPUT"
OUTPUT, DATA_OF_OUTPUT = "OUTPUT", "the data file of OUTPUT"
DATA_OF_REPLACED = "the external data of the model that OUTPUT replaces"
INPUT_DATA, LIST, PROFILE = "a file of --input-data", "a list of inputs", "a profile of --for"
ADAPTER, PYTHON = "the module of an adapter", "the interpreter of --python"
CUSTOM_OPERATORS = "a file of --custom-ops"
KEPT = "the file of --keep-different"
REPRODUCTION = "the model that fails alike"
REPORT, PAGE_OF_MODEL, RECORD, STDOUT = "a report", "the page of a model", "the record of --resume", "the text on standard output"
"""The names of the files in messages."""

_WRITTEN = (OUTPUT, DATA_OF_OUTPUT, KEPT, REPRODUCTION, REPORT, PAGE_OF_MODEL, RECORD, STDOUT)
_OF_ONE_OF_MANY = {
    OUTPUT: "the result of {model}",
    DATA_OF_INPUT: "the external data of {model}",
    DATA_OF_OUTPUT: "the data file of the result of {model}",
    DATA_OF_REPLACED: "the external data of the earlier result of {model}",
}
"""The names of the files of one model of many, in messages."""
_OF_A_MODEL = (INPUT, DATA_OF_INPUT, OUTPUT, DATA_OF_REPLACED)


class NamedFile(NamedTuple):
    """A file, and how messages name it.

    `descriptor` is set if the file is open already; `model` is the model that it belongs to, where there are many.
    """

    role: str
    path: Path_
    descriptor: int | None = None
    model: str = ""

    @property
    def is_written(self) -> bool:
        """Whether the file is written, and not only read."""
        return self.role in _WRITTEN

    @property
    def shown(self) -> str:
        """The role of the file, as messages name it."""
        return _OF_ONE_OF_MANY.get(self.role, self.role).format(model=self.model) if self.model else self.role


def files_of_model(source: Path_, output: Path_ | None, data: Iterable[Path_], model: str = "") -> Iterator[NamedFile]:
    """The files of one conversion. `data` is the external data of `source`; `output` is None where no model is written.

    Where the result replaces another model than `source`, that model's external data counts as read: it has to stay, since the
    other model stays if the conversion fails.
    """
    yield NamedFile(INPUT, source, model=model)
    for path in data:
        yield NamedFile(DATA_OF_INPUT, path, model=model)
    if output is None:
        return
    yield NamedFile(OUTPUT, output, model=model)
    if os.path.isfile(output) and identity_of(output) != identity_of(source):
        for path in filter(os.path.exists, data_paths(output)):
            yield NamedFile(DATA_OF_REPLACED, path, model=model)


def standard_output() -> list[NamedFile]:
    """The file that standard output goes to; none where it is a terminal or a pipe."""
    return _redirected(NamedFile(STDOUT, "standard output", 1))


def standard_input(role: str) -> list[NamedFile]:
    """The file that standard input, which is read as `role`, comes from; none where it is a terminal or a pipe."""
    return _redirected(NamedFile(role, "standard input", 0))


def _redirected(file: NamedFile) -> list[NamedFile]:
    """`file`, if its descriptor leads to a regular file."""
    with suppress(OSError):
        if file.descriptor is not None and stat.S_ISREG(os.fstat(file.descriptor).st_mode):
            return [file]
    return []


def data_paths(model: Path_) -> list[Path]:
    """The paths of the external data of the model file `model`, as far as it can be read.

    Where it is not a model, or its data cannot be used, the conversion says so; here that is no error.
    """
    try:
        locations = data_locations(model)
    except (InvalidModelError, OSError, ValueError, MemoryError):
        return []
    return [Path(model).parent / location for location in sorted(locations)]


def check_apart(files: Iterable[NamedFile]) -> None:
    """Check that no file is written that is also read, or written under two names. A result may replace its own input.

    A report whose path is a link could replace a data file, so the link has to lead to a name with the ending of a report.
    Raises: PathConflictError with one line that names both files.
    """
    files = list(files)
    written = [file for file in files if file.is_written]
    known: dict[Identity, list[NamedFile]] = {}
    for file in files:
        if not file.is_written:
            known.setdefault(_identity(file), []).append(file)
    for file in written:
        others = known.setdefault(_identity(file), [])
        for other in others:
            if not _may_be_one(file, other):
                _refuse(file, other)
        others.append(file)
        if file.role in (REPORT, RECORD):
            _require_name_of_report(file.path)
    _check_data_files(files)
    _check_folders(written)


def check_destinations(files: Iterable[NamedFile]) -> None:
    """Raises SplitRewriteError where one of `files` is to be written, and no file can be written there."""
    for file in files:
        if file.is_written and file.descriptor is None:
            check_destination(file.path)


def _identity(file: NamedFile) -> Identity:
    return identity_of(file.path if file.descriptor is None else file.descriptor)


def _may_be_one(file: NamedFile, other: NamedFile) -> bool:
    """Whether two files of one identity do no harm: a result replaces its own input, or two names only seem to be one."""
    if (file.role, other.role) == (OUTPUT, INPUT) and file.model == other.model:
        return True
    if not file.model or not other.model or not other.is_written:
        return False
    return _are_told_apart(file.path, other.path)


def _are_told_apart(path: Path_, other: Path_) -> bool:
    """Whether two paths of one identity are spelled in two ways that the file system there takes for two names."""
    return os.path.realpath(path) != os.path.realpath(other) and _tells_spellings_apart(path)


def _tells_spellings_apart(path: Path_) -> bool:
    """Whether the file system at `path` takes names that differ only by case or Unicode normalization for two names.

    Only a file that is created for this question can tell. False where that is not possible.
    """
    folder = Path(os.path.realpath(path)).parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    probe = temporary_path(folder, "-\u00e9")
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except OSError:
        return False
    try:
        return not any(os.path.lexists(folder / other) for other in (probe.name.upper(), unicodedata.normalize("NFD", probe.name)))
    finally:
        with suppress(OSError):
            probe.unlink()


def _refuse(file: NamedFile, other: NamedFile) -> NoReturn:
    """Raises PathConflictError for `file`, which would be written in the place of `other`."""
    if file.model and (file.role, other.role) == (OUTPUT, OUTPUT):
        raise PathConflictError(f"{file.path}: would be the result of both {other.model} and {file.model}")
    if file.model and file.role in (OUTPUT, DATA_OF_OUTPUT) and other.role == INPUT:
        raise PathConflictError(
            f"{file.path}: the result of {file.model} would replace it, and it belongs to the input {other.path}"
        )
    raise PathConflictError(f"{file.path}: {file.shown} would replace {other.shown}, {other.path}; choose another name")


def _check_data_files(files: Sequence[NamedFile]) -> None:
    """Check that the names which each result may give to its data file are not those of other files of the run.

    A data file that exists is never replaced, so what is only read is in danger only as long as it is missing: then its reader
    would take the data of another model for its own. Raises: PathConflictError.
    """
    results = _by_place(file for file in files if file.role == OUTPUT)
    for file in files:
        if file.descriptor is not None or not (file.is_written or not os.path.exists(file.path)):
            continue
        for data in _data_at(place_of(file.path), results):
            if (file.role in _OF_A_MODEL and file.model == data.model) or _are_told_apart(file.path, data.path):
                continue
            _refuse(*((file, data) if file.is_written else (data, file)))


def _by_place(files: Iterable[NamedFile]) -> dict[Place, list[NamedFile]]:
    """The files at each place; there are several where the file system tells letter case or Unicode normalization apart."""
    places: dict[Place, list[NamedFile]] = {}
    for file in files:
        places.setdefault(place_of(file.path), []).append(file)
    return places


def _data_at(place: Place, results: Mapping[Place, Sequence[NamedFile]]) -> Iterator[NamedFile]:
    """The data files at `place` that the `results` may get."""
    device, inode, name = place
    for model in _models_with_data_at(name):
        for result in results.get((device, inode, model), ()):
            yield NamedFile(DATA_OF_OUTPUT, f"{os.fspath(result.path)}{name[len(model) :]}", model=result.model)


def _models_with_data_at(name: str) -> list[str]:
    """The names of the model files whose data file may be `name`, as `staging.data_names` gives them."""
    model = name.removesuffix(".data")
    numbered = re.fullmatch(r"(.+)\.\d+", model, re.DOTALL)
    return [] if model == name else [model, *([numbered[1]] if numbered else [])]


def _check_folders(written: Sequence[NamedFile]) -> None:
    """Check that no file is to be written into a folder in the place of which another file, or its data file, may be written."""
    places = _by_place(file for file in written if file.descriptor is None)
    results = {place: [file for file in files if file.role == OUTPUT] for place, files in places.items()}
    for (device, inode, name), files in places.items():
        for end in (index for index, letter in enumerate(name) if letter == "/"):
            place = device, inode, name[:end]
            others = [*places.get(place, ()), *_data_at(place, results)]
            for file, other in product(files, others):
                _require_folder(file, name[end:].count("/"), other)


def _require_folder(file: NamedFile, depth: int, other: NamedFile) -> None:
    """Raises PathConflictError where `other` would be the folder that is so many levels above `file`."""
    folder = os.path.realpath(file.path).rsplit(os.sep, depth)[0]
    if not _are_told_apart(folder, other.path):
        raise PathConflictError(
            f"{file.path}: {file.shown} needs a folder where {other.shown}, {other.path}, would be; choose another name"
        )


def _require_name_of_report(path: Path_) -> None:
    """Raises PathConflictError where `path` is a link to a name with another ending, even if no such file exists yet."""
    if not os.path.islink(path) or is_special(Path(path)):
        return
    ending, real = os.path.splitext(path)[1], os.path.splitext(os.path.realpath(path))[1]
    if real.lower() != ending.lower():
        raise PathConflictError(f"{path}: is a link to {os.readlink(path)}, which is not a {ending} file; choose another name")
