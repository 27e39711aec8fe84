"""The module z3, as Any: most of what its functions return is one of many classes to a type checker."""

from __future__ import annotations

from importlib import import_module
from typing import Any

z3: Any = import_module("z3")
