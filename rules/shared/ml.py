"""What the rules for operators of ai.onnx.ml share: their domain, its versions, and the attributes that are tensors from 3 on.

https://onnx.ai/onnx/operators/index_ml.html
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

DOMAIN = "ai.onnx.ml"
HAS_TREE_ENSEMBLE = 5
"""The version that has TreeEnsemble instead of TreeEnsembleRegressor and TreeEnsembleClassifier."""
_HAS_TENSORS = 3
"""The version from which on the numbers of trees may be tensors."""
_AS_TENSOR = "_as_tensor"


class Features(NamedTuple):
    """The first input of trees, as a TreeEnsemble takes it, and its element type."""

    name: str
    kind: int


def features(node: Node) -> Features:
    """The first input of a TreeEnsembleRegressor or TreeEnsembleClassifier as float, or double.

    Raises Unconvertible where its trees are double and the input is not.
    """
    kind = node.need_elem_type()
    if kind == TensorProto.DOUBLE:
        return Features(node.input(0), kind)
    read = [name for name in _tensors(node) if not name.startswith("nodes_hitrates")]
    if any(node.attr(name).data_type != TensorProto.FLOAT for name in read):
        raise Unconvertible("its trees are double, and its input is not", "let its input be double, too")
    is_float = kind == TensorProto.FLOAT
    return Features(node.input(0) if is_float else node.op.Cast(node.input(0), to=TensorProto.FLOAT), TensorProto.FLOAT)


def scores_of(node: Node, x: Features, targets: int, output: str = "", **attributes: Any) -> str:
    """What a TreeEnsemble with these attributes makes of `x`: a matrix with a row for each sample and a column for each target."""
    scores = node.op.of(DOMAIN, node.domain_target).TreeEnsemble(x.name, n_targets=targets, output=output, **attributes)
    node.graph.note_type(scores, helper.make_tensor_type_proto(x.kind, [None, targets]))
    return scores


def state_lists(node: Node) -> None:
    """Below version 3, tensors of a TreeEnsembleRegressor or TreeEnsembleClassifier become lists of floats.

    Raises Unconvertible where a number of them is none in float.
    """
    if node.domain_target >= _HAS_TENSORS:
        return
    for name in _tensors(node):
        values = node.graph.read(node.attr(name)).reshape(-1)
        if not np.array_equal(values, values.astype(np.float32), equal_nan=True):
            raise Unconvertible(
                f"{name} has doubles that are no floats, and version 1 has floats alone", "convert the model to float first"
            )
        node.pop_attr(name)
        if values.size:
            node.set_attr(name.removesuffix(_AS_TENSOR), values.astype(np.float32).tolist())


def _tensors(node: Node) -> list[str]:
    return [attribute.name for attribute in node.proto.attribute if attribute.name.endswith(_AS_TENSOR)]
