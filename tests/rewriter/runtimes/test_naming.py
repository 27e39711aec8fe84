"""Names of runtimes, as users write them."""

from __future__ import annotations

import pytest
from helpers import command_line

from split_rewrite.rewriter import ArgumentError
from split_rewrite.rewriter.runtimes.naming import common_name, find_profile, runtime_names
from split_rewrite.rewriter.runtimes.profiles import known_runtimes

pytestmark = pytest.mark.quick

UNKNOWN = {
    "openvin-2024.2": "--for openvin-2024.2: unknown runtime; did you mean 'openvino'? (--list-runtimes lists all)",
    "tensort 8.6": "--for tensort 8.6: unknown runtime; did you mean 'tensorrt'? (--list-runtimes lists all)",
    "quux": "--for quux: unknown runtime (--list-runtimes lists all)",
    "openvino-1999": "--for openvino-1999: nothing is known about OpenVINO 1999; known releases are 2023.3, 2024.2, 2024.3, ",
    "openvino-new": "--for openvino-new: 'new' is not a release number; known releases of OpenVINO are 2023.3, ",
    "nowhere.toml": "nowhere.toml cannot be read: No such file or directory",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_name_is_told_in_a_line(name: str) -> None:
    ended = command_line("in.onnx", "out.onnx", "--for", name)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {UNKNOWN[name]}") and ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("openvino-2024.2", "openvino-2024.2"),
        ("openvino-2024.2.0", "openvino-2024.2.0"),
        ("openvino==2024.2", "openvino-2024.2"),
        ("OpenVINO 2024.2", "openvino-2024.2"),
        ("ov-2024.2", "openvino-2024.2"),
        ("tensorrt 8.6", "tensorrt-8.6"),
        ("NVIDIA TensorRT 8.6", "tensorrt-8.6"),
        ("trt-8.6", "tensorrt-8.6"),
        ("TRT@v8.6", "tensorrt-8.6"),
        ("ort==1.16", "onnxruntime-1.16"),
        ("ONNX Runtime 1.16", "onnxruntime-1.16"),
        ("onnxruntime_1.16", None),
        ("jetpack-4.6.2", "tensorrt-8.2"),
        ("JetPack 4.6.2", "tensorrt-8.2"),
        ("ort-web-1.15", "onnxruntime-1.15"),
        ("winml-10.1809", "winml-10.1809"),
        ("rknn-toolkit2-2.3", "rknn-toolkit2-2.3"),
        ("rknn 2.3", "rknn-toolkit2-2.3"),
        ("rknn_toolkit2-2.3", "rknn-toolkit2-2.3"),
    ],
)
def test_names_find_their_release(name: str, found: str | None) -> None:
    if found is None:
        with pytest.raises(ArgumentError):
            find_profile(name)
        return
    assert find_profile(name).name == found


@pytest.mark.parametrize("name", ["trt", "ort", "ov", "rknn", "OPENVINO", "ONNX Runtime"])
def test_a_name_alone_is_enough(name: str) -> None:
    assert find_profile(name).runtime.name in ("tensorrt", "onnxruntime", "openvino", "rknn-toolkit2")


def test_no_two_runtimes_share_a_name() -> None:
    names = [name.casefold() for runtime in known_runtimes().values() for name in (runtime.name, *runtime.also, *runtime.aliases)]
    assert len(names) == len(set(names))


def test_every_name_that_is_completed_finds_a_profile() -> None:
    for name in runtime_names():
        assert find_profile(name).runtime.name in known_runtimes()


def test_the_common_name() -> None:
    assert [common_name(name) for name in ("ORT", "OpenVINO", "nosuch")] == ["onnxruntime", "openvino", "nosuch"]
