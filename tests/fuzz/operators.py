"""How to put one more operator into a graph, in the form of the graph's opset: one builder for each family.

A builder takes the graph and the operator's name, asks for operands that fit, and adds the node; it knows the sizes of what
comes out. Where the opset has no such operator, or nothing fits, it raises NotHereError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from building import COMMON, Graph, NotHereError, Shape, Value, dtypes_of, elem_type, is_float, schema_of
from onnx import helper, shape_inference

from split_rewrite.rewriter.execution.dtypes import numpy_dtype

Builder = Callable[[Graph, str], Any]
BUILDERS: dict[str, Builder] = {}
FAMILIES: list[tuple[str, ...]] = []


def operator(*names: str, weight: int = 1) -> Callable[[Builder], Builder]:
    def register(builder: Builder) -> Builder:
        BUILDERS.update(dict.fromkeys(names, builder))
        FAMILIES.extend([names] * weight)
        return builder

    return register


def add_operator(g: Graph) -> None:
    """Add one random operator with all that it needs. What attempts that fail leave behind is valid and stays.

    Raises: NotHereError where 30 attempts failed.
    """
    for _ in range(30):
        name = g.choose(g.choose(FAMILIES))
        if schema_of(name, g.opset) is None:
            continue
        try:
            BUILDERS[name](g, name)
            return
        except NotHereError:
            continue
    raise NotHereError


def has_attribute(g: Graph, op_type: str, name: str) -> bool:
    schema = schema_of(op_type, g.opset)
    return schema is not None and name in schema.attributes


def attribute_if(g: Graph, op_type: str, name: str, value: Any, chance: float = 1.0) -> dict[str, Any]:
    """{name: value} where this opset has the attribute, by chance."""
    return {name: value} if has_attribute(g, op_type, name) and g.maybe(chance) else {}


def since(g: Graph, op_type: str) -> int:
    schema = schema_of(op_type, g.opset)
    if schema is None:
        raise NotHereError
    return schema.since_version


def inferred(
    g: Graph, op_type: str, inputs: Sequence[Value], constants: dict[str, np.ndarray] | None = None, **attributes: Any
) -> list[Value]:
    """Add a node with one output whose sizes onnx's own inference tells."""
    given = {key: value for key, value in attributes.items() if value is not None}
    node = helper.make_node(op_type, [value.name for value in inputs], ["y"], **given)
    types = {v.name: helper.make_tensor_type_proto(elem_type(v.dtype), v.shape) for v in inputs if v.name}
    data = {name: helper.make_tensor(name, elem_type("int64"), array.shape, array) for name, array in (constants or {}).items()}
    imports = [helper.make_opsetid("", g.opset)]
    try:
        found = shape_inference.infer_node_outputs(schema_of(op_type, g.opset), node, types, data, None, imports, 8)["y"]
    except Exception as error:
        raise NotHereError from error
    dims = found.tensor_type.shape.dim
    if not found.tensor_type.HasField("shape") or any(dim.dim_value < 1 for dim in dims):
        raise NotHereError
    dtype = next(d for d in {inputs[0].dtype, *COMMON, "uint8", "int8"} if elem_type(d) == found.tensor_type.elem_type)
    return g.node(op_type, inputs, [(dtype, [dim.dim_value for dim in dims])], **given)


# -- splitting and sequences


