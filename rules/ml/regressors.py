"""TreeEnsembleRegressor of ai.onnx.ml 1 to 4 as TreeEnsemble of version 5, and back.

https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleRegressor.html,
https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsemble.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import replace
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared import trees
from ..shared.ml import DOMAIN, HAS_TREE_ENSEMBLE, features, state_lists

_OTHERS = ("SOFTMAX", "LOGISTIC")
"""Each of these has the number in a TreeEnsemble which onnxruntime takes for that of the other."""


@replace(DOMAIN, "TreeEnsemble", opset=9, sums=True, module="ml")
def ensemble(node: Node) -> None:
    """Below version 5, a TreeEnsemble becomes a TreeEnsembleRegressor; a BRANCH_MEMBER compares with each of its values."""
    version = node.domain_target
    if version >= HAS_TREE_ENSEMBLE:
        return
    kind = node.need_elem_type()
    if kind == TensorProto.DOUBLE:
        raise Unconvertible("its sums are double, and those of a TreeEnsembleRegressor float", "convert the model to float first")
    attributes = trees.listed_attributes(trees.read_ensemble(node), "target")
    attributes["n_targets"] = node.attr("n_targets", 1)
    attributes["aggregate_function"] = trees.AGGREGATES[node.attr("aggregate_function", 1)]
    attributes["post_transform"] = _meant(node, trees.TRANSFORMS[node.attr("post_transform", 0)])
    if kind == TensorProto.FLOAT:
        node.become.of(DOMAIN, version).TreeEnsembleRegressor(node.input(0), **attributes)
        return
    x = node.op.Cast(node.input(0), to=TensorProto.FLOAT)
    node.become.Cast(node.op.of(DOMAIN, version).TreeEnsembleRegressor(x, **attributes), to=kind)


def _meant(node: Node, transform: str) -> str:
    """The transform that is meant by the number of `transform`. Raises Unconvertible where it has two meanings."""
    if transform not in _OTHERS:
        return transform
    other = _OTHERS[1 - _OTHERS.index(transform)]
    meaning = node.meaning(f"post_transform is {transform}", f"takes it for {other}")
    return transform if meaning == "specification" else other


@replace(DOMAIN, "TreeEnsembleRegressor", opset=13, sums=True, module="ml")
def regressor(node: Node) -> None:
    """From version 5 on, the node becomes a TreeEnsemble, and `post_transform` a node; below version 3, tensors become lists."""
    if node.domain_target < HAS_TREE_ENSEMBLE:
        state_lists(node)
        return
    aggregate = node.attr("aggregate_function", "SUM")
    listed, bases = trees.read_listed(node, "target"), trees.numbers(node, "base_values")
    whole = trees.with_one_target(listed, 0.0 if aggregate == "SUM" else None)
    if aggregate == "AVERAGE" and len(whole) != len(listed):
        raise Unconvertible("its leaves have several weights, of which TreeEnsemble has no average", "export it with SUM")
    _require_bases(node, listed, bases)
    x = features(node)
    scores = node.op.of(DOMAIN, node.domain_target).TreeEnsemble(
        x.name,
        n_targets=node.attr("n_targets", 1),
        aggregate_function=trees.AGGREGATES.index(aggregate),
        **trees.ensemble_attributes(trees.with_bases(whole, bases) if aggregate == "SUM" else whole, x.kind),
    )
    if bases.any() and aggregate != "SUM":
        scores = node.op.Add(scores, node.op.const(bases, x.kind))
    scores = trees.transformed(node, scores, node.attr("n_targets", 1))
    node.give(scores if x.kind == TensorProto.FLOAT else node.op.Cast(scores, to=TensorProto.FLOAT))


def _require_bases(node: Node, listed: Sequence[trees.Tree], bases: np.ndarray) -> None:
    """Raises Unconvertible where runtimes disagree about which scores the `base_values` are added to."""
    if not bases.any():
        return
    if bases.size != node.attr("n_targets", 1) or not set(np.flatnonzero(bases)) <= trees.scored_everywhere(listed):
        raise Unconvertible("runtimes disagree about base_values without a weight in some leaf", "add them behind the node")
