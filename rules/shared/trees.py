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
from itertools import groupby
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
_MEMBER, _LEAF = MODES.index("BRANCH_MEMBER"), "LEAF"
_CORRECT = "correct the model"
_MOST_COPIES = 16
"""How many times as many nodes as a TreeEnsemble has its TreeEnsembleRegressor may have."""


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

    Raises Unconvertible where its nodes are no trees, or runtimes read them differently.
    """
    rows, ends = _listed_rows(node), _listed_ends(node, what)
    places = _places((row.tree, row.node) for row in rows)
    weights: dict[tuple[int, int], list[tuple[int, float]]] = {(row.tree, row.node): [] for row in rows if row.mode == _LEAF}
    for tree, leaf, target, weight in ends:
        if (tree, leaf) not in weights:
            raise Unconvertible("a weight of its trees is for no leaf", _CORRECT)
        weights[tree, leaf].append((target, float(weight)))
    trees: dict[int, Tree] = {}
    for row in rows:
        after = [places.get((row.tree, each), 0) for each in (row.yes, row.no)]
        is_leaf = row.mode == _LEAF
        made = Branch(row.mode, row.feature, float(row.value), bool(row.takes_nan), *after)
        trees.setdefault(row.tree, []).append(tuple(weights[row.tree, row.node]) if is_leaf else made)
    return [_required(tree, number) for number, tree in trees.items()]


class _ListedRow(NamedTuple):
    """A node as it is listed until version 4."""

    tree: int
    node: int
    mode: str
    feature: int
    yes: int
    no: int
    value: float
    takes_nan: int


def _listed_rows(node: Node) -> list[_ListedRow]:
    """All nodes of the trees. Raises Unconvertible where they are incomplete, or runtimes find other trees in them."""
    names = ("treeids", "nodeids", "modes", "featureids", "truenodeids", "falsenodeids")
    columns = [*(node.attr(f"nodes_{name}", []) for name in names), numbers(node, "nodes_values").tolist()]
    _require_equal_lengths(columns)
    nan = node.attr("nodes_missing_value_tracks_true", [])
    rows = [_ListedRow(*row) for row in zip(*columns, [*nan, *[0] * (len(columns[0]) - len(nan))], strict=False)]
    odd = next((row.mode for row in rows if row.mode not in (_LEAF, *MODES[:_MEMBER])), None)
    if odd is not None:
        raise Unconvertible(f"its trees have no mode '{odd}'", _CORRECT)
    order = [number for number, _ in groupby(row.tree for row in rows)]
    if len(set(order)) < len(order) or min(order) < 0:
        raise Unconvertible(
            "runtimes disagree about trees of which nodes are mixed, or with negative numbers", "list one tree after the other"
        )
    return rows


def _listed_ends(node: Node, what: str) -> list[tuple[int, int, int, float]]:
    """For each weight its tree, its node, its target and the weight itself."""
    lists = [node.attr(f"{what}_{part}", []) for part in ("treeids", "nodeids", "ids")]
    columns = [*lists, numbers(node, f"{what}_weights").tolist()]
    _require_equal_lengths(columns)
    return list(zip(*columns, strict=True))


def _require_equal_lengths(columns: Sequence[Sequence[object]]) -> None:
    if not columns[0] or len({len(column) for column in columns}) > 1:
        raise Unconvertible("its trees are incomplete: a list is absent, or shorter than others", _CORRECT)


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
            f"the nodes of its tree {number} do not form a tree that begins with the first", "list each node once, the root first"
        )
    return tree


def numbers(node: Node, name: str) -> np.ndarray:
    """The attribute `name`, a list of floats, or the tensor that stands for it from version 3 on, in double."""
    tensor = node.attr(f"{name}_as_tensor")
    values = node.attr(name, []) if tensor is None else node.graph.read(tensor).reshape(-1)
    return np.array(values, np.float64)


def listed_attributes(whole: Sequence[Tree], what: str) -> dict[str, Any]:
    """The attributes of version 1 of an operator whose trees these are, in float; the weights are of a `what`."""
    rows: list[tuple[int, int, str, int, float, int, int, int]] = []
    weights: list[tuple[int, int, int, float]] = []
    for number, tree in enumerate(whole):
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

    Raises Unconvertible where that, or nodes that several branches share, makes many nodes of few, or where the node names others
    that do not exist.
    """
    rows, ends, roots = _rows(node), _ends(node), node.attr("tree_roots")
    counts = len(rows), len(ends)
    named = [pair for row in rows for pair in ((row.yes, row.yes_is_leaf), (row.no, row.no_is_leaf))]
    if not all(0 <= place < counts[bool(is_leaf)] for place, is_leaf in (*named, *((root, 0) for root in roots))):
        raise Unconvertible("its trees name nodes that do not exist", _CORRECT)
    sets = iter(_sets(node))
    members = [next(sets, ()) if row.mode == _MEMBER else () for row in rows]
    if any(row.mode == _MEMBER and not values for row, values in zip(rows, members, strict=True)):
        raise Unconvertible("a BRANCH_MEMBER of it has no values", _CORRECT)
    most = _MOST_COPIES * sum(counts)
    trees: list[Tree] = []
    for root in roots:
        trees.append(_unfolded(root, rows, members, ends, most))
        most -= len(trees[-1])
    return trees


