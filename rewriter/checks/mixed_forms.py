"""Brings the nodes of a mixed model to the opset that it declares.

Exporters have written nodes of two opsets into one model, as torch 2.0 did: at opset 18, a Split with num_outputs, which is new
there, beside a ReduceMean with axes as an attribute, which opset 18 no longer has. The form of each node says which opset it is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onnx import ModelProto, NodeProto

from ..engine import stamp
from ..engine.conversion import Engine
from ..engine.outcome import Remark
from ..engine.registry import registry
from ..engine.selection import Selection
from ..errors import RuleError
from ..graph.model import Model
from ..onnx_model.all_nodes import with_inner
from ..onnx_model.protos import default_opset, shown_name
from ..opsets import unread
from ..storage.skeleton import Skeleton
from .wrong_opset import forms_of

_FITTING = "split_rewrite.fitting"
"""The beginning of the domain in which nodes that are not to be converted are hidden. No model that is read or written has it."""


def unmix(skeleton: Skeleton) -> list[Remark]:
    """Convert the nodes of the main graph that are not in the form of the opset of the model, in place. Returns a warning for each.

    A model stays as it is where one opset fits all nodes, which may be the model's, where a node cannot be converted, and where it
    has functions, since these have opsets of their own.
    """
    proto = skeleton.proto
    declared = default_opset(proto.opset_import) or 0
    forms = [opsets for _, opsets in forms_of(proto.graph)]
    if proto.functions or not forms or not all(forms) or frozenset.intersection(*forms):
        return []
    before = ModelProto.FromString(proto.SerializeToString())
    remarks: list[Remark] = []
    while strangers := _strangers(proto, declared):
        opset = strangers[0].opset
        group = [stranger.node for stranger in strangers if stranger.opset == opset]
        remarks += [_remark(node, opset, declared) for node in group]
        if not _convert(skeleton, group, opset, declared) or len(_strangers(proto, declared)) >= len(strangers):
            proto.CopyFrom(before)
            return []
    return remarks


class _Stranger(NamedTuple):
    """A node that is not in the form of its model's opset, and the opset that it is taken to be of."""

    node: NodeProto
    opset: int


def _strangers(proto: ModelProto, declared: int) -> list[_Stranger]:
    forms = forms_of(proto.graph)
    return [_Stranger(node, _own_opset(opsets, declared)) for node, opsets in forms if declared not in opsets]


def _own_opset(opsets: frozenset[int], declared: int) -> int:
    """The opset of a node whose form is legal at `opsets`: the newest before `declared`, otherwise the oldest after it."""
    return max((opset for opset in opsets if opset < declared), default=min(opsets))


def _remark(node: NodeProto, opset: int, declared: int) -> Remark:
    message = f"it is in the form of opset {opset}, and the model is of opset {declared}: it was converted to opset {declared}"
    return Remark("warning", node.op_type, shown_name(node), "model", message)


def _convert(skeleton: Skeleton, nodes: Sequence[NodeProto], source: int, target: int) -> bool:
    """Convert `nodes` from opset `source` to `target`, in place, and no others. Returns whether all could be converted."""
    proto = skeleton.proto
    chosen = set(map(id, nodes))
    unread.hide_nodes(proto, [node for node in with_inner(proto.graph.node) if id(node) not in chosen], _FITTING)
    stamp.stamp(proto, source)
    model = Model(skeleton, constants_as_initializers=proto.ir_version >= 4)
    try:
        outcome = Engine(model, target, registry, Selection.of((), ())).run()
    except RuleError:  # the model need not be valid otherwise
        return False
    unread.show(proto, _FITTING)
    stamp.stamp(proto, target)
    return not outcome.blockers
