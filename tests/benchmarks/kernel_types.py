"""The element types for which releases of onnxruntime have kernels, as rules of its profile: models of one node are loaded there.

    export PYTHONPATH=tests/fuzz:tests/benchmarks
    python tests/benchmarks/kernel_types.py /venvs/ort116/bin/python /venvs/ort120/bin/python ...

Each operator whose data has one type variable, in each version, with each type of that variable, all else as in models that load
here. A type counts as taken where one model of it loads. What lies between two releases takes what both of them take.
Operators, and versions of them, of which no model loads in a release are listed at the end.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import onnx

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported

import onnxruntime
from enumeration import Builder, Case, UnfitError, cases, versions
from onnx.defs import OpSchema, get_schema

from split_rewrite.rewriter.engine.narrow_types import NARROW_TYPES

ATTEMPTS, VARIED = 40, 4
"""Models of a version, and how many of those that load here are varied."""
NEWEST_OF_OLDEST_ONNX = 22
"""The oldest onnx that this program takes knows the operators up to this opset, and a profile names no others in rules."""
_IR = 7
"""An IR version that the oldest releases read."""
RARE = {"bfloat16", "complex64", "complex128", *NARROW_TYPES}
"""Types that are no reason for a rule: hardly any kernel takes them."""
LOAD = """
import json, pickle, sys
import onnxruntime
onnxruntime.set_default_logger_severity(4)
models, report = sys.argv[1:]
lines = open(report).read().split() if len(sys.argv) else []
with open(models, "rb") as file, open(report, "a") as out:
    for number, model in enumerate(pickle.load(file)):
        if number < len(lines):
            continue
        out.write("0"), out.flush()
        try:
            onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
            out.write("1\\n")
        except Exception:
            out.write("\\n")
        out.flush()
