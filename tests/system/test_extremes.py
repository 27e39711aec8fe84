"""A small sample of the run on extreme values, and what its generator makes. The long form is `tests/fuzz/extremes.py`."""

from __future__ import annotations

from random import Random

import extremes
import helpers
import numpy as np
import pytest
from enumeration import Case, versions
from exhaustive import FINDINGS

SAMPLE = 6
"""Versions of operators, of each of which one model is tried."""
ALWAYS = [("Celu", 12), ("Clip", 6), ("Clip", 12), ("DynamicQuantizeLinear", 11), ("Dropout", 10), ("Range", 11), ("Shrink", 9)]
"""Versions that are tried besides, because extremes decide in their rules."""


def _case(text: str, opset: int, **feeds: np.ndarray) -> Case:
    proto = helpers.model(text, opset=opset)
    op_type = proto.graph.node[-1].op_type
    version = max(each for each in versions()[op_type] if each <= opset)
    schema = extremes.onnx.defs.get_schema(op_type, version, "")
    choice = {"sizes": ((4,),), **{f"attribute {name}": None for name in schema.attributes}}
    return Case(f"{op_type}-{version}:0", op_type, version, proto, feeds, choice)


def test_a_sample_is_right_or_refused():
    everything = [(name, version) for name, own in versions().items() for version in own if version >= 7]
    sampled = Random(1).sample(everything, SAMPLE) if helpers.known(24) else []  # the reference of old onnx misreads bfloat16
    chosen = [*ALWAYS, *sampled]
    findings = [finding for entry in chosen for finding in extremes.explore(*entry, seed=0, limit=1)]
    assert [finding for finding in findings if finding.outcome in FINDINGS] == []
    assert sum(finding.outcome == "converted" for finding in findings) > len(findings) / 3


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "uint64"])
def test_the_extremes_of_a_type_have_its_limits(name):
    found = extremes.extremes(np.dtype(name))
    limits = np.iinfo(name) if np.dtype(name).kind in "iu" else np.finfo(name)
    assert found.dtype == np.dtype(name)
    assert {limits.min, limits.max} <= set(found.tolist())
    if found.dtype.kind == "f":
        assert np.isnan(found).any()
        assert {np.inf, -np.inf, np.finfo(name).smallest_subnormal} <= set(found.tolist())


def test_each_extreme_is_alone_and_everywhere():
    case = _case("g (float[4] x0) => (float[4] y) {y = Relu(x0)}", 14, x0=np.array([1, 2, 3, 4], np.float32))
    counts = {int(np.isposinf(feeds["x0"]).sum()) for feeds in extremes.extreme_feeds(case, Random(0))}
    assert {0, 1, 4} <= counts


def test_initializers_and_attributes_become_extreme():
    case = _case("g () => (float[4] y) <float[4] x0 = {1, 2, 3, 4}> {y = Celu(x0)}", 12)
    assert any(np.isinf(_stored(made)).all() for made in extremes._with_constants(case, Random(0)))
    slopes = [made.model.graph.node[-1].attribute[0].f for made in extremes._with_attributes(case, Random(0))]
    assert {np.inf, -np.inf, 0.0, np.float32(1e-45)} <= set(slopes)


def _stored(case: Case) -> np.ndarray:
    return extremes.numpy_helper.to_array(case.model.graph.initializer[0])


def test_a_rule_that_errs_at_an_extreme_is_found(monkeypatch):
    """Relu is Softplus of large numbers."""
    right = extremes.convert_version

    def as_relu(model, target, **options):
        result = right(model, target, **options)
        node = result.model.graph.node[-1]
        node.op_type = "Relu"
        return result

    monkeypatch.setattr(extremes, "convert_version", as_relu)
    case = _case("g (float[4] x0) => (float[4] y) {y = Softplus(x0)}", 13, x0=np.array([40, 45, 50, 49], np.float32))
    with extremes.private_folder() as folder:
        feeds = list(extremes.extreme_feeds(case, Random(0)))
        usual = extremes._run_originals(case, [case.feeds], folder)
        extreme = extremes._run_originals(case, [case.feeds, *feeds], folder)
        assert extremes._convert_and_judge(usual, 18, folder)[0] == "converted"
        assert extremes._convert_and_judge(extreme, 18, folder)[0] == "wrong"
