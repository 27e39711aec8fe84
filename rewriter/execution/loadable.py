"""Finds the opsets that the installed onnxruntime loads, by trying: it refuses opsets that came after its release."""

from __future__ import annotations

import importlib.util
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from onnx import TensorProto, helper

from ..opsets.transitions import newest_opset
from ..process.child import are_started
from ..storage import stage
from ..storage.skeleton import Skeleton

LOADED_BY_ALL = 21
"""The newest opset that every supported onnxruntime loads, so that nothing has to be tried up to here."""


def latest_opset() -> int:
    """The newest opset that the installed onnx knows, and that the installed onnxruntime, if there is one, loads."""
    return newest_loadable() or newest_opset()


def not_loaded(opset: int | None) -> str:
    """A warning where the installed onnxruntime does not load models of `opset`, else ""."""
    if opset is None or opset <= LOADED_BY_ALL:
        return ""
    newest = newest_loadable()
    if newest is None or opset <= newest:
        return ""
    return f"the installed onnxruntime does not load opset {opset}, but {newest} and older"


def newest_loadable() -> int | None:
    """The newest opset that onnx knows and onnxruntime loads; None where onnxruntime cannot be asked, or loads no test model."""
    return _newest_loadable() if can_be_asked() else None


def can_be_asked() -> bool:
    """Whether onnxruntime is installed, and child processes are started, in which it can load a model."""
    return are_started() and importlib.util.find_spec("onnxruntime") is not None


@cache
def _newest_loadable() -> int | None:
    opsets = range(newest_opset(), LOADED_BY_ALL - 1, -1)
    with TemporaryDirectory() as folder:
        return next((opset for opset in opsets if _loads(opset, Path(folder, "probe.onnx"))), None)


_SECONDS = 30.0
"""The time that a model may take to load."""


def loads(skeleton: Skeleton, *, is_as_in_file: bool = False) -> bool:
    """Whether the installed onnxruntime loads the model; False where it cannot be asked.

    `is_as_in_file` says that the file of the skeleton, if it has one, holds this model unchanged.
    """
    if not can_be_asked():
        return False
    from .messages import Failure
    from .model_client import Worker

    with TemporaryDirectory() as folder, ExitStack() as stack, Worker(_SECONDS) as worker:
        path = (skeleton.path if is_as_in_file else None) or stack.enter_context(stage(skeleton, Path(folder, "model.onnx"))).path
        with worker.open(path) as session:
            answer = session.run({})
    return not isinstance(answer, Failure) or answer.kind == "runtime"  # it lacks its inputs


def _loads(opset: int, path: Path) -> bool:
    """Whether onnxruntime loads a model with one Identity at `opset`, which is written to `path`."""
    from .messages import Outputs
    from .model_client import lent_worker  # with all that runs models

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "probe", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    with lent_worker() as worker:
        return isinstance(worker.run(path, {"x": np.zeros(1, np.float32)}), Outputs)
