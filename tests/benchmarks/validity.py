"""Is a model valid at its opset by the text of the specification, not only by what checkers and runtimes let pass?

`onnx.checker` knows operators, attributes, arity and types. It does not know attribute *values* (Pad's "wrap" came with
19), nor axes and indices (negative ones came with 11), nor limits that only the text states (Max broadcasts from 8 on).
Those are here, one function each, from the operator pages. A function reports nothing where it cannot know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from engines import default_opset, subgraphs_of
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

Shape = tuple["int | None", ...]


@dataclass
class Known:
    """What is known of the values of one graph; inner graphs see the outer ones."""

    types: dict[str, TypeProto] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def inside(self, graph: GraphProto) -> Known:
        inner = Known(dict(self.types), dict(self.values))
        for entry in (*graph.input, *graph.value_info, *graph.output):
            inner.types[entry.name] = entry.type
            inner.values.pop(entry.name, None)
        for tensor in graph.initializer:
            inner.types[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
            inner.values[tensor.name] = numpy_helper.to_array(tensor)
        for node in graph.node:
            for name in node.output:
                inner.values.pop(name, None)
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                inner.values.update(_constant(node))
        return inner


@dataclass(frozen=True)
class View:
    """A node with its opset and what is known of its inputs."""

    node: NodeProto
    opset: int
    known: Known

    def has(self, index: int) -> bool:
        return index < len(self.node.input) and self.node.input[index] != ""

    def value(self, index: int) -> np.ndarray | None:
        value = self.known.values.get(self.node.input[index]) if self.has(index) else None
        return np.asarray(value) if isinstance(value, np.ndarray | np.generic) else None

    def shape(self, index: int) -> Shape | None:
        """Declared or inferred, else of the known value; None where even the rank is unknown."""
        kind = self.known.types.get(self.node.input[index]) if self.has(index) else None
        if kind is not None and kind.tensor_type.HasField("shape"):
            return _dims(kind)
        value = self.value(index)
        return None if value is None else value.shape

    def type_of(self, name: str) -> str | None:
        kind = self.known.types.get(name)
        return type_string(kind) if kind is not None else None

    def attribute(self, name: str, default: Any = None) -> Any:
        for attribute in self.node.attribute:
            if attribute.name == name:
                return None if attribute.ref_attr_name else _decoded(helper.get_attribute_value(attribute))
        return default


def problems(model: ModelProto) -> list[str]:
    """Everything in `model` that its own opset does not have, as far as can be known without running it."""
    return [*_checker_problems(model), *text_problems(model, {})]


def text_problems(model: ModelProto, values: Mapping[str, Any]) -> list[str]:
    """What `onnx.checker` does not see; `values` are known values of the main graph beside its constants."""
    typed = _with_types(model)
    outer = Known().inside(typed.graph)
    outer.values.update({name: value for name, value in values.items() if value is not None})
    found = list(_graph_problems(typed.graph, outer, default_opset(model)))
    for function in model.functions:
        opset = next((entry.version for entry in function.opset_import if entry.domain in ("", "ai.onnx")), 0)
        body = GraphProto(node=function.node)
        found += [f"function {function.name}: {text}" for text in _graph_problems(body, Known().inside(body), opset)]
    return found


def names_worth_knowing(model: ModelProto) -> list[str]:
    """Values of the main graph that decide validity at run time and are no constants of the model."""
    opset = default_opset(model)
    known = Known().inside(model.graph)
    names: dict[str, None] = {}
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx"):
            continue
        for limit, indices in RUN_TIME_LIMITS.get(node.op_type, ()):
            if opset < limit:
                chosen = range(len(node.input)) if indices is None else indices
                names |= {node.input[i]: None for i in chosen if i < len(node.input) and node.input[i]}
    return [name for name in names if name not in known.values]


def type_string(kind: TypeProto) -> str | None:
    """As schemas write it, "tensor(float)"; None for a type that is not known."""
    which = kind.WhichOneof("value")
    if which == "tensor_type" and kind.tensor_type.elem_type:
        return f"tensor({TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()})"
    if which == "sparse_tensor_type":
        return f"sparse_tensor({TensorProto.DataType.Name(kind.sparse_tensor_type.elem_type).lower()})"
    if which == "map_type":
        inner = type_string(kind.map_type.value_type)
        return f"map({TensorProto.DataType.Name(kind.map_type.key_type).lower()},{inner})" if inner else None
    if which in ("sequence_type", "optional_type"):
        inner = type_string(getattr(kind, which).elem_type)
        return f"{'seq' if which == 'sequence_type' else 'optional'}({inner})" if inner else None
    return None


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def _dims(kind: TypeProto) -> Shape:
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in kind.tensor_type.shape.dim)


def _constant(node: NodeProto) -> dict[str, np.ndarray]:
    for attribute in node.attribute:
        if attribute.name == "value":
            return {node.output[0]: numpy_helper.to_array(attribute.t)}
        if attribute.name in ("value_int", "value_ints"):
            return {node.output[0]: np.array(helper.get_attribute_value(attribute), np.int64)}
        if attribute.name in ("value_float", "value_floats"):
            return {node.output[0]: np.array(helper.get_attribute_value(attribute), np.float32)}
    return {}


def _with_types(model: ModelProto) -> ModelProto:
    try:
        return onnx.shape_inference.infer_shapes(model, check_type=False, strict_mode=False, data_prop=True)
    except Exception:  # an inference that fails says nothing; the checker has its own word
        return model


def _checker_problems(model: ModelProto) -> list[str]:
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # ValidationError, InferenceError, or what C++ throws
        return [f"onnx.checker: {' '.join(str(error).split())[:300]}"]
    return []


def _graph_problems(graph: GraphProto, known: Known, opset: int) -> Iterator[str]:
    for node in graph.node:
        if node.domain in ("", "ai.onnx"):
            yield from (f"{node.op_type}: {text}" for text in _node_problems(View(node, opset, known)))
        for subgraph in subgraphs_of(node):
            yield from _graph_problems(subgraph, known.inside(subgraph), opset)


def _node_problems(view: View) -> Iterator[str]:
    try:
        schema = onnx.defs.get_schema(view.node.op_type, view.opset, "")
    except onnx.defs.SchemaError:
        yield f"does not exist at opset {view.opset}"
        return
    if schema.deprecated:
        yield f"is deprecated at opset {view.opset}"
        return
    for attribute in view.node.attribute:
        if attribute.name not in schema.attributes:
            yield f"has no attribute {attribute.name} at opset {view.opset}"
    yield from _type_problems(view, schema)
    yield from _enumeration_problems(view)
    for below, limit in LIMITS.get(view.node.op_type, ()):
        if view.opset < below and (text := limit(view)):
            yield f"{text} (opset {view.opset})"


def _type_problems(view: View, schema: onnx.defs.OpSchema) -> Iterator[str]:
    bound: dict[str, str] = {}
    sides = (("takes", schema.inputs, view.node.input), ("gives", schema.outputs, view.node.output))
    for verb, formals, names in sides:
        for index, name in enumerate(names):
            formal = _formal(formals, index)
            actual = view.type_of(name) if name else None
            if formal is None or actual is None:
                continue
            if formal.types and actual not in formal.types:
                yield f"{verb} no {actual} as {formal.name} at opset {view.opset}"
            elif _heterogeneous(formal):
                continue
            elif bound.setdefault(formal.type_str, actual) != actual:
                yield f"wants one type for {formal.type_str}, got {bound[formal.type_str]} and {actual}"


def _formal(formals: Any, index: int) -> Any:
    if index < len(formals):
        return formals[index]
    last = formals[-1] if formals else None
    return last if last is not None and last.option == onnx.defs.OpSchema.FormalParameterOption.Variadic else None


def _heterogeneous(formal: Any) -> bool:
    return formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic and not formal.is_homogeneous


# Attribute values, by the version that brought each set; the newest set not above the opset holds.

ENUMERATIONS: dict[tuple[str, str], dict[int, set[str]]] = {
    ("Pad", "mode"): {1: {"constant", "reflect", "edge"}, 19: {"constant", "reflect", "edge", "wrap"}},
    ("GridSample", "mode"): {16: {"bilinear", "nearest", "bicubic"}, 20: {"linear", "nearest", "cubic"}},
    ("ScatterElements", "reduction"): {16: {"none", "add", "mul"}, 18: {"none", "add", "mul", "max", "min"}},
    ("ScatterND", "reduction"): {16: {"none", "add", "mul"}, 18: {"none", "add", "mul", "max", "min"}},
    ("Resize", "mode"): {10: {"nearest", "linear"}, 11: {"nearest", "linear", "cubic"}},
    ("Resize", "nearest_mode"): {11: {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
    ("Resize", "coordinate_transformation_mode"): {
        11: {
            "half_pixel",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_half_pixel_for_nn",
            "tf_crop_and_resize",
        },
        13: {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"},
        19: {
            "half_pixel",
            "half_pixel_symmetric",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
        },
    },
    ("Resize", "keep_aspect_ratio_policy"): {18: {"stretch", "not_larger", "not_smaller"}},
    ("Upsample", "mode"): {1: {"nearest", "bilinear"}, 7: {"nearest", "linear"}},
    ("RoiAlign", "coordinate_transformation_mode"): {16: {"half_pixel", "output_half_pixel"}},
    ("RoiAlign", "mode"): {10: {"avg", "max"}},
    ("DepthToSpace", "mode"): {11: {"DCR", "CRD"}},
    ("Gelu", "approximate"): {20: {"none", "tanh"}},
    ("TensorScatter", "mode"): {24: {"linear", "circular"}},
    ("BitShift", "direction"): {11: {"LEFT", "RIGHT"}},
    ("NegativeLogLikelihoodLoss", "reduction"): {12: {"none", "sum", "mean"}},
    ("SoftmaxCrossEntropyLoss", "reduction"): {12: {"none", "sum", "mean"}},
}


def _enumeration_problems(view: View) -> Iterator[str]:
    for attribute in view.node.attribute:
        by_version = ENUMERATIONS.get((view.node.op_type, attribute.name))
        value = view.attribute(attribute.name)
        if by_version is None or value is None:
            continue
        allowed = by_version[max((version for version in by_version if version <= view.opset), default=min(by_version))]
        if value not in allowed:
            yield f"{attribute.name} is never {value!r} at opset {view.opset}"


# Limits that only the text states. Each function: the problem, or None.


def _negative_axes(view: View) -> str | None:
    for name in ("axis", "axes", "scan_input_axes", "scan_output_axes"):
        value = view.attribute(name)
        axes = value if isinstance(value, list) else [] if value is None else [value]
        if any(axis < 0 for axis in axes):
            return f"{name} {value} is negative"
    return None


def _one_hot_axis(view: View) -> str | None:
    return "axis is negative and not -1" if view.attribute("axis", -1) < -1 else None


def _negative_input(index: int, name: str) -> Callable[[View], str | None]:
    def limit(view: View) -> str | None:
        value = view.value(index)
        return f"{name} has negative elements" if value is not None and np.any(value < 0) else None

    return limit


def _scale_rank(highest: int) -> Callable[[View], str | None]:
    def limit(view: View) -> str | None:
        shape = view.shape(1)
        return f"scale has rank {len(shape)}, at most {highest}" if shape is not None and len(shape) > highest else None

    return limit


def _equal_shapes(view: View) -> str | None:
    shapes = [view.shape(index) for index in range(len(view.node.input))]
    complete = {shape for shape in shapes if shape is not None and None not in shape}
    ranks = {len(shape) for shape in shapes if shape is not None}
    return "operands of different shapes do not broadcast yet" if len(complete) > 1 or len(ranks) > 1 else None


def _mod_kind(view: View) -> str | None:
    kind = view.type_of(view.node.input[0])
    if kind is None:
        return None
    floating = kind in ("tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)")
    fmod = view.attribute("fmod", 0)
    if floating and not fmod:
        return "fmod=0 takes integers only"
    return "fmod=1 takes floating point only" if fmod and not floating and view.opset >= 13 else None


def _branch_shapes(view: View) -> str | None:
    branches = [attribute.g for attribute in view.node.attribute if attribute.g.output]
    if len(branches) != 2:
        return None
    for ours, theirs in zip(branches[0].output, branches[1].output, strict=False):
        kinds = [entry.type for entry in (ours, theirs)]
        if not all(kind.tensor_type.HasField("shape") for kind in kinds):
            continue
        first, second = map(_dims, kinds)
        differ = any(a != b for a, b in zip(first, second, strict=False) if a is not None and b is not None)
        if len(first) != len(second) or differ:
            return "both branches must give equal shapes"
    return None


def _four_dimensional(view: View) -> str | None:
    shape = view.shape(0)
    return f"takes 4-D input only, got rank {len(shape)}" if shape is not None and len(shape) != 4 else None


def _resize_sizes_and_scales(view: View) -> str | None:
    if not (view.has(2) and view.has(3)):
        return None
    if view.opset >= 13:
        return "has both scales and sizes"
    shape = view.shape(2)
    return "has sizes beside scales that are not empty" if shape is not None and shape != (0,) else None


def _parts_of_split(view: View) -> str | None:
    """Sizes given: they add up. Not given: equal parts, below 18; one of split and num_outputs from 18 on."""
    sizes = view.attribute("split") if view.opset < 13 else None
    sizes = view.value(1) if sizes is None else np.array(sizes)
    count, shape, axis = view.attribute("num_outputs"), view.shape(0), view.attribute("axis", 0)
    if view.opset >= 18 and (count is None) == (not view.has(1)):
        return "needs exactly one of split and num_outputs"
    if count is not None and count != len(view.node.output):
        return f"num_outputs={count} with {len(view.node.output)} outputs"
    extent = None if shape is None or axis >= len(shape) else shape[axis]
    if sizes is not None and len(sizes) != len(view.node.output):
        return f"{len(sizes)} sizes for {len(view.node.output)} outputs"
    if sizes is not None and extent is not None and int(np.sum(sizes)) != extent:
        return f"sizes {sizes} do not add up to {extent}"
    if sizes is None and not view.has(1) and view.opset < 18 and extent is not None and extent % len(view.node.output):
        return f"{extent} does not divide into {len(view.node.output)} equal parts"
    return None


ALWAYS = 1 << 30

_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")

LIMITS: dict[str, list[tuple[int, Callable[[View], str | None]]]] = {
    **{
        op_type: [(11, _negative_axes)]
        for op_type in (
            *("ArgMax", "ArgMin", "Compress", "Concat", "Flatten", "Hardmax", "LogSoftmax", "Softmax", "Scan"),
            *("Squeeze", "Unsqueeze"),
            *(f"Reduce{name}" for name in _REDUCTIONS),
        )
    },
    **{op_type: [(8, _equal_shapes)] for op_type in ("Max", "Mean", "Min", "Sum")},
    "Slice": [(11, _negative_axes), (11, _negative_input(3, "axes"))],
    "Gather": [(11, _negative_input(1, "indices"))],
    "Scatter": [(11, _negative_input(1, "indices"))],
    "OneHot": [(11, _negative_input(0, "indices")), (11, _one_hot_axis)],
    "Split": [(11, _negative_axes), (ALWAYS, _parts_of_split)],
    "QuantizeLinear": [(13, _scale_rank(0)), (21, _scale_rank(1))],
    "DequantizeLinear": [(13, _scale_rank(0)), (21, _scale_rank(1))],
    "Mod": [(28, _mod_kind)],
    "If": [(11, _branch_shapes)],
    "GridSample": [(20, _four_dimensional)],
    "Resize": [(ALWAYS, _resize_sizes_and_scales)],
}
"""Operator to limits; each holds for opsets below its number."""

RUN_TIME_LIMITS: dict[str, list[tuple[int, tuple[int, ...] | None]]] = {
    "Slice": [(11, (3,))],
    "Gather": [(11, (1,))],
    "Scatter": [(11, (1,))],
    "OneHot": [(11, (0,))],
    "QuantizeLinear": [(21, (1,))],
    "DequantizeLinear": [(21, (1,))],
    **{op_type: [(8, None)] for op_type in ("Max", "Mean", "Min", "Sum")},
}
"""Operator to the inputs whose run-time value decides; None for all. Each holds for opsets below its number."""
