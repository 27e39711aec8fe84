"""The conversion as a pass of onnx_ir, to be combined with other passes. Importing this module imports onnx_ir."""

from __future__ import annotations

import onnx_ir as ir

from .. import calls
from ..boundary import public
from ..bridge.opening import open_held
from ..errors import WrongTypeError
from ..progress import Listener
from ..report.report import Report
from . import arguments, driver
from .options import Comparing, Options, checked


class ConvertOpset(ir.passes.InPlacePass):
    """A pass that converts a model in place to `target_opset` of the default domain, as `convert_version` does.

        ir.passes.Sequential(ConvertOpset(13), ir.passes.common.RemoveUnusedNodesPass())(model)

    When it is called, it raises the same errors as `convert_version`; the model is then unchanged. `Sequential` wraps them into a
    PassError, whose `__cause__` is the original error with its blockers. Wrong arguments are reported when the pass is created.
    """

    def __init__(
        self,
        target_opset: int | None,
        *,
        compare: Comparing = "auto",
        options: Options | None = None,
        timeout: float | None = None,
        progress: Listener | None = None,
        name: str = "",
    ) -> None:
        self._target_opset, self._options = checked(target_opset, compare, options)
        self._compare: Comparing = compare
        arguments.check_call(name, timeout, progress)
        self._limits = name, timeout, progress
        self.report: Report | None = None
        """The report of the last call."""

    def __repr__(self) -> str:
        return f"ConvertOpset({self._target_opset})"

    @public
    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Convert `model` and return the same object. `modified` is False where nothing had to change."""
        if not isinstance(model, ir.Model):
            raise WrongTypeError(
                f"ConvertOpset converts an onnx_ir.Model, not {type(model).__name__}: convert_version takes other models"
            )
        with calls.limits(*self._limits):
            held, self.report = driver.convert_opened(
                lambda keep: open_held(model, keep_original=keep), self._target_opset, compare=self._compare, options=self._options
            )
        is_changed = held.is_changed
        if is_changed:
            held.replace_contents()
        return ir.passes.PassResult(model, is_changed)
