"""Opsets that are certain to meet the same blockers are not tried for a runtime; the others are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fitting import for_a_list
from helpers import convert_version, model

from split_rewrite import rewriter
from split_rewrite.rewriter import Options, UnconvertibleError
from split_rewrite.rewriter.conversion.aiming import is_worth_trying
from split_rewrite.rewriter.conversion.stages import Job
from split_rewrite.rewriter.engine.restrictions import Restrictions
from split_rewrite.rewriter.errors import Blocker


class AnyList:
    """A list of operators, of which only counts that there is one."""


LISTED = Restrictions(lists=(AnyList(),))  # pyright: ignore[reportArgumentType]


def blocker(op_type: str, reason: str = "a runtime does not allow it: it is open", transition: str = "") -> Blocker:
    return Blocker(op_type, "n", "main graph", transition, reason)


@pytest.mark.parametrize(
    ("opset", "found"),
    [
        (17, blocker("ReduceMean")),  # its axes became an input at 18
        (18, blocker("AveragePool")),  # it got dilations at 19
        (12, blocker("ReduceL1", "NPU 1 refuses it (Reduce axes as an attribute at opset 13 to 17): …")),
        (12, blocker("ReduceL1", "NPU 1 computes it wrongly (Reduce axes as an attribute at opset 13 to 17): …")),
        (10, blocker("Range")),  # there was none
        (9, blocker("Reshape", "a runtime does not allow it: it follows Slice")),  # whose bounds were attributes
        (17, blocker("Split", transition="19→18")),  # a rule may choose another way for another target
        (17, blocker("Shape", "its rewrite needs Slice: a runtime does not allow it: …")),
        (17, blocker("ReduceSum", "its rewrite needs ReduceMean: a runtime does not allow it: …")),
        (17, blocker("Scan")),  # it may be unrolled
        (17, blocker("Input", "the model's input is float4e2m1, which does not exist before opset 23")),
    ],
)
def test_what_may_not_be_in_the_way_there_is_tried(opset: int, found: Blocker) -> None:
    assert is_worth_trying(opset, {19: [found], 20: [found], 21: [found]}, LISTED)


@pytest.mark.parametrize(
    "found",
    [
        blocker("Shape"),
        blocker("Expand"),
        blocker("Reshape", "a runtime does not allow it: it follows Slice"),
        blocker("Div", "NPU 1 computes it wrongly (Div of integers): it divides integers, and no other form of it is exact"),
    ],
)
def test_what_has_the_same_form_there_is_not(found: Blocker) -> None:
    assert not is_worth_trying(15, {16: [found]}, LISTED)
    assert not is_worth_trying(16, {15: [found]}, LISTED)
    assert not is_worth_trying(15, {16: [found, blocker("Where")]}, LISTED)


def test_forms_that_a_runtime_computes_wrongly_persist_without_a_list() -> None:
    restrictions = Restrictions(forms={("Div of integers", "Div"): "NPU 1 computes it wrongly (Div of integers)"})
    wrong = blocker("Div", "NPU 1 computes it wrongly (Div of integers): it divides integers, and no other form of it is exact")
    assert not is_worth_trying(13, {12: [wrong]}, restrictions)
    assert is_worth_trying(6, {12: [wrong]}, restrictions)  # where it broadcasts by an attribute


def test_no_list_is_met_by_the_forms_before_opset_7() -> None:
    found = blocker("ReduceMean")
    assert not is_worth_trying(6, {13: [found]}, LISTED)
    assert is_worth_trying(7, {13: [found]}, LISTED)


def test_without_a_list_every_opset_is_tried() -> None:
    found = {opset: [blocker("Shape")] for opset in range(14, 20)}
    assert is_worth_trying(13, found, Restrictions())
    assert is_worth_trying(13, found, replace(LISTED, versions={("RoiAlign", 22): "a runtime"}))


def test_what_cannot_do_is_tried_thrice_for_the_fewest_blockers() -> None:
    found = [blocker("Shape"), blocker("ReduceMean")]
    assert is_worth_trying(17, {19: found, 18: found}, LISTED)
    assert not is_worth_trying(17, {20: found, 19: found, 18: found}, LISTED)


NEEDS_SQRT = blocker("LayerNormalization", "its rewrite needs Sqrt: NPU 1 does not allow it: it is not among the operators")


def test_what_becomes_the_same_nodes_there_is_tried_thrice_and_met_twice() -> None:
    assert is_worth_trying(15, {16: [NEEDS_SQRT], 18: [blocker("Split")], 19: [blocker("Split")]}, LISTED)
    assert is_worth_trying(14, {16: [NEEDS_SQRT], 15: [NEEDS_SQRT]}, LISTED)
    assert not is_worth_trying(14, {18: [blocker("Split")], 16: [NEEDS_SQRT], 15: [NEEDS_SQRT]}, LISTED)
    assert is_worth_trying(17, {12: [NEEDS_SQRT], 16: [NEEDS_SQRT], 15: [NEEDS_SQRT]}, LISTED)  # which has the operator


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int | None]]:
    """The opsets that are tried."""
    opsets: list[int | None] = []
    try_at = Job.try_at

    def recording(self: Job, opset: int | None, given: object) -> object:
        opsets.append(opset)
        return try_at(self, opset, given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Job, "try_at", recording)
    yield opsets


def test_an_open_shape_is_refused_after_few_tries(tried: list[int | None]) -> None:
    graph = model("g (float[N,4] x) => (int64[2] s) { s = Shape (x) }", 20)
    with pytest.raises(UnconvertibleError, match=r"Shape 's' .*the shape of 'x' is open"):
        convert_version(graph, None, options=Options(for_runtimes=["opencv-4.12"]))
    assert len(tried) < 5


def test_an_opset_with_an_operator_for_the_pieces_is_tried() -> None:
    blocked = {13: [blocker("Erf")]}
    assert not is_worth_trying(20, blocked, LISTED)
    assert is_worth_trying(20, blocked, LISTED, joined={20})
    assert not is_worth_trying(19, blocked, LISTED, joined={20})
    assert not is_worth_trying(21, {20: [blocker("Erf")]}, LISTED, joined={20})


GELU = """g (float[2,8] x) => (float[2,8] y) <float half = {0.5}, float one = {1}, float root = {1.4142135}> {
    q = Div(x, root) e = Erf(q) p = Add(e, one) m = Mul(x, p) y = Mul(m, half)
}"""
NORMALIZED = """g (float[2,3,8] x) => (float[2,3,8] y)
<float[8] s = {1,2,1,2,1,2,1,2}, float[8] b = {0,1,0,1,0,1,0,1}, float two = {2}, float e = {0.00001}> {
    m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean<axes = [-1]>(p) w = Add(v, e) r = Sqrt(w)
    q = Div(d, r) t = Mul(q, s) y = Add(t, b)
}"""
PIECES = ["ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"]


@pytest.mark.parametrize(
    ("text", "allowed", "opset", "operators"),
    [
        (NORMALIZED, ["LayerNormalization"], 17, ["LayerNormalization"]),
        (NORMALIZED, ["LayerNormalization", *PIECES], 13, PIECES),
        (GELU, ["Gelu", "Div", "Add", "Mul"], 20, ["Gelu"]),
        (GELU, ["Gelu", "Erf", "Div", "Add", "Mul"], 13, ["Div", "Erf", "Add", "Mul", "Mul"]),
    ],
    ids=["LayerNormalization", "its pieces are allowed", "Gelu", "its pieces are allowed, too"],
)
def test_pieces_that_are_not_allowed_are_joined(
    text: str, allowed: list[str], opset: int, operators: list[str], tmp_path: Path
) -> None:
    result = rewriter.convert_version(model(text, 13), options=for_a_list(tmp_path, allowed), compare="required")
    assert result.report.target_opset == opset
    assert [node.op_type for node in result.model.graph.node] == operators


def test_pieces_of_no_operator_of_the_list_are_refused(tmp_path: Path) -> None:
    options = for_a_list(tmp_path, ["RMSNormalization", "Sub", "Add", "Mul", "Div"])
    with pytest.raises(UnconvertibleError, match="NPU 1 does not allow it"):
        rewriter.convert_version(model(NORMALIZED, 13), options=options)
    with pytest.raises(UnconvertibleError, match="ReduceMean 'm'"):
        rewriter.convert_version(model(NORMALIZED, 13), 13, options=for_a_list(tmp_path, ["LayerNormalization"]))
