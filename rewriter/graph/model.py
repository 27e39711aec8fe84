"""The whole model under conversion, with a scope for each graph."""

from __future__ import annotations

from collections.abc import Collection

from ..onnx_model.meanings import Semantics
from ..onnx_model.protos import GraphLike, default_opset
from ..opsets.facts import may_hold_graphs
from ..storage.skeleton import Skeleton
from ..structure.specialization import key_of, uncertain_inputs
from ..structure.survey import Survey, all_graphs
from .names import Names
from .scope import Scope


class Model(Names):
    """The model under conversion."""

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
        super().__init__(
            skeleton,
            constants_as_initializers=constants_as_initializers,
            like=like,
            semantics=semantics,
            survey=survey,
            vouched=vouched,
        )
        self.main = Scope(self, self.proto.graph, None, "main graph", default_opset(self.proto.opset_import) or 0)
        self.main.labels = self.survey.main_labels
        self.functions = [
            Scope(self, body, None, f"function '{body.name}'", default_opset(body.opset_import) or 0)
            for body in self.proto.functions
        ]
        uncertain = uncertain_inputs(self.proto) if self.functions else {}
        for number, (scope, body) in enumerate(zip(self.functions, self.proto.functions, strict=True)):
            scope.function = number
            scope.uncertain = uncertain[key_of(body)]

    @property
    def graphs(self) -> list[GraphLike]:
        """The main graph, the function bodies, and all subgraphs of these at any depth, as they are now."""
        has_one = not self.functions and not any(may_hold_graphs(label) for label in set(self.main.labels))
        return [self.proto.graph] if has_one else all_graphs(self.proto)
