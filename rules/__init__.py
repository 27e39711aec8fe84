"""One module for each operator, with all rules that convert it up or down. Importing this package registers all rules.

`many/` has rules that are the same for many operators, `simplify/` rules that apply at any opset, `avoid/` rules for single
runtimes, `modern/` rules that write newer operators, `microsoft/` rules for onnxruntime's own operators, and `shared/` helper
functions without rules.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
