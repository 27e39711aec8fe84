"""Makes onnxruntime add products of uint8 and int8 exactly, also on processors where its own kernels do not.

Without VNNI, its kernels for x86 add such products in pairs, in 16 bits, where 32767 is the largest sum. Products of two unsigned
numbers are exact on every processor. So a signed operand b becomes the unsigned b + 128 and its zero point z becomes z + 128: the
difference b - z, with which the operators compute, stays the same.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper
from onnx.inliner import inline_local_functions

from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import subgraphs
from ..opsets import facts
from ..opsets.cases import Case, Values
from ..opsets.defects import multiplied_types, saturated_products

_SHIFT = 128
"""The difference between an int8 and the uint8 that takes its place."""
_NAME = "_exact_product"
"""The beginning of the names of added values."""
_ROUNDED = 1e-5
"""The share of the largest number by which floats may differ because they are rounded, while saturation changes whole steps."""


class Product(NamedTuple):
    """A node of the main graph that multiplies uint8 by int8: how it is called, and the names of the value that it gives if
    products are exact and of what onnxruntime's own kernel makes of the same operands.
    """

    node: str
    exact: str
    own: str

    def differs(self, values: Mapping[str, Any]) -> bool:
        """Whether the kernel's result is not the exact one."""
        exact, own = (np.asarray(values[name]) for name in (self.exact, self.own))
        if exact.dtype.kind != "f":
            return not np.array_equal(exact, own)
        largest = np.abs(exact, where=np.isfinite(exact), out=np.zeros_like(exact)).max(initial=0)
        return not np.allclose(own, exact, rtol=0, atol=_ROUNDED * largest, equal_nan=True)


class Exact(NamedTuple):
    """A serialized model in which onnxruntime multiplies exactly, and the products in its main graph.

    Their values are outputs of the model: `added` outputs behind those that it had.
    """

    model: bytes
    products: tuple[Product, ...]
    added: int

    def saturated(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The nodes of which onnxruntime's own kernel gives other results, if `values` are the outputs of a run, by name."""
        return tuple(product.node for product in self.products if product.differs(values))


def with_exact_products(model: str | bytes) -> Exact | None:
    """The model, which is the path of a file or its content, with exact products; None where there is nothing to change."""
    if not _may_multiply(model) or are_exact():
        return None
    proto = onnx.load_model_from_string(model) if isinstance(model, bytes) else onnx.load(model, load_external_data=False)
    if proto.functions:
        proto = inline_local_functions(proto)
    opset = next((entry.version for entry in proto.opset_import if entry.domain in DEFAULT_DOMAINS), 1)
    exact = _ExactModel(opset, Values(proto))
    exact.change(proto.graph.node, is_main=True)
    if not exact.is_changed:
        return None
    outputs = {value.name for value in proto.graph.output}
    added = [name for product in exact.products for name in (product.exact, product.own) if name not in outputs]
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in added)
    return Exact(proto.SerializeToString(), tuple(exact.products), len(added))


@cache
def are_exact() -> bool:
    """Whether onnxruntime's kernels for this processor multiply uint8 by int8 exactly, which one product shows."""
    import onnxruntime

    value = helper.make_tensor_value_info
    operands = [value("a", TensorProto.UINT8, None), value("b", TensorProto.INT8, None)]
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    graph = helper.make_graph([node], "product", operands, [value("y", TensorProto.INT32, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=5)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"a": np.full((32, 32), 255, np.uint8), "b": np.full((32, 32), 127, np.int8)})
    return np.array_equal(np.asarray(found), np.full((32, 32), 32 * 255 * 127))


def may_join_products(model: str | bytes) -> bool:
    """Whether onnxruntime's optimizer may make products of integers of what stands between DequantizeLinear and QuantizeLinear,
    which its kernels for this processor do not compute exactly.
    """
    return _names_one(model, ["DequantizeLinear"]) and not are_exact()


def _may_multiply(model: str | bytes) -> bool:
    """Whether the name of an operator that multiplies integers stands in the model."""
    return _names_one(model, facts.multiplying())


def _names_one(model: str | bytes, operators: Iterable[str]) -> bool:
    """Whether the name of one of the operators stands in the model, which is not parsed for that."""
    names = [name.encode() for name in operators]
    if isinstance(model, bytes):
        return any(name in model for name in names)
    with open(model, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(name) >= 0 for name in names)


class _ExactModel:
    """A model whose products are made exact."""

    def __init__(self, opset: int, values: Values) -> None:
        self._opset = opset
        self._values = values
        self._count = 0
        self.products: list[Product] = []

    @property
    def is_changed(self) -> bool:
        return self._count > 0

    def change(self, nodes: MutableSequence[NodeProto], *, is_main: bool) -> None:
        """Make the products of a graph exact, and those in its subgraphs. Of the main graph, the products are noted."""
        changed: list[NodeProto] = []
        for node in nodes:
            for _, graph in subgraphs(node):
                self.change(graph.node, is_main=False)
            case = Case(node, self._opset, self._values)
            if not facts.of(node.op_type, node.domain).multiplied or not saturated_products(case):
                changed.append(node)
                continue
            own = NodeProto()
            own.CopyFrom(node)
            changed += [*self._unsigned(case), node]
            if is_main:
                own.output[:], own.name = [self._name() if name else "" for name in own.output], ""
                changed.append(own)
                title = f"{node.op_type} '{node.name or node.output[0]}'"
                self.products.append(Product(title, node.output[0], own.output[0]))
        del nodes[:]
        nodes.extend(changed)

    def _unsigned(self, case: Case) -> Iterator[NodeProto]:
        """Give the node unsigned operands in place of signed ones. Yields the nodes that make them."""
        zero_points = dict(facts.of(case.node.op_type, case.node.domain).multiplied)
        for operand, kind in multiplied_types(case).items():
            if kind != TensorProto.INT8:
                continue
            yield from self._shifted(case.node, operand)
            zero_point = zero_points[operand]
            assert zero_point is not None  # an operand without one is quantized by the operator, to uint8
            if case.has_input(zero_point):
                yield from self._shifted(case.node, zero_point)
                continue
            case.node.input.extend([""] * (zero_point + 1 - len(case.node.input)))
            case.node.input[zero_point] = self._name()
            yield _constant(case.node.input[zero_point], TensorProto.UINT8)

    def _shifted(self, node: NodeProto, index: int) -> Iterator[NodeProto]:
        """Give `node` the unsigned number in place of the signed one that its input `index` is."""
        number, shift, total, result = (self._name() for _ in range(4))
        yield helper.make_node("Cast", [node.input[index]], [number], to=TensorProto.INT32)
        yield _constant(shift, TensorProto.INT32)
        yield helper.make_node("Add", [number, shift], [total])
        yield helper.make_node("Cast", [total], [result], to=TensorProto.UINT8)
        node.input[index] = result

    def _name(self) -> str:
        self._count += 1
        return f"{_NAME}_{self._count}"


def _constant(name: str, kind: int) -> NodeProto:
    """A Constant with the shift, a scalar of the element type `kind`."""
    return helper.make_node("Constant", [], [name], value=helper.make_tensor("shift", kind, [], [_SHIFT]))
