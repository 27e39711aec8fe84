"""SHA-256 digests of model files, by which a resumed run sees whether a model has changed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..errors import InvalidModelError
from ..storage.reading import data_locations
from ..storage.source_file import data_file

_CHUNK = 1 << 20  # bytes


def model_digest(path: str | os.PathLike[str]) -> str | None:
    """SHA-256 of the model file at `path` and of its external data; None where there is no such file.

    Raises: OSError where a file is there and cannot be read.
    """
    if not os.path.isfile(path):
        return None
    digest = hashlib.sha256()
    _add_file(digest, Path(path))
    try:
        locations = sorted(data_locations(path))
    except InvalidModelError:
        locations = []  # it is refused whatever its data is
    for location in locations:
        digest.update(f"\0{location}\0".encode(errors="surrogateescape"))
        try:
            _add_file(digest, data_file(Path(path).parent, location).path)
        except InvalidModelError as error:
            digest.update(str(error).encode(errors="surrogateescape"))
    return digest.hexdigest()


def _add_file(digest: hashlib._Hash, path: Path) -> None:
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
