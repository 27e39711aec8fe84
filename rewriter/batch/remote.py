"""Models at URIs (s3://, sftp://, …): they are downloaded to a scratch folder with their external data, and uploaded when complete.

fsspec implements the protocols; which ones there are depends on what else is installed (s3fs for s3://, gcsfs for gs://, …).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ..errors import InvalidModelError, SplitRewriteError
from ..storage.reading import data_locations
from ..storage.source_file import location_problem
from ..storage.staging import data_names
from .paths import is_uri


class LocalFiles(NamedTuple):
    """The local paths of a model while it is converted: its source, and where the result is to be written, None for a dry run."""

    source: str
    destination: str | None


@contextmanager
def local_files(source: str, destination: str | None) -> Iterator[LocalFiles]:
    """The paths themselves where they are local; for URIs, copies in a scratch folder, whose results are uploaded at the end.

    Nothing is uploaded if the `with` ends with an exception. Raises: SplitRewriteError with one line that names the URI.
    """
    if not is_uri(source) and (destination is None or not is_uri(destination)):
        yield LocalFiles(source, destination)
        return
    with tempfile.TemporaryDirectory(prefix="split-rewrite-") as scratch:
        here = _download_model(source, Path(scratch, "input")) if is_uri(source) else source
        if destination is None or not is_uri(destination):
            yield LocalFiles(here, destination)
            return
        result = Path(scratch, "output", PurePosixPath(destination).name)
        result.parent.mkdir()
        _download_replaced(destination, result)
        before = _states(result.parent)
        yield LocalFiles(here, str(result))
        after = _states(result.parent)
        _upload({name for name in after if after[name] != before.get(name)}, result, destination)


def list_models(uri: str, suffix: str) -> list[tuple[str, str]]:
    """The files at `uri`, which is a file, folder or glob: the URI of each, and its name, or its path below the folder's parent.

    In a folder, these are the files at any depth whose names end with `suffix`. Raises: SplitRewriteError where `uri` cannot be
    read.
    """
    with _explained(uri):
        system, path = _open_system(uri)
        server = uri.rstrip("/").removesuffix(path)  # fsspec itself puts a protocol before a path again, but no host
        if any(character in path for character in "*?["):
            found = sorted(system.glob(path))
            return [(server + each, PurePosixPath(each).name) for each in found]
        if not system.isdir(path):
            return [(uri, PurePosixPath(path).name)]
        files = sorted(each for each in system.find(path) if each.endswith(suffix) and not PurePosixPath(each).name.startswith("."))
        parent = PurePosixPath(path).parent
        return [(server + each, str(PurePosixPath(each).relative_to(parent))) for each in files]


def remote_size(uri: str) -> str | None:
    """The size of the file at `uri` as text, None where there is no such file. Raises: SplitRewriteError."""
    system, path = _open_system(uri)
    with _explained(uri):
        return f"{system.size(path)} bytes" if system.isfile(path) else None


def _download_model(uri: str, folder: Path) -> str:
    system, path = _open_system(uri)
    folder.mkdir(exist_ok=True)
    copy = folder / PurePosixPath(path).name
    with _explained(uri):
        system.get_file(path, str(copy))
        with suppress(InvalidModelError):  # the conversion finds it, too, and says more
            for location in sorted(data_locations(copy)):
                if not location_problem(location):
                    _download_data(system, PurePosixPath(path).parent, folder, location)
    return str(copy)


def _download_data(system: Any, beside: PurePosixPath, folder: Path, location: str) -> None:
    there = str(beside / location)
    if not system.exists(there):
        return  # the conversion says which tensor misses it
    here = folder / location
    here.parent.mkdir(parents=True, exist_ok=True)
    system.get_file(there, str(here))


def _download_replaced(uri: str, result: Path) -> None:
    """Download the model at `uri` to the place of `result` if it has a data file, so that this file can be used again.

    As on a local disk, a data file is never replaced, since another model may need it; the data file of the old result is used
    again where it has the same data.
    """
    system, path = _open_system(uri)
    with _explained(uri):
        names = data_names(result.name)
        taken = list(takewhile(lambda name: system.exists(str(PurePosixPath(path).parent / name)), names))
        if taken and system.isfile(path):
            _download_model(uri, result.parent)
    for name in taken:
        result.with_name(name).touch()


def _states(folder: Path) -> dict[str, tuple[int, int]]:
    """Inode and modification time of each file in `folder`, by which a changed file is recognized."""
    return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in folder.iterdir() if file.is_file()}


def _upload(names: Collection[str], result: Path, uri: str) -> None:
    """Upload these files to the folder of `uri`, data files first, so that a model that others can see is complete."""
    system, path = _open_system(uri)
    parent = PurePosixPath(path).parent
    with _explained(uri):
        if names and path.startswith("/"):  # else it begins with a bucket, which nobody asked for, and has no folders
            system.makedirs(str(parent), exist_ok=True)
        for name in sorted(names, key=lambda name: name == result.name):
            _upload_file(system, result.with_name(name), str(parent / name))


def _upload_file(system: Any, file: Path, path: str) -> None:
    """Upload `file` under a temporary name and rename it to `path` when it is complete."""
    parent, name = PurePosixPath(path).parent, PurePosixPath(path).name
    temporary = str(parent / f".split-rewrite-{os.urandom(8).hex()}-{name}")
    try:
        system.put_file(str(file), temporary)
        system.mv(temporary, path)
    except BaseException:
        with suppress(Exception):
            system.rm_file(temporary)
        raise


def _open_system(uri: str) -> tuple[Any, str]:
    """The file system of `uri`, and the path in it. Raises: SplitRewriteError where no installed package supports its protocol."""
    try:
        open_uri = import_module("fsspec.core").url_to_fs  # from a package that is not always installed
    except ImportError:
        raise SplitRewriteError(f"{uri}: URIs need fsspec; pip install 'split-rewrite[remote]'") from None
    with _explained(uri):
        return open_uri(uri)


@contextmanager
def _explained(uri: str) -> Iterator[None]:
    """Turn any error of fsspec and its protocols into a SplitRewriteError whose one line names `uri`."""
    try:
        yield
    except (SplitRewriteError, MemoryError):
        raise
    except FileNotFoundError:
        raise SplitRewriteError(f"{uri}: there is no such file, folder or bucket") from None
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SplitRewriteError(f"{uri}: cannot be accessed: {reason}") from error
