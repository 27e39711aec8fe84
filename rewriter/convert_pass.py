"""The conversion as a pass of onnx_ir, to be put beside others. Importing this module imports onnx_ir."""

from __future__ import annotations

import onnx_ir as ir

from . import driver
from .bridge.opening import open_held
from .options import Comparing, Options, checked
from .report.summary import Report


class ConvertOpset(ir.passes.InPlacePass):
    """Converts a model in place to `target_opset` of the default domain, as `convert_version` does.

        ir.passes.Sequential(ConvertOpset(13), ir.passes.common.RemoveUnusedNodesPass())(model)

    Raises, when it is called: as `convert_version`, and the model is as it was then. `Sequential` wraps that into a PassError,
    whose `__cause__` it is, with the blockers. Arguments that are not possible are told when it is made.
    """

    def __init__(self, target_opset: int | None, *, compare: Comparing = "auto", options: Options | None = None) -> None:
        self._target_opset, self._options = checked(target_opset, compare, options)
        self._compare: Comparing = compare
        self.report: Report | None = None
        """What the last call did."""

    def __repr__(self) -> str:
        return f"ConvertOpset({self._target_opset})"

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """The same object, converted; `modified` is false where nothing at all had to change."""
        if not isinstance(model, ir.Model):
            raise TypeError(
                f"ConvertOpset converts an onnx_ir.Model, not {type(model).__name__}: convert_version takes other models"
            )
        held, self.report = driver.convert_opened(
            lambda: open_held(model), self._target_opset, compare=self._compare, options=self._options
        )
        is_changed = held.is_changed
        if is_changed:
            held.replace_contents()
        return ir.passes.PassResult(model, is_changed)
