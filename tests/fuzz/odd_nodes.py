"""Node tests with something odd about them: scalars for vectors, lengths of 1 for others, absent operands, impossible attributes.

    export PYTHONPATH=tests/benchmarks
    python tests/fuzz/odd_nodes.py --jobs 2                         # ONNX's node tests, every mutant
    python tests/fuzz/odd_nodes.py --ops 'Slice|Einsum' --targets 9 --list refused
    python tests/fuzz/odd_nodes.py --enumerated 5                   # five models of each version of an operator instead
    python tests/fuzz/odd_nodes.py --only 'test_slice/constant/scalar 1'

Each mutant is converted to every target. It is converted rightly (`converted`, by the engines that run the original), or refused with
a reason, by a rule (`refused`) or by the check of the input (`invalid`; `turned away` where onnxruntime runs the original). Findings
are `internal` (an exception that is no refusal), `selfcheck` (a result that onnx.checker refuses) and `wrong`; exit status 1 where
there are any. `unjudged`: no engine runs both, or the specification leaves the numbers open.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import enumeration
import exhaustive
import numpy as np
import onnx
import unjudged
from enumeration import Case
from exhaustive import Original, judge, run_in, run_original
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, ValueInfoProto, helper, numpy_helper
from opset_matrix import PARAMETERS, TARGETS, collect_cases
from trials import private_folder

from split_rewrite.rewriter import UnconvertibleError, convert_version
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance
from split_rewrite.rewriter.engine.registry import registry
from split_rewrite.rewriter.errors import CheckError, InvalidModelError
from split_rewrite.rewriter.execution.messages import Outputs

OUTCOMES = ("converted", "refused", "invalid", "turned away", "unjudged", "wrong", "selfcheck", "internal")
FINDINGS = ("wrong", "selfcheck", "internal")
FORMS = ("given", "constant")
"""Whether the operands that say how (axes, sizes, …) are inputs of the model, or constants."""
INTS = (0, 1, -1, 2, 5, -7, 99, 2**40, -(2**63))
FLOATS = (0.0, -1.0, float("nan"), float("inf"))
BELIED = "the model declares another shape of output"
"""The beginning of what is said where the shape of an output, which is only known of models that run, is declared wrongly."""
LARGEST = 4096
"""The number of elements of the largest operand of a node test that is tried."""


class Source(NamedTuple):
    """A model of one node, whose operands `arrays` may be inputs or constants."""

    name: str
    model: ModelProto
    arrays: Mapping[str, np.ndarray]
    others: Mapping[str, Any]
    """Operands that are no tensors: sequences and optionals."""

    @property
    def node(self) -> NodeProto:
        return self.model.graph.node[0]


class Mutant(NamedTuple):
    """A `Source` with one thing changed. `name` is "test/form/change"."""

    name: str
    node: NodeProto
    arrays: Mapping[str, np.ndarray]


# Where they come from.


def node_tests(operators: str = ".*") -> Iterator[Source]:
    """ONNX's node tests of a single node."""
    for case in collect_cases(operators):
        if len(case.model.graph.node) == 1 and "_expanded" not in case.name and not case.model.functions:
            yield from _source(case.name, case.model, case.feeds)


def enumerated(operators: str, limit: int, seed: int = 0) -> Iterator[Source]:
    """`limit` models of each version of each operator."""
    for op_type, own in enumeration.versions().items():
        for version in own if re.fullmatch(operators, op_type) else ():
            for case in enumeration.cases(op_type, version, seed, limit):
                stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in case.model.graph.initializer}
                if len(case.model.graph.node) == 1:
                    yield from _source(case.name, case.model, stored | case.feeds)


def _source(name: str, model: ModelProto, operands: Mapping[str, Any]) -> Iterator[Source]:
    arrays = {key: value for key, value in operands.items() if isinstance(value, np.ndarray)}
    if all(array.size <= LARGEST for array in arrays.values()):
        yield Source(name, model, arrays, {key: value for key, value in operands.items() if key not in arrays})


# What is changed.


