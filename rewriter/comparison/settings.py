"""How a conversion is to be compared, as the user and the conversion ask for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from ..execution.budget import Budget
from ..execution.engines import Runtime
from .inputs.samples import Samples
from .judging.tolerance import EXACT, Tolerance


@dataclass(frozen=True)
class Settings:
    """How one conversion is to be compared. The budget is that of all runs, of whole models and of their parts."""

    how: Literal["auto", "model", "nodes", "required"] = "auto"
    runtime: Runtime = "auto"
    samples: Samples | None = None
    tolerance: Tolerance = EXACT
    widened: Collection[int] = ()
    """The element types that the conversion replaced by wider ones, as numbers of TensorProto.DataType."""
    edges: bool = True
    """Whether dimensions of 1 and empty vectors are tried."""
    budget: Budget = field(default_factory=Budget)

    @property
    def seed(self) -> int:
        """The seed of random inputs."""
        return 0 if self.samples is None else self.samples.seed
