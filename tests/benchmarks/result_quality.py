"""How many nodes a conversion leaves, beside what an engineer writes by hand, ONNX's function body, and what onnxruntime fuses.

    python tests/benchmarks/result_quality.py                     # a table of operators, then one of the models in models/
    python tests/benchmarks/result_quality.py --targets 11 13 17

A row for each operator (or model) and target: nodes of the result, of the form by hand, and of ONNX's body as it is pasted; then
nodes that onnxruntime's optimizer leaves of the original and of the result. Constants are not counted. An operator stands
between two others, as fusions do not reach the inputs and outputs of a graph; the two are not counted either.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import onnx
from onnx import GraphProto, ModelProto, TypeProto, parser

from split_rewrite.rewriter import UnconvertibleError, convert_version

MODELS = Path(__file__).parents[2] / "models"
TARGETS = (11, 13)
_AROUND = 2
"""Nodes before and behind the operator."""


class Case(NamedTuple):
    """One node of `call`, of opset `opset`: its inputs by name with their types, the first being its data; nodes by hand."""

    opset: int
    inputs: dict[str, str]
    call: str
    output: str
    by_hand: int
    constants: str = ""


_X = {"x": "float[2,4,8]"}
_QKV = dict.fromkeys(("x", "k", "v"), "float[2,4,6,8]")
_FLAT = dict.fromkeys(("x", "k", "v"), "float[2,6,32]")
_GROUPED = {"x": "float[2,4,6,8]", "k": "float[2,2,6,8]", "v": "float[2,2,6,8]"}
_MASK = {**_QKV, "m": "float[6,6]"}
_IMAGE = {"x": "float[2,4,6,6]"}
_SCALE = "float[8] s = {1,2,3,4,5,6,7,8}, float[8] b = {1,2,3,4,5,6,7,8}"
_CHANNELS = "float[4] s = {1,2,3,4}, float[4] b = {1,2,3,4}"

CASES = {
    "Gelu": Case(20, _X, "Gelu (x)", "float[2,4,8]", 5),
    "Gelu, tanh": Case(20, _X, 'Gelu <approximate = "tanh"> (x)', "float[2,4,8]", 8),
    "LayerNormalization": Case(17, _X, "LayerNormalization (x, s, b)", "float[2,4,8]", 9, _SCALE),
    "RMSNormalization": Case(23, _X, "RMSNormalization (x, s)", "float[2,4,8]", 6, _SCALE),
    "GroupNormalization": Case(21, _IMAGE, "GroupNormalization <num_groups = 2> (x, s, b)", "float[2,4,6,6]", 5, _CHANNELS),
    "Attention": Case(23, _QKV, "Attention (x, k, v)", "float[2,4,6,8]", 5),
    "Attention, causal": Case(23, _QKV, "Attention <is_causal = 1> (x, k, v)", "float[2,4,6,8]", 6),
    "Attention, mask at run time": Case(23, _MASK, "Attention (x, k, v, m)", "float[2,4,6,8]", 9),
    "Attention, grouped heads": Case(23, _GROUPED, "Attention (x, k, v)", "float[2,4,6,8]", 11),
    "Attention, 3-D": Case(23, _FLAT, "Attention <q_num_heads = 4, kv_num_heads = 4> (x, k, v)", "float[2,6,32]", 12),
    "RotaryEmbedding": Case(
        23,
        {"x": "float[2,4,6,8]", "c": "float[50,4]", "s": "float[50,4]", "p": "int64[2,6]"},
        "RotaryEmbedding (x, c, s, p)",
        "float[2,4,6,8]",
        12,
    ),
    "Swish": Case(24, _X, "Swish (x)", "float[2,4,8]", 2),
    "Mish": Case(18, _X, "Mish (x)", "float[2,4,8]", 3),
    "HardSwish": Case(14, _X, "HardSwish (x)", "float[2,4,8]", 2),
    "Celu": Case(12, _X, "Celu (x)", "float[2,4,8]", 1),
    "Trilu": Case(14, _X, "Trilu (x)", "float[2,4,8]", 1),
    "CenterCropPad": Case(18, _X, "CenterCropPad (x, n)", "float[2,4,6]", 1, "int64[3] n = {2, 4, 6}"),
    "TensorScatter": Case(
        24, {"x": "float[2,3,8,4]", "u": "float[2,3,2,4]", "w": "int64[2]"}, "TensorScatter (x, u, w)", "float[2,3,8,4]", 4
    ),
    "Softmax, middle axis": Case(13, _X, "Softmax <axis = 1> (x)", "float[2,4,8]", 3),
    "NegativeLogLikelihoodLoss": Case(13, {"x": "float[2,4]", "l": "int64[2]"}, "NegativeLogLikelihoodLoss (x, l)", "float", 5),
    "SoftmaxCrossEntropyLoss": Case(13, {"x": "float[2,4]", "l": "int64[2]"}, "SoftmaxCrossEntropyLoss (x, l)", "float", 6),
}


def model_of(case: Case) -> ModelProto:
    """The operator between a Sin and a Cos."""
    inputs = ", ".join(f"{kind} {'before' if name == 'x' else name}" for name, kind in case.inputs.items())
    constants = f"<{case.constants}>" if case.constants else ""
    ir_version = 10 if case.opset > 20 else 8
    return parser.parse_model(
        f'<ir_version: {ir_version}, opset_import: ["" : {case.opset}]>\n'
        f"g ({inputs}) => ({case.output} z) {constants} {{ x = Sin (before)  y = {case.call}  z = Cos (y) }}"
    )


def node_count(graph: GraphProto) -> int:
    """The nodes of a graph and its subgraphs but for Constants."""
    inner = sum(node_count(attribute.g) for node in graph.node for attribute in node.attribute if attribute.HasField("g"))
    return inner + sum(node.op_type != "Constant" for node in graph.node)


def body_count(model: ModelProto) -> int | None:
    """The nodes of ONNX's function body of the operator, Constants too; None where it has none."""
    node = model.graph.node[1]
    schema: Any = onnx.defs.get_schema(node.op_type, model.opset_import[0].version)
    if schema.has_function:
        text = schema.get_function_with_opset_version(min(schema.function_opset_versions))
    elif schema.has_context_dependent_function:
        known = {value.name: value.type for value in model.graph.input}
        known |= {t.name: onnx.helper.make_tensor_type_proto(t.data_type, t.dims) for t in model.graph.initializer}
        known["x"] = known["before"]
        types = [known.get(name, TypeProto()).SerializeToString() for name in node.input]
        versions = schema.context_dependent_function_opset_versions
        text = schema.get_context_dependent_function_with_opset_version(min(versions), node.SerializeToString(), types)
    else:
        return None
    return len(onnx.FunctionProto.FromString(text).node)