def mutants(source: Source) -> Iterator[Mutant]:
    """Every change of one thing, in each form in which that differs."""
    changes = [*_operand_changes(source), *_slot_changes(source), *_attribute_changes(source)]
    forms = [form for form in FORMS if form != "constant" or _parameters(source)]
    for form in forms:
        for what, node, arrays in [("nothing", source.node, source.arrays), *changes]:
            yield Mutant(f"{source.name}/{form}/{what}", node, arrays)


_Change = tuple[str, NodeProto, Mapping[str, np.ndarray]]


def _operand_changes(source: Source) -> Iterator[_Change]:
    """Other shapes and numbers of one operand."""
    for index, name in enumerate(source.node.input):
        array = source.arrays.get(name)
        if array is not None:
            for what, changed in _changed_arrays(array):
                yield f"{what} {index}", source.node, {**source.arrays, name: changed}


def _changed_arrays(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if array.shape == (1,):
        yield "scalar", array.reshape(())
    if array.ndim == 0:
        yield "vector", array.reshape(1)
    else:
        yield "matrix", array[None]
    for axis, length in enumerate(array.shape):
        if length > 1:
            yield f"one at {axis} of", array.take([0], axis)
            yield f"shorter at {axis} of", array.take(range(length - 1), axis)
        if length == 1:
            yield f"two at {axis} of", array.repeat(2, axis)
        yield f"none at {axis} of", array.take([], axis)
    if array.dtype.kind in "iu" and array.size:
        info = np.iinfo(array.dtype)
        for number in (0, -1, 99, info.max, info.min):
            if info.min <= number <= info.max:
                yield f"all {number} in", np.full_like(array, number)


def _slot_changes(source: Source) -> Iterator[_Change]:
    """An operand or a result less."""
    for names in ("input", "output"):
        for index in range(len(getattr(source.node, names))):
            node = _copy(source.node)
            slots = getattr(node, names)
            slots[index] = ""
            while slots and not slots[-1]:
                del slots[-1]
            if node.output and any(node.output):
                yield f"no {names} {index}", node, source.arrays


def _attribute_changes(source: Source) -> Iterator[_Change]:
    """Another value of one attribute, or none."""
    opset = exhaustive.default_opset(source.model)
    schema = onnx.defs.get_schema(source.node.op_type, opset or 1, source.node.domain)
    for name, formal in sorted(schema.attributes.items()):
        stated = next((attribute for attribute in source.node.attribute if attribute.name == name), None)
        value = None if stated is None else helper.get_attribute_value(stated)
        if stated is not None:
            yield f"no {name}", _with_attribute(source.node, name, None, formal.type.value), source.arrays
        for number, other in enumerate(_other_values(int(formal.type.value), value)):
            yield f"{name} {number}", _with_attribute(source.node, name, other, formal.type.value), source.arrays


def _other_values(kind: int, value: Any) -> Iterator[Any]:
    if kind == AttributeProto.INT:
        yield from INTS
    elif kind == AttributeProto.FLOAT:
        yield from FLOATS
    elif kind == AttributeProto.STRING:
        yield from ("", "odd", *([value.decode().swapcase()] if isinstance(value, bytes) else []))
        if value and b"->" in value:
            yield value.decode() + "->"
            yield value.decode().partition("->")[0]
    elif kind == AttributeProto.INTS:
        stated = list(value or ())
        yield from ([], [0], [1, 1], [-1], [99], [0, 0])
        if stated:
            yield from (stated[:-1], [*stated, 1], stated[::-1], [0] * len(stated), [-entry - 1 for entry in stated])
    elif kind == AttributeProto.FLOATS:
        yield from ([], [0.5], *([list(value)[:-1], [*value, 1.0]] if value else []))
    elif kind == AttributeProto.STRINGS:
        yield from ([], ["odd"], *([list(value)[:-1], [*value, b"odd"]] if value else []))


def _with_attribute(node: NodeProto, name: str, value: Any, kind: Any) -> NodeProto:
    changed = _copy(node)
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del changed.attribute[:]
    changed.attribute.extend(kept)
    if value is not None:
        changed.attribute.append(helper.make_attribute(name, value, attr_type=int(kind)))
    return changed


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def _parameters(source: Source) -> set[str]:
    """The operands that say how, and that are not all that the node has."""
    names = set(source.node.input)
    found = {source.node.input[i] for i in PARAMETERS.get(source.node.op_type, ()) if i < len(source.node.input)}
    found &= source.arrays.keys()
    return found if names - found - {""} else set()


def case_of(source: Source, mutant: Mutant, folder: Path) -> Case:
    """The model with its inputs. All shapes are declared for inputs, and for outputs the ranks that onnxruntime finds."""
    case = _open_case(source, mutant)
    answer = run_in("onnxruntime", case.model, case.feeds, folder)
    values = answer.values if isinstance(answer, Outputs) else [None] * len(case.model.graph.output)
    declared = {entry.name: entry.type.tensor_type.shape for entry in source.model.graph.output}
    for entry, value in zip(case.model.graph.output, values, strict=True):
        if entry.type.HasField("tensor_type"):
            rank = np.ndim(value) if value is not None else len(declared[entry.name].dim)
            entry.type.tensor_type.shape.dim.extend(TensorShapeProto.Dimension() for _ in range(rank))
            entry.type.tensor_type.shape.SetInParent()
    return case


def _open_case(source: Source, mutant: Mutant) -> Case:
    """The model with its inputs, without the shapes of the results."""
    model = ModelProto()
    model.CopyFrom(source.model)
    graph = model.graph
    graph.node[0].CopyFrom(mutant.node)
    used, made = set(mutant.node.input), set(mutant.node.output)
    constant = _parameters(source) if mutant.name.split("/")[1] == "constant" else set()
    if constant:
        model.ir_version = max(model.ir_version, 4)
    given = {entry.name: entry for entry in (*source.model.graph.input, *source.model.graph.value_info)}
    del graph.input[:], graph.initializer[:], graph.value_info[:]
    for name in dict.fromkeys(mutant.node.input):
        array = mutant.arrays.get(name)
        if array is None:
            graph.input.extend([given[name]] if name in given else [])
        elif name in constant:
            graph.initializer.append(numpy_helper.from_array(array, name))
        else:
            graph.input.append(helper.make_tensor_value_info(name, _elem_type(given.get(name), array), array.shape))
    outputs = [_without_shape(entry) for entry in source.model.graph.output if entry.name in made]
    del graph.output[:]
    graph.output.extend(outputs)
    operands = {**source.others, **mutant.arrays}
    feeds = {name: value for name, value in operands.items() if name in used and name not in constant}
    return Case(mutant.name, mutant.node.op_type, exhaustive.default_opset(model) or 1, model, feeds, {})


def _elem_type(declared: ValueInfoProto | None, array: np.ndarray) -> int:
    kind = declared.type.tensor_type.elem_type if declared is not None else 0
    return kind or (TensorProto.STRING if array.dtype.kind in "OUS" else numpy_helper.from_array(array).data_type)


def _without_shape(entry: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(entry)
    if copy.type.HasField("tensor_type"):
        copy.type.tensor_type.ClearField("shape")
    return copy


# What becomes of it.


class Found(NamedTuple):
    """What came of one conversion of `mutant`."""

    mutant: str
    op_type: str
    target: int
    outcome: str
    reason: str = ""


def convert_all(case: Case, targets: Sequence[int], folder: Path) -> Iterator[Found]:
    """Convert the model to each target, and judge the results."""
    original: Original | None = None
    for target in targets:
        if target == case.version:
            continue
        outcome, reason, result = _convert(case.model, target)
        if outcome in ("converted", "invalid"):
            original = original or run_original(case, folder)
        if outcome == "invalid":
            runs = original is not None and "onnxruntime" in original.outputs
            yield Found(case.name, case.op_type, target, "turned away" if runs else "invalid", reason)
            return
        if result is not None and original is not None:
            outcome, reason = _judge(original, result, folder)
        yield Found(case.name, case.op_type, target, outcome, reason)


def _convert(model: ModelProto, target: int) -> tuple[str, str, Any]:
    """Outcome, reason, and the result where there is one."""
    try:
        return "converted", "", convert_version(model, target, compare="off")
    except UnconvertibleError as error:
        return "refused", "; ".join(dict.fromkeys(f"{b.op_type} {b.transition}: {b.reason}" for b in error.blockers)), None
    except InvalidModelError as error:
        return "invalid", str(error), None
    except CheckError as error:
        return ("refused" if str(error).startswith(BELIED) else "selfcheck"), str(error), None
    except Exception as error:
        return "internal", f"{type(error).__name__}: {error}", None


def _judge(original: Original, result: Any, folder: Path) -> tuple[str, str]:
    if "onnxruntime" not in original.outputs or not original.is_sound:
        return "unjudged", "onnxruntime does not run the original"
    if reason := unjudged.left_open(original.case.model, original.case.feeds):
        return "unjudged", reason
    inexact = result.report.inexact
    sums = any(rule.sums and rule.name in inexact for rule in registry)
    outcome, reason = judge(original, result.model, Tolerance(inexact=bool(inexact), sums=sums), folder)
    if outcome == "wrong" and result.report.warnings:
        return "unjudged", f"the report warns of it: {result.report.warnings[0]}"
    if outcome == "wrong" and reason.endswith(exhaustive.LAST_BITS) and not result.report.changes:
        return "unjudged", f"another kernel: {reason}"
    return outcome, reason


def explore(source: Source, targets: Sequence[int], chosen: Sequence[Mutant]) -> list[Found]:
    """What came of the `chosen` mutants of the model."""
    found: list[Found] = []
    with private_folder() as folder, np.errstate(all="ignore"):
        for mutant in chosen:
            found += convert_all(case_of(source, mutant, folder), targets, folder)
    return found


# Many.


def sample(sources: Sequence[Source], count: int, seed: int = 0) -> list[tuple[Source, Mutant]]:
    """`count` mutants of models of different operators, the same each time."""
    chance = random.Random(seed)
    by_operator: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        by_operator[source.node.op_type].append(source)
    chosen = [chance.choice(own) for _, own in sorted(by_operator.items())]
    return [(source, chance.choice(list(mutants(source)))) for source in chance.sample(chosen, count)]


def table(counts: Mapping[str, Counter[str]]) -> str:
    lines = [f"{'operator':28}" + "".join(f"{name:>12}" for name in OUTCOMES)]
    total: Counter[str] = Counter()
    for op_type, found in sorted(counts.items()):
        total += found
        lines.append(f"{op_type:28}" + "".join(f"{found[name]:>12,}" for name in OUTCOMES))
    return "\n".join([*lines, f"{'all':28}" + "".join(f"{total[name]:>12,}" for name in OUTCOMES)])


def main() -> int:
    options = _parse()
    sources = list(enumerated(options.ops, options.enumerated) if options.enumerated else node_tests(options.ops))
    if options.only:
        sources = [source for source in sources if options.only.startswith(f"{source.name}/")]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    started = time.monotonic()
    for index, source in enumerate(sources):
        if index % options.parts != options.part:
            continue
        chosen = [mutant for mutant in mutants(source) if options.only in ("", mutant.name)]
        for found in explore(source, options.targets, chosen):
            counts[found.op_type][found.outcome] += 1
            if found.outcome in FINDINGS or found.outcome in options.list or options.only:
                print(f"{found.outcome}: {found.mutant} → {found.target}: {' '.join(found.reason.split())}", flush=True)
    print(table(counts))
    print(f"onnx {onnx.__version__}, {time.monotonic() - started:.0f} s")
    return int(any(found[name] for found in counts.values() for name in FINDINGS))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default=".*", metavar="REGEX", help="only operators that match entirely")
    parser.add_argument("--targets", type=int, nargs="+", default=TARGETS)
    parser.add_argument("--enumerated", type=int, metavar="N", help="N models of each version of an operator, and no node tests")
    parser.add_argument("--part", type=int, default=0, help="of --parts: which part this process does")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--only", default="", metavar="TEST/FORM/CHANGE", help="one mutant")
    parser.add_argument("--list", choices=OUTCOMES, action="append", default=[], help="print these outcomes too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
