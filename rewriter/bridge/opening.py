"""Opens a model of any kind, a path, ModelProto, onnx_ir.Model or torch ONNXProgram, so that the result is of the same kind.

Nothing is imported here to recognize these objects: whoever has one has imported its library already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import onnx

from ..storage import read
from ..storage.skeleton import Skeleton, Snapshot

if TYPE_CHECKING:
    import onnx_ir
    from onnxscript.rewriter import RewriteRule, RewriteRuleSet
    from typing_extensions import TypeIs

    from .ir_model import HeldModel

AnyModel: TypeAlias = "onnx.ModelProto | str | os.PathLike[str] | onnx_ir.Model | Any"
"""A ModelProto, a path, an onnx_ir.Model, or a torch.onnx.ONNXProgram.

Type checkers know the last only where torch is installed.
"""


class Opened(NamedTuple):
    """A model to convert: its `skeleton`, and a function that turns the converted skeleton, or a converted copy, into the kind of
    model that was given.

    `original` is the skeleton before anything could change it, for the comparison, or None.
    """

    skeleton: Skeleton
    close: Callable[[Skeleton], Any]
    original: Snapshot | None = None

    def keeping_original(self) -> Opened:
        return self._replace(original=Snapshot(self.skeleton))


def open_model(model: AnyModel, *, keep_original: bool = False) -> Opened:
    """Open `model`, which is not changed, for conversion. For a path, the result will be a ModelProto.

    Raises: InvalidModelError where it cannot be read.
    """
    opened = _open(model)
    return opened.keeping_original() if keep_original else opened


def _open(model: AnyModel) -> Opened:
    if isinstance(model, onnx.ModelProto):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        return Opened(Skeleton.of(copy), Skeleton.materialize)
    if isinstance(model, (str, os.PathLike)):
        return Opened(read(model), Skeleton.materialize)
    if _is_program(model):
        return _open_program(model)
    held = _held(model)
    return Opened(held.skeleton, held.converted)


def is_of_library(model: object) -> bool:
    """Whether `model` is an onnx_ir.Model or a torch ONNXProgram."""
    return _is_instance(model, "onnx_ir", "Model") or _is_program(model)


def is_pattern(rule: object) -> TypeIs[RewriteRule]:
    """Whether `rule` is an onnxscript RewriteRule."""
    return _is_instance(rule, "onnxscript.rewriter", "RewriteRule")


def is_pattern_set(rules: object) -> TypeIs[RewriteRuleSet]:
    """Whether `rules` are onnxscript RewriteRules in a RewriteRuleSet."""
    return _is_instance(rules, "onnxscript.rewriter", "RewriteRuleSet")


def open_held(model: onnx_ir.Model, *, keep_original: bool = False) -> Opened:
    """Open `model` as `open_model` does, such that closing returns the HeldModel."""
    held = _held(model)
    opened = Opened(held.skeleton, lambda _: held)
    return opened.keeping_original() if keep_original else opened


def _held(model: onnx_ir.Model) -> HeldModel:
    from .ir_model import HeldModel  # imports onnx_ir

    return HeldModel(model)


def _open_program(program: Any) -> Opened:
    held = _held(program.model)
    return Opened(held.skeleton, lambda skeleton: type(program)(held.converted(skeleton), program.exported_program))


def _is_program(model: object) -> bool:
    return _is_instance(model, "torch.onnx", "ONNXProgram")


def _is_instance(model: object, module: str, name: str) -> bool:
    """Whether `model` is an instance of the class `name` of `module`, without importing that module."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)
