"""Knowledge about integer vectors that describe shapes, where they are not known as a whole: their length, and some entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from ..opsets import partial
from ..opsets.partial import Entries
from .protos import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from .scope import Scope

_INTEGERS = frozenset({TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL})


class PartialValues:
    """The known entries of scalars and vectors in one scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._known: dict[str, Entries | None] = {}

    def entries(self, name: str) -> Entries | None:
        """The entries of `name`; None where it does not hold integers, is not a scalar or vector, is longer
        than any shape, or of unknown length.
        """
        name = self._scope.resolve(name)
        home = self._scope.find(name)
        if home is None:
            return None
        if name not in home.partial._known:
            home.partial._find_with_operands(name)
        return home.partial._known[name]

    def _find_with_operands(self, name: str) -> None:
        """Find the entries of `name` after those of everything that it is computed from.

        There is no recursion: a chain may be very long.
        """
        pending: list[tuple[PartialValues, str, bool]] = [(self, name, False)]
        while pending:
            home, name, is_ready = pending.pop()
            if is_ready:
                home._known[name] = home._find(name)
            elif name not in home._known:
                home._known[name] = None  # of a cycle nothing is known
                pending.append((home, name, True))
                operands = home._scope.constants.operands(name) or ()
                pending.extend((owner.partial, operand, False) for owner, operand in operands)

    def _find(self, name: str) -> Entries | None:
        constant = self._scope.constant(name)
        if constant is not None:
            is_short = constant.ndim < 2 and constant.size <= partial.MOST_ENTRIES and constant.dtype.kind in "iub"
            return tuple(int(entry) for entry in constant.reshape(-1)) if is_short else None
        kind = self._scope.type(name)
        shape = None if kind is None else self._scope.types.proven_shape(name)
        if kind is None or shape is None or len(shape) > 1 or kind.tensor_type.elem_type not in _INTEGERS:
            return None
        length = shape[0] if shape else 1
        found = self._computed(name)
        if not isinstance(length, int):
            return found
        if found is not None and len(found) == length:
            return found
        return (None,) * length if length <= partial.MOST_ENTRIES else None

    def _computed(self, name: str) -> Entries | None:
        """The entries of `name`, computed from those of the inputs of the node that makes it."""
        node, _ = self._scope.types.maker(name)
        if node is None or node.domain not in DEFAULT_DOMAINS:
            return None
        if node.op_type == "Shape":
            shape = self._scope.types.proven_shape(node.input[0])
            return None if shape is None else partial.dimensions(shape, node)
        ranks = [self._scope.types.rank(value) if value else None for value in node.input]
        return partial.entries(node, [self.entries(value) if value else None for value in node.input], ranks)

    def reconsider(self) -> None:
        """Forget entries that were unknown: a value became constant, so they may be known now."""
        self._known = {name: known for name, known in self._known.items() if known is not None and None not in known}

    def renew(self, name: str) -> None:
        """Forget the entries of `name`, because a rule replaced the node that makes it."""
        self._known.pop(name, None)
