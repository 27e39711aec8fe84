"""What a result may not contain, beside what its opset does not have: the runtimes that it is for do not take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Restrictions:
    """The values name the runtime, for messages.

    `forms`: (form, operator), as `avoid` names them, → "MNN 3.6 computes it wrongly: Round"; `refused`: those of `forms` that
    are refused aloud by all who do not take them, so that no result is wrong; `operators`: op_type → "MNN 3.6"; `types`: an
    element type as type strings have it, "int64" → "wonnx 2024".
    """

    forms: Mapping[tuple[str, str], str] = field(default_factory=dict)
    refused: frozenset[tuple[str, str]] = frozenset()
    operators: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


UNRESTRICTED = Restrictions()