@operator("Split", weight=8)
def split(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    axis = g.axis(x.rank)
    dim, version = x.shape[axis], since(g, op)
    sizes = partition(g, dim)
    form = g.choose(("sizes", "sizes", "equal", "count") if version >= 18 else ("sizes", "sizes", "equal"))
    attributes: dict[str, Any] = {"axis": axis if axis != 0 or g.maybe(0.6) else None}
    inputs: list[str | Value] = [x]
    if form == "equal":
        divisors = [n for n in range(1, dim + 1) if dim % n == 0]
        if not divisors:
            raise NotHereError
        sizes = [dim // (count := g.choose(divisors))] * count
        if version >= 18:
            attributes["num_outputs"] = count
    elif form == "count":
        counts = [n for n in range(1, dim + 1) if dim - -(-dim // n) * (n - 1) >= 0]
        if not counts:
            raise NotHereError
        each = -(-dim // (count := g.choose(counts)))
        sizes = [each] * (count - 1) + [dim - each * (count - 1)]
        attributes["num_outputs"] = count
    elif version >= 13:
        inputs.append(g.operand(sizes))
    elif version == 1 and g.maybe(0.3):
        inputs.append(g.operand(sizes, x.dtype))
    else:
        attributes["split"] = sizes
    outputs: list[tuple[str, Shape] | None] = [(x.dtype, resized(x.shape, axis, size)) for size in sizes]
    if len(outputs) > 1 and g.maybe(0.05):
        outputs[g.integer(0, len(outputs) - 1)] = None
    g.node(op, inputs, outputs, **attributes)


def partition(g: Graph, total: int) -> list[int]:
    """Sizes that add up to `total`, mostly all alike or without zeros."""
    if total > 1 and g.maybe(0.4):
        count = g.choose([n for n in range(1, total + 1) if total % n == 0])
        return [total // count] * count
    cuts = sorted(g.integer(0, total) for _ in range(g.integer(0, 3)))
    return [int(size) for size in np.diff([0, *cuts, total])]


def resized(shape: Shape, axis: int, size: int) -> Shape:
    axis %= len(shape)
    return (*shape[:axis], size, *shape[axis + 1 :])


@operator("SplitToSequence", weight=6)
def split_to_sequence(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    axis = g.axis(x.rank)
    dim = x.shape[axis]
    form = g.choose(("each", "scalar", "scalar", "list", "list"))
    keepdims = g.choose((None, 1, 0)) if form == "each" else None
    inputs: list[str | Value] = [x]
    if form == "each":
        sizes = [1] * dim
    elif form == "scalar":
        chunk = g.integer(1, max(dim, 1))
        sizes = [min(chunk, dim - start) for start in range(0, dim, chunk)]
        inputs.append(g.operand(chunk, g.choose(("int64", "int32"))))
    else:
        sizes = partition(g, dim)
        inputs.append(g.operand(sizes, g.choose(("int64", "int32"))))
    if not sizes:
        raise NotHereError
    shapes = [resized(x.shape, axis, size) for size in sizes]
    if keepdims == 0:
        shapes = [without(x.shape, [axis])] * dim
    (sequence,) = g.node(
        op, inputs, [(x.dtype, shapes[0])], sequence=True, axis=axis if axis or g.maybe(0.5) else None, keepdims=keepdims
    )
    if g.maybe(0.9):
        consume(g, sequence, shapes, axis if keepdims != 0 else None)


def consume(g: Graph, sequence: Value, shapes: list[Shape], axis: int | None) -> None:
    """Read a sequence that has elements of `shapes`, which differ along `axis` only."""
    count = len(shapes)
    for _ in range(g.integer(1, 3)):
        use = g.choose(("at", "at", "at", "length", "concat", "insert", "erase"))
        if use == "at":
            index = g.integer(-count, count - 1)
            g.node("SequenceAt", [sequence, g.operand(index, g.choose(("int64", "int32")))], [(sequence.dtype, shapes[index])])
        elif use == "length":
            g.node("SequenceLength", [sequence], [("int64", ())])
        elif use == "concat" and axis is not None:
            whole = resized(shapes[0], axis, sum(shape[axis] for shape in shapes))
            g.node("ConcatFromSequence", [sequence], [(sequence.dtype, whole)], axis=axis)
        elif use == "concat" and len(set(shapes)) == 1:
            g.node("ConcatFromSequence", [sequence], [(sequence.dtype, (count, *shapes[0]))], axis=0, new_axis=1)
        elif use == "insert":
            element = g.like(sequence.dtype, shapes[0])
            at = g.integer(-count, count)
            where = [g.operand(at)] if g.maybe(0.7) else []
            (longer,) = g.node("SequenceInsert", [sequence, element, *where], [(sequence.dtype, shapes[0])], sequence=True)
            shapes = [*shapes]
            shapes.insert(at if where else count, element.shape)
            consume(g, longer, shapes, axis)
            return
        elif use == "erase" and count > 1:
            at = g.integer(-count, count - 1)
            (shorter,) = g.node("SequenceErase", [sequence, g.operand(at)], [(sequence.dtype, shapes[0])], sequence=True)
            consume(g, shorter, [shape for i, shape in enumerate(shapes) if i != at % count], axis)
            return


@operator("SequenceConstruct", weight=2)
def sequence_construct(g: Graph, op: str) -> None:
    first = g.of(op, 1, 3)
    parts = [first, *(g.like(first.dtype, first.shape) for _ in range(g.integer(0, 3)))]
    (sequence,) = g.node(op, parts, [(first.dtype, first.shape)], sequence=True)
    consume(g, sequence, [first.shape] * len(parts), g.axis(first.rank))


# -- normalizing along an axis


@operator("Softmax", "LogSoftmax", "Hardmax", weight=3)
def softmax(g: Graph, op: str) -> None:
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape)
    if x.rank < 2 and g.opset < 13:
        axis = 0
    else:
        axis = g.axis(x.rank) if g.maybe(0.8) else None
    g.node(op, [x], [(x.dtype, x.shape)], axis=axis)


@operator(
    *(f"Reduce{kind}" for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")), weight=4
)
def reduce(g: Graph, op: str) -> None:
    # Nobody says how the logarithm of whole numbers is rounded, and runtimes differ.
    logarithmic = "Log" in op
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape and (is_float(value.dtype) or not logarithmic))
    keepdims = g.choose((None, 0, 1))
    form = g.choose(("axes", "axes", "all", "empty"))
    if form == "empty" and has_attribute(g, op, "axes"):
        form = "all"
    axes = g.axes(x.rank) if form == "axes" else []
    noop = g.choose((None, 0, 1)) if has_attribute(g, op, "noop_with_empty_axes") else None
    inputs: list[str | Value] = [x]
    if form != "all" and not has_attribute(g, op, "axes"):
        inputs.append(g.operand(axes))
    gone = axes or ([] if noop else range(x.rank))
    shape = tuple(1 if i in {a % x.rank for a in gone} else size for i, size in enumerate(x.shape))
    if keepdims == 0:
        shape = without(x.shape, gone)
    attribute = axes if form == "axes" and has_attribute(g, op, "axes") else None
    g.node(op, inputs, [(x.dtype, shape)], axes=attribute, keepdims=keepdims, noop_with_empty_axes=noop)


def without(shape: Shape, axes: Sequence[int] | range) -> Shape:
    gone = {axis % len(shape) for axis in axes}
    return tuple(size for i, size in enumerate(shape) if i not in gone)


@operator("ArgMax", "ArgMin")
def arg(g: Graph, op: str) -> None:
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape)
    axis = g.axis(x.rank) if g.maybe(0.8) else None
    keepdims = g.choose((None, 0, 1))
    shape = without(x.shape, [axis or 0]) if keepdims == 0 else resized(x.shape, axis or 0, 1)
    last = attribute_if(g, op, "select_last_index", g.integer(0, 1), 0.4)
    g.node(op, [x], [("int64", shape)], axis=axis, keepdims=keepdims, **last)


@operator("TopK", weight=2)
def top_k(g: Graph, op: str) -> None:
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape)
    axis = g.axis(x.rank)
    k = g.integer(1, x.shape[axis])
    shape = resized(x.shape, axis, k)
    attributes: dict[str, Any] = {"axis": axis if x.shape[-1] < k or g.maybe(0.7) or axis not in (-1, x.rank - 1) else None}
    inputs: list[str | Value] = [x]
    if has_attribute(g, op, "k"):
        attributes["k"] = k
    else:
        inputs.append(g.operand([k]))
    if has_attribute(g, op, "largest"):
        attributes["largest"] = g.choose((None, 0, 1))
    outputs = [(x.dtype, shape), ("int64", shape)]
    g.node(op, inputs, outputs, **attributes)


@operator("CumSum", "CumProd")
def cumulate(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    inputs = [x, g.operand(g.axis(x.rank), g.choose(("int64", "int32")))]
    g.node(op, inputs, [(x.dtype, x.shape)], exclusive=g.choose((None, 0, 1)), reverse=g.choose((None, 0, 1)))


@operator("LpNormalization")
def lp_normalization(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    g.node(op, [x], [(x.dtype, x.shape)], axis=g.axis(x.rank), p=g.choose((1, 2)))


@operator("LayerNormalization", "RMSNormalization")
def layer_normalization(g: Graph, op: str) -> None:
    # Of double, onnxruntime computes in double, where stash_type says float.
    x = g.of(op, 1, fits=lambda value: value.dtype in ("float", "float16"))
    axis = g.axis(x.rank)
    inner = x.shape[axis:] if axis >= 0 else x.shape[x.rank + axis :]
    more = [g.like(x.dtype, inner)] if op == "LayerNormalization" and g.maybe(0.5) else []
    g.node(op, [x, g.like(x.dtype, inner), *more], [(x.dtype, x.shape)], axis=axis, epsilon=g.choose((None, 0.125)))


@operator("BatchNormalization", weight=2)
def batch_normalization(g: Graph, op: str) -> None:
    x = g.of(op, 2, shape=(g.integer(1, 3), g.integer(1, 4), *g.shape(0, 2)), fits=lambda value: is_float(value.dtype))
    version = since(g, op)
    rest = [g.like(x.dtype, x.shape[1:2]) for _ in range(3)]
    variance = g.constant(np.arange(1, x.shape[1] + 1) / 4, x.dtype)
    attributes: dict[str, Any] = {"epsilon": g.choose((None, 0.125))}
    if version < 6:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    if version < 7:
        attributes["is_test"] = 1
    if version < 9:
        attributes["spatial"] = g.choose((None, 1))
    if version >= 14:
        attributes["training_mode"] = g.choose((None, 0))
    g.node(op, [x, *rest, variance], [(x.dtype, x.shape)], **attributes)


@operator("InstanceNormalization")
def instance_normalization(g: Graph, op: str) -> None:
    x = g.of(op, 3, shape=(g.integer(1, 3), g.integer(1, 4), 3), fits=lambda value: is_float(value.dtype) and 0 not in value.shape)
    rest = [g.like(x.dtype, x.shape[1:2]) for _ in range(2)]
    g.node(op, [x, *rest], [(x.dtype, x.shape)], epsilon=0.125, **({"consumed_inputs": [0, 0, 0]} if since(g, op) < 6 else {}))


@operator("GroupNormalization")
def group_normalization(g: Graph, op: str) -> None:
    groups, each = g.integer(1, 3), g.integer(1, 2)
    x = g.source("float", (2, groups * each, 3))
    size = (groups,) if since(g, op) < 21 else (groups * each,)
    rest = [g.like("float", size) for _ in range(2)]
    g.node(op, [x, *rest], [(x.dtype, x.shape)], num_groups=groups, epsilon=0.125)


@operator("LRN", "MeanVarianceNormalization")
def across_channels(g: Graph, op: str) -> None:
    x = g.of(op, 4, 4, shape=(2, 3, 2, 2), fits=lambda value: is_float(value.dtype) and 0 not in value.shape)
    g.node(op, [x], [(x.dtype, x.shape)], **({"size": 3} if op == "LRN" else {}))


# -- form


@operator("Squeeze", weight=3)
def squeeze(g: Graph, op: str) -> None:
    ones = tuple(1 if g.maybe(0.5) else 3 for _ in range(g.integer(1, 4)))
    x = g.of(op, 1, shape=(1, *ones), fits=lambda value: 1 in value.shape)
    units = [axis for axis, size in enumerate(x.shape) if size == 1]
    if g.maybe(0.25):
        g.node(op, [x], [(x.dtype, without(x.shape, units))])
        return
    axes = g.random.sample(units, g.integer(1, len(units)))
    if has_attribute(g, op, "axes"):
        axes = sorted(axes)  # onnx's shape inference takes it that they are
    shape = without(x.shape, axes)
    back = 0 if has_attribute(g, op, "axes") and g.opset < 11 else 0.3
    axes = [axis - x.rank if g.maybe(back) else axis for axis in axes]
    if has_attribute(g, op, "axes"):
        g.node(op, [x], [(x.dtype, shape)], axes=axes)
    else:
        g.node(op, [x, g.operand(axes)], [(x.dtype, shape)])


@operator("Unsqueeze", weight=3)
def unsqueeze(g: Graph, op: str) -> None:
    x = g.of(op, 0, 3)
    count = g.integer(1, 2)
    axes = g.random.sample(range(x.rank + count), count)
    sizes = iter(x.shape)
    shape = tuple(1 if i in axes else next(sizes) for i in range(x.rank + count))
    axes = [axis - x.rank - count if g.opset >= 11 and g.maybe(0.3) else axis for axis in axes]
    if has_attribute(g, op, "axes"):
        g.node(op, [x], [(x.dtype, shape)], axes=axes)
    else:
        g.node(op, [x, g.operand(axes)], [(x.dtype, shape)])


@operator("Flatten", weight=2)
def flatten(g: Graph, op: str) -> None:
    x = g.of(op, 2)
    axis = g.choose([None, *range(-x.rank if g.opset >= 11 else 0, x.rank + 1)])
    at = 1 if axis is None else axis % x.rank if axis < 0 else axis
    shape = (int(np.prod(x.shape[:at], dtype=int)), int(np.prod(x.shape[at:], dtype=int)))
    g.node(op, [x], [(x.dtype, shape)], axis=axis)


@operator("Reshape", weight=3)
def reshape(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    total = int(np.prod(x.shape, dtype=int))
    shape = list(g.choose(((total,), (1, total), (total, 1), x.shape, x.shape[::-1])))
    asked = list(shape)
    if total and g.maybe(0.5):
        asked[g.integer(0, len(asked) - 1)] = -1
    elif total and len(shape) <= x.rank and shape[0] == x.shape[0] and g.maybe(0.5):
        asked[0] = 0
    allow_zero = 1 if has_attribute(g, op, "allowzero") and 0 not in asked and g.maybe(0.2) else None
    if total == 0:
        if not has_attribute(g, op, "allowzero"):
            raise NotHereError
        allow_zero = 1
    if has_attribute(g, op, "shape"):
        g.node(op, [x], [(x.dtype, shape)], shape=asked)
    else:
        g.node(op, [x, g.operand(asked)], [(x.dtype, shape)], allowzero=allow_zero)


@operator("Transpose")
def transpose(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    order = g.random.sample(range(x.rank), x.rank) if g.maybe(0.8) else None
    shape = [x.shape[axis] for axis in order] if order else x.shape[::-1]
    g.node(op, [x], [(x.dtype, shape)], perm=order)


@operator("Expand")
def expand(g: Graph, op: str) -> None:
    x = g.of(op, 0, 3)
    shape = [g.integer(1, 3) if size == 1 else size for size in (*([1] * g.integer(0, 1)), *x.shape)]
    g.node(op, [x, g.operand(shape)], [(x.dtype, shape)])


@operator("Tile")
def tile(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    if since(g, op) < 6:
        axis, count = g.axis(x.rank), g.integer(1, 3)
        inputs = [x, g.operand([count], x.dtype), g.operand([axis], x.dtype)]
        g.node(op, inputs, [(x.dtype, resized(x.shape, axis, x.shape[axis] * count))])
        return
    counts = [g.integer(1, 3) for _ in x.shape]
    g.node(op, [x, g.operand(counts)], [(x.dtype, np.multiply(x.shape, counts).tolist())])


@operator("Concat", weight=2)
def concat(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    axis: int | None = g.axis(x.rank)
    if since(g, op) < 4 and x.rank > 1 and g.maybe(0.5):
        axis = None
    at = 1 if axis is None else axis
    others = [
        g.like(x.dtype, resized(x.shape, at, g.integer(1, 3) if g.maybe(0.5) else x.shape[at])) for _ in range(g.integer(0, 2))
    ]
    whole = resized(x.shape, at, sum(part.shape[at] for part in (x, *others)))
    g.node(op, [x, *others], [(x.dtype, whole)], axis=axis)


@operator("Identity")
def identity(g: Graph, op: str) -> None:
    x = g.of(op)
    g.node(op, [x], [(x.dtype, x.shape)])


@operator("Shape", "Size")
def shape_of(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    if op == "Size":
        g.node(op, [x], [("int64", ())])
        return
    part, sizes = {}, x.shape
    if has_attribute(g, op, "start") and g.maybe(0.4):
        start, end = g.integer(-x.rank, x.rank), g.choose((None, g.integer(-x.rank, x.rank)))
        part, sizes = {"start": start, "end": end}, x.shape[start:end]
    g.node(op, [x], [("int64", (len(sizes),))], **part)


@operator("ConstantOfShape")
def constant_of_shape(g: Graph, op: str) -> None:
    shape = g.shape(0, 3)
    dtype = g.choose(("float", "int64", "int32", "double"))
    value = helper.make_tensor("value", elem_type(dtype), [1], [g.integer(0, 3)]) if dtype != "float" or g.maybe(0.5) else None
    g.node(op, [g.operand(list(shape))], [(dtype, shape)], value=value)


@operator("Range")
def value_range(g: Graph, op: str) -> None:
    dtype = g.choose(("int64", "int32", "float", "double", "int16"))
    start, step, count = g.integer(-3, 3), g.choose((1, 2, -1)), g.integer(1, 5)
    operands = [g.operand(value, dtype) for value in (start, start + step * count, step)]
    g.node(op, operands, [(dtype, (count,))])


@operator("EyeLike")
def eye_like(g: Graph, op: str) -> None:
    x = g.of(op, 2, 2)
    g.node(op, [x], [("float", x.shape)], dtype=1, k=g.choose((None, 1, -1)))


@operator("Trilu")
def trilu(g: Graph, op: str) -> None:
    x = g.of(op, 2)
    g.node(op, [x, g.operand(g.integer(-1, 1)) if g.maybe(0.5) else ""], [(x.dtype, x.shape)], upper=g.choose((None, 0, 1)))


@operator("DepthToSpace", "SpaceToDepth")
def depth(g: Graph, op: str) -> None:
    dtype = g.dtype([d for d in dtypes_of(op, g.opset) if d in COMMON])
    if op == "SpaceToDepth":
        x, shape = g.source(dtype, (1, 2, 4, 2)), (1, 8, 2, 1)
    else:
        x, shape = g.source(dtype, (1, 8, 2, 1)), (1, 2, 4, 2)
    g.node(op, [x], [(x.dtype, shape)], blocksize=2, **attribute_if(g, op, "mode", g.choose(("DCR", "CRD")), 0.6))


# -- parts by index


@operator("Slice", weight=3)
def slice_(g: Graph, op: str) -> None:
    x = g.of(op, 1)
    axes = g.axes(x.rank, negative_from=10)
    spans, steps = [], []
    for axis in axes:
        dim = x.shape[axis]
        step = g.choose((1, 1, 2, -1)) if since(g, op) >= 10 else 1
        far = (2**31 - 1) * (1 if step > 0 else -1)  # onnxruntime takes the largest number for the end, backward too
        spans.append((g.integer(-dim, dim + 1), g.choose((g.integer(-dim - 1, dim + 1), far, far * 2**32))))
        steps.append(step)
    shape = list(x.shape)
    for axis, (start, end), step in zip(axes, spans, steps, strict=True):
        shape[axis] = len(range(*_bounds(start, end, step, x.shape[axis])))
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    simple = axes == list(range(len(axes)))
    if has_attribute(g, op, "starts"):
        g.node(op, [x], [(x.dtype, shape)], starts=starts, ends=ends, axes=None if simple and g.maybe(0.5) else axes)
        return
    kind = g.choose(("int64", "int64", "int32"))
    if kind == "int32":
        ends = [max(min(end, 2**31 - 1), -(2**31)) for end in ends]
    inputs: list[str | Value] = [x, g.operand(starts, kind), g.operand(ends, kind)]
    plain = all(step == 1 for step in steps)
    inputs.append("" if simple and g.maybe(0.5) else g.operand(axes, kind))
    inputs.append("" if plain and g.maybe(0.6) else g.operand(steps, kind))
    g.node(op, inputs, [(x.dtype, shape)])


def _bounds(start: int, end: int, step: int, dim: int) -> tuple[int, int, int]:
    """As ONNX clamps them: backward, -1 stands for before the first, and only a value below -dim reaches it."""
    start += dim if start < 0 else 0
    end += dim if end < 0 else 0
    if step < 0:
        return min(max(start, 0), dim - 1), min(max(end, -1), dim - 1), step
    return min(max(start, 0), dim), min(max(end, 0), dim), step


@operator("Gather", weight=2)
def gather(g: Graph, op: str) -> None:
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape)
    axis = g.axis(x.rank)
    dim = x.shape[axis]
    shape = g.shape(0, 2)
    low = -dim if g.opset >= 11 else 0
    indices = np.array([g.integer(low, dim - 1) for _ in range(int(np.prod(shape, dtype=int)))], np.int64).reshape(shape)
    at = axis % x.rank
    operand = g.operand(indices, g.choose(("int64", "int32")))
    g.node(op, [x, operand], [(x.dtype, (*x.shape[:at], *shape, *x.shape[at + 1 :]))], axis=axis if axis or g.maybe(0.5) else None)


@operator("GatherElements", "ScatterElements", "Scatter", weight=2)
def elements(g: Graph, op: str) -> None:
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape)
    axis = g.axis(x.rank)
    dim = x.shape[axis]
    count = g.integer(1, dim)
    one = g.random.sample(range(dim), count)
    line = np.array([i - dim if g.opset >= 11 and g.maybe(0.3) else i for i in one])
    shape = resized(x.shape, axis, count)
    at = axis % x.rank
    indices = np.broadcast_to(line.reshape([count if i == at else 1 for i in range(x.rank)]), shape)
    operand = g.operand(indices, g.choose(("int64", "int32")))
    if op == "GatherElements":
        g.node(op, [x, operand], [(x.dtype, shape)], axis=axis)
        return
    reduction = attribute_if(g, op, "reduction", g.choose(("none", "add", "mul", *(("max", "min") if g.opset >= 18 else ()))), 0.5)
    g.node(op, [x, operand, g.like(x.dtype, shape)], [(x.dtype, x.shape)], axis=axis, **reduction)


@operator("GatherND")
def gather_nd(g: Graph, op: str) -> None:
    x = g.of(op, 2, fits=lambda value: 0 not in value.shape)
    batch = g.integer(0, 1) if has_attribute(g, op, "batch_dims") else 0
    if batch:
        g.world.steps = (0,)  # A batch of the data is one of the indices.
    depth = g.integer(1, x.rank - batch)
    rows = g.integer(1, 3)
    lead = x.shape[:batch]
    columns = [
        np.array([g.integer(-d if g.opset >= 11 else 0, d - 1) for _ in range(rows * int(np.prod(lead, dtype=int)))])
        for d in x.shape[batch : batch + depth]
    ]
    indices = np.stack(columns, -1).reshape(*lead, rows, depth)
    shape = (*lead, rows, *x.shape[batch + depth :])
    g.node(op, [x, g.operand(indices)], [(x.dtype, shape)], batch_dims=batch or None)


@operator("ScatterND")
def scatter_nd(g: Graph, op: str) -> None:
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape)
    rows = g.random.sample(range(x.shape[0]), g.integer(1, x.shape[0]))
    reduction = attribute_if(g, op, "reduction", g.choose(("none", "add", "mul", *(("max", "min") if g.opset >= 18 else ()))), 0.5)
    updates = g.like(x.dtype, (len(rows), *x.shape[1:]))
    g.node(op, [x, g.operand(np.array(rows).reshape(-1, 1)), updates], [(x.dtype, x.shape)], **reduction)


@operator("OneHot")
def one_hot(g: Graph, op: str) -> None:
    shape = g.shape(1, 2)
    count = g.integer(1, 4)
    indices = np.array([g.integer(-count if g.opset >= 11 else 0, count - 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
    axis = g.choose((-1, *range(len(shape) + 1)))
    at = len(shape) if axis == -1 else axis
    inputs = [g.operand(indices), g.operand([count]), g.operand([0, 1], "float")]
    g.node(op, inputs, [("float", (*shape[:at], count, *shape[at:]))], axis=axis)


@operator("Compress")
def compress(g: Graph, op: str) -> None:
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape)
    axis = g.axis(x.rank)
    keep = [bool(g.integer(0, 1)) for _ in range(x.shape[axis])]
    # The condition may be shorter than the axis, but nobody says what it means where it is longer.
    g.world.steps = tuple(max(step, 0) for step in g.world.steps)
    g.node(op, [x, g.operand(keep, "bool")], [(x.dtype, resized(x.shape, axis, sum(keep)))], axis=axis)


@operator("Pad", weight=3)
def pad(g: Graph, op: str) -> None:
    x = g.of(op, 1, fits=lambda value: 0 not in value.shape)
    version = since(g, op)
    mode = g.choose((None, "constant", "reflect", "edge", *(("wrap",) if version >= 19 else ())))
    low = -1 if mode in (None, "constant", "edge") and version >= 2 and g.maybe(0.15) else 0
    axes = g.axes(x.rank) if version >= 18 and g.maybe(0.5) else list(range(x.rank))
    sizes = [x.shape[axis] for axis in axes]
    starts = [g.integer(max(low, 1 - size), min(2, size - 1)) for size in sizes]
    ends = [g.integer(max(low, 1 - size), min(2, size - 1)) for size in sizes]
    shape = list(x.shape)
    for axis, start, end in zip(axes, starts, ends, strict=True):
        shape[axis] += start + end
    if min(shape) < 1:
        raise NotHereError
    pads = starts + ends
    if has_attribute(g, op, "value"):
        value = g.choose((None, 1.5)) if mode in (None, "constant") else None
        g.node(op, [x], [(x.dtype, shape)], mode=mode, value=value, **{"paddings" if version < 2 else "pads": pads})
        return
    inputs: list[str | Value] = [x, g.operand(pads)]
    inputs.append(g.operand("a" if x.dtype == "string" else 1, x.dtype) if mode in (None, "constant") and g.maybe(0.5) else "")
    inputs.append(g.operand(axes) if axes != list(range(x.rank)) else "")
    g.node(op, inputs, [(x.dtype, shape)], mode=mode)


@operator("Clip", weight=3)
def clip(g: Graph, op: str) -> None:
    x = g.of(op)
    low, high = g.choose((None, -1, 0)), g.choose((None, 1, 2))
    if has_attribute(g, op, "min"):
        g.node(op, [x], [(x.dtype, x.shape)], min=None if low is None else float(low), max=None if high is None else float(high))
        return
    low = 0 if low and x.dtype.startswith("uint") else low
    inputs = [x, *("" if bound is None else g.operand(bound, x.dtype) for bound in (low, high))]
    g.node(op, inputs, [(x.dtype, x.shape)])


# -- images


@operator("Resize", weight=3)
def resize(g: Graph, op: str) -> None:
    version = since(g, op)
    x = g.of(
        op,
        3,
        shape=(1, 2, *([g.integer(2, 4)] * g.integer(1, 2))),
        fits=lambda v: 0 not in v.shape and v.dtype in ("float", "int32", "uint8", "int8"),
    )
    mode = g.choose((None, "nearest", "linear", *(("cubic",) if version >= 11 and x.rank == 4 else ())))
    factors = [1.0, 1.0, *(g.choose((0.5, 1.0, 2.0, 1.5)) for _ in x.shape[2:])]
    shape = [int(np.floor(size * factor)) for size, factor in zip(x.shape, factors, strict=True)]
    if min(shape) < 1:
        raise NotHereError
    if version == 10:
        g.node(op, [x, g.operand(factors, "float")], [(x.dtype, shape)], mode=mode)
        return
    attributes: dict[str, Any] = {"mode": mode}
    transforms = (
        "half_pixel",
        "asymmetric",
        "align_corners",
        "pytorch_half_pixel",
        *(("half_pixel_symmetric",) if version >= 19 else ()),
    )
    attributes["coordinate_transformation_mode"] = g.choose((None, *transforms))
    if mode in (None, "nearest") and attributes["coordinate_transformation_mode"] != "half_pixel_symmetric":
        # There, onnxruntime rounds before it rounds: a position that is a whole number may be off by one.
        attributes["nearest_mode"] = g.choose((None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if mode == "cubic":
        attributes["cubic_coeff_a"] = g.choose((None, -0.5))
    region: str | Value = g.operand([], "float", dynamic=0) if version == 11 else ""
    axes = None
    if version >= 18:
        attributes["antialias"] = g.choose((None, 0, 0, 1)) if mode in ("linear", "cubic") else None
        if g.maybe(0.4):
            axes = list(range(2, x.rank))
    chosen = slice(2, None) if axes else slice(None)
    if g.maybe(0.5):
        scales: str = g.operand(factors[chosen], "float")
        inputs: list[str | Value] = [x, region, scales]
    else:
        empty = g.operand([], "float", dynamic=0) if version == 11 else ""
        inputs = [x, region, empty, g.operand(shape[chosen])]
    g.node(op, inputs, [(x.dtype, shape)], axes=axes, **attributes)


@operator("Upsample", weight=2)
def upsample(g: Graph, op: str) -> None:
    x = g.of(op, 4, 4, shape=(1, 2, 2, 3), fits=lambda v: 0 not in v.shape and v.dtype in ("float", "int32"))
    mode = g.choose((None, "nearest", "linear" if since(g, op) >= 7 else "bilinear"))
    factors = [1.0, 1.0, g.choose((1.0, 2.0, 1.5)), g.choose((1.0, 2.0))]
    shape = [int(np.floor(size * factor)) for size, factor in zip(x.shape, factors, strict=True)]
    if has_attribute(g, op, "height_scale"):
        g.node(op, [x], [(x.dtype, shape)], mode=mode, height_scale=factors[2], width_scale=factors[3])
    elif has_attribute(g, op, "scales"):
        g.node(op, [x], [(x.dtype, shape)], mode=mode, scales=factors)
    else:
        g.node(op, [x, g.operand(factors, "float")], [(x.dtype, shape)], mode=mode)


@operator("MaxPool", "AveragePool", "LpPool", weight=3)
def pool(g: Graph, op: str) -> None:
    spatial = g.integer(1, 2)
    x = g.of(
        op,
        2 + spatial,
        2 + spatial,
        shape=(1, 2, *(g.integer(4, 7) for _ in range(spatial))),
        fits=lambda v: v.dtype in ("float", "double") and 0 not in v.shape,
    )
    kernel = [g.integer(1, 3) for _ in range(spatial)]
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": g.choose((None, [g.integer(1, 2) for _ in kernel]))}
    if since(g, op) == 1 and op == "LpPool":
        attributes["p"] = None
    # Where the stride is longer than the kernel, SAME asks for a padding below zero, which some runtimes refuse.
    fits = all(stride <= size for stride, size in zip(attributes["strides"] or [], kernel, strict=False))
    if fits and g.maybe(0.3):
        attributes["auto_pad"] = g.choose(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif g.maybe(0.5):
        attributes["pads"] = [g.integer(0, size - 1) for size in kernel * 2]
    attributes |= attribute_if(g, op, "ceil_mode", g.integer(0, 1), 0.5)
    attributes |= attribute_if(g, op, "dilations", [g.integer(1, 2) for _ in kernel], 0.3)
    attributes |= attribute_if(g, op, "count_include_pad", g.integer(0, 1), 0.5)
    attributes |= attribute_if(g, op, "storage_order", 0, 0.2)
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, attributes.get("dilations") or [1] * spatial, strict=True)]
    if any(window > size for window, size in zip(reach, x.shape[2:], strict=True)):
        raise NotHereError  # where no window fits, the specification's floor and the runtimes' truncation differ
    inferred(g, op, [x], **attributes)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g: Graph, op: str) -> None:
    x = g.of(op, 3, shape=(1, 2, 3), fits=lambda v: v.dtype in ("float", "double") and 0 not in v.shape)
    g.node(op, [x], [(x.dtype, (*x.shape[:2], *([1] * (x.rank - 2))))])


@operator("Conv", "ConvTranspose")
def convolution(g: Graph, op: str) -> None:
    spatial = g.integer(1, 2)
    x = g.of(
        op,
        2 + spatial,
        2 + spatial,
        shape=(1, 2, *(g.integer(3, 6) for _ in range(spatial))),
        fits=lambda v: v.dtype == "float" and 0 not in v.shape,
    )
    kernel = [g.integer(1, 3) for _ in range(spatial)]
    channels = g.integer(1, 3)
    weights = g.like("float", ((channels, x.shape[1]) if op == "Conv" else (x.shape[1], channels)) + tuple(kernel))
    bias = [g.like("float", (channels,))] if g.maybe(0.4) else []
    attributes: dict[str, Any] = {
        "kernel_shape": g.choose((None, kernel)),
        "strides": g.choose((None, [g.integer(1, 2) for _ in kernel])),
    }
    if g.maybe(0.3):
        attributes["auto_pad"] = g.choose(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif g.maybe(0.4):
        attributes["pads"] = [g.integer(0, 1) for _ in kernel * 2]
    inferred(g, op, [x, weights, *bias], **attributes)


# -- element by element


@operator("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less", weight=5)
@operator("GreaterOrEqual", "LessOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu", weight=2)
def binary(g: Graph, op: str) -> None:
    left = g.of(op, fits=lambda value: op != "Pow" or is_float(value.dtype))
    compares = op in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
    dtype = "bool" if compares else left.dtype
    if g.opset < 7:
        _binary_by_attributes(g, op, left, dtype)
        return
    shape = _smaller(g, left.shape)
    right = _right(g, op, left.dtype, shape)
    operands = [left, right] if op == "PRelu" or op in ("Div", "Pow") or g.maybe(0.6) else [right, left]
    whole = left.shape if op == "PRelu" else np.broadcast_shapes(left.shape, right.shape)
    g.node(op, operands, [(dtype, whole)])


def _right(g: Graph, op: str, dtype: str, shape: Shape) -> Value:
    """The second operand: no zeros to divide by, and small whole exponents."""
    if op == "Div" or op == "Pow":
        divisors = np.resize([1, 2, 4], shape)
        return g.constant(divisors, dtype) if g.maybe(0.6) else g.given(divisors.astype(_numpy(dtype)), dtype)
    return g.like(dtype, shape)


def _numpy(dtype: str) -> np.dtype:
    return numpy_dtype(elem_type(dtype))


def _smaller(g: Graph, shape: Shape) -> Shape:
    """Sizes that broadcast to `shape`."""
    kept = shape[g.integer(0, len(shape)) if g.maybe(0.4) else 0 :]
    return tuple(1 if g.maybe(0.2) else size for size in kept)


def _binary_by_attributes(g: Graph, op: str, left: Value, dtype: str) -> None:
    attributes: dict[str, Any] = attribute_if(g, op, "consumed_inputs", [0, 0], 0.2)
    shape = left.shape
    if op != "PRelu" and g.maybe(0.6):
        start = g.integer(0, left.rank)
        stop = g.integer(start, left.rank)
        shape = left.shape[start:stop]
        attributes |= {"broadcast": 1, "axis": None if stop == left.rank and g.maybe(0.5) else start}
    if op == "PRelu":
        shape = (1,) if g.maybe(0.5) or left.rank < 2 else left.shape[1:2]
    g.node(op, [left, _right(g, op, left.dtype, shape)], [(dtype, left.shape)], **attributes)


@operator("Sum", "Max", "Min", "Mean", weight=2)
def variadic(g: Graph, op: str) -> None:
    x = g.of(op)
    shapes = [x.shape if g.opset < 8 else _smaller(g, x.shape) for _ in range(g.integer(0, 2))]
    others = [g.like(x.dtype, shape) for shape in shapes]
    g.node(op, [x, *others], [(x.dtype, x.shape)])


@operator("Mod")
def modulo(g: Graph, op: str) -> None:
    x = g.of(op)
    divisor = _right(g, "Div", x.dtype, _smaller(g, x.shape))
    g.node(op, [x, divisor], [(x.dtype, x.shape)], fmod=1 if is_float(x.dtype) else g.choose((None, 0, 1)))


@operator("BitShift")
def bit_shift(g: Graph, op: str) -> None:
    x = g.of(op)
    g.node(op, [x, g.constant(np.resize([0, 1, 2], x.shape), x.dtype)], [(x.dtype, x.shape)], direction=g.choose(("LEFT", "RIGHT")))


@operator("Where")
def where(g: Graph, op: str) -> None:
    x = g.of(op, index=1)
    condition = g.like("bool", _smaller(g, x.shape))
    g.node(op, [condition, x, g.like(x.dtype, _smaller(g, x.shape))], [(x.dtype, x.shape)])


UNARY = [
    "Abs",
    "Neg",
    "Relu",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Sqrt",
    "Floor",
    "Ceil",
    "Sign",
    "Round",
    "Erf",
    "LeakyRelu",
    "Elu",
    "Selu",
    "HardSigmoid",
    "HardSwish",
    "Mish",
    "Gelu",
    "Softplus",
    "Softsign",
    "Celu",
    "ThresholdedRelu",
    "Shrink",
    "Swish",
    "Reciprocal",
    "Sin",
    "Cos",
    "Atan",
    "Sinh",
    "Not",
    "BitwiseNot",
    "IsNaN",
    "IsInf",
]


@operator(*UNARY, weight=5)
def unary(g: Graph, op: str) -> None:
    x = g.of(op)
    attributes: dict[str, Any] = attribute_if(g, op, "alpha", 0.25, 0.4)
    attributes |= attribute_if(g, op, "consumed_inputs", [0], 0.2)
    if op == "Gelu":
        attributes |= {"approximate": g.choose((None, "none", "tanh"))}
    g.node(op, [x], [("bool" if op in ("IsNaN", "IsInf", "Not") else x.dtype, x.shape)], **attributes)


@operator("Cast", weight=4)
def cast(g: Graph, op: str) -> None:
    x = g.of(op, fits=lambda value: value.dtype != "string")
    schema = schema_of(op, g.opset)
    allowed = sorted(t[7:-1] for t in schema.outputs[0].types if t.startswith("tensor(")) if schema else []
    to = g.dtype([dtype for dtype in allowed if dtype != "string" and (is_float(x.dtype) or not dtype.startswith("complex"))])
    attributes: dict[str, Any] = {"to": to.upper() if since(g, op) < 6 else elem_type(to)}
    if to.startswith("float8") and to != "float8e8m0":
        attributes |= attribute_if(g, op, "saturate", g.integer(0, 1), 0.5)
    attributes |= attribute_if(g, op, "round_mode", g.choose(("up", "nearest")), 0.3) if to == "float8e8m0" else {}
    g.node(op, [x], [(to, x.shape)], **attributes)


@operator("CastLike")
def cast_like(g: Graph, op: str) -> None:
    x = g.of(op, fits=lambda value: value.dtype in COMMON)
    like = g.of(op, index=1, fits=lambda value: value.dtype in COMMON)
    g.node(op, [x, like], [(like.dtype, x.shape)])


@operator("Dropout", weight=2)
def dropout(g: Graph, op: str) -> None:
    x = g.of(op)
    version = since(g, op)
    mask = ("bool" if version >= 10 else x.dtype, x.shape)
    outputs = [(x.dtype, x.shape), *([mask] if g.maybe(0.3) and version >= 10 else [])]
    if version < 12:
        attributes: dict[str, Any] = {"ratio": g.choose((None, 0.25))}
        attributes |= {"is_test": 1} if version < 7 else {}
        g.node(op, [x], outputs, **attributes)
        return
    inputs: list[str | Value] = [
        x,
        g.operand(0.25, "float") if g.maybe(0.6) else "",
        g.operand(False, "bool") if g.maybe(0.3) else "",
    ]
    g.node(op, inputs, outputs, **({"seed": 1} if g.maybe(0.2) else {}))


# -- products


@operator("MatMul", weight=2)
def matmul(g: Graph, op: str) -> None:
    x = g.of(op, 1, 3, fits=lambda value: 0 not in value.shape)
    n = g.integer(1, 4)
    lead = x.shape[:-2] if g.maybe(0.5) else ()
    right = g.like(x.dtype, (*lead, x.shape[-1], n))
    batch = lead if x.rank < 3 else x.shape[:-2]
    g.node(op, [x, right], [(x.dtype, (*batch, *x.shape[-2:-1], n))])


@operator("Gemm", weight=3)
def gemm(g: Graph, op: str) -> None:
    x = g.of(op, 2, 2, fits=lambda value: 0 not in value.shape)
    m, k = x.shape if not (left := g.integer(0, 1)) else x.shape[::-1]
    n, right = g.integer(1, 4), g.integer(0, 1)
    b = g.like(x.dtype, (n, k) if right else (k, n))
    attributes: dict[str, Any] = {"transA": left or None, "transB": right or None}
    if is_float(x.dtype) or g.opset < 7:
        attributes |= {"alpha": g.choose((None, 0.5)), "beta": g.choose((None, 0.5))}
    addend = g.choose([(m, n), (n,), (1, n), (m, 1), (), (1,)])
    if g.opset < 7:
        addend, attributes["broadcast"] = ((m, n), None) if g.maybe(0.5) else (g.choose([(n,), (1, n), (m, 1), (1,)]), 1)
    third = [] if since(g, op) >= 11 and g.maybe(0.3) else [g.like(x.dtype, addend)]
    g.node(op, [x, b, *third], [(x.dtype, (m, n))], **attributes)


@operator("Einsum")
def einsum(g: Graph, op: str) -> None:
    x = g.of(op, 2, 2, fits=lambda value: 0 not in value.shape)
    equation, shape = g.choose((("ij->ji", x.shape[::-1]), ("ij->i", x.shape[:1]), ("ij->", ())))
    g.node(op, [x], [(x.dtype, shape)], equation=equation)


# -- quantization


@operator("QuantizeLinear", "DequantizeLinear", weight=3)
def quantize(g: Graph, op: str) -> None:
    version = since(g, op)
    dtype = g.choose(("uint8", "int8", *(("uint16", "int16", "int4", "uint4") if version >= 21 else ())))
    axis = None
    shape = (2, 3, 4)
    where: tuple[int, ...] = ()
    if version >= 13 and g.maybe(0.5):
        axis = g.axis(3)
        where = (shape[axis],)
    scale = g.operand(np.resize([0.25, 0.5, 1.0], where), "float")
    zero = g.operand(np.resize([1, 0, 2], where), dtype, dynamic=0) if dtype not in ("uint8",) or g.maybe(0.6) else ""
    if op == "QuantizeLinear":
        x = g.like("float", shape)
        attributes = attribute_if(g, op, "saturate", 1, 0.2)
        g.node(op, [x, scale, zero], [(dtype, shape)], axis=axis, **attributes)
    else:
        g.node(op, [g.like(dtype, shape), scale, zero], [("float", shape)], axis=axis)


@operator("DynamicQuantizeLinear")
def dynamic_quantize(g: Graph, op: str) -> None:
    x = g.like("float", g.shape(1, 3))
    if 0 in x.shape:
        raise NotHereError
    g.node(op, [x], [("uint8", x.shape), ("float", ()), ("uint8", ())])


@operator("MatMulInteger")
def matmul_integer(g: Graph, op: str) -> None:
    left, right = g.like("uint8", (2, 3)), g.like(g.choose(("uint8", "int8")), (3, 4))
    zero = [g.operand(1, "uint8")] if g.maybe(0.5) else []
    g.node(op, [left, right, *zero], [("int32", (2, 4))])


@operator("QLinearMatMul")
def qlinear_matmul(g: Graph, op: str) -> None:
    left, right = g.like("uint8", (2, 3)), g.like("uint8", (3, 4))
    pairs = [name for _ in range(3) for name in (g.operand(0.5, "float"), g.operand(1, "uint8"))]
    g.node(op, [left, *pairs[:2], right, *pairs[2:]], [("uint8", (2, 4))])


# -- recurrent


@operator("RNN", "GRU", "LSTM", weight=2)
def recurrent(g: Graph, op: str) -> None:
    if g.opset < 3:
        raise NotHereError
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    steps, batch, size, hidden = 3, 2, 2, 2
    direction = g.choose((None, "forward", "reverse", "bidirectional"))
    ways = 2 if direction == "bidirectional" else 1
    layout = g.choose((None, 0, 1)) if has_attribute(g, op, "layout") else None
    x = g.like("float", (batch, steps, size) if layout else (steps, batch, size))
    w, r = g.like("float", (ways, gates * hidden, size)), g.like("float", (ways, gates * hidden, hidden))
    bias = g.like("float", (ways, 2 * gates * hidden)) if g.maybe(0.4) else ""
    y = (batch, steps, ways, hidden) if layout else (steps, ways, batch, hidden)
    last = (batch, ways, hidden) if layout else (ways, batch, hidden)
    outputs: list[Any] = [("float", y) if g.maybe(0.7) else None, ("float", last)]
    if op == "LSTM" and g.maybe(0.4):
        outputs.append(("float", last))
    more = {"linear_before_reset": g.choose((None, 1))} if op == "GRU" and g.opset >= 3 else {}
    if since(g, op) < 7:
        more["output_sequence"] = 1
        outputs[0] = ("float", y)
    g.node(op, [x, w, r, bias], outputs, hidden_size=hidden, direction=direction, layout=layout, **more)


@operator("GridSample")
def grid_sample(g: Graph, op: str) -> None:
    x, grid = g.like("float", (1, 2, 3, 3)), g.constant(np.linspace(-1.2, 1.2, 16).reshape(1, 2, 4, 2), "float")
    old = since(g, op) < 20
    mode = g.choose((None, *(("bilinear", "nearest", "bicubic") if old else ("linear", "nearest", "cubic"))))
    attributes = {
        "mode": mode,
        "padding_mode": g.choose((None, "zeros", "border", "reflection")),
        "align_corners": g.choose((None, 0, 1)),
    }
    g.node(op, [x, grid], [("float", (1, 2, 2, 4))], **attributes)


@operator("DFT")
def dft(g: Graph, op: str) -> None:
    x = g.like("float", (2, 4, 3, 1))
    flags = {"inverse": g.choose((None, 0))}
    if has_attribute(g, op, "axis"):
        axis = g.choose((1, 2, None))
        g.node(op, [x], [("float", (2, 4, 3, 2))], axis=axis, **flags)
        return
    axis = g.choose((1, 2, -2, None))
    g.node(op, [x, "", "" if axis is None else g.operand(axis)], [("float", (2, 4, 3, 2))], **flags)


@operator("Optional")
def optional(g: Graph, op: str) -> None:
    x = g.of(op, fits=lambda value: value.dtype in ("float", "int64"))
    (made,) = g.node(op, [x], [(x.dtype, x.shape)])
    g.values.remove(made)
    g.node("OptionalGetElement", [made.name], [(x.dtype, x.shape)])
    if g.maybe(0.5):
        g.node("OptionalHasElement", [made.name], [("bool", ())])


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window(g: Graph, op: str) -> None:
    size = g.integer(3, 9)
    g.node(op, [g.operand(size)], [("float", (size,))], periodic=g.choose((None, 0, 1)))
