"""Attributes as parameters of functions: ONNX's node tests in functions, each attribute in turn a parameter, to every opset.

    python tests/fuzz/parameters.py                       # complete, about an hour on two cores
    python tests/fuzz/parameters.py --ops 'Reduce.*' --targets 9 13
    python tests/fuzz/parameters.py --sample 400          # a fixed choice, one of each operator before a second of any
    python tests/fuzz/parameters.py --compare             # with the comparison of the default settings, which must not refuse either

Each model has the node of a test in its main graph and, on the same inputs, calls of functions that contain the same node with
one attribute as a parameter: the call gives the value; the function's default has it; the call overrides another default; the
value is passed through an outer function. Where the node does without optional attributes, a last function has all of them as
parameters that nobody sets; and where it does without optional inputs, one has all of them as inputs that its call leaves out. In a converted model, the functions must compute what the node computes. Where the conversion refuses
the model, it has to refuse the node alone, too, unless onnx.checker refuses the model; `blamed` names the first function that it
refuses alone. What the node computes is judged by `opset_matrix.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import multiprocessing
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx
from engines import ENGINES, CannotRunError, Value, all_nodes, run
from judge import RANDOM_OPERATORS, difference
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, helper
from opset_matrix import Case, Refused, collect_cases, with_constants

DOMAIN = "parameters"
UNSET = ""
"""Stands for the function whose parameters nobody sets."""
LEFT_OUT = "inputs_left_out"
"""Stands for the function with inputs that its call leaves out."""
FORMS = ("given", "default", "overridden", "nested")
OUTCOMES = ("ok", "refused", "wrong", "invalid", "blamed", "crash", "unrun")
MUST_NOT_HAPPEN = ("wrong", "invalid", "blamed", "crash")


@dataclass(frozen=True)
class Trial:
    """One attribute of one node of a case, converted to one target. `place` is the position of the node in the main graph."""

    case: str
    operator: str
    place: int
    attribute: str
    target: int
    outcome: str = ""
    reason: str = ""


# Models.


def attributes_of(case: Case) -> Iterator[tuple[int, str]]:
    """The position of each node of the main graph with each of its attributes, and with UNSET and LEFT_OUT if the schema knows more
    attributes or inputs.

    Of equal nodes of an expanded test, the first one stands for all.
    """
    seen: set[tuple[str, str]] = set()
    for place, node in enumerate(case.model.graph.node):
        names = [attribute.name for attribute in node.attribute]
        names += [UNSET] if _unset(node, case.opset) else []
        names += [LEFT_OUT] if _left_out(node, case.opset) else []
        for name in names:
            if (node.op_type, name) not in seen:
                seen.add((node.op_type, name))
                yield place, name


def _unset(node: NodeProto, opset: int) -> list[tuple[str, int]]:
    """Names and types of the optional attributes that `node` does without. A Constant has exactly one."""
    if node.domain not in ("", "ai.onnx") or node.op_type == "Constant":
        return []
    present = {attribute.name for attribute in node.attribute}
    schema = onnx.defs.get_schema(node.op_type, opset, "")
    return [
        (name, int(known.type.value))  # type: ignore[attr-defined]
        for name, known in sorted(schema.attributes.items())
        if name not in present and not known.required
    ]


def _left_out(node: NodeProto, opset: int) -> list[int]:
    """The optional inputs that `node` does without."""
    if node.domain not in ("", "ai.onnx"):
        return []
    known = onnx.defs.get_schema(node.op_type, opset, "").inputs
    optional = [index for index, each in enumerate(known) if each.option == onnx.defs.OpSchema.FormalParameterOption.Optional]
    return [index for index in optional if not "".join(node.input[index : index + 1])]


def model_of(case: Case, place: int, attribute: str, forms: Sequence[str] | None = None) -> ModelProto:
    """The case with further outputs, one set for each of `forms` or for all, in which a function takes the place of the node."""
    model = ModelProto()
    model.CopyFrom(case.model)
    model.ir_version = max(model.ir_version, 8 if case.opset < 21 else 10)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    graph, original = model.graph, case.model.graph
    for form in forms_of(attribute) if forms is None else forms:
        node = original.node[place]
        functions, call = _form(node, attribute, form, case)
        model.functions.extend(functions)
        for index, each in enumerate(original.node):
            copy = NodeProto()
            copy.CopyFrom(call if index == place else each)
            _rename(copy, {name: f"{name}__{form}" for other in original.node for name in other.output if name})
            if index >= place:
                graph.node.append(copy)
        made = {name for later in original.node[place:] for name in later.output}
        for before in original.node[:place]:
            _alias(graph, before, form)
        for value in original.output:
            graph.output.append(ValueInfoProto(name=f"{value.name}__{form}" if value.name in made else value.name, type=value.type))
    return model


def forms_of(attribute: str) -> Sequence[str]:
    """The forms in which an attribute, UNSET or LEFT_OUT is tried."""
    return FORMS if attribute not in (UNSET, LEFT_OUT) else (attribute,)


def _alias(graph: GraphProto, before: NodeProto, form: str) -> None:
    """Let nodes of the form read what nodes before its function make, under the names of the original."""
    made = {f"{name}__{form}": name for name in before.output if name}
    for node in graph.node:
        _rename(node, made)


def _rename(node: NodeProto, names: dict[str, str]) -> None:
    for values in (node.input, node.output):
        for index, name in enumerate(values):
            values[index] = names.get(name, name)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                _rename(inner, names)


def _captured(node: NodeProto) -> list[str]:
    """What the subgraphs of `node` read from outside. A function has to be given it."""
    found: dict[str, None] = {}
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            own = {value.name for value in (*graph.input, *graph.initializer)} | {name for n in graph.node for name in n.output}
            read = [name for inner in graph.node for name in (*inner.input, *_captured(inner))]
            found.update(dict.fromkeys(name for name in (*read, *(v.name for v in graph.output)) if name and name not in own))
    return list(found)


def _function(
    name: str, node: NodeProto, case: Case, parameters: Sequence[str] = (), defaults: Sequence[AttributeProto] = ()
) -> tuple[FunctionProto, NodeProto]:
    """A function that contains `node`, and a call of it without attributes."""
    read = list(dict.fromkeys(value for value in (*node.input, *_captured(node)) if value))
    made = [value for value in node.output if value]
    imports = [entry for entry in case.model.opset_import if entry.domain != DOMAIN]
    imports.append(helper.make_opsetid(DOMAIN, 1))
    function = helper.make_function(DOMAIN, name, read, made, [node], imports, list(parameters), list(defaults))
    return function, helper.make_node(name, read, made, domain=DOMAIN)


def _form(node: NodeProto, attribute: str, form: str, case: Case) -> tuple[list[FunctionProto], NodeProto]:
    """The functions of one of the forms, and the call that takes the place of `node`."""
    if form in (UNSET, LEFT_OUT):
        return _unset_form(node, case) if form == UNSET else _left_out_form(node, case)
    value = next(each for each in node.attribute if each.name == attribute)
    given, inner = renamed(value, "p"), NodeProto()
    inner.CopyFrom(node)
    _refer(inner, attribute, "p")
    defaults = {"default": [given], "overridden": [_other(given)]}.get(form, [])
    function, call = _function(form, inner, case, () if defaults else ("p",), defaults)
    functions = [function]
    if form == "nested":
        call.attribute.add(name="p", type=value.type, ref_attr_name="q")
        outer, call = _function("outer", call, case, ("q",))
        functions.append(outer)
        given = renamed(value, "q")
    if form != "default":
        call.attribute.append(given)
    return functions, call


def _unset_form(node: NodeProto, case: Case) -> tuple[list[FunctionProto], NodeProto]:
    inner, unset = NodeProto(), _unset(node, case.opset)
    inner.CopyFrom(node)
    for name, kind in unset:
        inner.attribute.add(name=name, type=kind, ref_attr_name=f"p_{name}")
    function, call = _function("unset", inner, case, [f"p_{name}" for name, _ in unset])
    return [function], call


def _left_out_form(node: NodeProto, case: Case) -> tuple[list[FunctionProto], NodeProto]:
    inner, missing = NodeProto(), _left_out(node, case.opset)
    inner.CopyFrom(node)
    inner.input.extend([""] * (missing[-1] + 1 - len(inner.input)))
    for index in missing:
        inner.input[index] = f"missing_{index}"
    function, call = _function("left_out", inner, case)
    call.input[:] = ["" if name.startswith("missing_") else name for name in call.input]
    while call.input and not call.input[-1]:
        call.input.pop()
    return [function], call


def renamed(attribute: AttributeProto, name: str) -> AttributeProto:
    copy = AttributeProto()
    copy.CopyFrom(attribute)
    copy.name = name
    return copy


def _refer(node: NodeProto, attribute: str, parameter: str) -> None:
    for each in node.attribute:
        if each.name == attribute:
            kind = each.type
            each.Clear()
            each.name, each.type, each.ref_attr_name = attribute, kind, parameter


def _other(attribute: AttributeProto) -> AttributeProto:
    """An attribute of the same type with another value, for a default that no call leaves as it is."""
    other = AttributeProto()
    other.CopyFrom(attribute)
    other.i, other.f = attribute.i + (attribute.type == AttributeProto.INT), attribute.f + (attribute.type == AttributeProto.FLOAT)
    other.ints.extend([1] if attribute.type == AttributeProto.INTS else [])
    other.floats.extend([1.0] if attribute.type == AttributeProto.FLOATS else [])
    other.s = attribute.s + (b"?" if attribute.type == AttributeProto.STRING else b"")
    other.strings.extend([b"?"] if attribute.type == AttributeProto.STRINGS else [])
    for name in ("i", "f", "s"):
        if not attribute.HasField(name):
            other.ClearField(name)
    return other


# Trials.


def decide(case: Case, trial: Trial, compare: str = "off") -> Trial:
    """`trial` with its outcome."""
    model = model_of(case, trial.place, trial.attribute)
    try:
        result = _convert(model, trial.target, compare)
    except Refused as error:
        return _blame(case, trial, compare, str(error))
    except Exception as error:
        return replace(trial, outcome="crash", reason=f"{type(error).__name__}: {error}")
    plain = len(case.model.graph.output)
    random = any(node.op_type in RANDOM_OPERATORS for node in all_nodes(model))
    reasons = []
    for engine in ENGINES:
        try:
            values = run(engine, result, case.feeds)
        except CannotRunError as error:
            reasons.append(str(error))
            continue
        for index, value in enumerate(values):
            if wrong := _unequal(values[index % plain], value, case, random):
                return replace(trial, outcome="wrong", reason=f"{engine}: {model.graph.output[index].name}: {wrong}")
        return replace(trial, outcome="ok")
    problem = _problem(result)
    return replace(trial, outcome="invalid" if problem else "unrun", reason=problem or " | ".join(reasons))


def _problem(result: ModelProto) -> str:
    try:
        onnx.checker.check_model(result, full_check=True)
    except Exception as error:  # of whatever type C++ throws
        return str(error).splitlines()[0]
    return ""


def _unequal(expected: Value, actual: Value, case: Case, random: bool) -> str:
    if random and isinstance(expected, np.ndarray):
        return "" if expected.shape == actual.shape and expected.dtype == actual.dtype else "shapes or types differ"
    return difference(expected, actual, case.rtol, case.atol) or ""


def _blame(case: Case, trial: Trial, compare: str, reason: str) -> Trial:
    """The trial of a model that is refused: whether the node alone is, too."""
    try:
        _convert(case.model, trial.target, compare)
    except Refused:
        return replace(trial, outcome="refused", reason=reason)
    for form in forms_of(trial.attribute):
        model = model_of(case, trial.place, trial.attribute, [form])
        if _problem(model):
            return replace(trial, outcome="refused", reason=f"onnx.checker refuses the model: {_problem(model)}")
        try:
            _convert(model, trial.target, compare)
        except Refused as error:
            return replace(trial, outcome="blamed", reason=f"{form}: {error}")
    return replace(trial, outcome="blamed", reason=reason)


def _convert(model: ModelProto, target: int, compare: str) -> ModelProto:
    from split_rewrite.rewriter import convert_version
    from split_rewrite.rewriter.errors import SplitRewriteError, UnconvertibleError

    copy = ModelProto()
    copy.CopyFrom(model)
    try:
        return convert_version(copy, target, compare=compare).model  # type: ignore[arg-type]
    except UnconvertibleError as error:
        raise Refused("; ".join(f"{b.op_type} {b.transition}: {b.reason}" for b in error.blockers)) from error
    except SplitRewriteError as error:
        raise Refused(f"{type(error).__name__}: {' '.join(str(error).split())[:400]}") from error


# Many trials.


def trials_of(cases: Sequence[Case], targets: Sequence[int]) -> list[tuple[Case, list[Trial]]]:
    """All trials, by case."""
    return [
        (
            case,
            [
                Trial(case.name, case.model.graph.node[place].op_type, place, attribute, target)
                for place, attribute in attributes_of(case)
                for target in targets
                if target != case.opset
            ],
        )
        for case in cases
    ]


def sample(jobs: Sequence[tuple[Case, list[Trial]]], count: int) -> list[tuple[Case, list[Trial]]]:
    """`count` trials chosen by the hash of their names, one of each attribute of each operator before a second of any."""

    def by_hash(trial: Trial) -> str:
        return hashlib.sha256(f"{trial.case} {trial.place} {trial.attribute} {trial.target}".encode()).hexdigest()

    groups: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for _, trials in jobs:
        for trial in trials:
            groups[trial.operator, trial.attribute].append(trial)
    ranked = [(rank, by_hash(trial), trial) for found in groups.values() for rank, trial in enumerate(sorted(found, key=by_hash))]
    chosen = {trial for _, _, trial in sorted(ranked, key=lambda entry: entry[:2])[:count]}
    picked = ((case, [trial for trial in trials if trial in chosen]) for case, trials in jobs)
    return [(case, trials) for case, trials in picked if trials]


def run_job(job: tuple[Case, list[Trial], str]) -> list[Trial]:
    case, trials, compare = job
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        return [decide(case, trial, compare) for trial in trials]


def run_jobs(jobs: Sequence[tuple[Case, list[Trial]]], workers: int, compare: str = "off") -> Iterator[list[Trial]]:
    work = [(case, trials, compare) for case, trials in jobs if trials]
    if workers < 2:
        yield from map(run_job, work)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(run_job, work)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    cases = [case for case in collect_cases() if re.fullmatch(options.ops, case.operator)]
    cases = [case for case in cases if options.expanded or "_expanded" not in case.name]
    cases = [with_constants(case) for case in cases] if options.constant else cases
    jobs = trials_of(cases, options.targets)
    jobs = sample(jobs, options.sample) if options.sample else jobs
    started, counts = time.monotonic(), Counter[str]()
    for trials in run_jobs(jobs, options.jobs, "auto" if options.compare else "off"):
        counts.update(trial.outcome for trial in trials)
        for trial in trials:
            if trial.outcome in MUST_NOT_HAPPEN:
                print(
                    f"{trial.outcome}: {trial.case} [{trial.place}].{trial.attribute or '-'} → {trial.target}: {trial.reason}",
                    flush=True,
                )
    shown = ", ".join(f"{outcome} {counts[outcome]}" for outcome in OUTCOMES)
    print(f"{counts.total()} models, {shown}, {time.monotonic() - started:.0f} s")
    return int(any(counts[outcome] for outcome in MUST_NOT_HAPPEN))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ops", default=".*", metavar="REGEX", help="only tests of operators that match entirely")
    parser.add_argument("--targets", type=int, nargs="+", default=range(7, onnx.defs.onnx_opset_version() + 1))
    parser.add_argument("--sample", type=int, metavar="N", help="a fixed choice of N models over all attributes")
    parser.add_argument("--constant", action="store_true", help="axes, shapes, sizes, … as initializers")
    parser.add_argument("--no-expanded", dest="expanded", action="store_false", help="without the tests of expansions")
    parser.add_argument("--compare", action="store_true", help="compare as by default, and not only here")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="worker processes")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
