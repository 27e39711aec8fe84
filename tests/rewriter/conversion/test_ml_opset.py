"""Which version of ai.onnx.ml a result imports."""

from __future__ import annotations

import pytest
from onnx import ModelProto, parser

from split_rewrite.rewriter import ArgumentError, Options, convert_version, convert_versions

TEXT = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 4, "own": 1]> g (float[N,2] x) => (float[N,2] y) {{ y = {} (x) }}
<domain: "own", opset_import: ["": 17, "ai.onnx.ml": 4]> Scaled (x) => (y)
{{ y = ai.onnx.ml.Scaler <offset = [1.0,2.0], scale = [2.0,3.0]> (x) }}"""


def versions(proto: ModelProto) -> list[int]:
    imports = [*proto.opset_import, *(entry for function in proto.functions for entry in function.opset_import)]
    return [entry.version for entry in imports if entry.domain == "ai.onnx.ml"]


@pytest.mark.parametrize("version", [0, 99])
def test_a_version_that_onnx_does_not_know(version: int) -> None:
    with pytest.raises(ArgumentError, match="ml_opset"):
        Options(ml_opset=version)


def test_a_version_that_the_runtime_does_not_have() -> None:
    message = r"ml_opset 5: ONNX Runtime 1\.16 loads ai\.onnx\.ml up to 3"
    with pytest.raises(ArgumentError, match=message):
        convert_version(
            parser.parse_model(TEXT.format("own.Scaled")), options=Options(ml_opset=5, for_runtimes=["onnxruntime-1.16"])
        )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options(), [4, 4]),
        (Options(ml_opset=1), [1, 1]),
        (Options(ml_opset=5), [5, 5]),
        (Options(for_runtimes=["onnxruntime-1.11"]), [2, 2]),
        (Options(for_runtimes=["onnxruntime-1.22"]), [4, 4]),
    ],
    ids=["nobody asked", "down", "up", "an older runtime", "a runtime that has it"],
)
def test_the_version_is_stated_in_functions_too(options: Options, expected: list[int]) -> None:
    result = convert_version(parser.parse_model(TEXT.format("own.Scaled")), options=options)
    assert versions(result.model) == expected
    assert ("ml_opset" in result.report.applied) == (expected[0] != 4)
    again = convert_version(result.model, options=options)
    assert again.model == result.model


def test_a_model_without_that_domain_stays() -> None:
    given = parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { y = Neg (x) }')
    assert convert_version(given, options=Options(ml_opset=3)).model == given


def test_for_several_targets() -> None:
    given = parser.parse_model(TEXT.format("own.Scaled"))
    results = convert_versions(given, [13, 18], options=Options(ml_opset=3))
    assert [versions(result.model) for result in results.values()] == [[3, 3], [3, 3]]  # pyright: ignore[reportAttributeAccessIssue]
