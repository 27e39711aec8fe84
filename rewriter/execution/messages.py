"""The messages between `model_client` and `model_server`: requests, and what comes back for them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeVar

_Answer_co = TypeVar("_Answer_co", covariant=True)
Kind = Literal["unsupported", "invalid", "runtime", "crashed", "timeout", "memory"]

OPTIMIZED = "onnxruntime optimized"
"""onnxruntime as it is by default, with its optimizer."""
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


class RunRequest(NamedTuple):
    """Run a model on each of `samples`. The answer may contain fewer results; the rest has to be requested again.

    `session` identifies one loading of `path`: the model stays loaded until another session is requested. `probes` are values of
    the main graph that are returned as well, `custom` the files with operators of other domains.
    """

    session: int
    path: str
    runtime: str
    samples: tuple[dict[str, Any], ...]
    probes: tuple[str, ...] = ()
    custom: tuple[str, ...] = ()


class PrepareRequest(NamedTuple):
    """Import `runtime`."""

    runtime: str


class ForgetRequest(NamedTuple):
    """Drop the loaded model."""


class Question(Protocol[_Answer_co]):
    """Anything else that a child is asked. It is sent as a value, and its class tells the child which module to import."""

    def answer(self) -> _Answer_co:
        """The answer, computed in the child."""
        ...


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
