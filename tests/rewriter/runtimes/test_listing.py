"""Runtimes as text, for --list-runtimes."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter import ArgumentError
from split_rewrite.rewriter.runtimes.listing import about, forms, overview
from split_rewrite.rewriter.runtimes.profiles import known_runtimes

pytestmark = pytest.mark.quick


def test_each_range_of_releases_has_a_line() -> None:
    lines = overview().splitlines()
    assert lines[0].split() == ["runtime", "releases", "opsets", "IR", "version", "evidence"]
    named = {line.split()[0] for line in lines[1:]}
    assert set(known_runtimes()) <= named


@pytest.mark.parametrize("name", sorted(known_runtimes()))
def test_a_runtime_names_its_quirks_with_what_is_written_instead(name: str) -> None:
    text = about(name)
    runtime = known_runtimes()[name]
    assert text.splitlines()[0] == runtime.title
    for quirk in runtime.quirks:
        assert f"\n{quirk.form}\n" in text
        assert forms()[quirk.form] in text


def test_forms_are_listed_by_name() -> None:
    assert len(about("quirks").splitlines()) == len(forms())


def test_a_release_has_what_is_known_about_it_alone() -> None:
    text = about("OpenVINO 2024.6")
    assert text.splitlines()[0] == "OpenVINO 2024.6"
    assert "\n2024.6: " in text and "\n2023.3: " not in text
    assert "\nShape with start or end\n" in about("ov-2023.3") and "\nShape with start or end\n" not in text


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ArgumentError, match=r"^--list-runtimes openvin: unknown runtime; did you mean 'openvino'"):
        about("openvin")


def test_an_unknown_release_has_what_is_known_of_its_neighbours() -> None:
    lines = about("openvino-2024.4").splitlines()
    assert lines[:2] == [
        "OpenVINO 2024.4 (taken for 2024.3 and 2024.6)",
        "warning: nothing is known about OpenVINO 2024.4 itself; what 2024.3 or 2024.6 does not take is avoided",
    ]
    assert [line.split(":")[0] for line in lines if ": opsets " in line] == ["2024.3", "2024.6"]


def test_the_names_of_a_runtime_are_listed() -> None:
    lines = about("JetPack").splitlines()
    assert lines[:2] == ["NVIDIA TensorRT", "names: tensorrt, nvidia-tensorrt, trt"]
    (jetpack,) = (line for line in lines if line.startswith("jetpack, "))
    assert (
        jetpack.startswith(
            "jetpack, jetson, jetson-agx-orin, jetson-orin, jetson-orin-nano, jetson-orin-nx, jp: JetPack 4.2.2 has 5.1.6, 4.3 has 6.0.1, "
        )
        and "(developer.nvidia.com" in jetpack
    )
    assert "tritonserver: onnxruntime, by the releases of Triton" in overview() and "tensorrt-container" not in overview()
    assert "onnxruntime-web, ort-web: ONNX Runtime Web has the same numbers (" in about("ort")
    assert "tensorrt:: NVIDIA's container of TensorRT is unknown (" in about("trt")


def test_what_a_runtime_needs_of_a_model() -> None:
    assert "\nneeds fixed shapes of all nodes: --overwrite-input-shape sets those that are open\n" in about("qnn")
    text = about("opencv")
    assert "\nneeds inputs and outputs of at least 2 dimensions (in 4.12)\n" in text
    assert "\nneeds inputs of other types than bool, uint16, uint32, uint64, uint8 (in 4.12)\n" in text
    assert "\nneeds outputs of other types than uint8 (in 4.12)\n" in text
    assert "\nneeds models without local functions: --for inlines them\n" in text
    assert "\nneeds fixed shapes of Einsum, Shape" in text and "\nneeds" not in about("hailo")
