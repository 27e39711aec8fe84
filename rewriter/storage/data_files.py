"""What a report says about the files beside a model that hold its weights."""

from __future__ import annotations

from typing import NamedTuple

from ..sizes import shown_size


class DataFiles(NamedTuple):
    """The files with the weights of a result: their names, relative to its folder, and their size in bytes together.

    `is_new` says whether the conversion wrote them, or the result uses those of the input.
    """

    names: tuple[str, ...]
    size: int
    is_new: bool

    def __str__(self) -> str:
        where = ", ".join(self.names)
        return f"in {where} ({shown_size(self.size)})" if self.is_new else f"stay in {where} ({shown_size(self.size)})"
