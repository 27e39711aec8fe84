"""What a conversion costs, beside the limit (load + save, cp) and beside onnx's and onnxscript's converters, in one run.

    python tests/benchmarks/speed.py [--quick] [--peers] [--folder DIR]

Every figure is that of a whole process, start-up included, and the median of several runs (one of the peers, which take minutes);
of copies, the fastest, because memory that the machine has to find first makes single ones three times as slow, cp as well as ours.
Processes that are compared run in turn, so that a slow minute of the machine hits both. CPU is user + system time of the process and its children, in seconds; memory
the largest resident set of one process, in MB.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Container, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CONVERT = [sys.executable, "-m", "split_rewrite.rewriter", "-q", "--compare", "off", "-t"]
LOAD_SAVE = "import onnx, sys; onnx.save(onnx.load(sys.argv[1]), sys.argv[2])"
ONNX = (
    "import onnx, sys; from onnx import version_converter as v;"
    "onnx.save(v.convert_version(onnx.load(sys.argv[1]), int(sys.argv[3])), sys.argv[2])"
)
ONNXSCRIPT = (
    "import onnx, sys, onnx_ir as ir; from onnxscript import version_converter as v;"
    "m = ir.load(sys.argv[1]); v.convert_version(m, int(sys.argv[3]), fallback=True); ir.save(m, sys.argv[2])"
)

PEERS = {"onnx.version_converter": ONNX, "onnxscript.version_converter": ONNXSCRIPT}


_PAUSE = 3
"""Seconds."""


@dataclass
class Cost:
    """Of the runs of one command."""

    cpu: float
    wall: float
    memory: float
    failed: bool = False


def measure(commands: dict[str, list[str]], runs: int, slow: Container[str] = (), outputs: Sequence[Path] = ()) -> dict[str, Cost]:
    """The commands in turn, `runs` times after one warm-up, the `slow` ones once; the `outputs` of one are gone before the next.

    With `outputs` they are copies: the fastest run counts, else the median. A virtual machine may give freed memory back to its host
    two seconds after it was freed, which whoever runs just then pays for: copies start in other orders, and after a pause.
    """
    seen: dict[str, list[Cost]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        names = reversed(commands) if outputs and turn % 2 else commands
        for name, command in [(name, commands[name]) for name in names]:
            if outputs:
                time.sleep(_PAUSE)
            for path in outputs:
                path.unlink(missing_ok=True)
            if turn and not (turn > 1 and name in slow):
                seen[name].append(_once(command))
            elif not turn and name not in slow:
                _once(command)
    return {name: _summary(costs, min if outputs else statistics.median) for name, costs in seen.items()}


def _once(command: list[str]) -> Cost:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, process.returncode != 0)


def _summary(costs: list[Cost], of: Callable[[list[float]], float]) -> Cost:
    return Cost(
        of([cost.cpu for cost in costs]),
        of([cost.wall for cost in costs]),
        max(cost.memory for cost in costs),
        any(cost.failed for cost in costs),
    )


def show(title: str, costs: dict[str, Cost], base: str) -> None:
    """One table: each command, and its ratios to `base`."""
    print(f"\n{title}")
    print(f"  {'':34}{'CPU':>8}{'wall':>8}{'MB':>8}   {'CPU ÷':>6}{'wall ÷':>8}   ({base} = 1)")
    for name, cost in costs.items():
        reference = costs[base]
        note = "  FAILED" if cost.failed else ""
        print(
            f"  {name:34}{cost.cpu:8.2f}{cost.wall:8.2f}{cost.memory:8.0f}"
            f"   {cost.cpu / reference.cpu:6.2f}{cost.wall / reference.wall:8.2f}{note}"
        )


# -- models


def made(maker: Callable[..., Path], *arguments: object) -> Path:
    """`maker(*arguments)`, in a process of its own: what this one has in memory would count for the commands that it starts."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(maker, *arguments).result()


