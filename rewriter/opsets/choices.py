"""The values that the specification lists for attributes that are a choice between words, such as `mode` of Resize.

ONNX's schemas only say that such an attribute is a string, so onnx.checker accepts any word. The words here are those of all
versions of an operator, from https://onnx.ai/onnx/operators/. That an older version has fewer of them is handled by rules.
"""

from __future__ import annotations

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

CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    **{
        (op_type, "auto_pad"): _AUTO_PAD for op_type in ("AveragePool", "Conv", "ConvInteger", "ConvTranspose", "LpPool", "MaxPool")
    },
    **{(op_type, "direction"): _DIRECTION for op_type in ("GRU", "LSTM", "RNN")},
    **{(op_type, "reduction"): _LOSS for op_type in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
    **{(op_type, "reduction"): _SCATTER for op_type in ("ScatterElements", "ScatterND")},
    **{(op_type, "mode"): _SPACE_DEPTH for op_type in ("DepthToSpace", "SpaceToDepth")},
    **{(op_type, "round_mode"): _UP_OR_DOWN for op_type in ("Cast", "CastLike")},
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
"""The words for each operator and attribute.

Attributes that are not listed may be any text, such as the pattern of RegexFullMatch.
"""
