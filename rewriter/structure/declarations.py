"""Compares what a model declares about the values of its nodes with what follows from its inputs.

The declared types of the model's inputs are its interface: who runs the model keeps to them. What it declares of any other
value is a claim, which nothing has to keep to. Editors that make the batch size dynamic change the inputs, but leave old sizes
in value_info, in the outputs, and in the inputs and outputs of subgraphs; exporters give all sizes that they do not know the
same name. So:

- Shapes follow from the inputs, by inference. A declared shape that contradicts them is reported, and not used.
- A declared shape that goes beyond them is used for three kinds of values only (`_credible`): the outputs of the model, which
  are its interface too; what nodes of other domains hand to their subgraphs, or make that onnx cannot infer, of which nothing
  else says what it is; and what the user vouches for (`--declare`). If the inputs have open sizes, a size that is only declared
  is marked as unproven.
- A symbol of a claim is not used at all: that two dimensions have the same name proves nothing.
- The declared rank of the number of a Loop's iteration is used: runtimes make the number as the body declares it.
- Declared element types are used. Where they are wrong, onnx.checker and onnxruntime refuse the model.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

import onnx
from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GraphLike, subgraphs
from ..opsets import inference, schema_types, type_protos
from ..opsets.type_protos import Shape
from .survey import all_graphs

DECLARED_SIZE = "declared size "
"""The prefix of symbols in `Evidence.proven` for sizes that are only declared; the size follows."""
_LARGE, _SMALL = 1009, 2
"""First sizes to try for the symbols of inputs.

