"""Finds the models that the arguments name, and where the result of each goes, by the conventions of `cp`.

Everything that is wrong with the arguments is reported before any model is converted.
"""

from __future__ import annotations

import glob
import os
import posixpath
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from ..errors import SplitRewriteError
from ..storage import LIST as LIST_ROLE
from ..storage import NamedFile, check_apart, data_paths, files_of_model, identity_of, standard_input
from ..storage.paths import Identity, is_special
from .paths import LIST, is_folder, is_glob, is_local_uri, is_uri, local_path, names_many
from .remote import list_models
from .task import Task

SUFFIX = ".onnx"
"""The suffix by which models are recognized in folders."""
_MOST_BYTES = 64 << 20
"""The size in bytes of the longest list of models that is read."""
_MOST_LISTS = 500
"""The number of lists that are read at most: a list may name others, and so itself."""


class _Found(NamedTuple):
    """A model, and its path relative to what the user named: the file's own name, or the folder's name and the path below it.

    Where a folder cannot be read or a file is none to read, `source` is its path, and `problem` the message about it.
    """

    source: str
    name: str
    problem: str = ""


Others = Callable[[Sequence[Task]], Iterable[NamedFile]]
"""A function of the tasks that returns the other files which the run reads and writes."""


def plan(inputs: Sequence[str], into: str | None, in_place: bool = False, others: Others = lambda tasks: ()) -> list[Task]:
    """Make a task for each model that `inputs` name: files, folders, globs, @lists and URIs.

    `into` is the folder for the results, or None for a dry run. Where the only input is a file and `into` is not a folder, `into`
    is the file to write. A file that is named twice is one task. A folder that cannot be read is a task, too, with a `problem`.
    Raises: SplitRewriteError where no model is found; where a file would be written that the run also reads, or written twice; or
    where a result would replace an input although nobody asked for that by its name or by `in_place`.
    """
    if "-" in (*inputs, into):
        raise SplitRewriteError("- reads one model, but there are several inputs; @- reads a list of paths from standard input")
    lists: list[str] = []
    found = list(dict.fromkeys(each for path in inputs for each in _expand(path, into, lists)))
    if not found:
        raise SplitRewriteError(f"there are no models ({SUFFIX} files) in {', '.join(inputs) or 'what was given'}")
    is_file = into is not None and _is_file_for(inputs, found, into)
    if into is not None and not in_place and not is_file:
        _require_folder(into)
    distinct: dict[tuple[str, str | None], Task] = {}
    for each in found:
        task = _task(each, each.source if in_place else into, is_file or in_place)
        distinct.setdefault(_files(task), task)
    tasks = list(distinct.values())
    files = [file for task in tasks for file in _files_of(task)]
    check_apart([*files, *(file for path in lists for file in _files_of_list(path)), *others(tasks)])
    if not in_place and into is not None and not is_file:
        _refuse_to_replace_inputs(tasks, into)
    return tasks


def _task(found: _Found, into: str | None, is_file: bool) -> Task:
    """The task for a model. `into` is where the result goes: the file itself if `is_file`, else the folder; None for a dry run."""
    if into is None or found.problem:
        return Task(found.source, None, found.name, problem=found.problem)
    return Task(found.source, into if is_file else _join(into, found.name), found.name)


def _files_of(task: Task) -> Iterator[NamedFile]:
    """The files that are read and written for `task`. The data of a model at a URI is not known before it is downloaded."""
    if task.problem:
        return
    source, destination = local_path(task.source), task.destination and local_path(task.destination)
    yield from files_of_model(source, destination, () if is_uri(source) else data_paths(source), model=task.source)


def _files_of_list(path: str) -> list[NamedFile]:
    """The file that the list `path` is read from; none for a pipe at standard input."""
    return standard_input(LIST_ROLE) if path == "-" else [NamedFile(LIST_ROLE, path)]


