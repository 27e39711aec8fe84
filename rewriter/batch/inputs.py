"""Finds the models that the arguments name, and where the result of each goes, by the conventions of `cp`.

Everything that is wrong with the arguments is reported before any model is converted.
"""

from __future__ import annotations

import glob
import os
import posixpath
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from ..errors import SplitRewriteError
from .paths import LIST, is_folder, is_glob, is_uri, names_many
from .remote import list_models
from .task import Task

SUFFIX = ".onnx"
"""The suffix by which models are recognized in folders."""
_MOST_BYTES = 64 << 20
"""The size in bytes of the longest list of models that is read."""


class _Found(NamedTuple):
    """A model, and its path relative to what the user named: the file's own name, or the folder's name and the path below it."""

    source: str
    name: str


def plan(inputs: Sequence[str], into: str | None, in_place: bool = False) -> list[Task]:
    """Make a task for each model that `inputs` name: files, folders, globs, @lists and URIs.

    `into` is the folder for the results, or None for a dry run. Where the only input is a file and `into` is not a folder, `into`
    is the file to write. A file that is named twice is one task.
    Raises: SplitRewriteError where no model is found, two results would have the same path, or a result would replace an input
    although nobody asked for that by its name or by `in_place`.
    """
    if "-" in (*inputs, into):
        raise SplitRewriteError("- reads one model, but there are several inputs; @- reads a list of paths from standard input")
    found = list(dict.fromkeys(each for path in inputs for each in _expand(path, skip=into)))
    if not found:
        raise SplitRewriteError(f"there are no models ({SUFFIX} files) in {', '.join(inputs) or 'what was given'}")
    if in_place:
        tasks = [Task(each.source, each.source, each.name) for each in found]
    elif into is None:
        tasks = [Task(each.source, None, each.name) for each in found]
    elif _is_file_for(inputs, into):
        tasks = [Task(found[0].source, into, found[0].name)]
    else:
        _require_folder(into)
        tasks = [Task(each.source, _join(into, each.name), each.name) for each in found]
    distinct: dict[tuple[str, str | None], Task] = {}
    for task in tasks:
        distinct.setdefault(_files(task), task)
    _refuse_collisions(distinct.values())
    if not in_place and into is not None and not _is_file_for(inputs, into):
        _refuse_to_replace_inputs(distinct.values(), into)
    return list(distinct.values())


def _is_file_for(inputs: Sequence[str], into: str) -> bool:
    if len(inputs) != 1 or names_many(inputs[0]) or is_folder(into):
        return False
    return not is_uri(into) or into.endswith(SUFFIX)


def _require_folder(into: str) -> None:
    """Raises SplitRewriteError where `into` is not a folder. A new name that ends in .onnx is taken for a missing input."""
    is_new_folder = not os.path.lexists(into.rstrip(os.sep)) and not into.endswith(SUFFIX)
    if not (is_uri(into) or os.path.isdir(into) or is_new_folder):
        raise SplitRewriteError(f"{into}: is not a folder; name one for the results of several models")


def _expand(path: str, skip: str | None) -> Iterator[_Found]:
    """The models that `path` names. In folders, nothing below the folder `skip` counts."""
    if path.startswith(LIST):
        for line in _lines(path[len(LIST) :]):
            yield from _expand(line, skip)
    elif is_uri(path):
        yield from (_Found(*each) for each in list_models(path, SUFFIX))
    elif os.path.isdir(path):
        yield from _models_below(path, skip)
    elif is_glob(path):
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            raise SplitRewriteError(f"{path}: nothing matches")
        for match in matches:
            yield from _expand(match, skip) if os.path.isdir(match) else [_Found(match, os.path.basename(match))]
    else:
        yield _Found(path, os.path.basename(path))


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
    skipped = None if skip is None or is_uri(skip) else os.path.realpath(skip)
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and os.path.realpath(os.path.join(root, f)) != skipped)
        for name in sorted(files):
            if name.endswith(SUFFIX) and not name.startswith("."):
                source = os.path.join(root, name)
                yield _Found(source, Path(prefix, os.path.relpath(source, folder)).as_posix())


def _join(into: str, name: str) -> str:
    return posixpath.join(into, name) if is_uri(into) else os.path.join(into, *name.split("/"))


def _refuse_to_replace_inputs(tasks: Iterable[Task], into: str) -> None:
    """Raises SplitRewriteError where the result of a task that goes to the folder `into` would replace the model itself."""
    for task in tasks:
        assert task.destination is not None
        if _identity(task.source) == _identity(task.destination):
            advice = "name another folder, or use --in-place without a folder (in_place=True in Python)"
            raise SplitRewriteError(f"{task.source}: its result in the folder '{into}' would replace it; {advice}")


def _refuse_collisions(tasks: Iterable[Task]) -> None:
    """Raises SplitRewriteError where a result or its data file would replace another result, or the input of another task."""
    tasks = [task for task in tasks if task.destination is not None]
    readers: dict[str, Task] = {}
    for task in tasks:
        readers.setdefault(_identity(task.source), task)
    writers: dict[str, Task] = {}
    for task in tasks:
        assert task.destination is not None
        for place, identity in _written(task.destination):
            other = writers.setdefault(identity, task)
            if other is not task:
                raise SplitRewriteError(f"{place}: would be the result of both {other.source} and {task.source}")
            reader = readers.get(identity, task)
            if reader.source != task.source:
                taken = f"the result of {task.source} would replace it, and it belongs to the input {reader.source}"
                raise SplitRewriteError(f"{place}: {taken}")


def _files(task: Task) -> tuple[str, str | None]:
    """The identities of the file that a task reads and of the file that it writes."""
    return _identity(task.source), task.destination and _identity(task.destination)


def _written(destination: str) -> Iterator[tuple[str, str]]:
    """The result and its data file: how messages call each, and its identity."""
    identity = _identity(destination)
    yield destination, identity
    yield f"{destination}.data", f"{identity}.data"


def _identity(path: str) -> str:
    """A text that is the same for all paths to one file.

    Links are resolved, because writing to a link replaces the file it points to.
    """
    return path if is_uri(path) else os.path.normcase(os.path.realpath(path))
