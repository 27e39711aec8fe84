"""Combines the demands of several runtimes, so that one model is right for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from onnx import GraphProto, NodeProto, TypeProto

from ..engine.restrictions import Restrictions
from ..errors import ArgumentError, Blocker, Unconvertible
from ..graph.node import Node
from ..onnx_model.protos import reads
from ..opsets import facts
from ..opsets.ml_types import ML
from ..opsets.transitions import newest_opset
from ..opsets.type_protos import elem_type_name
from .allowed.findings import Finding
from .allowed.rules import AllowedList
from .naming import find_profile
from .profiles import Effect, Profile

_DOES: dict[Effect, str] = {"wrong": "computes it wrongly", "refused": "refuses it", "crash": "dies of it"}
Bound = Literal["min", "max", "best"]
_IR_WITH_FUNCTIONS = 8
"""The IR version in which models got local functions."""


class TitledList:
    """The list of operators of one profile, as the engine asks it."""

    def __init__(self, title: str, allowed: AllowedList, may_fall_back: bool) -> None:
        self.title = title
        self.may_stay = may_fall_back and allowed.otherwise == "fallback"
        self.must_know = allowed.otherwise == "silent"
        self.has_notes = allowed.has_notes
        self._allowed = allowed

    def judge(self, node: Node) -> Finding:
        """Whether the list allows the node."""
        return self._allowed.judge(node)

    def has(self, operator: str) -> bool:
        """Whether the list has the operator, perhaps under conditions."""
        return self._allowed.operators is None or operator in self._allowed.operators

    def most_axes(self, operator: str) -> int | None:
        """The number of dimensions that values of the operator may have; None where the list does not limit it."""
        return self._allowed.most_axes(operator)

    def refuses_type(self, operator: str, name: str) -> bool:
        """Whether the list has types for values of the operator, and `name` is not among them."""
        return self._allowed.refuses_type(operator, name)

    def notes(self, operator: str) -> list[str]:
        """What the list says of an operator in words that nobody checks."""
        return self._allowed.notes(operator)


class Demands:
    """The combined demands of `profiles`. Raises ArgumentError where no opset suits all of them.

    `may_fall_back` permits nodes that a runtime leaves to the CPU.
    """

    def __init__(self, profiles: Sequence[Profile], may_fall_back: bool = True) -> None:
        self.profiles = tuple(profiles)
        self._may_fall_back = may_fall_back
        self.lowest = max(self._bounds("min"), default=1)
        self.highest = min([*self._bounds("max"), newest_opset()])
        if self.lowest > self.highest:
            raise ArgumentError(f"--for: no opset suits all: {self._loaded}")

    @property
    def titles(self) -> str:
        return " and ".join(profile.title for profile in self.profiles)

    @property
    def titles_and_files(self) -> str:
        """The titles, each with the file of the profile where it is the user's."""
        return " and ".join(profile.title_and_file for profile in self.profiles)

    def warnings_about(self, operators: Iterable[str]) -> tuple[str, ...]:
        """What the user has to know about the names of the runtimes, and about these operators of a result in them."""
        warnings = [profile.warning for profile in self.profiles if profile.warning]
        if any(label.startswith(f"{ML}::") for label in operators):
            silent = [
                p.title for p in self.profiles if p.facts.ml_max is None and p.facts.allowed is None and not p.runtime.domains
            ]
            warnings += [f"nothing is known about operators of {ML} in {title}: it may not load them" for title in silent]
        return tuple(dict.fromkeys(warnings))

    @property
    def ir_max(self) -> int | None:
        return min((p.facts.ir_max for p in self.profiles if p.facts.ir_max is not None), default=None)

    @property
    def ml_max(self) -> int | None:
        """The last version of ai.onnx.ml that all of the runtimes have; None where nothing is known."""
        return min((p.facts.ml_max for p in self.profiles if p.facts.ml_max is not None), default=None)

    @property
    def without_functions(self) -> str:
        """The runtimes that do not accept local functions, such as "MNN 3.6 and OpenCV 4.12"; "" where all do.

        Those that read only IR versions before functions came are among them.
        """
        return " and ".join(
            profile.title
            for profile in self.profiles
            if profile.facts.functions_refused or (profile.facts.ir_max or _IR_WITH_FUNCTIONS) < _IR_WITH_FUNCTIONS
        )

    @property
    def without_external_data(self) -> str:
        """The runtimes that read no weights beside the model; "" where all do."""
        return " and ".join(profile.title for profile in self.profiles if profile.facts.external_data_refused)

    def refused_interface(self, graph: GraphProto) -> Iterator[Blocker]:
        """Blockers for the inputs and outputs of the main graph that a runtime does not take as they are.

        Where an input gets another shape, that is no matter if nothing but a Reshape, or the like, reads it.
        """
        read = {name for node in graph.node if not _only_reshapes(node) for name in reads(node)}
        stored = {tensor.name for tensor in graph.initializer}
        ends = [("input", value, value.name in read) for value in graph.input if value.name not in stored]
        ends += [("output", value, True) for value in graph.output]
        for what, value, needs_shape in ends:
            for profile in self.profiles:
                try:
                    _require_taken(what, value.type.tensor_type, profile, needs_shape)
                except Unconvertible as refusal:
                    yield Blocker(what, value.name, "main graph", "", refusal.reason, refusal.hint)

    def lacks(self, domain: str) -> bool:
        """Whether one of the runtimes does not have the operators of `domain`."""
        return any(domain not in profile.runtime.domains for profile in self.profiles)

    @property
    def restrictions(self) -> Restrictions:
        forms: dict[tuple[str, str], str] = {}
        miscomputed: set[tuple[str, str]] = set()
        for profile in self.profiles:
            for quirk in profile.quirks:
                text = f"{profile.title} {_DOES[quirk.effect]} ({quirk.form})"
                for op_type in quirk.operators:
                    before = forms.get((quirk.form, op_type))
                    forms[quirk.form, op_type] = text if before in (None, text) else f"{before}; {text}"
                    if quirk.effect != "refused":
                        miscomputed.add((quirk.form, op_type))
        return Restrictions(
            forms,
            frozenset(forms) - miscomputed,
            {op_type: profile.title for profile in self.profiles for op_type in profile.facts.operators_refused},
            {version: profile.title for profile in self.profiles for version in profile.facts.versions_refused},
            {name: profile.title for profile in self.profiles for name in profile.facts.types_refused},
            lists=self.lists,
        )

    @property
    def lists(self) -> tuple[TitledList, ...]:
        """The lists of operators that the runtimes allow, of those that have one."""
        pairs = [(profile.title, profile.facts.allowed) for profile in self.profiles]
        return tuple(TitledList(title, allowed, self._may_fall_back) for title, allowed in pairs if allowed is not None)

    def candidates(self, source: int) -> list[int]:
        """The opsets that all runtimes accept, in order of preference; `source` is the opset of the model.

        First comes `source`, unless it is above the best opset of the runtimes; then the best one, then those below it, from new to
        old, then those above it. Where no runtime says which opsets it loads, those above `source` come before those below it.
        """
        if not any((*self._bounds("min"), *self._bounds("max"), *self._bounds("best"))):
            return [*range(source, newest_opset() + 1), *range(source - 1, 0, -1)]
        best = min(max(min(self._bounds("best"), default=self.highest), self.lowest), self.highest)
        below, above = range(best, self.lowest - 1, -1), range(best + 1, self.highest + 1)
        own = [source] if self.lowest <= source <= best else []
        return list(dict.fromkeys([*own, *below, *above]))

    def require_opset(self, target: int) -> None:
        """Raises ArgumentError where a runtime does not accept opset `target`."""
        if self.refuse_opset(target):
            raise ArgumentError(f"--target-opset {target}: {self._loaded}")

    def refuse_opset(self, opset: int) -> bool:
        """Whether a runtime does not accept `opset`."""
        return not self.lowest <= opset <= self.highest

    def with_opsets(self, blocker: Blocker) -> Blocker:
        """`blocker`, with a hint that says why the model goes to another opset: which ones the runtimes load."""
        return blocker._replace(hint="; ".join(filter(None, [blocker.hint, self._loaded])))

    @property
    def _loaded(self) -> str:
        """The opsets that each runtime loads, as "OpenVINO 2023.3 loads opsets 7 to 17"."""
        return "; ".join(f"{profile.title_and_file} loads {_shown(profile)}" for profile in self.profiles)

    def require_ml_opset(self, version: int) -> None:
        """Raises ArgumentError where a runtime does not accept this version of ai.onnx.ml."""
        for profile in self.profiles:
            if profile.facts.ml_max is not None and version > profile.facts.ml_max:
                takes = f"{profile.title_and_file} loads ai.onnx.ml up to {profile.facts.ml_max}"
                raise ArgumentError(f"--ml-opset {version}: {takes}")

    def _bounds(self, which: Bound) -> list[int]:
        bounds = (getattr(profile.facts.opset, which) for profile in self.profiles)
        return [bound for bound in bounds if bound is not None]


