"""TreeEnsembleClassifier of ai.onnx.ml 1 to 4 as TreeEnsemble of version 5.

https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleClassifier.html,
https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsemble.html
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto

from ...rewriter.engine.registry import replace
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared import trees
from ..shared.ml import DOMAIN, HAS_TREE_ENSEMBLE, Features, features, scores_of, state_lists
from ..shared.trees import Branch, Tree

Labels = list[str] | list[int]
_TWO = 2
"""The number of classes of which runtimes take one score for that of the second."""


@replace(DOMAIN, "TreeEnsembleClassifier", opset=13, sums=True, module="ml")
def classifier(node: Node) -> None:
    """From version 5 on, the node becomes a TreeEnsemble, of whose scores ArgMax, or Greater, finds the label; below version 3, its
    tensors become lists.

    Refused where runtimes disagree about the score of a class that no leaf has a weight for.
    """
    if node.domain_target < HAS_TREE_ENSEMBLE:
        state_lists(node)
        return
    labels = _labels(node)
    if len(labels) < _TWO:
        raise Unconvertible(f"it has labels for {len(labels)} classes, and two are the least", "correct the model")
    if any(not 0 <= target < len(labels) for target in node.attr("class_ids", [])):
        raise Unconvertible(f"it has {len(labels)} class labels, and weights for others", "correct the model")
    listed = trees.read_listed(node, "class")
    scored = {target for tree in listed for leaf in trees.leaves(tree) for target, _ in leaf}
    if len(labels) == _TWO and scored != {0}:
        raise Unconvertible("of two classes, runtimes agree only if all weights are for the first", "give a leaf one weight")
    if len(labels) == _TWO:
        _choose_of_two(node, listed, labels)
    elif trees.scored_everywhere(listed) == set(range(len(labels))):
        _choose_greatest(node, listed, labels)
    else:
        raise Unconvertible("runtimes disagree about classes without a weight in some leaf", "give each leaf one for each class")


def _labels(node: Node) -> Labels:
    return node.attr("classlabels_strings", []) or node.attr("classlabels_int64s", [])


def _choose_greatest(node: Node, listed: Sequence[Tree], labels: Labels) -> None:
    """The label is that of the first of the greatest scores, each of which is a sum."""
    bases = trees.numbers(node, "base_values")
    if bases.any() and bases.size != len(labels):
        raise Unconvertible("its base_values are not one for each class", "give one for each")
    whole = trees.with_bases(trees.with_one_target(listed, 0.0), bases)
    x = features(node)
    is_last = node.attr("post_transform", "NONE") == "NONE"
    scores = _summed(node, x, whole, len(labels), _last(node, x) if is_last else "")
    label = node.op.ArgMax(scores, axis=1, keepdims=0)
    _give(node, labels, label, trees.transformed(node, scores, len(labels), "" if is_last else _last(node, x)))


def _choose_of_two(node: Node, listed: Sequence[Tree], labels: Labels) -> None:
    """One sum, of weights for one class, is the score of the second class.

    Where no weight is negative, it is a probability, else the logarithm of odds: in these two cases, runtimes agree.
    """
    transform, bases = node.attr("post_transform", "NONE"), trees.numbers(node, "base_values")
    weights = [weight for tree in listed for leaf in trees.leaves(tree) for _, weight in leaf]
    are_probabilities = min(weights) >= 0
    agreed = "NONE" if are_probabilities else "LOGISTIC"
    if transform != agreed:
        raise Unconvertible(f"runtimes disagree about post_transform {transform} of one score for two classes", f"use {agreed}")
    if bases.size > 1:
        raise Unconvertible("its base_values are several for one score", "give one")
    of_one = [[each if isinstance(each, Branch) else tuple((0, weight) for _, weight in each) for each in tree] for tree in listed]
    x = features(node)
    score = _summed(node, x, trees.with_bases(trees.with_one_target(of_one, 0.0), bases), 1)
    if are_probabilities:
        least, other = 0.5, node.op.Sub(node.op.const(1.0, x.kind), score)
    else:
        least, other = 0.0, node.op.Sigmoid(node.op.Neg(score))
    is_second = node.op.Greater(score, node.op.const(least, x.kind))
    label = node.op.Squeeze(node.op.Cast(is_second, to=TensorProto.INT64), node.op.int64([1]))
    second = score if are_probabilities else node.op.Sigmoid(score)
    _give(node, labels, label, node.op.Concat(other, second, axis=1, output=_last(node, x)))


def _summed(node: Node, x: Features, whole: Sequence[Tree], targets: int, output: str = "") -> str:
    """The sums of the weights, a matrix with a column for each target."""
    return scores_of(node, x, targets, output, **trees.ensemble_attributes(whole, x.kind))


def _last(node: Node, x: Features) -> str:
    """The name for scores of the type of `x`: that of the output, which is float; "" for a fresh one."""
    return node.output(1) if x.kind == TensorProto.FLOAT else ""


def _give(node: Node, labels: Labels, label: str, scores: str) -> None:
    """Give the label, by its place among all, and the scores."""
    if node.has_output(1):
        if scores != node.output(1):
            node.op.Cast(scores, to=TensorProto.FLOAT, output=node.output(1))
        node.drop_output(1)
    if isinstance(labels[0], str):
        numbers = list(range(len(labels)))
        node.become.of(DOMAIN, node.domain_target).LabelEncoder(label, keys_int64s=numbers, values_strings=labels)
    else:
        node.become.Gather(node.op.int64(labels), label, axis=0)
