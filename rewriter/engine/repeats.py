"""Twins: large models have the same node thousands of times, and what became of one in place becomes of the others.

Asking the rules again costs three times as much: 26 µs for a Split from 13 to 11, against 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from ..errors import Unconvertible
from ..graph.node import Fact, Node
from ..graph.protos import Form

MOST_FORMS = 10_000
"""That a scope remembers; a model with more different nodes has no twins worth it."""


def agree(facts: Sequence[Fact], node: Node) -> bool:
    """Whether the facts of a twin are those of `node`, too."""
    noted, node.facts = node.facts, None  # to ask here is no fact of the node's own
    try:
        for question, arguments, answer in facts:
            if not _is_same(question(node, *arguments), answer):
                return False
    except Unconvertible:
        return False
    finally:
        node.facts = noted
    return True


class Edit(NamedTuple):
    """What `rules` made of a node without any effect beyond it, and the facts that they went by."""

    facts: tuple[Fact, ...]
    rules: tuple[str, ...]
    changed: bool
    edits_inputs: bool
    edits_attributes: bool
    after: NodeProto
    """What differs from before: the attributes or the inputs behind the first, or both."""

    def fits(self, node: Node) -> bool:
        """Whether the rules, which are not asked, would do the same to `node`, a twin."""
        return agree(self.facts, node)

    def repeat(self, node: Node) -> None:
        """Do to `node` what the rules did to its twin."""
        if not self.changed:
            return
        if self.edits_inputs:
            del node.proto.input[1:]
        if self.edits_attributes:
            del node.proto.attribute[:]
        node.proto.MergeFrom(self.after)
        node.changed = True


class Twins:
    """The nodes of one scope that are done, by their form."""

    def __init__(self) -> None:
        self._edits: dict[Form, Edit] = {}

    def find(self, form: Form, node: Node) -> Edit | None:
        """What is to be done to `node`, which is of `form`, if a twin of it is done."""
        edit = self._edits.get(form)
        return edit if edit is not None and edit.fits(node) else None

    def remember(self, form: Form, before: NodeProto, node: Node, rules: Sequence[str]) -> None:
        """`node`, which was `before`, of `form`, is done by `rules`; if they did no more than a twin can repeat, twins will."""
        proto = node.proto
        is_in_place = (
            node.facts is not None
            and proto.op_type == before.op_type
            and proto.input[:1] == before.input[:1]
            and proto.output == before.output
        )
        if not is_in_place or len(self._edits) >= MOST_FORMS:
            return
        edits_inputs, edits_attributes = proto.input != before.input, proto.attribute != before.attribute
        after = NodeProto(input=proto.input[1:] if edits_inputs else (), attribute=proto.attribute if edits_attributes else ())
        facts = tuple(_distinct(node.facts or ()))
        self._edits[form] = Edit(facts, tuple(rules), node.changed, edits_inputs, edits_attributes, after)


def _distinct(facts: Sequence[Fact]) -> list[Fact]:
    """Each question once: an answer does not change while the rules are at work on the node."""
    return list({(fact.question.__name__, fact.arguments): fact for fact in reversed(facts)}.values())


def _is_same(answer: object, other: object) -> bool:
    """Of two arrays, whether they are one: the same constant is read once."""
    if isinstance(answer, np.ndarray) or isinstance(other, np.ndarray):
        return answer is other
    return type(answer) is type(other) and answer == other
