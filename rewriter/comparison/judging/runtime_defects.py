"""Lists nodes whose results prove nothing: random ones, and those that a runtime computes wrongly or crashes on.

Without these lists, a comparison would call a right result wrong, or a wrong one equal. Each row was observed in the runtime that
it names. A row is removed when the oldest supported release of that runtime no longer has the defect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

from ...opsets.folding import constant_value

_RANDOM = frozenset({"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"})
"""Operators that draw random numbers."""


def _has_unnamed_outputs(node: onnx.NodeProto, _opset: int) -> bool:
    return "" in node.output


def _counts_named_outputs(node: onnx.NodeProto, _opset: int) -> bool:
    return _attribute(node, "num_outputs", len(node.output)) != len(node.output)


def _ignored_keepdims(node: onnx.NodeProto, _opset: int) -> bool:
    return len(node.input) > 1 and node.input[1] != "" and _attribute(node, "keepdims", 1) == 0


def _has_axes_input(node: onnx.NodeProto, _opset: int) -> bool:
    return len(node.input) > 1


def _has_element(node: onnx.NodeProto, _opset: int) -> bool:
    return any(node.input)


def _has_position(node: onnx.NodeProto, _opset: int) -> bool:
    return len(node.input) > 2 and node.input[2] != ""


def _always(_node: onnx.NodeProto, _opset: int) -> bool:
    return True


def _pads_with_the_default(node: onnx.NodeProto, _opset: int) -> bool:
    return len(node.input) < 3 or node.input[2] == ""


def _never(_node: onnx.NodeProto, _opset: int) -> bool:
    return False


def _below(opset: int) -> Callable[[onnx.NodeProto, int], bool]:
    return lambda _node, declared: declared < opset


def _from(opset: int) -> Callable[[onnx.NodeProto, int], bool]:
    return lambda _node, declared: declared >= opset


def _flattens(node: onnx.NodeProto, opset: int) -> bool:
    return opset < 13 and _attribute(node, "axis", 1) != -1


def _broadcasts_from_axis(node: onnx.NodeProto, opset: int) -> bool:
    return opset < 7 and any(attribute.name == "axis" for attribute in node.attribute)


def _adds_without_broadcast(node: onnx.NodeProto, opset: int) -> bool:
    return opset < 7 and _attribute(node, "broadcast", 0) == 0


def _has_scan_outputs(node: onnx.NodeProto, _opset: int) -> bool:
    return len(node.output) > max(len(node.input) - 2, 0)


def _collects_copies_of_strings(node: onnx.NodeProto, _opset: int) -> bool:
    body = next((attribute.g for attribute in node.attribute if attribute.name == "body"), onnx.GraphProto())
    copies = {inner.output[0] for inner in body.node if inner.op_type == "Identity"}
    collected = body.output[1 + max(len(node.input) - 2, 0) :]
    return any(value.name in copies and value.type.tensor_type.elem_type == onnx.TensorProto.STRING for value in collected)


def _counts_padding(node: onnx.NodeProto, opset: int) -> bool:
    return opset < 7 or _rounds_up(node, opset)


def _rounds_up(node: onnx.NodeProto, _opset: int) -> bool:
    return _attribute(node, "ceil_mode", 0) != 0


def _pads_in_its_own_way(node: onnx.NodeProto, opset: int) -> bool:
    lists = {attribute.name: list(attribute.ints) for attribute in node.attribute}
    auto_pad = next((attribute.s for attribute in node.attribute if attribute.name == "auto_pad"), b"NOTSET")
    is_dilated = any(size != 1 for size in lists.get("dilations", ()))
    if auto_pad != b"NOTSET":
        return {b"SAME_UPPER": is_dilated, b"VALID": _rounds_up(node, opset)}.get(auto_pad, True)
    if is_dilated or any(size != 1 for size in lists.get("strides", ())):
        return False
    pads = lists.get("pads", [])
    half = len(pads) // 2
    return pads[:half] != pads[half:] or (any(pads) and _rounds_up(node, opset))


def _needs_the_length(node: onnx.NodeProto, _opset: int) -> bool:
    by_sizes = len(node.input) > 3 and node.input[3] != ""
    return not by_sizes and any(attribute.s in (b"pytorch_half_pixel", b"align_corners") for attribute in node.attribute)


def _puts_axes_one_by_one(node: onnx.NodeProto, opset: int) -> bool:
    axes = next((list(attribute.ints) for attribute in node.attribute if attribute.name == "axes"), [])
    return opset < 13 and (axes != sorted(axes) or min(axes, default=0) < 0)


def _is_cubic_with_a_border(node: onnx.NodeProto, _opset: int) -> bool:
    words = {attribute.name: attribute.s for attribute in node.attribute}
    return words.get("mode") in (b"cubic", b"bicubic") and words.get("padding_mode") == b"border"


def _has_lengths(node: onnx.NodeProto, _opset: int) -> bool:
    return len(node.input) > 4 and node.input[4] != ""


def _clips(node: onnx.NodeProto, _opset: int) -> bool:
    return any(attribute.name == "clip" for attribute in node.attribute)


def _gives_indices(node: onnx.NodeProto, _opset: int) -> bool:
    return len(node.output) > 1 and node.output[1] != ""


def _is_dilated_and_padded(node: onnx.NodeProto, _opset: int) -> bool:
    words = {attribute.name: attribute.s for attribute in node.attribute}
    sizes = (size for attribute in node.attribute if attribute.name == "dilations" for size in attribute.ints)
    return words.get("auto_pad", b"").startswith(b"SAME") and any(size != 1 for size in sizes)


def _gives_scores_below_a_cap(node: onnx.NodeProto, _opset: int) -> bool:
    asks = len(node.output) > 3 and node.output[3] != "" and _attribute(node, "qk_matmul_output_mode", 0) == 0
    return asks and any(attribute.name == "softcap" and attribute.f > 0 for attribute in node.attribute)


def _gives_masked_scores(node: onnx.NodeProto, opset: int) -> bool:
    gives = len(node.output) > 3 and node.output[3] != "" and _attribute(node, "qk_matmul_output_mode", 0) in (1, 2)
    masks = _attribute(node, "is_causal", 0) != 0 or (len(node.input) > 3 and node.input[3] != "")
    return opset < 25 and gives and masks


def _pads_whole_windows(node: onnx.NodeProto, _opset: int) -> bool:
    lists = {attribute.name: list(attribute.ints) for attribute in node.attribute}
    kernel, pads = lists.get("kernel_shape", []), lists.get("pads", [])
    return any(pad >= size for pad, size in zip(pads, 2 * kernel, strict=False))


def _either(*conditions: Callable[[onnx.NodeProto, int], bool]) -> Callable[[onnx.NodeProto, int], bool]:
    return lambda node, opset: any(condition(node, opset) for condition in conditions)


def _is_unsorted(node: onnx.NodeProto, _opset: int) -> bool:
    return _attribute(node, "sorted", 1) == 0


def _takes_odd_powers(node: onnx.NodeProto, _opset: int) -> bool:
    return _attribute(node, "p", 2) % 2 == 1


def _casts_in_its_own_way(node: onnx.NodeProto, _opset: int) -> bool:
    to = _attribute(node, "to", 0)
    return to in _WITH_FEW_BITS or (to in _WITH_OVERFLOW and _attribute(node, "saturate", 1) == 0)


_WITH_FEW_BITS = (21, 22, 25, 26)  # uint4, int4, uint2, int2, by number: old releases of onnx lack some of the names
_WITH_OVERFLOW = (onnx.TensorProto.FLOAT8E4M3FN, onnx.TensorProto.FLOAT8E5M2)
_Defect = tuple[Callable[[onnx.NodeProto, int], bool], str]
"""A condition on a node and its opset, and what the runtime does wrong where it holds."""
_LEGACY_BROADCAST = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
_DEFECTS: dict[str, dict[str, _Defect]] = {
    "onnxruntime": {
        "Split": (_has_unnamed_outputs, "crashes on a Split whose outputs are not all named"),
        "MeanVarianceNormalization": (_always, "gives NaN where MeanVarianceNormalization gives 0"),
        **dict.fromkeys(("ReduceLogSum", "ReduceLogSumExp"), (_from(28), "has no kernel for {op} 28, whose body overflows")),
        "Attention": (
            _gives_masked_scores,
            "gives the lowest number for the scores that Attention below opset 25 masks, which are -inf",
        ),
        "Loop": (_collects_copies_of_strings, "gives empty strings for those that an Identity in a Loop copies to a scan output"),
    },
    "onnx.reference": {
        **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), (_flattens, "does not flatten the input of {op} below opset 13")),
        **dict.fromkeys(_LEGACY_BROADCAST, (_broadcasts_from_axis, "ignores the axis of {op} below opset 7")),
        "PRelu": (_below(7), "broadcasts the slope of PRelu below opset 7 to the last axis"),
        "Selu": (_below(6), "uses the defaults of Selu 6 below opset 6"),
        "RoiAlign": (_below(16), "samples RoiAlign below opset 16 at half pixels"),
        "BatchNormalization": (_below(14), "trains where BatchNormalization below opset 14 does not"),
        "Scan": (_below(9), "does not know the batches of Scan below opset 9"),
        "Loop": (_has_scan_outputs, "puts the scan outputs of Loop behind each other along a dimension that is there"),
        "Gemm": (_adds_without_broadcast, "ignores beta of Gemm below opset 7"),
        "AveragePool": (
            _either(_counts_padding, _pads_whole_windows),
            "counts the padding of AveragePool below opset 7, and puts that of ceil_mode in front",
        ),
        "LpPool": (_rounds_up, "takes more for the sum of a window of LpPool that reaches beyond the input"),
        "MaxPool": (
            _either(_pads_in_its_own_way, _pads_whole_windows, _gives_indices),
            "pads this MaxPool, or counts its positions, in its own way",
        ),
        "LRN": (_always, "normalizes as many channels as there are images in LRN, and no others"),
        "StringNormalizer": (_always, "removes accents in StringNormalizer"),
        "GlobalMaxPool": (_always, "takes what GlobalMaxPool pools to be an image"),
        "GridSample": (_is_cubic_with_a_border, "moves a position of a cubic GridSample into the image, and not its neighbours"),
        "Unsqueeze": (_puts_axes_one_by_one, "puts in the axes of Unsqueeze below opset 13 one by one"),
        **dict.fromkeys(("QLinearMatMul", "QLinearConv"), (_always, "rounds in {op} after it has added the zero point")),
        **dict.fromkeys(("RNN", "GRU", "LSTM"), (_either(_has_lengths, _clips), "ignores lengths and clip of {op}")),
        "LpNormalization": (_takes_odd_powers, "takes negative numbers for the norm of LpNormalization with their sign"),
        "Attention": (_gives_scores_below_a_cap, "caps the scores that Attention gives, which are those before the cap"),
        "Unique": (_is_unsorted, "sorts what Unique gives in the order of the input, or takes rows of it"),
        "Optional": (_has_element, "gives a sequence for the element of an Optional"),
        "SequenceInsert": (_has_position, "inserts at the front of the sequence where SequenceInsert says at its end"),
    },
}
"""The defects of each runtime: runtime → operator → defect."""


_DISPUTED: dict[str, _Defect] = {
    "Split": (_counts_named_outputs, "makes as many parts of a Split as are named, or fails, where num_outputs says more"),
    "Cast": (_casts_in_its_own_way, "rounds, or treats what is too large, in its own way in a Cast to a narrow type"),
    "Squeeze": (_has_axes_input, "removes all dimensions of 1 in a Squeeze with empty axes"),
    "SplitToSequence": (_ignored_keepdims, "obeys keepdims=0 of a SplitToSequence that has a split input"),
    "Resize": (_needs_the_length, "rounds the length down by which the coordinates of this Resize go"),
    "AveragePool": (_is_dilated_and_padded, "pads this AveragePool as if it were not dilated"),
    "MaxUnpool": (_has_position, "takes the indices of a MaxUnpool with output_shape for positions in its output"),
}
"""Nodes that onnxruntime computes differently from the specification. `Model.semantics` says which meaning counts."""


_STRING, _DOUBLE = onnx.TensorProto.STRING, onnx.TensorProto.DOUBLE
_LARGE_INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.UINT32, onnx.TensorProto.UINT64)
_FLOAT16, _BFLOAT16 = onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16
_IN_HALF = "divides half precision in half precision in QuantizeLinear below opset 23"
_DEFECTS_OF_TYPES: tuple[tuple[str, int, str, Callable[[onnx.NodeProto, int], bool], str], ...] = (
    ("onnxruntime", _STRING, "Gather", _always, "may copy but the first string of each slice that Gather takes"),
    ("onnxruntime", _FLOAT16, "ReduceLogSumExp", _from(18), "computes ReduceLogSumExp of float16 by a body that overflows"),
    ("onnxruntime", _BFLOAT16, "ReduceLogSumExp", _from(18), "computes ReduceLogSumExp of bfloat16 by a body that overflows"),
    ("onnxruntime", _DOUBLE, "Shrink", _always, "rounds doubles to float in Shrink"),
    *(("onnxruntime", kind, "Shrink", _always, "rounds integers to float in Shrink") for kind in _LARGE_INTEGERS),
    ("onnx.reference", _STRING, "Pad", _pads_with_the_default, "pads strings with a 0"),
    ("onnx.reference", _STRING, "CenterCropPad", _always, "pads strings with a 0"),
    ("onnx.reference", _FLOAT16, "QuantizeLinear", _below(23), _IN_HALF),
    ("onnx.reference", _BFLOAT16, "QuantizeLinear", _below(23), _IN_HALF),
)
"""Defects that depend on a type: runtime, element type in the model, operator, condition on the node, and
what the runtime does wrong.
"""
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_LAX: dict[str, _Defect] = {
    **{f"Reduce{name}": (_always, "reduces over an axis that is given twice") for name in _REDUCTIONS},
    "Squeeze": (_has_axes_input, "drops an axis that is given twice"),
    "Compress": (_always, "takes a condition longer than the axis"),
    "Pow": (_always, "computes powers of integers beyond their type"),
    "GatherND": (_always, "takes one batch of data for many of indices"),
    "Loop": (_has_scan_outputs, "makes up a shape for what is collected in no turn"),
}
"""Nodes that onnxruntime accepts although the specification forbids them; onnx.reference does not accept them."""


def lax_operator(model: onnx.ModelProto) -> str:
    """What onnxruntime accepts at the first node that the specification forbids; "" where there is none."""
    found = _first_of(model, _LAX)
    return found and f"onnxruntime {found}"


def disputed_node(model: onnx.ModelProto) -> str:
    """What onnxruntime does at the first node that it computes differently from the specification; "" where there is none."""
    return _first_of(model, _DISPUTED)


def _first_of(model: onnx.ModelProto, defects: Mapping[str, _Defect]) -> str:
    """The text of the first of `defects` that applies to a node, and the name of that node; "" where none applies."""
    for node, opset in default_domain_nodes(model):
        applies, text = defects.get(node.op_type, (_never, ""))
        if applies(node, opset):
            return f"{text} ({_title(node)})"
    return ""


class Doubt(NamedTuple):
    """Why onnxruntime may give other numbers for another graph that computes the same.

    `of_same_nodes`: this holds even if the first difference is made by nodes that are the same in both models, from equal inputs.
    """

    reason: str
    of_same_nodes: bool


def doubt(model: onnx.ModelProto) -> Doubt | None:
    """The reason why onnxruntime may give other numbers for another graph; None where there is none."""
    if onnx.TensorProto.FLOAT16 in _element_types(model):
        return Doubt("rounds to float16 between some nodes and not between others", True)
    transform = next((_title(node) for node, _ in default_domain_nodes(model) if node.op_type in ("DFT", "STFT")), "")
    return Doubt(f"transforms lengths that are no power of two to four digits ({transform})", False) if transform else None


def random_operator(model: onnx.ModelProto) -> str:
    """The first node that draws random numbers, as "RandomNormal 'noise'"; "" where there is none.

    A seed does not help, because the operators define no generator. Dropout is not listed: it is random only in training mode,
    which may depend on an input.
    """
    return next((_title(node) for node, _ in default_domain_nodes(model) if node.op_type in _RANDOM), "")


def known_defects(model: onnx.ModelProto) -> dict[str, str]:
    """The runtimes ("onnxruntime", "onnx.reference") that cannot be trusted on this model, each with the reason."""
    found: dict[str, str] = {}
    for node, opset in default_domain_nodes(model):
        for runtime, by_operator in _DEFECTS.items():
            if runtime in found or node.op_type not in by_operator:
                continue
            applies, text = by_operator[node.op_type]
            if applies(node, opset):
                found[runtime] = f"{text.format(op=node.op_type)} ({_title(node)})"
    types = _element_types(model)
    for runtime, elem_type, op_type, applies, text in _DEFECTS_OF_TYPES:
        if elem_type not in types:
            continue
        nodes = (node for node, opset in default_domain_nodes(model) if node.op_type == op_type and applies(node, opset))
        if runtime not in found and (node := next(nodes, None)) is not None:
            found[runtime] = f"{text} ({_title(node)})"
    if "onnxruntime" not in found and (title := _comparison_by_halves(model)):
        found["onnxruntime"] = f"takes the lower halves of large int64 for signed numbers ({title})"
    if "onnx.reference" not in found and (title := _one_hot_by_sums(model)):
        found["onnx.reference"] = f"adds the difference of the two values of OneHot to one of them, which rounds ({title})"
    if "onnx.reference" not in found and (title := _left_out_beside_unnamed(model)):
        found["onnx.reference"] = f"reads what an output without a name gave where an input is left out ({title})"
    return found


def _left_out_beside_unnamed(model: onnx.ModelProto) -> str:
    """The first node without an optional input, in a model with a node that has an unnamed output; "" where there is none."""
    nodes = [node for node, _ in default_domain_nodes(model) if "" in node.output or "" in node.input]
    if not any("" in node.output for node in nodes):
        return ""
    return next((_title(node) for node in nodes if "" in node.input), "")


def _one_hot_by_sums(model: onnx.ModelProto) -> str:
    """The first OneHot for whose two values it is not known that off + (on - off) gives `on` exactly; "" where there is none."""
    nodes = [node for node, _ in default_domain_nodes(model) if node.op_type == "OneHot"]
    exact = {name for name, array in _constants(model, _stored_pair) if _adds_up(array)} if nodes else set()
    return next((_title(node) for node in nodes if exact.isdisjoint(node.input[2:])), "")


def _adds_up(values: np.ndarray) -> bool:
    """Whether these are two values, off and on, for which off + (on - off) is exactly on."""
    if values.shape != (2,) or values.dtype.kind not in "iuf":
        return False
    with np.errstate(all="ignore"):
        off, on = values
        return bool(off + (on - off) == on)


def _comparison_by_halves(model: onnx.ModelProto) -> str:
    """The first Clip, Max or Min with an int64 constant of 2^31 or more, other than the smallest and
    largest int64; "" where there is none.
    """
    nodes = [node for node, _ in default_domain_nodes(model) if node.op_type in ("Clip", "Max", "Min")]
    large = {name for name, array in _constants(model, _stored_int64) if _is_large(array)} if nodes else set()
    return next((_title(node) for node in nodes if not large.isdisjoint(node.input)), "")


def _is_large(array: np.ndarray) -> bool:
    """Whether the array is int64 and contains such a number."""
    ends = np.iinfo(np.int64)
    if array.dtype != np.int64:
        return False
    is_large = (array >= 2**31) | (array < -(2**31))
    return bool((is_large & (array != ends.max) & (array != ends.min)).any())


def _constants(model: onnx.ModelProto, stored: Callable[[onnx.TensorProto], np.ndarray | None]) -> Iterator[tuple[str, np.ndarray]]:
    """Names and values of initializers of the main graph and of Constants anywhere. `stored` reads the tensors."""
    for tensor in model.graph.initializer:
        if (array := stored(tensor)) is not None:
            yield tensor.name, array
    for node, _ in default_domain_nodes(model):
        if node.op_type == "Constant" and (array := constant_value(node, stored)) is not None:
            yield node.output[0], array


def _stored_int64(tensor: onnx.TensorProto) -> np.ndarray | None:
    return _stored(tensor) if tensor.data_type == onnx.TensorProto.INT64 else None


def _stored_pair(tensor: onnx.TensorProto) -> np.ndarray | None:
    return _stored(tensor) if list(tensor.dims) == [2] else None


def _stored(tensor: onnx.TensorProto) -> np.ndarray | None:
    """The value of a tensor that is stored in the model file itself; None for others."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return None
    try:
        return numpy_helper.to_array(tensor)
    except ValueError:  # data that does not fit its shape: the runtimes say so
        return None


def _element_types(model: onnx.ModelProto) -> set[int]:
    """The element types of inputs, outputs, casts and constants of the main graph. Other values are not looked at."""
    graph = model.graph
    types = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
    types |= {tensor.data_type for tensor in graph.initializer}
    return types | {_attribute(node, "to", 0) for node in graph.node if node.op_type == "Cast"}


def default_domain_nodes(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, int]]:
    """Every node of the default domain, also in subgraphs and functions, with the opset of its form."""
    bodies = [(model.graph.node, _opset(model))]
    bodies += [(function.node, _opset(function)) for function in model.functions]
    while bodies:
        nodes, opset = bodies.pop()
        for node in nodes:
            if node.domain in ("", "ai.onnx"):
                yield node, opset
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    bodies.append((attribute.g.node, opset))
                bodies += [(graph.node, opset) for graph in attribute.graphs]


def _opset(owner: onnx.ModelProto | onnx.FunctionProto) -> int:
    return next((entry.version for entry in owner.opset_import if entry.domain in ("", "ai.onnx")), 1)


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)


def _title(node: onnx.NodeProto) -> str:
    """How messages name the node."""
    return f"{node.op_type} '{node.name or next((name for name in node.output if name), '')}'"
