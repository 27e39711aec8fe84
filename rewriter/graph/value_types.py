"""The types and shapes of the values of a scope: as declared, as inferred for the whole model, and as
derived further from there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, helper

from ..cached import cached_property
from ..opsets import facts, inference, partial
from ..opsets.inference import Dimension, Shape
from ..storage.payload import element_type_of, tensor_of
from . import body_types
from .declarations import contradict, shapes_of, types_with_values
from .propagation import Propagated
from .protos import DEFAULT_DOMAINS, GRAPH_HOLDERS, GraphLike, captured, reads, subgraphs
from .tied_types import TiedTypes

if TYPE_CHECKING:
    from .scope import Scope

Types = dict[str, TypeProto]
_ONE_SEQUENCE = 9
"""The first opset in which a Scan takes one sequence instead of a batch."""
_NONE_UNPROVEN: frozenset[int] = frozenset()


class ValueTypes:
    """The types of the values of one scope.

    A question never changes a later answer: what inference of the whole model left open is derived when it is first asked for, and
    kept.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._noted: dict[str, TypeProto] = {}
        """The types of values that rules made, as the rules know them or as inferred from the node."""
        self._complete: dict[str, TypeProto | None] = {}
        """The types of the values that were asked for, with everything that could be derived."""
        self._worked_out: set[str] = set()
        """The values in `_complete` whose operands were derived before them."""
        self._gained: set[str] = set()
        """The values in `_complete` about which more is known than inference of the whole model found."""
        self._is_supposed = False
        """Whether the types of the graph's inputs are assumptions, made to see what follows from them."""
        self._shapes: dict[str, tuple[Shape | None, frozenset[int]]] = {}
        self._strings: dict[str, str] = {}

    # -- asking

    def declared(self, name: str) -> TypeProto | None:
        """The type that the model states for `name`, without any inference."""
        home = self._scope.find(name)
        return None if home is None else home.types._declared.get(name)

    def type(self, name: str) -> TypeProto | None:
        """Everything that is known about the type of `name`; None where nothing is."""
        name = self._scope.resolve(name)
        home = self._home(name)
        if name not in home._complete:
            known = home.stated(name)
            if home._is_unsettled(name, known):
                home._work_out(name)
            else:
                home._complete[name] = known
        return home._complete[name]

    def shape(self, name: str) -> Shape | None:
        """The dimensions of `name`: numbers, the author's symbols, or None; None where the rank is unknown."""
        shape, unproven = self._shape(name)
        if unproven and shape is not None:
            self._scope.model.sizes_relied_on[self._scope.resolve(name)] = shape
        return shape

    def size(self, name: str, axis: int) -> Dimension:
        """The length of axis `axis` (may be negative) of `name`; None where it is unknown."""
        shape, unproven = self._shape(name)
        if shape is None or not -len(shape) <= axis < len(shape):
            return None
        if axis % len(shape) in unproven:
            self._scope.model.sizes_relied_on[self._scope.resolve(name)] = shape
        return shape[axis]

    def rank(self, name: str) -> int | None:
        """The number of dimensions of `name`; None where it is unknown."""
        shape, _ = self._shape(name)
        return None if shape is None else len(shape)

    def _shape(self, name: str) -> tuple[Shape | None, frozenset[int]]:
        """The dimensions of `name`, and the axes whose length is only declared.

        The types of a large model without subgraphs are looked up before its graph is, because listing all makers of values would
        take longer than the conversion.
        """
        name = self._scope.resolve(name)
        propagated = None if self._propagated is None else self._propagated.shape(name)
        if propagated is not None:
            return propagated, _NONE_UNPROVEN
        known = self._shapes.get(name)
        if known is None:
            kind = self.type(name)
            shape = None if kind is None else inference.shape_of(kind)
            known = self._shapes[name] = shape, self._home(name)._unproven.get(name, frozenset())
        return known

    def proven_shape(self, name: str) -> Shape | None:
        """As `shape`, but with None for each size that is only declared."""
        shape, unproven = self._shape(name)
        return None if shape is None else tuple(None if axis in unproven else dim for axis, dim in enumerate(shape))

    def elem_type(self, name: str) -> int | None:
        """The TensorProto.DataType of a tensor; None where it is unknown or `name` is no tensor."""
        name = self._scope.resolve(name)
        kind = self._declared_or_stated(name)
        if kind is None or inference.type_string(kind) is None:
            return inference.tensor_type(self._tied.type_string(name) or "") or None
        return kind.tensor_type.elem_type or None  # an empty one where it is no tensor

    def type_string(self, name: str) -> str | None:
        """The type of `name` as "tensor(float)", "seq(tensor(int64))", …; None where neither it nor the nodes around it tell."""
        known = self._strings.get(name)
        if known is None:
            known = self._find_string(self._scope.resolve(name))
            if known is not None:
                self._strings[name] = known
        return known

    def _find_string(self, name: str) -> str | None:
        if name not in self._declared and self._propagated is not None:
            known = self._propagated.type_string(name)
            if known is not None:
                return known
        kind = self._declared_or_stated(name)
        known = None if kind is None else inference.type_string(kind)
        return known or self._tied.type_string(name)

    @cached_property
    def _tied(self) -> TiedTypes:
        return TiedTypes(self._scope, self._first_makers)

    # -- what is stated

    def _declared_or_stated(self, name: str) -> TypeProto | None:
        """A type to take the element type from, which is not affected by stale sizes: declarations are
        available without inference.
        """
        known = self._home(name)._declared.get(name)
        return known if known is not None and inference.type_string(known) is not None else self.stated(name)

    def stated(self, name: str) -> TypeProto | None:
        """The type of `name`, here or in an outer graph, as inference of the whole model found it."""
        scope: Scope | None = self._scope
        while scope is not None:
            known = scope.types._stated_here(name)
            if known is not None or scope.parent is None or scope.defines(name):
                return known
            scope = scope.parent
        return None

    def _stated_here(self, name: str) -> TypeProto | None:
        if name in self._given:
            return self._given[name]
        known = self._inferred_type(name)
        return self._claimed_kind(name) if known is None or inference.type_string(known) is None else known

    def _claimed_kind(self, name: str) -> TypeProto | None:
        """The declared type of `name` without its shape, which is only a claim."""
        declared = self._declared.get(name)
        if declared is None:
            return None
        kind = TypeProto.FromString(declared.SerializeToString())
        for tensor in inference.tensors_in(kind):
            tensor.ClearField("shape")
        return kind

    @cached_property
    def _given(self) -> dict[str, TypeProto]:
        """The types of the model's inputs and of the stored values of the graph, which nothing can contradict."""
        graph = self._scope.graph
        if not isinstance(graph, GraphProto):
            return {}
        types = {tensor.name: _tensor_type(tensor) for tensor in graph.initializer}
        if self._scope.parent is None:
            stored = types_with_values(graph, self._scope.constants.overridable)
            given = ((value.name, stored.get(value.name, value.type)) for value in graph.input)
            types.update((name, kind) for name, kind in given if inference.type_string(kind) is not None)
        return types

    @cached_property
    def _unproven(self) -> dict[str, frozenset[int]]:
        """For values of this graph, the axes whose length is only declared."""
        evidence = self._scope.model.evidence if self._propagated is None else None
        if evidence is None or evidence.proven is evidence.believed:
            return {}
        return _unproven_axes(self._scope.graph_in(evidence.believed), self._scope.graph_in(evidence.proven))

    @cached_property
    def _claimed(self) -> frozenset[str]:
        """The values of this graph whose shape is known only, or better, because the model declares it."""
        evidence = self._scope.model.evidence if self._propagated is None else None
        if evidence is None or evidence.derived is evidence.believed:
            return frozenset()
        derived = shapes_of(self._scope.graph_in(evidence.derived))
        believed = shapes_of(self._scope.graph_in(evidence.believed))
        return frozenset(name for name, shape in believed.items() if shape != derived.get(name))

    @cached_property
    def _declared(self) -> dict[str, TypeProto]:
        graph = self._scope.graph
        if not isinstance(graph, GraphProto):
            return {}
        types = {tensor.name: _tensor_type(tensor) for tensor in graph.initializer}
        for values in (graph.value_info, graph.output, graph.input):
            types.update((value.name, value.type) for value in values if value.HasField("type"))
        return types

    @cached_property
    def _propagated(self) -> Propagated | None:
        model = self._scope.model
        return model.propagated if self._scope is model.main else None

    @cached_property
    def _inferred(self) -> dict[str, TypeProto]:
        graph = self.inferred_graph
        if graph is None:
            return {}
        values = itertools.chain(graph.value_info, graph.output, graph.input)
        return {value.name: value.type for value in values if value.HasField("type")}

    @cached_property
    def inferred_graph(self) -> GraphProto | None:
        """This scope's graph in the inferred copy of the original model; None where there is none."""
        scope, model = self._scope, self._scope.model
        if isinstance(scope.graph, onnx.FunctionProto):
            overload = getattr(scope.graph, "overload", "")
            return model.inferred_functions.get((scope.graph.domain, scope.graph.name, overload))
        if scope.parent is None:
            return None if model.inferred is None else model.inferred.graph
        outer = scope.parent.types.inferred_graph
        if outer is None or scope.origin is None:
            return None
        index, which = scope.origin
        graph = list(subgraphs(outer.node[index]))[which][1]
        return graph if outer.node[index].domain in DEFAULT_DOMAINS else self._infer_alone(scope.parent.types, graph)

    def _infer_alone(self, outer: ValueTypes, graph: GraphProto) -> GraphProto:
        """Infer the subgraph of a node of another domain, which inference of the whole model does not look into."""
        types = {name: kind for name in captured(graph) if (kind := outer.stated(name)) is not None}
        return inference.infer_subgraph(self._scope.model.original_proto, graph, types, self._scope.opset)

    def _inferred_type(self, name: str) -> TypeProto | None:
        known = self._found(name)
        if known is not None:
            return known
        if name in self._scope.made:
            return self._made_type(name)
        stored = self._scope.initializers.get(name)
        return None if stored is None else _tensor_type(stored)

    def _found(self, name: str) -> TypeProto | None:
        """The type of `name` that was inferred for the model as it was read."""
        return self._inferred.get(name) if self._propagated is None else self._propagated.type(name)

    # -- values that rules made

    def note(self, name: str, kind: TypeProto) -> None:
        """Store the type of a value that a rule made, where the rule knows it better than inference."""
        self._noted[name] = kind
        self.renew([name])

    def note_equal(self, name: str, value: str) -> None:
        """Store that `value`, if a rule made it, has the type that is known for `name`."""
        kind = self.type(name)
        if kind is not None and value in self._scope.made:
            self.note(value, _merge_types(self.type(value), kind))

    def renew(self, names: Iterable[str]) -> None:
        """Forget the types of `names`, because a rule replaced the nodes that make them."""
        for name in names if self._complete else ():
            self._complete.pop(name, None)
            self._worked_out.discard(name)
            self._scope.partial.renew(name)
            self._shapes.pop(name, None)

    def _made_type(self, name: str) -> TypeProto | None:
        """The type of a value that a rule made, inferred from its node, after its operands.

        A chain may be thousands of nodes long.
        """
        pending, seen = [name], {name}
        while pending:
            unknown = [operand for operand in self._made_operands(pending[-1]) if operand not in seen]
            if unknown:
                seen.update(unknown)
                pending.extend(unknown)
            else:
                self._infer_made(pending.pop(), without=seen.difference(self._noted))
        return self._noted.get(name)

    def _made_operands(self, name: str) -> list[str]:
        """The inputs of the node that a rule wrote for `name`, if rules made them too and their types are not stored yet."""
        if name in self._noted:
            return []
        operands = map(self._scope.resolve, filter(None, self._scope.made[name][0].input))
        return [
            value for value in operands if value in self._scope.made and value not in self._noted and not self._is_stated(value)
        ]

    def _is_stated(self, name: str) -> bool:
        return name in self._given or self._found(name) is not None

    def _infer_made(self, name: str, without: set[str]) -> None:
        """Infer the node that makes `name`, unless its type is stored. The types of the values in `without` count as unknown."""
        if name in self._noted:
            return
        node, opset = self._scope.made[name]
        operands = [value for value in node.input if value and self._scope.resolve(value) not in without]
        types = {value: known for value in operands if (known := self._stated_operand(value)) is not None}
        found = self._infer(node, opset, types, self._small_constants(types))
        for value, kind in {**found, **_types_by_body(self._scope, node, opset)}.items():
            self._noted.setdefault(value, kind)

    def _stated_operand(self, name: str) -> TypeProto | None:
        return self.stated(self._scope.resolve(name))

    def _infer(self, node: NodeProto, opset: int, types: Types, constants: Mapping[str, np.ndarray]) -> Types:
        """Infer the types of the outputs of `node`, whose inputs have `types`. Some of them are known to be `constants`."""
        if not all(value in types for value in node.input if value):
            return inference.fixed_types(node, opset)
        data = {value: tensor_of(array, value) for value, array in constants.items()}
        found = inference.infer_node(node, opset, types, data, self._scope.model.ir_version)
        return {**inference.fixed_types(node, opset), **found}

    def _small_constants(self, types: Types) -> dict[str, np.ndarray]:
        """The values in `types` that are constant and may describe a shape."""
        return {value: array for value, kind in types.items() if (array := self._small_constant(value, kind)) is not None}

    def _small_constant(self, name: str, kind: TypeProto) -> np.ndarray | None:
        shape = inference.shape_of(kind)
        array = None if shape is None or len(shape) > 1 else self._scope.constant(name)
        return None if array is None or array.dtype.kind == "V" else array  # types of ml_dtypes never say a shape

    # -- what inference as a whole leaves open

    @cached_property
    def _first_makers(self) -> dict[str, NodeProto]:
        """The node that makes each value, in the form that it had before any rule."""
        graph = self.inferred_graph
        return {} if graph is None else {name: node for node in graph.node for name in node.output if name}

    def _home(self, name: str) -> ValueTypes:
        """The types of the scope that defines `name`; of this scope where none does."""
        scope = self._scope.find(name)
        return self if scope is None else scope.types

    def _work_out(self, name: str) -> None:
        """Derive the type of `name` node by node, with all constants that can be computed, starting at values of known shape.

        Inputs come before the nodes that read them. There is no recursion, because a chain may be thousands of nodes long. Each
        node is inferred once.
        """
        pending: list[tuple[ValueTypes, str, bool]] = [(self, name, False)]
        while pending:
            home, name, is_ready = pending.pop()
            if is_ready:
                home._infer_again(name)
            elif name not in home._worked_out:
                home._worked_out.add(name)
                if name not in home._complete:
                    home._complete[name] = home.stated(name)  # what a cycle is left with
                read = home._deciding(name)
                if read or name in home._scope.inputs:
                    pending.append((home, name, True))
                    pending.extend((home._home(value), value, False) for value in map(home._scope.resolve, read))

    def maker(self, name: str) -> tuple[NodeProto | None, int]:
        """The node that makes `name`, in the form in which it was made or read, and the opset of that form."""
        return self._scope.made.get(name) or (self._first_makers.get(name), self._scope.opset)

    def _is_open(self, kind: TypeProto | None) -> bool:
        """Whether a dimension that may have a size is unknown in the whole-model inference; symbols of inputs never have a size."""
        if kind is None or not kind.WhichOneof("value"):
            return True
        if kind.WhichOneof("value") != "tensor_type":
            return False
        shape = inference.shape_of(kind)
        return shape is None or any(not isinstance(dim, int) and dim not in self._scope.model.input_symbols for dim in shape)

    def _is_unsettled(self, name: str, kind: TypeProto | None) -> bool:
        """Whether more, or other sizes, may be derived for `name` than `kind`, which the inference of the whole model found."""
        return self._is_open(kind) or name in self._claimed

    def _deciding(self, name: str) -> list[str]:
        """The values that have to be known before `name` can be derived: its operands, and the values whose
        shapes its operands read.
        """
        kind = self._complete[name]
        if self._is_unsettled(name, kind):
            node, _ = self.maker(name)
            if node is None or node.op_type not in GRAPH_HOLDERS:
                return [] if node is None else [value for value in node.input if value]
            return [value for value in dict.fromkeys(reads(node)) if self._scope.find(value) is not None]
        is_small = kind is not None and len(inference.shape_of(kind) or ()) < 2
        return list(self._scope.constants.decided_by(name)) if is_small else []

    def _infer_again(self, name: str) -> None:
        if not self._is_unsettled(name, self._complete[name]):
            return
        node, opset = self.maker(name)
        if node is None:
            self._gain(self._carried_types if name in self._scope.inputs else {})
            return
        if node.op_type in GRAPH_HOLDERS:
            self._gain(self._types_by_bodies(name))
            return
        types = {value: kind for value in node.input if value and (kind := self.type(value)) is not None}
        constants = self._small_constants(types)
        types.update((value, _type_of(array)) for value, array in constants.items())
        folds = constants and self._is_open(self._complete[name])
        if folds or self._is_remade(name) or any(map(self._is_better_known, types)):
            self._gain(self._infer(node, opset, types, constants))  # else inference as a whole knew as much
        if self._is_open(self._complete[name]):
            self._gain(self._shaped(node, types))

    def _is_remade(self, name: str) -> bool:
        """Whether a rule replaced the node that makes `name`, so that inference of the whole model saw another node."""
        return name in self._scope.made and self._is_stated(name)

    def _is_better_known(self, value: str) -> bool:
        """Whether `value`, an input of a node, has another type now than in the inference of the whole model."""
        name = self._scope.resolve(value)
        return name in self._home(name)._gained or (name != value and self.type(name) != self.stated(value))

    def _types_by_bodies(self, name: str) -> Types:
        """The types of the outputs of the node with subgraphs that makes `name`, derived from these subgraphs."""
        node = self._scope.producers.get(name)
        if node is None or node.domain not in DEFAULT_DOMAINS:
            return {}
        made = self._scope.made.get(name)
        position, opset = (self._first_positions.get(name), self._scope.opset) if made is None else (None, made[1])
        return body_types.output_types(self._scope, node, position, opset)

    @cached_property
    def _first_positions(self) -> dict[str, int]:
        """For each value, the position of the node that makes it in the node list as it was read."""
        graph = self.inferred_graph
        return {} if graph is None else {name: index for index, node in enumerate(graph.node) for name in node.output}

    @cached_property
    def _carried_types(self) -> Types:
        """The types of the inputs of this graph if it is the body of a Loop of the model as it was read, or of a Scan that a rule
        made; else empty.
        """
        outer, node = self._scope.parent, self._scope.holder
        if self._is_supposed or outer is None or node is None or node.domain not in DEFAULT_DOMAINS:
            return {}
        if self._scope.origin is None:
            is_sequence = node.op_type == "Scan" and self._scope.opset >= _ONE_SEQUENCE
            return body_types.scanned_types(outer, node) if is_sequence else {}
        return body_types.carried_types(outer, node, self._scope.origin[0], self._scope.opset)

    def suppose(self, kinds: Mapping[str, TypeProto | None]) -> None:
        """Assume that inputs of this graph have the types `kinds`. Nothing else is derived from its inputs."""
        self._is_supposed = True
        self._worked_out.update(kinds)
        self._complete.update(kinds)
        self._gained.update(kinds)

    def _gain(self, found_types: Types) -> None:
        """Add the found types to what is known about each value. They replace declarations that they contradict."""
        for value, found in found_types.items():
            known = self._complete[value] if value in self._complete else self.stated(value)
            is_claim = value in self._claimed
            if is_claim and known is not None and _contradict(known, found):
                merged: TypeProto | None = found
            else:
                merged = _merge_types(known, found) if is_claim or self._is_open(known) else known
            if merged != known:
                self._gained.add(value)
            self._complete[value] = merged

    def _shaped(self, node: NodeProto, types: Types) -> Types:
        """The type of the output of a Reshape, Expand, …, whose shape follows from the known entries of the
        input that describes it.
        """
        if not facts.of(node.op_type, node.domain).has("sized"):
            return {}
        elem_type = self.elem_type(node.output[0])
        data = types.get(node.input[0])
        said = [self._scope.partial.entries(value) if value else None for value in node.input]
        shape = partial.output_shape(node, None if data is None else inference.shape_of(data), said)
        if shape is None or elem_type is None:
            return {}
        return {node.output[0]: helper.make_tensor_type_proto(elem_type, shape)}

    def reconsider(self) -> None:
        """Forget what was open: a value became constant, so more may be derived now."""
        self._complete = {name: kind for name, kind in self._complete.items() if not self._is_open(kind)}
        self._worked_out &= self._complete.keys()
        self._shapes = {name: known for name, known in self._shapes.items() if inference.is_known(known[0])}