A declared size that fits both a large and a small one does not depend on the symbol.
"""


class Contradiction(NamedTuple):
    """A declared shape that contradicts the inputs of the model."""

    name: str
    declared: Shape
    derived: str


class Evidence(NamedTuple):
    """The types of all values, in three versions, each in the value_info of a copy of the model."""

    believed: ModelProto
    """The types that follow from the inputs, and declared types where nothing contradicts them."""
    proven: ModelProto
    """The same as `believed`, but a size that is only declared is a symbol made of `DECLARED_SIZE` and the size."""
    derived: ModelProto
    """The types that follow from the inputs alone."""
    contradictions: list[Contradiction]


class _Claim(NamedTuple):
    """A declared shape that says more than what follows from the inputs.

    `place` is the position of the graph and the name of the value.
    """

    place: tuple[int, str]
    shape: Shape


def weigh(serialized: bytes, vouched: Collection[str] = ()) -> Evidence | None:
    """Find the evidence about the types of the values of a model; None where inference crashes or refuses the model.

    `vouched` are the names of values whose declared types are the user's.
    """
    model = ModelProto.FromString(serialized)
    declared = _take_declarations(model)
    derived = inference.infer_model(model)
    if derived is None:
        return None
    claims, contradictions = _compare(declared, derived, _credible(model, vouched))
    if not claims:
        return Evidence(derived, derived, derived, contradictions)
    unproven, belied = _try_sizes(model, claims)
    claims = [claim for claim in claims if claim not in belied]
    believed = _with_claims(model, {claim.place: list(map(_without_symbol, claim.shape)) for claim in claims})
    opened = {claim.place: [_opened(dim) if claim in unproven else _without_symbol(dim) for dim in claim.shape] for claim in claims}
    proven = _with_claims(model, opened) if unproven else believed
    return Evidence(believed or derived, proven or derived, derived, [*contradictions, *belied.values()])


def as_declared(model: ModelProto) -> Evidence:
    """The evidence about a model that declares nothing but what is known: its types are taken as they are."""
    known = ModelProto()
    known.CopyFrom(model)
    return Evidence(known, known, known, [])


def derive(serialized: bytes) -> ModelProto | None:
    """The types that follow from the inputs of a model, without its declarations; None where inference
    crashes or refuses the model.
    """
    model = ModelProto.FromString(serialized)
    _take_declarations(model)
    return inference.infer_model(model)


def infer_sized(serialized: bytes) -> ModelProto | None:
    """The types that the model would have if all open dimensions of its inputs were numbers; None where inference fails."""
    sized, _ = _with_sizes(ModelProto.FromString(serialized), _LARGE)
    return inference.infer_model(sized)


def misread(serialized: bytes) -> dict[str, Shape]:
    """The shapes that onnx infers although they are not certain, and that runtimes believe: name of a value → shape."""
    model = ModelProto.FromString(serialized)
    believed = inference.infer_as_runtimes(model)
    certain = None if believed is None else inference.infer_model(model)
    if believed is None or certain is None:
        return {}
    known = _all_shapes(certain)
    return {name: shape for name, shape in _all_shapes(believed).items() if known.get(name) != shape}


def _all_shapes(model: ModelProto) -> dict[str, Shape]:
    return {name: shape for graph in _graphs(model) for name, shape in shapes_of(graph).items()}


def types_that_hold(graph: GraphProto, overridable: Container[str]) -> dict[str, TypeProto]:
    """The types of those inputs of `graph` whose declared types promise too much.

    Of an input for which it stores a value: the type of the value. If the value is `overridable`, it is what this type has in
    common with the declared one, because only that holds for other values too. A declared symbol does not hold for the value: its
    length stays the same when the size that the symbol stands for is another.
    Of a sequence: the declared type without symbols, which may stand for another size in each element.
    """
    declared = {value.name: value.type for value in graph.input}
    found: dict[str, TypeProto] = {}
    for tensor in graph.initializer:
        kind = declared.get(tensor.name)
        if kind is not None and kind.tensor_type.elem_type == tensor.data_type:
            stored = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
            found[tensor.name] = type_protos.in_common(kind, stored) if tensor.name in overridable else stored
    found.update((value.name, _without_symbols(value.type)) for value in graph.input if _is_of_sequences(value))
    return found


def _is_of_sequences(value: ValueInfoProto) -> bool:
    kind = value.type.optional_type.elem_type if value.type.HasField("optional_type") else value.type
    return kind.HasField("sequence_type")


def _without_symbols(kind: TypeProto) -> TypeProto:
    known = TypeProto()
    known.CopyFrom(kind)
    for tensor in type_protos.tensors_in(known):
        for dim in tensor.shape.dim:
            dim.ClearField("dim_param")
    return known


def stored_inputs(model: ModelProto) -> frozenset[str]:
    """The initializers of the main graph that are also inputs."""
    inputs = {value.name for value in model.graph.input}
    return frozenset(tensor.name for tensor in model.graph.initializer if tensor.name in inputs)


def for_all_callers(serialized: bytes) -> bytes:
    """The model `without_defaults` that callers may override. Before IR version 4 there are none, since all initializers have to be
    inputs.
    """
    model = ModelProto.FromString(serialized)
    return serialized if model.ir_version < 4 else without_defaults(serialized, model, stored_inputs(model))


def without_defaults(serialized: bytes, model: ModelProto, replaced: Container[str]) -> bytes:
    """The model `serialized` without the initializers `replaced`, which callers may override, because inference would rely on their
    values, and with the `types_that_hold` of its inputs. `model` is the same, or an edited form with the same inputs.
    """
    if not stored_inputs(model) and not any(map(_is_of_sequences, model.graph.input)):
        return serialized
    proto = ModelProto.FromString(serialized)
    types = types_that_hold(proto.graph, replaced)
    for value in proto.graph.input:
        value.type.CopyFrom(types.get(value.name, value.type))
    kept = [tensor for tensor in proto.graph.initializer if tensor.name not in replaced]
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(kept)
    return proto.SerializeToString()


def _without_symbol(dim: type_protos.Dimension) -> int | None:
    return dim if isinstance(dim, int) else None


def _opened(dim: type_protos.Dimension) -> type_protos.Dimension:
    return f"{DECLARED_SIZE}{dim}" if isinstance(dim, int) else None


def _graphs(model: ModelProto) -> list[GraphProto]:
    return [graph for graph in all_graphs(model) if isinstance(graph, GraphProto)]


def _stated(model: ModelProto) -> Iterator[tuple[int, ValueInfoProto]]:
    """All entries that state types of values which are neither inputs of the model nor stored, each with
    the position of its graph.
    """
    for position, graph in enumerate(_graphs(model)):
        given = {tensor.name for tensor in graph.initializer} | {value.name for value in graph.input if not position}
        for value in (*graph.value_info, *graph.output, *(graph.input if position else ())):
            if value.name not in given:
                yield position, value


def _take_declarations(model: ModelProto) -> dict[tuple[int, str], Shape]:
    """Remove the declared shapes from `model`, which keeps the element types, and return them.

    The numbers of the iterations of Loops keep theirs.
    """
    found: dict[tuple[int, str], Shape] = {}
    numbers = _iteration_numbers(model)
    for position, value in _stated(model):
        shape = type_protos.shape_of(value.type)
        if shape is not None:
            found[position, value.name] = shape
        for tensor in type_protos.tensors_in(value.type):
            tensor.ClearField("shape")
    for value, rank in numbers:
        value.type.CopyFrom(_tensor(value.type, [1] * rank))
    for graph in _graphs(model)[1:]:
        _state_stored_outputs(graph)
    return found


def _state_stored_outputs(graph: GraphProto) -> None:
    """Give those outputs of a subgraph that are stored values the shapes of these: inference takes what the outputs declare."""
    stored = {tensor.name: tensor for tensor in graph.initializer}
    for value in graph.output:
        if (tensor := stored.get(value.name)) is not None and value.type.tensor_type.elem_type == tensor.data_type:
            value.type.CopyFrom(onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims))


def _iteration_numbers(model: ModelProto) -> list[tuple[ValueInfoProto, int]]:
    """The inputs of bodies of Loops that are the number of the iteration, each with its declared rank.

    The number is a scalar. onnxruntime makes a vector of one entry instead where the body declares a vector, as that of an old
    export may do.
    """
    graphs = all_graphs(model)
    nodes = (node for graph in graphs if len(graphs) > 1 for node in graph.node)
    loops = (node for node in nodes if node.op_type == "Loop" and node.domain in DEFAULT_DOMAINS)
    values = (body.input[0] for node in loops for _, body in subgraphs(node) if body.input)
    shapes = ((value, type_protos.shape_of(value.type)) for value in values)
    return [(value, len(shape)) for value, shape in shapes if shape is not None and len(shape) < 2]


def _credible(model: ModelProto, vouched: Collection[str]) -> set[tuple[int, str]]:
    """The values whose declared shapes are used, each as the position of its graph and its name."""
    functions = {(function.domain, function.name) for function in model.functions}
    found = {(0, value.name) for value in model.graph.output}
    graphs = _graphs(model)
    positions = {id(graph): position for position, graph in enumerate(graphs)}
    for position, graph in enumerate(graphs):
        for node in graph.node:
            if node.domain in DEFAULT_DOMAINS or (node.domain, node.op_type) in functions:
                continue
            found.update((positions[id(body)], value.name) for _, body in subgraphs(node) for value in body.input)
            if not schema_types.is_inferred(node):
                found.update((position, name) for name in node.output)
        found.update((position, name) for name in vouched)
    return found


class _Types:
    """The shapes of the values at `places` in one inferred copy of the model."""

    def __init__(self, model: ModelProto, places: Collection[tuple[int, str]]) -> None:
        graphs = _graphs(model)
        self._first_values = _first_values(graphs)
        wanted: list[set[str]] = [set() for _ in graphs]
        for position, name in (*places, *self._first_values.values()):
            wanted[position].add(name)
        self._shapes = [_shapes_among(names, graph) if names else {} for names, graph in zip(wanted, graphs, strict=True)]

    def shape(self, place: tuple[int, str]) -> Shape | None:
        """The shape that was inferred for this value. For a value that a Loop carries, its shape in the first iteration."""
        position, name = place
        shape = self._shapes[position].get(name)
        initial = self._first_values.get(place)
        return self._shapes[initial[0]].get(initial[1]) if shape is None and initial is not None else shape


def _shapes_among(names: Container[str], graph: GraphProto) -> dict[str, Shape | None]:
    """The shapes of the values of `graph` that are among `names`.

    Reading all values of a large model takes longer than inference.
    """
    values = (*graph.value_info, *graph.output, *graph.input)
    shapes = {name: type_protos.shape_of(value.type) for value in values if (name := value.name) in names}
    shapes.update((tensor.name, tuple(tensor.dims)) for tensor in graph.initializer if tensor.name in names)
    return shapes


def _first_values(graphs: Sequence[GraphProto]) -> dict[tuple[int, str], tuple[int, str]]:
    """For each carried input of a Loop's body, the value that it has in the first iteration; both by graph position and name."""
    positions = {id(graph): position for position, graph in enumerate(graphs)}
    found: dict[tuple[int, str], tuple[int, str]] = {}
    for position, graph in enumerate(graphs if len(graphs) > 1 else ()):
        for node in graph.node:
            for _, body in subgraphs(node) if node.op_type == "Loop" else ():
                for inner, outer in zip(body.input[2:], node.input[2:], strict=False):
                    found[positions[id(body)], inner.name] = position, outer
    return found


