"""Conv and ConvTranspose: cautions about automatic padding across opset 11."""

import pytest
from helpers import convert_version, model

from split_rewrite.rewriter import UnconvertibleError
from split_rewrite.rewriter.conversion.options import Options


def conv(op, attributes):
    return f"g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[A,B,C,D] y) {{ y = {op} <{attributes}> (x, w) }}"


def cautions(text, source, target):
    report = convert_version(model(text, source), target).report
    return [remark.message for remark in report.remarks if remark.kind == "warning"]


CAUTIONS = [
    pytest.param("Conv", 'auto_pad="SAME_UPPER", strides=[2,2]', "leaves open how long the output is", id="a stride"),
    pytest.param("Conv", 'auto_pad="SAME_LOWER", strides=[1,2]', "leaves open how long the output is", id="one stride"),
    pytest.param(
        "ConvTranspose", 'auto_pad="SAME_UPPER", strides=[2,2]', "puts the odd element on the other side", id="3 - 2 is odd"
    ),
    pytest.param("ConvTranspose", 'auto_pad="SAME_LOWER", output_shape=[5,5]', "puts the odd element", id="an output shape"),
]
NONE = [
    pytest.param("Conv", "strides=[2,2]", id="no padding"),
    pytest.param("Conv", "pads=[1,1,1,1], strides=[2,2]", id="explicit padding"),
    pytest.param("Conv", 'auto_pad="SAME_UPPER"', id="no stride"),
    pytest.param("Conv", 'auto_pad="VALID", strides=[2,2]', id="valid"),
    pytest.param("ConvTranspose", 'auto_pad="SAME_UPPER"', id="3 - 1 is even"),
    pytest.param("ConvTranspose", "pads=[1,1,1,1], strides=[2,2]", id="explicit padding, transposed"),
]


@pytest.mark.parametrize("source, target", [(10, 11), (11, 10)])
@pytest.mark.parametrize("op, attributes, message", CAUTIONS)
def test_a_caution_both_ways(op, attributes, message, source, target):
    (found,) = cautions(conv(op, attributes), source, target)
    assert message in found


@pytest.mark.parametrize("source, target", [(10, 11), (11, 10)])
@pytest.mark.parametrize("op, attributes", NONE)
def test_no_caution(op, attributes, source, target):
    assert cautions(conv(op, attributes), source, target) == []


def test_strict_makes_it_an_error():
    proto = model(conv("Conv", 'auto_pad="SAME_UPPER", strides=[2,2]'), 11)
    with pytest.raises(UnconvertibleError, match="without --strict this is a warning"):
        convert_version(proto, 10, options=Options(strict=True))