def _types_by_body(scope: Scope, node: NodeProto, opset: int) -> dict[str, TypeProto]:
    """The types of the outputs of a node with subgraphs, taken from its body: the element types, and for Scan the ranks."""
    body = next(scope.children(node, None, opset), None)
    if body is None or not isinstance(body.graph, GraphProto):
        return {}
    inner = [value.name for value in body.graph.output][node.op_type == "Loop" :]
    scanned = next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)
    found: dict[str, TypeProto] = {}
    for index, (outer, name) in enumerate(zip(node.output, inner, strict=False)):
        kind = body.types.stated(name)
        if not outer or kind is None or kind.WhichOneof("value") != "tensor_type":
            continue
        shape = inference.shape_of(kind) if node.op_type == "Scan" and opset >= 9 else None
        stacked = index >= len(node.input) - scanned
        dims = None if shape is None else [None] * (len(shape) + stacked)
        found[outer] = helper.make_tensor_type_proto(kind.tensor_type.elem_type, dims)
    return found


def _unproven_axes(believed: GraphLike | None, proven: GraphLike | None) -> dict[str, frozenset[int]]:
    """For each value, the axes whose length is a number in the graph `believed` but not in `proven`."""
    shapes = shapes_of(proven)
    return {
        name: frozenset(axis for axis, dim in enumerate(shape) if isinstance(dim, int) and not _is_number(shapes.get(name), axis))
        for name, shape in shapes_of(believed).items()
    }


