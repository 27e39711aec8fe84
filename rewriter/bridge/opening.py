"""Any model in, the same kind out: a path, a ModelProto, an onnx_ir.Model or a torch ONNXProgram.

Who has an object of a library has imported that library, so that none is imported here to recognise one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import onnx

from ..storage import read
from ..storage.skeleton import Skeleton

if TYPE_CHECKING:
    import onnx_ir
    from onnxscript.rewriter import RewriteRule, RewriteRuleSet
    from typing_extensions import TypeIs

AnyModel: TypeAlias = "onnx.ModelProto | str | os.PathLike[str] | onnx_ir.Model | Any"
"""A ModelProto, a path, an onnx_ir.Model, or a torch.onnx.ONNXProgram, which type checkers know only where torch is installed."""


class Opened(NamedTuple):
    """A model to convert: its `skeleton`, and what makes a model of the kind that was given of the skeleton afterwards."""

    skeleton: Skeleton
    close: Callable[[], Any]


def open_model(model: AnyModel) -> Opened:
    """`model`, which stays as it is, ready for conversion. A path gives a ModelProto.

    Raises: InvalidModelError where it cannot be read.
    """
    if isinstance(model, onnx.ModelProto):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        skeleton = Skeleton.of(copy)
        return Opened(skeleton, skeleton.materialize)
    if isinstance(model, (str, os.PathLike)):
        skeleton = read(model)
        return Opened(skeleton, skeleton.materialize)
    if _is_program(model):
        return _open_program(model)
    skeleton, close = open_held(model)
    return Opened(skeleton, lambda: close().converted())


def is_of_library(model: object) -> bool:
    """Whether `model` is an onnx_ir.Model or a torch ONNXProgram."""
    return _is_instance(model, "onnx_ir", "Model") or _is_program(model)


def is_pattern(rule: object) -> TypeIs[RewriteRule]:
    """Whether `rule` is an onnxscript RewriteRule."""
    return _is_instance(rule, "onnxscript.rewriter", "RewriteRule")


def is_pattern_set(rules: object) -> TypeIs[RewriteRuleSet]:
    """Whether `rules` are onnxscript RewriteRules in a RewriteRuleSet."""
    return _is_instance(rules, "onnxscript.rewriter", "RewriteRuleSet")


def open_held(model: onnx_ir.Model) -> Opened:
    """As `open_model`; closing gives the HeldModel."""
    from .ir_model import HeldModel  # imports onnx_ir

    held = HeldModel(model)
    return Opened(held.skeleton, lambda: held)


def _open_program(program: Any) -> Opened:
    skeleton, close = open_held(program.model)
    return Opened(skeleton, lambda: type(program)(close().converted(), program.exported_program))


def _is_program(model: object) -> bool:
    return _is_instance(model, "torch.onnx", "ONNXProgram")


def _is_instance(model: object, module: str, name: str) -> bool:
    """Whether `model` is an instance of `module.name`, which nobody has to import for that."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)
