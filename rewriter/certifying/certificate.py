"""What was proved of a conversion, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Proof:
    """What is known of one output of the model, or of a value that the result computes in another way.

    `reason`: why it is not proved, "" where it is. `lengths`: those of the inputs, by symbol or by input and axis, for which
    original and result may differ, where the solver found some.
    """

    name: str
    is_proved: bool
    reason: str = ""
    lengths: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.is_proved:
            return f"'{self.name}' is proved for all shapes"
        lengths = ", ".join(f"{name}={length}" for name, length in self.lengths.items())
        return f"'{self.name}' is not proved: {self.reason}{f', for example with {lengths}' if lengths else ''}"


@dataclass(frozen=True)
class Certificate:
    """What was proved of the main graph, for all lengths of open dimensions with which the original is valid.

    `outputs`: those of the model. `changes`: the values that the result computes in another way, each from inputs that are taken to
    be equal. `solver`: its name and version. `reason`: why nothing could be proved, "" where something was tried.
    """

    outputs: tuple[Proof, ...]
    changes: tuple[Proof, ...]
    solver: str
    reason: str = ""

    def __str__(self) -> str:
        """One line, such as "2 of 3 outputs proved for all shapes"."""
        if self.reason:
            return f"nothing: {self.reason}"
        proved, count = sum(output.is_proved for output in self.outputs), len(self.outputs)
        how = "proved for all shapes: no value is computed in another way"
        if self.changes:
            shown = sum(change.is_proved for change in self.changes)
            how = f"proved for all shapes, {shown} of {len(self.changes)} changed values ({self.solver})"
        return f"{proved} of {count} outputs {how}"

    @property
    def is_proved(self) -> bool:
        """Whether all outputs are proved, and that the result runs wherever the original does."""
        return not self.reason and all(proof.is_proved for proof in (*self.outputs, *self.changes))
