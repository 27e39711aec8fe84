"""Compares the result of a conversion with the original, and runs it in the runtime of --verify-with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from onnx import GraphProto, ModelProto

from .. import progress
from ..engine.narrow_types import INT32_INPUTS, UNROUNDED, lost_types
from ..engine.outcome import Change, Remark
from ..engine.stamp import assume
from ..errors import ArgumentError, CheckError, CompareError, listed
from ..graph import given_types
from ..onnx_model.all_nodes import nodes_with_opset
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..opsets import type_protos
from ..process.child import NONE_STARTED, no_interpreter
from ..storage.skeleton import Skeleton, Snapshot
from ..structure.survey import all_graphs
from .attempts import Converted
from .options import Comparing, Options, running, starts_none, target_of_options, trials_of_options
from .stages import Job, inexact_rules

if TYPE_CHECKING:
    from ..certifying.certificate import Certificate
    from ..comparison.by_model import Comparison
    from ..comparison.inputs.samples import Samples
    from ..comparison.original import Original
    from ..comparison.verdicts import Piece
    from ..comparison.verification import Settings, Verified
    from ..execution.other_runtimes import Target


_MOST_NAMED = 5
"""The number of nodes that a warning names."""
_EVERYWHERE = {*DEFAULT_DOMAINS, "ai.onnx.ml"}
"""The domains of operators that all builds of a runtime have, or none."""
_MOST_TRIED = 1 << 22
"""The number of elements of an input up to which lengths that a solver found are tried."""


class Conversion(NamedTuple):
    """A conversion that is done and checked."""

    job: Job
    target: int | None
    converted: Converted
    written: Sequence[Change]
    """The changes by the user's RewriteRules."""
    operators: Counter[str]
    """The number of nodes of each operator in the result."""
    original: Snapshot | None
    """The model as it was read, to compare the result with; None where nothing is compared."""
    corrected: Sequence[Remark] = ()
    """Declared outputs that were corrected. The corrections are right only if a comparison finds original and result equal."""

    @property
    def result(self) -> Skeleton:
        """The converted model."""
        return self.job.prepared.skeleton

    @property
    def rules_of_caller(self) -> list[str]:
        """The names of the rules of the caller that changed something."""
        return self.job.rules_of_caller(self.converted.outcome)

    @property
    def originals(self) -> list[Snapshot]:
        """The models to compare the result with: the model as it was read, and behind its repairs where that one does not run."""
        return [original for original in (self.original, self.job.prepared.repaired) if original is not None]


class Judgement(NamedTuple):
    """The findings of running the result. `remarks` say what it was compared with, where that is not the model as it was read."""

    comparison: Comparison | None
    verified: Sequence[Verified]
    remarks: Sequence[Remark]
    certificate: Certificate | None = None
    untried: Sequence[str] = ()
    """What is promised of the runtimes that the result is for, but was not run in."""


def judge(conversion: Conversion, how: Comparing, options: Options, written: Path | None = None) -> Judgement:
    """Compare and verify the result as requested. `written` is the file with the result, if there is one.

    Raises: CompareError; CheckError where it stays open whether the result or a declared output of the model is wrong.
    """
    with running(options):
        return _judged(conversion, how, options, written)


def _judged(conversion: Conversion, how: Comparing, options: Options, written: Path | None) -> Judgement:
    if how != "off":
        progress.stage("comparing")
    comparison, remarks = (None, []) if how == "off" else _compared(conversion, how, options, written)
    if conversion.corrected and (comparison is None or comparison.status != "equal"):
        wrong = conversion.corrected[0]
        what = f"the model declares another shape of {wrong.op_type.lower()} '{wrong.node}' than the result has"
        if used := conversion.rules_of_caller:
            raise ArgumentError(f"rules: {what}, after {listed(used)}, and no comparison shows that it is right")
        advice = "correct the declaration, or let the models be compared"
        raise CheckError(f"{what}, and no comparison shows that the result is right: {advice}")
    saturated = () if comparison is None else comparison.saturated
    verified: list[Verified] = []
    if options.verify_with:
        found = _verify(conversion, options, target_of_options(options))
        if not isinstance(found, _Verification):
            raise CompareError(f"the result cannot be verified with {options.verify_with}: {found}")
        verified, remarks, saturated = [found.verified], [*remarks, *found.remarks], saturated or found.saturated
    tried, untried = _try_where_installed(conversion, options, comparison)
    verified += [each.verified for each in tried]
    remarks = dict.fromkeys([*remarks, *(remark for each in tried for remark in each.remarks)])
    saturated = next((each.saturated for each in tried if each.saturated), saturated)
    certificate = _certify(conversion, how, options) if options.certify else None
    if certificate is not None and comparison is not None and len(conversion.originals) == 1:
        comparison = _with_proofs(comparison, certificate)
    after = () if comparison is None else comparison.saturated_after
    return Judgement(comparison, verified, [*remarks, *_remarks_on_saturation(conversion, saturated, after)], certificate, untried)


