"""Random decision trees, as models of ai.onnx.ml."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
FEATURES = 2
STUMP = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
}
"""The nodes of a tree of one branch, in the form of versions 1 to 4."""


def tree_model(op_type: str, version: int, outputs: dict[str, int], kind: int = TensorProto.FLOAT, **attributes: Any) -> ModelProto:
    """A model of one node, with `FEATURES` features of element type `kind`. `outputs` are names and element types."""
    node = helper.make_node(op_type, ["x"], list(outputs), domain="ai.onnx.ml", **attributes)
    x = helper.make_tensor_value_info("x", kind, ["N", FEATURES])
    made = [helper.make_tensor_value_info(name, number, None) for name, number in outputs.items()]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(helper.make_graph([node], "g", [x], made), opset_imports=imports, ir_version=8)


def samples(rng: np.random.Generator, kind: type) -> np.ndarray:
    """Features at, below and above the thresholds of `listed_trees`, and NaN."""
    x = rng.integers(-3, 4, (40, FEATURES)).astype(kind)
    return np.where(rng.random(x.shape) < 0.1, kind(np.nan), x) if np.issubdtype(kind, np.floating) else x


def listed_trees(seed: int, what: str, targets: Sequence[int], weights: Sequence[float]) -> dict[str, Any]:
    """The attributes of a few trees in the form of versions 1 to 4, each of whose leaves has a weight for each of `targets`."""
    choose = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    leaves: list[tuple[int, int, int, float]] = []
    for tree in range(choose.randint(1, 4)):
        depths = [choose.randint(0, 3)]
        for place, depth in enumerate(depths):  # grows
            if depth:
                depths += [choose.randrange(depth), choose.randrange(depth)]
                mode, feature, value, nan = (
                    choose.choice(MODES),
                    choose.randrange(FEATURES),
                    choose.randint(-2, 2),
                    choose.randint(0, 1),
                )
                rows.append((tree, place, mode, feature, float(value), len(depths) - 2, len(depths) - 1, nan))
            else:
                rows.append((tree, place, "LEAF", 0, 0.0, 0, 0, 0))
                leaves += [(tree, place, target, choose.choice(weights)) for target in targets]
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    found = {f"nodes_{name}": list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    ends = zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves, strict=True), strict=True)
    return found | {f"{what}_{name}": list(column) for name, column in ends}


def ensemble(seed: int, targets: int, kind: type = np.float32, *, members: bool = False) -> dict[str, Any]:
    """The attributes of a few trees in the form of version 5, with BRANCH_MEMBER among their modes for `members`."""
    choose = random.Random(seed)
    rows: list[list[Any]] = []
    leaves: list[tuple[int, float]] = []
    sets: list[float] = []

    def grow(depth: int) -> tuple[int, int]:
        if not depth:
            leaves.append((choose.randrange(targets), choose.choice([-0.5, 0.0, 0.25, 1.0])))
            return len(leaves) - 1, 1
        row = [
            choose.randint(0, 6 if members else 5),
            choose.randrange(FEATURES),
            float(choose.randint(-2, 2)),
            choose.randint(0, 1),
        ]
        rows.append(row)
        if row[0] == 6:
            sets.extend([*map(float, choose.sample(range(-3, 4), 2)), np.nan])
        place = len(rows) - 1
        row += [*grow(choose.randrange(depth)), *grow(choose.randrange(depth))]
        return place, 0

    roots = [grow(choose.randint(1, 3))[0] for _ in range(choose.randint(1, 3))]
    names = ("featureids", "missing_value_tracks_true", "truenodeids", "trueleafs", "falsenodeids", "falseleafs")
    columns = list(zip(*rows, strict=True))
    found: dict[str, Any] = {f"nodes_{name}": list(columns[place]) for name, place in zip(names, (1, 3, 4, 5, 6, 7), strict=True)}
    found["nodes_modes"] = numpy_helper.from_array(np.array(columns[0], np.uint8))
    found["nodes_splits"] = numpy_helper.from_array(np.array(columns[2], kind))
    found |= {"tree_roots": roots, "n_targets": targets, "leaf_targetids": [target for target, _ in leaves]}
    found["leaf_weights"] = numpy_helper.from_array(np.array([weight for _, weight in leaves], kind))
    return found | ({"membership_values": numpy_helper.from_array(np.array(sets, kind))} if sets else {})
