"""The runtimes that a comparison may ask, and which of them are installed."""

from __future__ import annotations

import importlib.util
from typing import Literal

from ..errors import ArgumentError

Runtime = Literal["auto", "onnxruntime", "reference", "both"]
ENGINES = ("onnxruntime", "onnx.reference")
"""Both runtimes, the preferred one first."""
_CHOICES: dict[str, tuple[str, ...]] = {
    "auto": ENGINES,
    "onnxruntime": ("onnxruntime",),
    "reference": ("onnx.reference",),
    "both": ENGINES,
}


def installed(runtime: Runtime) -> list[str]:
    """The runtimes to ask, in order. Raises ArgumentError where the named one is not installed."""
    engines = [name for name in _CHOICES[runtime] if is_installed(name)]
    if not engines or (runtime == "both" and "onnxruntime" not in engines):
        raise ArgumentError(f"--runtime {runtime}: onnxruntime is not installed; pip install onnxruntime")
    return engines


def is_installed(engine: str) -> bool:
    """Whether the runtime can be imported. It is not imported here."""
    return importlib.util.find_spec(engine.partition(".")[0]) is not None


def other_engine(engine: str) -> str | None:
    """The runtime that may confirm what `engine` finds; None where it is not installed."""
    other = "onnx.reference" if engine == "onnxruntime" else "onnxruntime"
    return other if is_installed(other) else None
