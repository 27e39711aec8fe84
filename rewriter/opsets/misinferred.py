"""Nodes of which onnx infers wrong types or shapes, or none although they follow from the inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, TypeProto, numpy_helper

from ..onnx_model.all_nodes import Stored, constants, nodes_with_opset
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GRAPH_TYPES
from . import facts
from .ambiguity import remedy, shaping_flag, states_empty_axes, states_pads_twice
from .folding import WITHOUT_END, constant_value
from .scoped import scoped_nodes
from .type_protos import Dimension, Shape, is_known, shape_of, shapeless


class _Inferred(NamedTuple):
    """A node, the shapes of the given inputs by position, constants by name, and the shapes that onnx found for the outputs."""

    node: onnx.NodeProto
    inputs: Mapping[int, Shape | None]
    constants: Mapping[str, TensorProto]
    outputs: list[Shape | None]

    def constant(self, index: int) -> np.ndarray | None:
        """The constant that input `index` is; None where it is not known."""
        name = self.node.input[index] if index < len(self.node.input) else ""
        return numpy_helper.to_array(self.constants[name]) if name in self.constants else None

    def ints(self, name: str) -> list[int]:
        """The list of numbers, or the single one, that is the attribute `name`; empty where it is absent."""
        found = next((attribute for attribute in self.node.attribute if attribute.name == name), None)
        return [] if found is None else list(found.ints) or [found.i]

    @property
    def pads_by_itself(self) -> bool:
        """Whether auto_pad decides how the node pads its data."""
        return any(attribute.name == "auto_pad" and attribute.s.startswith(b"SAME") for attribute in self.node.attribute)


@cache
def keeps_its_input(op_type: str, opset: int) -> bool:
    """Whether the first output has the type and shape of the first input although onnx does not infer it."""
    opset = min(opset, onnx.defs.onnx_opset_version())  # a function may import any number, and onnx asks for a small one
    if not facts.of(op_type).has("keeps-input") or not onnx.defs.has(op_type, max_inclusive_version=opset):
        return False
    return not onnx.defs.get_schema(op_type, opset, "").has_type_and_shape_inference_function


def inferred_as(op_type: str, opset: int) -> str:
    """The operator whose inference is right for this one: itself, but for a few that spread their operands as another does."""
    return (facts.of(op_type).word("inferred-as") if opset >= _SPREADS else "") or op_type


_SPREADS = 7
"""The opset from which on operators spread their operands as numpy does."""
WRONG_SYMBOLS = "Slice", 10
"""A form for which onnx infers that a symbolic dimension keeps its name when it is cut.