def _certify(conversion: Conversion, how: Comparing, options: Options) -> Certificate:
    """What a solver proves of the result. The lengths for which it finds a difference are tried, unless nothing is compared.

    Raises CompareError where the outputs differ there.
    """
    from ..certifying.proving import certify  # starts a process

    progress.stage("certifying")
    original, _ = _model_of(conversion.originals[-1], options)
    certificate = certify(original.skeleton.checkable(), conversion.result.checkable())
    batches = type_protos.batches(original.proto.graph)
    found = (proof.lengths for proof in (*certificate.outputs, *certificate.changes) if proof.lengths)
    lengths = next((each for each in found if all(each[name] for name in batches & each.keys())), None)
    if lengths and how != "off" and not (options.samples is not None and options.samples.data):
        samples = _samples_of(original.proto, lengths)
        if all(math.prod(shape) <= _MOST_TRIED for shape in samples.shapes.values()):
            _compare(conversion, "model", replace(options, samples=samples), None)
    return certificate


def _with_proofs(comparison: Comparison, certificate: Certificate) -> Comparison:
    """The comparison; what is equal and proved says that it is proved."""
    proved = {change.name for change in certificate.changes if change.is_proved}
    pieces = [
        replace(piece, evidence="proved for all shapes") if _is_proved(piece, proved) else piece for piece in comparison.pieces
    ]
    is_whole = comparison.status == "equal" and comparison.evidence and certificate.is_proved
    return replace(comparison, pieces=tuple(pieces), evidence="proved for all shapes" if is_whole else comparison.evidence)


def _is_proved(piece: Piece, proved: Container[str]) -> bool:
    return piece.status == "equal" and len(piece.values) > 0 and all(value in proved for value in piece.values)


def _samples_of(original: ModelProto, lengths: Mapping[str, int]) -> Samples:
    """Inputs with these lengths of open dimensions, by symbol, or by input and axis."""
    from ..comparison.inputs.samples import Samples

    shapes: dict[str, list[int]] = {}
    for value in original.graph.input:
        shape = type_protos.shape_of(value.type) or ()
        if any(not isinstance(dim, int) for dim in shape):
            named = ((f"{value.name}[{axis}]", dim) for axis, dim in enumerate(shape))
            shapes[value.name] = [
                dim if isinstance(dim, int) else lengths.get(name, lengths.get(str(dim), 1)) for name, dim in named
            ]
    return Samples(shapes=shapes)


class _Verification(NamedTuple):
    """What was found in another runtime. `saturated` are the `saturated_nodes` of the original's runs in onnxruntime."""

    verified: Verified
    remarks: Sequence[Remark]
    saturated: tuple[str, ...]


def _try_where_installed(
    conversion: Conversion, options: Options, comparison: Comparison | None
) -> tuple[list[_Verification], list[str]]:
    """Run the result in the runtimes that it is for and that are installed. Returns what was found, and what is promised of others.

    Raises CompareError where the result does not run there, or gives other outputs.
    """
    tried: list[_Verification] = []
    untried: list[str] = []
    for trial in trials_of_options(options):
        if trial.target is None:
            untried.append(f"{trial.promise}{trial.advice}")
            continue
        if _ran_there(trial.target, comparison, options):
            continue
        found = _try(conversion, options, trial.target)
        if isinstance(found, _Loaded):
            untried.append(f"{trial.promise_of_loaded}: {found.reason}")
        elif isinstance(found, str):
            untried.append(f"{trial.promise}: {found}")
        else:
            tried.append(found)
    return tried, untried


def _ran_there(target: Target, comparison: Comparison | None, options: Options) -> bool:
    """Whether the comparison ran the whole result in this runtime, and found it equal."""
    if options.python or comparison is None or comparison.status != "equal" or comparison.pieces:
        return False
    return comparison.runtime.startswith(f"{target.adapter} ")


class _Loaded(NamedTuple):
    """The runtime loads the result, which was not run for this `reason`."""

    reason: str


def _try(conversion: Conversion, options: Options, target: Target) -> _Verification | _Loaded | str:
    """As `_verify`, within the limits of a comparison that nobody asked for. What cannot be run is loaded at least, unless it has
    operators that need a library of the user's own.
    """
    from ..comparison.verification import is_light

    if not is_light(_model_of(conversion.originals[0], options)[0]):
        return "the model is too large to be run as a whole without --verify-with"
    try:
        return _verify(conversion, options, target, is_asked_for=False)
    except CompareError as error:
        raise CompareError(f"{error} (--no-verify leaves out this run)") from None