def _is_file_for(inputs: Sequence[str], found: Sequence[_Found], into: str) -> bool:
    """Whether `into` is the file to write: then the only input is a file, which was `found` under its own name."""
    if len(inputs) != 1 or names_many(inputs[0]) or is_folder(into) or found[0].source != inputs[0]:
        return False
    return not is_uri(into) or into.endswith(SUFFIX)


def _require_folder(into: str) -> None:
    """Raises SplitRewriteError where `into` is not a folder. A new name that ends in .onnx is taken for a missing input."""
    is_new_folder = not os.path.lexists(into.rstrip(os.sep)) and not into.endswith(SUFFIX)
    if not (is_uri(into) or os.path.isdir(into) or is_new_folder):
        raise SplitRewriteError(f"{into}: is not a folder; name one for the results of several models")


def _expand(path: str, skip: str | None, lists: list[str]) -> Iterator[_Found]:
    """The models that `path` names. In folders, nothing below the folder `skip` counts. The lists that are read join `lists`."""
    if path.startswith(LIST):
        lists.append(path[len(LIST) :])
        if len(lists) > _MOST_LISTS:
            raise SplitRewriteError(f"{path}: there are more than {_MOST_LISTS} lists; does one name itself?")
        for line in _lines(path[len(LIST) :]):
            yield from _expand(line, skip, lists)
    elif is_local_uri(path):
        yield from _at_local_uri(path, skip)
    elif is_uri(path):
        yield from (_Found(*each) for each in list_models(path, SUFFIX))
    elif os.path.isdir(path):
        yield from _models_below(path, skip)
    elif is_glob(path):
        yield from _matching(path, skip)
    else:
        yield _Found(path, os.path.basename(path))


def _at_local_uri(uri: str, skip: str | None) -> Iterator[_Found]:
    """The models at a URI of this system, found as those at a path are. fsspec leaves out what it cannot read without a word."""
    path = local_path(uri)
    if os.path.isdir(path):
        found = _models_below(path, skip)
    elif is_glob(path):
        found = _matching(path, skip)
    else:
        yield _Found(uri, os.path.basename(path))
        return
    protocol = uri.partition("://")[0]
    for each in found:
        source = f"{protocol}://{each.source}"
        yield each._replace(source=source, problem=each.problem.replace(each.source, source, 1))


def _matching(pattern: str, skip: str | None) -> Iterator[_Found]:
    """The models that match `pattern`, and the folders that could not be searched. Nothing in the folder `skip` counts.

    Raises: SplitRewriteError where nothing matches.
    """
    matches = sorted(glob.glob(pattern, recursive=True))
    unread = list(_unreadable_folders(pattern))
    if not matches and not unread:
        raise SplitRewriteError(f"{pattern}: nothing matches")
    skipped = None if skip is None else identity_of(local_path(skip))
    depth = _searched_from(pattern.split(os.sep))
    for match in matches:
        parts = match.split(os.sep)
        if any(_is_folder_at(os.sep.join(parts[:end]), skipped) for end in range(depth + 1, len(parts) + 1)):
            continue
        yield from _models_below(match, skip) if os.path.isdir(match) else [_file(match, os.path.basename(match))]
    yield from unread


def _searched_from(parts: Sequence[str]) -> int:
    """The number of folders at the beginning of a pattern that are named, and not searched for."""
    return next(index for index, part in enumerate(parts) if glob.has_magic(part))


def _is_folder_at(path: str, identity: Identity | None) -> bool:
    return identity is not None and identity_of(path) == identity


def _file(source: str, name: str) -> _Found:
    """The file `source`, found in a search. One that is no regular file, as a pipe is, has a problem: opening it could block."""
    return _Found(source, name, f"{source}: is not a regular file" if is_special(Path(source)) else "")


