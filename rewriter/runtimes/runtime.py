"""What is known about a runtime: the releases of it, what each accepts, and which forms of nodes it computes wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ..execution.agreement import USUAL, Bounds
from .allowed.rules import AllowedList
from .releases import Range, Release

Effect = Literal["wrong", "refused", "crash"]


class OpsetRange(NamedTuple):
    """The opsets that a release accepts. `best` is the one at which most models were right. None stands for unknown."""

    min: int | None = None
    max: int | None = None
    best: int | None = None

    def both(self, other: OpsetRange) -> OpsetRange:
        """The opsets that both accept."""
        return OpsetRange(
            max(_stated(self.min, other.min), default=None),
            min(_stated(self.max, other.max), default=None),
            min(_stated(self.best, other.best), default=None),
        )


class InterfaceLimits(NamedTuple):
    """What a runtime refuses of the inputs and outputs of a model: fewer dimensions than `rank_min`, and element types."""

    rank_min: int = 0
    input_types_refused: frozenset[str] = frozenset()
    output_types_refused: frozenset[str] = frozenset()

    def types_refused(self, what: str) -> frozenset[str]:
        """The types that it refuses of each `what`, which is "input" or "output"."""
        return self.input_types_refused if what == "input" else self.output_types_refused

    def both(self, other: InterfaceLimits) -> InterfaceLimits:
        """What one of the two refuses."""
        return InterfaceLimits(
            max(self.rank_min, other.rank_min),
            self.input_types_refused | other.input_types_refused,
            self.output_types_refused | other.output_types_refused,
        )


@dataclass(frozen=True)
class ReleaseFacts:
    """The models that a range of releases accepts.

    `evidence` is a text such as "tried with 1.4.1" or "by documentation"; `source` says where to find it.
    """

    releases: Range
    opset: OpsetRange
    ir_max: int | None
    operators_refused: frozenset[str]
    types_refused: frozenset[str]
    evidence: str
    source: str
    notes: str = ""
    functions_refused: bool = False
    """Whether the runtime accepts no local functions, so that all functions have to be inlined."""
    allowed: AllowedList | None = None
    """The operators that it accepts, under which conditions; None where no list is known."""
    versions_refused: frozenset[tuple[str, int]] = frozenset()
    """Versions of operators that it does not take though it takes others: operators and since_versions."""
    interface: InterfaceLimits = field(default_factory=InterfaceLimits)
    external_data_refused: bool = False
    """Whether the runtime reads no weights beside the model, so that all have to be in the file."""
    ml_max: int | None = None
    """The last version of ai.onnx.ml whose operators it has; None where nothing is known."""

    def both(self, other: ReleaseFacts) -> ReleaseFacts:
        """What a model has to keep to if both are to accept it. The texts are those of this one."""
        return replace(
            self,
            opset=self.opset.both(other.opset),
            ir_max=min(_stated(self.ir_max, other.ir_max), default=None),
            operators_refused=self.operators_refused | other.operators_refused,
            types_refused=self.types_refused | other.types_refused,
            functions_refused=self.functions_refused or other.functions_refused,
            allowed=other.allowed if self.allowed is None else self.allowed.both(other.allowed),
            versions_refused=self.versions_refused | other.versions_refused,
            interface=self.interface.both(other.interface),
            external_data_refused=self.external_data_refused or other.external_data_refused,
            ml_max=min(_stated(self.ml_max, other.ml_max), default=None),
        )


@dataclass(frozen=True)
class Quirk:
    """A form of nodes that a range of releases computes wrongly, refuses, or crashes on, for `operators` or
    for all that can have it.
    """

    form: str
    effect: Effect
    operators: frozenset[str]
    releases: Range
    evidence: str


class Inside(NamedTuple):
    """The release of a runtime, `inner`, that is in some releases of a product."""

    releases: Range
    inner: Release
    shown: str
    """The releases as the product writes them: "24.12 to 25.02"."""

    @property
    def bounds(self) -> list[str]:
        """The first and the last of the releases, as the product writes them; one alone once."""
        return self.shown.split(" to ")


@dataclass(frozen=True)
class Product:
    """Something that has the runtime inside, and that users name instead of it, such as JetPack."""

    title: str
    names: tuple[str, ...]
    releases: tuple[Inside, ...] | None
    """Those that are known, from old to new; None where the product has the numbers of the runtime."""
    source: str


@dataclass(frozen=True)
class Runtime:
    """The content of one file. `package` is the Python package whose installed version counts where the user names no release.

    `tolerance` is how far its right results may be from those of onnxruntime.
    """

    name: str
    title: str
    package: str
    aliases: Mapping[str, str]
    also: tuple[str, ...]
    """Other names that users call it by, such as "trt"."""
    chips: tuple[str, ...]
    """The names of chips that models are compiled for with it. What follows them is no release."""
    releases: tuple[ReleaseFacts, ...]
    quirks: tuple[Quirk, ...]
    tolerance: Bounds = USUAL
    domains: frozenset[str] = frozenset()
    """The domains beside ONNX's of which the runtime has the operators."""
    products: tuple[Product, ...] = ()


def _stated(*numbers: int | None) -> list[int]:
    return [number for number in numbers if number is not None]


def shown_range(releases: Range) -> str:
    """A range of releases as text: "2024.2", "1.26 to 1.31", "11 and later"."""
    first, last = (None if bound is None else dotted(bound) for bound in releases)
    if first == last:
        return first or "all"
    return f"up to {last}" if first is None else f"{first} and later" if last is None else f"{first} to {last}"


def dotted(release: Iterable[int]) -> str:
    return ".".join(map(str, release))
