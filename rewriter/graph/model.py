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
from .survey import Survey, all_graphs

Semantics = Literal["specification", "onnxruntime"]
"""Whose meaning a node has where the specification and onnxruntime disagree: docs/semantics.md lists the cases."""
MOST_SEARCHED_NAMES = 32
"""New names that are searched for in the serialized model, before all names are listed: that takes as long as 200 searches."""
INFERRED_AS_A_WHOLE_UP_TO = 4_000
"""Nodes. Of 20,000 nodes that repeat themselves, inference of the whole takes a quarter of the conversion."""


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
    ) -> None:
        """`like` is a model of the same, which nobody changes: what is known of it is known of this one, and its survey is.

        `survey` is that of the skeleton, where somebody made it already.
        """
        self.skeleton = skeleton
        self.semantics: Semantics | None = semantics
        """None: the caller has not said it, and rules leave or refuse nodes of two meanings."""
        self.proto = skeleton.proto
        self.ir_version = self.proto.ir_version
        self.constants_as_initializers = constants_as_initializers
        self.workshop = onnx.GraphProto()
        """Holds the nodes that rules make. Many small messages on their own take twice the memory, and twice the time to copy."""
        self.lost_uses: set[str] = set()
        """Names that lost a use: what produces them may be dead now."""
        self.new_uses: set[str] = set()
        """Names that a rule let something read."""
        self.unread: set[str] = set()
        """Names of values that rules made. What nothing came to read, by `new_uses`, is not needed."""
        self.fresh_names: set[str] = set()
        """Names that rules gave; all others are the author's, and stay."""
        self.retired: set[str] = set()
        """Names that nothing defines any more; what is known of the old value must not be taken for a new one's."""
        self.aliases: dict[str, str] = {}
        """Values that a rule found to be another value; uses are renamed when the work is done."""
        self.refused_operators: Container[str] = ()
        """Operators that a runtime which the result is for does not take: rules that have the choice write others."""
        self.wider: Mapping[int, int] = {}
        """Element types that the target does not have, and the wider ones that take their place while values are widened."""
        self.unrounded: Collection[int] = ()
        """Those of them to which the results of computing in the wider type need not be rounded."""
        self.sizes_relied_on: dict[str, Shape] = {}
        """Shapes that the rule at work asked for, with sizes that nothing but a declaration says."""
        self.causes: dict[object, dict[Any, Any]] = {}
        """Why too little is known of values, for the hints of all blockers; `hints` alone knows what is in it."""
        self.original = skeleton.checkable() if like is None else like.original
        self.survey = survey or (Survey(self.proto) if like is None else like.survey)
        """The model as it was read."""
        self._like = like
        self.main = Scope(self, self.proto.graph, None, "main graph", default_opset(self.proto.opset_import) or 0)
        self.main.labels = self.survey.main_labels
        self.functions = [
            Scope(self, body, None, f"function '{body.name}'", default_opset(body.opset_import) or 0)
            for body in self.proto.functions
        ]

    @property
    def graphs(self) -> list[GraphLike]:
        """The main graph, the function bodies, and every subgraph of them to any depth, as they are now."""
        has_one = not self.functions and not any(may_hold_graphs(label) for label in set(self.main.labels))
        return [self.proto.graph] if has_one else all_graphs(self.proto)

    @property
    def replaced(self) -> dict[str, str]:
        """The author's values that a rule found to be others, and what they stand for; `aliases` has those of the rules too."""
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
        """`wanted`, or with a number behind it, such that nothing in the model has that name."""
        name, number = wanted, 1
        while name in self.fresh_names or name in self.retired or self._may_be_taken(name):
            number += 1
            name = f"{wanted}_{number}"
        self.fresh_names.add(name)
        if "_names" in self.__dict__:
            self._names[name] = 1
        return name

    def _may_be_taken(self, name: str) -> bool:
        """Whether the model as it was read may have `name` anywhere."""
        if "_names" in self.__dict__ or len(self.fresh_names) >= MOST_SEARCHED_NAMES:
            return name in self._names
        return name.encode() in self.original

    def is_unique(self, name: str) -> bool:
        """Whether just one place in the model defines `name` (subgraphs and functions may shadow)."""
        return self._names.get(name, 0) <= 1

    @cached_property
    def _node_names(self) -> Counter[str]:
        """The names of nodes in the model as it was read, and how many nodes have each."""
        return Counter(node.name for graph in self.survey.graphs for node in graph.node if node.name)

    def node_name(self, wanted: str) -> str:
        """A name for a new node: `wanted`, or, where the model has a node of that name, one that nothing has."""
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
        """Whether the model reads `name` in one place and no rule reads it in another; counted when first asked."""
        return self._uses[name] <= 1 and name not in self.new_uses

    @cached_property
    def input_symbols(self) -> frozenset[str]:
        """The names of the dimensions of the model's inputs whose sizes the caller decides."""
        types = [value.type.tensor_type for value in self.proto.graph.input]
        return frozenset(dim.dim_param for kind in types for dim in kind.shape.dim if dim.dim_param)

    @cached_property
    def input_dimensions(self) -> dict[str, tuple[str, int]]:
        """Input and axis of each symbol that just one dimension of one input has."""
        found: dict[str, list[tuple[str, int]]] = {}
        for value in self.proto.graph.input:
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                found.setdefault(dim.dim_param, []).append((value.name, axis))
        return {symbol: places[0] for symbol, places in found.items() if symbol and len(places) == 1}

    @cached_property
    def original_proto(self) -> onnx.ModelProto:
        """The model as it was read, for looking at; payloads that were cut are missing."""
        return onnx.ModelProto.FromString(self.original) if self._like is None else self._like.original_proto

    @cached_property
    def evidence(self) -> Evidence | None:
        """The original model with inferred types, at its own opset; None where shape inference fails on it."""
        return declarations.weigh(self._without_defaults()) if self._like is None else self._like.evidence

    def derived(self) -> onnx.ModelProto | None:
        """The original model with the types that follow from its inputs, whatever it declares; None where inference fails."""
        return declarations.derive(self._without_defaults())

    @cached_property
    def sized(self) -> onnx.ModelProto | None:
        """The original model as inference would have it if its inputs had fixed shapes; None where inference fails."""
        return declarations.infer_sized(self._without_defaults())

    @cached_property
    def sized_shapes(self) -> dict[str, Shape]:
        """The shapes of the values of the main graph in `sized`; none where shape inference fails."""
        return {} if self.sized is None else declarations.shapes_of(self.sized.graph)

    @property
    def inferred(self) -> onnx.ModelProto | None:
        """The original model with the types that its values are believed to have."""
        return None if self.evidence is None else self.evidence.believed

    @property
    def contradictions(self) -> list[Contradiction]:
        """Declared shapes that turned out to be wrong when types were inferred."""
        return self.evidence.contradictions if "evidence" in self.__dict__ and self.evidence is not None else []

    def _without_defaults(self) -> bytes:
        """The original model without the initializers that callers may override: inference would rely on their values."""
        if not self.main.constants.overridable:
            return self.original
        proto = onnx.ModelProto.FromString(self.original)
        stored = [tensor for tensor in proto.graph.initializer if tensor.name not in self.main.constants.overridable]
        del proto.graph.initializer[:]
        proto.graph.initializer.extend(stored)
        return proto.SerializeToString()

    @cached_property
    def propagated(self) -> Propagated | None:
        """What is known of all values of a model so large that inference is too slow, and so plain that it is not needed."""
        if self._like is not None:
            return self._like.propagated
        is_flat = len(self.survey.graphs) == 1 and not any(map(may_hold_graphs, self.survey.operators))
        if not is_flat or len(self.survey.main_labels) <= INFERRED_AS_A_WHOLE_UP_TO:
            return None
        proto = onnx.ModelProto.FromString(self.original)  # `original_proto` would stay, and be a fifth of all memory
        return propagation.propagate(proto.graph, self.survey.main_labels, self.main.opset, self.ir_version)

    @cached_property
    def inferred_functions(self) -> dict[tuple[str, str, str], GraphProto]:
        """Bodies of functions as graphs with inferred types, where all calls agree on the types of their inputs."""
        if self._like is not None:
            return self._like.inferred_functions
        return {} if self.inferred is None else inference.infer_functions(self.inferred)
