"""The values that the specification lists for attributes that are a choice, such as the words for `mode` of Resize.

ONNX's schemas only say that such an attribute is a string or a number, so onnx.checker accepts any. The values here are those of
all versions of an operator, from https://onnx.ai/onnx/operators/. That an older version has fewer of them is handled by rules.
"""

from __future__ import annotations

from onnx import TensorProto

_AUTO_PAD = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_DIRECTION = ("forward", "reverse", "bidirectional")
_LOSS = ("none", "sum", "mean")
_SCATTER = ("none", "add", "mul", "max", "min")
_SPACE_DEPTH = ("DCR", "CRD")
_UP_OR_DOWN = ("up", "down", "nearest")
_TRANSFORMATIONS = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16)

CHOICES: dict[tuple[str, str], tuple[str | int, ...]] = {
    **{
        (op_type, "auto_pad"): _AUTO_PAD for op_type in ("AveragePool", "Conv", "ConvInteger", "ConvTranspose", "LpPool", "MaxPool")
    },
    **{(op_type, "direction"): _DIRECTION for op_type in ("GRU", "LSTM", "RNN")},
    **{(op_type, "reduction"): _LOSS for op_type in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
    **{(op_type, "reduction"): _SCATTER for op_type in ("ScatterElements", "ScatterND")},
    **{(op_type, "mode"): _SPACE_DEPTH for op_type in ("DepthToSpace", "SpaceToDepth")},
    **{(op_type, "round_mode"): _UP_OR_DOWN for op_type in ("Cast", "CastLike")},
    **{(op_type, "stash_type"): _FLOATS for op_type in ("LayerNormalization", "RMSNormalization")},
    ("Attention", "qk_matmul_output_mode"): (0, 1, 2, 3),
    ("Attention", "softmax_precision"): (TensorProto.UNDEFINED, *_FLOATS),
    ("BitShift", "direction"): ("LEFT", "RIGHT"),
    ("CausalConvWithState", "activation"): ("none", "silu", "swish"),
    ("ConvInteger", "auto_pad"): _AUTO_PAD,
    ("Gelu", "approximate"): ("none", "tanh"),
    ("GridSample", "mode"): ("linear", "bilinear", "nearest", "cubic", "bicubic"),
    ("GridSample", "padding_mode"): ("zeros", "border", "reflection"),
    ("ImageDecoder", "pixel_format"): ("RGB", "BGR", "Grayscale"),
    ("LinearAttention", "update_rule"): ("linear", "gated", "delta", "gated_delta"),
    ("Pad", "mode"): ("constant", "reflect", "edge", "wrap"),
    ("QLinearConv", "auto_pad"): _AUTO_PAD,
    ("Resize", "coordinate_transformation_mode"): _TRANSFORMATIONS,
    ("Resize", "keep_aspect_ratio_policy"): ("stretch", "not_larger", "not_smaller"),
    ("Resize", "mode"): ("nearest", "linear", "cubic"),
    ("Resize", "nearest_mode"): ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    ("RoiAlign", "coordinate_transformation_mode"): ("half_pixel", "output_half_pixel"),
    ("RoiAlign", "mode"): ("avg", "max"),
    ("StringNormalizer", "case_change_action"): ("NONE", "LOWER", "UPPER"),
    ("TensorScatter", "mode"): ("linear", "circular"),
    ("TfIdfVectorizer", "mode"): ("TF", "IDF", "TFIDF"),
    ("Upsample", "mode"): ("nearest", "linear", "bilinear", "trilinear"),
}
"""The words or numbers for each operator and attribute. Those for types are of TensorProto.DataType.

Attributes that are not listed may be any text, such as the pattern of RegexFullMatch.
"""
_TAKEN: dict[str, frozenset[str | int] | None] = {
    "auto_pad": frozenset({""}),
    "nearest_mode": frozenset({""}),
    "qk_matmul_output_mode": None,
    "softmax_precision": None,
    "stash_type": None,
}
"""Values of attributes that are in no list, and which onnxruntime takes nevertheless; None for any value.

They are a problem only to a rule that has to know what they mean.
"""
CHOOSING = frozenset(op_type for op_type, _ in CHOICES)
"""The operators with such an attribute."""


def other_choices(op_type: str, name: str, value: object) -> str:
    """The values that the specification lists for the attribute, for a message, if `value` is none of them; else ""."""
    known = CHOICES.get((op_type, name)) if isinstance(value, str | int) else None
    return "" if known is None or value in known else ", ".join(map(str, known))


def is_taken(name: str, value: str | int) -> bool:
    """Whether onnxruntime takes `value` for an attribute `name` although no specification lists it."""
    taken = _TAKEN.get(name, frozenset())
    return taken is None or value in taken
