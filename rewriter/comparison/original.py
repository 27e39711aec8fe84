"""The unconverted model as the comparison reads it: its protobuf, and what onnx infers of it; nothing that rules believe."""

from __future__ import annotations

from onnx import FunctionProto, GraphProto, ModelProto

from ..cached import cached_property
from ..onnx_model.meanings import Semantics
from ..onnx_model.protos import default_opset
from ..opsets import function_inference
from ..storage.skeleton import Skeleton
from ..structure import declarations
from ..structure.declarations import Evidence
from ..structure.inlining import Key, key_of
from ..structure.survey import Survey


class Original:
    """The unconverted model. `semantics` is whose meaning counts for nodes that have two; None where both judge."""

    def __init__(self, skeleton: Skeleton, semantics: Semantics | None = None) -> None:
        self.skeleton = skeleton
        self.proto: ModelProto = skeleton.proto
        self.semantics: Semantics | None = semantics

    @property
    def opset(self) -> int:
        """The opset of the default domain; 0 where there is none."""
        return default_opset(self.proto.opset_import) or 0

    @cached_property
    def survey(self) -> Survey:
        """The graphs of the model, and how often it has each operator."""
        return Survey(self.proto)

    @cached_property
    def overridable(self) -> frozenset[str]:
        """The initializers that callers may override; before IR 4 there are none, since all initializers have to be inputs."""
        return frozenset() if self.proto.ir_version < 4 else declarations.stored_inputs(self.proto)

    @cached_property
    def evidence(self) -> Evidence | None:
        """The model with the types that onnx infers; None where inference fails."""
        return declarations.weigh(declarations.without_defaults(self.skeleton.checkable(), self.proto, self.overridable))

    @cached_property
    def inferred_functions(self) -> dict[Key, GraphProto]:
        """The bodies of functions as graphs with inferred types, as far as all calls agree about the types of the inputs."""
        return {} if self.evidence is None else function_inference.infer_functions(self.evidence.believed)

    def inferred(self, graph: GraphProto | FunctionProto) -> GraphProto | None:
        """The main graph or a function's body with inferred types; None where nothing is inferred."""
        if isinstance(graph, FunctionProto):
            return self.inferred_functions.get(key_of(graph))
        return None if self.evidence is None else self.evidence.proven.graph
