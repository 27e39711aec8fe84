"""How much memory the conversion of a model needs, so that large ones do not run side by side."""

from __future__ import annotations

import os

from ..comparison.verification import WHOLE
from ..errors import SplitRewriteError
from ..storage import read
from ..storage.source_file import data_file
from .paths import is_uri
from .task import Request, Task

_PROCESSES = 256 << 20
"""Bytes of the processes that convert, check and run, before they have a model."""
_PER_GRAPH_BYTE = 60
"""Bytes for each byte of a model without its weights: the graph, the original to compare with, and what is known of its values."""
_PER_WEIGHT_BYTE = 4
"""Bytes for each byte of weights, where both models are run as a whole: each in the file's pages and in the runtime's form."""


def memory_need(task: Task, request: Request) -> int:
    """Bytes that converting the model of `task` may take, over all its processes; a guess that is rather too high.

    Of a model at a URI nothing is known before it is there, so nothing else is to run beside it in the same bounds.
    """
    if is_uri(task.source):
        return request.memory or 0
    try:
        graph, weights = _sizes(task.source)
    except SplitRewriteError:
        return _PROCESSES  # it cannot be read, and will be refused
    runs_whole = request.compare in ("model", "required") or (request.compare == "auto" and graph + weights <= WHOLE.bytes)
    is_run = task.destination is not None and runs_whole
    return _PROCESSES + _PER_GRAPH_BYTE * graph + (_PER_WEIGHT_BYTE * weights if is_run else 0)


def _sizes(source: str) -> tuple[int, int]:
    """Bytes of the graph, and of the weights, inside and outside the model's file. Raises: SplitRewriteError."""
    skeleton = read(source)
    graph = skeleton.proto.ByteSize()
    inside = max(0, os.path.getsize(source) - graph)
    files = (data_file(skeleton.base_dir, location) for location in skeleton.locations if skeleton.base_dir)
    return graph, inside + sum(file.size for file in files)
