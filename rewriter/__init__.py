"""Convert ONNX models between opsets, dissolve sequences, and fold constant Splits.

    from split_rewrite.rewriter import convert_version

    result = convert_version(model, 13)        # a ModelProto or a path; raises, or is right
    onnx.save(result.model, "model13.onnx")
"""

from .driver import ConversionResult, Options, convert_file, convert_version, round_trip, simplify
from .errors import Blocker, CheckError, CompareError, InvalidModelError, SplitRewriteError, UnconvertibleError
from .report import Report
from .samples import Samples

__all__ = [
    "Blocker",
    "CheckError",
    "CompareError",
    "ConversionResult",
    "InvalidModelError",
    "Options",
    "Report",
    "Samples",
    "SplitRewriteError",
    "UnconvertibleError",
    "convert_file",
    "convert_version",
    "round_trip",
    "simplify",
]
