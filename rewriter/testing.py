"""For tests of rules of one's own: what a rule makes of a model, and that the numbers stay the same at every opset.

from split_rewrite.testing import assert_equal_at_every_opset, assert_rewrites

Models are ModelProtos, or text as `onnx.parser` reads it. What is wrong is an AssertionError, so that any test runner shows it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import onnx
from onnx import GraphProto, ModelProto, NodeProto, helper, parser, printer

from .conversion.functions import ConversionResult, convert_version, convert_versions
from .conversion.options import Options
from .errors import ArgumentError, CompareError, UnconvertibleError, shortened

AnyModel: TypeAlias = ModelProto | str
Rule: TypeAlias = Callable[[Any], None] | str
Results: TypeAlias = "dict[int, ConversionResult[ModelProto] | UnconvertibleError | CompareError]"


def assert_rewrites(
    before: AnyModel, after: AnyModel, *rules: Rule, target_opset: int | None = None, options: Options | None = None
) -> ConversionResult[ModelProto]:
    """Assert that the conversion of `before` to `target_opset` (its own opset if None) with `rules` gives `after`, and is equal.

    Nodes are compared in their order, with their operators, attributes and links; the names of nodes and of inner values, and what
    is declared of these, do not count. Equal: original and result are run and compared; where no runtime can run them, that is not
    an error. `after` may be the same as `before`, for what a rule leaves alone.

    Raises: AssertionError with the lines that differ; the errors of `convert_version`.
    """
    wanted = _model(after)
    try:
        result = convert_version(_model(before), target_opset, options=_with(options, rules))
    except CompareError as error:
        raise AssertionError(f"the rewritten model gives other numbers: {error}") from error
    found, expected = _text(result.model), _text(wanted)
    if found != expected:
        lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", lineterm="")
        raise AssertionError("the model was rewritten otherwise:\n" + "\n".join(lines))
    return result


def assert_equal_at_every_opset(
    model: AnyModel, *rules: Rule, opsets: Iterable[int] | None = None, options: Options | None = None
) -> Results:
    """Assert that `model`, converted with `rules` to each of `opsets` (all that onnx knows if None), gives the same numbers.

    An opset that cannot be reached is not an error: its place in what is returned holds the UnconvertibleError.
    Raises: AssertionError that names each opset at which numbers differ, or if no opset can be reached, or no result compared
    because no runtime knows an operator (`Options(custom_ops=…)` tells it); the errors of `convert_versions`.
    """
    targets = range(1, onnx.defs.onnx_opset_version() + 1) if opsets is None else opsets
    found = convert_versions(_model(model), targets, options=_with(options, rules))
    wrong = {opset: error for opset, error in found.items() if isinstance(error, CompareError)}
    if wrong:
        raise AssertionError("\n".join(f"at opset {opset}: {error}" for opset, error in wrong.items()))
    if all(isinstance(result, UnconvertibleError) for result in found.values()):
        raise AssertionError(
            "no opset can be reached:\n" + "\n".join(f"at opset {opset}: {error}" for opset, error in found.items())
        )
    reached = {opset: result.report.comparison for opset, result in found.items() if isinstance(result, ConversionResult)}
    untold = {opset: compared for opset, compared in reached.items() if compared is None or compared.status == "not compared"}
    if len(untold) == len(reached):
        why = (
            f"at opset {opset}: {'no comparison' if compared is None else compared.reason}" for opset, compared in untold.items()
        )
        raise AssertionError("no result could be compared:\n" + "\n".join(why))
    return found


def _model(model: AnyModel) -> ModelProto:
    """The model, or the one that a text describes. Raises: ArgumentError for text that is none, as the path of a file."""
    if not isinstance(model, str):
        return model
    if "{" not in model:
        raise ArgumentError(f"'{shortened(model)}' is not a model as text, as onnx.parser reads it; onnx.load reads a file")
    return parser.parse_model(model)


def _with(options: Options | None, rules: Sequence[Rule]) -> Options:
    options = options or Options()
    return replace(options, rules=(*rules, *options.rules))


def _text(model: ModelProto) -> str:
    """The nodes, stored values, inputs and outputs of `model` as text, with inner names by their order."""
    copy = ModelProto()
    copy.CopyFrom(model)
    _rename(copy.graph, {value.name: value.name for value in (*copy.graph.input, *copy.graph.output)})
    for function in copy.functions:
        function.doc_string = ""
        del function.value_info[:]
        _rename_nodes(function.node, {name: name for name in (*function.input, *function.output)})
    bare = helper.make_model(copy.graph, ir_version=copy.ir_version, opset_imports=sorted(copy.opset_import, key=str))
    bare.functions.extend(sorted(copy.functions, key=lambda function: (function.domain, function.name)))
    return printer.to_text(bare)


def _rename(graph: GraphProto, outer: dict[str, str]) -> None:
    """Name what `graph` defines by its order, as no parser would, except for names in `outer`, and clear what does not count."""
    names = dict(outer)
    graph.name = ""
    del graph.value_info[:]
    for tensor in graph.initializer:
        tensor.name = names.setdefault(tensor.name, f"%{len(names)}")
    for value in graph.input:
        value.name = names.setdefault(value.name, f"%{len(names)}")
    _rename_nodes(graph.node, names)
    for value in graph.output:
        value.name = names.get(value.name, value.name)


def _rename_nodes(nodes: Iterable[NodeProto], names: dict[str, str]) -> None:
    """Name what `nodes` make by its order, and add it to `names`, from the old name to the new one; sort their attributes."""
    for node in nodes:
        node.name = node.doc_string = ""
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                _rename(inner, names)
            for tensor in (*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors):
                tensor.name = tensor.doc_string = ""
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.setdefault(name, f"%{len(names)}") if name else "" for name in node.output]
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
        copies = [onnx.AttributeProto.FromString(attribute.SerializeToString()) for attribute in attributes]
        del node.attribute[:]
        node.attribute.extend(copies)