def _is_number(shape: Shape | None, axis: int) -> bool:
    return shape is not None and axis < len(shape) and isinstance(shape[axis], int)


def _contradict(declared: TypeProto, derived: TypeProto) -> bool:
    shapes = inference.shape_of(declared), inference.shape_of(derived)
    return shapes[0] is not None and shapes[1] is not None and contradict(shapes[0], shapes[1])


def _tensor_type(tensor: TensorProto) -> TypeProto:
    return helper.make_tensor_type_proto(tensor.data_type, tensor.dims)


def _type_of(array: np.ndarray) -> TypeProto:
    return helper.make_tensor_type_proto(element_type_of(array.dtype), array.shape)


def _merge(known: Shape | None, inferred: Shape | None) -> Shape | None:
    if known is None or inferred is None or len(known) != len(inferred):
        return inferred if known is None else known
    return tuple(a if isinstance(a, int) or (b is None) else b for a, b in zip(known, inferred, strict=True))


def _merge_types(known: TypeProto | None, inferred: TypeProto) -> TypeProto:
    """Combine two types of the same value. For tensors, each dimension that is known in either of them is known in the result."""
    if known is None or {known.WhichOneof("value"), inferred.WhichOneof("value")} != {"tensor_type"}:
        return inferred if known is None else known
    shape = _merge(inference.shape_of(known), inference.shape_of(inferred))
    return helper.make_tensor_type_proto(known.tensor_type.elem_type or inferred.tensor_type.elem_type, shape)