def _compare(
    declared: Mapping[tuple[int, str], Shape], derived: ModelProto, credible: Container[tuple[int, str]]
) -> tuple[list[_Claim], list[Contradiction]]:
    """The claims that are used, and the declared shapes that contradict the inputs."""
    types = _Types(derived, declared)
    claims: list[_Claim] = []
    contradictions: list[Contradiction] = []
    for place, shape in declared.items():
        known = types.shape(place)
        if known is not None and contradict(shape, known):
            contradictions.append(Contradiction(place[1], shape, show(known)))
        elif place in credible and (
            known is None or any(isinstance(a, int) and b is None for a, b in zip(shape, known, strict=True))
        ):
            claims.append(_Claim(place, shape))
    return claims, contradictions


def contradict(declared: Shape, derived: Shape) -> bool:
    """Whether the ranks differ, or a declared number stands against another number or a symbol of an input."""
    if len(declared) != len(derived):
        return True
    return any(isinstance(a, int) and b is not None and a != b for a, b in zip(declared, derived, strict=True))


def _try_sizes(model: ModelProto, claims: list[_Claim]) -> tuple[set[_Claim], dict[_Claim, Contradiction]]:
    """Try the claims with two sizes for the symbols of the inputs. Returns claims that stay unproven, and claims that are
    contradicted.

    Whoever declared a shape with a symbol in it knew that sizes vary, so the numbers in such a shape need no proof.
    """
    with_numbers = [claim for claim in claims if any(isinstance(dim, int) for dim in claim.shape)]
    unproven: set[_Claim] = set()
    belied: dict[_Claim, Contradiction] = {}
    sized = [_with_sizes(model, first) for first in (_LARGE, _SMALL)] if with_numbers else []
    if not any(changed for _, changed in sized):
        return unproven, belied
    places = [claim.place for claim in with_numbers]
    tried = [_Types(found, places) for proto, _ in sized if (found := inference.infer_model(proto)) is not None]
    for claim in with_numbers:
        for types in tried:
            known = types.shape(claim.place)
            if known is not None and contradict(claim.shape, known) and claim not in belied:
                belied[claim] = Contradiction(claim.place[1], claim.shape, "another size for other sizes of the inputs")
            elif type_protos.is_known(claim.shape) and not type_protos.is_known(known):
                unproven.add(claim)
    return unproven - belied.keys(), belied


