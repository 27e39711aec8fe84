"""The values that the specification lists for attributes that are a choice, such as the words for `mode` of Resize.

ONNX's schemas only say that such an attribute is a string or a number, so onnx.checker accepts any. The values here are those of
all versions of an operator, from https://onnx.ai/onnx/operators/. That an older version has fewer of them is handled by rules.
"""

from __future__ import annotations

from functools import cache

import onnx

from . import facts

_TAKEN: dict[str, frozenset[str | int] | None] = {
    "auto_pad": frozenset({""}),
    "nearest_mode": frozenset({""}),
    "qk_matmul_output_mode": None,
    "reduction": frozenset({""}),
    "softmax_precision": None,
    "stash_type": None,
}
"""Values of attributes that are in no list, and which onnxruntime takes nevertheless; None for any value.

They are a problem only to a rule that has to know what they mean.
"""
_EMPTY = {"auto_pad": "NOTSET", "reduction": "none"}
"""What onnxruntime takes an empty word for, where it is the default (a loss, whose default is the mean, becomes the sum)."""
CHOOSING = facts.choosing()
"""The operators with such an attribute."""


def other_choices(op_type: str, name: str, value: object) -> str:
    """The values that the specification lists for the attribute, for a message, if `value` is none of them; else ""."""
    known = facts.of(op_type).choices.get(name) if isinstance(value, str | int) else None
    return "" if known is None or value in known else ", ".join(map(str, known))


def is_taken(name: str, value: str | int) -> bool:
    """Whether onnxruntime takes `value` for an attribute `name` although no specification lists it."""
    taken = _TAKEN.get(name, frozenset())
    return taken is None or value in taken


def is_empty_default(op_type: str, name: str, value: object) -> bool:
    """Whether the value of an attribute, as text or bytes, is an empty word that onnxruntime takes for the default."""
    return value in ("", b"") and name in _EMPTY and _default(op_type, name) == _EMPTY[name]


def meant(op_type: str, name: str, value: object) -> object:
    """The value of an attribute, or the default where onnxruntime takes an empty word for it."""
    return _EMPTY[name] if is_empty_default(op_type, name, value) else value


@cache
def _default(op_type: str, name: str) -> str:
    try:
        return onnx.defs.get_schema(op_type).attributes[name].default_value.s.decode()
    except (onnx.defs.SchemaError, KeyError):
        return ""
