"""Compares a conversion node by node: for each distinct rewrite, the old and the new nodes are run as two small models.

This is for models that are too large to run. The cost depends on the number of distinct rewrites, not on the weights, which are not
read. `regions` divides the nodes into regions; each distinct region is written as two model files, which `compare` runs on random
inputs. The verdict is "equal" only if every region is equal.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from onnx import ModelProto, NodeProto

from .. import calls, progress
from ..errors import InvalidModelError
from ..execution.budget import Budget
from ..execution.engines import installed
from ..execution.model_client import lent_worker
from ..onnx_model.all_nodes import with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import only_moves
from ..opsets import facts
from ..opsets.facts import Kind
from ..storage.skeleton import Skeleton
from ..structure.inlining import Key
from .by_model import compare
from .inputs.samples import Samples
from .judging.tolerance import Tolerance, of_other_kernels
from .original import Original
from .regions.changed_nodes import GraphPair
from .regions.division import Input, Region, RegionFinder, free_reads
from .regions.keys import RegionKeys
from .regions.models import Plan, RegionModels, UnfitError
from .regions.observation import Observations, Runner, Seen, is_given
from .regions.retyped import with_own_names
from .settings import Settings
from .verdicts import Comparison, Piece

MAX_PIECES = 1000
"""The largest number of distinct regions that are run."""
_WIDENINGS = 3
"""How often a region that seems different is tried again, each time together with the nodes that compute its inputs."""
_OF_QUANTIZE = 3
"""The operands of a QuantizeLinear: a value, a scale and a zero point."""


def compare_nodes(
    original: Original,
    result: Skeleton,
    aliases: Mapping[str, str],
    settings: Settings | None = None,
    units: frozenset[Key] = frozenset(),
) -> Comparison:
    """Compare `result` with the unconverted `original`, node by node; calls of the functions `units` are compared as a whole.

    `aliases` maps values to others that the conversion found to be equal. Nodes that were rewritten are compared within the
    tolerance of `settings`. Nodes that did not change may still differ in the last bits at the new opset, because the runtime uses
    another kernel for them; the piece then says so. Each distinct region gets its part of the budget; when the time of that is up,
    no further regions are run.
    """
    settings = settings or Settings()
    seed, budget = settings.seed, settings.budget
    if _interface(original.proto) != _interface(result.proto):
        return Comparison("different", reason="the result has other inputs or outputs than the original", seed=seed)
    result = with_own_names(original, result, settings.widened)
    finder = RegionFinder(original, result.proto, aliases, units)
    regions = list(finder.rewritten())
    with tempfile.TemporaryDirectory() as folder, lent_worker() as worker:
        runner = Runner(Path(folder), installed(settings.runtime), worker, budget, original.semantics)
        observations = Observations(original, finder.pairs, _read(regions, finder), runner)
        judge = _Judge(finder, RegionModels(original, result, observations), settings, runner, observations)
        groups = _group(finder, regions, judge)
        pieces, runtimes, refusal = _judge_all(groups, judge, budget)
    found = replace(_sum_up(pieces), runtime=" and ".join(sorted(runtimes)), seed=seed)
    return replace(found, reason=refusal, refused=True) if refusal and found.status == "equal" else found


def _interface(model: ModelProto) -> tuple[list[str], list[str]]:
    """The names of the inputs and outputs of a model."""
    return [value.name for value in model.graph.input], [value.name for value in model.graph.output]


def _judge_all(groups: list[_Group], judge: _Judge, budget: Budget) -> tuple[list[Piece], set[str], str]:
    """The verdicts on all groups, the runtimes that gave them, and a text about the first group that is equal although the
    preferred runtime does not run its new nodes, "" if there is none.
    """
    pieces: list[Piece] = []
    runtimes: set[str] = set()
    refusal = ""
    advance = progress.begin("comparing", len(groups))
    for number, group in enumerate(groups):
        calls.check()
        advance(1)
        if number >= MAX_PIECES:
            pieces.append(group.piece("not compared", f"only the first {MAX_PIECES:,} distinct changes are"))
        elif budget.is_over:
            pieces.append(group.piece("not compared", f"those before it took {budget.clock:.3g} s of processor time"))
        else:
            found = judge.verdict(group.region, budget.part(min(len(groups), MAX_PIECES) - number))
            runtimes |= {found.runtime} - {""}
            pieces.append(group.of(found))
            if found.refused and not refusal:
                refusal = f"{pieces[-1].example}, {pieces[-1].change}: {found.reason}"
    return pieces, runtimes, refusal


class _Group:
    """Regions that are alike: the first one, and how many there are."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.count = 0
        self._values: list[str] = []
        self._is_main = True

    def add(self, pair: GraphPair, values: Iterable[str]) -> None:
        """Count one more region, which makes these values of this graph."""
        self.count += 1
        self._values += values
        self._is_main &= pair.is_main

    def of(self, found: Comparison) -> Piece:
        assert found.status != "partly compared"
        difference = max((output.max_abs for output in found.outputs), default=0.0)
        piece = self.piece(found.status, found.reason)
        return replace(piece, max_abs=difference, last_bits=found.last_bits, samples=found.samples, evidence=found.evidence)

    def piece(self, status: str, reason: str = "") -> Piece:
        region = self.region
        first = next((node for node in region.old if set(node.output) & set(region.outputs)), None)
        name = region.outputs[0] if first is None else first.name or region.outputs[0]
        change = _operators(region.old)
        if region.rewritten:
            change = f"{change or 'tensor'} → {_operators(region.new) or 'nothing'}"
        example = f"{first.op_type if first else 'tensor'} '{name}' ({region.pair.where})"
        values = tuple(self._values) if self._is_main else ()
        return Piece(change, example, self.count, status, reason, values=values)  # type: ignore[arg-type]


