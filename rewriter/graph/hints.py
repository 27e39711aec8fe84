"""Finds what the user can do where too little is known about a value. A hint is checked against the model before it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from onnx import GraphProto, NodeProto, ValueInfoProto

from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import captured, shown_name, subgraphs
from ..opsets import type_protos
from ..opsets.ambiguity import remedy
from ..opsets.misinferred import may_lose_its_axis
from .scope import Scope

MAKE_CONSTANT = "make it a constant (an initializer that is not a graph input)"
"""The hint for an operand that is computed at run time but has to be constant."""
SEMANTICS_HINT = "choose one with --semantics specification or --semantics onnxruntime"
"""The hint for a node of two meanings, of which the user has to know the right one."""
_INLINE = "inline the function, or make all its calls pass the same shapes"


class _Place(NamedTuple):
    """A value, and the graph that defines it."""

    scope: Scope
    name: str

    @property
    def key(self) -> tuple[int, str]:
        return id(self.scope), self.name

    @property
    def maker(self) -> NodeProto | None:
        """The node that makes the value; None where none does."""
        return self.scope.producers.get(self.name)


class _Cause(NamedTuple):
    """The reason why too little is known about a value."""

    opaque: _Place | None
    """The nearest value before it that is made by a node of another domain or of two meanings, of which nothing is inferred."""
    distance: int
    """The number of nodes between the two."""
    inputs: frozenset[str]
    """The inputs of the model that the value depends on."""


_NOTHING = _Cause(None, 0, frozenset())


def type_hint(scope: Scope, name: str) -> str:
    """The hint for a value of unknown type."""
    if _is_in_function(scope):
        return "declare it in value_info"
    return _declare(_cause(scope, name, _has_type).opaque or _Place(scope, name))


def shape_hint(scope: Scope, name: str) -> str:
    """The hint for a value of unknown shape. It names what the shape depends on, as far as that is open."""
    if _is_in_function(scope):
        return _INLINE
    cause = _cause(scope, name, _decides_no_shape)
    if cause.opaque is not None:
        return two_meanings_hint(cause.opaque.maker) or _declare(cause.opaque)
    inputs = [value for value in _open_inputs(scope.model.proto.graph) if value.name in cause.inputs]
    if not inputs or not _are_enough(scope, name):
        return _declare(_Place(scope.find(name) or scope, name))
    return _fixing(inputs)


def constant_hint(scope: Scope) -> str:
    """The hint for an operand that is computed at run time but has to be constant: most of them follow from shapes."""
    inputs = [] if _is_in_function(scope) else _open_inputs(scope.model.proto.graph)
    if not inputs:
        return MAKE_CONSTANT
    options = " ".join(f"--overwrite-input-shape {_with_sizes(value)}" for value in inputs)
    return f"if it follows from the shapes of the inputs, fix these with {options}; otherwise {MAKE_CONSTANT}"


def _is_in_function(scope: Scope) -> bool:
    while scope.parent is not None:
        scope = scope.parent
    return not isinstance(scope.graph, GraphProto)


def _cause(scope: Scope, name: str, is_settled: Callable[[_Place], bool]) -> _Cause:
    """Find the cause for `name`. Values for which `is_settled` is true, and everything that only they depend on, are left out.

    Each value is looked at once for all hints of a model. There is no recursion, because a chain may be thousands of nodes long.
    """
    known = scope.model.causes.setdefault(is_settled, {})
    start = _place(scope, name)
    seen: set[tuple[int, str]] = set()
    pending = [] if start is None else [(start, False)]
    while pending:
        place, is_ready = pending.pop()
        if place.key in known:
            continue
        if is_ready:
            known[place.key] = _joined(place, [known[read.key] for read in _read_by(place) if read.key in known])
        elif is_settled(place):
            known[place.key] = _NOTHING
        elif _is_opaque(place):
            known[place.key] = _Cause(place, 0, frozenset())
        elif place.key not in seen:
            seen.add(place.key)
            pending.append((place, True))
            pending.extend((read, False) for read in _read_by(place))
    return _NOTHING if start is None else known[start.key]


def _place(scope: Scope, name: str) -> _Place | None:
    """The value that `name` stands for, with the graph that defines it; None where nothing defines it."""
    value = scope.resolve(name)
    home = scope.find(value)
    return None if home is None else _Place(home, value)


def _joined(place: _Place, causes: list[_Cause]) -> _Cause:
    """The cause for a value that is computed from values with these `causes`."""
    if place.scope.parent is None and place.name in place.scope.inputs:
        return _Cause(None, 0, frozenset([place.name]))
    nearest = min((cause for cause in causes if cause.opaque is not None), key=lambda cause: cause.distance, default=_NOTHING)
    return _Cause(nearest.opaque, nearest.distance + 1, frozenset().union(*(cause.inputs for cause in causes)))


def _read_by(place: _Place) -> list[_Place]:
    """The inputs of the node that makes the value, and what its subgraphs read around them.

    For an input of a subgraph, those of the node that holds the subgraph.
    """
    home, node = place.scope, place.maker
    if node is None:
        if home.parent is None or home.origin is None or not home.parent.is_original:
            return []
        home, node = home.parent, home.parent.original_graph.node[home.origin[0]]
    names = [*filter(None, node.input), *(name for _, graph in subgraphs(node) for name in sorted(captured(graph)))]
    return [found for value in names if (found := _place(home, value)) is not None]


def _is_opaque(place: _Place) -> bool:
    """Whether a node of another domain, or of two meanings, makes the value, so that inference knows nothing about it."""
    node = place.maker
    return node is not None and (node.domain not in DEFAULT_DOMAINS or bool(two_meanings_hint(node)))


def two_meanings_hint(node: NodeProto | None) -> str:
    """The hint for the shapes that `node` makes, if it has two meanings; "" for another node, or none."""
    if node is None:
        return ""
    name = f"{node.op_type} '{shown_name(node)}'"
    if may_lose_its_axis(node):
        return f"{name} has two meanings: {SEMANTICS_HINT}"
    advice = remedy(node)
    return f"{advice} in {name}, which runtimes read in different ways" if advice else ""


def _has_type(place: _Place) -> bool:
    return place.scope.type_string(place.name) is not None


def _decides_no_shape(place: _Place) -> bool:
    """Whether the shapes of other values cannot be unknown because of this one: its shape is known, and it
    does not hold unknown sizes.
    """
    home, name = place
    if home.constant(name) is not None:
        return True
    shape = home.shape(name)
    is_small = shape is not None and len(shape) < 2 and home.type_string(name) == "tensor(int64)"
    return type_protos.is_known(shape) and not is_small


def _open_inputs(graph: object) -> list[ValueInfoProto]:
    """The inputs with a dimension that is not a number."""
    assert isinstance(graph, GraphProto)
    tensors = (value for value in graph.input if value.type.WhichOneof("value") == "tensor_type")
    return [value for value in tensors if not type_protos.is_known(type_protos.shape_of(value.type))]


def _are_enough(scope: Scope, name: str) -> bool:
    """Whether fixing the inputs would make the shape of `name` known. Where this cannot be tried, the answer is yes."""
    home = scope.find(name)
    if home is None or not home.is_main or name in scope.made:
        return True
    sized = scope.model.sized
    if sized is None or any(type_protos.shape_of(value.type) is None for value in _open_inputs(sized.graph)):
        return True
    return name in home.inputs or type_protos.is_known(scope.model.sized_shapes.get(name))


def _fixing(inputs: Sequence[ValueInfoProto]) -> str:
    """The options that fix the shapes of `inputs`; "" for none."""
    return "fix it with " + " ".join(f"--overwrite-input-shape {_with_sizes(value)}" for value in inputs) if inputs else ""


def _with_sizes(value: ValueInfoProto) -> str:
    """An input as in --overwrite-input-shape, "x:1,3,N,N", with an N for each size that the user has to choose."""
    dims = type_protos.shape_of(value.type)
    return f"{value.name}:" + ("…" if dims is None else ",".join(str(dim) if isinstance(dim, int) else "N" for dim in dims))


def _declare(place: _Place) -> str:
    """The option that states the type of the value. The unknown parts of the type are an example.

    A value that a rule made is not in the user's model: then it is what fixes the inputs, from whose shapes it follows.
    """
    if not place.name or place.name in place.scope.model.fresh_names:
        return _fixing(_open_inputs(place.scope.model.proto.graph))
    text = place.scope.type_string(place.name) or "tensor(float)"
    shape = place.scope.shape(place.name)
    dims = "[…]" if shape is None else f"[{','.join(str(dim) if isinstance(dim, int) else 'N' for dim in shape)}]"
    example = f"{text[7:-1]}{dims}" if text.startswith("tensor(") else text
    more = ", with its dimensions as in [N,64]" if shape is None else ""
    return f"state its type with --declare {place.name}:{example}{more}"
