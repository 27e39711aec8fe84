"""Small models as the test scripts of importers and exporters write them: runtimes load them, and onnx.checker often does not.

    export PYTHONPATH=tests/benchmarks
    python tests/fuzz/wild.py                     # every model, to opsets 9, 13, 17 and 22
    python tests/fuzz/wild.py --kind 'legacy' -v  # one kind, with what becomes of each model
    python tests/fuzz/wild.py --save folder       # write the models that onnxruntime loads

A model counts only if onnxruntime loads it, in a child process. Then it is converted, with the comparison of original and result, and
the result has to be loaded too. "turned away" are models called invalid, failed checks and comparisons, and exceptions; those with a
blocker are counted beside them, since nothing else may be possible. Exit status 1 where a model is turned away.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from onnx import AttributeProto, ModelProto, TensorProto, helper, parser
from wild_models import ROWS, Row

from split_rewrite.rewriter import SplitRewriteError, UnconvertibleError, convert_file
from split_rewrite.rewriter.checks.validity import checker_failure
from split_rewrite.rewriter.execution.messages import Failure
from split_rewrite.rewriter.execution.model_client import Worker

TARGETS = (9, 13, 17, 22)
RANKS = (2, 3, 4, 1)
CONTRIB_OPSETS = (11, 17)


class Wild(NamedTuple):
    """A model of some kind, as it may be found."""

    kind: str
    name: str
    data: bytes


class Ending(NamedTuple):
    """What became of a model: "valid", "loads" (not valid for onnx.checker, as its original), "blocked" or "turned away"."""

    kind: str
    reason: str = ""
    not_compared: str = ""
    """Why the result was not compared with the original; "" if it was, and is equal."""


def loads(worker: Worker, path: Path) -> bool:
    """Whether onnxruntime makes a session of the file."""
    with worker.open(path) as session:
        answer = session.run({})
    return not isinstance(answer, Failure) or answer.kind == "runtime"


# -- operators of onnxruntime, made from the schemas of the installed release


def contrib_models(worker: Worker, folder: Path) -> Iterator[Wild]:
    """Each operator of com.microsoft and its like that loads in some form, without an import of its domain."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before it is imported
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    kernels = {(each.domain, each.op_name) for each in state.get_all_opkernel_def() if each.provider == "CPUExecutionProvider"}
    path = folder / "try.onnx"
    for schema in state.get_all_operator_schema():
        if schema.domain in ("", "ai.onnx") or (schema.domain, schema.name) not in kernels or not _has_tensors(schema):
            continue
        for model in _forms(schema):
            path.write_bytes(model.SerializeToString())
            if loads(worker, path):
                for opset in CONTRIB_OPSETS:
                    model.opset_import[0].version = opset
                    yield Wild("contrib without import", f"{schema.domain}.{schema.name} at {opset}", model.SerializeToString())
                break


def _has_tensors(schema: Any) -> bool:
    """Whether some form of the operator has nothing but tensors as inputs."""
    kinds = {text for constraint in schema.type_constraints for text in constraint.allowed_type_strs}
    return all(text.startswith("tensor(") for text in kinds)


def _forms(schema: Any) -> Iterator[ModelProto]:
    """Forms of the operator that may load: other ranks, other types, only required inputs and all of them."""
    for most in (schema.min_input, min(schema.max_input, 12)):
        for rank in RANKS:  # the rank of all inputs
            for choice in (0, 1):
                yield _node_model(schema, rank, choice, most)


def _node_model(schema: Any, rank: int, choice: int, most: int) -> ModelProto:
    types = {constraint.type_param_str: sorted(constraint.allowed_type_strs, key=_liking) for constraint in schema.type_constraints}

    def kind(text: str) -> int:
        allowed = types.get(text, [text])
        chosen = allowed[min(choice, len(allowed) - 1)]
        return TensorProto.DataType.Value(re.sub(r".*\((\w+)\).*", r"\1", chosen).upper())

    parameters = [schema.inputs[min(index, len(schema.inputs) - 1)] for index in range(most)]
    inputs = [
        helper.make_tensor_value_info(f"x{index}", kind(parameter.typeStr), [f"d{index}_{axis}" for axis in range(rank)])
        for index, parameter in enumerate(parameters)
    ]
    results = [f"y{index}" for index in range(max(schema.min_output, 1))]
    node = helper.make_node(schema.name, [value.name for value in inputs], results, domain=schema.domain)
    for name, attribute in schema.attributes.items():
        if attribute.required:
            node.attribute.append(_required(name, attribute.type))
    lead, clip = helper.make_tensor_value_info("lead", 1, [2, 3]), helper.make_tensor_value_info("clipped", 1, [2, 3])
    nodes = [node, helper.make_node("Softmax", ["lead"], ["soft"], axis=1), helper.make_node("Dropout", ["soft"], ["clipped"])]
    graph = helper.make_graph(nodes, "test", [*inputs, lead], [clip])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", CONTRIB_OPSETS[0])], ir_version=8)