def chain(path: Path, nodes: int, opset: int) -> Path:
    """`nodes` nodes, every fourth a Split in the form of `opset`: constant sizes below 18, num_outputs from 18."""
    nodes_made: list[onnx.NodeProto] = []
    previous = "x"
    inputs, attributes = ([], {"split": [2, 2]}) if opset < 13 else (["sizes"], {}) if opset < 18 else ([], {"num_outputs": 2})
    for i in range(nodes // 4):
        nodes_made.append(helper.make_node("Split", [previous, *inputs], [f"a{i}", f"b{i}"], f"split{i}", axis=1, **attributes))
        nodes_made.append(helper.make_node("Relu", [f"a{i}"], [f"r{i}"], f"relu{i}"))
        nodes_made.append(helper.make_node("Neg", [f"b{i}"], [f"n{i}"], f"neg{i}"))
        nodes_made.append(helper.make_node("Concat", [f"r{i}", f"n{i}"], [f"c{i}"], f"concat{i}", axis=1))
        previous = f"c{i}"
    sizes = [numpy_helper.from_array(np.array([2, 2], np.int64), "sizes")] if inputs else []
    return _save(path, nodes_made, previous, sizes, opset)


def bare_chain(path: Path, nodes: int) -> Path:
    """As `chain` at opset 13, its Splits without sizes: each needs num_outputs at 18."""
    chain(path, nodes, 13)
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "Split":
            del node.input[1:]
    del model.graph.initializer[:]
    onnx.save(model, path)
    return path


def normalizations(path: Path, nodes: int, opset: int = 17) -> Path:
    """`nodes` nodes without value_info, every fourth a LayerNormalization, which becomes nine nodes below opset 17."""
    made: list[onnx.NodeProto] = []
    previous = "x"
    for i in range(nodes // 4):
        made.append(helper.make_node("LayerNormalization", [previous, "scale", "bias"], [f"n{i}"], f"norm{i}", axis=-1))
        made.append(helper.make_node("Relu", [f"n{i}"], [f"r{i}"], f"relu{i}"))
        made.append(helper.make_node("Add", [f"r{i}", "bias"], [f"a{i}"], f"add{i}"))
        made.append(helper.make_node("Tanh", [f"a{i}"], [f"t{i}"], f"tanh{i}"))
        previous = f"t{i}"
    weights = [numpy_helper.from_array(np.ones(4, np.float32), name) for name in ("scale", "bias")]
    return _save(path, made, previous, weights, opset)


def _save(path: Path, nodes: list[onnx.NodeProto], last: str, initializers: list[TensorProto], opset: int) -> Path:
    declared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ("x", last)]
    graph = helper.make_graph(nodes, "chain", declared[:1], declared[1:], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def heavy(path: Path, gigabytes: float, external: bool, kind: int = TensorProto.FLOAT, opset: int = 18) -> Path:
    """One Split and weights of that size, as tensors of 64 MB; external ones are real bytes in one file beside the model."""
    bits = {TensorProto.INT4: 4, TensorProto.FLOAT8E4M3FN: 8, TensorProto.BFLOAT16: 16}.get(kind, 32)
    count = math.ceil(gigabytes * 2**30 / 2**26)
    payload = np.random.default_rng(0).integers(0, 255, 2**26, np.uint8).tobytes()
    tensors: list[TensorProto] = []
    data = path.with_suffix(".data")
    if external:
        data.unlink(missing_ok=True)
    for i in range(count):
        tensor = TensorProto(name=f"w{i}", data_type=kind, dims=[2**26 * 8 // bits])  # type: ignore[arg-type]
        if external:
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", data.name), ("offset", str(i * 2**26)), ("length", str(2**26))):
                tensor.external_data.add(key=key, value=value)
            with data.open("ab") as file:
                file.write(payload)
        else:
            tensor.raw_data = payload
        tensors.append(tensor)
    parts = {"num_outputs": 2} if opset >= 18 else {}
    node = helper.make_node("Split", ["x"], ["a", "y"], "split", axis=1, **parts)
    declared = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, d]) for n, d in (("x", 4), ("y", 2))]
    graph = helper.make_graph([node], "heavy", declared[:1], declared[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 18 else 8)
    path.write_bytes(model.SerializeToString())
    return path


# -- the tables


def start_up(folder: Path, runs: int) -> None:
    model, out = made(chain, folder / "tiny.onnx", 4, 13), folder / "out.onnx"
    commands = {
        "python -c 'import onnx'": [sys.executable, "-c", "import onnx"],
        "split-rewrite --help": [sys.executable, "-m", "split_rewrite.rewriter", "--help"],
        "split-rewrite -t 18, 4 nodes": [*CONVERT, "18", str(model), str(out)],
    }
    show("Start-up", measure(commands, runs), "python -c 'import onnx'")


def many_nodes(folder: Path, nodes: int, runs: int, peers: bool) -> None:
    out = folder / "out.onnx"
    models = {
        "13 → 11": (made(chain, folder / "chain13.onnx", nodes, 13), "11"),
        "13 → 18": (made(bare_chain, folder / "bare13.onnx", nodes), "18"),
        "11 → 13": (made(chain, folder / "chain11.onnx", nodes, 11), "13"),
        "18 → 11": (made(chain, folder / "chain18.onnx", nodes, 18), "11"),
    }
    for title, (model, target) in models.items():
        files = [str(model), str(out)]
        commands = {
            "load + save": [sys.executable, "-c", LOAD_SAVE, *files],
            "split-rewrite": [*CONVERT, target, *files],
        }
        if peers:
            commands |= {name: [sys.executable, "-c", program, *files, target] for name, program in PEERS.items()}
        costs = measure(commands, runs, slow=PEERS)
        show(f"{nodes:,} nodes, every fourth a rewritten Split, {title}, check included", costs, "load + save")


def made_nodes(folder: Path, nodes: int, runs: int) -> None:
    """CPU of a node that a rule makes, against that of a node that nothing touches; 3 is the most that it may cost."""
    out, tiny = folder / "out.onnx", _tiny(folder)
    model = made(normalizations, folder / "normalizations.onnx", nodes)
    result = [*CONVERT, "16", str(model), str(out)]
    commands = {"start-up": [*CONVERT, "11", *tiny], "untouched": [*CONVERT, "17", str(model), str(out)], "rewritten": result}
    costs = measure(commands, runs)
    show(f"{nodes:,} nodes, every fourth a LayerNormalization, without value_info, 17 → 17 and 17 → 16", costs, "untouched")
    made_count = len(onnx.load(out).graph.node) - (nodes - nodes // 4)
    untouched = (costs["untouched"].cpu - costs["start-up"].cpu) / nodes
    each = (costs["rewritten"].cpu - costs["untouched"].cpu) / made_count
    print(
        f"  {untouched * 1e6:.0f} µs an untouched node, {each * 1e6:.0f} µs each of {made_count:,} made nodes, {each / untouched:.1f} times"
    )


def through_onnx_ir(folder: Path, nodes: int, runs: int) -> None:
    """An onnx_ir.Model costs what a ModelProto does, and the way to a ModelProto and back."""
    model = str(made(chain, folder / "chain18.onnx", nodes, 18))
    start = "import sys, onnx, onnx_ir as ir; from split_rewrite.rewriter import convert_version as convert; "
    programs = {
        "ModelProto, to_proto, from_proto": "ir.from_proto(ir.to_proto(ir.load(sys.argv[1]))); convert(onnx.load(sys.argv[1]), 11, compare='off')",
        "onnx_ir.Model": "convert(ir.load(sys.argv[1]), 11, compare='off')",
    }
    costs = measure({name: [sys.executable, "-c", start + program, model] for name, program in programs.items()}, runs)
    show(f"{nodes:,} nodes, every fourth a rewritten Split, 18 → 11, from Python", costs, "ModelProto, to_proto, from_proto")


def big_file(folder: Path, gigabytes: float, runs: int) -> None:
    model, out = made(heavy, folder / "heavy.onnx", gigabytes, False), folder / "heavy-out.onnx"
    commands = {"cp": ["cp", str(model), str(out)], "split-rewrite -t 13": [*CONVERT, "13", str(model), str(out)]}
    show(f"{gigabytes:g} GB of weights in the file", measure(commands, runs, outputs=[out]), "cp")
    model.unlink()
    out.unlink(missing_ok=True)


def external_data(folder: Path, gigabytes: float, runs: int) -> None:
    model = made(heavy, folder / "external.onnx", gigabytes, True)
    data = model.with_suffix(".data")
    same = [*CONVERT, "13", str(model), str(folder / "external-out.onnx")]
    importing = [sys.executable, "-c", "import onnx"]
    commands = {"python -c 'import onnx'": importing, "split-rewrite -t 13": same}
    show(f"{gigabytes:g} GB of external data, same folder", measure(commands, runs), "python -c 'import onnx'")
    with tempfile.TemporaryDirectory(dir=folder) as other:
        outputs = [Path(other, name) for name in ("copy.data", "out.onnx", "out.onnx.data")]
        commands = {
            "cp of the data": ["cp", str(data), str(outputs[0])],
            "split-rewrite -t 13": [*CONVERT, "13", str(model), str(outputs[1])],
        }
        costs = measure(commands, 2 * runs, outputs=outputs)
        show(f"{gigabytes:g} GB of external data, other folder", costs, "cp of the data")
    for file in (model, data):
        file.unlink()


def narrow_weights(folder: Path, gigabytes: float, runs: int) -> None:
    """Weights of a type that the target lacks are widened while they are written; cp writes as much as that."""
    for kind, opset in ((TensorProto.INT4, 21), (TensorProto.FLOAT8E4M3FN, 19), (TensorProto.BFLOAT16, 13)):
        model, out = made(heavy, folder / "narrow.onnx", gigabytes, True, kind, opset), folder / "wide.onnx"
        convert = [*CONVERT, str(opset - 1), str(model), str(out)]
        subprocess.run(convert, check=True)
        data, wide, copy = folder / "wide.onnx.data", folder / "wide.kept", folder / "wide.copied"
        data.rename(wide)
        commands = {"cp of the result's data": ["cp", str(wide), str(copy)], f"split-rewrite -t {opset - 1}": convert}
        costs = measure(commands, runs, outputs=[out, data, copy])
        show(f"{gigabytes:g} GB of {TensorProto.DataType.Name(kind)} in external data, widened", costs, "cp of the result's data")
        for file in (model, model.with_suffix(".data"), wide, out, data, copy):
            file.unlink(missing_ok=True)


def growth(folder: Path, sizes: list[int], runs: int) -> None:
    """CPU of a conversion as the model grows, less the start-up; the exponent of the last step (1 = linear)."""
    print("\nGrowth, 13 → 11")
    out, base = folder / "out.onnx", measure({"tiny": [*CONVERT, "11", *_tiny(folder)]}, runs)["tiny"].cpu
    previous: tuple[int, float] | None = None
    for nodes in sizes:
        model = made(chain, folder / "grow.onnx", nodes, 13)
        cost = measure({"ours": [*CONVERT, "11", str(model), str(out)]}, runs if nodes < 500_000 else 1)["ours"]
        net = max(cost.cpu - base, 1e-3)
        exponent = "" if previous is None else f"  exponent {math.log(net / previous[1], nodes / previous[0]):.2f}"
        print(f"  {nodes:>9,} nodes {cost.cpu:8.2f} s CPU {cost.memory:6.0f} MB {net / nodes * 1e6:8.1f} µs a node{exponent}")
        previous = (nodes, net)


def _tiny(folder: Path) -> list[str]:
    return [str(made(chain, folder / "tiny.onnx", 4, 13)), str(folder / "out.onnx")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller models, fewer runs")
    parser.add_argument("--peers", action="store_true", help="onnx's and onnxscript's converters too (minutes)")
    parser.add_argument("--folder", help="where the models go; needs 24 GB (default: the system's temporary folder)")
    arguments = parser.parse_args()
    runs = 3 if arguments.quick else 5
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("onnx", "onnxscript", "numpy", "protobuf"))
    print(f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {versions}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        start_up(folder, runs * 2)
        many_nodes(folder, 20_000 if arguments.quick else 100_000, runs, arguments.peers)
        made_nodes(folder, 12_000 if arguments.quick else 60_000, runs)
        through_onnx_ir(folder, 20_000, runs)
        big_file(folder, 0.25 if arguments.quick else 1, runs * 2)
        if not arguments.quick:
            big_file(folder, 1.9, runs * 2)
        external_data(folder, 0.5 if arguments.quick else 4, runs)
        narrow_weights(folder, 0.5 if arguments.quick else 4, runs)
        growth(folder, [1_000, 10_000, 100_000] + ([] if arguments.quick else [1_000_000]), runs)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()


if __name__ == "__main__":
    main()
