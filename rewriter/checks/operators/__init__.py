"""What onnx.checker does not see: one module for each operator. Importing this package registers all checks."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from ..registry import CHECKS

__all__ = ["CHECKS"]

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