def _has_own_operators(model: ModelProto) -> bool:
    """Whether nodes of the model have operators that are neither ONNX's own nor functions of the model: the runtime of a user may
    have them, by a library or in another build, where the installed one has not.
    """
    functions = {(function.domain, function.name) for function in model.functions}
    nodes = (node for node, _ in nodes_with_opset(model) if node.domain not in _EVERYWHERE)
    return any((node.domain, node.op_type) not in functions for node in nodes)


def _verify(conversion: Conversion, options: Options, target: Target, is_asked_for: bool = True) -> _Verification | _Loaded | str:
    """Run the result in `target`. Returns what was found, or why it cannot be run there: the original does not run in
    onnxruntime, or, unless it `is_asked_for`, its inputs or outputs are not arrays of numbers, and then the result is only loaded.

    Raises CompareError where the runtime refuses the result, or gives other outputs.
    """
    from ..comparison.runs import saturated_nodes
    from ..comparison.verification import usual_runs
    from ..runtimes.verifying import bounds_of, is_plain, require_loaded, verify_in

    bounds = bounds_of(target.adapter, options.tolerance.rtol, options.tolerance.atol)
    reason, is_loaded = "", not is_asked_for and not _has_own_operators(conversion.result.proto)
    for number, original in enumerate(conversion.originals):
        model, file = _model_of(original, options)
        with usual_runs(model, conversion.result, options.samples, file) as (before, after, runs):
            if not isinstance(runs, str) and not is_asked_for and not all(map(is_plain, runs)):
                runs = "its inputs or outputs are not arrays of numbers"
            if isinstance(runs, str):
                reason = reason or runs
                if is_loaded:
                    require_loaded(target, after)
                continue
            verified = verify_in(target, before, after, runs, bounds)
            remarks = [*_remarks_on_repairs(conversion, number, reason), *_remarks_on_rounding(conversion, verified)]
            return _Verification(verified, remarks, saturated_nodes(run.outputs for run in runs))
    return _Loaded(reason) if is_loaded else reason


def _compared(
    conversion: Conversion, how: Literal["auto", "model", "nodes", "required"], options: Options, written: Path | None
) -> tuple[Comparison, list[Remark]]:
    """As `_compare`; where no child processes are started, nothing is compared."""
    if not starts_none(options):
        return _compare(conversion, how, options, written)
    reason = f"models are run in child processes, and {no_interpreter() or NONE_STARTED}"
    if how == "required":
        raise CompareError(f"the result could not be compared: {reason}")
    from ..comparison.verdicts import Comparison

    return Comparison("not compared", reason=reason), []


def _compare(
    conversion: Conversion, how: Literal["auto", "model", "nodes", "required"], options: Options, written: Path | None
) -> tuple[Comparison, list[Remark]]:
    """Compare the result with the original. `written` is the file with the result, if there is one.

    Raises CompareError where the models differ, or where a comparison was required and is not possible.
    """
    from ..comparison import verification  # a third of our own imports, and not needed where nothing is compared

    settings = _settings(conversion, how, options)
    found: list[Comparison] = []
    for original in conversion.originals:
        model, file = _model_of(original, options)
        files = verification.Files(file, written)
        stated = partial(_with_stated_types, options=options)
        originals = verification.Originals(model, conversion.converted.specialized, stated)
        told = replace(settings, widened=lost_types(originals.whole.survey, conversion.result.proto))
        found.append(verification.verify(originals, conversion.result, conversion.converted.model.replaced, told, files))
        if found[-1].status in ("equal", "different"):
            break
    comparison = found[-1] if found[-1].status != "not compared" else found[0]
    if comparison.status == "different":
        own = f"; the model was changed by {listed(used)}" if (used := conversion.rules_of_caller) else ""
        raise CompareError(f"outputs differ ({comparison.runtime}): {comparison.reason}{own}{_ways_on(comparison, options)}")
    if comparison.status != "equal" and how == "required":
        raise CompareError(f"the result could not be compared: {comparison.reason}")
    remarks = _remarks_on_repairs(conversion, found.index(comparison), found[0].reason)
    if options.custom_ops and comparison.pieces and comparison.reason:
        remarks.append(Remark("warning", "Model", conversion.result.proto.graph.name, "with --custom-ops", comparison.reason))
    return comparison, remarks


