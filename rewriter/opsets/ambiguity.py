"""Nodes to which the specification gives no meaning, or two, whatever their operands: onnx infers one, and runtimes compute
another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from onnx import AttributeProto, NodeProto

from ..onnx_model.domains import DEFAULT_DOMAINS
from . import facts

_SHAPING = frozenset({
    *("allowzero", "broadcast", "ceil_mode", "keepdims", "new_axis", "noop_with_empty_axes", "onesided", "transA", "transB"),
})  # fmt: skip
"""The flags on which shapes depend."""
_SQUEEZE = "Squeeze"


def has_odd_form(node: NodeProto) -> bool:
    """Whether nobody can tell what `node` computes."""
    return bool(odd_flag(node) or remedy(node))


def remedy(node: NodeProto) -> str:
    """What would tell the shapes that `node` makes, as "set keepdims to 0 or 1"; "" for a node of one meaning."""
    if node.domain not in DEFAULT_DOMAINS or not _has_such(node.op_type):
        return ""
    flag = shaping_flag(node)
    if flag:
        return f"set {flag} to 0 or 1"
    if states_pads_twice(node):
        return "leave out pads or auto_pad"
    return "list the axes" if states_empty_axes(node) else ""


@cache
def _has_such(op_type: str) -> bool:
    """Whether nodes of this operator may have two meanings."""
    fact = facts.of(op_type)
    return bool(fact.flags & _SHAPING) or "auto_pad" in fact.choices or op_type == _SQUEEZE


def shaping_flag(node: NodeProto) -> str:
    """The first flag of a node on which shapes depend, and that is neither 0 nor 1; "" where there is none."""
    return next((name for name, _ in _odd_flags(node) if name in _SHAPING), "")


def odd_flag(node: NodeProto) -> str:
    """The first flag of a node that is neither 0 nor 1, as "fmod=17"; "" where there is none."""
    return next((f"{name}={number}" for name, number in _odd_flags(node)), "")


def _odd_flags(node: NodeProto) -> Iterator[tuple[str, int]]:
    flags = facts.of(node.op_type, node.domain).flags
    for attribute in node.attribute if flags else ():
        is_flag = attribute.name in flags and attribute.type == AttributeProto.INT and not attribute.ref_attr_name
        if is_flag and attribute.i not in (0, 1):
            yield attribute.name, attribute.i


def states_pads_twice(node: NodeProto) -> bool:
    """Whether `node` has pads, which onnx then takes, beside an auto_pad, by which onnxruntime computes others for a pool."""
    auto = next((attribute.s for attribute in node.attribute if attribute.name == "auto_pad"), b"")
    if auto in (b"", b"NOTSET"):
        return False
    pads = next((attribute.ints for attribute in node.attribute if attribute.name == "pads"), ())
    return any(pads) if auto == b"VALID" else bool(pads)


def states_empty_axes(node: NodeProto) -> bool:
    """Whether `node` is a Squeeze with an empty list of axes: it removes nothing by the specification and as onnx infers, and all
    axes of length 1 in onnxruntime.
    """
    if node.op_type != _SQUEEZE:
        return False
    return any(each.name == "axes" and not each.ints and not each.ref_attr_name for each in node.attribute)