Slice-11 means the same and is inferred right.
"""


def stated_shape(node: onnx.NodeProto, opset: int) -> list[int] | None:
    """The shape that `node`, if it is a Reshape below opset 5, states as an attribute, which onnx ignores; else None."""
    if node.op_type != "Reshape" or opset >= 5:
        return None
    return next((list(attribute.ints) for attribute in node.attribute if attribute.name == "shape"), None)


def has_old_axes_in_disorder(node: onnx.NodeProto, opset: int) -> bool:
    """Whether `node` is a Squeeze or Unsqueeze below opset 11 whose axes are not in order: onnx leaves some of them out."""
    if _word(node.op_type, opset) != _OLD_AXES:
        return False
    axes = next((list(attribute.ints) for attribute in node.attribute if attribute.name == "axes"), [])
    return min(axes, default=0) >= 0 and axes != sorted(axes)


class Operands:
    """The constants of a model that its nodes may read. Each is looked at once, and only if it is asked for."""

    def __init__(self, stored: Mapping[str, Sequence[Stored]]) -> None:
        self._stored = stored
        self._marks: dict[str, _Marks] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._stored

    def marks(self, name: str) -> _Marks:
        """What holds for any of the constants of this name."""
        if name not in self._stored:
            return _NO_MARKS
        found = self._marks.get(name)
        if found is None:
            values = [value for value in map(_stored, self._stored[name]) if value is not None]
            found = self._marks[name] = _Marks(
                any(not value.size for value in values),
                frozenset(place for value in values for place, number in _first(value) if number < 0),
                frozenset(place for value in values for place, number in _first(value) if number in WITHOUT_END),
            )
        return found


class _Marks(NamedTuple):
    """Whether a constant is empty, and the positions of numbers in it that are negative, or stand for "to the end"."""

    is_empty: bool
    negative: frozenset[int]
    endless: frozenset[int]


_NO_MARKS = _Marks(False, frozenset(), frozenset())


def _stored(made: Stored) -> np.ndarray | None:
    """The value of a constant of integers; None where it is anything else, lies in another file, or does not fit its shape."""
    try:
        value = constant_value(made, _value) if isinstance(made, onnx.NodeProto) else _value(made)
    except ValueError:
        return None
    return None if value is None or value.dtype.kind != "i" else value


def _value(tensor: TensorProto) -> np.ndarray | None:
    is_readable = tensor.data_type in (TensorProto.INT32, TensorProto.INT64) and not tensor.external_data
    return numpy_helper.to_array(tensor) if is_readable else None


def _first(value: np.ndarray) -> list[tuple[int, int]]:
    """The first numbers of a vector, as many as tensors have axes, with their positions."""
    return list(enumerate(value.ravel()[:_MOST_AXES].tolist()))


_MOST_AXES = 64
"""The number of axes that numpy's arrays, and so all tensors here, have at most."""


def any_depends_on_operands(model: onnx.ModelProto) -> bool:
    """Whether there are nodes that onnx infers wrongly because of operands that it does not know, or that have two meanings."""
    known = Operands(constants(model))
    return any(has_unknown_starts(node, known) or depends_on_operands(node, known) for node, _ in nodes_with_opset(model))


def depends_on_operands(node: onnx.NodeProto, known: Operands) -> bool:
    """Whether onnx infers `node` wrongly by the values of its operands, of which these are `known`."""
    if node.op_type == "Slice":
        return has_unknown_steps(node, known) or goes_to_two_ends(node, known)
    return has_empty_axes(node, known)


def has_empty_axes(node: onnx.NodeProto, known: Operands) -> bool:
    """Whether `node` is a Squeeze whose axes are stated, or among the `known` constants, and empty: see `states_empty_axes`."""
    is_given = node.op_type == "Squeeze" and len(node.input) > 1
    return states_empty_axes(node) or (is_given and known.marks(node.input[1]).is_empty)


def has_unknown_starts(node: onnx.NodeProto, known: Container[str]) -> bool:
    """Whether `node` is a Slice whose starts are not among the `known` values: onnx takes those that it cannot follow for 0, where
    it follows the entries of a shape.
    """
    return node.op_type == "Slice" and len(node.input) > 2 and node.input[1] not in known


def has_unknown_steps(node: onnx.NodeProto, known: Container[str]) -> bool:
    """Whether `node` is a Slice along axes or by steps that are not among the `known` values.

    onnx infers for it that the steps are 1 and, if the axes are of unknown rank, that the axes are the first ones, as if both were
    absent.
    """
    return node.op_type == "Slice" and any(name and name not in known for name in node.input[3:5])


def goes_to_two_ends(node: onnx.NodeProto, known: Operands) -> bool:
    """Whether `node` is a Slice by constants that are `known` and go backward to INT_MAX: nothing as onnx infers and by the
    specification, and all from the start down for runtimes.
    """
    if node.op_type != "Slice" or len(node.input) < 5:
        return False
    return not known.marks(node.input[2]).endless.isdisjoint(known.marks(node.input[4]).negative)


def usable_data(node: onnx.NodeProto, data: Mapping[str, TensorProto]) -> Mapping[str, TensorProto]:
    """The constants among the inputs of `node`, `data`, by which onnx infers it rightly: none, if it is a Slice by other steps, or
    they have two meanings.
    """
    return {} if depends_on_operands(node, Operands({name: [tensor] for name, tensor in data.items()})) else data


