"""How many nodes a conversion leaves, beside what an engineer writes by hand, ONNX's function body, and what onnxruntime fuses.

    python tests/benchmarks/result_quality.py                     # a table of operators, then one of the models in models/
    python tests/benchmarks/result_quality.py --targets 11 13 17 --models FOLDER --rounds 200

A row for each operator (or model) and target: nodes of the result, of the form by hand, of ONNX's body as it is pasted, and of what
onnx's own converter gives; then nodes that onnxruntime's optimizer leaves of the original and of the result. Constants are not
counted. An operator stands between two others, as fusions do not reach the inputs and outputs of a graph; the two are not counted
either. With --rounds, models that have inputs beside them (NAME.npz) are run in one thread, the original, the result and the original
once more by turns, and the lower quartiles of their times compared: the third says what the noise is.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, TypeProto, parser, version_converter

from split_rewrite.rewriter import UnconvertibleError, convert_version

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported, also by children

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
    more_outputs: str = ""
    """Names of the outputs behind the first."""
    targets: tuple[int, ...] = TARGETS


_BELOW_11, _BELOW_10, _BELOW_9 = (10,), (9,), (8,)
_X = {"x": "float[2,4,8]"}
_QKV = dict.fromkeys(("x", "k", "v"), "float[2,4,6,8]")
_OPEN = {"x": "float[B,4,S,8]", "k": "float[B,4,T,8]", "v": "float[B,4,T,8]"}
_PAST = {**dict.fromkeys(("x", "k", "v"), "float[2,4,1,8]"), **dict.fromkeys(("pk", "pv"), "float[2,4,6,8]")}
_FLAT = dict.fromkeys(("x", "k", "v"), "float[2,6,32]")
_GROUPED = {"x": "float[2,4,6,8]", "k": "float[2,2,6,8]", "v": "float[2,2,6,8]"}
_MASK = {**_QKV, "m": "float[6,6]"}
_ANGLES = {"c": "float[50,4]", "s": "float[50,4]", "p": "int64[2,6]"}
_IMAGE = {"x": "float[2,4,6,6]"}
_SCALE = "float[8] s = {1,2,3,4,5,6,7,8}, float[8] b = {1,2,3,4,5,6,7,8}"
_HALF_SCALE = "float16[8] s = {1,2,3,4,5,6,7,8}"
_CHANNELS = "float[4] s = {1,2,3,4}, float[4] b = {1,2,3,4}"
_LABELS = {"x": "float[2,4]", "l": "int64[2]"}
_VECTOR, _PAIR = {"x": "float[4]"}, {"x": "float[4]", "k": "float[4]"}
_INTEGERS = {"x": "int64[4]", "k": "int64[4]"}
_TABLE = {"x": "float[2,4]"}
_AXIS = "int64[1] a = {1}"

CASES = {
    "Gelu": Case(20, _X, "Gelu (x)", "float[2,4,8]", 5),
    "Gelu, tanh": Case(20, _X, 'Gelu <approximate = "tanh"> (x)', "float[2,4,8]", 8),
    "LayerNormalization": Case(17, _X, "LayerNormalization (x, s, b)", "float[2,4,8]", 9, _SCALE),
    "LayerNormalization, no bias": Case(17, _X, "LayerNormalization (x, s)", "float[2,4,8]", 9, _SCALE),
    "LayerNormalization, float16": Case(
        17, {"x": "float16[2,4,8]"}, "LayerNormalization (x, s)", "float16[2,4,8]", 11, _HALF_SCALE
    ),
    "RMSNormalization": Case(23, _X, "RMSNormalization (x, s)", "float[2,4,8]", 6, _SCALE),
    "RMSNormalization, float16": Case(23, {"x": "float16[2,4,8]"}, "RMSNormalization (x, s)", "float16[2,4,8]", 8, _HALF_SCALE),
    "GroupNormalization": Case(21, _IMAGE, "GroupNormalization <num_groups = 2> (x, s, b)", "float[2,4,6,6]", 5, _CHANNELS),
    "MeanVarianceNormalization": Case(
        9, {"x": "float[2,4,3,3]"}, "MeanVarianceNormalization (x)", "float[2,4,3,3]", 7, targets=_BELOW_9
    ),
    "LpNormalization": Case(22, _X, "LpNormalization (x)", "float[2,4,8]", 1),
    "Attention": Case(23, _QKV, "Attention (x, k, v)", "float[2,4,6,8]", 5),
    "Attention, open": Case(23, _OPEN, "Attention (x, k, v)", "float[B,4,S,8]", 5),
    "Attention, causal": Case(23, _QKV, "Attention <is_causal = 1> (x, k, v)", "float[2,4,6,8]", 6),
    "Attention, causal, open": Case(23, _OPEN, "Attention <is_causal = 1> (x, k, v)", "float[B,4,S,8]", 15),
    "Attention, mask at run time": Case(23, _MASK, "Attention (x, k, v, m)", "float[2,4,6,8]", 9),
    "Attention, grouped heads": Case(23, _GROUPED, "Attention (x, k, v)", "float[2,4,6,8]", 7),
    "Attention, past": Case(23, _PAST, "Attention (x, k, v, , pk, pv)", "float[2,4,1,8]", 7),
    "Attention, softcap": Case(23, _QKV, "Attention <softcap = 5.0> (x, k, v)", "float[2,4,6,8]", 8),
    "Attention, 3-D": Case(23, _FLAT, "Attention <q_num_heads = 4, kv_num_heads = 4> (x, k, v)", "float[2,6,32]", 12),
    "RotaryEmbedding": Case(23, {"x": "float[2,4,6,8]", **_ANGLES}, "RotaryEmbedding (x, c, s, p)", "float[2,4,6,8]", 12),
    "RotaryEmbedding, interleaved": Case(
        23, {"x": "float[2,4,6,8]", **_ANGLES}, "RotaryEmbedding <interleaved = 1> (x, c, s, p)", "float[2,4,6,8]", 14
    ),
    "RotaryEmbedding, 3-D": Case(
        23, {"x": "float[2,6,32]", **_ANGLES}, "RotaryEmbedding <num_heads = 4> (x, c, s, p)", "float[2,6,32]", 14
    ),
    "Swish": Case(24, _X, "Swish (x)", "float[2,4,8]", 2),
    "Mish": Case(18, _X, "Mish (x)", "float[2,4,8]", 3),
    "HardSwish": Case(14, _X, "HardSwish (x)", "float[2,4,8]", 2),
    "Celu": Case(12, _X, "Celu (x)", "float[2,4,8]", 1),
    "ThresholdedRelu": Case(10, _VECTOR, "ThresholdedRelu (x)", "float[4]", 2, targets=_BELOW_10),
    "Shrink": Case(9, _VECTOR, "Shrink (x)", "float[4]", 8, targets=_BELOW_9),
    "Trilu": Case(14, _X, "Trilu (x)", "float[2,4,8]", 1),
    "Trilu, open square": Case(14, {"x": "float[N,N]"}, "Trilu (x)", "float[N,N]", 6),
    "CenterCropPad": Case(18, _X, "CenterCropPad (x, n)", "float[2,4,6]", 1, "int64[3] n = {2, 4, 6}"),
    "HannWindow": Case(17, _X, "HannWindow (n)", "float[8]", 0, "int64 n = {8}"),
    "HannWindow, open": Case(17, {**_X, "n": "int64"}, "HannWindow (n)", "float[N]", 9),
    "MelWeightMatrix": Case(
        17,
        _X,
        "MelWeightMatrix (a, d, r, l, u)",
        "float[9,4]",
        0,
        "int64 a = {4}, int64 d = {16}, int64 r = {8000}, float l = {0}, float u = {4000}",
    ),
    "DFT": Case(17, {"x": "float[1,8,1]"}, "DFT <axis = 1> (x)", "float[1,8,2]", 3),
    "Col2Im": Case(18, {"x": "float[1,8,9]"}, "Col2Im (x, i, b)", "float[1,2,4,4]", 5, "int64[2] i = {4,4}, int64[2] b = {2,2}"),
    "Col2Im, blocks side by side": Case(
        18,
        {"x": "float[1,8,4]"},
        "Col2Im <strides = [2, 2]> (x, i, b)",
        "float[1,2,4,4]",
        3,
        "int64[2] i = {4,4}, int64[2] b = {2,2}",
    ),
    "AffineGrid": Case(20, {"x": "float[1,2,3]"}, "AffineGrid (x, n)", "float[1,4,4,2]", 3, "int64[4] n = {1,1,4,4}"),
    "TensorScatter": Case(
        24, {"x": "float[2,3,8,4]", "u": "float[2,3,2,4]", "w": "int64[2]"}, "TensorScatter (x, u, w)", "float[2,3,8,4]", 4
    ),
    "Split into 3, open": Case(18, {"x": "float[B,N]"}, "Split <axis = 1, num_outputs = 3> (x)", "float[B,M]", 8, "", "o, p"),
    "Split into 2": Case(18, _X, "Split <axis = 1, num_outputs = 2> (x)", "float[2,2,8]", 1, "", "o"),
    "Softmax, middle axis": Case(13, _X, "Softmax <axis = 1> (x)", "float[2,4,8]", 3),
    "LogSoftmax, middle axis": Case(13, _X, "LogSoftmax <axis = 1> (x)", "float[2,4,8]", 3),
    "Hardmax, middle axis": Case(13, _X, "Hardmax <axis = 1> (x)", "float[2,4,8]", 3),
    "NegativeLogLikelihoodLoss": Case(13, _LABELS, "NegativeLogLikelihoodLoss (x, l)", "float", 5),
    "SoftmaxCrossEntropyLoss": Case(13, _LABELS, "SoftmaxCrossEntropyLoss (x, l)", "float", 6),
    "ReduceSum": Case(13, _X, "ReduceSum (x, a)", "float[2,1,8]", 1, _AXIS),
    "ReduceL2": Case(18, _X, "ReduceL2 (x, a)", "float[2,1,8]", 1, _AXIS),
    "ReduceMax": Case(18, _X, "ReduceMax (x, a)", "float[2,1,8]", 1, _AXIS),
    "Pad with axes": Case(18, _X, "Pad (x, p, , a)", "float[2,4,10]", 1, "int64[2] p = {1,1}, int64[1] a = {2}"),
    "Pad, wrapped": Case(19, _X, 'Pad <mode = "wrap"> (x, p)', "float[2,4,10]", 1, "int64[6] p = {0,0,1,0,0,1}"),
    "Resize with axes": Case(
        18, _IMAGE, 'Resize <mode = "linear", axes = [2, 3]> (x, , r)', "float[2,4,12,12]", 1, "float[2] r = {2, 2}"
    ),
    "Squeeze": Case(13, {"x": "float[2,1,8]"}, "Squeeze (x, a)", "float[2,8]", 1, _AXIS),
    "Pow by int64": Case(12, _VECTOR, "Pow (x, e)", "float[4]", 1, "int64 e = {2}"),
    "GreaterOrEqual": Case(12, _PAIR, "GreaterOrEqual (x, k)", "bool[4]", 3),
    "Bernoulli": Case(15, _X, "Bernoulli (x)", "float[2,4,8]", 3),
    "Shape of some axes": Case(15, {"x": "float[A,B,C]"}, "Shape <start = 1> (x)", "int64[2]", 2),
    "Einsum": Case(12, {"x": "float[2,4,8]", "k": "float[2,3,8]"}, 'Einsum <equation = "bid,bjd->bij"> (x, k)', "float[2,4,3]", 2),
    "ArgMax, last": Case(12, _X, "ArgMax <axis = 1, select_last_index = 1> (x)", "int64[2,1,8]", 3),
    "DepthToSpace, CRD": Case(
        11, {"x": "float[1,4,2,2]"}, 'DepthToSpace <blocksize = 2, mode = "CRD"> (x)', "float[1,1,4,4]", 2, targets=_BELOW_11
    ),
    "TopK, smallest": Case(11, _X, "TopK <largest = 0> (x, n)", "float[2,4,3]", 3, "int64[1] n = {3}", "o", _BELOW_11),
    "Gemm without C": Case(11, {"x": "float[2,3]", "k": "float[3,4]"}, "Gemm (x, k)", "float[2,4]", 1, targets=_BELOW_11),
    "CumSum, short": Case(11, _TABLE, "CumSum (x, a)", "float[2,4]", 5, "int64 a = {1}", targets=_BELOW_11),
    "GatherElements": Case(
        11, {**_TABLE, "i": "int64[2,4]"}, "GatherElements <axis = 1> (x, i)", "float[2,4]", 6, targets=_BELOW_11
    ),
    "GatherND": Case(11, {**_TABLE, "i": "int64[3,2]"}, "GatherND (x, i)", "float[3]", 7, targets=_BELOW_11),
    "ScatterElements": Case(
        11,
        {**_TABLE, "i": "int64[2,4]", "u": "float[2,4]"},
        "ScatterElements <axis = 1> (x, i, u)",
        "float[2,4]",
        4,
        targets=_BELOW_11,
    ),
    "Range, by 1": Case(11, {"x": "int64"}, "Range (f, x, d)", "int64[N]", 6, "int64 f = {0}, int64 d = {1}", targets=_BELOW_11),
    "Range": Case(11, {"x": "float", "k": "float", "d": "float"}, "Range (x, k, d)", "float[N]", 12, targets=_BELOW_11),
    "Slice, at run time": Case(
        10, {"x": "float[A,B]", "s": "int64[1]", "e": "int64[1]"}, "Slice (x, s, e, a)", "float[A,C]", 17, _AXIS, targets=_BELOW_10
    ),
    "Slice with steps": Case(
        10,
        {"x": "float[4,8]"},
        "Slice (x, s, e, a, t)",
        "float[4,3]",
        1,
        "int64[1] s = {1}, int64[1] e = {7}, int64[1] a = {1}, int64[1] t = {2}",
        targets=_BELOW_10,
    ),
    "Mod": Case(10, _INTEGERS, "Mod (x, k)", "int64[4]", 8, targets=_BELOW_10),
    "Clip": Case(11, _VECTOR, "Clip (x, l, h)", "float[4]", 1, "float l = {0}, float h = {6}", targets=_BELOW_11),
    "IsInf": Case(10, _VECTOR, "IsInf (x)", "bool[4]", 2, targets=_BELOW_10),
    "Where": Case(9, {**_PAIR, "c": "bool[4]"}, "Where (c, x, k)", "float[4]", 7, targets=_BELOW_9),
    "Where, known condition": Case(9, _PAIR, "Where (c, x, k)", "float[4]", 3, "bool[4] c = {1, 0, 1, 0}", targets=_BELOW_9),
    "Less, int32": Case(9, {"x": "int32[4]", "k": "int32[4]"}, "Less (x, k)", "bool[4]", 3, targets=_BELOW_9),
    "Cosh": Case(9, _VECTOR, "Cosh (x)", "float[4]", 7, targets=_BELOW_9),
    "IsNaN": Case(9, _VECTOR, "IsNaN (x)", "bool[4]", 4, targets=_BELOW_9),
}
"""What the operator means for negative indices, NaN and infinities is part of the form by hand."""


def model_of(case: Case) -> ModelProto:
    """The operator between two others that onnxruntime does not fuse with it: Sin and Cos, Abs for integers, Not for bools."""
    inputs = ", ".join(f"{kind} {'before' if name == 'x' else name}" for name, kind in case.inputs.items())
    constants = f"<{case.constants}>" if case.constants else ""
    ir_version = 10 if case.opset > 20 else 8
    before = {"float": "Sin", "bool": "Not"}.get(case.inputs["x"].split("[")[0].rstrip("16"), "Abs")
    after = {"float": "Cos", "bool": "Not"}.get(case.output.split("[")[0].rstrip("16"), "Abs")
    outputs = ", ".join(filter(None, ("y", case.more_outputs)))
    return parser.parse_model(
        f'<ir_version: {ir_version}, opset_import: ["" : {case.opset}]>\n'
        f"g ({inputs}) => ({case.output} z) {constants} {{ x = {before} (before)  {outputs} = {case.call}  z = {after} (y) }}"
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


def peer_count(serialized: bytes, target: int) -> int | None:
    """The nodes that onnx's own converter makes of a model; None where it gives none. Runs in a child."""
    try:
        return node_count(version_converter.convert_version(onnx.load_from_string(serialized), target).graph)
    except Exception:  # of many types, defined in C++
        return None


