"""Conditions of defects read attributes, inputs and constants of a node right."""

from __future__ import annotations

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.opsets.cases import Case, Values, default_domain_nodes

pytestmark = pytest.mark.quick


def test_a_case_reads_attributes_inputs_and_constants() -> None:
    proto = model(
        'g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {d = Constant<value_int = 3>()\n y = Pad<mode = "edge">(x, d, c)}', 13
    )
    _, (node, opset) = default_domain_nodes(proto)
    case = Case(node, opset, Values(proto))
    assert (case.text("mode"), case.text("way"), case.states("mode"), case.number("axis", 7)) == (b"edge", b"", True, 7)
    assert (case.has_input(2), case.has_input(3), case.has_output(0), case.numbers("axes"), case.opset) == (
        True,
        False,
        True,
        [],
        13,
    )
    assert [array.tolist() for array in case.constants(1, lambda _: True)] == [3, [1, 2]]
    assert list(case.constants(2, lambda tensor: tensor.data_type == onnx.TensorProto.INT64)) == []
