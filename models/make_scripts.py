"""Make the small graphs of this folder that are written in ONNX Script:

    python models/make_scripts.py

Each function becomes a file of its name.
"""

from pathlib import Path

import onnx
from onnxscript import BOOL, FLOAT, OnnxFunction, script
from onnxscript import opset13 as op13
from onnxscript import opset18 as op18
from onnxscript.values import Opset

HERE = Path(__file__).parent
LOCAL = Opset("split_rewrite.models", 1)

Rows3, Rows4, Rows5, Rows6, Rows7 = (FLOAT["rows", width] for width in (3, 4, 5, 6, 7))


@script(default_opset=op13)
def equal_parts_opset13(x: Rows6) -> Rows3:
    """A Split without sizes, from both ends of the axes."""
    left, right = op13.Split(x, axis=-1)
    return left - right


@script(default_opset=op13)
def uneven_sizes_opset13(x: Rows7) -> Rows7:
    """Sizes of 2 and 5 from a Constant."""
    short, long = op13.Split(x, op13.Constant(value_ints=[2, 5]), axis=1)
    return op13.Concat(long, short, axis=1)


@script(default_opset=op18)
def num_outputs_opset18(x: Rows7) -> Rows7:
    """num_outputs=3 of a dimension of 7: parts of 3, 3 and 1."""
    first, second, last = op18.Split(x, axis=1, num_outputs=3)
    return op18.Concat(last, second, first, axis=1)


@script(default_opset=op18)
def num_outputs_unknown_opset18(x: Rows4) -> Rows4:
    """num_outputs=3 of a dimension that only the input decides."""
    first, second, last = op18.Split(x, axis=0, num_outputs=3)
    return op18.Concat(last, second, first, axis=0)


@script(default_opset=op18)
def sequence_opset18(x: Rows7) -> Rows7:
    """A sequence with known elements, one of them taken twice."""
    parts = op18.SplitToSequence(x, op18.Constant(value_int=3), axis=1)
    first = op18.SequenceAt(parts, op18.Constant(value_int=0))
    last = op18.SequenceAt(parts, op18.Constant(value_int=-1))
    return op18.Concat(last, first, op18.Neg(first), axis=1)


@script(default_opset=op18)
def captured_sizes_opset18(x: Rows5, swap: BOOL) -> Rows5:
    """Both branches of an If split by the same sizes, which they take from the main graph."""
    sizes = op18.Constant(value_ints=[2, 3])
    if swap:
        a, b = op18.Split(x, sizes, axis=1)
        y = op18.Concat(b, a, axis=1)
    else:
        c, d = op18.Split(x, sizes, axis=1)
        y = op18.Concat(op18.Neg(c), d, axis=1)
    return y


@script(LOCAL, default_opset=op18)
def swap_halves(x):
    left, right = op18.Split(x, axis=1, num_outputs=2)
    return op18.Concat(right, left, axis=1)


@script(default_opset=op18)
def function_opset18(x: Rows6) -> Rows6:
    """A model-local function that is called twice."""
    return swap_halves(op18.Relu(swap_halves(x)))


GRAPHS: tuple[OnnxFunction, ...] = (
    equal_parts_opset13,
    uneven_sizes_opset13,
    num_outputs_opset18,
    num_outputs_unknown_opset18,
    sequence_opset18,
    captured_sizes_opset18,
    function_opset18,
)


def main() -> None:
    for graph in GRAPHS:
        model = graph.to_model_proto()
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, HERE / f"{graph.name}.onnx")


if __name__ == "__main__":
    main()
