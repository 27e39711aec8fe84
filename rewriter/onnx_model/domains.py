"""The domains of operators that ONNX defines."""

DEFAULT_DOMAINS = ("", "ai.onnx")
"""The two names of the default domain."""
ONNX_DOMAINS = frozenset({*DEFAULT_DOMAINS, "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.training"})
"""The domains whose operators ONNX defines."""