def _operators(nodes: list[NodeProto]) -> str:
    """The operators of `nodes`, as "Split ×2, Concat"."""
    counts = Counter(node.op_type for node in nodes if node.op_type != "Constant" or len(nodes) == 1)
    shown = [name if count == 1 else f"{name} ×{count}" for name, count in counts.items()]
    return ", ".join(shown[:6]) + (", …" if len(shown) > 6 else "")


def _sum_up(pieces: list[Piece]) -> Comparison:
    """The verdict on the whole conversion."""
    count = Counter(piece.status for piece in pieces)
    different = [piece for piece in pieces if piece.status == "different"]
    if different:
        reason = f"{different[0].example}, {different[0].change}: {different[0].reason}"
        return Comparison("different", reason=reason, pieces=tuple(pieces), last_bits=all(piece.last_bits for piece in different))
    skipped = [piece for piece in pieces if piece.status == "not compared"]
    if not skipped:
        return Comparison("equal", pieces=tuple(pieces))
    status = "partly compared" if count["equal"] else "not compared"
    listed = "; ".join(f"{piece.count} × {piece.change} ({piece.reason})" for piece in skipped[:3])
    more = f"; and {len(skipped) - 3} more" if len(skipped) > 3 else ""
    reason = f"{len(skipped)} of {len(pieces)} distinct changes could not be compared: {listed}{more}"
    return Comparison(status, reason=reason, pieces=tuple(pieces))


# --- which regions are alike ------------------------------------------------------------------------------------------


def _read(regions: list[Region], finder: RegionFinder) -> Iterator[Input]:
    """The values of the original that regions read, also those around them, which widened regions read."""
    for region in regions:
        yield from (value for value in region.inputs.values() if value.name)
        wider = region
        for _ in range(_WIDENINGS if not region.problem else 0):
            widened = finder.widened(wider)
            if widened is None:
                break
            wider = widened
            yield from (value for value in wider.inputs.values() if value.name)
    for changed in finder.kept:
        yield from (Input(changed.pair, name) for name in free_reads(changed.node))


def _group(finder: RegionFinder, regions: list[Region], judge: _Judge) -> list[_Group]:
    """The regions of a conversion, with regions that are alike in one group."""
    keys = RegionKeys(judge.observations)
    groups: dict[Hashable, _Group] = {}
    for region in regions:
        key = keys.of_region(region), judge.surprise(region)
        groups.setdefault(key, _Group(region)).add(region.pair, region.outputs)
    for changed in finder.kept:
        key = keys.of_node(changed)
        if key not in groups:
            groups[key] = _Group(finder.cut([changed]))
        groups[key].add(changed.pair, filter(None, changed.node.output))
    return list(groups.values())


