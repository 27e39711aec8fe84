"""The names in a model under conversion, and what else all of its graphs share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping
from typing import Any

import onnx

from ..cached import cached_property
from ..onnx_model.meanings import Semantics
from ..onnx_model.protos import GraphLike, defined_names, resolved
from ..storage.skeleton import Skeleton
from ..structure.survey import Survey, all_graphs
from .knowledge.original import Original

MOST_SEARCHED_NAMES = 32
"""The number of new names that are searched for in the serialized model before all names are listed, which
costs as much as 200 searches.
"""


class Names(Original):
    """The names in a model under conversion, and what else all of its graphs share: aliases, uses, and what the user chose."""

    def __init__(
        self,
        skeleton: Skeleton,
        *,
        constants_as_initializers: bool,
        like: Original | None,
        semantics: Semantics | None,
        survey: Survey | None,
        vouched: Collection[str],
    ) -> None:
        super().__init__(skeleton, like, survey, vouched)
        self.semantics: Semantics | None = semantics
        """The user's choice; None if there is none, so that rules leave or refuse nodes with two meanings."""
        self.constants_as_initializers = constants_as_initializers
        self.workshop = onnx.GraphProto()
        """A graph that owns the nodes that rules make. Single messages would take twice the memory, and twice the time to copy."""
        self.lost_uses: set[str] = set()
        """Names that lost a use, so that the nodes that make them may be superfluous."""
        self.new_uses: set[str] = set()
        """Names that became the input of a node because of a rule."""
        self.unread: set[str] = set()
        """Names of values that nodes of rules make. Those that nothing reads in the end are not needed."""
        self.fresh_names: set[str] = set()
        """Names that rules introduced. All others are names of the author, and are kept."""
        self.kept_names: set[str] = set()
        """Fresh names of values that have to be computed in each run, even if they are the same in all of them."""
        self.retired: set[str] = set()
        """Names that nothing defines any more. If a rule uses such a name again, old knowledge about it does not count."""
        self.aliases: dict[str, str] = {}
        """Values that a rule found to be equal to another value. Their uses are renamed at the end."""
        self.domain_targets: Mapping[str, int] = {}
        """The versions of domains other than ONNX's that the result imports, where they are not those of the model."""
        self.refused_operators: Container[str] = ()
        """Operators that a runtime of the user does not accept. Rules that can choose write others."""
        self.block_of_processor: Callable[[], int | None] = lambda: None
        """Asks how many channels onnxruntime's kernels for this processor take together."""
        self.wider: Mapping[int, int] = {}
        """Element types that the target lacks, and the wider types that replace them, while values are widened."""
        self.unrounded: Collection[int] = ()
        """Those of the replaced types to which results need not be rounded."""
        self.causes: dict[object, dict[Any, Any]] = {}
        """A cache of `hints`, for the hints of all blockers."""

    @property
    def graphs(self) -> list[GraphLike]:
        """The main graph, the function bodies, and all subgraphs of these at any depth, as they are now."""
        return all_graphs(self.proto)

    @property
    def replaced(self) -> dict[str, str]:
        """The author's values that a rule found to be equal to others, and these others.

        `aliases` also has values that rules made.
        """
        return {name: resolved(name, self.aliases) for name in self.aliases if name not in self.fresh_names}

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
