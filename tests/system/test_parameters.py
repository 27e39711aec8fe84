"""A fixed sample of ONNX's node tests in functions whose attributes are parameters, and the harness itself."""

from __future__ import annotations

import onnx
import parameters
import pytest
from opset_matrix import Case, collect_cases
from parameters import LEFT_OUT, MUST_NOT_HAPPEN, UNSET, Trial, attributes_of, decide, model_of, run_jobs, sample, trials_of

TARGETS = tuple(opset for opset in range(7, 29) if opset <= onnx.defs.onnx_opset_version())


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return collect_cases()


@pytest.fixture
def leaky(cases: list[Case]) -> Case:
    return next(case for case in cases if case.name == "test_leakyrelu")


def without_parameters(proto: onnx.ModelProto, *_: object) -> onnx.ModelProto:
    """`proto` as it is understood by someone who takes a parameter for an absent attribute."""
    copy = onnx.ModelProto.FromString(proto.SerializeToString())
    for function in copy.functions:
        for node in function.node:
            kept = [attribute for attribute in node.attribute if not attribute.ref_attr_name]
            del node.attribute[:]
            node.attribute.extend(kept)
    return copy


def test_a_parameter_that_is_read_as_absent_is_found(monkeypatch, leaky):
    monkeypatch.setattr(parameters, "_convert", without_parameters)
    found = decide(leaky, Trial(leaky.name, "LeakyRelu", 0, "alpha", 15))
    assert found.outcome == "wrong"
    assert "y__given" in found.reason


def test_what_only_a_function_is_refused_for_is_found(monkeypatch, leaky):
    def refuse(proto: onnx.ModelProto, *_: object) -> onnx.ModelProto:
        if any(function.name == "default" for function in proto.functions):
            raise parameters.Refused("no defaults")
        return proto

    monkeypatch.setattr(parameters, "_convert", refuse)
    found = decide(leaky, Trial(leaky.name, "LeakyRelu", 0, "alpha", 15))
    assert (found.outcome, found.reason) == ("blamed", "default: no defaults")


def test_the_forms_of_a_parameter(leaky):
    proto = model_of(leaky, 0, "alpha")
    onnx.checker.check_model(proto, full_check=True)
    assert [value.name for value in proto.graph.output] == ["y", "y__given", "y__default", "y__overridden", "y__nested"]
    assert [function.name for function in proto.functions] == ["given", "default", "overridden", "nested", "outer"]


def test_the_places_of_parameters(cases, leaky):
    softmax = next(case for case in cases if case.name == "test_softmax_default_axis")
    assert [list(attributes_of(case)) for case in (leaky, softmax)] == [[(0, "alpha")], [(0, UNSET)]]


def test_the_inputs_that_a_call_leaves_out(cases):
    clip = next(case for case in cases if case.name == "test_clip_default_max")
    assert list(attributes_of(clip)) == [(0, LEFT_OUT)]
    proto = model_of(clip, 0, LEFT_OUT)
    assert [list(node.input) for node in proto.graph.node] == [["x", "", "max"], ["x", "", "max"]]
    assert [list(node.input) for node in proto.functions[0].node] == [["x", "missing_1", "max"]]


def test_a_sample_over_all_attributes_is_what_the_node_alone_is(cases):
    jobs = sample(trials_of(cases, TARGETS), 160)
    done = [trial for trials in run_jobs(jobs, workers=2) for trial in trials]
    assert [trial for trial in done if trial.outcome in MUST_NOT_HAPPEN] == []
    assert sum(trial.outcome == "ok" for trial in done) > len(done) / 2
