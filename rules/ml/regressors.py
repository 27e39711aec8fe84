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
from ..shared.ml import DOMAIN, HAS_TREE_ENSEMBLE, features, scores_of, state_lists

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
    if node.has_attr("membership_values"):
        _require_whole_members(node)
    attributes = trees.listed_attributes(trees.read_ensemble(node), "target")
    attributes["n_targets"] = _targets(node)
    attributes["aggregate_function"] = _named(node, "aggregate_function", trees.AGGREGATES, 1)
    attributes["post_transform"] = _meant(node, _named(node, "post_transform", trees.TRANSFORMS, 0))
    if kind == TensorProto.FLOAT:
        node.become.of(DOMAIN, version).TreeEnsembleRegressor(node.input(0), **attributes)
        return
    x = node.op.Cast(node.input(0), to=TensorProto.FLOAT)
    node.become.Cast(node.op.of(DOMAIN, version).TreeEnsembleRegressor(x, **attributes), to=kind)


def _require_whole_members(node: Node) -> None:
    """Raises Unconvertible where a BRANCH_MEMBER means what the specification does not say."""
    meaning = node.meaning("a BRANCH_MEMBER compares numbers", "compares their whole parts with some sets")
    if meaning == "onnxruntime":
        raise Unconvertible("a BRANCH_MEMBER of onnxruntime has no older form", "--semantics specification")


def _named(node: Node, name: str, words: tuple[str, ...], default: int) -> str:
    """The word that the number in the attribute `name` stands for."""
    number = node.attr(name, default)
    if not 0 <= number < len(words):
        raise Unconvertible(f"{name} is {number}, and goes from 0 to {len(words) - 1}", "correct the model")
    return words[number]


def _targets(node: Node) -> int:
    """The number of targets, to one of which each weight belongs."""
    count, ids = node.attr("n_targets", 0), node.attr("leaf_targetids", node.attr("target_ids", []))
    if count < 1 or not all(0 <= target < count for target in ids):
        raise Unconvertible(f"it has {count} targets, and weights for others", "correct the model")
    return count


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
    aggregate, targets = node.attr("aggregate_function", "SUM"), _targets(node)
    if aggregate not in trees.AGGREGATES:
        raise Unconvertible(f"there is no aggregate_function '{aggregate}'", "correct the model")
    listed, bases = trees.read_listed(node, "target"), trees.numbers(node, "base_values")
    whole = trees.with_one_target(listed, 0.0 if aggregate == "SUM" else None)
    if aggregate == "AVERAGE" and len(whole) != len(listed):
        raise Unconvertible("its leaves have several weights, of which TreeEnsemble has no average", "export it with SUM")
    _require_bases(node, listed, bases)
    x = features(node)
    scores = scores_of(
        node,
        x,
        targets,
        aggregate_function=trees.AGGREGATES.index(aggregate),
        **trees.ensemble_attributes(trees.with_bases(whole, bases) if aggregate == "SUM" else whole, x.kind),
    )
    if bases.any() and aggregate != "SUM":
        scores = node.op.Add(scores, node.op.const(bases, x.kind))
    scores = trees.transformed(node, scores, targets)
    node.give(scores if x.kind == TensorProto.FLOAT else node.op.Cast(scores, to=TensorProto.FLOAT))


def _require_bases(node: Node, listed: Sequence[trees.Tree], bases: np.ndarray) -> None:
    """Raises Unconvertible where runtimes disagree about which scores the `base_values` are added to."""
    if not bases.any():
        return
    if bases.size != node.attr("n_targets"):
        raise Unconvertible("its base_values are not one for each target", "give one for each")
    if not set(np.flatnonzero(bases)) <= trees.scored_everywhere(listed):
        raise Unconvertible("runtimes disagree about base_values without a weight in some leaf", "add them behind the node")