def may_be_wrong_in(model: onnx.ModelProto, serialized: bytes, opset: int) -> bool:
    """Whether the model, whose lowest opset this is, has a node of two meanings, or contains the name of an operator of which onnx
    infers wrong shapes.
    """
    if any(op_type.encode() in serialized for op_type in facts.with_word("misinferred") if _word(op_type, opset)):
        return True
    return any(remedy(node) for node, _ in nodes_with_opset(model))


def may_be_wrong(node: onnx.NodeProto, opset: int) -> bool:
    """Whether onnx infers wrong shapes for some nodes of this operator with these attributes."""
    word = _word(node.op_type, opset)
    is_possible = bool(word) and (word not in _POSSIBLE or any(map(_POSSIBLE[word], node.attribute)))
    return is_possible or bool(remedy(node))


def _word(op_type: str, opset: int) -> str:
    """The condition under which onnx infers nodes of this operator wrongly at `opset`; "" where there is none."""
    word = facts.of(op_type).word("misinferred")
    return "" if word in _BELOW_11 and opset >= 11 else word


def is_wrongly_inferred(
    node: onnx.NodeProto,
    opset: int,
    types: Mapping[str, TypeProto],
    found: Mapping[str, TypeProto],
    data: Mapping[str, TensorProto],
) -> bool:
    """Whether the types `found` for the outputs of `node`, in the form of `opset`, whose inputs have `types` and are constants in
    `data`, are known to be wrong, or right by one reading of the specification alone.
    """
    if node.domain not in DEFAULT_DOMAINS:
        return False
    if shaping_flag(node) or states_empty_axes(node):
        return True
    errs = _same_padding_errs if states_pads_twice(node) else _CONDITIONS.get(_word(node.op_type, opset))
    if errs is None:
        return False
    empty = TypeProto()
    inputs = {index: shape_of(types.get(name, empty)) for index, name in enumerate(node.input) if name}
    return errs(_Inferred(node, inputs, data, [shape_of(_element(found.get(name, empty))) for name in node.output]))


def _element(kind: TypeProto) -> TypeProto:
    """The type of the elements of a sequence type; any other type itself."""
    return kind.sequence_type.elem_type if kind.HasField("sequence_type") else kind


def wrongly_inferred(model: onnx.ModelProto) -> dict[int, dict[str, TypeProto]]:
    """The positions of nodes that onnx inferred wrongly in `model`, each with the element types of its outputs."""
    return {
        index: certain_types(node, types, {name: types[name] for name in node.output if name and name in types})
        for index, ((node, types, data), (_, opset)) in enumerate(zip(scoped_nodes(model), nodes_with_opset(model), strict=True))
        if is_wrongly_inferred(node, opset, types, types, data)
    }


def certain_types(node: onnx.NodeProto, types: Mapping[str, TypeProto], found: Mapping[str, TypeProto]) -> dict[str, TypeProto]:
    """What is certain of the types `found` for `node`, which onnx inferred wrongly: the element types, of an Einsum the lengths of
    its labels, and of windows, of padded and of resized data, whose lengths alone are in doubt, the rank, which is that of the
    first input, and the first dimensions.
    """
    word = facts.of(node.op_type).word("misinferred")
    kept = _BEFORE_WINDOWS if states_pads_twice(node) else _CERTAIN.get(word)
    if word == _LABELS:
        shapes = [shape_of(types.get(name, TypeProto())) for name in node.input]
        return {name: _with_labels(node, shapes, kind) for name, kind in found.items()}
    data = shape_of(types.get(node.input[0], TypeProto())) if node.input else None
    if kept is None or data is None:
        return {name: shapeless(kind) for name, kind in found.items()}
    shapes = {name: [*list(shape_of(kind) or ())[:kept], *[None] * len(data)][: len(data)] for name, kind in found.items()}
    known = {name: kind.tensor_type.elem_type for name, kind in found.items()}
    return {name: onnx.helper.make_tensor_type_proto(number, shapes[name]) for name, number in known.items() if number}


