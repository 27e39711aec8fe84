"""The tolerances of a comparison: how far an output of the result may differ from that of the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...errors import ArgumentError


class Bounds(NamedTuple):
    """An element agrees where |result - original| <= atol + rtol * |original| + of_largest * the largest |original|."""

    rtol: float = 0.0
    atol: float = 0.0
    of_largest: float = 0.0

    def with_terms_of(self, size: float) -> Bounds:
        """These bounds where sums may have terms as large as `size`, of which nothing may be left in any output."""
        return self._replace(atol=self.atol + self.of_largest * size)


def _units(eps: float, rtol: int, atol: int, of_largest: int) -> Bounds:
    """Bounds in units of `eps`, the distance from 1 to the next number of a type."""
    return Bounds(rtol * eps, atol * eps, of_largest * eps)


# In units of eps, the distance from 1 to the next number. The wider a type, the more of its last bits a re-expressed
# computation may lose without being wrong; the narrow ones have none to spare. What a sum of many terms loses goes with
# these, and not with what is left where they cancel out.
INEXACT_BOUNDS: Mapping[str, Bounds] = {
    "float64": _units(2.0**-52, 4096, 512, 16),
    "float32": _units(2.0**-23, 1024, 128, 16),
    "float16": _units(2.0**-10, 16, 4, 4),
    "bfloat16": _units(2.0**-7, 8, 2, 2),
    "complex128": _units(2.0**-52, 4096, 512, 16),
    "complex64": _units(2.0**-23, 1024, 128, 16),
}
"""The bounds by dtype where a rule was applied that is not exact to the last bit. Other dtypes are compared exactly even then."""
STEP = Bounds(atol=1.0)
"""The bounds for integers of 8 bits where the original rounds to the steps of a quantization in a way of its own."""
OF_STEPS = 1 / 32
"""The share of the largest number by which floats may differ that follow from such integers."""


@dataclass(frozen=True)
class Tolerance:
    """The tolerance for each output.

    `rtol` and `atol` hold for all outputs. None is the default: 0, or with `inexact` (a rule that may change the last bits was
    applied) the INEXACT_BOUNDS of the output's dtype, whose `of_largest` counts only with `sums` (such a rule makes sums of many
    terms). With `like_bfloat16` (only the original rounds to bfloat16), the bounds of bfloat16 hold for other floats too.
    With `steps` (the original rounds to the steps of a quantization in a way of its own), integers of 8 bits may be one apart, and
    floats may differ by OF_STEPS of the largest one. With `of_numbers`, NaN and infinities do not count in outputs that depend on
    an IsNaN; with `zeros`, in no output. `rtol_of` and `atol_of`, output name → bound, take precedence.
    """

    rtol: float | None = None
    atol: float | None = None
    rtol_of: Mapping[str, float] = field(default_factory=dict)
    atol_of: Mapping[str, float] = field(default_factory=dict)
    inexact: bool = False
    sums: bool = False
    like_bfloat16: bool = False
    steps: bool = False
    of_numbers: bool = False
    zeros: bool = False

    def of(self, output: str, dtype: str) -> Bounds:
        """The bounds for an output of `dtype`: "float32", "seq(float32)" for a sequence, or "seq(map(float32))" for one of maps."""
        default = Bounds()
        if self.inexact:
            kind = dtype.rpartition("(")[2].rstrip(")")
            kind = "bfloat16" if self.like_bfloat16 and kind in ("float32", "float16", "float64") else kind
            default = INEXACT_BOUNDS.get(kind, STEP if self.steps and kind in ("int8", "uint8") else default)
        rtol = default.rtol if self.rtol is None else self.rtol
        atol = default.atol if self.atol is None else self.atol
        is_stated = self.atol is not None or output in self.atol_of
        of_largest = default.of_largest if self.sums and not is_stated else 0.0
        if self.steps and not is_stated:
            of_largest = max(of_largest, OF_STEPS)
        return Bounds(self.rtol_of.get(output, rtol), self.atol_of.get(output, atol), of_largest)

    @property
    def is_stated(self) -> bool:
        """Whether the user gave any tolerance."""
        return self.names_outputs or self.rtol is not None or self.atol is not None

    @property
    def names_outputs(self) -> bool:
        """Whether the user gave a tolerance for a single output."""
        return bool(self.rtol_of or self.atol_of)

    def check_names(self, outputs: tuple[str, ...]) -> None:
        """Raises ArgumentError where the user gave a tolerance for an output that does not exist."""
        for option, given in (("--rtol", self.rtol_of), ("--atol", self.atol_of)):
            for name in given:
                if name not in outputs:
                    raise ArgumentError(f"{option} {name}: no such output; the outputs are {', '.join(outputs)}")


EXACT = Tolerance()
"""The tolerance under which everything has to be equal."""


def of_other_kernels(tolerance: Tolerance) -> Tolerance:
    """`tolerance` for what another kernel of the same operator computes, which may add in another order."""
    return replace(tolerance, inexact=True, sums=True)
