"""Convert ONNX models between opsets, remove sequences, and fold constant Splits.

from split_rewrite.rewriter import convert_version

result = convert_version(model, 13)        # a ModelProto or a path; raises where the numbers differ
onnx.save(result.model, "model13.onnx")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch.many import convert_many
    from .batch.task import ModelReport
    from .comparison.inputs.samples import Samples
    from .comparison.judging.tolerance import Tolerance
    from .conversion.functions import (
        ConversionResult,
        check_convertible,
        convert_file,
        convert_version,
        convert_versions,
        round_trip,
        simplify,
    )
    from .conversion.onnx_ir_pass import ConvertOpset
    from .conversion.options import Options
    from .errors import (
        ArgumentError,
        Blocker,
        CheckError,
        CompareError,
        InternalError,
        InvalidModelError,
        OutOfTimeError,
        RuleError,
        SplitRewriteError,
        SystemLimitError,
        UnconvertibleError,
    )
    from .explaining.explaining import Explanation, explain
    from .explaining.remedies import Remedy
    from .report.report import Report

_MODULES = {
    "batch.many": ("convert_many",),
    "batch.task": ("ModelReport",),
    "conversion.functions": (
        "ConversionResult",
        "check_convertible",
        "convert_file",
        "convert_version",
        "convert_versions",
        "round_trip",
        "simplify",
    ),
    "errors": (
        "ArgumentError",
        "Blocker",
        "CheckError",
        "CompareError",
        "InternalError",
        "InvalidModelError",
        "OutOfTimeError",
        "RuleError",
        "SplitRewriteError",
        "SystemLimitError",
        "UnconvertibleError",
    ),
    "conversion.options": ("Options",),
    "explaining.explaining": ("Explanation", "explain"),
    "explaining.remedies": ("Remedy",),
    "report.report": ("Report",),
    "comparison.inputs.samples": ("Samples",),
    "comparison.judging.tolerance": ("Tolerance",),
    "conversion.onnx_ir_pass": ("ConvertOpset",),
}

__all__ = [
    "ArgumentError",
    "Blocker",
    "CheckError",
    "CompareError",
    "ConversionResult",
    "ConvertOpset",
    "Explanation",
    "InternalError",
    "InvalidModelError",
    "ModelReport",
    "Options",
    "OutOfTimeError",
    "Remedy",
    "Report",
    "RuleError",
    "Samples",
    "SplitRewriteError",
    "SystemLimitError",
    "Tolerance",
    "UnconvertibleError",
    "check_convertible",
    "convert_file",
    "convert_many",
    "convert_version",
    "convert_versions",
    "explain",
    "round_trip",
    "simplify",
]


def __getattr__(name: str) -> Any:
    """Import `name` when it is first used: importing onnx takes 0.2 s, and `split-rewrite --help` does not need it."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
