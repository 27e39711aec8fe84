"""Sparse initializers, which runtimes take for dense tensors, as such tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from onnx import GraphProto, SparseTensorProto, TensorProto, numpy_helper

from ..engine.outcome import Remark
from ..onnx_model.protos import GraphLike
from ..storage.skeleton import Skeleton

MOST_ELEMENTS = 1 << 24
"""The number of elements up to which a sparse initializer is written out."""


def make_dense(skeleton: Skeleton, graphs: Sequence[GraphLike]) -> Iterator[Remark]:
    """Write sparse initializers as dense ones, in place, unless they are too large, or their places are not in them.

    `graphs` are all graphs of the model. Yields a warning for each.
    """
    for graph in [graph for graph in graphs if isinstance(graph, GraphProto)]:
        for sparse in list(graph.sparse_initializer):
            dense = _dense(skeleton, sparse)
            if dense is not None:
                graph.initializer.append(dense)
                graph.sparse_initializer.remove(sparse)
                message = "it is sparse, and the nodes that read it take dense tensors: it is dense now, as runtimes read it"
                yield Remark("warning", "Initializer", sparse.values.name, "model", message)


def _dense(skeleton: Skeleton, sparse: SparseTensorProto) -> TensorProto | None:
    dims = tuple(sparse.dims)
    if prod(dims) > MOST_ELEMENTS or min(dims, default=1) < 1:
        return None
    try:
        values, places = skeleton.array(sparse.values), skeleton.array(sparse.indices)
        at = np.unravel_index(places, dims) if places.ndim == 1 else tuple(places.T)
        dense = np.zeros(dims, values.dtype)
        dense[at] = values
    except (ValueError, IndexError, TypeError):
        return None
    return None if places.size and places.min() < 0 else numpy_helper.from_array(dense, sparse.values.name)
