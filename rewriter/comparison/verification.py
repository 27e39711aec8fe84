"""Chooses how a conversion is compared: by whole models if they are small enough to run, else node by node."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..errors import ArgumentError
from ..execution.model_client import lent_worker
from ..storage import stage
from ..storage.payload import is_cut, is_external, raw_length
from ..storage.skeleton import Skeleton
from ..structure import inlining
from ..structure.function_calls import nodes_run
from ..structure.specialization import with_values
from ..structure.text_names import names_explained
from .by_model import compare, run_usual
from .by_region import compare_nodes
from .inputs.samples import Samples
from .judging.tolerance import Tolerance, of_other_kernels
from .original import Original
from .runs import Run
from .settings import Settings
from .verdicts import Comparison, joined


class Size(NamedTuple):
    """The size up to which a model fits: bytes in the file and in external data, and nodes, those of functions for every call."""

    bytes: int
    nodes: int


WHOLE = Size(256 << 20, 10_000)
"""The size up to which models are run as a whole."""
THOROUGH = Size(16 << 20, 1_000)
"""The size up to which whole models are run on many choices of inputs."""


class Files(NamedTuple):
    """The files that hold the models exactly as they are; None for a model that is in no file."""

    original: Path | None = None
    result: Path | None = None


class Originals(NamedTuple):
    """The unconverted model, and the same with those functions specialized or inlined that are so in the result, if there are any.

    Only `whole` is run as a whole. Nodes of `specialized`, if it is not None, are compared with those of the result one by one.
    `stated` writes the types that the user states into one of them, or returns it as it is: parts run on inputs of these types.
    """

    whole: Original
    specialized: Skeleton | None = None
    stated: Callable[[Skeleton], Skeleton] = lambda skeleton: skeleton


class Verified(NamedTuple):
    """The result of running the model in another runtime, "openvino 2024.2.0".

    It agreed on this number of `samples`, within the bounds `rtol` and `atol`, which are those of `runtimes.agreement`.
    `as_original`: the original gives the same there, and both give something else than the original in onnxruntime.
    """

    runtime: str
    samples: int
    rtol: float
    atol: float
    as_original: bool = False

    def __str__(self) -> str:
        equal = "equal to the original there, not to that in onnxruntime:" if self.as_original else "equal in"
        samples = "1 sample" if self.samples == 1 else f"{self.samples} samples"
        return f"{equal} {self.runtime} on {samples} (rtol {self.rtol:g}, atol {self.atol:g} of the largest number)"


def verify(originals: Originals, result: Skeleton, aliases: Mapping[str, str], settings: Settings, files: Files) -> Comparison:
    """Compare `result` with the unconverted model. `aliases` maps values to others that the conversion found to be equal.

    Raises ArgumentError where the settings contradict each other or do not fit the model.
    """
    return _with_hint(_verify(originals, result, aliases, settings, files))


@contextmanager
def usual_runs(
    original: Original, result: Skeleton, samples: Samples | None, file: Path | None
) -> Iterator[tuple[Path, Path, list[Run] | str]]:
    """Write `result` to a folder of its own and run the original in onnxruntime on the usual samples, for the time of a `with`.

    Yields the paths of the original and the result, and the runs or the reason why there are none. `file` is the file of the
    original, if it has one.
    Raises as `verify`.
    """
    layout = "inline" if is_light(original) else "auto"  # some runtimes read no external data
    with _staged(original, result, Files(file), layout) as (before, after), lent_worker() as worker:
        yield before, after, run_usual(before, after, samples or Samples(), worker, thorough=_is_within(THOROUGH, original))


def _with_hint(found: Comparison) -> Comparison:
    """`found`. If models differ only in last bits, its reason also names the tolerance with which this comparison would pass."""
    if found.status != "different" or not found.last_bits:
        return found
    wrong = [part.max_abs for part in (*found.outputs, *found.pieces)]
    return replace(found, reason=f"{found.reason}. Hint: if you can accept that, add --atol {_rounded_up(max(wrong))}")


def _rounded_up(number: float) -> str:
    """`number`, rounded up to two digits: 3.1e-08 for 3.02e-08."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / unit * (1 - 1e-12)) * unit:.1e}"


def _verify(originals: Originals, result: Skeleton, aliases: Mapping[str, str], settings: Settings, files: Files) -> Comparison:
    original = originals.whole
    if not _runs_whole(original, settings):
        return _compare_nodes(originals, result, aliases, settings)
    whole = _compare_whole(original, result, settings, files)
    settled = _settled(whole, originals, result, aliases, settings, files)
    return replace(settled, saturated=whole.saturated, saturated_after=whole.saturated_after)


def _settled(
    whole: Comparison, originals: Originals, result: Skeleton, aliases: Mapping[str, str], settings: Settings, files: Files
) -> Comparison:
    """The verdict on the models, with that on their nodes where `whole`, the one on the whole models, does not settle it."""
    if settings.tolerance.steps and settings.how != "model" and whole.status != "not compared":
        nodes = _compare_nodes(originals, result, aliases, replace(settings, tolerance=_unnamed(settings.tolerance)))
        return _within_steps(whole, nodes)
    if whole.status == "not compared" and settings.samples is not None and settings.samples.data:
        return replace(whole, reason=f"with the given inputs, {whole.reason}")
    if (
        settings.how == "model"
        or whole.status == "equal"
        or not (whole.status == "not compared" or whole.last_bits or whole.rounded)
    ):
        return whole
    nodes = _compare_nodes(originals, result, aliases, replace(settings, tolerance=_unnamed(settings.tolerance)))
    if whole.last_bits:
        return _without_last_bits(originals.whole, result, settings, files) if _blames_kernels(whole, nodes) else whole
    if whole.rounded:
        return _after_rounding(nodes) if nodes.status == "equal" else whole
    return replace(nodes, reason=joined(f"the whole models could not be compared: {whole.reason}", nodes.reason))


