"""The whole model under conversion: its scopes, and what they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Mapping
from typing import Any, Literal

import onnx
from onnx import GraphProto

from ..cached import cached_property
from ..opsets import inference
from ..opsets.inference import Shape
from ..storage.skeleton import Skeleton
from . import declarations, propagation
from .declarations import Contradiction, Evidence
from .propagation import Propagated
from .protos import GraphLike, default_opset, defined_names, may_hold_graphs
from .scope import Scope
from .specialization import key_of, uncertain_inputs
from .survey import Survey, all_graphs

Semantics = Literal["specification", "onnxruntime"]
"""Whose meaning counts for nodes that the specification and onnxruntime understand differently; docs/semantics.md lists them."""
MOST_SEARCHED_NAMES = 32
"""The number of new names that are searched for in the serialized model before all names are listed, which
costs as much as 200 searches.
"""
INFERRED_AS_A_WHOLE_UP_TO = 4_000
"""The number of nodes up to which the whole model is inferred.

For 20,000 repetitive nodes that takes a quarter of the conversion.
"""


class Model:
    """The model under conversion, and what is shared by all its scopes: names, aliases, constants, inferred types."""

    def __init__(
        self,
        skeleton: Skeleton,
        *,
        constants_as_initializers: bool,
        like: Model | None = None,
        semantics: Semantics | None = None,
        survey: Survey | None = None,
        vouched: Collection[str] = (),
    ) -> None:
        """Prepare `skeleton` for conversion.

        `like` is an unchanged Model of the same content: its survey and what is known about its values are used again. `survey` is
        a survey of the skeleton, if there is one already. `vouched` are the values whose declared types are the user's.
        """
        self.skeleton = skeleton
        self.semantics: Semantics | None = semantics
        """The user's choice; None if there is none, so that rules leave or refuse nodes with two meanings."""
        self.proto = skeleton.proto
        self.ir_version = self.proto.ir_version
        self.constants_as_initializers = constants_as_initializers
        self.workshop = onnx.GraphProto()
        """A graph that owns the nodes that rules make. Single messages would take twice the memory, and twice the time to copy."""
        self.lost_uses: set[str] = set()
        """Names that lost a use, so that the nodes that make them may be superfluous."""
        self.new_uses: set[str] = set()
        """Names that became the input of a node because of a rule."""
        self.unread: set[str] = set()
        """Names of values that rules made. Those that are not in `new_uses` in the end are not needed."""
        self.fresh_names: set[str] = set()
        """Names that rules introduced. All others are names of the author, and are kept."""
        self.retired: set[str] = set()
        """Names that nothing defines any more. If a rule uses such a name again, old knowledge about it does not count."""
        self.aliases: dict[str, str] = {}
        """Values that a rule found to be equal to another value. Their uses are renamed at the end."""
        self.refused_operators: Container[str] = ()
        """Operators that a runtime of the user does not accept. Rules that can choose write others."""
        self.wider: Mapping[int, int] = {}
        """Element types that the target lacks, and the wider types that replace them, while values are widened."""
        self.unrounded: Collection[int] = ()
        """Those of the replaced types to which results need not be rounded."""
        self.sizes_relied_on: dict[str, Shape] = {}
        """The shapes that the current rule asked for and that contain sizes which are only declared."""
        self.causes: dict[object, dict[Any, Any]] = {}
        """A cache of `hints`, for the hints of all blockers."""
        self.original = skeleton.checkable() if like is None else like.original
        self.survey = survey or (Survey(self.proto) if like is None else like.survey)
        """The survey of the model as it was read."""
        self._like = like
        self._vouched = vouched
        self.main = Scope(self, self.proto.graph, None, "main graph", default_opset(self.proto.opset_import) or 0)
        self.main.labels = self.survey.main_labels
        self.functions = [
            Scope(self, body, None, f"function '{body.name}'", default_opset(body.opset_import) or 0)
            for body in self.proto.functions
        ]
        uncertain = uncertain_inputs(self.proto) if self.functions else {}
        for scope, body in zip(self.functions, self.proto.functions, strict=True):
            scope.uncertain = uncertain[key_of(body)]

    @property
    def graphs(self) -> list[GraphLike]:
        """The main graph, the function bodies, and all subgraphs of these at any depth, as they are now."""
        has_one = not self.functions and not any(may_hold_graphs(label) for label in set(self.main.labels))
        return [self.proto.graph] if has_one else all_graphs(self.proto)

    @property
    def replaced(self) -> dict[str, str]:
        """The author's values that a rule found to be equal to others, and these others.

        `aliases` also has values that rules made.
        """
        return {name: self.main.resolve(name) for name in self.aliases if name not in self.fresh_names}

    @cached_property
    def _names(self) -> dict[str, int]:
        """Every name in the model, with the number of places that define it."""
        graphs = self.graphs
        names = dict(Counter([name for graph in graphs for name in defined_names(graph)]))
        for name in {node.name for graph in graphs for node in graph.node} - names.keys():
            names[name] = 0
        names.update(dict.fromkeys(self.fresh_names, 1))
        return names

    def fresh_name(self, wanted: str) -> str:
        """`wanted` if nothing in the model has this name, otherwise `wanted` with a number appended."""
        name, number = wanted, 1
        while name in self.fresh_names or name in self.retired or self._may_be_taken(name):
            number += 1
            name = f"{wanted}_{number}"
        self.fresh_names.add(name)
        if "_names" in self.__dict__:
            self._names[name] = 1
        return name

    def _may_be_taken(self, name: str) -> bool:
        """Whether `name` may occur in the model as it was read."""
        if "_names" in self.__dict__ or len(self.fresh_names) >= MOST_SEARCHED_NAMES:
            return name in self._names
        return name.encode() in self.original

    def is_unique(self, name: str) -> bool:
        """Whether exactly one place in the model defines `name`. Subgraphs and functions may define a name again."""
        return self._names.get(name, 0) <= 1

    @cached_property
    def _node_names(self) -> Counter[str]:
        """The names of the nodes in the model as it was read, with the number of nodes that have each name."""
        return Counter(node.name for graph in self.survey.graphs for node in graph.node if node.name)

    def node_name(self, wanted: str) -> str:
        """A name for a new node: `wanted`, or, if the model has a node of that name, a name that is not in use."""
        return self.fresh_name(wanted) if wanted in self._node_names else wanted

    def shares_node_name(self, name: str) -> bool:
        """Whether more than one node of the model as it was read has the name `name`."""
        return self._node_names[name] > 1

    @cached_property
    def _uses(self) -> Counter[str]:
        uses = Counter(name for graph in self.survey.graphs for node in graph.node for name in node.input)
        for graph in self.survey.graphs:
            uses.update(graph.output if isinstance(graph, onnx.FunctionProto) else [value.name for value in graph.output])
        return uses

    def is_read(self, name: str) -> bool:
        """Whether anything in the model reads `name`, or a rule made something that does."""
        return self._uses[name] > 0 or name in self.new_uses

    def is_read_once(self, name: str) -> bool:
        """Whether exactly one place in the model reads `name`, and no rule made another. Uses are counted at the first call."""
        return self._uses[name] <= 1 and name not in self.new_uses

    @cached_property
    def input_symbols(self) -> frozenset[str]:
        """The symbols in the shapes of the model's inputs, whose sizes the caller decides."""
        types = [value.type.tensor_type for value in self.proto.graph.input]
        return frozenset(dim.dim_param for kind in types for dim in kind.shape.dim if dim.dim_param)

    @cached_property
    def input_dimensions(self) -> dict[str, tuple[str, int]]:
        """The input and axis of each symbol that occurs in exactly one dimension of the inputs."""
        found: dict[str, list[tuple[str, int]]] = {}
        for value in self.proto.graph.input:
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                found.setdefault(dim.dim_param, []).append((value.name, axis))
        return {symbol: places[0] for symbol, places in found.items() if symbol and len(places) == 1}

    @cached_property
    def original_proto(self) -> onnx.ModelProto:
        """The model as it was read, which must not be changed. Payloads on disk are missing."""
        return onnx.ModelProto.FromString(self.original) if self._like is None else self._like.original_proto

    @cached_property
    def evidence(self) -> Evidence | None:
        """The original model with inferred types, at its own opset; None where shape inference fails on it."""
        return declarations.weigh(self._without_defaults(), self._vouched) if self._like is None else self._like.evidence

    def derived(self) -> onnx.ModelProto | None:
        """The original model with the types that follow from its inputs, without its declarations; None where inference fails."""
        return declarations.derive(self._without_defaults())

    @cached_property
    def sized(self) -> onnx.ModelProto | None:
        """The original model with the types that it would have if its inputs had fixed shapes; None where inference fails."""
        return declarations.infer_sized(self._without_defaults())

    @cached_property
    def sized_shapes(self) -> dict[str, Shape]:
        """The shapes of the main graph's values in `sized`; empty where inference fails."""
        return {} if self.sized is None else declarations.shapes_of(self.sized.graph)

    @property
    def inferred(self) -> onnx.ModelProto | None:
        """The original model with the types that its values are believed to have."""
        return None if self.evidence is None else self.evidence.believed

    @property
    def contradictions(self) -> list[Contradiction]:
        """Declared shapes that turned out to be wrong during inference."""
        return self.evidence.contradictions if "evidence" in self.__dict__ and self.evidence is not None else []

    def _without_defaults(self) -> bytes:
        """The original model without the initializers that callers may override, because inference would rely on their values, and
        with those types of inputs that hold for stored values too.
        """
        overridable = self.main.constants.overridable
        if not overridable and not self.main.inputs & self.main.initializers.keys():
            return self.original
        proto = onnx.ModelProto.FromString(self.original)
        types = declarations.types_with_values(proto.graph, overridable)
        for value in proto.graph.input:
            value.type.CopyFrom(types.get(value.name, value.type))
        stored = [tensor for tensor in proto.graph.initializer if tensor.name not in overridable]
        del proto.graph.initializer[:]
        proto.graph.initializer.extend(stored)
        return proto.SerializeToString()

    @cached_property
    def propagated(self) -> Propagated | None:
        """The types of all values, for a model that is too large for inference and so simple that inference
        is not needed; else None.
        """
        if self._like is not None:
            return self._like.propagated
        is_flat = len(self.survey.graphs) == 1 and not any(map(may_hold_graphs, self.survey.operators))
        if not is_flat or len(self.survey.main_labels) <= INFERRED_AS_A_WHOLE_UP_TO:
            return None
        proto = onnx.ModelProto.FromString(self.original)  # `original_proto` would stay, and be a fifth of all memory
        return propagation.propagate(proto.graph, self.survey.main_labels, self.main.opset, self.ir_version)

    @cached_property
    def inferred_functions(self) -> dict[tuple[str, str, str], GraphProto]:
        """The bodies of functions as graphs with inferred types, as far as all calls agree about the types of the inputs."""
        if self._like is not None:
            return self._like.inferred_functions
        return {} if self.inferred is None else inference.infer_functions(self.inferred)
