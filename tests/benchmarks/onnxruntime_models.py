"""Models that onnxruntime's own tools write, back in ONNX's own operators: how many are, and compute the same.

    python tests/benchmarks/onnxruntime_models.py [--targets 13 18] [--show]

Takes `models/` and the two models of `models/make_quantized.py`, at their own opset and at 17; lets the tools of the installed
onnxruntime write each (its optimizer, its optimizer for transformers, its quantizer to QOperator, QDQ, 8 and 4 bits); and converts
what has operators of onnxruntime with --standard, which compares original and result.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported
ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "models"))

import make_quantized  # noqa: E402
import onnxruntime  # noqa: E402
from onnxruntime import quantization  # noqa: E402
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer  # noqa: E402

from split_rewrite.rewriter import Options, SplitRewriteError, convert_version  # noqa: E402

Tool = Callable[[Path, Path], None]
LEVELS = onnxruntime.GraphOptimizationLevel


def originals(folder: Path) -> Iterator[Path]:
    """The models, as files; those of a newer opset also at 17."""
    yield from sorted((ROOT / "models").glob("*.onnx"))
    for name, model in (("convnet", make_quantized.convnet()), ("block", make_quantized.block())):
        for opset in (21, 17):
            path = folder / f"{name}_opset{opset}.onnx"
            onnx.save(convert_version(model, opset, compare="off").model, path)
            yield path


class _Samples(quantization.CalibrationDataReader):
    def __init__(self, path: Path) -> None:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        stored = dict(np.load(path.with_suffix(".npz"))) if path.with_suffix(".npz").exists() else {}
        random = np.random.default_rng(0)
        self._samples = iter([{i.name: stored.get(i.name, _random(i, random)) for i in session.get_inputs()} for _ in range(2)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._samples, None)


def _random(value: onnxruntime.NodeArg, random: np.random.Generator) -> np.ndarray:
    shape = [size if isinstance(size, int) else 3 for size in value.shape]
    if "float" in value.type:
        return random.standard_normal(shape).astype(np.float32)
    return np.ones(shape, bool) if "bool" in value.type else random.integers(0, 2, shape)


def _optimize(level: onnxruntime.GraphOptimizationLevel) -> Tool:
    def optimize(given: Path, made: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.optimized_model_filepath = level, str(made)
        onnxruntime.InferenceSession(str(given), options, providers=["CPUExecutionProvider"])

    return optimize


def _optimize_transformer(model_type: str) -> Tool:
    def optimize(given: Path, made: Path) -> None:
        from onnxruntime.transformers.optimizer import optimize_model

        found = optimize_model(str(given), model_type=model_type, num_heads=make_quantized.HEADS, hidden_size=make_quantized.WIDTH)
        found.save_model_to_file(str(made))

    return optimize


def _quantize(form: str, activations: str, weights: str) -> Tool:
    kinds = quantization.QuantType
    return lambda given, made: quantization.quantize_static(
        str(given),
        str(made),
        _Samples(given),
        quant_format=getattr(quantization.QuantFormat, form),
        activation_type=kinds[activations],
        weight_type=kinds[weights],
    )


def _quantize_weights(bits: int, block: int, *, symmetric: bool, level: int | None = None) -> Tool:
    def quantize(given: Path, made: Path) -> None:
        quantizer = MatMulNBitsQuantizer(
            onnx.load(given), bits=bits, block_size=block, is_symmetric=symmetric, accuracy_level=level
        )
        quantizer.process()
        onnx.save(quantizer.model.model, made)

    return quantize


TOOLS: dict[str, Tool] = {
    "optimized, basic": _optimize(LEVELS.ORT_ENABLE_BASIC),
    "optimized, extended": _optimize(LEVELS.ORT_ENABLE_EXTENDED),
    "optimized, all": _optimize(LEVELS.ORT_ENABLE_ALL),
    "transformers, bert": _optimize_transformer("bert"),
    "transformers, gpt2": _optimize_transformer("gpt2"),
    "QOperator, uint8 int8": _quantize("QOperator", "QUInt8", "QInt8"),
    "QOperator, int8": _quantize("QOperator", "QInt8", "QInt8"),
    "QOperator, uint8": _quantize("QOperator", "QUInt8", "QUInt8"),
    "QDQ, int8": _quantize("QDQ", "QInt8", "QInt8"),
    "QDQ, int16": _quantize("QDQ", "QInt16", "QInt8"),
    "dynamic": lambda given, made: quantization.quantize_dynamic(str(given), str(made)),
    "4 bits": _quantize_weights(4, 32, symmetric=True),
    "4 bits, zero points": _quantize_weights(4, 128, symmetric=False),
    "4 bits, accuracy level 4": _quantize_weights(4, 32, symmetric=True, level=4),
    "8 bits": _quantize_weights(8, 64, symmetric=False),
}


def result_of(model: onnx.ModelProto, target: int) -> str:
    """ "equal", or what came of the conversion instead."""
    try:
        report = convert_version(model, target, options=Options(standard=True)).report
    except SplitRewriteError as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return "not compared" if report.comparison is None else report.comparison.status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, nargs="+", default=[13, 18])
    parser.add_argument("--show", action="store_true", help="print each model that is not equal")
    given = parser.parse_args()
    found: Counter[tuple[str, int, str]] = Counter()
    with tempfile.TemporaryDirectory() as name:
        for path in originals(Path(name)):
            for tool, make in TOOLS.items():
                made = Path(name, "made.onnx")
                try:
                    make(path, made)
                except Exception:  # the tools raise whatever they like
                    continue
                model = onnx.load(made)
                if not any(node.domain.startswith("com.microsoft") for node in model.graph.node):
                    continue
                for target in given.targets:
                    result = result_of(model, target)
                    found[tool, target, result.partition(":")[0]] += 1
                    if given.show and result != "equal":
                        print(f"{path.stem}, {tool}, to {target}: {result}", flush=True)
    for tool in TOOLS:
        for target in given.targets:
            counts = {result: count for (made_by, to, result), count in found.items() if (made_by, to) == (tool, target)}
            if counts:
                print(f"{tool:26} to {target}: {counts.pop('equal', 0)} equal {counts or ''}")


if __name__ == "__main__":
    main()
