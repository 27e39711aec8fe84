"""Estimates how much memory the conversion of a model needs, so that large models do not run at the same time."""

from __future__ import annotations

import os

from ..comparison.verification import WHOLE
from ..errors import SplitRewriteError
from ..storage import read
from ..storage.source_file import data_file
from .paths import is_uri
from .task import Request, Task

_PROCESSES = 256 << 20
"""Bytes that the processes that convert, check and run take before they have read a model."""
_PER_GRAPH_BYTE = 60
"""Bytes of memory for each byte of a model without its weights: for the graph, for the original to compare
it with, and for the types.
"""
_PER_WEIGHT_BYTE = 4
"""Bytes of memory for each byte of weights where whole models are run: two models, each as pages of its file and in the runtime."""


def memory_need(task: Task, request: Request) -> int:
    """Estimate the bytes of memory for converting the model of `task`, over all its processes. The estimate is rather too high.

    The size of a model at a URI is unknown before it is downloaded, so it counts as the whole memory limit.
    """
    if task.model is not None:
        weights = sum(len(tensor.raw_data) for tensor in task.model.graph.initializer)
        return _need(task.model.ByteSize() - weights, weights, request, is_converted=True)
    if is_uri(task.source):
        return request.memory or 0
    try:
        graph, weights = _sizes(task.source)
    except SplitRewriteError:
        return _PROCESSES  # it cannot be read, and will be refused
    return _need(graph, weights, request, is_converted=task.destination is not None)


def _need(graph: int, weights: int, request: Request, *, is_converted: bool) -> int:
    """The bytes of memory for a model whose graph and weights have these sizes in bytes."""
    runs_whole = request.compare in ("model", "required") or (request.compare == "auto" and graph + weights <= WHOLE.bytes)
    is_run = is_converted and runs_whole
    return _PROCESSES + _PER_GRAPH_BYTE * graph + (_PER_WEIGHT_BYTE * weights if is_run else 0)


def _sizes(source: str) -> tuple[int, int]:
    """The size in bytes of the graph and of the weights, inside and outside the model's file. Raises SplitRewriteError."""
    skeleton = read(source)
    graph = skeleton.proto.ByteSize()
    inside = max(0, os.path.getsize(source) - graph)
    files = (data_file(skeleton.base_dir, location) for location in skeleton.locations if skeleton.base_dir)
    return graph, inside + sum(file.size for file in files)
