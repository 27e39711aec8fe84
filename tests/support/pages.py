"""Report pages for tests, made by the command line: one of each kind, and what they are made of."""

from __future__ import annotations

from pathlib import Path

import helpers
import onnx
from onnx import TensorProto, helper

from split_rewrite.rewriter.cli import command

HOSTILE = "</svg><script>alert('&')</script>\x07\u202e\n"
UNEVEN = "g (float[7] x) => (float[3] a, float[3] b, float[1] c) {a, b, c = Split<num_outputs = 3>(x)}"
STRINGS = "g (string[4] x) => (string[4] a, string[4] b) {a = StringConcat(x, x) b = StringConcat(a, x)}"
SEQUENCE = """g (float[7] x) => (float[M] first, float[N] last) <int64 size = {3}, int64 zero = {0}, int64 minus = {-1}> {
    s = SplitToSequence<axis = 0>(x, size) head = SequenceAt(s, zero) tail = SequenceAt(s, minus)
    first = Relu(head) last = Relu(tail)}"""
WIDE = """g (float[40] x) => (float[40] y) {
    a, b, c, d, e, f, g, h, i, j = Split<num_outputs = 10>(x) y = Concat<axis = 0>(j, i, h, g, f, e, d, c, b, a)}"""
UNTOUCHED = "g (float[7] x) => (float[7] y) {y = Relu(x)}"
BRANCHES = """g (bool c, float[7] x) => (float[3] y) {
    y = If(c) <
        then_branch = t () => (float[3] u) {u, v, w = Split<num_outputs = 3>(x)},
        else_branch = e () => (float[3] p) {q, p, r = Split<num_outputs = 3>(x)}>}"""


def hostile_model() -> onnx.ModelProto:
    """A Split whose name, input and outputs are made to break out of a page."""
    names = [f"{letter}{HOSTILE}" for letter in "xab"]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name, size in zip(names, (7, 4, 3), strict=True)]
    node = helper.make_node("Split", names[:1], names[1:], name=HOSTILE, num_outputs=2)
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def many_nodes(count: int) -> onnx.ModelProto:
    """A chain of `count` Splits in two to 151 parts, and of the Concats that undo them in another order."""
    nodes = []
    for number in range(count):
        parts = [f"part{part}_{number}" for part in range(2 + number % 150)]
        source = f"x{number}" if number else "x"
        sizes = [1] * (len(parts) - 1) + [152 - len(parts)]
        nodes.append(helper.make_node("Split", [source], parts, name=f"/some/long/path/of/a/module/split_{number}", split=sizes))
        nodes.append(helper.make_node("Concat", parts[::-1], [f"x{number + 1}"], axis=0))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [151]) for name in ("x", f"x{count}")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)


def page(model: str | onnx.ModelProto, folder: Path, *arguments: str, opset: int = 18) -> tuple[int, str]:
    """The exit status and the page of converting `model` (of `opset`, where it is text) with these arguments."""
    source, report = folder / "in.onnx", folder / "report.html"
    onnx.save(helpers.model(model, opset) if isinstance(model, str) else model, source)
    output = [] if "--dry-run" in arguments else [str(folder / "out.onnx")]
    status = command.run([str(source), *output, *arguments, "-q", "--report", str(report)])
    return status, report.read_text(encoding="utf-8")


def kinds(folder: Path) -> dict[str, str]:
    """A page of each kind."""
    runs = {
        "converted": (UNEVEN, 18, ["-t", "12"]),
        "sequences": (SEQUENCE, 18, []),
        "wide": (WIDE, 18, ["-t", "12"]),
        "subgraphs": (BRANCHES, 18, ["-t", "12"]),
        "untouched": (UNTOUCHED, 18, ["-t", "17"]),
        "refused": (STRINGS, 20, ["-t", "18"]),
        "dry-run": (STRINGS, 20, ["-t", "18", "--dry-run"]),
        "unusable": (UNEVEN, 18, ["-t", "99"]),
        "hostile": (hostile_model(), 18, ["-t", "12"]),
        "inexact": ("g (float[4,6] x) => (float[4,6] y) {y = Gelu(x)}", 20, ["-t", "13"]),
    }
    return {name: page(model, folder, *arguments, opset=opset)[1] for name, (model, opset, arguments) in runs.items()}
