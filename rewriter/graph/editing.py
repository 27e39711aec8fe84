"""One node with its attributes, inputs and outputs, and the nodes that a rule puts beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, MutableSequence, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto

from ..errors import Unconvertible
from ..onnx_model.protos import reads
from ..opsets.facts import GRAPH_HOLDERS
from ..opsets.transitions import newest_opset
from ..storage.payload import element_dtype, require_fitting_raw_data
from ..structure.declarations import show
from .operators import Domain, Operators
from .scope import Scope
from .stored import Stored, fill

if TYPE_CHECKING:
    from typing_extensions import Self


class Caution(NamedTuple):
    """A warning about a node. One that is `only_if_empty` concerns empty tensors alone."""

    message: str
    only_if_empty: bool = False


class Editing(Stored):
    """One node in the form of `opset`, which is edited in place, with the nodes that are to stand before and after it."""

    __slots__ = (
        "_added_after",
        "_added_before",
        "_behind",
        "_cautions",
        "_changed",
        "_removed",
        "_source_index",
        "_why",
        "approximate",
        "body_opset",
        "opset",
        "rounds",
        "written_for",
    )

    def __init__(self, proto: NodeProto, scope: Scope, opset: int, source_index: int | None = None) -> None:
        """`source_index` is the position in the original node list; None for a node that a rule made."""
        super().__init__(proto, scope)
        self.opset = opset
        """The opset in whose form the node is."""
        self.body_opset = opset
        """The opset in whose form the nodes of its subgraphs are."""
        self.written_for = opset
        """The opset in whose form the rule makes nodes."""
        self._source_index = source_index
        self._added_before: list[Self] = []
        self._added_after: list[Self] = []
        self._behind = 0
        """The number of nodes in `_added_after` from the current rule. They come before those of earlier rules, which read them."""
        self.approximate = False
        """An otherwise exact rule sets this where the last bits of the result may differ for this node."""
        self.rounds = False
        """A rule sets this where the original rounds to the steps of a quantization, and the result does not, or otherwise."""
        self._cautions: list[Caution] = []
        self._changed = False
        self._removed = False
        self._why = ("", "")
        """The reason why a rule replaced one node by nodes such as this one, and a hint."""

    # -- attributes

    def set_attr(self, name: str, value: Any) -> None:
        """Set the attribute to `value`, of which onnx derives its type."""
        attribute = self._attribute(name)
        if attribute is None:
            attribute = self.proto.attribute.add()
        fill(attribute, name, value)
        self._changed = True

    def pop_attr(self, name: str, default: Any = None) -> Any:
        """Remove the attribute and return its value, or `default` if it is absent."""
        for index, attribute in enumerate(self.proto.attribute):
            if attribute.name == name:
                value = self._value_of(attribute)
                del self.proto.attribute[index]
                self._changed = True
                return value
        return default

    # -- inputs and outputs

    def set_input(self, index: int, name: str) -> None:
        """Set input `index` to `name`. Missing inputs before it become absent ones."""
        self._scope.model.new_uses.add(name)
        self.proto.input.extend([""] * (index + 1 - len(self.proto.input)))
        self._lose(self.proto.input[index])
        self.proto.input[index] = name
        self._changed = True

    def add_input(self, name: str) -> None:
        """Add `name` behind the last input."""
        self._scope.model.new_uses.add(name)
        self.proto.input.append(name)
        self._changed = True

    def drop_input(self, index: int) -> None:
        """Make input `index` absent. Absent inputs at the end of the list are removed."""
        if index >= len(self.proto.input):
            return
        self._lose(self.proto.input[index])
        _make_absent(self.proto.input, index)
        self._changed = True

    def _lose(self, name: str) -> None:
        if name:
            self._scope.model.lost_uses.add(name)

    def set_output(self, index: int, name: str) -> None:
        """Let output `index` have the name `name`; "" makes it absent."""
        self.proto.output.extend([""] * (index + 1 - len(self.proto.output)))
        self._scope.model.retired.add(self.proto.output[index])
        self.proto.output[index] = name
        if name:
            self._scope.producers[name] = self.proto
        self._changed = True

    def detach_output(self, index: int, what: str) -> str:
        """Give output `index` a fresh name and return it, so that a node put `after` this one can make the old name.

        The caller knows that the value keeps its type, or states the new type by the node that it adds.
        """
        fresh = self.fresh_name(what)
        self.proto.output[index] = fresh
        self.renew()
        return fresh

    def edited(self) -> None:
        """State that the rule edited `proto` itself, or a subgraph."""
        self._changed = True

    def renew(self) -> None:
        """As `edited`; what is known about the outputs follows from the node as it is now."""
        self._scope.register(self.proto, self.opset)
        self._changed = True

    def drop_output(self, index: int) -> None:
        """Make output `index` absent. Absent outputs at the end of the list are removed."""
        self._scope.model.retired.add(self.proto.output[index])
        _make_absent(self.proto.output, index)
        self._changed = True

    # -- making things

    def fresh_name(self, what: str) -> str:
        """A new name, `<first output>_<what>`, which is unique in the whole model."""
        return self._scope.model.fresh_name(f"{self._first_output}_{what}")

    def keep(self, value: str) -> str:
        """Let a value that a new node makes be computed in each run, even if it is the same in all of them; returns its name."""
        self._scope.model.kept_names.add(value)
        return value

    def _add_constant(self, value: Any, dtype: Any) -> str:
        array = _constant_array(value, dtype)
        return self._constant_name(self._scope.constants.add(array, f"{self._first_output}_constant"))

    def add_tensor(self, tensor: TensorProto) -> str:
        """Add a constant tensor that has a name already, and return the name.

        The payload may stay on disk where initializers are possible. Raises InvalidModelError where it does not fit the shape.
        """
        require_fitting_raw_data(tensor)
        return self._constant_name(self._scope.constants.add_tensor(tensor))

    def _constant_name(self, made: str | NodeProto) -> str:
        if isinstance(made, str):
            return made
        # Constant-1 takes floats only: let the node be one of opset 9, whose way down knows what to do.
        self._queue(made, (), self._added_before, max(self.written_for, 9))
        return made.output[0]

    @property
    def op(self) -> Operators:
        """Makes nodes before this one: `node.op.Mul(a, b)` returns the name of the product. `node.op.const` makes a constant."""
        return self._operators(partial(self._make, self._added_before))

    @property
    def after(self) -> Operators:
        """Makes nodes after this one, in the order in which the rule makes them."""
        return self._operators(partial(self._make, self._added_after))

    def _operators(self, make: Callable[..., list[str]]) -> Operators:
        return Operators(make, self._add_constant, lambda domain: partial(make, domain=domain))

    def _make(
        self,
        where: list[Self],
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str] | int,
        attributes: dict[str, Any],
        opset: int | None,
        domain: Domain | None = None,
    ) -> list[str]:
        self._require_certain(op_type, inputs)
        label = op_type.lower()
        names = [self.fresh_name(label) for _ in range(outputs)] if isinstance(outputs, int) else list(outputs)
        model = self._scope.model
        if self.proto.name:
            node_name = model.fresh_name(f"{self.name}_{label}_node")
        else:
            node_name = names[0] if isinstance(outputs, int) else model.node_name(names[0])
        made = model.workshop.node.add(op_type=op_type, input=inputs, output=names, name=node_name)
        for key, value in sorted(attributes.items()):
            fill(made.attribute.add(), key, value)
        self._enter(made, domain)
        self._queue(made, reads(made) if op_type in GRAPH_HOLDERS else inputs, where, opset)
        return names

    def _add_node(self, proto: NodeProto, opset: int | None = None) -> None:
        """Put a ready-made node, written for `opset`, before this one; its output names must be fresh or this node's."""
        self._queue(proto, reads(proto), self._added_before, opset)

    def _queue(self, proto: NodeProto, read: Sequence[str], where: list[Self], opset: int | None) -> None:
        """Put `proto`, which reads the values `read`, among the nodes that the rule at work made."""
        opset = _known(opset or self.written_for)
        self._scope.model.new_uses.update(read)
        self._scope.register(proto, opset)
        made = type(self)(proto, self._scope, opset)
        made._why = self._why
        if where is self._added_after:
            where.insert(self._behind, made)
            self._behind += 1
        else:
            where.append(made)
        self._changed = True

    @property
    def become(self) -> Operators:
        """Turns this node into another operator with the same outputs, name and documentation: `node.become.Mul(a, b)`."""
        return self._operators(self._become)

    def _become(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str] | int,
        attributes: dict[str, Any],
        opset: int | None,
        domain: Domain | None = None,
    ) -> list[str]:
        self._require_certain(op_type, inputs)
        self._require_version(domain)
        for name in self.proto.input:
            self._lose(name)
        model = self._scope.model
        model.new_uses.update(inputs)
        if self.proto.op_type == "Constant" and model.shares_node_name(self.proto.name):
            self.proto.name = self.fresh_name("node")  # runtimes let only Constants share the name of another node
        self.proto.op_type = op_type
        self._enter(self.proto, domain)
        del self.proto.input[:]
        self.proto.input.extend(inputs)
        del self.proto.attribute[:]
        for key, value in attributes.items():
            fill(self.proto.attribute.add(), key, value)
        self.opset = _known(opset or self.written_for)
        self._scope.nodes_changed()
        self._scope.note_maker(self.proto)
        self._changed = True
        return self.outputs or [""]

    def _enter(self, proto: NodeProto, domain: Domain | None) -> None:
        """Let `proto` be of `domain`, and the model import it; None is ONNX's own. Raises Unconvertible as `Operators.of`."""
        self._require_version(domain)
        proto.ClearField("domain")
        if domain is None:
            return
        for imports in self._scope.imports:
            if all(entry.domain != domain.name for entry in imports):
                imports.add(domain=domain.name, version=domain.version)
        proto.domain = domain.name

    def _require_version(self, domain: Domain | None) -> None:
        """Raises Unconvertible where the model imports another version of `domain`."""
        if domain is None:
            return
        for imports in self._scope.imports:
            read = next((entry.version for entry in imports if entry.domain == domain.name), domain.version)
            known = self._scope.model.domain_targets.get(domain.name, read)
            if known != domain.version:
                needed = f"{domain.name or 'ai.onnx'} in version {domain.version}"
                raise Unconvertible(f"its form needs {needed}, and the model imports version {known}")

    def _require_certain(self, op_type: str, inputs: Sequence[str]) -> None:
        """Raises Unconvertible where a new node reads a shape that runtimes infer wrongly: they would put that in its place."""
        wrong = self._scope.model.misread.get(inputs[0]) if op_type == "Shape" else None
        if wrong is not None:
            reason = f"its form needs the shape of '{inputs[0]}', which runtimes take for {show(wrong)}, though it may be another"
            raise Unconvertible(reason, self.shape_hint(inputs[0]))

    def remove(self) -> None:
        """Remove this node. Its outputs have to be made by nodes before or after it, or must not be read by anything."""
        self._scope.forget(self.proto)
        self._removed = self._changed = True


