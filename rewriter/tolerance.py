"""How far an output of the result may be from the original's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .errors import SplitRewriteError


class Bounds(NamedTuple):
    """|result - original| <= atol + rtol * |original|, element by element."""

    rtol: float = 0.0
    atol: float = 0.0


def _units(eps: float, rtol: int, atol: int) -> Bounds:
    return Bounds(rtol * eps, atol * eps)


# In units of eps, the distance from 1 to the next number. The wider a type, the more of its last bits a re-expressed
# computation may lose without being wrong; the narrow ones have none to spare.
INEXACT_BOUNDS: Mapping[str, Bounds] = {
    "float64": _units(2.0**-52, 4096, 512),
    "float32": _units(2.0**-23, 1024, 128),
    "float16": _units(2.0**-10, 16, 4),
    "bfloat16": _units(2.0**-7, 8, 2),
    "complex128": _units(2.0**-52, 4096, 512),
    "complex64": _units(2.0**-23, 1024, 128),
}
"""Where a rule that is not exact to the last bit was applied; outputs of all other types compare exactly even then."""


@dataclass(frozen=True)
class Tolerance:
    """What is allowed, by output.

    `rtol` and `atol` are for all outputs, None for the default: 0, or with `inexact` (a rule that may change the last
    bits was applied) INEXACT_BOUNDS of the output's dtype. `rtol_of` and `atol_of`, output name → bound, go before them.
    """

    rtol: float | None = None
    atol: float | None = None
    rtol_of: Mapping[str, float] = field(default_factory=dict)
    atol_of: Mapping[str, float] = field(default_factory=dict)
    inexact: bool = False

    def of(self, output: str, dtype: str) -> Bounds:
        """The bounds of an output of `dtype`: "float32", or "seq(float32)" for a sequence."""
        default = Bounds()
        if self.inexact:
            default = INEXACT_BOUNDS.get(dtype.removeprefix("seq(").rstrip(")"), default)
        rtol = default.rtol if self.rtol is None else self.rtol
        atol = default.atol if self.atol is None else self.atol
        return Bounds(self.rtol_of.get(output, rtol), self.atol_of.get(output, atol))

    @property
    def names_outputs(self) -> bool:
        return bool(self.rtol_of or self.atol_of)

    def check_names(self, outputs: tuple[str, ...]) -> None:
        """Raises: SplitRewriteError where a bound is for an output that there is not."""
        for option, given in (("--rtol", self.rtol_of), ("--atol", self.atol_of)):
            for name in given:
                if name not in outputs:
                    raise SplitRewriteError(f"{option} {name}: no such output; the outputs are {', '.join(outputs)}")


EXACT = Tolerance()