def _rows(node: Node) -> list[_Row]:
    names = ("featureids", "truenodeids", "trueleafs", "falsenodeids", "falseleafs")
    modes, splits = (node.graph.read(node.attr(f"nodes_{name}")).reshape(-1) for name in ("modes", "splits"))
    nan = node.attr("nodes_missing_value_tracks_true", []) or [0] * modes.size
    columns = [modes.tolist(), splits.astype(np.float64).tolist(), nan, *(node.attr(f"nodes_{name}") for name in names)]
    _require_equal_lengths(columns)
    rows = [_Row(*row) for row in zip(*columns, strict=True)]
    if any(row.mode >= len(MODES) for row in rows):
        raise Unconvertible(f"its trees have no mode {max(row.mode for row in rows)}", _CORRECT)
    return rows


def _ends(node: Node) -> list[Leaf]:
    columns = [node.attr("leaf_targetids"), node.graph.read(node.attr("leaf_weights")).reshape(-1).astype(np.float64).tolist()]
    _require_equal_lengths(columns)
    return [((target, weight),) for target, weight in zip(*columns, strict=True)]


def _unfolded(root: int, rows: Sequence[_Row], members: Sequence[tuple[float, ...]], ends: Sequence[Leaf], most: int) -> Tree:
    """The tree whose root is the branch number `root`, of at most `most` nodes."""
    tree: Tree = []
    reached = [(False, root, 0)]
    for is_leaf, index, tried in reached:  # grows
        if len(reached) > most:
            raise Unconvertible("its branches share nodes, or lead back, and copies make too many", "export smaller trees")
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


def with_one_target(listed: Iterable[Tree], default: float | None) -> list[Tree]:
    """The trees, with one weight in each leaf. A tree whose leaves have several becomes one for each target.

    `default` is the weight of leaves without one. Raises Unconvertible where a leaf needs it and it is None, or where a leaf has
    several weights for one target.
    """
    return [each for tree in listed for each in _of_one_target(tree, default)]


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


def ensemble_attributes(single: Iterable[Tree], kind: int) -> dict[str, Any]:
    """The attributes of a TreeEnsemble of these trees, whose leaves have one weight each, in element type `kind`."""
    rows: list[_Row] = []
    weights: list[tuple[int, float]] = []
    roots: list[int] = []
    for tree in single:
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


def scored_everywhere(listed: Iterable[Tree]) -> set[int]:
    """The targets for which all leaves of some tree have a weight, so that each sample has a score for them."""
    return {target for tree in listed for target in set.intersection(*({target for target, _ in leaf} for leaf in leaves(tree)))}


def transformed(node: Node, scores: str, targets: int, output: str = "") -> str:
    """What the `post_transform` of the node makes of the scores of its targets.

    Raises Unconvertible where runtimes disagree about it: onnxruntime leaves the score of one target alone as it is.
    """
    transform = node.attr("post_transform", "NONE")
    if transform != "NONE" and targets == 1:
        raise _unsettled(transform)
    if transform == "SOFTMAX":
        return node.op.Softmax(scores, axis=1, output=output)
    if transform == "LOGISTIC":
        return node.op.Sigmoid(scores, output=output)
    if transform != "NONE":
        raise _unsettled(transform)
    return scores


def _unsettled(transform: str) -> Unconvertible:
    """The refusal of a `post_transform`, of which runtimes make different numbers, or none."""
    return Unconvertible(f"runtimes disagree about post_transform {transform} of its scores", "apply it behind the node")


def with_bases(summed: Iterable[Tree], bases: Iterable[float]) -> list[Tree]:
    """The trees of a sum, and a leaf for each of the numbers that are added to its targets."""
    return [*summed, *([((target, float(base)),)] for target, base in enumerate(bases) if base)]
