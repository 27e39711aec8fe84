"""The package `split_rewrite` itself: what `split_rewrite.rewriter` offers, under the name that users install.

from split_rewrite import convert_version

result = convert_version(model, 13)        # a ModelProto or a path; raises where the numbers differ
onnx.save(result.model, "model13.onnx")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # in the tree, rewriter/ is not in this folder; where it is installed, it is
    from .rewriter import *  # pyright: ignore[reportMissingImports]  # noqa: F403

    __version__: str


def __getattr__(name: str) -> Any:
    """Import `name` when it is first used: importing onnx takes 0.2 s, and `split-rewrite --help` does not need it."""
    if name == "__version__":
        from importlib.metadata import version

        return version("split-rewrite")
    if name == "__all__":
        return [*import_module("split_rewrite.rewriter").__all__, "__version__"]
    if name in import_module("split_rewrite.rewriter").__all__:
        return getattr(import_module("split_rewrite.rewriter"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__getattr__("__all__"), "rewriter"})