def _ways_on(comparison: Comparison, options: Options) -> str:
    """A sentence about what the user can do where outputs differ, or "" where the reason of `comparison` says it already."""
    if comparison.last_bits:
        return ""
    ways = ["--keep-different keeps the result"] if not options.keep_different else []
    if comparison.outputs:  # of whole models
        own = [] if options.samples is not None and options.samples.data else ["--input-data your own inputs"]
        ways = ["--compare nodes compares each changed node alone", *own, *ways]
    return f". Hint: {', '.join(ways)}" if ways else ""


def _remarks_on_saturation(conversion: Conversion, before: Sequence[str], after: Sequence[str]) -> list[Remark]:
    """A warning where onnxruntime computes nodes of the original, or else of the result, wrongly on this processor."""
    nodes = before or after
    if not nodes:
        return []
    when = "before and after the conversion" if before else "after the conversion alone"
    named = ", ".join(nodes[:_MOST_NAMED]) + (f" and {len(nodes) - _MOST_NAMED} more" if len(nodes) > _MOST_NAMED else "")
    message = (
        f"onnxruntime computes {named} wrongly, {when}: without VNNI, its kernels add "
        "products of uint8 and int8 in 16 bits, which is too few for these numbers. Weights of 7 bits (reduce_range=True), uint8 "
        "weights, or a processor with VNNI help"
    )
    return [Remark("warning", "Model", conversion.result.proto.graph.name, "on this processor", message)]


def _remarks_on_rounding(conversion: Conversion, verified: Verified) -> list[Remark]:
    """A warning where another runtime gives something else than onnxruntime, of the original as well."""
    if not verified.as_original:
        return []
    message = "it rounds 8-bit or 16-bit numbers otherwise than the installed onnxruntime, and gives other outputs of both models"
    return [Remark("warning", "Model", conversion.result.proto.graph.name, f"in {verified.runtime}", message)]


def _settings(conversion: Conversion, how: Literal["auto", "model", "nodes", "required"], options: Options) -> Settings:
    from ..comparison.settings import Settings
    from ..execution.budget import Budget

    outcome = conversion.converted.outcome
    inexact = inexact_rules(outcome, conversion.written)
    like_bfloat16 = UNROUNDED in inexact
    tolerance = replace(
        options.tolerance,
        inexact=bool(inexact),
        sums=outcome.sums or like_bfloat16,
        like_bfloat16=like_bfloat16,
        steps=outcome.steps,
        of_numbers=outcome.of_numbers,
        zeros=outcome.zeros,
    )
    remarks = [*conversion.job.prepared.repairs, *outcome.remarks, *conversion.corrected]
    warned = any(remark.kind in ("warning", "empty") for remark in remarks)  # perhaps of sizes at which the result fails
    return Settings(
        how,
        options.runtime,
        options.samples,
        tolerance,
        edges=not warned,
        budget=Budget(options.compare_budget),
    )


def _model_of(original: Snapshot, options: Options) -> tuple[Original, Path | None]:
    """`original`, as the user says it is, and the file with exactly this model; None where there is none."""
    from ..comparison.original import Original

    skeleton = original.skeleton()
    is_changed = assume(skeleton.proto, options.assume_opset, options.ir_version)
    if INT32_INPUTS in options.allow:
        is_changed |= bool(given_types.take_int32(skeleton.proto))
    return Original(skeleton, options.semantics), None if is_changed else original.path


def _with_stated_types(original: Skeleton, options: Options) -> Skeleton:
    """`original` with the types that the user states. Nothing but types is taken from the model in which they are stated."""
    if not (options.declare or options.overwrite_input_shapes):
        return original
    stated, bare = Snapshot(original).skeleton(), Snapshot(original).skeleton()
    with suppress(ArgumentError):  # a value that only functions have, which have been inlined
        given_types.state_types(stated, options.declare, options.overwrite_input_shapes)
    for graph, typed in zip(all_graphs(bare.proto), all_graphs(stated.proto), strict=True):
        if isinstance(graph, GraphProto) and isinstance(typed, GraphProto):
            for values, known in ((graph.input, typed.input), (graph.output, typed.output), (graph.value_info, typed.value_info)):
                del values[:]
                values.extend(known)
    return bare


def _remarks_on_repairs(conversion: Conversion, number: int, reason: str) -> list[Remark]:
    """A warning where the comparison starts behind the repairs, which is at the original with this `number` if not 0."""
    if not number:
        return []
    repairs = "; ".join(dict.fromkeys(remark.message for remark in conversion.job.prepared.repairs))
    message = f"as it was read it does not run ({reason}), so that the comparison starts behind its repairs: {repairs}"
    return [Remark("warning", "Model", conversion.result.proto.graph.name, "as it was read", message)]
