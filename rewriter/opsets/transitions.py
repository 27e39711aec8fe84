"""The changes between two versions of an operator: derived from the schemas of the installed onnx, and reviewed by people.

The schemas show which attributes, inputs, outputs and types were added or removed (`delta`). `reviewed.txt` says which transitions
change more than that. A transition that nobody has reviewed is refused. This module does not know the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import onnx
from onnx import defs

from ..cached import cached_property
from ..errors import Unconvertible
from . import facts
from .delta import Delta

OpSchema = defs.OpSchema


def newest_opset() -> int:
    """The newest opset of the default domain that the installed onnx knows and has released."""
    return defs.onnx_opset_version()


@cache
def all_operators() -> frozenset[str]:
    """All operators of the default domain, including those that its newest opset deprecates."""
    return frozenset(schema.name for schema in defs.get_all_schemas() if not schema.domain)


@cache
def schema_at(op_type: str, opset: int) -> OpSchema | None:
    """The schema that `op_type` of the default domain has at `opset`; None where it does not exist there."""
    try:
        return defs.get_schema(op_type, opset, "")
    except defs.SchemaError:
        return None


@cache
def form_opset(op_type: str, opset: int) -> int:
    """The opset in whose form nodes of `op_type` are in a model of `opset`.

    It is older than `opset` where the operator is deprecated.
    """
    schema = schema_at(op_type, opset)
    if schema is None or not schema.deprecated or schema_at(op_type, schema.since_version - 1) is None:
        return opset
    return schema.since_version - 1


def is_read(op_type: str, opset: int) -> bool:
    """Whether somebody has read the version of `op_type` that a model of `opset` has: everything that rewrites asks this.

    `reviewed.txt` has the versions of an operator but its first one, which its row of facts stands for. What is no operator of that
    opset counts as read, since there is nothing to know.
    """
    schema = schema_at(op_type, form_opset(op_type, opset))
    if schema is None:
        return True
    if schema_at(op_type, schema.since_version - 1) is None:
        return op_type in facts.known_operators()
    return (op_type, schema.since_version) in _reviewed()


def has_same_form(op_type: str, one: int, other: int) -> bool:
    """Whether models of the two opsets have the same version of `op_type`."""
    schemas = (schema_at(op_type, form_opset(op_type, opset)) for opset in (one, other))
    return len({None if schema is None else schema.since_version for schema in schemas}) == 1


@cache
def is_restamp(op_type: str, one: int, other: int) -> bool:
    """Whether nodes of `op_type` that are valid at both opsets mean the same there, and no rule changes them in between."""
    low, high = min(one, other), max(one, other)
    if schema_at(op_type, low) is None:
        return False
    up, down = path(op_type, low, high), path(op_type, high, low)
    return all(step.review in ("R", "C") for step in up) and all(step.older and step.review in ("R", "T") for step in down)


def is_step(op_type: str, newer: int) -> bool:
    """Whether opset `newer` brought a new version of an operator that existed before."""
    schema = schema_at(op_type, newer)
    return schema is not None and schema.since_version == newer and schema_at(op_type, newer - 1) is not None


def unknown_version(op_type: str) -> Unconvertible:
    """The refusal to change a node of a version of `op_type` that nobody has read."""
    return Unconvertible(
        f"the installed onnx {onnx.__version__} has a version of {op_type} that this split-rewrite does not know",
        "update split-rewrite, or choose a target before that version",
    )


@dataclass(frozen=True)
class Transition:
    """One version step of an operator; `older` is None where `newer` is the operator's first version."""

    op_type: str
    newer: int
    older: int | None
    up: bool

    def __str__(self) -> str:
        return f"{self.newer - 1}→{self.newer}" if self.up else f"{self.newer}→{self.newer - 1}"

    @property
    def opset_after(self) -> int:
        """The opset in whose form a node is after this step."""
        return self.newer if self.up else self.newer - 1

    @cached_property
    def review(self) -> str | None:
        """The reviewed code for this direction ("R", "A", "T", "H", …); None where nobody has reviewed it."""
        codes = _reviewed().get((self.op_type, self.newer))
        return None if codes is None else codes[0 if self.up else 1]

    @cached_property
    def delta(self) -> Delta:
        """The differences of the schemas in this step."""
        newer, older = schema_at(self.op_type, self.newer), schema_at(self.op_type, self.newer - 1)
        if newer is None or older is None:
            raise ValueError(f"{self.op_type} {self} is no step between two versions")
        return Delta(older, newer) if self.up else Delta(newer, older)


@cache
def path(op_type: str, source: int, target: int) -> tuple[Transition, ...]:
    """The steps that take `op_type` from its form at opset `source` to its form at `target`, in order.

    The last step down has `older` None where the operator is newer than the target. Raises ValueError where the operator does not
    exist at `source`.
    """
    if schema_at(op_type, source) is None:
        raise ValueError(f"{op_type} does not exist at opset {source}")
    low, high = min(source, target), max(source, target)
    versions: list[int] = []
    schema = schema_at(op_type, high)
    while schema is not None and schema.since_version > low:
        versions.append(schema.since_version)
        schema = schema_at(op_type, schema.since_version - 1)
    older = [*versions[1:], None if schema is None else schema.since_version]
    steps = [Transition(op_type, new, old, source < target) for new, old in zip(versions, older, strict=False)]
    return tuple(reversed(steps)) if source < target else tuple(steps)


@cache
def form_of_rules(op_type: str, opset: int) -> Delta | None:
    """The differences between the newest schema of `op_type` and that of `opset`, in whose form a rule
    wrote a node; None where it has none.
    """
    newest, form = schema_at(op_type, newest_opset()), schema_at(op_type, opset)
    return None if newest is None or form is None else Delta(newest, form)


def may_hide_mistakes(op_type: str, source: int, target: int) -> bool:
    """Whether an invalid `op_type` node of opset `source` may become, or already be, a valid one of opset `target`."""
    before, after = schema_at(op_type, source), schema_at(op_type, target)
    return before is None or after is None or _outline(before) != _outline(after)


def _outline(schema: OpSchema) -> tuple[object, ...]:
    """Everything in a schema that decides which attributes and how many inputs and outputs are valid."""
    attributes = {name: (attribute.type, attribute.required) for name, attribute in schema.attributes.items()}
    parameters = [(parameter.option, parameter.min_arity) for parameter in (*schema.inputs, *schema.outputs)]
    return attributes, parameters, len(schema.inputs), schema.deprecated


@cache
def _reviewed() -> dict[tuple[str, int], tuple[str, str]]:
    """The reviewed codes in `reviewed.txt`, up and down, by operator and newer since_version."""
    codes: dict[tuple[str, int], tuple[str, str]] = {}
    for line in (Path(__file__).parent / "reviewed.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            op_type, *entries = line.split()
            for entry in entries:
                newer, _, pair = entry.partition(":")
                up, _, down = pair.partition("/")
                codes[op_type, int(newer)] = (up, down)
    return codes


def unreviewed(newest: int) -> list[str]:
    """The transitions up to opset `newest` that `reviewed.txt` lacks, as "Op 17→18"."""
    known = _reviewed()
    found: list[str] = []
    for op_type in sorted(all_operators()):
        first = next((version for version in range(1, newest + 1) if schema_at(op_type, version) is not None), newest)
        steps = path(op_type, first, newest) if schema_at(op_type, first) is not None else ()
        found += [f"{op_type} {step}" for step in steps if (op_type, step.newer) not in known]
    return found
