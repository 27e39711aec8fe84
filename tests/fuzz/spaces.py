"""What `exhaustive` enumerates of each operator: sizes of its operands, and values of its attributes and parameters.

A `Space` has candidates by name: of an attribute, values; of an input, shapes to fill (tuples) or just these values (lists and
arrays); None leaves it out. A name counts as attribute or input by what the version at hand makes of it, so that one entry
serves `axes` of Squeeze 1 and of Squeeze 13. `sizes` has the shapes of the leading inputs together, where they have to fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import TensorProto, helper

Shape = tuple[int, ...]
ONE: tuple[tuple[Shape, ...], ...] = (((40,),), ((),), ((0,),), ((1,),), ((2, 3, 8),), ((2, 0, 3),))
"""Shapes of a single operand whose rank is free."""
TWO: tuple[tuple[Shape, ...], ...] = (
    ((48,), (48,)),
    ((2, 3, 8), (8,)),
    ((2, 3, 8), (3, 1)),
    ((2, 3, 8), ()),
    ((), ()),
    ((8,), (2, 3, 8)),
    ((2, 1), (1, 20)),
    ((0,), (1,)),
    ((2, 0, 3), (3,)),
    ((2, 3, 8), (2, 3)),
    ((2, 3, 8), (3,)),
)
"""Shapes of two operands, with those that only the broadcasting below opset 7 takes."""
AXES = (None, 0, 1, -1, -2, 2, -3)
AXES_LISTS = (None, [], [0], [1], [-1], [0, 2], [2, 0], [-1, -2], [0, 1, 2], [-3, 1])
RANKED = (((3,),), ((2, 8),), ((2, 3, 8),), ((2, 0, 3),), ((0,),), ((3, 2, 1, 4),), ((),))


Fits = Callable[[int, Mapping[str, Any]], bool]


@dataclass(frozen=True)
class Space:
    """`fits` tells of a since_version and a choice whether the specification allows it, where no checker tells."""

    sizes: Sequence[tuple[Shape | None, ...]] = ONE
    by_name: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    fits: Fits = lambda _version, _choice: True


def space(sizes: Sequence[tuple[Shape | None, ...]] = ONE, /, **by_name: Sequence[Any]) -> Space:
    return Space(sizes, {name.lower(): candidates for name, candidates in by_name.items()})


def _fits_legacy_broadcast(version: int, choice: Mapping[str, Any]) -> bool:
    """Below opset 7 shapes are equal, unless `broadcast` puts the second at `axis` of the first."""
    left, right = choice["sizes"]
    if version >= 7 or left == right:
        return True
    axis = choice.get("attribute axis")
    axis = len(left) - len(right) if axis is None else axis
    return choice.get("attribute broadcast") == 1 and axis >= 0 and left[axis : axis + len(right)] == right


def _has_axis(version: int, choice: Mapping[str, Any]) -> bool:
    rank, axis = len(choice["sizes"][0]), choice.get("attribute axis")
    return (0 if axis is None else axis) in range(-rank if version >= 11 else 0, rank)


def _has_axes(version: int, choice: Mapping[str, Any]) -> bool:
    rank, axes = len(choice["sizes"][0]), choice.get("attribute axes") or choice.get("input axes") or []
    return all(axis in range(-rank if version >= 11 else 0, rank) for axis in axes) and len({a % rank for a in axes}) == len(axes)


def _pads_once(_version: int, choice: Mapping[str, Any]) -> bool:
    """Padding is automatic or written out, not both."""
    pads, auto_pad = choice.get("attribute pads"), choice.get("attribute auto_pad")
    return pads is None or auto_pad in (None, "NOTSET")


def _fits_condition(_version: int, choice: Mapping[str, Any]) -> bool:
    """A condition is not longer than what it chooses from."""
    shape, axis = choice["sizes"][0], choice.get("attribute axis")
    if axis is not None and axis not in range(-len(shape), len(shape)):
        return False
    return len(choice["input condition"]) <= (int(np.prod(shape)) if axis is None else shape[axis])


def _states_sizes_once(version: int, choice: Mapping[str, Any]) -> bool:
    sizes = choice.get("input split"), choice.get("attribute num_outputs")
    wanted = 1 if "attribute num_outputs" in choice else sizes.count(None)  # from opset 18 on, one of the two is needed
    return _has_axis(version, choice) and None in sizes and sizes.count(None) == wanted


def _fits_parts(version: int, choice: Mapping[str, Any]) -> bool:
    """A Split has as many outputs as sizes, which add up to the length of the axis."""
    shape, sizes = choice["sizes"][0], choice.get("input split", choice.get("attribute split"))
    wanted = choice.get("attribute num_outputs") if sizes is None else len(sizes)
    if not _states_sizes_once(version, choice) or wanted not in (None, choice["outputs"]):
        return False
    return sizes is None or sum(sizes) == shape[choice.get("attribute axis") or 0]


def _fits_perm(_version: int, choice: Mapping[str, Any]) -> bool:
    perm = choice["attribute perm"]
    return perm is None or sorted(perm) == list(range(len(choice["sizes"][0])))


def _has_a_size_for_each_axis(_version: int, choice: Mapping[str, Any]) -> bool:
    axes = choice["attribute axes"]
    return len(choice["input shape"]) == (len(choice["sizes"][0]) if axes is None else len(axes))


def _has_an_end_for_each_start(version: int, choice: Mapping[str, Any]) -> bool:
    kind = "input" if version >= 10 else "attribute"
    given = [choice.get(f"{kind} {name}") for name in ("starts", "ends", "axes", "steps")]
    return len({len(values) for values in given if values is not None}) == 1


def _has_a_window_of_one_frame(_version: int, choice: Mapping[str, Any]) -> bool:
    window, length = choice["sizes"][2], choice["input frame_length"]
    return window is None or length is None or int(length) == window[0]


def _is_near(_version: int, choice: Mapping[str, Any]) -> bool:
    """Positions that are not numbers or far away are undefined, or differ in all their digits."""
    return choice["values"] not in ("special", "mixed")


def _trains_without_dropping(_version: int, choice: Mapping[str, Any]) -> bool:
    """What is dropped is random."""
    ratio = choice.get("input ratio", choice.get("attribute ratio"))
    training = choice.get("input training_mode")
    return training is None or not training or (isinstance(ratio, np.ndarray) and ratio == 0)


def _is_convertible(_version: int, choice: Mapping[str, Any]) -> bool:
    """Of floats, only what an integer type holds: no specification says what else becomes."""
    to = choice.get("attribute to")
    if isinstance(to, int) and to not in TensorProto.DataType.values():
        return False  # onnx 1.17 has no such type
    source = choice.get("type T1", "")
    target = choice.get("type T2", "")[7:-1] if to is None else to if isinstance(to, str) else TensorProto.DataType.Name(to)
    if source == "tensor(string)" and target.upper() != "STRING":
        return False  # no word of the candidates is a number
    is_rounded = ("float" in source or "double" in source) and "int" in target.lower()
    return not is_rounded or (choice["values"] == "ties" and not target.lower().startswith("uint"))


def _has_finite_powers(version: int, choice: Mapping[str, Any]) -> bool:
    """0 to a negative power is infinite, and no specification says which integer that becomes. Among ties there is no 0."""
    base, exponent = choice["type T"], choice.get("type T1", choice["type T"])
    is_finite = "(int" not in base or "(uint" in exponent or choice["values"] == "ties"
    return is_finite and _fits_legacy_broadcast(version, choice)


def _batches_match(_version: int, choice: Mapping[str, Any]) -> bool:
    theta, size = choice["sizes"][0], choice["input size"]
    return theta[0] == size[0] and theta[1] == len(size) - 2


def _has_one_batch_for_each(_version: int, choice: Mapping[str, Any]) -> bool:
    """Data and indices have the same batches."""
    batch_dims, indices = choice.get("attribute batch_dims") or 0, choice["input indices"]
    return choice["sizes"][0][:batch_dims] == indices.shape[:batch_dims]


def _has_an_index_for_each_update(version: int, choice: Mapping[str, Any]) -> bool:
    """Indices and updates have the same shape."""
    return choice["input indices"].shape == choice["sizes"][2] and _has_axis(version, choice)


def _has_indices_of_its_rank(version: int, choice: Mapping[str, Any]) -> bool:
    """Indices have as many axes as the data, and are no longer along any other axis."""
    data, indices, axis = choice["sizes"][0], choice["input indices"].shape, choice.get("attribute axis") or 0
    if len(data) != len(indices) or not _has_axis(version, choice):
        return False
    return all(own <= size or number == axis % len(data) for number, (own, size) in enumerate(zip(indices, data, strict=True)))


def _has_a_row_for_each_index(_version: int, choice: Mapping[str, Any]) -> bool:
    """Updates have the shape of the indices but for the last axis, and then that of what an index selects."""
    data, _, updates = choice["sizes"]
    *places, depth = choice["input indices"].shape
    return updates == (*places, *data[depth:])


def _has_a_target_for_each_row(_version: int, choice: Mapping[str, Any]) -> bool:
    """Scores are [N, C, d1, ...], and targets [N, d1, ...]."""
    batch, _, *rest = choice["sizes"][0]
    targets = choice["input target"] if "input target" in choice else choice["input labels"]
    return targets.shape == (batch, *rest)


def _has_two_axes(_version: int, choice: Mapping[str, Any]) -> bool:
    """The batches are along one of the first two axes, and the time along the other."""
    batch, time = choice["attribute batch_axis"], choice["attribute time_axis"]
    return (1 if batch is None else batch) != (time or 0)


def _fits_quantization(version: int, choice: Mapping[str, Any]) -> bool:
    """Scale and zero point are scalars, from opset 13 on also of one axis, from 21 on of blocks."""
    (shape,), letter = choice["sizes"], "x" if "input x_scale" in choice else "y"
    scale, zero = choice[f"input {letter}_scale"], choice[f"input {letter}_zero_point"]
    axis, block = choice.get("attribute axis"), choice.get("attribute block_size") or 0
    if zero is not None and zero.shape != scale.shape:
        return False
    if scale.ndim == 0 or version < 13:
        return scale.ndim == block == 0
    axis = 1 if axis is None else axis
    if axis not in range(-len(shape), len(shape)):
        return False
    blocks = [-(-length // block) if block and index == axis % len(shape) else length for index, length in enumerate(shape)]
    return scale.shape == (tuple(blocks) if block else (shape[axis],))


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def scalar(value: float) -> np.ndarray:
    return np.array(value)


_FLAGS = (None, 0, 1)
_SCALARS = tuple(None if value is None else scalar(value) for value in (None, 0, 1, -1, 3, -3))
_POOL: dict[str, Sequence[Any]] = {
    "kernel_shape": ([2], [3], [1, 1], [2, 3], [3, 2], [2, 2]),
    "strides": (None, [1], [2], [1, 1], [2, 2], [3, 1]),
    "pads": (None, [0, 0], [1, 1], [0, 1], [1, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]),
    "dilations": (None, [1], [2], [1, 1], [2, 2], [1, 2]),
    "auto_pad": (None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "ceil_mode": _FLAGS,
    "count_include_pad": _FLAGS,
    "storage_order": _FLAGS,
    "p": (None, 1, 2, 3),
}
_IMAGES = (((1, 2, 7),), ((2, 2, 5, 6),), ((1, 1, 4, 4),))
_CONV: dict[str, Sequence[Any]] = {**_POOL, "kernel_shape": (None, [2], [3], [2, 2], [3, 2]), "group": (None, 1, 2)}
_CONV_SIZES = (
    ((1, 2, 7), (4, 2, 3), (4,)),
    ((1, 2, 7), (4, 1, 2), None),
    ((2, 2, 5, 6), (4, 2, 2, 2), (4,)),
    ((1, 2, 5, 6), (2, 1, 3, 2), None),
)
_MATRICES = (
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 1, 2, 3), (4, 3, 2)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 2)),
)
_SEQUENCES: dict[str, Sequence[Any]] = {
    "hidden_size": (None, 2),
    "direction": (None, "forward", "reverse", "bidirectional"),
    "layout": _FLAGS,
    "clip": (None, 0.5, 100.0),
    "linear_before_reset": _FLAGS,
    "input_forget": _FLAGS,
    "output_sequence": _FLAGS,
    "activations": (None,),
    "activation_alpha": (None, [0.5, 0.5]),
    "activation_beta": (None,),
    "sequence_lens": (None, ints(3, 2), ints(1, 3)),
    "initial_h": (None, (1, 2, 2), (2, 2, 2), (2, 1, 2)),
    "initial_c": (None, (1, 2, 2), (2, 2, 2), (2, 1, 2)),
}


def _recurrent(gates: int) -> Space:
    ways = ((1,), (2,))
    sizes: list[tuple[Shape | None, ...]] = []
    for (way,) in ways:
        for bias in (None, (way, 2 * gates * 2)):
            sizes.append(((3, 2, 2), (way, gates * 2, 2), (way, gates * 2, 2), bias))
    return space(sizes, **_SEQUENCES, P=(None, (1, 6), (2, 6)))


_REDUCE = replace(space(RANKED, axes=AXES_LISTS, keepdims=_FLAGS, noop_with_empty_axes=_FLAGS), fits=_has_axes)
_ARG = replace(space(RANKED, axis=AXES, keepdims=_FLAGS, select_last_index=_FLAGS), fits=_has_axis)
_BINARY = replace(
    space(
        TWO,
        axis=(None, 0, 1, -1, 2),
        broadcast=_FLAGS,
        saturate=_FLAGS,
        round_mode=(None, "up", "down", "nearest"),
        fmod=_FLAGS,
        direction=("LEFT", "RIGHT"),
        consumed_inputs=(None, [0, 0]),
    ),
    fits=_fits_legacy_broadcast,
)
_VARIADIC = space(
    (((40,),), ((40,), (40,)), ((2, 3, 8), (8,), (3, 1)), ((), ()), ((2, 0), (1,)), ((2, 3), (2, 3), (2, 3), (2, 3))),
    consumed_inputs=(None,),
)
_GATHERING = {"axis": AXES}
_GATHERED = (
    ints(0),
    ints(1, -1, 0),
    np.array([[0, -1], [1, -2]]),
    np.array(-1),
    np.zeros((0,), np.int64),
    np.array([[[0, -1, 1], [1, 0, -2]]]),
    np.array([[0, 1, 2], [-3, -2, -1]]),
)
_SCATTER = space(
    (((4, 3), None, (2, 3)), ((5,), None, (3,)), ((2, 3, 4), None, (1, 2, 3)), ((4, 3), None, (2, 2)), ((3, 3), None, (0, 3))),
    axis=AXES,
    reduction=(None, "none", "add", "mul", "max", "min"),
    indices=(
        np.array([[0, 1, 2], [-1, -2, -3]]),
        np.array([0, -1, 2]),
        np.array([[[0, 1, 0], [-1, 0, 1]]]),
        np.array([[1, 1], [-1, 1]]),
        np.zeros((0, 3), np.int64),
        np.array([[0, 0, 0], [1, 1, 1]]),
    ),
)
_SLICES = (
    ints(0),
    ints(1),
    ints(-2),
    ints(-100),
    ints(100),
    ints(2**63 - 1),
    ints(-(2**63)),
    ints(0, 1),
    ints(-1, -1),
    ints(2, 100),
)
_LIKE = space(
    RANKED, dtype=(None, 1, 6, 7, 10, 11), seed=(1.0,), mean=(None, 1.0), scale=(None, 2.0), low=(None, -1.0), high=(None, 3.0)
)
_WINDOW = space(
    (),
    size=(scalar(1), scalar(0), scalar(2), scalar(5), scalar(10)),
    periodic=_FLAGS,
    output_datatype=(None, 1, 2, 3, 6, 7, 10, 11, 12, 16),
)
_SCALES_OF_AXES = (scalar(0.5), scalar(3.0), np.array([0.5, 0.3]), np.array([0.5, 1.0, 3.0]), np.array([[0.5, 0.3], [1.0, 3.0]]))
_QUANTIZED: dict[str, Sequence[Any]] = {
    "axis": (None, 0, 1, -1),
    "block_size": (None, 0, 2, 10),
    "saturate": _FLAGS,
    "precision": (None, 0, 1, 10),
    "output_dtype": (None, 0, 1, 2, 3, 10, 16, 21, 22, 5),
    "y_scale": _SCALES_OF_AXES,
    "x_scale": _SCALES_OF_AXES,
    "y_zero_point": (None, None, scalar(0), scalar(1), np.array([1, 0]), np.array([0, 1, 2]), np.array([[1, 0], [0, 2]])),
    "x_zero_point": (None, None, scalar(0), scalar(1), np.array([1, 0]), np.array([0, 1, 2]), np.array([[1, 0], [0, 2]])),
}
_PER_CHANNEL: list[tuple[Shape | None, ...]] = [((2, 3), *[(3,)] * 4), ((2, 3, 4), *[(3,)] * 4), ((1, 2, 3, 3), *[(2,)] * 4)]
_LOSS = space(
    (((6, 3), None, (3,)), ((6, 3), None, None), ((2, 3, 3), None, (3,)), ((0, 3), None, None)),
    target=(ints(0, 1, 2, 0, -1, 1), np.array([[0, 1, 2], [2, -1, 0]]), np.zeros((0,), np.int64)),
    labels=(ints(0, 1, 2, 0, -1, 1), np.array([[0, 1, 2], [2, -1, 0]]), np.zeros((0,), np.int64)),
    ignore_index=(None, -1, 1, 0),
    reduction=(None, "none", "sum", "mean"),
)
_IMAGE_RESIZE: dict[str, Sequence[Any]] = {
    "mode": (None, "nearest", "linear", "cubic"),
    "scales": (None, [], [1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 0.6, 1.4], [1.0, 1.0, 3.0, 0.5], [2.0, 1.5], [1.0, 2.5]),
    "sizes": (None, ints(1, 1, 6, 3), ints(1, 1, 8, 8), ints(6, 5), ints(1, 7)),
    "roi": (None, [], [0.0, 0.0, 0.25, 0.25, 1.0, 1.0, 0.75, 0.8]),
    "coordinate_transformation_mode": (
        *(None, "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"),
        *("tf_crop_and_resize", "tf_half_pixel_for_nn"),
    ),
    "nearest_mode": (None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "cubic_coeff_a": (None, -0.5),
    "exclude_outside": _FLAGS,
    "extrapolation_value": (None, -7.0),
    "antialias": _FLAGS,
    "axes": (None, [2, 3], [-2, -1], [3, 2], [0, 1]),
    "keep_aspect_ratio_policy": (None, "stretch", "not_larger", "not_smaller"),
}

_NUMBERS = ("float", "double", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "uint64", "bool", "complex64")


def _scalar_tensor(dtype: str, values: list[Any]) -> TensorProto:
    return helper.make_tensor("", TensorProto.DataType.Value(dtype.upper()), [1], values)


_TENSORS = tuple(_scalar_tensor(dtype, [1]) for dtype in _NUMBERS)

SPACES: dict[str, Space] = {
    **dict.fromkeys(
        ("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"),
        _BINARY,
    ),
    "Pow": replace(_BINARY, fits=_has_finite_powers),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "Mod", "StringConcat", "CastLike", "SwiGLU"), _BINARY),
    **dict.fromkeys(("Max", "Min", "Sum", "Mean"), _VARIADIC),
    **dict.fromkeys(
        (f"Reduce{kind}" for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")), _REDUCE
    ),
    **dict.fromkeys(("ArgMax", "ArgMin"), _ARG),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax", "Flatten", "LpNormalization"), space(RANKED, axis=AXES, p=(None, 1, 2))),
    **dict.fromkeys(("Scatter", "ScatterElements"), _SCATTER),
    **dict.fromkeys(("AveragePool", "MaxPool", "LpPool"), space(_IMAGES, **_POOL)),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), space(_IMAGES, p=(None, 1, 2, 3))),
    **dict.fromkeys(("RandomNormalLike", "RandomUniformLike", "Bernoulli"), _LIKE),
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), _WINDOW),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), _LOSS),
    **dict.fromkeys(("Resize",), space((((1, 1, 4, 5),), ((2, 3),), ((1, 4),)), **_IMAGE_RESIZE)),
    "Upsample": space(
        (((1, 1, 4, 5),), ((2, 3),), ((1, 4),)),
        mode=(None, "nearest", "linear", "bilinear"),
        scales=([1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 1.5, 3.0], [2.0, 1.5], [1.0, 2.0]),
        height_scale=(2.0, 1.5),
        width_scale=(2.0, 3.5),
    ),
    "Clip": space(ONE, min=(None, scalar(-1), scalar(0), scalar(1), scalar(3)), max=(None, scalar(1), scalar(0), scalar(6))),
    "Cast": space(
        ONE,
        to=(*range(1, 25), "FLOAT", "INT64", "BOOL", "DOUBLE", "INT8", "FLOAT16"),
        saturate=_FLAGS,
        round_mode=(None, "up", "down", "nearest"),
    ),
    "BitCast": space(ONE, to=range(1, 25)),
    "Concat": space((((2, 3), (2, 3)), ((2, 3), (1, 3), (4, 3)), ((3,), (0,)), ((2, 3),), ((2, 3, 8), (2, 1, 8))), axis=AXES),
    "Conv": space(_CONV_SIZES, **_CONV),
    "ConvInteger": space([(*sizes[:2], None, None) for sizes in _CONV_SIZES] + [(*_CONV_SIZES[0][:2], (), ())], **_CONV),
    "ConvTranspose": space(
        (((1, 4, 7), (4, 2, 3), (2,)), ((2, 4, 5, 6), (4, 1, 2, 2), None), ((1, 4, 3, 3), (4, 2, 2, 2), (2,))),
        **_CONV,
        output_padding=(None, [0], [1], [0, 0], [1, 0]),
        output_shape=(None, [9], [14], [6, 7], [10, 12]),
    ),
    "QLinearConv": space(
        [((1, 2, 5, 6), (), (), (2, 2, 2, 2), (), (), (), (), (2,)), ((1, 2, 7), (), (), (2, 2, 3), (), (), (), (), None)], **_CONV
    ),
    "Gemm": space(
        [((2, 3), (3, 4), c) for c in (None, (), (1,), (4,), (2, 1), (1, 4), (2, 4))]
        + [((3, 2), (4, 3), (4,)), ((2, 0), (0, 4), (4,))],
        transA=_FLAGS,
        transB=_FLAGS,
        broadcast=_FLAGS,
    ),
    "MatMul": space(_MATRICES),
    "MatMulInteger": space([(*pair, *zeros) for pair in _MATRICES for zeros in ((), ((), ()), ((), None), (None, ()))]),
    "QLinearMatMul": space([(pair[0], (), (), pair[1], (), (), (), ()) for pair in _MATRICES]),
    "Einsum": space(
        (((2, 3), (3, 4)), ((3, 3),), ((2, 3),), ((2, 3), (2, 3))),
        equation=("ij,jk->ik", "ii->i", "ii", "ij->ji", "ij,ij", "...j->...", "ij->"),
    ),
    "Det": space((((2, 2),), ((3, 3),), ((2, 3, 3),), ((1, 1),), ((0, 2, 2),), ((5, 5),))),
    "Expand": space(ONE, shape=(ints(), ints(1), ints(3, 1), ints(2, 1, 8), ints(2, 3, 8), ints(0), ints(4, 1, 1, 1))),
    "Reshape": space(
        ONE,
        shape=(ints(), ints(-1), ints(0), ints(2, -1), ints(0, -1), ints(0, 0, 4, 2), ints(0, 0), ints(3, 0, 2), ints(8, 6)),
        allowzero=_FLAGS,
    ),
    "Tile": space(
        (((3,),), ((2, 3),), ((2, 0),), ((),)),
        repeats=(ints(2), ints(1, 3), ints(0, 2), ints(2, 1), ints()),
        tiles=(scalar(2),),
        axis=(scalar(0), scalar(1)),
    ),
    "Squeeze": space((((1, 3, 1),), ((1,),), ((1, 0, 1),), ((3, 4),), ((),)), axes=AXES_LISTS),
    "Unsqueeze": space((((2, 3),), ((),), ((0,),), ((4,),)), axes=([0], [-1], [0, -1], [2, 0], [1, 2], [-2, 0], [0, 1, 2])),
    "Transpose": space(RANKED, perm=(None, [0], [1, 0], [0, 2, 1], [2, 0, 1], [3, 2, 1, 0], [])),
    "Split": space(RANKED, axis=AXES, split=(None, [1, 1], [2, 0], [3], [1, 2], [4, 2, 2], [0, 0]), num_outputs=(None, 1, 2, 3)),
    "SplitToSequence": space(RANKED, axis=AXES, split=(None, [1, 1], [1, 2], scalar(1), scalar(2), scalar(5)), keepdims=_FLAGS),
    "Slice": space(
        RANKED,
        starts=_SLICES,
        ends=_SLICES,
        axes=(None, [0], [-1], [1], [0, 1], [-1, 0]),
        steps=(None, [1], [2], [-1], [-2], [1, -1], [2, 1], [-(2**62)]),
    ),
    "Pad": space(
        (((3,),), ((3, 4),), ((2, 3, 4),), ((0, 2),)),
        pads=([1, 2], [0, 0, 1, 1], [1, 0, 0, 2], [-1, 0, 0, -1], [0, -1, 0, 2], [1, 0, 0, 0, 2, 1]),
        paddings=([1, 2], [0, 0, 1, 1], [1, 0, 0, 2]),
        constant_value=(None, ()),
        axes=(None, [0], [-1], [0, 1], [-1, 0]),
        mode=(None, "constant", "reflect", "edge", "wrap"),
        value=(None, -2.5),
    ),
    "Gather": space((((4, 3),), ((5,),), ((2, 3, 4),), ((0, 3),)), indices=_GATHERED, **_GATHERING),
    "GatherElements": space((((4, 3),), ((5,),), ((2, 3, 4),), ((3, 0),)), indices=_GATHERED, **_GATHERING),
    "GatherND": space(
        (((4, 3),), ((5,),), ((2, 3, 4),)),
        indices=(
            ints(1),
            np.array([[0, -1], [1, 2]]),
            np.array([[0], [-1]]),
            np.array([[[0, 1], [1, -1]]]),
            np.zeros((0, 1), np.int64),
        ),
        batch_dims=(None, 0, 1),
    ),
    "ScatterND": space(
        (((4, 3), None, (2, 3)), ((5,), None, (2,)), ((4, 3), None, (2,)), ((5,), None, (0,))),
        indices=(np.array([[0], [-1]]), np.array([[0, -1], [1, 2]]), np.array([[1], [1]]), np.zeros((0, 1), np.int64)),
        reduction=(None, "none", "add", "mul", "max", "min"),
    ),
    "TensorScatter": space(
        (((2, 1, 4, 3), (2, 1, 2, 3)),),
        write_indices=(None, ints(0, 1), ints(3, 2), ints(2, 2)),
        axis=(None, 2, -2),
        mode=(None, "linear", "circular"),
    ),
    "Compress": space(
        (((3, 2),), ((6,),), ((2, 0),)), condition=(np.array([True, False, True]), np.array([True]), np.zeros(0, bool)), axis=AXES
    ),
    "OneHot": space(
        ((None, None, (2,)),),
        indices=(ints(0, 1, 2), ints(-1, -3, 1), np.array([[0, 3], [-4, 100]]), scalar(1), np.zeros((0,), np.int64), scalar(-1)),
        depth=(scalar(3), ints(3), scalar(1)),
        axis=(None, -1, 0, 1, -2),
    ),
    "TopK": space(RANKED, k=(1, 2, 3, 0), K=(ints(1), ints(2), ints(0), ints(3)), axis=AXES, largest=_FLAGS, sorted=_FLAGS),
    "Unique": space(RANKED, axis=AXES, sorted=_FLAGS),
    "NonZero": space(ONE),
    "CumSum": space(RANKED, axis=_SCALARS[1:], exclusive=_FLAGS, reverse=_FLAGS),
    "CumProd": space(RANKED, axis=_SCALARS[1:], exclusive=_FLAGS, reverse=_FLAGS),
    "Trilu": space((((3, 4),), ((2, 3, 3),), ((0, 2),), ((1, 1),)), k=(*_SCALARS, scalar(100), scalar(-100)), upper=_FLAGS),
    "EyeLike": space((((3, 4),), ((2, 2),), ((0, 2),)), k=(None, 0, 1, -1, 5, -5), dtype=(None, 1, 6, 7, 9, 10, 11, 12)),
    "Range": space(
        ((),),
        start=(scalar(0), scalar(3), scalar(-5)),
        limit=(scalar(0), scalar(7), scalar(-9), scalar(10)),
        delta=(scalar(1), scalar(2), scalar(-1), scalar(-3), scalar(5)),
        stash_type=(None, 1),
    ),
    "ConstantOfShape": space(((),), value=(None, *_TENSORS), input=(ints(), ints(2, 3), ints(0), ints(1, 0, 2), ints(4))),
    "Constant": space(
        ((),),
        value=(None, None, None, *_TENSORS, _scalar_tensor("string", [b""])),
        value_int=(None, -3),
        value_ints=(None, [], [1, -2]),
        value_float=(None, -0.0),
        value_floats=(None, [], [0.5]),
        value_string=(None, ""),
        value_strings=(None, ["a", ""]),
    ),
    "Shape": space(RANKED, start=(None, 0, 1, -1, -100, 100), end=(None, 0, 1, -1, -100, 100)),
    "Size": space(RANKED),
    "Where": space((((8,), (8,), (8,)), ((2, 1), (1, 20), ()), ((), (40,), (40,)), ((0,), (1,), (1,)), ((3, 1), (3, 8), (8,)))),
    "IsInf": space(ONE, detect_negative=_FLAGS, detect_positive=_FLAGS),
    "Shrink": space(ONE, bias=(None, 0.0, 0.5, 1.0, -1.5, 3.0), lambd=(None, 0.0, 0.5, 1.0, -1.5, 2.7)),
    "PRelu": space(
        (
            ((48,), (48,)),
            ((2, 3, 8), (8,)),
            ((2, 3, 8), (3, 1)),
            ((2, 3, 8), (3,)),
            ((2, 3, 8), (1,)),
            ((2, 3, 8), ()),
            ((), ()),
            ((0,), (1,)),
        )
    ),
    "Gelu": space(ONE, approximate=(None, "none", "tanh")),
    "Dropout": space(
        ONE,
        ratio=(None, 0.0, 0.5, 1.0, scalar(0.0), scalar(0.5), scalar(1.0)),
        training_mode=(None, np.array(False), np.array(True)),
        is_test=(None, 0, 1),
        seed=(None, 1),
    ),
    "BatchNormalization": space(
        _PER_CHANNEL,
        epsilon=(None, 0.0, 0.125),
        momentum=(None, 0.0, 0.5, 1.0),
        is_test=_FLAGS,
        spatial=_FLAGS,
        training_mode=_FLAGS,
        consumed_inputs=([0, 0, 0, 1, 1],),
    ),
    "InstanceNormalization": space(
        [sizes[:3] for sizes in _PER_CHANNEL[1:]], epsilon=(None, 0.0, 0.125), consumed_inputs=(None, [0, 0, 0])
    ),
    "GroupNormalization": space(
        [((2, 4, 3), (4,), (4,)), ((2, 4, 3), (2,), (2,)), ((1, 4, 2, 2), (1,), (1,))],
        num_groups=(1, 2, 4),
        epsilon=(None, 0.125),
        stash_type=(None, 1, 10),
    ),
    "LayerNormalization": space(
        [((2, 3, 8), (8,), (8,)), ((2, 3, 8), (3, 8), None), ((2, 3, 8), (2, 3, 8), (2, 3, 8)), ((8,), (8,), None)],
        axis=AXES,
        epsilon=(None, 0.0, 0.125),
        stash_type=(None, 1, 10),
    ),
    "RMSNormalization": space(
        [((2, 3, 8), (8,)), ((2, 3, 8), (3, 8)), ((8,), (8,)), ((2, 3, 8), ())],
        axis=AXES,
        epsilon=(None, 0.0, 0.125),
        stash_type=(None, 1, 10),
    ),
    "MeanVarianceNormalization": space((((2, 3, 2, 4),), ((2, 3),)), axes=(None, [0], [0, 2, 3], [-1], [0, 1])),
    "LRN": space(
        (((2, 5, 3),), ((1, 3, 2, 2),)), size=(1, 2, 3, 5), alpha=(None, 0.0, 0.5), beta=(None, 0.0, 0.5), bias=(None, 0.5)
    ),
    "DepthToSpace": space((((1, 8, 2, 3),), ((2, 4, 1, 1),)), blocksize=(1, 2), mode=(None, "DCR", "CRD")),
    "SpaceToDepth": space((((1, 2, 4, 6),), ((2, 1, 2, 2),)), blocksize=(1, 2), mode=(None, "DCR", "CRD")),
    "ReverseSequence": space(
        (((3, 2, 2),), ((2, 3),)), sequence_lens=(ints(1, 3), ints(2, 2), ints(0, 3)), batch_axis=_FLAGS, time_axis=_FLAGS
    ),
    "CenterCropPad": space(
        (((4, 5),), ((5,),), ((2, 3, 4),)),
        shape=(ints(3, 7), ints(2), ints(6), ints(3, 3), ints(1, 9, 2)),
        axes=(None, [0], [-1], [1, 0], [-2, -1]),
    ),
    "Col2Im": space(
        (((1, 4, 9),), ((2, 8, 4),)),
        image_shape=(ints(4, 4), ints(3, 3), ints(6, 6)),
        block_shape=(ints(2, 2),),
        pads=(None, [0, 0, 0, 0], [1, 1, 1, 1]),
        strides=(None, [1, 1], [2, 2]),
        dilations=(None, [1, 1], [2, 2]),
    ),
    "DequantizeLinear": space((((2, 4),), ((2, 3, 8),), ((8,),), ((),), ((0, 2),)), **_QUANTIZED),
    "QuantizeLinear": space((((2, 20),), ((2, 3, 8),), ((40,),), ((),), ((0, 2),)), **_QUANTIZED),
    "DynamicQuantizeLinear": space(ONE),
    "GRU": _recurrent(3),
    "LSTM": _recurrent(4),
    "RNN": _recurrent(1),
    "GridSample": space(
        [((1, 1, 3, 4), (1, 2, 3, 2)), ((1, 2, 3, 3, 2), (1, 2, 2, 2, 3))],
        mode=(None, "bilinear", "linear", "nearest", "bicubic", "cubic"),
        padding_mode=(None, "zeros", "border", "reflection"),
        align_corners=_FLAGS,
    ),
    "AffineGrid": replace(
        space(
            (((1, 2, 3),), ((2, 2, 3),), ((1, 3, 4),)),
            size=(ints(1, 1, 3, 4), ints(2, 1, 2, 2), ints(1, 1, 2, 2, 3)),
            align_corners=_FLAGS,
        ),
        fits=_batches_match,
    ),
    "RoiAlign": space(
        [((2, 2, 5, 6), (2, 4), None)],
        batch_indices=(ints(0, 1), ints(1, 1)),
        coordinate_transformation_mode=(None, "half_pixel", "output_half_pixel"),
        mode=(None, "avg", "max"),
        output_height=(None, 2),
        output_width=(None, 3),
        sampling_ratio=(None, 0, 2),
        spatial_scale=(None, 0.5),
    ),
    "MaxRoiPool": space([((2, 2, 5, 6), (2, 5))], pooled_shape=([2, 2], [1, 3]), spatial_scale=(None, 0.5)),
    "MaxUnpool": space(
        [((1, 1, 2, 2), None)],
        I=(np.array([[[[0, 3], [9, 15]]]]),),
        output_shape=(None, ints(1, 1, 5, 5)),
        kernel_shape=([2, 2],),
        strides=(None, [2, 2]),
        pads=(None, [0, 0, 0, 0]),
    ),
    "NonMaxSuppression": space(
        [((1, 6, 4), (1, 2, 6))],
        max_output_boxes_per_class=(None, scalar(0), scalar(2), ints(3)),
        iou_threshold=(None, scalar(0.5), scalar(0.0)),
        score_threshold=(None, scalar(0.0), scalar(-10.0)),
        center_point_box=_FLAGS,
    ),
    "MelWeightMatrix": space(
        (),
        num_mel_bins=(scalar(4), scalar(8)),
        dft_length=(scalar(16), scalar(32)),
        sample_rate=(scalar(8000), scalar(16000)),
        lower_edge_hertz=(scalar(0), scalar(125.0)),
        upper_edge_hertz=(scalar(3000.0), scalar(4000.0)),
        output_datatype=(None, 1, 6, 7, 10, 11),
    ),
    "DFT": space(
        (((1, 6, 1),), ((2, 4, 2),), ((1, 5, 3, 2),), ((2, 3, 4, 1),)),
        dft_length=(None, scalar(4), scalar(8), scalar(3)),
        axis=(None, 1, 2, -2, scalar(1), scalar(-2), scalar(0)),
        inverse=_FLAGS,
        onesided=_FLAGS,
    ),
    "STFT": space(
        [((1, 16, 1), None, w) for w in (None, (4,), (8,))] + [((2, 12, 2), None, (4,))],
        frame_step=(scalar(2), scalar(3)),
        frame_length=(None, scalar(4), scalar(8)),
        onesided=_FLAGS,
    ),
    "RegexFullMatch": space(ONE, pattern=("a.*", "", "[a-z]+")),
    "StringSplit": space(ONE, delimiter=(None, "", " ", "a", "ab"), maxsplit=(None, 1, 2)),
    "StringNormalizer": space(
        (((7,),), ((1, 7),), ((1,),)),
        case_change_action=(None, "LOWER", "UPPER", "NONE"),
        is_case_sensitive=_FLAGS,
        stopwords=(None, ["a"], ["A", ""]),
        locale=(None,),
    ),
    "TfIdfVectorizer": space(
        (((7,),), ((2, 6),), ((1,),)),
        mode=("TF", "IDF", "TFIDF"),
        min_gram_length=(1, 2),
        max_gram_length=(1, 2),
        max_skip_count=(0, 1),
        ngram_counts=([0, 3],),
        ngram_indexes=([0, 1, 2, 3, 4],),
        pool_int64s=(None, [0, 1, 2, 0, 1, 1, 2]),
        pool_strings=(None, ["a", "bc", "", "a", "bc", "bc", "a"]),
        weights=(None, [0.5, 1.0, 2.0, 3.0, 4.0]),
    ),
    "Multinomial": space((((2, 3),),), dtype=(None, 6, 7), sample_size=(None, 3), seed=(1.0,)),
    "RandomNormal": space((), shape=([2, 3], []), dtype=(None, 1, 10, 11), seed=(1.0,), mean=(None,), scale=(None,)),
    "RandomUniform": space((), shape=([2, 3], []), dtype=(None, 1, 10, 11), seed=(1.0,), low=(None,), high=(None,)),
    "SequenceAt": space((((2, 3),),), position=(*_SCALARS[1:5], scalar(-2))),
    "SequenceErase": space((((2, 3),),), position=_SCALARS),
    "SequenceInsert": space([((2, 3), (2, 3)), ((0, 3), (2, 3)), ((), ())], position=_SCALARS),
    "SequenceConstruct": space((((2, 3), (2, 3)), ((),), ((2, 3), (1, 3)), ((0,), (2,)))),
    "ConcatFromSequence": space((((2, 3),), ((4,),), ((0, 2),)), axis=(0, 1, -1, -2, 2), new_axis=_FLAGS),
    "SequenceEmpty": space((), dtype=(None, 1, 7, 8)),
    "RotaryEmbedding": space(
        [((1, 2, 3, 8), (1, 3, 4), (1, 3, 4)), ((1, 3, 16), (1, 3, 4), (1, 3, 4)), ((1, 2, 3, 8), (5, 4), (5, 4), None)],
        position_ids=(None, np.array([[0, 2, 4]])),
        num_heads=(None, 2),
        interleaved=_FLAGS,
        rotary_embedding_dim=(None, 0, 4),
    ),
    "Attention": space(
        [((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)), ((1, 3, 8), (1, 5, 8), (1, 5, 8)), ((1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4))],
        attn_mask=(None, (3, 5), (1, 1, 3, 5), (3, 3), (3, 1)),
        is_causal=_FLAGS,
        q_num_heads=(None, 2),
        kv_num_heads=(None, 2),
        scale=(None, 0.5),
        softcap=(None, 2.0),
        qk_matmul_output_mode=(None, 0, 1, 2, 3),
        softmax_precision=(None, 1, 11),
    ),
    "DeformConv": space(
        [((1, 1, 3, 3), (1, 1, 2, 2), (1, 8, 2, 2), (1,), None), ((1, 1, 3, 3), (1, 1, 2, 2), (1, 8, 2, 2), None, (1, 4, 2, 2))],
        kernel_shape=(None, [2, 2]),
        pads=(None, [0, 0, 0, 0]),
        strides=(None, [1, 1]),
        dilations=(None, [1, 1]),
        group=(None, 1),
        offset_group=(None, 1),
    ),
    "CausalConvWithState": space(
        [((1, 2, 6), (2, 1, 3), (2,), None), ((1, 2, 6), (2, 1, 3), None, (1, 2, 2))], activation=(None, "none", "silu", "swish")
    ),
    "LinearAttention": space(
        [((1, 3, 8), (1, 3, 8), (1, 3, 8))],
        q_num_heads=(2,),
        kv_num_heads=(2,),
        update_rule=(None, "linear"),
        chunk_size=(None,),
        scale=(None, 0.5),
    ),
}
"""Operators that are not here take one operand of any rank, and have attributes of `exhaustive.generic` values."""
_LIMITS: dict[str, Fits] = {
    **dict.fromkeys(("AveragePool", "MaxPool", "LpPool", "Conv", "ConvInteger", "ConvTranspose", "QLinearConv"), _pads_once),
    **dict.fromkeys(("GridSample", "DeformConv", "RoiAlign", "MaxRoiPool", "NonMaxSuppression", "Resize"), _is_near),
    **dict.fromkeys(("BitShift", "QLinearConv", "QLinearMatMul"), _is_near),
    **dict.fromkeys(("Cast", "CastLike"), _is_convertible),
    "Slice": _has_an_end_for_each_start,
    "STFT": _has_a_window_of_one_frame,
    "Split": _fits_parts,
    "SplitToSequence": _states_sizes_once,
    "Squeeze": _has_axes,
    "Transpose": _fits_perm,
    "Compress": _fits_condition,
    "GatherND": _has_one_batch_for_each,
    "ReverseSequence": _has_two_axes,
    **dict.fromkeys(("Scatter", "ScatterElements"), _has_an_index_for_each_update),
    "ScatterND": _has_a_row_for_each_index,
    "GatherElements": _has_indices_of_its_rank,
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), _has_a_target_for_each_row),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _fits_quantization),
    "CenterCropPad": _has_a_size_for_each_axis,
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "TopK"), _has_axis),
    "Dropout": _trains_without_dropping,
}
for _name, _fits in _LIMITS.items():
    SPACES[_name] = replace(SPACES[_name], fits=_fits)

NOT_ENUMERATED = frozenset({"If", "Loop", "Scan", "SequenceMap", "ImageDecoder"})
"""Operators with graphs inside, which `random_models` builds, and one that reads files of pictures."""