def _blames_kernels(whole: Comparison, nodes: Comparison) -> bool:
    """Whether all changed nodes are equal, and only unchanged nodes differ, in the last bits."""
    return nodes.status == "equal" and (whole.stayed or any(piece.last_bits for piece in nodes.pieces))


def _runs_whole(original: Original, settings: Settings) -> bool:
    """Whether the models are to be run as a whole."""
    if settings.how == "model":
        return True
    samples = settings.samples
    speaks_of_interface = settings.tolerance.names_outputs or (samples is not None and samples.are_given)
    if settings.how == "nodes" and speaks_of_interface:
        raise ArgumentError("--compare nodes: given inputs, and tolerances of named outputs, need the whole model")
    return settings.how != "nodes" and (speaks_of_interface or is_light(original))


def is_light(model: Original) -> bool:
    """Whether `model` is small enough that whole models are run without being asked for."""
    return _is_within(WHOLE, model)


def _is_within(most: Size, model: Original) -> bool:
    """Whether `model` is no larger than `most`."""
    nodes = nodes_run(model.proto) if model.proto.functions else sum(model.survey.operators.values())
    if nodes > most.nodes:
        return False
    file = model.skeleton.file
    size = file.size if file else model.proto.ByteSize()
    tensors = (tensor for graph in model.survey.graphs for tensor in getattr(graph, "initializer", ()))
    return size + sum(raw_length(t) for t in tensors if is_external(t) and not is_cut(t)) <= most.bytes


def _compare_whole(original: Original, result: Skeleton, settings: Settings, files: Files) -> Comparison:
    with _staged(original, result, files) as (before, after):
        return compare(
            before,
            after,
            runtime=settings.runtime,
            samples=settings.samples,
            tolerance=settings.tolerance,
            thorough=_is_within(THOROUGH, original),
            semantics=original.semantics,
            edges=settings.edges,
            budget=settings.budget,
        )


@contextmanager
def _staged(original: Original, result: Skeleton, files: Files, layout: str = "auto") -> Iterator[tuple[Path, Path]]:
    """The files of both models; a temporary file is written for a model that has none. `layout` says where it has the weights."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        before = files.original or stack.enter_context(stage(original.skeleton, folder / "original.onnx")).path
        after = files.result or stack.enter_context(stage(result, folder / "result.onnx", layout)).path
        yield before, after


def _without_last_bits(original: Original, result: Skeleton, settings: Settings, files: Files) -> Comparison:
    """Compare models whose outputs differ only in last bits because the runtime has other kernels for another opset."""
    loose = replace(settings, tolerance=of_other_kernels(settings.tolerance))
    found = _compare_whole(original, result, loose, files)
    reason = "last bits differ, by nodes that nothing changed: the runtime has another kernel for the other opset"
    return replace(found, reason=joined(reason, found.reason))


def _after_rounding(nodes: Comparison) -> Comparison:
    """The comparison node by node, for models whose outputs differ by a step that rounding makes of last bits."""
    reason = "outputs of the whole models differ, as nodes round inputs that differ in their last bits"
    return replace(nodes, reason=joined(reason, nodes.reason))


def _within_steps(whole: Comparison, nodes: Comparison) -> Comparison:
    """The comparison of models of which the original rounds to the steps of a quantization in its own way.

    Whole models may differ by what follows from such steps, so that each changed node is compared, too.
    """
    if nodes.status == "different" or whole.status == "equal":
        return nodes if nodes.status == "different" else whole
    reason = "outputs of the whole models differ, as onnxruntime's quantized operators round in their own way"
    return replace(nodes, reason=joined(reason, nodes.reason)) if nodes.status == "equal" else whole


def _compare_nodes(originals: Originals, result: Skeleton, aliases: Mapping[str, str], settings: Settings) -> Comparison:
    """Compare node by node. Where functions were specialized, their calls are compared as a whole.

    Only where that decides nothing, or finds other last bits, nodes in specialized functions are compared one by one.
    """
    whole, prepared = originals.whole, _with_values(originals.specialized or originals.whole.skeleton)
    if prepared is whole.skeleton:
        return _compare_parts(originals, prepared, result, aliases, settings)
    changed = inlining.changed(whole.proto, prepared.proto)
    calls = _compare_parts(originals, whole.skeleton, result, aliases, settings, changed)
    if calls.status == "equal" or (calls.status == "different" and not calls.last_bits):
        return calls
    nodes = _compare_parts(originals, prepared, _with_values(result), aliases, settings)
    if calls.status == "different" or nodes.status != "equal":
        return nodes if nodes.status in ("equal", "different") else calls
    reason = f"the comparison starts behind the values that parameters of functions were given, as {calls.reason}"
    return replace(nodes, reason=joined(nodes.reason, reason))


def _compare_parts(
    originals: Originals,
    before: Skeleton,
    result: Skeleton,
    aliases: Mapping[str, str],
    settings: Settings,
    units: frozenset[inlining.Key] = frozenset(),
) -> Comparison:
    original = Original(originals.stated(before), originals.whole.semantics)
    with names_explained(original.survey.graphs):
        return compare_nodes(original, result, aliases, settings, units)


def _with_values(skeleton: Skeleton) -> Skeleton:
    """`skeleton`, with values in place of the parameters of its functions: a node that is run alone has no caller."""
    proto = with_values(skeleton.proto)
    return skeleton if proto is skeleton.proto else Skeleton(proto, skeleton.file, skeleton.base_dir, skeleton.locations)


def _unnamed(tolerance: Tolerance) -> Tolerance:
    return replace(tolerance, rtol_of={}, atol_of={})
