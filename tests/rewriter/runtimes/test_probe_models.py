"""The models that probe a runtime: valid ones, for each form that a rule avoids."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from split_rewrite.rewriter.runtimes.probe_models import Probe, probes

PROBES = list(probes())


def test_each_probe_is_asked_once() -> None:
    asked = [(probe.form, probe.about, probe.model.SerializeToString(deterministic=True)) for probe in PROBES]
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("about", [9, 13])
def test_opsets_and_ir_versions_are_probed_by_an_addition(about: int) -> None:
    (probe,) = [probe for probe in PROBES if probe.form == "opset" and probe.about == about]
    onnx.checker.check_model(probe.model, full_check=True)
    assert probe.model.opset_import[0].version == about


def test_inputs_have_the_types_and_shapes_of_the_model() -> None:
    graph = onnx.parser.parse_graph("g (float[2,3] x, bool[4] c, int64[2] i) => (float[2,3] y) { y = Relu (x) }")
    floats, conditions, integers = Probe("form", "Relu", onnx.helper.make_model(graph)).inputs()
    assert (floats.shape, floats.dtype) == ((2, 3), np.float32) and (floats < 0).any() and (floats % 1 != 0).any()
    assert conditions.tolist() == [True, False, False, True] and integers.dtype == np.int64
