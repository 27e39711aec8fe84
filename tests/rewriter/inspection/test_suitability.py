"""Which runtimes take a model: what refuses it comes first."""

from __future__ import annotations

from helpers import model

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version
from split_rewrite.rewriter.inspection.inspecting import inspect_model

CHOICE = """g (bool c, float[2] x) => (float[2] y) {
    y = If(c) <then_branch = one () => (float[2] a) { a = Relu(x) }, else_branch = other () => (float[2] b) { b = Neg(x) }>
}"""
ROUND = "g (float[2] x) => (float[2] y) { y = Round(x) }"


def test_each_answer_is_what_a_conversion_does() -> None:
    """Of a model that some take, some take with changes, and some do not."""
    for text, opset in ((CHOICE, 18), (ROUND, 18)):
        proto = model(text, opset)
        found = inspect_model(proto).runtimes
        assert len(found) > 20
        for row in found:
            try:
                result = convert_version(proto, compare="off", options=Options(for_runtimes=[row.runtime]))
            except UnconvertibleError as error:
                assert (row.answer, row.reason.partition(" (and ")[0]) == ("not", str(error).partition("\n")[0]), row
                continue
            is_same = result.model.graph == proto.graph and result.report.target_opset == opset
            is_same = is_same and result.model.ir_version == proto.ir_version
            assert row.answer == ("as it is" if is_same else "with --for"), row


def test_the_ir_version_counts() -> None:
    found = {row.runtime.rpartition("-")[0]: row for row in inspect_model(model(ROUND, 13, 9)).runtimes}
    assert found["tidl"].answer == "with --for" and "IR version 8" in found["tidl"].reason
