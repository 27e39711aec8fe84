"""Decides whether a model is taken that onnx.checker refuses: repaired, or because onnxruntime loads it as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ..bridge.opening import Opened
from ..checks.repair import repair
from ..checks.validity import Trust
from ..engine.outcome import Remark
from ..errors import CheckError, InvalidModelError, RuleError
from ..execution.loadable import loads, newest_loadable
from ..storage.skeleton import Skeleton
from ..structure.survey import all_graphs
from ..structure.text_names import names_explained
from .options import Options

_T = TypeVar("_T")
_DISPUTES = "InferenceError]"
"""What onnx.checker writes before all that only its shape inference disputes."""


class NotTakenError(Exception):
    """The runtime for which a model was accepted does not take the result. `accept` makes the refusal of the model of it."""


class Accepted(NamedTuple):
    """How a model was accepted: how far onnx.checker's verdict counts, and warnings about what it refuses."""

    remarks: Sequence[Remark] = ()
    trust: Trust = Trust.CHECKER

    def require_taken(self, result: Skeleton) -> None:
        """Raises NotTakenError where the model was accepted because a runtime takes it, and that does not take the result."""
        if self.trust is Trust.RUNTIME and not loads(result):
            raise NotTakenError


def accept(opening: Callable[[], Opened], options: Options, work: Callable[[Opened, Accepted], _T]) -> _T:
    """Do `work` on the model that `opening` opens, and return its result.

    If it is not valid, it is repaired and tried once more, where a repair applies; if then only ONNX's shape inference disputes it,
    and onnxruntime loads it as it was read, and then the result, that is enough. Raises: InvalidModelError, and what `work` raises.
    """
    try:
        return work(opening(), Accepted())
    except InvalidModelError as error:
        if options.require_valid:
            raise
        refusal = error
    opened = opening()
    repairs = _repaired(opened.skeleton, refusal)
    if repairs:
        try:
            return work(opened, Accepted(repairs, Trust.OPEN_SHAPES))
        except InvalidModelError as error:
            refusal = error
    opened = opening()
    if _DISPUTES not in str(refusal) or options.assume_opset is not None or not loads(opened.skeleton, is_as_in_file=True):
        raise refusal
    repairs = _repaired(opened.skeleton, refusal)
    try:
        return work(opened, Accepted([*repairs, _disputed(opened.skeleton, refusal)], Trust.RUNTIME))
    except (CheckError, RuleError, NotTakenError):
        raise refusal from None  # what inference disputes is wrong, then


def _disputed(skeleton: Skeleton, refusal: InvalidModelError) -> Remark:
    complaint = str(refusal).partition("valid model: ")[2] or str(refusal)
    message = f"onnxruntime loads it, and ONNX's shape inference disputes it, so that types are not checked: {complaint}"
    return Remark("warning", "Model", skeleton.proto.graph.name, "as it was read", message)


def _repaired(skeleton: Skeleton, refusal: InvalidModelError) -> list[Remark]:
    """Repair the model in place. Returns a warning for each repair. Raises InvalidModelError, also for names that are no text."""
    with names_explained(all_graphs(skeleton.proto)):
        return repair(skeleton, str(refusal), newest_loadable)