def time_ratios(original: bytes, result: bytes, inputs: dict[str, np.ndarray], rounds: int) -> tuple[float, float]:
    """The time of the result over that of the original, and that of the original over itself. Runs in a child."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    sessions = [onnxruntime.InferenceSession(each, options, ["CPUExecutionProvider"]) for each in (original, result, original)]
    times: list[list[float]] = [[], [], []]
    for number in range(rounds):
        for place in (number % 3, (number + 1) % 3, (number + 2) % 3):
            start = perf_counter()
            sessions[place].run(None, inputs)
            times[place].append(perf_counter() - start)
    before, after, again = (quantiles(each, n=4)[0] for each in times)
    return after / before, again / before


def operator_rows(targets: Sequence[int], child: Executor) -> Iterator[list[Any]]:
    """Name, opsets, and the counts."""
    newest = onnx.defs.onnx_opset_version()
    for name, case in CASES.items():
        if case.opset > newest:
            continue
        model = model_of(case)
        before = child.submit(optimized_count, model.SerializeToString()).result()
        for target in (target for target in (case.targets if case.targets != TARGETS else targets) if target < case.opset):
            result = convert_version(model, target, compare="off").model
            peer = child.submit(peer_count, model.SerializeToString(), target).result()
            after = child.submit(optimized_count, result.SerializeToString()).result()
            counts = (peer, before, after)
            shown = ["–" if count is None else count - _AROUND for count in counts]
            ours, body = node_count(result.graph) - _AROUND, body_count(model)
            yield [name, f"{case.opset} → {target}", ours, case.by_hand, "–" if body is None else body, *shown]


def model_rows(folder: Path, targets: Sequence[int], rounds: int, child: Executor) -> Iterator[list[Any]]:
    """Name, opsets, the counts, and the ratios of nodes after the optimizer and of times."""
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        source, data = model.opset_import[0].version, path.with_suffix(".npz")
        before = child.submit(optimized_count, model.SerializeToString()).result()
        for target in (target for target in targets if target < source):
            opsets = f"{source} → {target}"
            try:
                result = convert_version(model, target, compare="off").model
            except UnconvertibleError:
                yield [path.stem, opsets, "refused", *[""] * 5]
                continue
            after = child.submit(optimized_count, result.SerializeToString()).result()
            line = [path.stem, opsets, node_count(result.graph), node_count(model.graph), before or "–", after or "–"]
            line.append(f"{after / before:.2f}" if before and after else "–")
            if rounds and data.exists() and before and after:
                models = model.SerializeToString(), result.SerializeToString()
                ratios = child.submit(time_ratios, *models, dict(np.load(data)), rounds).result()
                line.append(" / ".join(f"{ratio:.2f}" for ratio in ratios))
            yield line


def table(heads: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    """Markdown."""
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in (heads, ["---"] * len(heads), *lines))


def _summary(lines: Sequence[Sequence[Any]], column: int, what: str) -> str:
    """The median and the largest of the ratios that stand first in a column, for each target."""
    found: dict[str, list[float]] = {}
    for line in lines:
        if len(line) > column and line[column] not in ("", "–"):
            found.setdefault(line[1].split()[-1], []).append(float(line[column].split()[0]))
    each = (f"{target}: median {median(ratios):.2f}, largest {max(ratios):.2f}" for target, ratios in sorted(found.items()))
    return f"{what} by target: " + "; ".join(each) + "."


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--targets", type=int, nargs="+", default=TARGETS)
    options.add_argument("--models", type=Path, default=MODELS, help="a folder of models")
    options.add_argument("--rounds", type=int, default=0, help="how often each model is run to compare times")
    given = options.parse_args(arguments)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as child:
        found = list(operator_rows(given.targets, child))
        ours, by_hand = (sum(line[column] for line in found) for column in (2, 3))
        ends = ["original, optimized", "result, optimized"]
        print(table(["operator", "opset", "ours", "by hand", "ONNX's body", "onnx's converter", *ends], found))
        print(f"\nTogether {ours:,} nodes, by hand {by_hand:,}: {ours / by_hand:.2f} times as many.\n")
        lines = list(model_rows(given.models, given.targets, given.rounds, child))
        heads = ["model", "opset", "ours", "original", *ends, "ratio", *(["times / noise"] if given.rounds else [])]
        print(table(heads, lines))
        print("\n" + _summary(lines, 6, "Nodes after the optimizer"))
        if given.rounds:
            print("\n" + _summary(lines, 7, "Times"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
