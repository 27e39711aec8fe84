"""Values whose type the target lacks get other names, so that nobody takes them for equal."""

from __future__ import annotations

from helpers import model
from onnx import TensorProto, helper

from split_rewrite.rewriter.comparison.original import Original
from split_rewrite.rewriter.comparison.regions.retyped import with_own_names
from split_rewrite.rewriter.storage.skeleton import Skeleton


def with_weight(kind: int) -> Skeleton:
    source = model("g (float s) => (float[2] y) { i = Identity (w)  y = DequantizeLinear (i, s) }", 21, 10)
    source.graph.initializer.append(helper.make_tensor("w", kind, [2], [1, 2]))
    return Skeleton.of(source)


def named(original: int, result: int) -> list[str]:
    widened = {original} - {result}
    after = with_own_names(Original(with_weight(original)), with_weight(result), widened).proto.graph
    return [after.initializer[0].name, *after.node[0].input, *after.node[0].output, *after.node[1].input, *after.node[1].output]


def test_nothing_is_renamed_where_no_type_is_lost() -> None:
    assert named(TensorProto.INT8, TensorProto.INT8) == ["w", "w", "i", "i", "s", "y"]


def test_what_became_wider_has_a_name_of_its_own() -> None:
    wide, inner = "w (widened)", "i (widened)"
    assert named(TensorProto.INT4, TensorProto.INT8) == [wide, wide, inner, inner, "s", "y"]
