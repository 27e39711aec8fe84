"""Reads the original and the result as one computation, in which what both do alike is one value.

Each node is looked up by what it does and by the values that it reads. So a node that both models have on the same values makes the
same value, whatever it computes, and only what differs is asked of the solver: each value of the result whose name the original
has. From there on it is the same value, so that each change is judged alone; what depends on one that is not proved is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ctypes import ArgumentError
from typing import Any, NamedTuple

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import reads, subgraphs
from ..opsets import facts, type_protos
from ..opsets.ambiguity import odd_flag
from ..opsets.choices import other_choices
from ..opsets.facts import Kind, Role
from ..storage.payload import is_external
from . import operators as _operators  # noqa: F401 # registers what they compute
from . import terms
from .calls import MODELS, Call, repeated
from .constants import constant
from .model_reader import as_written, attributes_of
from .prover import Prover, UnprovenError
from .reading import Reading, Step
from .solver import z3
from .tensors import (
    WHOLE,
    Disputed,
    DisputedError,
    Items,
    NotModelledError,
    Parts,
    Tensor,
    Unknown,
    Value,
    limited,
    opaque,
    sort_of,
    with_entries,
)
from .terms import Whole

_BOUNDS = {Role.LOWER, Role.UPPER}
_MOST_TRIED = 4
"""The number of nodes of the original with which one of the result is compared, whose inputs have to be shown to be equal."""


class Interpreter:
    """The values of two models. `read_original` comes first, then `read_inputs` of the result, and then `read_result`.

    `others`: the values that they declare otherwise, with "" for those inside of nodes or functions.
    """

    def __init__(self, prover: Prover, others: frozenset[str] = frozenset()) -> None:
        self._prover = prover
        self._others = others
        self._made: dict[tuple[Any, ...], _Made] = {}
        """The outputs of nodes, by what they do and the values that they read."""
        self._alike: dict[tuple[Any, ...], list[tuple[Sequence[Value | None], _Made]]] = {}
        """What nodes that are not modelled read and make, by what they do."""
        self._with_bodies: dict[tuple[Any, ...], list[tuple[Step, Reading, _Made]]] = {}
        """The nodes of the original that have bodies, by what they do apart from these."""
        self._stored: dict[bytes, Value] = {}
        self._kept: list[object] = []
        """Values whose identity is part of a key."""
        self._computed_names: set[str] = set()
        """The values that nodes of the original make."""
        self.original: dict[str, Value] = {}
        self.result: dict[str, Value] = {}
        self.changes: dict[str, UnprovenError | None] = {}
        """The values of the result that are computed in another way, and why they are not proved, None where they are."""
        self.doubts: dict[str, str] = {}
        """For values of the result that depend on one that is not proved, which one."""
        self._written: dict[str, bytes] = {}
        """How the original makes each value: the node or the stored tensor, as it is written."""
        self._behind_changes: set[str] = set()
        """The values of the result that depend on one that is written in another way, proved or not."""

    def read_original(self, model: ModelProto) -> None:
        """Compute with the nodes of the original; what they require is taken to hold."""
        self._prover.prefer_batches(type_protos.batches(model.graph))
        for value in model.graph.input:
            self.original[value.name] = self._input(value)
        self._read(Reading.of(model, self.original, lambda condition, _: self._prover.assume(condition), is_result=False))
        self._computed_names = {name for node in model.graph.node for name in node.output}

    def read_inputs(self, result: ModelProto) -> None:
        """Take the inputs of the result for those of the original."""
        self._behind_changes.update(value.name for value in result.graph.input if value.name in self._others)
        for value in result.graph.input:
            known = self.original.get(value.name)
            self.result[value.name] = Unknown() if known is None else known
            self._take_lengths(value, known)

    def read_result(self, model: ModelProto) -> None:
        """Compute with the nodes of the result; what they require has to follow."""
        self._read(Reading.of(model, self.result, self._prover.require, is_result=True))

    # -- inputs and constants

    def _input(self, value: ValueInfoProto) -> Value:
        shape = type_protos.shape_of(value.type)
        if value.type.WhichOneof("value") != "tensor_type" or shape is None:
            return Unknown()
        dims = tuple(self._length(dim, f"{value.name}[{axis}]") for axis, dim in enumerate(shape))
        return opaque(f"{terms.INPUT}{value.name}", value.type.tensor_type.elem_type, dims)

    def _length(self, dim: int | str | None, name: str) -> Whole:
        if isinstance(dim, int):
            return dim
        return self._prover.length(f"{terms.SYMBOL}{dim}" if dim else f"{terms.LENGTH}{name}", dim or name)

    def _take_lengths(self, value: ValueInfoProto, known: Value | None) -> None:
        """Take over the lengths of an input that only the result states: those were asked for."""
        for dim, length in zip(
            type_protos.shape_of(value.type) or (), known.dims if isinstance(known, Tensor) else (), strict=False
        ):
            if isinstance(dim, int):
                self._prover.assume(terms.equal(length, dim))

    def _constant(self, tensor: TensorProto) -> Value:
        key = TensorProto.FromString(tensor.SerializeToString())
        key.ClearField("name")
        key.ClearField("doc_string")
        content = key.SerializeToString(deterministic=True)
        if content not in self._stored:
            self._stored[content] = self._constant_of(tensor)
        return self._stored[content]

    def _constant_of(self, tensor: TensorProto) -> Value:
        if is_external(tensor):
            return opaque(f"stored {len(self._stored)}", tensor.data_type, tuple(tensor.dims))
        try:
            return constant(tensor)
        except NotModelledError:
            return opaque(f"stored {len(self._stored)}", tensor.data_type, tuple(tensor.dims))

    # -- nodes

    def _read(self, side: Reading) -> None:
        values, inputs = side.values, {value.name for value in side.graph.input}
        for tensor in side.graph.initializer:
            self._note_change(side, [tensor.name], tensor, ())
            if tensor.name not in inputs:
                values[tensor.name] = self._constant(tensor)
                if tensor.name in self._computed_names:
                    values[tensor.name] = self._settled(tensor.name, values[tensor.name], self.original.get(tensor.name))
                    self._note_doubt(tensor.name, ())
        for sparse in side.graph.sparse_initializer:
            values[sparse.values.name] = Unknown()
        for node in side.graph.node:
            outputs = self._outputs(side.step(node), side)
            for name, value in zip(node.output, outputs, strict=False):
                if name:
                    values[name] = self._settled(name, value, self.original.get(name)) if side.is_result else value
            self._spread_doubts(node)
            self._note_change(side, node.output, node, reads(node))

    def _settled(self, name: str, value: Value, other: Value | None) -> Value:
        """The value of the original, `other`, if it has one of this name, after an attempt to show that `value` is equal."""
        if other is None or other is value:
            return value
        if self.changes.get(name) is None:
            try:
                self._require_same(other, value)
                self.changes[name] = None
            except UnprovenError as problem:
                self.changes[name] = problem
        is_of_type = not isinstance(value, Tensor) or (isinstance(other, Tensor) and other.elem_type == value.elem_type)
        return other if is_of_type else value

    def _spread_doubts(self, node: NodeProto) -> None:
        for name in filter(None, node.output):
            self._note_doubt(name, reads(node))

    def _note_change(self, side: Reading, names: Iterable[str], maker: NodeProto | TensorProto, read: Iterable[str]) -> None:
        """Note how the original writes what makes these values, and for the result whether that is another way, or reads such."""
        written = as_written(maker)
        if not side.is_result:
            self._written.update(dict.fromkeys(names, written))
        elif not self._behind_changes.isdisjoint(read) or any(
            name in self._others or self._written.get(name) != written for name in names
        ):
            self._behind_changes.update(filter(None, names))

    def _note_doubt(self, name: str, read: Iterable[str]) -> None:
        """Note whether the value `name` is not proved, or one of those that are `read` to make it."""
        if self.changes.get(name) is not None:
            self.doubts[name] = name
        elif (cause := next((self.doubts[other] for other in read if other in self.doubts), None)) is not None:
            self.doubts[name] = cause

    def _require_same(self, one: Value | None, other: Value | None) -> None:
        """Raises UnprovenError where two values are not shown to be equal."""
        if one is other:
            return
        try:
            if isinstance(one, Tensor) and isinstance(other, Tensor):
                with limited():
                    self._prover.require_equal(one, other)
                return
            if isinstance(one, Parts) and isinstance(other, Parts) and _are_cut_alike(one, other):
                self._require_same(one.tensor, other.tensor)
                return
            if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other) > 0:
                for pair in zip(one, other, strict=True):
                    self._require_same(*pair)
                return
        except NotModelledError as reason:
            raise UnprovenError(str(reason)) from None
        except (RecursionError, ArgumentError):  # the second one is what ctypes makes of the first
            raise UnprovenError("too many nodes are between") from None
        raise UnprovenError("it is computed in another way")

    def _outputs(self, step: Step, side: Reading) -> Sequence[Value]:
        """The outputs of a node; those of the result that are not proved are noted."""
        is_new = step.key not in self._made
        if is_new:
            self._kept += step.read
            self._made[step.key] = self._computed(step, side)
        made = self._made[step.key]
        if made.problem is not None:
            self.changes.update({name: made.problem for name in step.node.output if name})
        may_collect = side.is_result and bool(step.contents) and (is_new or self._is_changed(step.node))
        return self._collected(step, made.outputs) if may_collect else made.outputs

    def _is_changed(self, node: NodeProto) -> bool:
        """Whether a node with bodies reads or makes what the original writes, or declares, in another way, or does so inside."""
        outputs = set(filter(None, node.output))
        is_declared_otherwise = "" in self._others or not self._others.isdisjoint(outputs)
        return is_declared_otherwise or not outputs <= self._written.keys() or not self._behind_changes.isdisjoint(reads(node))

    def _collected(self, step: Step, outputs: Sequence[Value]) -> Sequence[Value]:
        """The outputs of a Loop that is another one in the result, or reads what is. What it collects in no turn has the
        lengths that a runtime infers of its body, and that may be others for another body, or for values of other nodes.
        """
        first = 0 if any(map(_has_loop, (body for _, body in _bodies(step.node)))) else _first_collected(step)
        if first >= len(outputs):
            return outputs
        problem = UnprovenError("in no turn it has the lengths that a runtime infers")
        self.changes.update({name: problem for name in step.node.output[first:] if name})
        return [*outputs[:first], *(Disputed() for _ in outputs[first:])]

    def _computed(self, step: Step, side: Reading) -> _Made:
        is_disputed = False
        try:
            known = self._modelled(step, side)
        except UnprovenError as problem:
            return _Made(self._unlike_others(step, side), problem)
        except DisputedError:
            known, is_disputed = None, True
        if known is not None and not self._may_fail(step):
            return _Made(known)
        alike = self._alike.setdefault(step.does, [])
        for others, made in alike[:_MOST_TRIED] if side.is_result else ():
            if len(others) == len(step.read) and self._are_same(others, step.read):
                return made
        if known is not None:
            made = _Made(known, UnprovenError("nothing shows that its division does not fail") if side.is_result else None)
            alike.append((step.read, made))
            return made
        found = self._with_equal_bodies(step, side) if side.is_result and step.contents else None
        if found is not None:
            return found
        outputs = [Disputed() for _ in step.node.output] if is_disputed else self._unlike_others(step, side)
        made = _Made(outputs, UnprovenError("other operators compute it") if side.is_result else None)
        alike.append((step.read, made))
        if step.contents and not side.is_result:
            self._with_bodies.setdefault(step.what, []).append((step, side, made))
        return made

    def _may_fail(self, step: Step) -> bool:
        """Whether the node is a division that fails for some elements: integers by 0, or floats where it is for integers alone."""
        row = facts.of(step.node.op_type, step.node.domain)
        divisors = [value for index, value in enumerate(step.inputs) if Role.DIVISOR in row.role(index)]
        if any(isinstance(divisor, Tensor) and divisor.elem_type in WHOLE for divisor in divisors):
            return not all(map(self._always_divides, divisors))
        return bool(divisors) and "fmod" in row.flags and attributes_of(step.node).get("fmod", 0) != 1

    def _always_divides(self, divisor: Value | None) -> bool:
        """Whether an operand is known to have no element that is 0, or -1, by which runtimes fail to divide the lowest number."""
        known = with_entries(divisor) if isinstance(divisor, Tensor) else None
        if known is None or known.entries is None:
            return False
        entries = known.entries
        if not known.is_sized and any(not isinstance(entry, int) for entry in entries.ravel()):
            return False
        return all(self._prover.is_certain(terms.negated(terms.equal(entry, bad))) for entry in entries.ravel() for bad in (0, -1))

    # -- bodies

    def _with_equal_bodies(self, step: Step, side: Reading) -> _Made | None:
        """What a node of the original makes that has the same inputs, and bodies that compute the same of equal inputs."""
        if any(isinstance(value, Disputed) for value in step.inputs):
            return None
        found = self._with_bodies.get(step.what, [])
        of_its_name = [each for each in found if each[0].node.output == step.node.output]
        for other, original, made in of_its_name[-1:] or found[:_MOST_TRIED]:
            before, after = _bodies(other.node), _bodies(step.node)
            is_alike = len(other.inputs) == len(step.inputs) and [name for name, _ in before] == [name for name, _ in after]
            if not is_alike or not self._are_same(other.inputs, step.inputs):
                continue
            numbered = [(old, new, self._prover.fresh_number()) for (_, old), (_, new) in zip(before, after, strict=True)]
            if all(self._is_same_body(original.inside(old, scope), side.inside(new, scope)) for old, new, scope in numbered):
                self.changes.update({name: None for name in step.node.output if name})
                return made
        return None

    def _has_disputed_body(self, step: Step, side: Reading) -> bool:
        """Whether a body of the node makes a value about which runtimes disagree, on which the types of its outputs may rest."""
        bodies = (side.inside(body, self._prover.fresh_number()) for _, body in (_bodies(step.node) if step.contents else ()))
        return any(map(self._is_disputed, bodies))

    def _is_disputed(self, body: Reading) -> bool:
        inner = self._for_bodies(body, body)
        with self._prover.scope():
            for value in body.graph.input:
                body.values[value.name] = self._value_of(value.type)
            try:
                inner._read(body)
            except UnprovenError:
                return True
        return any(isinstance(body.values.get(name), Disputed) for node in body.graph.node for name in node.output)

    def _is_same_body(self, old: Reading, new: Reading) -> bool:
        """Whether a body of the original and one of the result make the same of the same inputs, whatever these are."""
        before, after = old.graph, new.graph
        if len(before.input) != len(after.input) or len(before.output) != len(after.output):
            return False
        inner = self._for_bodies(old, new)
        with self._prover.scope():
            for one, other in zip(before.input, after.input, strict=True):
                old.values[one.name] = new.values[other.name] = self._value_of(one.type)
            try:
                inner._read(old)
                if not self._prover.is_possible:
                    return False
                inner._read(new)
                made = [[side.values.get(value.name) for value in side.graph.output] for side in (old, new)]
                return not any(inner.changes.values()) and None not in made[0] and inner._are_same(*made)
            except UnprovenError:
                return False

    def _for_bodies(self, old: Reading, new: Reading) -> Interpreter:
        """One that knows what this one knows. What it finds out holds in bodies alone, where these are run."""
        inner = Interpreter(self._prover, self._others)
        inner._made, inner._alike = dict(self._made), {key: list(found) for key, found in self._alike.items()}
        inner._with_bodies = {key: list(found) for key, found in self._with_bodies.items()}
        inner._stored, inner._kept = self._stored, self._kept
        inner._computed_names = {name for node in old.graph.node for name in node.output}
        inner._behind_changes = set(self._behind_changes)
        inner.original, inner.result = old.values, new.values
        return inner

    # -- values

    def _modelled(self, step: Step, side: Reading) -> Sequence[Value] | None:
        """The outputs of a node that can be said in the language of the solver, else None. Raises UnprovenError."""
        node = step.node
        if odd := odd_flag(node):
            raise DisputedError(f"{odd} is neither 0 nor 1")
        if node.domain not in DEFAULT_DOMAINS or any(attribute.ref_attr_name for attribute in node.attribute):
            return None
        if any(other_choices(node.op_type, name, value) for name, value in attributes_of(node).items()):
            return None  # an attribute has a value that no opset has
        require = side.require if step.is_run else _nothing
        attributes, certain = attributes_of(node), self._prover.is_certain
        call = Call(node.op_type, side.opset, attributes, step.inputs, len(node.output), require, certain, self._prover.sizes)
        try:
            if node.op_type in MODELS:
                with limited():
                    return [_kept(each) for each in MODELS[node.op_type](call)]
        except DisputedError:
            raise
        except NotModelledError:
            pass
        try:
            return [self._elementwise(step, call, side)] if _is_elementwise(node) else None
        except NotModelledError:
            return None

    def _are_same(self, some: Iterable[Value | None], others: Iterable[Value | None]) -> bool:
        try:
            for pair in zip(some, others, strict=True):
                self._require_same(*pair)
        except UnprovenError:
            return False
        return True

    def _elementwise(self, step: Step, call: Call, side: Reading) -> Tensor:
        """The tensor whose elements are a function, of which nothing is known, of those of the operands."""
        op_type, output = step.node.op_type, step.node.output[0]
        kind = side.types[output].tensor_type.elem_type if output in side.types else 0
        tensors = [call.tensor(index) for index in range(len(call.inputs))]
        if not kind or not tensors or (len(tensors) > 1 and call.opset < 8):
            raise NotModelledError("its type is unknown, or it broadcasts in an old way")
        bounds = (tensor for index, tensor in enumerate(tensors) if facts.of(op_type).role(index) & _BOUNDS)
        dims = call.broadcast(*tensors)
        if (
            any(bound.rank for bound in bounds)
            or not all(map(terms.are_same, dims, tensors[0].dims))
            or len(dims) > tensors[0].rank
        ):
            raise NotModelledError("it repeats its first operand")
        sources = [repeated(tensor, dims) for tensor in tensors]
        kinds = [tensor.elem_type for tensor in tensors]
        function = z3.Function(f"{step.what} {kinds}", *map(sort_of, kinds), sort_of(kind))
        return Tensor(kind, dims, lambda index: function(*(terms.term(source(index)) for source in sources)))

    def _unlike_others(self, step: Step, side: Reading) -> list[Value]:
        """Values for the outputs of a node of which nothing is known but their types, if these are."""
        is_unread = side.calls_function(step.node) or (side.is_result and step.contents)  # its nodes may be disputed, too
        is_disputed = any(isinstance(value, Disputed) for value in step.read) or _rests_on_sizes(step, side)
        if is_unread or is_disputed or self._has_disputed_body(step, side):
            return [Disputed() for _ in step.node.output]
        first = _first_collected(step)  # of lengths that are inferred, runtimes know less in no turn
        made = [self._value_of(side.types.get(name)) for name in step.node.output[:first]]
        return [*made, *(Disputed() for _ in step.node.output[first:])]

    def _value_of(self, kind: TypeProto | None) -> Value:
        shape = None if kind is None else type_protos.shape_of(kind)
        if kind is None or shape is None or kind.WhichOneof("value") != "tensor_type":
            return Unknown()
        name = f"{terms.UNKNOWN}{self._prover.fresh_number()}"
        dims = tuple(
            dim if isinstance(dim, int) else self._prover.length(f"{name}{terms.AXIS}{axis}") for axis, dim in enumerate(shape)
        )
        return opaque(name, kind.tensor_type.elem_type, dims)


class _Made(NamedTuple):
    """The outputs of nodes that do the same with the same values. `problem`: why they are not proved."""

    outputs: Sequence[Value]
    problem: UnprovenError | None = None


def _bodies(node: NodeProto) -> list[tuple[str, GraphProto]]:
    """The bodies of a node with the names of their attributes, in the order of these."""
    return sorted(subgraphs(node), key=lambda pair: pair[0])


def _first_collected(step: Step) -> int:
    """The number of the first output of a Loop that is collected over its turns, if there may be none; else that of all outputs.
    Runtimes run no Scan without a turn.
    """
    is_loop = step.node.op_type == "Loop" and step.node.domain in DEFAULT_DOMAINS
    return len(step.node.input) - 2 if is_loop and not _takes_a_turn(step.inputs) else len(step.node.output)


def _has_loop(graph: GraphProto) -> bool:
    """Whether a graph has a Loop, at any depth, that collects something."""
    collects = any(node.op_type == "Loop" and len(node.output) > len(node.input) - 2 for node in graph.node)
    return collects or any(_has_loop(body) for node in graph.node for _, body in _bodies(node))


def _rests_on_sizes(step: Step, side: Reading) -> bool:
    """Whether a length that onnx inferred of an output may rest on sizes that nodes compute, and that are not understood: onnx
    follows sizes through arithmetic that overflows.
    """
    if step.node.domain not in DEFAULT_DOMAINS:
        return False
    row = facts.of(step.node.op_type)
    deciding = (index for index in range(len(step.node.input)) if index in row.vectors or row.role(index) & _SIZING)
    names = {index: step.node.input[index] for index in deciding if Role.TURNS not in row.role(index)}
    computed = [index for index, name in names.items() if name and name not in side.constants]
    found = [side.types[name] for name in step.node.output if name in side.types]
    return bool(computed) and not all(any(_is_stated(kind, step, index) for index in computed) for kind in found)


_SIZING = {Role.SHAPE, Role.SIZES, Role.START, Role.END, Role.STRIDE, Role.RANGE, Role.AXES, Role.ADDED}
"""The roles of inputs that decide lengths."""


def _is_stated(kind: TypeProto, step: Step, index: int) -> bool:
    """Whether each length that is known of a type is the number in its place in the sizes that are input `index`."""
    lengths = [dim for tensor in type_protos.tensors_in(kind) for dim in type_protos.sizes_and_symbols(tensor.shape)]
    if not any(isinstance(length, int) for length in lengths):
        return True
    data, sizes = (step.inputs[place] if place < len(step.inputs) else None for place in (0, index))
    known = with_entries(sizes).entries if isinstance(sizes, Tensor) else None
    if known is None or known.shape != (len(lengths),):
        return False
    is_shape = Role.SHAPE in facts.of(step.node.op_type).role(index)
    kept = data.dims if is_shape and isinstance(data, Tensor) else ()
    return all(
        _is_that(length, size) or (_is_that(0, size) and axis < len(kept) and _is_that(length, kept[axis]))
        for axis, (length, size) in enumerate(zip(lengths, known, strict=True))
        if isinstance(length, int)
    )


def _is_that(number: int, size: Whole) -> bool:
    return isinstance(size, int) and size == number


def _takes_a_turn(inputs: Sequence[Value | None]) -> bool:
    """Whether a Loop with these inputs takes a turn: its number is absent or positive, and its condition absent or true."""
    number, condition = (inputs[place] if place < len(inputs) else None for place in (0, 1))
    if number is None and condition is None:
        return True
    turns, goes_on = (value.entries if isinstance(value, Tensor) else None for value in (number, condition))
    is_positive = number is None or (turns is not None and turns.size == 1 and isinstance(turns.item(), int) and turns.item() > 0)
    return is_positive and (condition is None or (goes_on is not None and goes_on.size == 1 and goes_on.item() is True))


def _kept(value: Value) -> Value:
    """What a node makes, in the form in which it is kept."""
    if isinstance(value, Tensor):
        return with_entries(value)
    return Items(value) if isinstance(value, tuple) else value


def _are_cut_alike(one: Parts, other: Parts) -> bool:
    return (one.axis, one.is_flat) == (other.axis, other.is_flat) and terms.are_same(one.size, other.size)


def _nothing(*_: object) -> None:
    """Require nothing of a node of the original that runtimes need not run."""


def _is_elementwise(node: NodeProto) -> bool:
    row = facts.of(node.op_type)
    return len(node.output) == 1 and row.kind is Kind.ELEMENTWISE and not row.has("may-draw") and node.op_type != "CastLike"