"""


class Trial(NamedTuple):
    op_type: str
    version: int
    dtype: str
    model: bytes


def trials() -> Iterator[Trial]:
    for op_type, numbers in versions().items():
        for version in numbers if numbers[0] <= NEWEST_OF_OLDEST_ONNX else ():
            schema = get_schema(op_type, version, "")
            for base in islice((case for case in cases(op_type, version, 1, ATTEMPTS) if _loads(case.model)), VARIED):
                yield from _varied(schema, base)


def _varied(schema: OpSchema, base: Case) -> Iterator[Trial]:
    constraint = data_types(schema)
    for text in sorted(constraint.allowed_type_strs) if constraint is not None else ():
        if not text.startswith("tensor("):
            continue
        choice = {**base.choice, f"type {constraint.type_param_str}": text, "form": "parameters"}
        try:
            model, _ = Builder(schema, choice, np.random.default_rng(1)).build()
        except (UnfitError, ValueError, TypeError, OverflowError):
            continue
        model.ir_version = min(model.ir_version, _IR)
        yield Trial(schema.name, schema.since_version, text[7:-1], model.SerializeToString())


def data_types(schema: OpSchema) -> OpSchema.TypeConstraintParam | None:
    """The only type variable that is not for numbers such as indices; None where kernels may go by several."""
    free = [constraint for constraint in schema.type_constraints if len(constraint.allowed_type_strs) > len(("int32", "int64"))]
    return free[0] if len(free) == 1 else None


def _loads(model: onnx.ModelProto) -> bool:
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    copy.ir_version = min(copy.ir_version, _IR)
    try:
        onnxruntime.InferenceSession(copy.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:
        return False
    return True


def loaded_in(python: str, models: Path, count: int) -> tuple[int, list[bool]]:
    """The minor release of onnxruntime in `python`, and which of the models load there: a child goes on behind one that crashes."""
    program = "import onnxruntime; print(onnxruntime.__version__)"
    release = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as report:
        lines: list[str] = []
        while len(lines) < count:
            subprocess.run([python, "-c", LOAD, str(models), report.name], capture_output=True, check=False)
            text = Path(report.name).read_text()
            if not text.endswith("\n"):
                Path(report.name).write_text(text + "\n")
            lines = Path(report.name).read_text().split()
    return int(release.split(".")[1]), [line == "01" for line in lines]


def parameter(op_type: str) -> str:
    """The name of the first input or output of that type variable; "" where the newest version has several."""
    schema = get_schema(op_type)
    constraint = data_types(schema)
    names = [each.name for each in (*schema.inputs, *schema.outputs) if constraint and each.type_str == constraint.type_param_str]
    return names[0] if names else ""


def rules(found: Mapping[int, Sequence[bool]], tried: Sequence[Trial]) -> Iterator[str]:
    """The rules, as text. `found` says which trials load in which minor release."""
    newest = max(found)
    grouped: dict[tuple[int, int | None, str], list[str]] = defaultdict(list)
    for op_type in sorted({trial.op_type for trial in tried}):
        per_release = {minor: _stated(op_type, found, tried, minor) for minor in range(min(found), newest + 1)}
        for first, last, texts in _runs(per_release):
            for stated in texts:
                grouped[first, None if last == newest else last, stated].append(op_type)
    for (first, last, stated), names in sorted(grouped.items(), key=lambda item: (item[1], item[0][0])):
        until = "" if last is None else f'to = "1.{last}"\n'
        listed = ", ".join(f'"{name}"' for name in names)
        yield f'[[rule]]\nfrom = "1.{first}"\n{until}operators = [{listed}]\n{stated}\n'


_Value = TypeVar("_Value")


def _runs(per_key: Mapping[int, _Value]) -> Iterator[tuple[int, int, _Value]]:
    """The first and the last of keys in a row that have the same value, and that value."""
    first = previous = min(per_key)
    for key in sorted(per_key)[1:]:
        if per_key[key] != per_key[previous]:
            yield first, previous, per_key[previous]
            first = key
        previous = key
    yield first, previous, per_key[previous]


def _stated(op_type: str, found: Mapping[int, Sequence[bool]], tried: Sequence[Trial], minor: int) -> tuple[str, ...]:
    """The conditions of the rules for one release: one rule, or one for some of the versions."""
    numbers = sorted({trial.version for trial in tried if trial.op_type == op_type})
    per_version = {number: _types_of(op_type, number, found, tried, minor) for number in numbers}
    loading = {number: text for number, text in per_version.items() if text is not None}
    texts = set(loading.values())
    if len(texts) <= 1:
        return tuple(f"type = {{ {text} }}" for text in texts if text)
    rules = []
    for first, last, text in _runs(loading):
        later = [number for number in numbers if number > last]
        ends = f", max = {later[0] - 1}" if later else ""
        if text:
            rules.append(f"when = {{ opset = {{ min = {first}{ends} }} }}\ntype = {{ {text} }}")
    return tuple(rules)


def _types_of(op_type: str, version: int, found: Mapping[int, Sequence[bool]], tried: Sequence[Trial], minor: int) -> str | None:
    """The right side of `type` for one version in one release; "" where it takes all usual types, None where no model loads."""
    around = {minor} if minor in found else {max(m for m in found if m < minor), min(m for m in found if m > minor)}
    mine = [(number, trial.dtype) for number, trial in enumerate(tried) if (trial.op_type, trial.version) == (op_type, version)]
    loading = [{dtype for number, dtype in mine if found[m][number]} for m in around]
    taken = set.intersection(*filter(None, loading)) if any(loading) else set()  # an older release may not read the opset at all
    name = parameter(op_type)
    if not taken or not name:
        return None
    return f"{name} = {json.dumps(sorted(taken))}" if {dtype for _, dtype in mine} - taken - RARE else ""


def main(pythons: Sequence[str]) -> None:
    tried = list(trials())
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        Path(file.name).write_bytes(pickle.dumps([trial.model for trial in tried]))
        found: dict[int, Any] = dict(loaded_in(python, Path(file.name), len(tried)) for python in pythons)
    print("\n".join(rules(found, tried)))
    for minor, loads in sorted(found.items()):
        loading = {(trial.op_type, trial.version) for trial, one in zip(tried, loads, strict=True) if one}
        others = {(trial.op_type, trial.version) for trial in tried} - loading
        print(f"# 1.{minor} loads no model of {', '.join(f'{name}-{version}' for name, version in sorted(others))}")


if __name__ == "__main__":
    main(sys.argv[1:])