def _known(opset: int) -> int:
    """`opset`. Raises Unconvertible where the installed onnx does not know it: it could not say what a node of that opset is."""
    if opset > newest_opset():
        raise Unconvertible(f"its rewrite needs opset {opset}, which the installed onnx does not know", "pip install -U onnx")
    return opset


def _make_absent(names: MutableSequence[str], index: int) -> None:
    names[index] = ""
    while names and not names[-1]:
        del names[-1]


def _constant_array(value: Any, dtype: Any) -> np.ndarray:
    """`value` as an array of `dtype`, a numpy type or a TensorProto.DataType. Raises Unconvertible where it is beyond that type."""
    if isinstance(dtype, int):
        dtype = object if dtype == TensorProto.STRING else element_dtype(TensorProto(data_type=dtype))
    array = _array_of(value, dtype)
    if array is None or not _is_exact(value, array):
        raise Unconvertible(f"it would need the constant {value}, beyond {np.dtype(dtype)}", "correct the model")
    return array


def _is_exact(value: Any, array: np.ndarray) -> bool:
    """Whether `array` has the integers of `value`, or its number, which may be rounded, is within the type."""
    if array.dtype.kind in "iu":
        return getattr(value, "dtype", None) == array.dtype or np.array_equal(array, value)
    return not isinstance(value, float) or is_held(value, array)


def _array_of(value: Any, dtype: Any) -> np.ndarray | None:
    """`value` as an array of `dtype`; None for an integer that is beyond it."""
    try:
        with np.errstate(over="ignore"):
            return np.array(value, dtype)
    except OverflowError:
        return None


def is_held(number: float, array: np.ndarray) -> bool:
    """Whether `array`, which holds `number` in some type, is neither 0 nor an infinity, unless the number is."""
    held = float(array)
    return not number or not math.isfinite(number) or (held != 0 and math.isfinite(held))