def _liking(text: str) -> int:
    order = ("tensor(float)", "tensor(uint8)", "tensor(int32)", "tensor(int64)")
    return order.index(text) if text in order else len(order)


def _required(name: str, kind: Any) -> AttributeProto:
    values: dict[str, Any] = {
        "INT": 2,
        "FLOAT": 1.0,
        "STRING": "Relu" if "activation" in name else "half",
        "INTS": [1],
        "FLOATS": [1.0],
    }
    return helper.make_attribute(name, values.get(str(kind).rpartition(".")[2], 1))


# -- all others, from rows of text


def row_models() -> Iterator[Wild]:
    """The models of `wild_models`."""
    for kind, rows in ROWS.items():
        for number, row in enumerate(rows):
            yield Wild(kind, f"{number}: {row.text}", built(row).SerializeToString())


def built(row: Row) -> ModelProto:
    """The model of a row."""
    imports = ", ".join(f'"{domain}": {version}' for domain, version in {"": row.opset, **row.imports}.items())
    model = parser.parse_model(f"<ir_version: {row.ir}, opset_import: [{imports}]> {row.text}")
    for change in row.changes:
        change(model)
    return model


# -- the trial


def ending(worker: Worker, path: Path, target: int, accepted: bool) -> Ending:
    """What becomes of the file at `target`. `accepted` says that onnx.checker accepts it as it is."""
    result = path.with_name("result.onnx")
    result.unlink(missing_ok=True)
    try:
        report = convert_file(path, result, target)
    except UnconvertibleError as error:
        return Ending("blocked", "; ".join(map(str, error.blockers)))
    except SplitRewriteError as error:
        return Ending("turned away", str(error))
    except Exception as error:
        return Ending("turned away", f"{type(error).__name__}: {error}")
    if not loads(worker, result):
        return Ending("turned away", "the result does not load")
    failure = checker_failure(result.read_bytes(), full=True)
    if failure and accepted:
        return Ending("turned away", failure)
    compared = "" if report.comparison is None or report.comparison.status == "equal" else report.comparison.reason
    return Ending("loads" if failure else "valid", failure, compared)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kind", default="", help="only kinds whose name matches this regular expression")
    options.add_argument("--save", type=Path, help="a folder for the models that onnxruntime loads")
    options.add_argument("--targets", type=int, nargs="+", default=TARGETS)
    options.add_argument("-v", action="store_true", help="say what becomes of each model that is not valid in the end")
    chosen = options.parse_args()
    counts: dict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder, Worker(20.0) as worker:
        wild = [*row_models(), *(contrib_models(worker, Path(folder)) if re.search(chosen.kind, "contrib without import") else ())]
        for number, each in enumerate(each for each in wild if re.search(chosen.kind, each.kind)):
            path = Path(folder, "model.onnx")
            path.write_bytes(each.data)
            if not loads(worker, path):
                counts[each.kind][0, "not loaded"] += 1
                print(f"does not load: {each.kind}: {each.name}", flush=True) if chosen.v else None
                continue
            if chosen.save:
                chosen.save.mkdir(exist_ok=True)
                (chosen.save / f"{number}.onnx").write_bytes(each.data)
            accepted = not checker_failure(each.data, full=True)
            for target in chosen.targets:
                end = ending(worker, path, target, accepted)
                counts[each.kind][target, end.kind] += 1
                counts[each.kind][target, "not compared"] += bool(end.not_compared)
                if chosen.v and end.not_compared:
                    print(f"not compared at {target}: {each.kind}: {each.name}\n    {end.not_compared}", flush=True)
                if end.kind == "turned away" or (chosen.v and end.kind != "valid"):
                    print(f"{end.kind} at {target}: {each.kind}: {each.name}\n    {end.reason}", flush=True)
    _print(counts, chosen.targets)
    return int(any(kind == "turned away" for found in counts.values() for _, kind in found))


def _print(counts: dict[str, Counter[tuple[int, str]]], targets: list[int]) -> None:
    total: Counter[tuple[int, str]] = Counter()
    for found in counts.values():
        total.update(found)
    for name, found in (*counts.items(), ("all", total)):
        models = sum(number for (target, kind), number in found.items() if target == targets[0] and kind != "not compared")
        print(f"{name}: {models} models" + (f", {found[0, 'not loaded']} more not loaded" if found[0, "not loaded"] else ""))
        for target in targets:
            ends = {
                kind: found[target, kind]
                for kind in ("valid", "loads", "not compared", "blocked", "turned away")
                if found[target, kind]
            }
            print(f"    to {target}: {ends}  {100 * (1 - found[target, 'turned away'] / max(models, 1)):.1f} % not turned away")


if __name__ == "__main__":
    sys.exit(main())