# --- old against new --------------------------------------------------------------------------------------------------


class _Judge:
    """Compares the old and the new nodes of regions."""

    def __init__(
        self, finder: RegionFinder, models: RegionModels, settings: Settings, runner: Runner, observations: Observations
    ) -> None:
        self._finder = finder
        self._models = models
        self._settings = settings
        self._runner = runner
        self.observations = observations
        self._part = settings.budget
        """The budget of the region that is being judged."""

    def surprise(self, region: Region) -> Hashable:
        """The shapes of the region's inputs in runs of the original, if they are not what is known of them; else None."""
        runs = [] if region.problem else self._seen(region)
        if not runs or not any(self._models.contradicts(region, seen) for seen in runs):
            return None
        names = [value.name for value in region.inputs.values()]
        return tuple(tuple(seen.shapes.get(name) for name in names) for seen in runs)

    def _seen(self, region: Region) -> list[Seen] | None:
        """What was seen of the inputs that the original computes, in each run; None where one was not observed."""
        wanted = [
            value
            for value in region.inputs.values()
            if value.name and not is_given(value) and not value.pair.is_sequence(value.name)
        ]
        found = [self.observations.of(value) for value in wanted]
        if not all(found):
            return None
        shapes = [
            {value.name: seen.shapes[value.name] for value, seen in zip(wanted, run, strict=True)}
            for run in zip(*found, strict=False)
        ]
        names = [value.name for value in wanted]
        values = [
            {name: seen.values[name] for name, seen in zip(names, run, strict=True) if name in seen.values}
            for run in zip(*found, strict=False)
        ]
        return list(map(Seen, shapes, values))

    def verdict(self, region: Region, budget: Budget) -> Comparison:
        """The verdict on the region for arbitrary inputs, within `budget`.

        If that is not "equal", for inputs that the nodes before the region compute.
        """
        self._part = budget
        found = self._verdict_widened(region)
        return self._unless_settled(region, found) if found.status == "different" and not region.problem else found

    def _verdict_widened(self, region: Region) -> Comparison:
        first = found = self._verdict_alone(region)
        widest = region
        for _ in range(_WIDENINGS):
            wider = None if found.status == "equal" else self._finder.widened(widest)
            if wider is None:
                break
            widest, found = wider, self._verdict_alone(wider)
        if found.status == "equal":
            return found
        if "different" in (first.status, found.status) and (name := widest.cut_sequence):
            return Comparison("not compared", reason=f"what makes the sequence '{name}' has a subgraph or another domain")
        if found.agreed and widest.starts_from_inputs:
            return found  # what arbitrary inputs show does not occur
        if first.status == "different" and not region.foreign:
            return first
        if found.status == "different" and (not widest.foreign or widest.starts_from_inputs):
            return found
        if "different" not in (first.status, found.status):
            return first
        reads = ", ".join(f"'{name}'" for name in widest.foreign[:3])
        return Comparison("not compared", reason=f"what replaces it reads {reads}, which it did not depend on")

    def _unless_settled(self, region: Region, found: Comparison) -> Comparison:
        """`found`, a difference, unless the models are equal where inputs are what they were in all runs: a rule may know why.

        Where sizes that the original computes could not be observed, a difference for others proves nothing.
        """
        if any(map(self.observations.are_unknown_sizes, region.inputs.values())):
            return Comparison("not compared", reason="the original does not run, which would show the sizes that it computes")
        if any(self._models.contradicts(region, run) for run in self._seen(region) or ()):
            return found  # on the shapes and values of runs
        if self._tried(region, Plan(settled=True)).status != "equal":
            return found
        return Comparison("not compared", reason="they differ only where an input is not what it is in all runs of the original")

    def _verdict_alone(self, region: Region) -> Comparison:
        """The verdict on the region, for inputs of shapes that were observed or that are the interface's."""
        self._part.begin_subject()
        seen = [] if region.problem else self._seen(region)
        if seen and any(self._models.contradicts(region, run) for run in seen):
            return self._on_all(region, [Plan(seen=run) for run in seen])
        found = self._verdict_by_types(region)
        if seen and found.status == "not compared":
            return self._on_all(region, [Plan(seen=run) for run in seen])
        if seen is None and found.status == "equal":
            return self._with_weak_shapes(region)
        return found

    def _on_all(self, region: Region, plans: list[Plan]) -> Comparison:
        """The first verdict that is not "equal", else the first one."""
        found = [self._tried(region, plan) for plan in plans]
        return next((one for one in found if one.status != "equal"), found[0])

    def _with_weak_shapes(self, region: Region) -> Comparison:
        """The verdict on a region whose inputs could not be observed: "equal" only if it is so for all ranks with which it runs."""
        found = [self._tried(region, plan) for plan in self._models.weak_plans()]
        equal = [one for one in found if one.status == "equal"]
        if equal and not any(one.status == "different" for one in found):
            return equal[0]
        return Comparison("not compared", reason="the original does not run, which would show the shapes of its inputs")

    def _tried(self, region: Region, plan: Plan) -> Comparison:
        try:
            return self._run(region, plan)
        except (UnfitError, InvalidModelError) as problem:
            return Comparison("not compared", reason=str(problem))

    def _verdict_by_types(self, region: Region) -> Comparison:
        found = Comparison("different" if region.is_wrong else "not compared", reason=region.problem)
        for plan in [] if region.problem else self._models.plans(region):
            if plan.declared_from is not None and found.status == "different":
                break
            found = self._tried(region, plan)
            if found.status == "equal":
                break
        return self._unless_by_rank(region, found) if found.status == "different" else found

    def _unless_by_rank(self, region: Region, found: Comparison) -> Comparison:
        """`found`, or "equal" if the models are equal for another rank of the inputs whose rank is unknown:
        the rule may have known the rank.
        """
        for plan in self._models.by_rank(region):
            if self._run(region, plan).status == "equal":
                return Comparison(
                    "not compared", reason=f"the rank of an input is unknown, and they are equal only for some ({plan.rank})"
                )
        return found

    def _run(self, region: Region, plan: Plan) -> Comparison:
        paths = self._runner.folder / "old.onnx", self._runner.folder / "new.onnx"
        for path, model in zip(paths, self._models.of(region, plan), strict=True):
            path.write_bytes(model.SerializeToString())
        found = self._compare(*paths, replace(self._settings.tolerance, inexact=False, steps=False))
        stayed = not region.rewritten or only_moves(region.old, region.new, region.renamed)
        if found.status == "different" and self._settings.tolerance.inexact and not stayed:
            may_step = self._settings.tolerance.steps and any(map(_may_step, with_inner((*region.old, *region.new))))
            found = self._compare(*paths, replace(self._settings.tolerance, steps=may_step))
        elif found.last_bits and stayed:
            found = self._compare(*paths, of_other_kernels(self._settings.tolerance))
            found = replace(
                found,
                last_bits=True,
                evidence="sampled",
                reason="but for last bits: the runtime has another kernel for the other opset",
            )
        if plan.reduced and found.status == "equal":
            found = replace(found, evidence="sampled")
        elif plan.reduced:
            reason = f"its inputs are too big to run, and of reduced sizes they give no answer ({found.reason})"
            return Comparison("not compared", reason=reason)
        return found

    def _compare(self, old: Path, new: Path, tolerance: Tolerance) -> Comparison:
        settings = self._settings
        return compare(
            old,
            new,
            runtime=settings.runtime,
            samples=Samples(seed=settings.seed),
            tolerance=tolerance,
            worker=self._runner.worker,
            thorough=True,
            semantics=self._runner.semantics,
            budget=self._part,
            edges=False,  # the whole model may never have these sizes here
            optimizer=False,
        )


def _may_step(node: NodeProto) -> bool:
    """Whether a node computes and quantizes at once, and so may round to another step than nodes do that compute before they
    quantize. QuantizeLinear and its like have fewer operands.
    """
    return node.domain not in DEFAULT_DOMAINS or (facts.of(node.op_type).kind is Kind.QUANTIZES and len(node.input) > _OF_QUANTIZE)