def _with_sizes(model: ModelProto, first: int) -> tuple[ModelProto, bool]:
    """A copy of `model` with numbers from `first` on for the open dimensions of its inputs, and whether there were any."""
    copy = ModelProto()
    copy.CopyFrom(model)
    sizes: dict[str, int] = {}
    for value in copy.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.WhichOneof("value") != "dim_value":
                dim.dim_value = sizes.setdefault(dim.dim_param or f"{value.name}[{axis}]", first + 2 * len(sizes))
    has_unranked = any(not value.type.tensor_type.HasField("shape") for value in copy.graph.input)
    return copy, bool(sizes) or has_unranked


def _with_claims(model: ModelProto, shapes: Mapping[tuple[int, str], list[type_protos.Dimension]]) -> ModelProto | None:
    """`model`, which declares no shapes, with the declared `shapes`, after inference."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for position, value in _stated(copy):
        dims = shapes.get((position, value.name))
        if dims is not None:
            value.type.CopyFrom(_tensor(value.type, dims))
    return inference.infer_model(copy)


def _tensor(kind: TypeProto, dims: list[type_protos.Dimension]) -> TypeProto:
    return onnx.helper.make_tensor_type_proto(kind.tensor_type.elem_type, dims)


def shapes_of(graph: GraphLike | None) -> dict[str, Shape]:
    """The shapes that `graph` states for its inputs, outputs and inner values; empty for a function."""
    if not isinstance(graph, GraphProto):
        return {}
    values = (*graph.value_info, *graph.output, *graph.input)
    return {value.name: shape for value in values if (shape := type_protos.shape_of(value.type)) is not None}


def show(shape: Shape) -> str:
    """A shape as messages show it: "[N,64,?]"."""
    return f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"
