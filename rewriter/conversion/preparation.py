"""Makes a model ready to be converted: repairs what it names twice, and states in it what the user says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx
from onnx import defs

from ..checks import validity
from ..checks.adoption import adopt
from ..checks.repair import with_open_sizes, with_typed_references, without_duplicates
from ..checks.two_meanings import settle
from ..engine import stamp
from ..engine.narrow_types import INT32_INPUTS
from ..engine.outcome import Change, Remark
from ..errors import InvalidModelError
from ..graph import given_types
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import default_opset, label_of, shown_name
from ..opsets import unread
from ..storage.skeleton import Skeleton, Snapshot
from ..structure import inlining
from ..structure.declarations import show
from ..structure.function_calls import check_calls
from ..structure.survey import Survey
from ..structure.text_names import names_explained
from .ml_opset import versions_to_write
from .options import Options

if TYPE_CHECKING:
    from ..runtimes.demands import Demands


@dataclass(frozen=True)
class Prepared:
    """A model that is ready to be converted, and what was done to it before."""

    skeleton: Skeleton
    opset: int | None
    """The opset of the default domain; None where the model does not import it."""
    ir_version: int
    operators: Counter[str]
    """The number of nodes of each operator, as the model was read."""
    imported: frozenset[str]
    """The domains that the model and its functions import, as they were read."""
    survey: Survey
    changes: list[Change]
    """The changes that the user's options asked for."""
    repairs: list[Remark]
    """Remarks about mistakes in the model that have been repaired."""
    repaired: Snapshot | None
    """The model behind its repairs; None where there are none, or where it is not kept."""


def prepare(
    skeleton: Skeleton, options: Options, demands: Demands | None, repairs: Sequence[Remark], *, keep_repaired: bool
) -> Prepared:
    """Prepare `skeleton` in place. `repairs` are those that were made before.

    Raises: InvalidModelError, ArgumentError.
    """
    proto = skeleton.proto
    survey = Survey(proto)
    operators = survey.operators
    imported = frozenset(entry.domain for entry in stamp.imports_of(proto))
    repairs = [
        *repairs,
        *without_duplicates(proto, survey.graphs),
        *with_open_sizes(proto, survey.graphs),
        *with_typed_references(proto),
    ]
    repaired = Snapshot(skeleton) if repairs and keep_repaired else None
    changes = _assume(proto, options)
    _require_stamps(proto)
    if versions_to_write(proto, options.ml_opset, demands):
        _import_opset(proto)
    if options.require_valid:
        validity.require_valid(skeleton.checkable())
    adopted = adopt(proto, survey.operators)
    if adopted:
        repairs = [*repairs, *adopted]
    if survey.operators["SplitToSequence"]:
        repairs = [*repairs, *settle(skeleton, options.semantics)]
    if unread.hide(proto, survey.operators) or adopted:
        survey = Survey(proto)
    opset = _declared_opset(proto)
    if opset is not None:
        validity.check_source(opset)
    for function in proto.functions:
        own = default_opset(function.opset_import)
        if own is not None:
            validity.check_source(own, f"the function {function.name}")
    _require_known_parts(proto)
    check_calls(proto)
    ir_version = proto.ir_version
    if proto.functions and (options.static or (demands is not None and demands.without_functions)):
        changes += _inline_functions(proto, survey)
        survey = Survey(proto)
    if INT32_INPUTS in options.allow:
        names = given_types.take_int32(proto)
        changes += [Change("int32_inputs", "input", name, "int32") for name in names]
        survey = Survey(proto)
    changes += _state_types(skeleton, options)
    return Prepared(skeleton, opset, ir_version, operators, imported, survey, changes, repairs, repaired)


def _assume(proto: onnx.ModelProto, options: Options) -> list[Change]:
    """Give the model the opset and the IR version that the user says it has."""
    declared = proto.ir_version
    if options.assume_opset is not None:
        validity.check_assumed(options.assume_opset)
    stamp.assume(proto, options.assume_opset, options.ir_version)
    changes = []
    if proto.ir_version != declared:
        changes.append(Change("ir_version", "model", proto.graph.name, f"IR version {proto.ir_version}"))
    if options.assume_opset is not None:
        changes.append(Change("assume_opset", "model", proto.graph.name, f"opset {options.assume_opset}"))
    return changes


def _require_stamps(proto: onnx.ModelProto) -> None:
    """Raises InvalidModelError where the model does not state its opset and an IR version that onnx knows."""
    known = onnx.IR_VERSION
    if proto.ir_version > known:
        raise InvalidModelError(
            f"the model has IR version {proto.ir_version}, and the installed onnx {onnx.__version__} knows up to {known}: a newer "
            f"onnx may know it; --ir-version {known} takes the model as it is and writes that version"
        )
    if proto.ir_version < 1:
        opset = default_opset(proto.opset_import) or 1
        fitting = stamp.ir_version_of(opset) if opset <= defs.onnx_opset_version() else known
        raise InvalidModelError(f"the model states no IR version; give it one with --ir-version {fitting}")
    if not proto.opset_import and proto.ir_version >= 3:
        raise InvalidModelError("the model does not state its opset; give it with --assume-opset N, as the exporter had it")


def _import_opset(proto: onnx.ModelProto) -> None:
    """Let the model, and each function that imports other domains only, import ONNX's own, for what rules write there."""
    for owner in (proto, *proto.functions):
        if default_opset(owner.opset_import) is None:
            opset = default_opset(proto.opset_import) or stamp.opset_of(proto.ir_version)
            owner.opset_import.add(domain="", version=opset)


def _declared_opset(proto: onnx.ModelProto) -> int | None:
    """The opset that the model declares. Raises InvalidModelError where it declares two."""
    declared = {entry.version for entry in proto.opset_import if entry.domain in DEFAULT_DOMAINS}
    if len(declared) > 1:
        raise InvalidModelError(f"the model imports the default domain twice, as opset {' and '.join(map(str, sorted(declared)))}")
    return default_opset(proto.opset_import)


def _require_known_parts(proto: onnx.ModelProto) -> None:
    """Raises InvalidModelError where the model has one of the rare parts that no rule looks into."""
    if proto.training_info:
        raise InvalidModelError("the model has training_info, which is not converted; remove it (inference does not need it)")
    for function in proto.functions:
        if function.domain in DEFAULT_DOMAINS:
            raise InvalidModelError(
                f"the local function '{function.name}' redefines an operator of ONNX's own domain; give it another domain"
            )


def _inline_functions(proto: onnx.ModelProto, survey: Survey) -> list[Change]:
    """Inline all local functions. Raises InvalidModelError where a call does not fit its function."""
    functions = set(map(inlining.key_of, proto.functions))
    calls = [node for node in inlining.nodes_within(proto.graph) if inlining.callee(node) in functions]
    changes = [Change("inlining", label_of(node), shown_name(node), "main graph") for node in calls]
    with names_explained(survey.graphs):
        inlining.inline(proto, functions)
    return changes


def _state_types(skeleton: Skeleton, options: Options) -> list[Change]:
    """Write the types and shapes that the user states into the model."""
    given_types.state_types(skeleton, options.declare, options.overwrite_input_shapes)
    shapes = options.overwrite_input_shapes.items()
    return [
        *(Change("declare", "value", name, kind) for name, kind in options.declare.items()),
        *(Change("overwrite_input_shape", "input", name, show(tuple(dims))) for name, dims in shapes),
    ]