def demands_of(names: Sequence[str], may_fall_back: bool = True, python: str = "") -> Demands | None:
    """The demands of the runtimes called `names`; None where there are no names. Raises: as `find_profile` and `Demands`."""
    return Demands([find_profile(name, python=python) for name in dict.fromkeys(names)], may_fall_back) if names else None


def _only_reshapes(node: NodeProto) -> bool:
    return facts.of(node.op_type, node.domain).has("only-reshapes")


def _require_taken(what: str, tensor: TypeProto.Tensor, profile: Profile, needs_shape: bool) -> None:
    """Raises Unconvertible where a runtime does not take an input or output of this type, and if it counts, of this shape."""
    limits, kind, rank = profile.facts.interface, elem_type_name(tensor.elem_type), len(tensor.shape.dim)
    if what == "input" and kind in limits.input_types_refused:
        raise Unconvertible(f"{profile.title} takes no inputs of type {kind}", "let the model take another type, and cast it")
    if what == "output" and kind in limits.output_types_refused:
        raise Unconvertible(f"{profile.title} gives no outputs of type {kind}", "let the model give another type")
    if needs_shape and tensor.HasField("shape") and rank < limits.rank_min:
        raise Unconvertible(
            f"{profile.title} gives {what}s of {rank} dimension{'s' * (rank != 1)} another shape",
            f"give the {what} {limits.rank_min} dimension{'s' * (limits.rank_min != 1)}",
        )


def _shown(profile: Profile) -> str:
    low, high, _ = profile.facts.opset
    if low is None:
        return "opsets that nobody wrote down" if high is None else f"opset {high} and older"
    return f"opset {low} and newer" if high is None else f"opsets {low} to {high}"
