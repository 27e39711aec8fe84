"""The model as it was read, and what inference finds for it as a whole."""

from __future__ import annotations

from collections.abc import Collection

import onnx
from onnx import GraphProto

from ...cached import cached_property
from ...onnx_model.protos import default_opset
from ...opsets import function_inference
from ...opsets.facts import may_hold_graphs
from ...opsets.type_protos import Shape
from ...storage.skeleton import Skeleton
from ...structure import declarations
from ...structure.declarations import Contradiction, Evidence
from ...structure.survey import Survey
from . import propagation
from .propagation import Propagated

INFERRED_AS_A_WHOLE_UP_TO = 4_000
"""The number of nodes up to which the whole model is inferred.

For 20,000 repetitive nodes that takes a quarter of the conversion.
"""


class Original:
    """A model as it was read, with the types that inference finds for it as a whole."""

    def __init__(self, skeleton: Skeleton, like: Original | None, survey: Survey | None, vouched: Collection[str]) -> None:
        """Take the model `skeleton`.

        `like` is an unchanged one of the same content: its survey and what is known about its values are used again. `survey` is a
        survey of the skeleton, if there is one already. `vouched` are the values whose declared types are the user's.
        """
        self.skeleton = skeleton
        self.proto = skeleton.proto
        self.ir_version = self.proto.ir_version
        self.original = skeleton.checkable() if like is None else like.original
        self.survey = survey or (Survey(self.proto) if like is None else like.survey)
        """The survey of the model as it was read."""
        self.sizes_relied_on: dict[str, Shape] = {}
        """The shapes that the current rule asked for and that contain sizes which are only declared."""
        self._like = like
        self._vouched = vouched

    @cached_property
    def original_proto(self) -> onnx.ModelProto:
        """The model as it was read, which must not be changed. Payloads on disk are missing."""
        return onnx.ModelProto.FromString(self.original) if self._like is None else self._like.original_proto

    # -- its inputs

    @cached_property
    def overridable(self) -> frozenset[str]:
        """The initializers that callers may override, because they are also inputs.

        Before IR 4 there are none, since all initializers have to be inputs.
        """
        return frozenset() if self.ir_version < 4 else self._stored_inputs

    @cached_property
    def _stored_inputs(self) -> frozenset[str]:
        return declarations.stored_inputs(self.proto)

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

    # -- inference of the whole model

    @cached_property
    def evidence(self) -> Evidence | None:
        """The original model with inferred types, at its own opset; None where shape inference fails on it."""
        return declarations.weigh(self._without_defaults(), self._vouched) if self._like is None else self._like.evidence

    @property
    def inferred(self) -> onnx.ModelProto | None:
        """The original model with the types that its values are believed to have."""
        return None if self.evidence is None else self.evidence.believed

    @property
    def contradictions(self) -> list[Contradiction]:
        """Declared shapes that turned out to be wrong during inference."""
        return self.evidence.contradictions if "evidence" in self.__dict__ and self.evidence is not None else []

    def derived(self) -> onnx.ModelProto | None:
        """The original model with the types that follow from its inputs, without its declarations; None where inference fails."""
        return declarations.derive(self._without_defaults())

    @cached_property
    def sized(self) -> onnx.ModelProto | None:
        """The original model with the types that it would have if its inputs had fixed shapes; None where inference fails."""
        return declarations.infer_sized(self._without_defaults()) if self._like is None else self._like.sized

    @cached_property
    def sized_shapes(self) -> dict[str, Shape]:
        """The shapes of the main graph's values in `sized`; empty where inference fails."""
        return {} if self.sized is None else declarations.shapes_of(self.sized.graph)

    @cached_property
    def misread(self) -> dict[str, Shape]:
        """The shapes that onnx infers although they are not certain, and that runtimes believe."""
        return declarations.misread(self._without_defaults()) if self._like is None else self._like.misread

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
        opset = default_opset(self.proto.opset_import) or 0
        return propagation.propagate(proto.graph, self.survey.main_labels, opset, self.ir_version)

    @cached_property
    def inferred_functions(self) -> dict[tuple[str, str, str], GraphProto]:
        """The bodies of functions as graphs with inferred types, as far as all calls agree about the types of the inputs."""
        if self._like is not None:
            return self._like.inferred_functions
        return {} if self.inferred is None else function_inference.infer_functions(self.inferred)

    def _without_defaults(self) -> bytes:
        return declarations.without_defaults(self.original, self.proto, self.overridable)
