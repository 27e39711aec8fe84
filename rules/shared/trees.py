"""Decision trees of ai.onnx.ml, read and written in both of its forms.

Until version 4, TreeEnsembleRegressor and TreeEnsembleClassifier list all nodes with the number of their tree, and a leaf may
have a weight for each of several targets. From version 5 on, TreeEnsemble lists branches and leaves apart, and a leaf has one
weight.

https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleRegressor.html,
https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsemble.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
"""How a branch compares a feature with its value, in the order of their numbers in version 5."""
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""How the weights of the trees are combined, in the order of their numbers in version 5."""
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""What is done to the scores in the end, in the order of their numbers in version 5."""
_MEMBER = MODES.index("BRANCH_MEMBER")
_MOST_COPIES = 16
"""How many times as many nodes as a TreeEnsemble has each tree of its TreeEnsembleRegressor may have."""


class Branch(NamedTuple):
    """A node that compares the feature `feature` with `value`, and then goes on with the node at place `yes` or `no` of its tree.

    `takes_nan` says that it goes on with `yes` where the feature is NaN.
    """

    mode: str
    feature: int
    value: float
    takes_nan: bool
    yes: int
    no: int


Leaf = tuple[tuple[int, float], ...]
"""The weights of a leaf, each with its target."""
Tree = list[Branch | Leaf]
"""The nodes of a tree. The first is the root, and each other is the next of exactly one branch."""


def read_listed(node: Node, what: str) -> list[Tree]:
    """The trees of a TreeEnsembleRegressor or TreeEnsembleClassifier, whose weights are of a `what`: "target" or "class".

    Raises Unconvertible where its nodes are no trees.
    """
    ids = list(zip(node.attr("nodes_treeids", []), node.attr("nodes_nodeids", []), strict=False))
    weights: dict[tuple[int, int], list[tuple[int, float]]] = {key: [] for key in ids}
    listed = zip(*(node.attr(f"{what}_{part}", []) for part in ("treeids", "nodeids", "ids")), strict=False)
    for (tree, leaf, target), weight in zip(listed, numbers(node, f"{what}_weights"), strict=False):
        weights.get((tree, leaf), []).append((target, float(weight)))
    places = _places(ids)
    trees: dict[int, Tree] = {}
    columns = [node.attr(f"nodes_{part}", []) for part in ("modes", "featureids", "truenodeids", "falsenodeids")]
    nan = node.attr("nodes_missing_value_tracks_true", []) or [0] * len(ids)
    for key, mode, feature, yes, no, value, takes_nan in zip(ids, *columns, numbers(node, "nodes_values"), nan, strict=False):
        tree = trees.setdefault(key[0], [])
        if mode == "LEAF":
            tree.append(tuple(weights[key]))
        else:
            after = [places.get((key[0], each), 0) for each in (yes, no)]
            tree.append(Branch(mode, feature, float(value), bool(takes_nan), *after))
    return [_required(tree, number) for number, tree in trees.items()]


def _places(ids: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The place of each node in its tree."""
    lengths: Counter[int] = Counter()
    places: dict[tuple[int, int], int] = {}
    for key in ids:
        places[key] = lengths[key[0]]
        lengths[key[0]] += 1
    return places


def _required(tree: Tree, number: int) -> Tree:
    """`tree`. Raises Unconvertible unless each of its nodes but the first is the next of one branch, and the first of none."""
    uses = Counter(place for node in tree if isinstance(node, Branch) for place in (node.yes, node.no))
    if uses[0] or any(uses[place] != 1 for place in range(1, len(tree))):
        raise Unconvertible(
            f"its tree {number} is none: a node is reached in no way, or in several", "list each node once, the root first"
        )
    return tree


def numbers(node: Node, name: str) -> np.ndarray:
    """The attribute `name`, a list of floats, or the tensor that stands for it from version 3 on, in double."""
    tensor = node.attr(f"{name}_as_tensor")
    values = node.attr(name, []) if tensor is None else node.graph.read(tensor).reshape(-1)
    return np.array(values, np.float64)


