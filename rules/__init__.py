"""One module for each operator, with every rule that takes it up or down; importing this package registers all rules.

`many/` holds one idea for many operators, `simplify/` what may be done at any opset, `shared/` the helpers, which are no rules.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
