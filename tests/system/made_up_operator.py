"""Says how the program treats an operator Twist that ONNX does not have: `python made_up_operator.py ROW FOLDER`.

ROW is its row of facts; with an empty one, the operator has none. The row has to be there before other modules are imported.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import onnx
from onnx import ModelProto, parser

from split_rewrite.rewriter.opsets import facts

ROW, FOLDER = sys.argv[1], Path(sys.argv[2])
if ROW:
    facts._ROWS["Twist"] = ROW

from split_rewrite.rewriter import Options, SplitRewriteError, convert_version, simplify  # noqa: E402
from split_rewrite.rewriter.checks import validity  # noqa: E402
from split_rewrite.rewriter.comparison.inputs.readers import readings  # noqa: E402
from split_rewrite.rewriter.comparison.judging.runtime_defects import known_defects  # noqa: E402
from split_rewrite.rewriter.engine import registry  # noqa: E402
from split_rewrite.rewriter.graph.node import Node  # noqa: E402

PROFILE = """
title = "NPU"
[[release]]
from = "1"
opset = { max = 21 }
types_refused = ["bfloat16"]
evidence = "by documentation"
"""


def register() -> None:
    """Make onnx know the operator in this process; the child process that checks models does not, and is not asked."""
    parameter = onnx.defs.OpSchema.FormalParameter
    types = ["tensor(float)", "tensor(int64)", "tensor(bfloat16)", "tensor(string)"]
    schema = onnx.defs.OpSchema(
        "Twist",
        "",
        13,
        inputs=[parameter("x", "T"), parameter("p", "tensor(int64)")],
        outputs=[parameter("y", "T")],
        type_constraints=[("T", types, "")],
    )
    onnx.defs.register_schema(schema)
    validity._failure = lambda *_: ""


def model(text: str) -> ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}')


def sampling() -> str:
    """What the comparison knows of the inputs of a Twist: the second one, and the first if a Gather reads what comes of it."""
    text = "(int64[2] x, int64[2] p) => (float[2] z) <float[3] d = {1, 2, 3}> { y = Twist (x, p)  z = Gather (d, y) }"
    found = readings(model(text)).by_input
    return f"positions {sorted(map(str, found['p'].positions))}, and {sorted(map(str, found['x'].positions))} behind it"


def folding() -> str:
    """The sizes of a Split before opset 13, where they have to be constant, if a Twist makes them from constants."""
    text = "(float[6] x) => (float[2] a, float[4] b) <int64[2] c = {2, 4}, int64[2] p = {0, 1}> { s = Twist (c, p)  a, b = Split (x, s) }"
    try:
        result = convert_version(model(text), 11, compare="off").model
    except SplitRewriteError as error:
        return str(error)
    return str([list(attribute.ints) for node in result.graph.node for attribute in node.attribute if attribute.name == "split"])


def comparison() -> str:
    """What onnx.reference is said to compute wrongly."""
    return known_defects(model("(string[2] x, int64[2] p) => (string[2] y) { y = Twist (x, p) }")).get("onnx.reference", "")


def tidying() -> str:
    """What is left of a Twist that a rule wrote."""

    @registry.simplify("Relu", opset=13)
    def twist_instead(node: Node) -> None:
        """A Relu becomes the Abs of a Twist."""
        node.become.Abs(node.op.Twist(node.input(0), node.op.int64([0])))

    given = model("(float[2] x) => (float[2] y) { y = Relu (x) }")
    result = simplify(given, compare="off", options=Options(rules=[twist_instead])).model
    return str([node.op_type for node in result.graph.node])


def profiles() -> str:
    """What becomes of a Twist in a type that a runtime does not take."""
    path = FOLDER / "npu.toml"
    path.write_text(PROFILE, encoding="utf-8")
    text = "(float[2] x, int64[2] p) => (float[2] z) { b = Cast <to = 16> (x)  y = Twist (b, p)  z = Cast <to = 1> (y) }"
    try:
        convert_version(model(text), compare="off", options=Options(for_runtimes=[str(path)]))
    except SplitRewriteError as error:
        return str(error)
    return "another type does"


if __name__ == "__main__":
    register()
    print(json.dumps({each.__name__: each() for each in (sampling, folding, comparison, tidying, profiles)}))