def _with_labels(node: onnx.NodeProto, shapes: Sequence[Shape | None], kind: TypeProto) -> TypeProto:
    """The type of the result of an Einsum, inferred as `kind`, with the lengths that follow from those of its labels."""
    return onnx.helper.make_tensor_type_proto(
        kind.tensor_type.elem_type, _lengths_by_labels(node, shapes, len(shape_of(kind) or ()))
    )


def _attention_errs(found: _Inferred) -> bool:
    """Whether the inference of Attention took unknown sizes of the values for 0, or left out what it did not know."""
    if any(shape is not None and (0 in shape or len(shape) not in (3, 4)) for shape in found.outputs):
        return True
    scores = found.outputs[3] if len(found.outputs) > 3 else None
    return scores is not None and any(not is_known(found.inputs[index]) for index in _PAST if index in found.inputs)


_PAST = (4, 5)
"""The inputs of Attention that precede its keys and values. Where their sizes are unknown, onnx infers the scores without them."""


def _gather_nd_errs(found: _Inferred) -> bool:
    """Whether the inference of GatherND found a rank although the length of an index is unknown."""
    indices = found.inputs.get(1)
    return found.outputs[0] is not None and (not indices or not isinstance(indices[-1], int))


def _stft_errs(found: _Inferred) -> bool:
    """Whether the inference of STFT found a shape: its number of frequencies does not depend on `onesided`."""
    return found.outputs[0] is not None


def may_lose_its_axis(node: onnx.NodeProto) -> bool:
    """Whether `node` has keepdims=0 beside a split, which it then ignores by the specification, and obeys in onnxruntime.

    Of the operators only SplitToSequence has both.
    """
    is_own = node.domain in DEFAULT_DOMAINS and facts.of(node.op_type).word("misinferred") == "rank_of_rows"
    keeps = next((attribute for attribute in node.attribute if attribute.name == "keepdims"), None)
    return is_own and len(node.input) > 1 and bool(node.input[1]) and keeps is not None and not keeps.i


def _rank_errs(found: _Inferred) -> bool:
    """Whether the inference of SplitToSequence found a rank where keepdims=0 has two meanings, as the split may be a scalar."""
    return may_lose_its_axis(found.node) and len(found.inputs.get(1) or ()) == 0 and found.outputs[0] is not None


def _window_errs(found: _Inferred) -> bool:
    """Whether the inference of a pool with ceil_mode counted a last window that begins behind the input, which is none, or from
    opset 22 on one that is longer than the input; or whether auto_pad pads for a kernel that is dilated, which onnxruntime does not
    take into account.
    """
    data, result = found.inputs.get(0), found.outputs[0]
    if data is None or result is None:
        return False
    if found.pads_by_itself and max(found.ints("dilations"), default=1) > 1:
        return True
    if found.ints("ceil_mode") in ([], [0]):
        return False
    ones = [1] * (len(data) - 2)
    strides, pads = found.ints("strides") or ones, found.ints("pads") or [0] * 2 * len(ones)
    kernel = found.ints("kernel_shape") if len(found.ints("kernel_shape")) == len(ones) else ones  # a function's parameter
    spans = [(length - 1) * dilation + 1 for length, dilation in zip(kernel, found.ints("dilations") or ones, strict=False)]
    axes = zip(data[2:], result[2:], strides, pads, pads[len(ones) :], spans, strict=False)
    return any(
        isinstance(size, int)
        and isinstance(length, int)
        and length > 0
        and ((length - 1) * stride >= size + before or (span - size - before - after >= stride and not found.pads_by_itself))
        for size, length, stride, before, after, span in axes
    )


