"""Wrong versions of a right model: `structural` ones differ in one place of the graph, `regional` ones in one region of values,
`shaped` ones in the rank, the shape or the order of one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper


class Mutant(NamedTuple):
    """`kind` is how it was made, `what` where; `region` makes values that are in the region of an input, by its name."""

    kind: str
    what: str
    model: ModelProto
    region: tuple[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] | None = None


# --- structural -------------------------------------------------------------------------------------------------------

_SIBLINGS = (
    "Add Sub Mul Div",
    "Max Min Sum Mean",
    "Relu Abs Neg Identity Sign",
    "Floor Ceil Round",
    "Sin Cos Tan",
    "Exp Softplus Softsign Sigmoid Tanh",
    "Sqrt Reciprocal",
    "And Or Xor",
    "Greater Less Equal GreaterOrEqual LessOrEqual",
    "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd",
    "ReduceL1 ReduceL2 ReduceSumSquare",
    "ArgMax ArgMin",
    "Softmax LogSoftmax Hardmax",
    "GlobalMaxPool GlobalAveragePool",
    "MaxPool AveragePool",
    "BitwiseAnd BitwiseOr BitwiseXor",
    "IsNaN IsInf",
)
_SIBLING = {name: [other for other in names.split() if other != name] for names in _SIBLINGS for name in names.split()}
_COMMUTES = frozenset(
    ["Add", "Mul", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"]
)


_FLAGS = frozenset(
    [
        "align_corners",
        "allowzero",
        "antialias",
        "ceil_mode",
        "count_include_pad",
        "exclude_outside",
        "exclusive",
        "fmod",
        "inverse",
        "is_causal",
        "keepdims",
        "largest",
        "linear_before_reset",
        "noop_with_empty_axes",
        "periodic",
        "reverse",
        "sorted",
        "transA",
        "transB",
        "upper",
    ]
)
"""Attributes that are 0 or 1; no specification says what another number means."""


def structural(random: Random, model: ModelProto, count: int) -> Iterator[Mutant]:
    """Up to `count` mutants that differ from `model` in one node or one constant."""
    makers = [_change_attribute, _swap_inputs, _replace_operator, _change_constant, _rewire, _drop_node, _swap_outputs]
    seen = {model.SerializeToString()}
    for _ in range(count * 6):
        mutant = ModelProto.FromString(model.SerializeToString())
        maker = random.choice(makers)
        what = maker(random, mutant)
        data = mutant.SerializeToString()
        if what and data not in seen:
            seen.add(data)
            yield Mutant(maker.__name__.removeprefix("_").replace("_", " "), what, mutant)
            count -= 1
        if count == 0:
            return


def _nodes(model: ModelProto) -> list[NodeProto]:
    return list(model.graph.node)


def _chosen(random: Random, nodes: list[NodeProto]) -> NodeProto | None:
    return random.choice(nodes) if nodes else None


def _change_attribute(random: Random, model: ModelProto) -> str:
    kinds = (AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.INTS, AttributeProto.FLOATS)
    node = _chosen(random, [n for n in _nodes(model) if n.op_type != "Constant" and any(a.type in kinds for a in n.attribute)])
    if node is None:
        return ""
    attribute = random.choice([a for a in node.attribute if a.type in kinds])
    if attribute.name in _FLAGS:
        attribute.i = int(not attribute.i)
    elif attribute.type == AttributeProto.INT:
        attribute.i += random.choice((-1, 1))
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = attribute.f * random.choice((0.5, 1.5)) + (attribute.f == 0)
    else:
        numbers = attribute.ints if attribute.type == AttributeProto.INTS else attribute.floats
        if not numbers:
            return ""
        numbers[random.randrange(len(numbers))] += random.choice((-1, 1))
    return f"{node.op_type}.{attribute.name}"


def _swap_inputs(random: Random, model: ModelProto) -> str:
    node = _chosen(random, [n for n in _nodes(model) if n.op_type not in _COMMUTES and len({*n.input} - {""}) > 1])
    if node is None:
        return ""
    one, other = random.sample(range(len(node.input)), 2)
    node.input[one], node.input[other] = node.input[other], node.input[one]
    return f"{node.op_type} {one}↔{other}"


def _replace_operator(random: Random, model: ModelProto) -> str:
    node = _chosen(random, [n for n in _nodes(model) if n.op_type in _SIBLING])
    if node is None:
        return ""
    old, node.op_type = node.op_type, random.choice(_SIBLING[node.op_type])
    return f"{old} → {node.op_type}"


def _tensors(model: ModelProto) -> list[TensorProto]:
    found = [tensor for tensor in model.graph.initializer if tensor.data_location != TensorProto.EXTERNAL]
    found += [a.t for node in _nodes(model) if node.op_type == "Constant" for a in node.attribute if a.HasField("t")]
    return [tensor for tensor in found if tensor.data_type != TensorProto.STRING and 0 not in tensor.dims]


def _change_constant(random: Random, model: ModelProto) -> str:
    tensors = _tensors(model)
    if not tensors:
        return ""
    tensor = random.choice(tensors)
    array = numpy_helper.to_array(tensor).copy()
    flat = array.reshape(-1)
    at = random.randrange(flat.size)
    flat[at] = not flat[at] if array.dtype == bool else flat[at] + np.asarray(1).astype(array.dtype)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return f"constant {array.dtype}{list(array.shape)}[{at}]"


def _rewire(random: Random, model: ModelProto) -> str:
    """Let one input of a node be another value that is there before it."""
    nodes = _nodes(model)
    index = random.randrange(len(nodes))
    before = [value.name for value in model.graph.input] + [name for node in nodes[:index] for name in node.output if name]
    node = nodes[index]
    if not node.input:
        return ""
    at = random.randrange(len(node.input))
    others = [name for name in before if name != node.input[at]]
    if not others or not node.input[at]:
        return ""
    node.input[at] = random.choice(others)
    return f"{node.op_type} input {at}"


def _drop_node(random: Random, model: ModelProto) -> str:
    """Let a node hand its first input on."""
    index = random.randrange(len(model.graph.node))
    node = model.graph.node[index]
    if len(node.output) != 1 or not node.input or node.op_type in ("Identity", "Constant"):
        return ""
    model.graph.node[index].CopyFrom(helper.make_node("Identity", [node.input[0]], list(node.output)))
    return node.op_type


def _swap_outputs(random: Random, model: ModelProto) -> str:
    node = _chosen(random, [n for n in _nodes(model) if len([name for name in n.output if name]) > 1])
    if node is None:
        return ""
    one, other = random.sample(range(len(node.output)), 2)
    node.output[one], node.output[other] = node.output[other], node.output[one]
    return node.op_type


# --- shapes -----------------------------------------------------------------------------------------------------------


_RESHAPERS: dict[str, tuple[str, dict[str, int]]] = {
    "turned": ("Transpose", {}),
    "rows joined": ("Flatten", {"axis": 1}),
    "all joined": ("Flatten", {"axis": 0}),
    "dimensions of 1 gone": ("Squeeze", {}),
}
"""Nodes that change only the shape, or the order, of what they read."""


def shaped(random: Random, model: ModelProto, count: int) -> Iterator[Mutant]:
    """Up to `count` mutants of which one value has another rank or shape; its outputs state the shapes that onnx infers."""
    places = [(index, name) for index, node in enumerate(_nodes(model)) for name in node.output if name]
    places += [(-1, value.name) for value in model.graph.input]
    choices = [(place, kind) for place in places for kind in _RESHAPERS]
    for (index, name), kind in random.sample(choices, min(count, len(choices))):
        mutant = ModelProto.FromString(model.SerializeToString())
        op_type, attributes = _RESHAPERS[kind]
        read = f"{name}_before"
        if index < 0:
            for node in mutant.graph.node:
                node.input[:] = [read if other == name else other for other in node.input]
            made = helper.make_node(op_type, [name], [read], **attributes)
        else:
            node = mutant.graph.node[index]
            node.output[:] = [read if other == name else other for other in node.output]
            made = helper.make_node(op_type, [read], [name], **attributes)
        mutant.graph.node.insert(index + 1, made)
        del mutant.graph.value_info[:]
        for value in mutant.graph.output:
            value.type.tensor_type.ClearField("shape")
        yield Mutant(kind, f"{name} by {op_type}", onnx.shape_inference.infer_shapes(mutant))


# --- regional ---------------------------------------------------------------------------------------------------------


class _Region(NamedTuple):
    """`text`: nodes that make `wrong` (bool) of `x`; `fill`: values of which some are in the region, and the rest as they were."""

    text: str
    fill: Callable[[np.random.Generator, np.ndarray], np.ndarray]


def _some(values: list[float] | Callable[[np.random.Generator, int], np.ndarray]) -> Callable[..., np.ndarray]:
    def fill(random: np.random.Generator, array: np.ndarray) -> np.ndarray:
        flat = np.array(array).reshape(-1)
        count = max(1, flat.size // random.choice([1, 2, 4, 8]))
        chosen = values(random, count) if callable(values) else random.choice(values, count)
        with np.errstate(all="ignore"):
            flat[random.permutation(flat.size)[:count]] = np.asarray(chosen).astype(array.dtype)
        return flat.reshape(array.shape)

    return fill


_FLOAT_REGIONS = {
    "NaN": _Region("wrong = IsNaN(x)", _some([np.nan])),
    "infinity": _Region("wrong = IsInf(x)", _some([np.inf, -np.inf])),
    "above 8": _Region("c = Constant<value_float = 8.0>()\n d = CastLike(c, x)\n wrong = Greater(x, d)", _some(lambda r, n: r.uniform(8.1, 60, n))),
    "below -8": _Region("c = Constant<value_float = -8.0>()\n d = CastLike(c, x)\n wrong = Less(x, d)", _some(lambda r, n: r.uniform(-60, -8.1, n))),
    "beyond 100": _Region("c = Constant<value_float = 100.0>()\n d = CastLike(c, x)\n a = Abs(x)\n wrong = Greater(a, d)", _some(lambda r, n: r.choice([-1, 1], n) * r.uniform(101, 1000, n))),
    "below 1e-3": _Region("c = Constant<value_float = 0.001>()\n d = CastLike(c, x)\n a = Abs(x)\n wrong = Less(a, d)", _some(lambda r, n: r.uniform(-9e-4, 9e-4, n))),
    "whole numbers": _Region("f = Floor(x)\n wrong = Equal(f, x)", _some(lambda r, n: r.integers(-6, 7, n))),
    "halves": _Region("t = Add(x, x)\n f = Floor(t)\n h = Floor(x)\n a = Equal(f, t)\n b = Equal(h, x)\n n = Not(b)\n wrong = And(a, n)", _some(lambda r, n: r.integers(-6, 7, n) + 0.5)),
}  # fmt: skip
_INTEGER_REGIONS = {
    "negative": _Region("c = Constant<value_int = 0>()\n d = CastLike(c, x)\n wrong = Less(x, d)", _some(lambda r, n: r.integers(-3, 0, n))),
    "above 3": _Region("c = Constant<value_int = 3>()\n d = CastLike(c, x)\n wrong = Greater(x, d)", _some(lambda r, n: r.integers(4, 100, n))),
    "above 100": _Region("c = Constant<value_int = 100>()\n d = CastLike(c, x)\n wrong = Greater(x, d)", _some(lambda r, n: r.integers(101, 127, n))),
}  # fmt: skip
_BIG = {
    "above 2^20": _Region("c = Constant<value_int = 1048576>()\n d = CastLike(c, x)\n wrong = Greater(x, d)", _some(lambda r, n: r.integers(1 << 21, 1 << 30, n))),
}  # fmt: skip
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
_SIGNED = (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64)
_UNSIGNED = (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64)
REGIONAL_OPSET = 20
"""Where mutants are made: the operators that tell a region take all types there."""


def regional(random: Random, model: ModelProto, count: int, original: ModelProto) -> Iterator[Mutant]:
    """Up to `count` mutants of `model`, of opset REGIONAL_OPSET, that read another number where an input is in a region.

    `original` is what it was made of: what reads an input there decides which regions are defined.
    """
    places = [(value, name, region) for value in model.graph.input for name, region in _regions(value).items()]
    reads = {(name, node.op_type, index) for node in original.graph.node for index, name in enumerate(node.input)}
    places = [place for place in places if all(_is_defined(op, at, place[1]) for name, op, at in reads if name == place[0].name)]
    for value, name, region in random.sample(places, min(count, len(places))):
        mutant = _with_region(model, value, region)
        if mutant is not None:
            yield Mutant(name, f"input {value.name}", mutant, (value.name, region.fill))


_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_NOT_DEFINED = {
    ("BitShift", 1, "negative"),
    *(("BitShift", 1, region) for region in ("above 100", "above 2^20")),
    ("CenterCropPad", 1, "negative"),
    ("Loop", 0, "negative"),
    ("NonMaxSuppression", 2, "negative"),
    ("Range", 2, "below 1e-3"),
    ("DynamicQuantizeLinear", 0, "infinity"),
    *((f"Reduce{name}", 1, region) for name in _REDUCTIONS for region in ("above 3", "above 100", "above 2^20")),
    ("SoftmaxCrossEntropyLoss", 1, "negative"),
    ("NegativeLogLikelihoodLoss", 1, "negative"),
    *((name, 0, "NaN") for name in ("ArgMax", "ArgMin", "Hardmax", "TopK", "QuantizeLinear", "DynamicQuantizeLinear")),
    *((name, index, "NaN") for name in ("QLinearMatMul", "QLinearConv") for index in (1, 4, 6)),
}
"""operator, input, region: what some runtimes compute, and the specification does not allow or say; and more elements than a sample has."""
_TOO_LARGE = {
    *((f"{name}Window", 0) for name in ("Hann", "Hamming", "Blackman")),
    ("MelWeightMatrix", 1),
    ("CenterCropPad", 1),
    ("ConstantOfShape", 0),
    ("Expand", 1),
    ("Tile", 1),
    ("Range", 0),
    ("Range", 1),
    ("Reshape", 1),
    ("TopK", 1),
}
"""operator, input: a size; above 2^20 it makes tensors that no sample has."""


def _is_defined(op_type: str, index: int, region: str) -> bool:
    return (op_type, index, region) not in _NOT_DEFINED and (region != "above 2^20" or (op_type, index) not in _TOO_LARGE)


def _regions(value: onnx.ValueInfoProto) -> dict[str, _Region]:
    kind = value.type.tensor_type.elem_type
    if kind in _FLOATS:
        return _FLOAT_REGIONS
    if kind in _SIGNED + _UNSIGNED:
        narrow = kind in (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16)
        found = _INTEGER_REGIONS | ({} if narrow else _BIG)
        return {name: region for name, region in found.items() if name != "negative" or kind in _SIGNED}
    return {}


def _with_region(model: ModelProto, value: onnx.ValueInfoProto, region: _Region) -> ModelProto | None:
    """The model with its input replaced, inside the region, by another number (0 for NaN, x / 2 + 1 for floats, 1 for integers)."""
    mutant = ModelProto.FromString(model.SerializeToString())
    is_float = value.type.tensor_type.elem_type in _FLOATS
    lines = "c2 = Constant<value_float = 1.25>()\n" if is_float else "c2 = Constant<value_int = 1>()\n"
    text = f"g (float x) => (float y) {{ {region.text}\n {lines} other = CastLike(c2, x)\n y = Where(wrong, other, x) }}"
    piece = onnx.parser.parse_graph(text)
    names = {name: f"mutant_{name}" for node in piece.node for name in node.output} | {"x": value.name}
    for node in mutant.graph.node:
        node.input[:] = [names["y"] if name == value.name else name for name in node.input]
    for node in reversed(piece.node):
        node.input[:] = [names[name] for name in node.input]
        node.output[:] = [names[name] for name in node.output]
        mutant.graph.node.insert(0, node)
    return mutant
