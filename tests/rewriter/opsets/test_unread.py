"""Nodes of versions that nobody has read: nothing changes them, nothing evaluates them, and what would have to change is refused.

For each operator, its newest version is taken away from what has been read, as if a new onnx had brought it.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import onnx
import pytest
from helpers import convert_version, model, refusal, simplify
from onnx import numpy_helper

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.opsets import facts, transitions, unread
from split_rewrite.rewriter.opsets.transitions import form_opset, newest_opset, schema_at

UNKNOWN = "has a version of {} that this split-rewrite does not know"


@cache
def node_tests() -> dict[str, list[onnx.ModelProto]]:
    """Up to three of ONNX's node tests of each operator in its newest version, all of whose inputs are constants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    found: dict[str, list[onnx.ModelProto]] = defaultdict(list)
    for case in cases:
        op_type = case.model.graph.node[0].op_type
        opset = next((entry.version for entry in case.model.opset_import if not entry.domain), 0)
        if len(case.model.graph.node) == 1 and len(found[op_type]) < 3 and opset <= newest_opset() and schema_at(op_type, opset):
            found[op_type].append(with_constants(case.model, case.data_sets[0][0]))
    return found


def with_constants(proto: onnx.ModelProto, inputs: list) -> onnx.ModelProto:
    """The model with its tensor inputs as initializers, so that all of it could be folded."""
    constant = onnx.ModelProto()
    constant.CopyFrom(proto)
    graph = constant.graph
    given = dict(zip([value.name for value in proto.graph.input], inputs, strict=False))
    for value in list(graph.input):
        if value.type.HasField("tensor_type") and hasattr(given.get(value.name), "dtype"):
            graph.initializer.append(numpy_helper.from_array(given[value.name], value.name))
            graph.input.remove(value)
    return constant


def newest_version(op_type: str) -> int:
    schema = schema_at(op_type, form_opset(op_type, newest_opset()))
    assert schema is not None
    return schema.since_version


OPERATORS = sorted(
    name for name in transitions.all_operators() if not onnx.defs.get_schema(name, form_opset(name, newest_opset())).deprecated
)


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """What has been read is asked once for each step between two versions."""
    yield
    transitions.path.cache_clear()


def forget(op_type: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Take away what has been read of the newest version of `op_type`; returns that version."""
    version = newest_version(op_type)
    known = {key: codes for key, codes in transitions._reviewed().items() if key != (op_type, version)}
    names = facts.known_operators() - ({op_type} if known.keys() == transitions._reviewed().keys() else set())
    monkeypatch.setattr(transitions, "_reviewed", lambda: known)
    transitions.path.cache_clear()
    monkeypatch.setattr(facts, "known_operators", lambda: names)
    return version


@pytest.mark.parametrize("op_type", OPERATORS)
def test_nothing_touches_what_nobody_has_read(op_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    version = forget(op_type, monkeypatch)
    for proto in node_tests().get(op_type, []):
        nodes = [node.SerializeToString() for node in proto.graph.node]
        opset = next(entry.version for entry in proto.opset_import if not entry.domain)
        if opset < version:
            continue
        results = [simplify(proto), convert_version(proto, opset)]
        if 7 <= opset <= 25:
            unrun = Options(for_runtimes=["onnxruntime"], verify=False)  # which lacks kernels for some of them
            results.append(convert_version(proto, opset, options=unrun))
        for result in results:
            assert [node.SerializeToString() for node in result.model.graph.node] == nodes
            assert result.model.opset_import == proto.opset_import
        if version > 1:
            assert UNKNOWN.format(op_type) in refusal(proto, version - 1)


def test_a_step_to_a_version_that_nobody_has_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    forget("Split", monkeypatch)
    assert UNKNOWN.format("Split") in refusal(model("g (float[4] x) => (float[2] a, float[2] b) { a, b = Split (x) }", 17), 18)


def test_nothing_is_known_of_what_such_a_node_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its neighbours are converted, and nothing is folded by its values."""
    text = (
        "g (float[2,N] x) => (float[1,N] a, float[1,N] b, float[2,N] y) <int64[1] one = {1}, int64[1] zero = {0}> "
        "{ i = Identity (one) s = Concat<axis = 0> (i, one) a, b = Split<axis = 0> (x, s) y = Relu (x) }"
    )
    forget("Concat", monkeypatch)
    result = convert_version(model(text, 13), 18).model
    assert [node.op_type for node in result.graph.node if node.op_type == "Concat"] == ["Concat"]
    message = refusal(model(text, 13), 11)
    assert UNKNOWN.format("Concat") in message


def test_in_branches_functions_and_by_the_full_name_of_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 18, "f" : 1]> g (bool c, float[4] x) => (float[4] y) { p = f.part (x) y = If (c) <'
        "then_branch = t () => (float[4] u) { u = Split<num_outputs = 1> (p) }, else_branch = e () => (float[4] v) { v = Relu (p) }> } "
        '<domain: "f", opset_import: ["" : 18]> part (a) => (b) { b = Split<num_outputs = 1> (a) }'
    )
    proto = model(text)
    forget("Split", monkeypatch)
    assert simplify(proto).model == proto
    proto.functions[0].node[0].domain = "ai.onnx"
    hidden = onnx.ModelProto()
    hidden.CopyFrom(proto)
    assert unread.hide(hidden, ["Split", "If", "Relu"])
    assert unread.show(hidden)
    assert hidden == proto


def test_a_model_of_read_versions_is_not_changed() -> None:
    proto = model("g (float[4] x) => (float[4] y) { y = Split<num_outputs = 1> (x) }", 18)
    before = proto.SerializeToString()
    assert not unread.hide(proto, ["Split", "com.example::Op"]) and not unread.show(proto)
    assert proto.SerializeToString() == before