def optimized_count(serialized: bytes) -> int | None:
    """The nodes that onnxruntime's optimizer leaves; None where onnxruntime does not load the model. Runs in a child."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder, "optimized.onnx"))
        try:
            onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
        except Exception:  # of many types, defined in C++
            return None
        return node_count(onnx.load(options.optimized_model_filepath).graph)


def rows(models: Sequence[tuple[str, ModelProto, int, int]], targets: Sequence[int], child: Executor) -> Iterator[list[Any]]:
    """Name, source, target, and the counts; of each model its name, itself, nodes that do not count, and nodes by hand (0: unknown)."""
    for name, model, around, by_hand in models:
        source = model.opset_import[0].version
        before = child.submit(optimized_count, model.SerializeToString()).result()
        for target in (target for target in targets if target < source):
            try:
                result = convert_version(model, target, compare="off").model
            except UnconvertibleError:
                yield [name, f"{source} → {target}", "refused", "", "", "", ""]
                continue
            after = child.submit(optimized_count, result.SerializeToString()).result()
            known = body_count(model) if around else None
            yield [
                name,
                f"{source} → {target}",
                node_count(result.graph) - around,
                by_hand or node_count(model.graph),
                "–" if known is None else known,
                *("–" if count is None else count - around for count in (before, after)),
            ]


def table(heads: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    """Markdown."""
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in (heads, ["---"] * len(heads), *lines))


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--targets", type=int, nargs="+", default=TARGETS)
    targets = options.parse_args(arguments).targets
    newest = onnx.defs.onnx_opset_version()
    operators = [(name, model_of(case), _AROUND, case.by_hand) for name, case in CASES.items() if case.opset <= newest]
    models = [(path.stem, onnx.load(path), 0, 0) for path in sorted(MODELS.glob("*.onnx"))]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as child:
        found = list(rows(operators, targets, child))
        ours, by_hand = (sum(line[column] for line in found if line[2] != "refused") for column in (2, 3))
        ends = ["original, optimized", "result, optimized"]
        print(table(["operator", "opset", "ours", "by hand", "ONNX's body", *ends], found))
        print(f"\nTogether {ours:,} nodes, by hand {by_hand:,}: {ours / by_hand:.2f} times as many.\n")
        lines = [[*line[:4], *line[5:]] for line in rows(models, targets, child)]
        print(table(["model", "opset", "ours", "original", *ends], lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
