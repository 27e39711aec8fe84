"""The names of element types in profiles."""

from __future__ import annotations

from ..engine.narrow_types import NARROW_TYPES

TYPES = frozenset(
    [
        "bool",
        "string",
        "float16",
        "bfloat16",
        "float",
        "double",
        *(f"{kind}{n}" for kind in ("int", "uint") for n in (8, 16, 32, 64)),
        *NARROW_TYPES,
    ]
)
