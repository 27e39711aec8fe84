"""LabelEncoder of ai.onnx.ml between versions 1, which numbers strings, 2, which has keys and values, and 4, which has tensors.

https://onnx.ai/onnx/operators/onnx_aionnxml_LabelEncoder.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import replace
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.ml import DOMAIN

_HAS_KEYS, _HAS_TENSORS = 2, 4
"""The versions with keys and values, and with tensors of them."""
_LISTS = {TensorProto.STRING: "strings", TensorProto.INT64: "int64s", TensorProto.FLOAT: "floats"}
"""What the names of lists of keys and values end with, by their element type."""


@replace(DOMAIN, "LabelEncoder", opset=9, exact=True, module="ml")
def label_encoder(node: Node) -> None:
    """The node states its labels as the target version does."""
    version = node.domain_target
    _require_settled_keys(node)
    if version >= _HAS_KEYS:
        _state_keys(node)
    if version < _HAS_TENSORS:
        _state_lists(node)
    if version < _HAS_KEYS:
        _state_classes(node)


def _require_settled_keys(node: Node) -> None:
    """Raises Unconvertible where a key is NaN, which onnxruntime finds from version 4 on, and not before."""
    tensor = node.attr("keys_tensor")
    is_float = tensor is not None and tensor.data_type in (TensorProto.FLOAT, TensorProto.DOUBLE)
    keys = node.graph.read(tensor) if tensor is not None and is_float else np.array(node.attr("keys_floats", []))
    crosses = (node.domain_version >= _HAS_TENSORS) != (node.domain_target >= _HAS_TENSORS)
    if crosses and np.isnan(keys).any():
        raise Unconvertible("a key of it is NaN, which runtimes find from version 4 of its domain on", "remove the key")


def _state_keys(node: Node) -> None:
    """The classes of version 1, which are numbered from 0 on, become keys and values."""
    if not node.has_attr("classes_strings"):
        return
    to_numbers = node.need_elem_type() == TensorProto.STRING
    words = node.pop_attr("classes_strings")
    numbers = list(range(len(words)))
    if to_numbers:  # of a word that is there twice, the last number counts
        words, numbers = map(list, zip(*dict(zip(words, numbers, strict=True)).items(), strict=True))
    node.set_attr("keys_strings" if to_numbers else "keys_int64s", words if to_numbers else numbers)
    node.set_attr("values_int64s" if to_numbers else "values_strings", numbers if to_numbers else words)
    node.pop_attr("default_string" if to_numbers else "default_int64")


def _state_lists(node: Node) -> None:
    """The tensors of version 4 become lists. Raises Unconvertible where there are none of their type."""
    for part in ("keys", "values", "default"):
        tensor = node.attr(f"{part}_tensor")
        if tensor is None:
            continue
        if tensor.data_type not in _LISTS:
            name = TensorProto.DataType.Name(tensor.data_type).lower()
            raise Unconvertible(f"version 4 of its domain brought labels of type {name}", "use float, int64 or string")
        node.pop_attr(f"{part}_tensor")
        values = _values(node, tensor)
        kind = _LISTS[tensor.data_type]
        if part == "default":
            node.set_attr(f"default_{kind.removesuffix('s')}", values[0])
        else:
            node.set_attr(f"{part}_{kind}", values)


def _values(node: Node, tensor: TensorProto) -> list[object]:
    if tensor.data_type == TensorProto.STRING:
        try:
            return [word.decode() for word in tensor.string_data]
        except UnicodeDecodeError as error:
            raise Unconvertible(f"its label {error.object[:30]!r} is not UTF-8", "correct the model") from error
    return node.graph.read(tensor).reshape(-1).tolist()


def _state_classes(node: Node) -> None:
    """Keys and values become the classes of version 1. Raises Unconvertible where they are no strings, numbered from 0 on."""
    if node.has_attr("classes_strings"):
        return
    to_numbers = node.has_attr("keys_strings")
    words = node.attr("keys_strings" if to_numbers else "values_strings", [])
    numbers = node.attr("values_int64s" if to_numbers else "keys_int64s", [])
    is_numbered = sorted(numbers) == list(range(len(words)))
    if not words or not is_numbered or (to_numbers and len(set(words)) != len(words)):
        raise Unconvertible("version 1 of its domain numbers strings from 0 on, and these labels are others", "choose version 2")
    for name in ("keys_strings", "values_strings", "keys_int64s", "values_int64s", "default_float"):
        node.pop_attr(name)
    node.set_attr("classes_strings", [words[place] for place in np.argsort(numbers)])
