"""The conditions under which a runtime computes a node wrongly, otherwise than the specification, or though it is invalid.

The rows of `opsets/facts.txt` name these functions. Each was observed in the runtime of the row. A function is removed when the
oldest supported release of that runtime no longer has the defect.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from . import facts
from .ambiguity import has_odd_form
from .cases import Case, Values
from .misinferred import may_lose_its_axis
from .type_protos import Dimension

_FEW_BITS = (21, 22, 25, 26)
"""uint4, int4, uint2 and int2, by number: old releases of onnx lack some of the names."""
_OVERFLOWING = (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2)
_LARGE_INTEGERS = (TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64)
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
_LENGTHS = 4
"""The input of recurrent operators with the lengths of the sequences."""
_SCORES = 3
"""The output of an Attention with its scores."""
_ROUNDING = 1e-6
"""By how much of itself a length is no whole number if only its scale is rounded to float32."""


@dataclass(frozen=True)
class Defect:
    """A condition on a node, and what the runtime does where it holds ("{op}" stands for the operator).

    `types`: the element types of which the model has to have one; an empty set for any model.
    """

    text: str
    applies: Callable[[Case], bool]
    types: frozenset[int]
    is_mended: bool = False
    """Whether models are run so that the runtime computes the node rightly. The defect is then no reason not to trust it."""

    def concerns(self, case: Case) -> bool:
        """Whether the node of `case` has the defect."""
        return self.applies(case) and (not self.types or not self.types.isdisjoint(case.values.types))


DEFECTS: dict[str, Defect] = {}
"""All defects, by the names of their functions."""


def defect(text: str, *types: int, is_mended: bool = False) -> Callable[[Callable[[Case], bool]], Callable[[Case], bool]]:
    """Register the decorated function, the condition of a defect, under its name."""

    def register(applies: Callable[[Case], bool]) -> Callable[[Case], bool]:
        DEFECTS[applies.__name__] = Defect(text, applies, frozenset(types), is_mended)
        return applies

    return register


def first_defect(case: Case, word: str) -> Defect | None:
    """The first defect that the node of `case` has, of those that `word` of its operator's row names and that no run mends; None
    where it has none.
    """
    names = facts.of(case.node.op_type, case.node.domain).names(word)
    return next((DEFECTS[name] for name in names if not DEFECTS[name].is_mended and DEFECTS[name].concerns(case)), None)


def is_evaluated_alike(node: onnx.NodeProto, opset: int, values: Mapping[str, np.ndarray], *, by_reference: bool) -> bool:
    """Whether nobody doubts what `node`, in the form of `opset`, gives for constant `values`, by name: it has one meaning,
    onnxruntime and the specification agree about it, and onnx.reference does not compute it wrongly if it computes it
    (`by_reference`).
    """
    if has_odd_form(node):
        return False
    fact = facts.of(node.op_type, node.domain)
    words = [word for word in ("disputed", "reference-wrong") if fact.has(word) and (by_reference or word == "disputed")]
    if not words:
        return True
    try:
        stored = [numpy_helper.from_array(value, name) for name, value in values.items()]
    except ValueError:  # the installed onnx makes no tensors of this narrow type
        return False
    imports = [onnx.helper.make_opsetid("", opset)]
    model = onnx.ModelProto(opset_import=imports, graph=onnx.GraphProto(node=[node], initializer=stored))
    return not any(first_defect(Case(node, opset, Values(model)), word) for word in words)


# Computed wrongly, mostly by onnxruntime


@defect("crashes on a {op} whose outputs are not all named")
def unnamed_outputs(case: Case) -> bool:
    return "" in case.node.output


@defect("gives NaN where {op} gives 0")
def nan_for_0(_case: Case) -> bool:
    return True


@defect("has no kernel for {op} 28, whose body overflows")
def body_of_28(case: Case) -> bool:
    return case.opset >= 28


@defect("gives the lowest number for the scores that {op} below opset 25 masks, which are -inf")
def masked_scores(case: Case) -> bool:
    gives = case.has_output(_SCORES) and case.number("qk_matmul_output_mode", 0) in (1, 2)
    masks = case.number("is_causal", 0) != 0 or case.has_input(3)
    return case.opset < 25 and gives and masks


@defect("takes the root of the scale of an {op} of doubles in float", TensorProto.DOUBLE)
def root_in_float(case: Case) -> bool:
    """The root is not known to be a number of float."""
    shape = case.values.shape_of(case.node.input[0])
    size = shape[-1] if shape is not None and len(shape) == 4 else None
    scale = case.real("scale", 1 / math.sqrt(size) if size else 0)
    return scale <= 0 or float(np.float32(math.sqrt(scale))) != math.sqrt(scale)


@defect("puts the only element of an axis before the first of the data, in a cubic {op} by pytorch_half_pixel")
def only_element_before_the_first(case: Case) -> bool:
    return case.text("mode") == b"cubic" and case.text("coordinate_transformation_mode") == b"pytorch_half_pixel"


@defect("gives empty strings for those that an Identity in a {op} copies to a scan output")
def collected_strings(case: Case) -> bool:
    body = next((attribute.g for attribute in case.node.attribute if attribute.name == "body"), onnx.GraphProto())
    copies = {inner.output[0] for inner in body.node if inner.op_type == "Identity"}
    collected = body.output[1 + max(len(case.node.input) - 2, 0) :]
    return any(value.name in copies and value.type.tensor_type.elem_type == TensorProto.STRING for value in collected)


def may_have_several(shape: Sequence[Dimension] | None, axis: int) -> bool:
    """Whether slices at one index of `axis` may have several elements: the axes behind it are not known to have the length 1."""
    return not shape or any(dim != 1 for dim in shape[axis % len(shape) + 1 :])


@defect("may copy only the first string of each slice that {op} takes", TensorProto.STRING)
def first_strings(case: Case) -> bool:
    """The slices may have several strings."""
    return may_have_several(case.shape_of(0), case.number("axis", 0))


@defect("computes {op} of float16 by a body that overflows", TensorProto.FLOAT16)
def body_of_float16(case: Case) -> bool:
    return case.opset >= 18


@defect("computes {op} of bfloat16 by a body that overflows", TensorProto.BFLOAT16)
def body_of_bfloat16(case: Case) -> bool:
    return case.opset >= 18


@defect("rounds doubles to float in {op}", TensorProto.DOUBLE)
def rounded_doubles(_case: Case) -> bool:
    return True


@defect("has the coefficients of {op} as floats, also for doubles")
def coefficients_of_floats(case: Case) -> bool:
    return case.number("output_datatype", TensorProto.FLOAT) == TensorProto.DOUBLE


@defect("rounds integers to float in {op}", *_LARGE_INTEGERS)
def rounded_integers(_case: Case) -> bool:
    return True


@defect("takes the lower halves of large int64 for signed numbers")
def halves_of_int64(case: Case) -> bool:
    """An operand has a number of 2^31 or more, other than the smallest and the largest int64."""
    return any(_is_large(array) for array in case.constants(0, lambda tensor: tensor.data_type == TensorProto.INT64))


def _is_large(array: np.ndarray) -> bool:
    """Whether an array contains such a number, and is int64."""
    ends = np.iinfo(np.int64)
    if array.dtype != np.int64:
        return False
    is_large = (array >= 2**31) | (array < -(2**31))
    return bool((is_large & (array != ends.max) & (array != ends.min)).any())


@defect("adds products of uint8 and int8 in 16 bits in {op}, on some processors", is_mended=True)
def saturated_products(case: Case) -> bool:
    """Of the operands, one is int8 and another uint8, or float that the operator quantizes; `exact_products` runs such models."""
    return {TensorProto.INT8, TensorProto.UINT8} <= set(multiplied_types(case).values())


def multiplied_types(case: Case) -> dict[int, int]:
    """The types in which a node multiplies its operands, by the numbers of these inputs."""
    pairs = facts.of(case.node.op_type, case.node.domain).multiplied
    found = {operand: case.type_of(operand) or case.type_of(zero_point) for operand, zero_point in pairs}
    return {operand: TensorProto.UINT8 if kind == TensorProto.FLOAT else kind for operand, kind in found.items()}


@defect("leaves memory as it was where a {op} adds up nothing")
def products_of_nothing(case: Case) -> bool:
    return (case.shape_of(0) or [None])[-1] == 0


# Computed wrongly by onnx.reference


@defect("does not flatten the input of {op} below opset 13")
def flattened_input(case: Case) -> bool:
    return case.opset < 13 and case.number("axis", 1) != -1


@defect("ignores the axis of {op} below opset 7")
def broadcast_axis(case: Case) -> bool:
    return case.opset < 7 and case.states("axis")


@defect("broadcasts the slope of {op} below opset 7 to the last axis")
def slope_of_the_last_axis(case: Case) -> bool:
    return case.opset < 7


@defect("uses the defaults of {op} 6 below opset 6")
def newer_defaults(case: Case) -> bool:
    return case.opset < 6


@defect("samples {op} below opset 16 at half pixels")
def half_pixels(case: Case) -> bool:
    return case.opset < 16


@defect("does not know the batches of {op} below opset 9")
def batches(case: Case) -> bool:
    return case.opset < 9


def _has_scan_outputs(case: Case) -> bool:
    """Whether a Loop collects values of all turns."""
    return len(case.node.output) > max(len(case.node.input) - 2, 0)


@defect("puts the scan outputs of {op} behind each other along a dimension that is there")
def scan_outputs_in_a_row(case: Case) -> bool:
    return _has_scan_outputs(case)


@defect("ignores beta of {op} below opset 7")
def ignored_beta(case: Case) -> bool:
    return case.opset < 7 and case.number("broadcast", 0) == 0


def _rounds_up(case: Case) -> bool:
    return case.number("ceil_mode", 0) != 0


def _pads_whole_windows(case: Case) -> bool:
    return any(pad >= size for pad, size in zip(case.numbers("pads"), 2 * case.numbers("kernel_shape"), strict=False))


@defect("counts the padding of {op} below opset 7, and puts that of ceil_mode in front")
def counted_padding(case: Case) -> bool:
    return case.opset < 7 or _rounds_up(case) or _pads_whole_windows(case)


@defect("pads {op} although it states the shape of its output")
def padding_beside_a_shape(case: Case) -> bool:
    return bool(case.numbers("output_shape")) and any(case.numbers("pads"))


@defect("counts what lies beyond the padding in the last windows of {op}")
def counted_beyond_padding(case: Case) -> bool:
    return _is_older_onnxruntime(1, 29) and _rounds_up(case) and case.number("count_include_pad", 0) != 0


@cache
def _is_older_onnxruntime(*release: int) -> bool:
    """Whether the installed onnxruntime, if there is one under its usual name, comes before `release`."""
    try:
        installed = version("onnxruntime")
    except PackageNotFoundError:
        return False
    return tuple(map(int, re.findall(r"\d+", installed)[:2])) < release


@defect("takes more for the sum of a window of {op} that reaches beyond the input")
def windows_beyond_the_input(case: Case) -> bool:
    return _rounds_up(case)


@defect("pads this {op}, or counts its positions, in its own way")
def own_padding(case: Case) -> bool:
    return _pads_in_its_own_way(case) or _pads_whole_windows(case) or case.has_output(1)


def _pads_in_its_own_way(case: Case) -> bool:
    auto_pad = case.text("auto_pad") or b"NOTSET"
    is_dilated = any(size != 1 for size in case.numbers("dilations"))
    if auto_pad != b"NOTSET":
        return {b"SAME_UPPER": is_dilated, b"VALID": _rounds_up(case)}.get(auto_pad, True)
    if is_dilated or any(size != 1 for size in case.numbers("strides")):
        return False
    pads = case.numbers("pads")
    half = len(pads) // 2
    return pads[:half] != pads[half:] or (any(pads) and _rounds_up(case))


@defect("removes accents in {op}")
def removed_accents(_case: Case) -> bool:
    return True


@defect("takes what {op} pools to be an image")
def images_alone(case: Case) -> bool:
    shape = case.shape_of(0)
    return shape is None or len(shape) != 4


@defect("takes the first index of each row for all where {op} chooses among more than 32 elements")
def many_choices(case: Case) -> bool:
    shape, axis = case.shape_of(0), case.number("axis", 0)
    length = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    return length is None or length > 32


@defect("moves a position of a cubic {op} into the image, and not its neighbours")
def cubic_border(case: Case) -> bool:
    return case.text("mode") in (b"cubic", b"bicubic") and case.text("padding_mode") == b"border"


@defect("puts in the axes of {op} below opset 13 one by one")
def axes_one_by_one(case: Case) -> bool:
    axes = case.numbers("axes")
    return case.opset < 13 and (axes != sorted(axes) or min(axes, default=0) < 0)


@defect("rounds in {op} after it has added the zero point")
def late_rounding(_case: Case) -> bool:
    return True


@defect("ignores lengths and clip of {op}")
def ignored_lengths(case: Case) -> bool:
    return case.has_input(_LENGTHS) or case.states("clip")


@defect("takes negative numbers for the norm of {op} with their sign")
def signed_norm(case: Case) -> bool:
    return case.number("p", 2) % 2 == 1


@defect("caps the scores that {op} gives, which are those before the cap")
def capped_scores(case: Case) -> bool:
    asks = case.has_output(_SCORES) and case.number("qk_matmul_output_mode", 0) == 0
    return asks and any(attribute.name == "softcap" and attribute.f > 0 for attribute in case.node.attribute)


@defect("pads the mask of an {op} below opset 24 that is broadcast over the keys")
def padded_mask(case: Case) -> bool:
    return case.opset < 24 and case.has_input(3) and (case.shape_of(3) or [None])[-1] == 1


@defect("sorts what {op} gives in the order of the input, or takes rows of it")
def sorted_anyway(case: Case) -> bool:
    return case.number("sorted", 1) == 0


@defect("gives a sequence for the element of an {op}")
def sequence_for_an_element(case: Case) -> bool:
    return any(case.node.input)


@defect("inserts at the front of the sequence where {op} says at its end")
def inserts_at_the_front(case: Case) -> bool:
    return case.has_input(2)


@defect("pads strings with a 0", TensorProto.STRING)
def strings_padded_with_0(case: Case) -> bool:
    """The value with which a Pad fills is its input 2; a CenterCropPad has none."""
    return not case.has_input(2)


@defect("divides half precision in half precision in {op} below opset 23", TensorProto.FLOAT16, TensorProto.BFLOAT16)
def halves_divided(case: Case) -> bool:
    return case.opset < 23


@defect("adds the difference of the two values of {op} to one of them, which rounds")
def sum_for_a_value(case: Case) -> bool:
    """It is not known of the two values that off + (on - off) gives on exactly."""
    return not any(_adds_up(array) for array in case.constants(2, lambda tensor: list(tensor.dims) == [2]))


def _adds_up(values: np.ndarray) -> bool:
    """Whether these are two values, off and on, for which off + (on - off) is exactly on."""
    if values.shape != (2,) or values.dtype.kind not in "iuf":
        return False
    with np.errstate(all="ignore"):
        off, on = values
        return bool(off + (on - off) == on)


@defect("takes the positions of {op} as they are, which are cut to whole numbers")
def uncut_positions(case: Case) -> bool:
    return case.type_of(0) in (*_FLOATS, TensorProto.UNDEFINED)


@defect("computes the positions of a {op} of doubles in float")
def positions_in_float(case: Case) -> bool:
    return TensorProto.DOUBLE in (case.type_of(0), case.type_of(1))


@defect("computes the weights of a cubic {op} of doubles in float")
def weights_in_float(case: Case) -> bool:
    return case.text("mode") == b"cubic" and case.type_of(0) == TensorProto.DOUBLE


@defect("cuts what lies between integers to integers in a {op}, of which last bits decide")
def cut_to_integers(case: Case) -> bool:
    return case.text("mode") in (b"linear", b"cubic") and case.type_of(0) not in (*_FLOATS, TensorProto.UNDEFINED)


@defect("takes what a scale is rounded by for a part of the length by which the coordinates of a {op} go")
def rounding_as_length(case: Case) -> bool:
    scales, shape = next(case.constants(2, lambda _: True), None), case.shape_of(0)
    if scales is None or shape is None or None in shape or not rounded_length(case) or scales.shape != (len(shape),):
        return False
    lengths = np.array(shape, np.float64) * scales
    excess = np.abs(lengths - np.round(lengths))
    return bool(((excess > 0) & (excess <= _ROUNDING * lengths)).any())


# Computed by onnxruntime in another way than the specification says


@defect("makes as many parts of a {op} as are named, or fails, where num_outputs says more")
def named_parts(case: Case) -> bool:
    return case.number("num_outputs", len(case.node.output)) != len(case.node.output)


@defect("rounds, or treats what is too large, in its own way in a {op} to a narrow type")
def own_casts(case: Case) -> bool:
    to = case.number("to", 0)
    return to in _FEW_BITS or (to in _OVERFLOWING and case.number("saturate", 1) == 0)


@defect("removes all dimensions of 1 in a {op} with empty axes")
def empty_axes(case: Case) -> bool:
    return case.has_input(1) and not case.axes()


@defect("obeys keepdims=0 of a {op} that has a split input")
def obeyed_keepdims(case: Case) -> bool:
    return may_lose_its_axis(case.node)


@defect("rounds the length by which the coordinates of this {op} go")
def rounded_length(case: Case) -> bool:
    coordinates = case.text("coordinate_transformation_mode")
    if case.has_input(3):
        return _has_policy(case) and coordinates in (b"pytorch_half_pixel", b"align_corners", b"tf_crop_and_resize")
    return coordinates in (b"pytorch_half_pixel", b"align_corners")


def _has_policy(case: Case) -> bool:
    """Whether a Resize has sizes that are bounds of its lengths."""
    return case.has_input(3) and case.text("keep_aspect_ratio_policy") not in (b"", b"stretch")


@defect("copies the input of a {op} that keeps the shape, or axes of a region of interest that keep their length")
def copied_input(case: Case) -> bool:
    shape, result = case.shape_of(0), case.values.shape_of(case.node.output[0])
    if shape is None or result is None or None in shape or len(shape) != len(result):
        return False
    if case.text("coordinate_transformation_mode") == b"tf_crop_and_resize":
        return any(before == after != 1 for before, after in zip(shape, result, strict=True))
    return (not case.has_input(3) or _has_policy(case)) and shape == result


@defect("shows a single query of {op} all keys behind a past though is_causal=1")
def one_causal_query(case: Case) -> bool:
    queries, keys = case.shape_of(0), case.shape_of(1)
    if not case.number("is_causal", 0) or not case.has_input(4) or not queries or not keys:
        return False
    return queries[-2:][0] == 1 and keys[-2:][0] != 1


@defect("gives the place of a scalar in {op} as if it had one dimension")
def place_of_a_scalar(case: Case) -> bool:
    return case.shape_of(0) == []


@defect("pads this {op} as if it were not dilated")
def undilated_padding(case: Case) -> bool:
    return case.text("auto_pad").startswith(b"SAME") and any(size != 1 for size in case.numbers("dilations"))


@defect("leaves the shape as it is in a {op} with keep_aspect_ratio_policy and negative axes")
def negative_axes_of_a_policy(case: Case) -> bool:
    return _has_policy(case) and min(case.numbers("axes"), default=0) < 0


@defect("takes the indices of a {op} with output_shape for positions in its output")
def positions_in_the_output(case: Case) -> bool:
    return case.has_input(2)


# Invalid, and computed by onnxruntime nevertheless


@defect("reduces over an axis that is given twice")
def axes_given_twice(case: Case) -> bool:
    return _may_repeat(case)


def _may_repeat(case: Case) -> bool:
    """Whether two of the axes that the node states may be the same one, from the front and from the back."""
    axes, shape = case.axes(), case.shape_of(0)
    if axes is None:
        return True
    if shape is not None:
        axes = [axis % len(shape) if shape else 0 for axis in axes]
    has_both = min(axes, default=0) < 0 <= max(axes, default=0)
    return has_both or len(set(axes)) < len(axes)


@defect("drops an axis that is given twice")
def axes_dropped_once(case: Case) -> bool:
    return _may_repeat(case)


@defect("takes a condition longer than the axis")
def long_condition(case: Case) -> bool:
    data, condition = case.shape_of(0), case.shape_of(1)
    if not data or not condition or condition[0] is None:
        return True
    lengths = [data[case.number("axis", 0)]] if case.states("axis") else data
    return any(length is None for length in lengths) or math.prod(length or 0 for length in lengths) < condition[0]


@defect("computes powers of integers beyond their type")
def large_powers(case: Case) -> bool:
    return case.type_of(0) not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)


@defect("computes a {op} of 64-bit integers in double")
def powers_in_double(case: Case) -> bool:
    """Squares and cubes it multiplies in the type itself."""
    exponents = case.constants(1, lambda tensor: math.prod(tensor.dims) == 1)
    is_multiplied = any(exponent.item() in (2, 3) for exponent in exponents)
    return case.type_of(0) in (TensorProto.INT64, TensorProto.UINT64) and not is_multiplied


@defect("takes one batch of data for many of indices")
def one_batch_for_many(case: Case) -> bool:
    return case.number("batch_dims", 0) > 0


@defect("makes up a shape for what is collected in no turn")
def made_up_shape(case: Case) -> bool:
    return _has_scan_outputs(case)


@defect("takes matrices of any shape in {op}")
def matrices_of_any_shape(case: Case) -> bool:
    return (case.shape_of(0) or [None])[1:] not in ([2, 3], [3, 4])


@defect("takes data that is shorter than the windows of {op}")
def windows_longer_than_data(case: Case) -> bool:
    """The padding counts as data. A length that is not known may be shorter."""
    sizes, pads, dilations = (case.numbers(name) for name in ("kernel_shape", "pads", "dilations"))
    if (case.text("auto_pad") or b"NOTSET") not in (b"NOTSET", b"VALID"):
        return False
    lengths = (case.shape_of(0) or [None] * (len(sizes) + 2))[2:]
    for axis, (size, length) in enumerate(zip(sizes, lengths, strict=False)):
        padding = pads[axis] + pads[axis + len(sizes)] if pads else 0
        covered = (size - 1) * (dilations[axis] if dilations else 1) + 1
        if covered > padding + (length or 0):
            return True
    return False
