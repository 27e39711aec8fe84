"""Lists nodes whose results prove nothing: random ones, and those that a runtime computes wrongly or crashes on.

Without these lists, a comparison would call a right result wrong, or a wrong one equal. The rows of `opsets/facts.txt` say which
operators have which of the `defects`.
"""

from __future__ import annotations

from typing import NamedTuple

import onnx

from ...opsets import facts
from ...opsets.cases import Case, Values, default_domain_nodes
from ...opsets.defects import first_defect
from ...opsets.facts import Kind

RUNTIMES = {"onnxruntime": "ort-wrong", "onnx.reference": "reference-wrong"}
"""The runtimes that compare models, each with the word of the rows for what it computes wrongly."""


class Doubt(NamedTuple):
    """Why onnxruntime may give other numbers for another graph that computes the same.

    `of_same_nodes`: this holds even if the first difference is made by nodes that are the same in both models, from equal inputs.
    """

    reason: str
    of_same_nodes: bool


def lax_operator(model: onnx.ModelProto) -> str:
    """What onnxruntime accepts at the first node that the specification forbids; "" where there is none."""
    found = _first_with(model, "lax")
    return found and f"onnxruntime {found}"


def disputed_node(model: onnx.ModelProto) -> str:
    """What onnxruntime does at the first node that it computes differently from the specification; "" where there is none.

    `Model.semantics` says which of the two meanings counts.
    """
    return _first_with(model, "disputed")


def doubt(model: onnx.ModelProto) -> Doubt | None:
    """The reason why onnxruntime may give other numbers for another graph; None where there is none."""
    if onnx.TensorProto.FLOAT16 in Values(model).types:
        return Doubt("rounds to float16 between some nodes and not between others", True)
    transform = next((_title(node) for node, _ in default_domain_nodes(model) if facts.of(node.op_type).has("coarse")), "")
    return Doubt(f"transforms lengths that are not a power of two to four digits ({transform})", False) if transform else None


def random_operator(model: onnx.ModelProto) -> str:
    """The first node that draws random numbers, as "RandomNormal 'noise'"; "" where there is none.

    A seed does not help, because the operators define no generator. Dropout does not count: it is random only in training mode,
    which may depend on an input.
    """
    nodes = (node for node, _ in default_domain_nodes(model))
    return next((_title(node) for node in nodes if facts.of(node.op_type).kind is Kind.RANDOM), "")


def known_defects(model: onnx.ModelProto) -> dict[str, str]:
    """The runtimes ("onnxruntime", "onnx.reference") that cannot be trusted on this model, each with the reason."""
    found = {runtime: _first_with(model, word) for runtime, word in RUNTIMES.items()}
    if not found["onnx.reference"] and (title := _left_out_beside_unnamed(model)):
        found["onnx.reference"] = f"reads what an output without a name gave where an input is left out ({title})"
    return {runtime: reason for runtime, reason in found.items() if reason}


def _first_with(model: onnx.ModelProto, word: str) -> str:
    """The text of the first defect that `word` of a row names and a node has, with the name of the node; "" where there is none."""
    values = Values(model)
    for node, opset in default_domain_nodes(model):
        defect = first_defect(Case(node, opset, values), word)
        if defect is not None:
            return f"{defect.text.format(op=node.op_type)} ({_title(node)})"
    return ""


def _left_out_beside_unnamed(model: onnx.ModelProto) -> str:
    """The first node without an optional input, in a model with a node that has an unnamed output; "" where there is none."""
    nodes = [node for node, _ in default_domain_nodes(model) if "" in node.output or "" in node.input]
    if not any("" in node.output for node in nodes):
        return ""
    return next((_title(node) for node in nodes if "" in node.input), "")


def _title(node: onnx.NodeProto) -> str:
    """How messages name the node."""
    return f"{node.op_type} '{node.name or next((name for name in node.output if name), '')}'"
