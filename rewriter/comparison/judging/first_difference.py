"""Finds where two models begin to differ: the first tensor of the main graph that both have and that differs.

Values keep their names when a node is rewritten, so a name that occurs in both main graphs stands for the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from onnx import NodeProto

from ...execution.messages import Failure
from ...execution.model_client import Worker
from ...onnx_model.protos import only_moves, reads
from ...opsets import facts
from ...storage.reading import read
from .differences import compare_values

_PROBES = 32
"""The number of values that one run returns as extra outputs. Their memory is in use until the run ends."""
_STEPS = 64
"""How often the search goes from a tensor back to one that feeds it and differs too. Each step costs a run of both models."""


class Side(NamedTuple):
    """One of the two runs: a model file, and a function that returns values of its main graph by name, as
    far as they are available.
    """

    model: Path
    values_of: Callable[[tuple[str, ...]], Mapping[str, Any]]


class Models(NamedTuple):
    """Both runs on the same inputs, and three functions of (name, before, after).

    `differs` says whether a value differs, `is_slight` whether it does so only in its last bits, and `is_a_step` whether by one
    step of rounding at most.
    """

    before: Side
    after: Side
    differs: Callable[[str, Any, Any], bool]
    is_slight: Callable[[str, Any, Any], bool] = lambda _name, _before, _after: False
    is_a_step: Callable[[str, Any, Any], bool] = lambda _name, _before, _after: False


class Difference(NamedTuple):
    """The tensor that differs first and the nodes that make it, as a `text` that begins with "; ", or "" where it was not found.

    `node` is the node that makes the tensor, "Softmax 'probs'". `stayed`: it is made by nodes that are the same in both models,
    from inputs that are equal within the tolerance. `rounded`: one of the nodes that make it in the original rounds, and the
    nodes are the same in both, or their inputs differ in the last bits, and either both models have the same operators there, or
    the tensor differs by one step. `slight`: the tensor differs only in its last bits.
    """

    text: str = ""
    node: str = ""
    stayed: bool = False
    rounded: bool = False
    slight: bool = False


def run_by_worker(model: Path, engine: str, worker: Worker, inputs: dict[str, Any]) -> Side:
    """A run of `model` in one of the worker's runtimes, which returns either all values or none."""

    def values_of(names: tuple[str, ...]) -> Mapping[str, Any]:
        with worker.open(model, engine, names) as session:
            answer = session.run(inputs)
        return {} if isinstance(answer, Failure) else dict(zip(answer.names, answer.values, strict=True))

    return Side(model, values_of)


class _Graph:
    """A main graph with an index of the nodes that make its values."""

    def __init__(self, path: Path) -> None:
        graph = read(path).proto.graph
        self.producers = {name: node for node in graph.node for name in node.output if name}
        self.order = list(self.producers)

    def feeding(self, name: str, shared: Mapping[str, int]) -> tuple[set[str], list[NodeProto]]:
        """The shared values that `name` is computed from, and the nodes between them and `name`."""
        found: set[str] = set()
        nodes: dict[int, NodeProto] = {}
        pending = [name]
        while pending:
            node = self.producers.get(pending.pop())
            if node is None or id(node) in nodes:
                continue
            nodes[id(node)] = node
            for value in reads(node):
                (found.add if value in shared else pending.append)(value)
        return found, list(nodes.values())


def first_difference(models: Models, outputs: Iterable[str]) -> Difference:
    """One of the earliest tensors that differ between the runs, and the nodes that make it.

    `outputs` are graph outputs that differ.
    """
    original, result = _Graph(models.before.model), _Graph(models.after.model)
    names = [name for name in original.order if name in result.producers]
    shared = {name: position for position, name in enumerate(names)}
    differing = [shared[name] for name in outputs if name in shared]
    if not differing:
        return Difference()
    first = _narrow(models, names, min(differing))
    for _ in range(_STEPS):
        name = names[first]
        feeding = original.feeding(name, shared)[0] | result.feeding(name, shared)[0]
        earlier = sorted(shared[value] for value in feeding if shared[value] < first)
        wrong = _differing(models, [names[position] for position in earlier])
        if not wrong:
            break
        first = min(shared[value] for value in wrong)
    name = names[first]
    made = _made(name, original, result, shared)
    rounded = _is_rounded(models, name, made, (original.feeding(name, shared), result.feeding(name, shared)))
    return made._replace(slight=_all(models.is_slight, models, (name,)), rounded=rounded)


def _narrow(models: Models, names: list[str], last: int) -> int:
    """The position in `names` of a tensor that differs while the one before it is equal. The tensor at `last` differs."""
    equal = -1
    while last - equal > 1:
        span = last - equal
        probes = sorted({equal + span * step // (_PROBES + 1) for step in range(1, _PROBES + 1)} - {equal})
        wrong = set(_differing(models, [names[position] for position in probes]))
        first = next((index for index, position in enumerate(probes) if names[position] in wrong), None)
        if first is None:
            equal = probes[-1]
            continue
        last = probes[first]
        equal = probes[first - 1] if first else equal
    return last


def _differing(models: Models, names: list[str]) -> list[str]:
    """The values among `names` that differ. Values that a runtime cannot return are left out."""
    return [name for start in range(0, len(names), _PROBES) for name in _probe(models, tuple(names[start : start + _PROBES]))]


def _is_rounded(models: Models, name: str, made: Difference, fed: Sequence[tuple[set[str], list[NodeProto]]]) -> bool:
    (feeding, before), (_, after) = fed
    if not any(facts.of(node.op_type).jumps for node in before):
        return False
    # whether these operators mean the same, the comparison of these nodes alone says
    is_spelled_alike = [node.op_type for node in before] == [node.op_type for node in after]
    may_jump = is_spelled_alike or _all(models.is_a_step, models, (name,))
    return made.stayed or (may_jump and _differ_in_last_bits(models, tuple(feeding)))


def _differ_in_last_bits(models: Models, names: tuple[str, ...]) -> bool:
    """Whether one of the values, none of which differs beyond the tolerance, is not the same in both runs."""
    expected, got = models.before.values_of(names), models.after.values_of(names)
    both = [name for name in names if name in expected and name in got]
    return any(not compare_values(name, expected[name], got[name]).equal for name in both)


def _all(check: Callable[[str, Any, Any], bool], models: Models, names: tuple[str, ...]) -> bool:
    """Whether both runs return all of `names`, and `check` is true of each."""
    expected, got = models.before.values_of(names), models.after.values_of(names)
    return all(name in expected and name in got and check(name, expected[name], got[name]) for name in names)


def _probe(models: Models, names: tuple[str, ...]) -> Iterator[str]:
    expected, got = models.before.values_of(names), models.after.values_of(names)
    for name in names:
        if name in expected and name in got and models.differs(name, expected[name], got[name]):
            yield name


def _made(name: str, original: _Graph, result: _Graph, shared: Mapping[str, int]) -> Difference:
    """Describe the nodes that make `name`: "'h', made by Softmax 'probs'; Softmax became Exp, ReduceSum, Div"."""
    before, after = original.feeding(name, shared)[1], result.feeding(name, shared)[1]
    maker = original.producers[name]
    computed = dict.fromkeys([*original.producers, *result.producers], "")
    stayed = only_moves(before, after, computed)
    node = f"{maker.op_type} '{maker.name or name}'"
    text = f"; the first tensor that differs is '{name}', made by {node}"
    text += " from equal inputs in both" if stayed else ""
    old, new = (", ".join(node.op_type for node in reversed(nodes)) for nodes in (before, after))
    return Difference(text + ("" if old == new and stayed else f"; {old} became {new}"), node, stayed)
