"""The messages between `model_client` and `model_server`: requests, and what comes back for them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ..inputs.readers import NO_READINGS, Readings
from ..judging.runtime_defects import Doubt

Kind = Literal["unsupported", "invalid", "runtime", "crashed", "timeout", "memory"]

NUMBERED = "onnxruntime with numbers"
"""onnxruntime, whose failures state the number of the node."""


IDLE_SECONDS = 60.0
"""Seconds after which a child that runs models ends if it is asked nothing."""
MANY_BYTES = 1 << 20
"""Bytes of inputs, or of outputs, after which no further sample is put into a message."""


class Failure(NamedTuple):
    """Why a model did not run.

    `kind` is "unsupported" where the runtime lacks something; "invalid" where it rejects the model; "runtime" where it rejects the
    inputs or the run failed; "crashed" where the process died; "timeout" or "memory" where a limit was reached. `certain` is False
    where the cause may only be that the runtime is incomplete. `node` is the number of the node that failed, counted through all
    graphs; -1 where it is unknown.
    """

    kind: Kind
    message: str
    certain: bool = True
    node: int = -1


class Outputs(NamedTuple):
    """The outputs of one run: arrays, lists (sequences), dicts (maps) or None (an empty optional).

    `runtime` is "name version". `saturated` are nodes, as "MatMulInteger 'y'", of which onnxruntime's kernel for this processor
    would give other values than those with which the outputs were computed; see `exact_products`.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    runtime: str
    saturated: tuple[str, ...] = ()


class Description(NamedTuple):
    """The interface of a model: serialized ValueInfoProtos of the required and the optional inputs, and the names of the outputs.

    `random` names a node that draws random numbers. `defects` maps runtimes to the reason why they cannot be trusted on this model.
    `disputed` names a node that onnxruntime computes differently from the specification. `lax` says what onnxruntime accepts in
    this model although the specification forbids it. `doubt` says why onnxruntime may give other numbers for another graph that
    computes the same. `readings` says what is done with the values of the inputs. `declared` has serialized ValueInfoProtos of the
    outputs. `equal` has what stands for symbolic dimensions, by `equal_lengths`.
    """

    required: tuple[bytes, ...]
    overridable: tuple[bytes, ...]
    outputs: tuple[str, ...]
    random: str
    defects: dict[str, str]
    disputed: str
    lax: str
    doubt: Doubt | None
    equal: dict[str, int | str]
    readings: Readings = NO_READINGS
    declared: tuple[bytes, ...] = ()


class DescribeRequest(NamedTuple):
    """Read the interface of the model at `path`."""

    path: str


class RunRequest(NamedTuple):
    """Run a model on each of `samples`. The answer may contain fewer results; the rest has to be requested again.

    `session` identifies one loading of `path`: the model stays loaded until another session is requested. `probes` are values of
    the main graph that are returned as well.
    """

    session: int
    path: str
    runtime: str
    samples: tuple[dict[str, Any], ...]
    probes: tuple[str, ...] = ()


class EffortRequest(NamedTuple):
    """Estimate what the model at `path` costs on inputs of these shapes, name → dimensions."""

    path: str
    shapes: dict[str, tuple[int, ...]]


class PrepareRequest(NamedTuple):
    """Import `runtime`."""

    runtime: str


class ForgetRequest(NamedTuple):
    """Drop the loaded model."""


class RejectedError(Exception):
    """An error whose kind of failure is known already."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def one_line(error: object) -> str:
    """The first meaningful line of an error message, cut to 240 characters."""
    text = str(error) or type(error).__name__
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return line if len(line) <= 240 else f"{line[:239]}…"
