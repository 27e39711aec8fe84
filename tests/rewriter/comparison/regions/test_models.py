"""The models of a region have its nodes and nothing else, constants that decide what they do, and weights only where asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import convert_version, model
from onnx import numpy_helper

from split_rewrite.rewriter.comparison.original import Original
from split_rewrite.rewriter.comparison.regions.division import Region, RegionFinder
from split_rewrite.rewriter.comparison.regions.models import Plan, RegionModels, UnfitError
from split_rewrite.rewriter.comparison.regions.observation import Observations, Runner
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.model_client import Worker
from split_rewrite.rewriter.storage.skeleton import Skeleton


def regions(original: onnx.ModelProto, target: int) -> tuple[RegionModels, list[Region]]:
    """What makes the models of the regions of a conversion, and those regions."""
    result = convert_version(original, target, compare="off").model
    before = Original(Skeleton.of(original))
    finder = RegionFinder(before, result, {})
    observations = Observations(before, finder.pairs, [], Runner(Path(), [], Worker(), Budget(), None))
    return RegionModels(before, Skeleton.of(result), observations), [
        *finder.rewritten(),
        *(finder.cut([changed]) for changed in finder.kept),
    ]


def test_a_region_becomes_its_nodes_before_and_after_with_small_constants() -> None:
    source = model(
        "g (float[n,8] x) => (float[n,p] b, float[n,q] c) <int64[2] s = {2, 6}> { h = Relu (x)\n b, c = Split <axis = 1> (h, s) }",
        13,
    )
    models, (region, *_) = regions(source, 11)
    old, new = models.of(region, Plan())
    assert [node.op_type for made in (old, new) for node in made.graph.node] == ["Split", "Split"]
    assert [[entry.version for entry in made.opset_import] for made in (old, new)] == [[13], [11]]
    assert [numpy_helper.to_array(tensor).tolist() for tensor in old.graph.initializer] == [[2, 6]]
    assert not new.graph.initializer
    assert [value.name for value in old.graph.input] == ["h"]


def test_models_say_of_which_type_their_outputs_are() -> None:
    """onnx.reference gives uint64 of the old one, which is no difference of the new one."""
    source = model("g (uint32[2,3] x) => (uint32[2,3] y) { y = ReduceSumSquare <noop_with_empty_axes = 1> (x) }", 18)
    models, (region,) = regions(source, 17)
    old, new = models.of(region, Plan())
    types = [made.graph.output[0].type.tensor_type.elem_type for made in (old, new)]
    assert types == [onnx.TensorProto.UINT32, onnx.TensorProto.UINT32]


@pytest.fixture
def product() -> onnx.ModelProto:
    """A MatMul with 128 weights, which has another definition at 13."""
    source = model("g (float[n,100] x) => (float[n,2] y) { y = MatMul (x, w) }", 11)
    source.graph.initializer.append(numpy_helper.from_array(np.ones((100, 2), np.float32), "w"))
    return source


def test_weights_are_fed_unless_the_plan_wants_them(product: onnx.ModelProto) -> None:
    models, (region,) = regions(product, 13)
    assert models.plans(region) == [Plan(), Plan(with_values=True)]
    fed, _ = models.of(region, Plan())
    assert {value.name for value in fed.graph.input} == {"x", "w"} and not fed.graph.initializer
    stored, _ = models.of(region, Plan(with_values=True))
    assert [value.name for value in stored.graph.input] == ["x"]
    assert [tensor.name for tensor in stored.graph.initializer] == ["w"]


def test_dimensions_above_64_are_reduced_alike_in_all_inputs(product: onnx.ModelProto) -> None:
    models, (region,) = regions(product, 13)
    made, _ = models.of(region, Plan(reduced=True))
    shapes = {
        value.name: [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim] for value in made.graph.input
    }
    assert shapes == {"x": ["n", 12], "w": [12, 2]}


def test_an_input_of_unknown_type_makes_no_model() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 11, "other" : 1]>
        g (float[n,4] x) => (float[n,4] y) { h = other.Unknown (x)\n y = Relu (h) }"""
    )
    models, (region,) = regions(source, 13)
    with pytest.raises(UnfitError, match="the type of 'h' is unknown"):
        models.of(region, Plan())
