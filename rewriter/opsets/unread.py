"""Keeps nodes of versions that nobody has read out of the reach of everything that changes, evaluates or checks nodes.

An onnx that is newer than this program brings operators and versions of which it knows nothing: a new attribute may change what all
others mean. During a conversion, such nodes are in a domain of their own, so that they are treated like nodes of any other domain
than ONNX's. Only onnx itself, which knows them, sees them as they are, when it checks the model and infers types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from ..onnx_model.all_nodes import with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import default_opset
from .transitions import is_read, newest_opset

UNREAD = "split_rewrite.unread"
"""The beginning of the domain of hidden nodes. No model that is read or written has it."""


def _domains_of(beginning: str) -> dict[str, str | None]:
    """The domains of hidden nodes, each with that which the node has in the model: None where it states none."""
    return {beginning: None} | {f"{beginning}/{domain}": domain for domain in DEFAULT_DOMAINS}


_DOMAINS = _domains_of(UNREAD)


def hide(proto: onnx.ModelProto, operators: Iterable[str]) -> bool:
    """Hide the nodes of unread versions, in place; `operators` are the labels of all nodes of the model.

    Returns whether there are any.
    """
    labels = [label for label in operators if "::" not in label]
    found = False
    for owner in (proto, *proto.functions):
        opset = default_opset(owner.opset_import) or 0
        unread = {label for label in labels if 0 < opset <= newest_opset() and not is_read(label, opset)}
        if unread:
            found |= hide_nodes(owner, [node for node in with_inner(_body(owner).node) if node.op_type in unread])
    return found


def hide_nodes(owner: onnx.ModelProto | onnx.FunctionProto, nodes: Iterable[onnx.NodeProto], beginning: str = UNREAD) -> bool:
    """Hide those of `nodes`, which are all of `owner`, that are of ONNX's own domain, in domains with this `beginning`.

    Returns whether there are any.
    """
    found = False
    for node in nodes:
        if node.domain in DEFAULT_DOMAINS:
            node.domain = f"{beginning}/{node.domain}" if node.HasField("domain") else beginning
            found = True
    for domain in _domains_of(beginning):
        owner.opset_import.add(domain=domain, version=1)
    return found


def show(proto: onnx.ModelProto, beginning: str = UNREAD) -> bool:
    """Show the nodes that are hidden in domains with this `beginning`, in place. Returns whether there were any."""
    found, domains = False, _domains_of(beginning)
    for owner in (proto, *proto.functions):
        for entry in [entry for entry in owner.opset_import if entry.domain in domains]:
            owner.opset_import.remove(entry)
        for node in with_inner(_body(owner).node):
            if node.domain in domains:
                found = True
                domain = domains[node.domain]
                node.ClearField("domain")
                if domain is not None:
                    node.domain = domain
    return found


def is_hidden(domain: str) -> bool:
    """Whether nodes of `domain` are hidden ones."""
    return domain in _DOMAINS


def are_in(serialized: bytes) -> bool:
    """Whether a serialized model may have hidden nodes."""
    return UNREAD.encode() in serialized


def domains(proto: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, str]]:
    """All nodes of a model, in an order that inference does not change, with their domains."""
    for owner in (proto, *proto.functions):
        yield from ((node, node.domain) for node in with_inner(_body(owner).node))


def _body(owner: onnx.ModelProto | onnx.FunctionProto) -> onnx.GraphProto | onnx.FunctionProto:
    return owner.graph if isinstance(owner, onnx.ModelProto) else owner