def listed_attributes(trees: Sequence[Tree], what: str) -> dict[str, Any]:
    """The attributes of version 1 of an operator whose trees these are, in float; the weights are of a `what`."""
    rows: list[tuple[int, int, str, int, float, int, int, int]] = []
    weights: list[tuple[int, int, int, float]] = []
    for number, tree in enumerate(trees):
        for place, each in enumerate(tree):
            if isinstance(each, Branch):
                rows.append((number, place, each.mode, each.feature, each.value, each.yes, each.no, each.takes_nan))
            else:
                rows.append((number, place, "LEAF", 0, 0.0, 0, 0, False))
                weights += [(number, place, target, weight) for target, weight in each]
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    found = {f"nodes_{name}": list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    found["nodes_missing_value_tracks_true"] = [int(each) for each in found["nodes_missing_value_tracks_true"]]
    columns = zip(("treeids", "nodeids", "ids", "weights"), zip(*weights, strict=True), strict=True)
    return found | {f"{what}_{name}": list(column) for name, column in columns}


class _Row(NamedTuple):
    """A node of a TreeEnsemble: it goes on with the branch or leaf number `yes` or `no` of all trees."""

    mode: int
    value: float
    takes_nan: int
    feature: int
    yes: int
    yes_is_leaf: int
    no: int
    no_is_leaf: int


def read_ensemble(node: Node) -> list[Tree]:
    """The trees of a TreeEnsemble. A BRANCH_MEMBER becomes a BRANCH_EQ for each of its values.

    Raises Unconvertible where that, or nodes that several branches share, makes many nodes of few.
    """
    names = ("featureids", "truenodeids", "trueleafs", "falsenodeids", "falseleafs")
    modes, splits = (node.graph.read(node.attr(f"nodes_{name}")).reshape(-1) for name in ("modes", "splits"))
    nan = node.attr("nodes_missing_value_tracks_true", []) or [0] * modes.size
    columns = (modes.tolist(), splits.astype(np.float64).tolist(), nan, *(node.attr(f"nodes_{name}") for name in names))
    rows = [_Row(*row) for row in zip(*columns, strict=True)]
    weights = node.graph.read(node.attr("leaf_weights")).reshape(-1).astype(np.float64).tolist()
    ends: list[Leaf] = [((target, weight),) for target, weight in zip(node.attr("leaf_targetids"), weights, strict=True)]
    sets = iter(_sets(node))
    members = [next(sets, ()) if row.mode == _MEMBER else () for row in rows]
    most = _MOST_COPIES * (len(rows) + len(ends))
    return [_unfolded(root, rows, members, ends, most) for root in node.attr("tree_roots")]


def _unfolded(root: int, rows: Sequence[_Row], members: Sequence[tuple[float, ...]], ends: Sequence[Leaf], most: int) -> Tree:
    """The tree whose root is the branch number `root`, of at most `most` nodes."""
    tree: Tree = []
    reached = [(False, root, 0)]
    for is_leaf, index, tried in reached:  # grows
        if len(reached) > most:
            raise Unconvertible("its branches share nodes, and a copy for each makes too many", "export smaller trees")
        if is_leaf:
            tree.append(ends[index])
            continue
        row, values = rows[index], members[index] or (np.nan,)
        is_member = row.mode == _MEMBER
        has_more = is_member and tried + 1 < len(values)
        mode, value = ("BRANCH_EQ", values[tried]) if is_member else (MODES[row.mode], row.value)
        tree.append(Branch(mode, row.feature, value, bool(row.takes_nan), len(reached), len(reached) + 1))
        reached.append((bool(row.yes_is_leaf), row.yes, 0))
        reached.append((False, index, tried + 1) if has_more else (bool(row.no_is_leaf), row.no, 0))
    return tree


def _sets(node: Node) -> list[tuple[float, ...]]:
    """The values of each BRANCH_MEMBER, in the order of the nodes: each set ends with a NaN."""
    tensor = node.attr("membership_values")
    values = np.zeros(0) if tensor is None else node.graph.read(tensor).reshape(-1).astype(np.float64)
    ends = np.flatnonzero(np.isnan(values))
    return [tuple(part[~np.isnan(part)].tolist()) for part in np.split(values, ends + 1)]


def with_one_target(trees: Iterable[Tree], default: float | None) -> list[Tree]:
    """The trees, with one weight in each leaf. A tree whose leaves have several becomes one for each target.

    `default` is the weight of leaves without one. Raises Unconvertible where a leaf needs it and it is None, or where a leaf has
    several weights for one target.
    """
    return [each for tree in trees for each in _of_one_target(tree, default)]


def _of_one_target(tree: Tree, default: float | None) -> list[Tree]:
    ends = [dict(leaf) for leaf in leaves(tree)]
    targets = sorted({target for end in ends for target in end}) or [0]
    are_single = all(len(end) == 1 for end in ends)
    is_whole = are_single or all(len(end) == len(targets) for end in ends)
    if any(len(leaf) != len(end) for leaf, end in zip(leaves(tree), ends, strict=True)) or (default is None and not is_whole):
        raise Unconvertible("a leaf of its trees has no weight for a target, or several", "give each leaf one for each target")
    if are_single:
        return [tree]

    def only(target: int) -> Tree:
        return [each if isinstance(each, Branch) else ((target, dict(each).get(target, default or 0.0)),) for each in tree]

    return [only(target) for target in targets]


def ensemble_attributes(trees: Iterable[Tree], kind: int) -> dict[str, Any]:
    """The attributes of a TreeEnsemble of these trees, whose leaves have one weight each, in element type `kind`."""
    rows: list[_Row] = []
    weights: list[tuple[int, float]] = []
    roots: list[int] = []
    for tree in trees:
        roots.append(len(rows))
        whole = tree if isinstance(tree[0], Branch) else [Branch("BRANCH_LEQ", 0, 0.0, False, 1, 1), tree[0]]
        places = _numbered(whole, len(rows), len(weights))
        for each in whole:
            if isinstance(each, Branch):
                after = (places[each.yes], places[each.no])
                is_leaf = [int(not isinstance(whole[place], Branch)) for place in (each.yes, each.no)]
                number = MODES.index(each.mode)
                rows.append(_Row(number, each.value, each.takes_nan, each.feature, after[0], is_leaf[0], after[1], is_leaf[1]))
            else:
                weights.append(each[0])
    return {
        "tree_roots": roots,
        "nodes_modes": _tensor([row.mode for row in rows], TensorProto.UINT8),
        "nodes_splits": _tensor([row.value for row in rows], kind),
        "nodes_missing_value_tracks_true": [int(row.takes_nan) for row in rows],
        "nodes_featureids": [row.feature for row in rows],
        "nodes_truenodeids": [row.yes for row in rows],
        "nodes_trueleafs": [row.yes_is_leaf for row in rows],
        "nodes_falsenodeids": [row.no for row in rows],
        "nodes_falseleafs": [row.no_is_leaf for row in rows],
        "leaf_targetids": [target for target, _ in weights],
        "leaf_weights": _tensor([weight for _, weight in weights], kind),
    }


def _numbered(tree: Tree, branches: int, ends: int) -> list[int]:
    """The number of each node of `tree` among all branches, or all leaves, of which there are so many before it."""
    places: list[int] = []
    for each in tree:
        is_branch = isinstance(each, Branch)
        places.append(branches if is_branch else ends)
        branches, ends = branches + is_branch, ends + (not is_branch)
    return places


def _tensor(values: Sequence[float], kind: int) -> TensorProto:
    return numpy_helper.from_array(np.array(values, helper.tensor_dtype_to_np_dtype(kind)))


def leaves(tree: Tree) -> list[Leaf]:
    """The leaves of a tree."""
    return [each for each in tree if not isinstance(each, Branch)]


def scored_everywhere(trees: Iterable[Tree]) -> set[int]:
    """The targets for which all leaves of some tree have a weight, so that each sample has a score for them."""
    return {target for tree in trees for target in set.intersection(*({target for target, _ in leaf} for leaf in leaves(tree)))}


def transformed(node: Node, scores: str, targets: int, output: str = "") -> str:
    """What the `post_transform` of the node makes of the scores of its targets.

    Raises Unconvertible where runtimes disagree about it: onnxruntime leaves the score of one target alone as it is.
    """
    transform = node.attr("post_transform", "NONE")
    if transform != "NONE" and targets == 1:
        raise unknown(transform)
    if transform == "SOFTMAX":
        return node.op.Softmax(scores, axis=1, output=output)
    if transform == "LOGISTIC":
        return node.op.Sigmoid(scores, output=output)
    if transform != "NONE":
        raise unknown(transform)
    return scores


def unknown(transform: str) -> Unconvertible:
    """The refusal of a `post_transform`."""
    return Unconvertible(f"runtimes disagree about post_transform {transform} of its scores", "apply it behind the node")


def with_bases(trees: Iterable[Tree], bases: Iterable[float]) -> list[Tree]:
    """The trees of a sum, and a leaf for each of the numbers that are added to its targets."""
    return [*trees, *([((target, float(base)),)] for target, base in enumerate(bases) if base)]
