"""Restrictions of the result beyond those of its opset: operators, types and forms that a runtime does not accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Restrictions:
    """Forms, operators and types that runtimes do not accept. The values are parts of messages that name the runtime.

    `forms`: (form, operator), as in `avoid`, → "MNN 3.6 computes it wrongly: Round". `refused`: those of `forms` that all these
    runtimes refuse with an error instead of computing them wrongly. `operators`: op_type → "MNN 3.6". `types`: element type as in
    type strings, "int64" → "wonnx 2024".
    """

    forms: Mapping[tuple[str, str], str] = field(default_factory=dict)
    refused: frozenset[tuple[str, str]] = frozenset()
    operators: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


UNRESTRICTED = Restrictions()
