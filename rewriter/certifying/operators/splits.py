"""Split in all its versions: https://onnx.ai/onnx/operators/onnx__Split.html."""

from __future__ import annotations

from .. import terms
from ..calls import Call, NotModelledError, models
from ..tensors import Tensor
from ..terms import Whole


@models("Split")
def split(call: Call) -> list[Tensor]:
    """The parts, of sizes that an attribute or an input states, or of equal ones; from opset 18 on, the last may be smaller."""
    tensor = call.tensor(0)
    axis = call.axis(call.attr("axis", 0), tensor.rank)
    sizes = _sizes(call, tensor.dims[axis])
    call.require(len(sizes) == call.outputs, "that there are as many sizes as outputs")
    return parts(tensor, axis, sizes)


def _sizes(call: Call, length: Whole) -> list[Whole]:
    count = call.attr("num_outputs", call.outputs)
    stated = call.attr("split")
    if call.has(1):
        if call.attr("num_outputs") is not None:
            raise NotModelledError("it has both sizes and a number of parts, which runtimes refuse")
        stated = call.entries(1)
    if stated is not None:
        call.require(terms.every(terms.is_most(0, size) for size in stated), "that no size of a part is negative")
        call.require(terms.equal(terms.total(stated), length), "that the sizes of the parts have the right sum")
        return list(stated)
    if call.opset < 18:
        call.require(terms.equal(terms.remainder(length, count), 0), f"that an axis divides into {count} parts")
        return [terms.floor(length, count)] * count
    if call.attr("num_outputs") is None:
        raise NotModelledError("nothing states the sizes or the number of the parts")
    size = terms.ceiling(length, count)
    last = terms.simplified(length - size * (count - 1))
    call.require(terms.is_most(0, last), f"that an axis is long enough for {count} parts")
    return [size] * (count - 1) + [last]


def parts(tensor: Tensor, axis: int, sizes: list[Whole]) -> list[Tensor]:
    """The parts of `tensor` along `axis`, one behind the other."""
    found: list[Tensor] = []
    start: Whole = 0
    for size in sizes:
        found.append(cut(tensor, axis, start, size))
        start = terms.simplified(start + size)
    return found


def cut(tensor: Tensor, axis: int, start: Whole, size: Whole) -> Tensor:
    """The part of `tensor` along `axis` that begins at `start` and has the length `size`."""
    dims = (*tensor.dims[:axis], size, *tensor.dims[axis + 1 :])

    def at(index: tuple[Whole, ...]) -> object:
        return tensor.at((*index[:axis], terms.simplified(index[axis] + start), *index[axis + 1 :]))

    return Tensor(tensor.elem_type, dims, at, is_sized=tensor.is_sized)