def _same_padding_errs(found: _Inferred) -> bool:
    """Whether the stated pads give another length than auto_pad, which stands beside them."""
    data, result = found.inputs.get(0), found.outputs[0]
    if data is None or result is None or not found.pads_by_itself:
        return True
    strides = found.ints("strides") or [1] * len(data)
    lengths = zip(data[2:], result[2:], strides, strict=False)
    is_same = all(isinstance(size, int) and stride > 0 and length == -(-size // stride) for size, length, stride in lengths)
    return not is_same or _window_errs(found)


def _transposed_errs(found: _Inferred) -> bool:
    """Whether the inference of ConvTranspose stopped at an `output_shape` below the data's, or added output_padding to the lengths
    that auto_pad decides.
    """
    data, result = found.inputs.get(0), found.outputs[0]
    if data is None or result is None:
        return False
    return len(data) != len(result) or (found.pads_by_itself and any(found.ints("output_padding")))


def _old_axes_err(found: _Inferred) -> bool:
    """Whether axes are others than runtimes take them for: below opset 11 onnx knows none that count from the end, and expects them
    in order.
    """
    data, result, axes = found.inputs.get(0), found.outputs[0], found.ints("axes")
    if data is None or result is None or not axes:
        return False
    if found.node.op_type == "Squeeze":
        return not data or list(result) != [
            dim for index, dim in enumerate(data) if index not in {axis % len(data) for axis in axes}
        ]
    rank = len(data) + len(axes)
    added, dims = {axis % rank for axis in axes}, iter(data)
    return list(result) != [1 if index in added else next(dims, None) for index in range(rank)]


def _scale_errs(found: _Inferred) -> bool:
    """Whether a length that onnx found for a Resize or Upsample is another one in float32, or by onnxruntime's meaning of axes that
    count from the end, where the aspect ratio is kept.
    """
    data, result = found.inputs.get(0), found.outputs[0]
    if data is None or result is None:
        return False
    axes = found.ints("axes") or list(range(len(data)))
    policy = next((attribute.s for attribute in found.node.attribute if attribute.name == "keep_aspect_ratio_policy"), b"stretch")
    if policy != b"stretch" and min(axes, default=0) < 0:
        return data != result
    scales = found.constant(1 if len(found.node.input) == 2 else 2)
    lengths = [data[axis] for axis in axes if -len(data) <= axis < len(data)]
    pairs = zip(lengths, () if scales is None else scales.ravel(), strict=False)
    return any(isinstance(length, int) and _rounds_two_ways(length, scale) for length, scale in pairs)


def _rounds_two_ways(length: int, scale: np.floating) -> bool:
    """Whether `length` times `scale`, cut to an integer, is another one in float32, in which some runtimes compute it."""
    with np.errstate(all="ignore"):
        single = np.float32(length) * np.float32(scale)
    return bool(not np.isfinite(single) or math.floor(length * float(scale)) != math.floor(single))


def _range_errs(found: _Inferred) -> bool:
    """Whether a Range of floats has another length if the difference of its ends is rounded to float32, as some runtimes do."""
    ends = [found.constant(index) for index in range(3)]
    start, limit, delta = (each.ravel() if each is not None and each.dtype == np.float32 else np.empty(0) for each in ends)
    if not (start.size == limit.size == delta.size == 1) or not delta[0]:
        return False
    with np.errstate(all="ignore"):
        differences = np.float64(limit[0]) - np.float64(start[0]), np.float64(limit[0] - start[0])
        return bool(np.ceil(differences[0] / np.float64(delta[0])) != np.ceil(differences[1] / np.float64(delta[0])))


def _scalar_errs(found: _Inferred) -> bool:
    """Whether the data is a scalar: by onnx the place of its element has no number, in runtimes it has one."""
    return found.inputs.get(0) == ()


def _branches_err(found: _Inferred) -> bool:
    """Whether the inference of an If took a length of one branch for that of both, as below opset 11."""
    branches = [attribute.g for attribute in found.node.attribute if attribute.type in GRAPH_TYPES]
    for graph in branches:
        for value, result in zip(graph.output, found.outputs, strict=False):
            shape = shape_of(_element(value.type))
            if result is None:
                continue
            if shape is None or len(shape) != len(result):
                return True
            if any(length is not None and length != own for length, own in zip(result, shape, strict=True)):
                return True
    return False


def _labels_err(found: _Inferred) -> bool:
    """Whether the inference of Einsum took the first length that it met for a label, where runtimes may repeat that operand."""
    result = found.outputs[0]
    if result is None:
        return False
    right = _lengths_by_labels(found.node, [found.inputs.get(index) for index in range(len(found.node.input))], len(result))
    return any(dim not in (None, length) for dim, length in zip(result, right, strict=True))


def _lengths_by_labels(node: onnx.NodeProto, shapes: Sequence[Shape | None], rank: int) -> list[Dimension]:
    """The lengths of the result of an Einsum, which has `rank`; None for those that are open."""
    equation = next((each.s.decode(errors="replace").replace(" ", "") for each in node.attribute if each.name == "equation"), "")
    given, arrow, made = equation.partition("->")
    lengths: dict[str | int, list[Dimension]] = {}
    for term, shape in zip(given.split(","), shapes, strict=False):
        for label, length in zip(_labels(term, len(shape or ())), shape or (), strict=False):
            lengths.setdefault(label, []).append(length)
    labels = _labels(made if arrow else _implied(given), rank)
    return [_repeated(lengths.get(label, [None])) for label in labels] if len(labels) == rank else [None] * rank


def _labels(term: str, rank: int) -> list[str | int]:
    """The labels of the axes in a term of an equation; those of an ellipsis are counted from its end."""
    before, _, behind = term.partition("...")
    count = rank - len(before) - len(behind) if "..." in term else 0
    return [*before, *range(-count, 0), *behind]


def _implied(given: str) -> str:
    """The result of an equation that states none: the ellipsis, and the labels that are there once in the order of the alphabet."""
    once = "".join(sorted(label for label in set(given) if label.isalpha() and given.count(label) == 1))
    return "..." * ("..." in given) + once


def _repeated(lengths: list[Dimension]) -> Dimension:
    """The length of an axis for which operands have these, of which those of length 1 are repeated; None where it is open."""
    known = next((length for length in lengths if isinstance(length, int) and length != 1), None)
    others = {length for length in lengths if length != 1}
    return known if known is not None else others.pop() if len(others) == 1 else None if others else 1


_NOTHING = Operands({})
_OLD_AXES = "old_axes"
_LABELS = "first_of_a_label"
_BELOW_11 = (_OLD_AXES, "one_branch")
"""Conditions that hold only below opset 11."""
_POSSIBLE: dict[str, Callable[[onnx.AttributeProto], bool]] = {
    "last_window": lambda attribute: (
        (attribute.name == "ceil_mode" and attribute.i != 0)
        or (attribute.name == "dilations" and max(attribute.ints, default=1) > 1)
    ),
    "transposed_lengths": lambda attribute: attribute.name in ("auto_pad", "output_shape"),
    _OLD_AXES: lambda attribute: attribute.name == "axes" and [*attribute.ints] != sorted(map(abs, attribute.ints)),
}
"""Conditions that hold only for nodes with such an attribute."""
_BEFORE_WINDOWS = 2
"""The dimensions before those along which windows move: samples and channels."""
_CERTAIN = {"last_window": _BEFORE_WINDOWS, "transposed_lengths": _BEFORE_WINDOWS, "scaled_lengths": 0}
"""Conditions that are about lengths alone, and how many of the first dimensions are certain."""
_CONDITIONS: dict[str, Callable[[_Inferred], bool]] = {
    "attention_sizes": _attention_errs,
    "index_rank": _gather_nd_errs,
    "any_shape": _stft_errs,
    "rank_of_rows": _rank_errs,
    "last_window": _window_errs,
    "transposed_lengths": _transposed_errs,
    _OLD_AXES: _old_axes_err,
    "one_branch": _branches_err,
    "scaled_lengths": _scale_errs,
    "length_of_floats": _range_errs,
    "place_of_a_scalar": _scalar_errs,
    _LABELS: _labels_err,
}
"""The conditions that rows of facts name behind `misinferred=`: when onnx infers wrong shapes, or those of one reading alone."""
