"""One of the two models, or a body in it, node by node: what each node does, and the values that it reads."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

from onnx import GraphProto, ModelProto, NodeProto

from ..onnx_model.all_nodes import constants
from ..onnx_model.protos import default_opset, reads, subgraphs
from .calls import Require
from .model_reader import Functions, contents_of_bodies, essence, functions_of, needed_outputs
from .prover import UnprovenError
from .tensors import Value


class Step(NamedTuple):
    """A node with the values that it reads.

    `what`: what it does apart from these and from its bodies, whose `contents` are beside it. `captured`: the names of the values
    that the bodies read, which stand last in `read`. `is_run`: whether runtimes have to run it.
    """

    node: NodeProto
    what: tuple[Any, ...]
    contents: tuple[Any, ...]
    inputs: Sequence[Value | None]
    captured: Sequence[str]
    read: Sequence[Value | None]
    is_run: bool

    @property
    def does(self) -> tuple[Any, ...]:
        """Equal for nodes that do the same if they read the same."""
        return (*self.what, *self.contents, *self.captured)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for nodes that do the same with the same values."""
        return (*self.does, *map(id, self.read))


class Reading:
    """A graph, with its `values` by name as far as it is read. `require`: what becomes of what its nodes require. `scope`: a number
    that it shares with the graph that is compared with it. `constants`: the names that are stored values wherever they are read.
    """

    def __init__(
        self,
        graph: GraphProto,
        opset: int,
        functions: Functions,
        values: dict[str, Value],
        require: Require,
        *,
        is_result: bool,
        scope: int = 0,
        constants: Set[str] = frozenset(),
    ) -> None:
        self.graph = graph
        self.opset = opset
        self.values = values
        self.require = require
        self.is_result = is_result
        self.constants = constants
        self._scope = scope
        self.types = {value.name: value.type for value in (*graph.value_info, *graph.output)}
        self._functions = functions
        self._needed = needed_outputs(graph)

    @classmethod
    def of(cls, model: ModelProto, values: dict[str, Value], require: Require, *, is_result: bool) -> Reading:
        """The main graph of a model."""
        opset = default_opset(model.opset_import) or 1
        known = constants(model).keys() - {value.name for value in model.graph.input}
        return cls(model.graph, opset, functions_of(model), values, require, is_result=is_result, constants=known)

    def calls_function(self, node: NodeProto) -> bool:
        """Whether the node calls a function of the model, which could not be read in its place."""
        return (node.domain, node.op_type, node.overload) in self._functions.nodes

    def inside(self, body: GraphProto, scope: int) -> Reading:
        """A body of one of its nodes, which reads the values around it, too."""
        values = dict(self.values)
        known, is_result = self.constants, self.is_result
        return Reading(body, self.opset, self._functions, values, self.require, is_result=is_result, scope=scope, constants=known)

    def step(self, node: NodeProto) -> Step:
        """The node with what it reads. Raises UnprovenError where that is not made yet."""
        undefined = next((name for name in node.input if name and name not in self.values), None)
        if undefined is not None:
            raise UnprovenError(f"'{undefined}' is read before it is made")
        inputs = [self.values[name] if name else None for name in node.input]
        while inputs and inputs[-1] is None:
            inputs.pop()
        has_body = any(True for _ in subgraphs(node))
        captured = [name for name in sorted(set(reads(node))) if name in self.values] if has_body else []
        is_needed = not self._needed.isdisjoint(node.output)  # one that is not need not run, and says nothing about one that is
        what = (is_needed, *essence(node, self.opset, self._functions, self._scope))
        contents = contents_of_bodies(node, self.opset)
        read = [*inputs, *(self.values[name] for name in captured)]
        return Step(node, what, contents, inputs, captured, read, self.is_result or is_needed)
