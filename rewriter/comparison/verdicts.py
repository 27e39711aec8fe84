"""The verdicts of a comparison: on whole models, on one piece of a conversion, and that of a runtime that cannot decide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .judging.differences import OutputComparison

Evidence = Literal["", "proved for all shapes", "proved for the shapes tried", "same arithmetic", "sampled"]
"""What inputs on which both models agree show, from most to least; "" where nothing was run. Only a solver, and no inputs, shows
"proved for all shapes".

"proved for the shapes tried": both only carry elements to places that the shapes decide, and agree where all elements differ, so
that they agree on all inputs of these shapes. "same arithmetic": they agree to the last bit, also on extremes, NaN and infinities
where the inputs can have them. "sampled": they agree, within the tolerance, on what was run.
"""


@dataclass(frozen=True)
class Piece:
    """Equal changes of nodes, and the result of comparing one of them, old nodes against new ones.

    `example` names the first of the `count` nodes. `change` is "Split → Split, Identity", or the operator alone where the node
    stayed and only the definition of the operator differs at the target opset. `max_abs` is as in OutputComparison. `last_bits`
    says that the nodes are equal, or differ, only up to last bits, which another kernel of the runtime explains. `samples` and
    `evidence` are as in Comparison. `values` are the names of the values that they make, none where one is not in the main graph.
    """

    change: str
    example: str
    count: int
    status: Literal["equal", "different", "not compared"]
    reason: str = ""
    max_abs: float = 0.0
    last_bits: bool = False
    samples: int = 0
    evidence: Evidence = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """The result of comparing two models.

    `runtime` is "name version". `reason` is one line: why the models were not compared, or what differs. An "equal" has a reason
    only where the preferred runtime could not be used, or where more was done than running the whole models. `pieces` is for
    models that were compared node by node, `outputs` for others; only the former can be "partly compared". `last_bits`: models
    that should be equal to the last bit are not, but differ by no more than an inexact rule may change. An "equal" has it where a
    kernel of the runtime is the cause. `stayed`: the first tensor that differs is made by nodes that are the same in both models,
    from inputs that are equal within the tolerance. `rounded`: inexact rules were applied, and a node before that tensor rounds,
    which can turn a difference in the last bits into a whole step; where such a node changed, into one step only, on inputs that
    are not the user's. `refused`: the models are equal in another runtime, but the preferred one lacks something for the result,
    and runs the original; `reason` says so. `saturated`: nodes of the original that onnxruntime computes wrongly on this
    processor, on inputs that were run; the comparison did not. `saturated_after`: those of the result. `agreed` is as in
    `Inconclusive`. `samples`: the number of inputs on which outputs were compared; `evidence`: what it shows that they are equal.
    """

    status: Literal["equal", "different", "partly compared", "not compared"]
    runtime: str = ""
    reason: str = ""
    outputs: tuple[OutputComparison, ...] = ()
    seed: int = 0
    pieces: tuple[Piece, ...] = ()
    last_bits: bool = False
    stayed: bool = False
    rounded: bool = False
    refused: bool = False
    saturated: tuple[str, ...] = ()
    saturated_after: tuple[str, ...] = ()
    agreed: bool = False
    samples: int = 0
    evidence: Evidence = ""

    @property
    def rtol(self) -> float:
        """The largest relative tolerance of any output."""
        return max((output.rtol for output in self.outputs), default=0.0)

    @property
    def atol(self) -> float:
        """The largest absolute tolerance of any output."""
        return max((output.atol for output in self.outputs), default=0.0)


class Inconclusive(NamedTuple):
    """A runtime could not decide. If `final`, another runtime could not do better; `hint` says what the user can do.

    `refused`: it runs the original, and lacks something for the result. `agreed`: it gave the same for both models on all inputs,
    but what it gave proves nothing, for example because it is empty.
    """

    reason: str
    final: bool = False
    hint: str = ""
    refused: bool = False
    agreed: bool = False


def not_compared(undecided: Iterable[Inconclusive]) -> Comparison:
    """The verdict where no runtime could decide."""
    answers = list(undecided)
    hint = next((answer.hint for answer in answers if answer.hint), "")
    reasons = joined(*(answer.reason for answer in answers))
    agreed = any(answer.agreed for answer in answers)
    return Comparison("not compared", reason=reasons + (f". Hint: {hint}" if hint else ""), agreed=agreed)


def joined(*reasons: str) -> str:
    """The reasons that are not empty, as one."""
    return "; ".join(filter(None, reasons))
