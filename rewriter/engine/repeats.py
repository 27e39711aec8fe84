"""Repeats the edit of a node on all nodes that are like it, since large models have the same node thousands of times.

Two nodes have the same form if they differ only in their name, their first input and their outputs. The first node of a form is a
`RecordedNode`: it records what the rules ask about that input and those outputs, and whether they do more than edit the node. If
the answers are the same for a later node of the form, it is edited in the same way without calling the rules. Rules see nothing of
this. Calling the rules again would take three times as long: 26 µs for a Split from 13 to 11, against 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from onnx import NodeProto, TensorProto

from ..errors import Unconvertible
from ..graph.node import Dimension, Node, Scope, Shape
from ..graph.operators import Operators

MOST_FORMS = 10_000
"""The number of forms that are remembered for one graph. A model with more different nodes does not gain from it."""

Form = tuple[object, ...]
"""A key that is equal for nodes of the same form."""


def form_of(node: NodeProto) -> Form:
    """The form of a node: everything except its name, the name of its first input, and the names of its outputs."""
    inputs, outputs = node.input[:], node.output[:]
    first = inputs[0] if inputs and (inputs[0] == "" or inputs[0] in inputs[1:]) else len(inputs) > 0
    absent = tuple([name != "" for name in outputs]) if "" in outputs else len(outputs)
    return node.op_type, first, *inputs[1:], absent, *[attribute.SerializeToString() for attribute in node.attribute[:]]


class Forms:
    """The forms of the nodes of one graph as it was read.

    Computing a form takes 3 µs; both the check and the conversion need it.
    """

    def __init__(self) -> None:
        self._forms: dict[int, Form] = {}

    def of(self, index: int, node: NodeProto) -> Form:
        """The form of `node`, number `index` of the graph."""
        form = self._forms.get(index)
        if form is None:
            form = self._forms[index] = form_of(node)
        return form

    def take(self, index: int, node: NodeProto) -> Form:
        """Return the form of `node`, as `of` does, and forget it. For the last use of a node that is about to be edited."""
        return self._forms.pop(index, None) or form_of(node)


_forms: WeakKeyDictionary[Scope, Forms] = WeakKeyDictionary()
"""The forms for graphs that were checked and are not converted yet."""


def forms_of(scope: Scope) -> Forms:
    """The forms of the nodes of `scope`, none of which has been edited."""
    return _forms.setdefault(scope, Forms())


class Fact(NamedTuple):
    """A question that a rule asked about its node, and the answer."""

    question: Callable[..., Any]
    arguments: tuple[Any, ...]
    answer: Any


class RecordedNode(Node):
    """A node that records every question about its first input and its outputs. Everything else is equal in all nodes of its form.

    `facts` becomes None as soon as a rule asks about other parts of the graph, or does more than edit the node in place.
    """

    __slots__ = ("facts",)

    def __init__(self, proto: NodeProto, scope: Scope, opset: int, source_index: int | None = None) -> None:
        super().__init__(proto, scope, opset, source_index)
        self.facts: list[Fact] | None = []

    @property
    def scope(self) -> Scope:
        """The graph that contains the node.

        What a rule finds there may not hold for other nodes, so nothing is recorded any more.
        """
        self.facts = None
        return self._scope

    # -- questions

    def _noted(self, answer: Any, question: Callable[..., Any], *arguments: Any) -> Any:
        """Record `answer` as the answer to `question` with `arguments`, and return it."""
        if self.facts is not None:
            self.facts.append(Fact(question, arguments, answer))
        return answer

    def constant(self, index: int) -> np.ndarray | None:
        answer = super().constant(index)
        return answer if index else self._noted(answer, Node.constant, index)

    def elem_type(self, index: int = 0) -> int | None:
        answer = super().elem_type(index)
        return answer if index else self._noted(answer, Node.elem_type, index)

    def output_elem_type(self, index: int = 0) -> int | None:
        return self._noted(super().output_elem_type(index), Node.output_elem_type, index)

    def type_of_slot(self, slot: int) -> str | None:
        answer = super().type_of_slot(slot)
        return answer if slot > 0 else self._noted(answer, Node.type_of_slot, slot)

    def shape(self, index: int = 0) -> Shape | None:
        answer = super().shape(index)
        return answer if index else self._noted(answer, Node.shape, index)

    def output_shape(self, index: int = 0) -> Shape | None:
        return self._noted(super().output_shape(index), Node.output_shape, index)

    def rank(self, index: int = 0) -> int | None:
        answer = super().rank(index)
        return answer if index else self._noted(answer, Node.rank, index)

    def dimension(self, axis: int, index: int = 0) -> Dimension:
        answer = super().dimension(axis, index)
        return answer if index else self._noted(answer, Node.dimension, axis, index)

    def need_rank(self, index: int = 0) -> int:
        answer = super().need_rank(index)
        return answer if index else self._noted(answer, Node.need_rank, index)

    def need_shape(self, index: int = 0) -> tuple[int, ...]:
        answer = super().need_shape(index)
        return answer if index else self._noted(answer, Node.need_shape, index)

    def need_dimension(self, axis: int, index: int = 0) -> int:
        answer = super().need_dimension(axis, index)
        return answer if index else self._noted(answer, Node.need_dimension, axis, index)

    # -- what is more than an edit in place

    def set_output(self, index: int, name: str) -> None:
        self.facts = None
        super().set_output(index, name)

    def detach_output(self, index: int, what: str) -> str:
        self.facts = None
        return super().detach_output(index, what)

    def drop_output(self, index: int) -> None:
        self.facts = None
        super().drop_output(index)

    def add_tensor(self, tensor: TensorProto) -> str:
        self.facts = None
        return super().add_tensor(tensor)

    @property
    def become(self) -> Operators:
        self.facts = None
        return super().become

    def remove(self) -> None:
        self.facts = None
        super().remove()

    def forward(self, index: int, value: str) -> None:
        self.facts = None
        super().forward(index, value)

    def caution(self, message: str) -> None:
        self.facts = None
        super().caution(message)


class Edit(NamedTuple):
    """What `rules` changed in a node in place, and the facts that they relied on."""

    facts: tuple[Fact, ...]
    rules: tuple[str, ...]
    changed: bool
    edits_inputs: bool
    edits_attributes: bool
    after: NodeProto
    """A node with the new attributes, or the new inputs after the first one, or both, whichever differ from before."""

    def repeat(self, node: Node) -> None:
        """Make the same changes to `node`, another node of the form."""
        if not self.changed:
            return
        if self.edits_inputs:
            del node.proto.input[1:]
        if self.edits_attributes:
            del node.proto.attribute[:]
        node.proto.MergeFrom(self.after)
        node.changed = True


class Repeats:
    """The edits of nodes of `scope` so far, by form."""

    def __init__(self, scope: Scope) -> None:
        self._edits: dict[Form, Edit] = {}
        self._forms = _forms.pop(scope, None) or Forms()  # nobody else gets the forms of nodes that are edited

    def form(self, index: int, node: NodeProto) -> Form:
        """The form of `node`, number `index` of the graph as it was read, before it is edited."""
        return self._forms.take(index, node)

    def find(self, form: Form, node: RecordedNode) -> Edit | None:
        """The edit of another node of `form`, if its facts also hold for `node`; None where there is none."""
        edit = self._edits.get(form)
        return edit if edit is not None and _hold(edit.facts, node) else None

    def remember(self, form: Form, before: NodeProto, node: RecordedNode, rules: Sequence[str]) -> None:
        """Remember how `rules` changed `before`, of form `form`, into `node`; but not if they did more than
        edit the node in place.
        """
        proto = node.proto
        is_in_place = (
            node.facts is not None
            and not (node.added_before or node.added_after)
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


class OncePerForm:
    """Calls `check` for the nodes of `scope`, but only once for all nodes of the same form and with the same facts."""

    def __init__(self, check: Callable[[Node], None], scope: Scope) -> None:
        self._check = check
        self._scope = scope
        self._forms = forms_of(scope)
        self._sound: dict[Form, Sequence[Fact]] = {}

    def __call__(self, proto: NodeProto, index: int) -> None:
        form = self._forms.of(index, proto)
        facts = self._sound.get(form)
        if facts is not None and not facts:
            return
        node = RecordedNode(proto, self._scope, self._scope.opset, index)
        if facts and _hold(facts, node):
            return
        self._check(node)
        if node.facts is not None:
            self._sound[form] = node.facts


def _hold(facts: Sequence[Fact], node: RecordedNode) -> bool:
    """Whether all `facts`, recorded for another node, hold for `node`. These questions are not recorded."""
    try:
        for question, arguments, answer in facts:
            if not _is_same(question(node, *arguments), answer):
                return False
    except Unconvertible:
        return False
    return True


def _distinct(facts: Sequence[Fact]) -> list[Fact]:
    """Each question once: an answer does not change while the rules edit the node."""
    return list({(fact.question.__name__, fact.arguments): fact for fact in reversed(facts)}.values())


def _is_same(answer: object, other: object) -> bool:
    """Whether two answers agree. Arrays agree only if they are the same object, since each constant is read once."""
    if isinstance(answer, np.ndarray) or isinstance(other, np.ndarray):
        return answer is other
    return type(answer) is type(other) and answer == other