def _unreadable_folders(pattern: str) -> Iterator[_Found]:
    """The folders that `pattern` has to look into and that cannot be read, which `glob` leaves out without a word."""
    parts = pattern.split(os.sep)
    first = _searched_from(parts)
    folders = {os.sep.join(parts[:index]) for index in range(first, len(parts))}
    folders |= {os.sep.join(parts[: index + 1]) for index, part in enumerate(parts) if part == "**"}
    seen: set[str] = set()
    for prefix in sorted(folders):
        for folder in sorted(glob.glob(os.path.join(prefix, ""), recursive=True)) if prefix else [os.curdir]:
            plain = os.path.normpath(folder)
            problem = "" if plain in seen else _problem_of(plain)
            seen.add(plain)
            if problem:
                yield _Found(plain, os.path.basename(plain), problem)


def _problem_of(folder: str) -> str:
    """The message about a folder whose entries cannot be listed or looked at; "" where they can."""
    try:
        with os.scandir(folder):
            os.stat(os.path.join(folder, os.curdir))
    except OSError as error:
        return _unreadable(folder, error)
    return ""


def _unreadable(folder: str, error: OSError) -> str:
    return f"{folder}: cannot be read: {error.strerror or error}"


def _lines(file: str) -> list[str]:
    """The paths in a list file: one on each line, or, for names that may contain newlines, each ended by a NUL character.

    Raises: SplitRewriteError where the list cannot be read.
    """
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SplitRewriteError(f"{LIST}{file}: the list cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > _MOST_BYTES:
        raise SplitRewriteError(f"{LIST}{file}: the list is longer than {_MOST_BYTES >> 20} MiB; split it")
    lines = data.split(b"\0") if b"\0" in data else data.splitlines()
    return [os.fsdecode(line) for line in lines if line.strip()]


def _models_below(folder: str, skip: str | None) -> Iterator[_Found]:
    """The models in `folder` at any depth.

    Links to files are followed; links to folders and hidden files and folders are left out.
    """
    base = os.path.basename(folder.rstrip(os.sep))
    prefix = "" if base in ("", os.curdir, os.pardir) else base
    skipped = None if skip is None else identity_of(local_path(skip))
    unread: list[OSError] = []
    for root, folders, files in os.walk(_without_dots(folder), onerror=unread.append):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and identity_of(os.path.join(root, f)) != skipped)
        for name in sorted(files):
            if name.endswith(SUFFIX) and not name.startswith("."):
                source = os.path.join(root, name)
                yield _file(source, Path(prefix, os.path.relpath(source, folder)).as_posix())
    for error in unread:
        source = os.fspath(error.filename or folder)
        yield _Found(source, Path(prefix, os.path.relpath(source, folder)).as_posix(), _unreadable(source, error))


def _without_dots(folder: str) -> str:
    """`zoo` for `zoo/.`, which only says that the results do not go into a folder `zoo`."""
    while folder.rstrip(os.sep).endswith(f"{os.sep}{os.curdir}"):
        folder = folder.rstrip(os.sep)[:-1]
    return folder


def _join(into: str, name: str) -> str:
    return posixpath.join(into, name) if is_uri(into) else os.path.join(into, *name.split("/"))


def _refuse_to_replace_inputs(tasks: Iterable[Task], into: str) -> None:
    """Raises SplitRewriteError where the result of a task that goes to the folder `into` would replace the model itself."""
    for task in tasks:
        if task.destination is not None and identity_of(local_path(task.source)) == identity_of(local_path(task.destination)):
            advice = "name another folder, or use --in-place without a folder (in_place=True in Python)"
            raise SplitRewriteError(f"{task.source}: its result in the folder '{into}' would replace it; {advice}")


def _files(task: Task) -> tuple[str, str | None]:
    """The paths of the file that a task reads and of the file that it writes, without links.

    Hard links are different names, and each of them is to be converted.
    """
    return _real(task.source), task.destination and _real(task.destination)


def _real(path: str) -> str:
    return path if is_uri(path) and not is_local_uri(path) else os.path.normcase(os.path.realpath(local_path(path)))
