"""The reviewed table against the installed onnx, and the registered rules against the table."""

import pytest

from split_rewrite import rules  # noqa: F401 - registers every rule
from split_rewrite.rewriter.engine.registry import registry
from split_rewrite.rewriter.opsets import transitions
from split_rewrite.rewriter.opsets.transitions import Transition, newest_opset, schema_at

pytestmark = pytest.mark.quick

NEWEST_REVIEWED = 28
CODES = {"up": {"R", "A", "H", "H*", "C"}, "down": {"R", "T", "G", "A", "N", "V", "H", "H*", "-"}}
NEEDS_A_RULE = {"H", "V", "N", "C"}

REVIEWED = [Transition(op_type, newer, None, up) for op_type, newer in sorted(transitions._reviewed()) for up in (True, False)]
INSTALLED = [step for step in REVIEWED if step.newer <= newest_opset() and schema_at(step.op_type, step.newer) is not None]


def test_every_transition_of_the_installed_onnx_has_been_reviewed():
    """A new onnx release fails here, with the transitions that somebody has to read."""
    assert transitions.unreviewed(newest_opset()) == []


def test_the_reviewed_table_has_nothing_that_onnx_has_not():
    """Each entry up to the installed onnx's newest opset is the first opset of a new version of the operator."""
    for step in REVIEWED:
        if step.newer <= newest_opset():
            schema, older = schema_at(step.op_type, step.newer), schema_at(step.op_type, step.newer - 1)
            assert schema is not None and older is not None and schema.since_version == step.newer, f"{step.op_type} {step}"


def test_nothing_is_reviewed_beyond_the_opset_that_was_read():
    assert max(step.newer for step in REVIEWED) <= NEWEST_REVIEWED


def test_a_transition_that_nobody_has_read_is_named(monkeypatch):
    known = {key: codes for key, codes in transitions._reviewed().items() if key != ("Split", 18)}
    monkeypatch.setattr(transitions, "_reviewed", lambda: known)
    assert transitions.unreviewed(18) == ["Split 17→18"]


def test_the_codes_are_those_that_the_table_explains():
    for step in REVIEWED:
        assert step.review in CODES["up" if step.up else "down"], f"{step.op_type} {step}: {step.review}"


def test_every_transition_that_needs_a_rule_has_one():
    """Down from a version that only deprecates there is no way: such a node is never made."""
    missing = [
        f"{step.op_type} {step}"
        for step in INSTALLED
        if step.review in NEEDS_A_RULE and registry.transition(step.op_type, step.newer, step.up) is None
    ]
    assert missing == []


def test_every_rule_belongs_to_a_transition_or_an_operator():
    """A rule that names a version that does not exist would never run."""
    known = transitions._reviewed()
    for rule in registry:
        if rule.kind in ("upgrade", "downgrade"):
            assert (rule.op_type, rule.version) in known, rule.name
            code = known[rule.op_type, rule.version][0 if rule.kind == "upgrade" else 1]
            assert code != "-", f"{rule.name}: there is no such step"


def test_the_chain_of_an_operator_has_each_of_its_versions():
    assert [str(step) for step in transitions.path("Split", 1, 18)] == ["1→2", "10→11", "12→13", "17→18"]
    assert [str(step) for step in transitions.path("Split", 18, 10)] == ["18→17", "13→12", "11→10"]
    assert transitions.path("Split", 13, 17) == ()
