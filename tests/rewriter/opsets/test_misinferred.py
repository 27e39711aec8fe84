"""Forms of which onnx infers wrong shapes: their shapes are unknown."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest
from helpers import model
from onnx import TensorProto, TypeProto, helper

from split_rewrite.rewriter.opsets import inference, type_protos
from split_rewrite.rewriter.opsets.misinferred import is_wrongly_inferred, may_be_wrong, usable_data

FLOAT = TensorProto.FLOAT


def types(**shapes: list[int | None] | None) -> dict[str, TypeProto]:
    return {name: helper.make_tensor_type_proto(FLOAT, shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(("length", "is_wrong"), [(None, True), (2, False)])
def test_the_rank_of_what_indices_of_unknown_length_pick(length: int | None, is_wrong: bool) -> None:
    node = onnx.parser.parse_node("y = GatherND (x, i)")
    assert is_wrongly_inferred(node, types(x=[2, 3, 4], i=[5, length]), types(y=[5, 4])) is is_wrong


def test_an_operator_of_another_domain_is_not_judged() -> None:
    node = onnx.parser.parse_node("y = own.GatherND (x, i)")
    assert not is_wrongly_inferred(node, types(x=[2, 3, 4], i=[5, None]), types(y=[5, 4]))
    assert may_be_wrong("GatherND") and not may_be_wrong("Gather")


def test_a_slice_by_steps_at_run_time_is_not_inferred_by_its_bounds() -> None:
    node = onnx.parser.parse_node("y = Slice (x, starts, ends, axes, steps)")
    bounds = {"starts": 0, "ends": 4, "axes": 0}
    assert usable_data(node, bounds) == {}
    assert usable_data(node, {**bounds, "steps": 2}) == {**bounds, "steps": 2}


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 23, reason="the installed onnx has no opset 23")
@pytest.mark.parametrize(("past", "scores"), [("L", None), ("12", (2, 3, 4, 18))])
def test_the_scores_of_attention_behind_a_past_of_unknown_length(past: str, scores: tuple[int, ...] | None) -> None:
    """onnx infers a length of 6 where it does not know that of the past."""
    found = inference.infer_model(
        model(
            f"""g (float[2,3,4,8] q, float[2,3,6,8] k, float[2,3,6,8] v, float[2,3,{past},8] pk, float[2,3,{past},8] pv)
                => (float[] y, float[] s) {{ y, nk, nv, s = Attention (q, k, v, , pk, pv) }}""",
            23,
        )
    )
    assert found is not None
    assert type_protos.shape_of(found.graph.output[1].type) == scores
