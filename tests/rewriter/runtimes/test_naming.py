"""Names of runtimes, as users write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import command_line

from split_rewrite.rewriter.errors import ArgumentError
from split_rewrite.rewriter.runtimes import naming
from split_rewrite.rewriter.runtimes.naming import common_name, find_profile, runtime_names
from split_rewrite.rewriter.runtimes.profiles import known_runtimes

pytestmark = pytest.mark.quick

UNKNOWN = {
    "openvin-2024.2": "--for openvin-2024.2: unknown runtime; did you mean 'openvino'? (--list-runtimes lists all)",
    "tensort 8.6": "--for tensort 8.6: unknown runtime; did you mean 'tensorrt'? (",
    "quux": "--for quux: unknown runtime (--list-runtimes lists all)",
    "tflite": "--for tflite: unknown runtime (--list-runtimes lists all)",
    "rknn3588": "--for rknn3588: nothing is known about Rockchip RKNN-Toolkit2 3588; known releases are 1.4 to 1.5, ",
    "TensorRT 20260": "--for TensorRT 20260: nothing is known about NVIDIA TensorRT 20260; known releases are ",
    "tensorrt-rtx 1.2": "--for tensorrt-rtx 1.2: unknown runtime; did you mean 'tensorrt'? (",
    "onnxjs": "--for onnxjs: unknown runtime; did you mean 'wonnx'? (",
    "windows-10-24h2": "--for windows-10-24h2: unknown runtime; did you mean 'windows-10-2004'? (",
    "JetPack 3.3": "--for JetPack 3.3: nothing is known about JetPack 3.3; known releases are 4.2.2, 4.3, 4.4.1, 4.5 to 4.5.1, ",
    "WinAppSDK 1.7": "--for WinAppSDK 1.7: nothing is known about Windows App SDK 1.7; known releases are 1.8, 2.0",
    "SNPE 1.68": "--for SNPE 1.68: nothing is known about SNPE 1.68; known releases are 2",
    "nvcr.io/nvidia/tensorrt:24.05-py3": "--for nvcr.io/nvidia/tensorrt:24.05-py3: nothing is known about NVIDIA's container of TensorRT "
    "24.05; name the release of NVIDIA TensorRT in it",
    "tensorrt:22.08-py3": "--for tensorrt:22.08-py3: nothing is known about NVIDIA's container of TensorRT 22.08; name the ",
    "tensorrt-container": "--for tensorrt-container: nothing is known about NVIDIA's container of TensorRT; name the release of NVIDIA TensorRT",
    "cv1800": "--for cv1800: unknown runtime (--list-runtimes lists all)",
    "VIM3": "--for VIM3: unknown runtime (--list-runtimes lists all)",
    "TensorRT-LLM": "--for TensorRT-LLM: 'LLM' is not a release number; known releases of NVIDIA TensorRT are ",
    "GPU": "--for GPU: unknown runtime (--list-runtimes lists all)",
    "jetpack-new": "--for jetpack-new: 'new' is not a release number; known releases of JetPack are 4.2.2, 4.3, ",
    "openvino-new": "--for openvino-new: 'new' is not a release number; known releases of OpenVINO are 2023.3, ",
    "": "--for: a name is empty (--list-runtimes lists all)",
    "./npu.toml@": "--for ./npu.toml@: no release follows the @; without it, the newest in the file is taken",
    "..": "--for ..: is a folder; name a profile in it, which ends with .toml",
    "x" * 5000: f"--for {'x' * 79}…: unknown runtime (--list-runtimes lists all)",
    "nowhere.toml": "nowhere.toml cannot be read: No such file or directory",
}


@pytest.mark.parametrize("name", UNKNOWN, ids=lambda name: name[:80])
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
        ("onnxruntime_1.16", "onnxruntime-1.16"),
        ("TensorRT8.6", "tensorrt-8.6"),
        ("ov2024.2", "openvino-2024.2"),
        ("openvino:2024.2", "openvino-2024.2"),
        ("ort-web-1.15", "onnxruntime-1.15"),
        ("winml-10.1809", "winml-10.1809"),
        ("rknn-toolkit2-2.3", "rknn-toolkit2-2.3"),
        ("rknn 2.3", "rknn-toolkit2-2.3"),
        ("rknn_toolkit2-2.3", "rknn-toolkit2-2.3"),
    ],
)
def test_names_find_their_release(name: str, found: str) -> None:
    assert (find_profile(name).name, find_profile(name).warning) == (found, "")


KNOWN = {
    "JetPack 4.2.2": "tensorrt-5.1.6",
    "jetpack-4.3": "tensorrt-6.0.1",
    "JetPack 4.5.1": "tensorrt-7.1.3",
    "jetpack-4.6": "tensorrt-8.0.1",
    "JetPack 4.6.2": "tensorrt-8.2.1",
    "jetpack 5.0.2": "tensorrt-8.4.1",
    "JetPack 5.1.2": "tensorrt-8.5.2",
    "JetPack v6.0": "tensorrt-8.6.2",
    "L4T 35.4.1": "tensorrt-8.5.2",
    "DeepStream 6.3": "tensorrt-8.5.3",
    "deepstream-6.0.1": "tensorrt-8.0.1",
    "DRIVE OS 6.0.9": "tensorrt-8.6.12",
    "triton 23.05": "onnxruntime-1.15.0",
    "tritonserver:24.12-py3": "onnxruntime-1.20.1",
    "nvcr.io/nvidia/tritonserver:25.01-py3": "onnxruntime-1.20.1",
    "triton-openvino 25.02": "openvino-2025.0",
    "onnxruntime-web 1.20": "onnxruntime-1.20",
    "transformers.js 2.17": "onnxruntime-1.14.0",
    "@xenova/transformers 2.6": "onnxruntime-1.14.0",
    "@huggingface/transformers@3.5.1": "onnxruntime-1.21",
    "transformers.js-node 3.0": "onnxruntime-1.19.2",
    "WinAppSDK 1.8": "onnxruntime-1.23",
    "Windows App SDK 2.0": "onnxruntime-1.24",
    "Windows ML 1.8": "onnxruntime-1.23",
    "Windows 10 1903": "winml-10.1903",
    "windows-10-1909": "winml-10.1909",
    "Windows 11": "winml-11",
    "DirectML 1.12": "directml-1.12",
    "DJL 0.28": "onnxruntime-1.17.1",
    "ML.NET 3.0": "onnxruntime-1.14.0",
    "ORT 1.4": "onnxruntime-1.4",
    "onnxruntime-gpu==1.18.1": "onnxruntime-1.18.1",
    "Jetson Nano": "tensorrt-8.2.1",
    "Jetson 6.0": "tensorrt-8.6.2",
    "RKNN-Toolkit 1.7.5": "rknn-toolkit-1.7.5",
    "rknn 1.7.5": "rknn-toolkit-1.7.5",
    "rknn-toolkit2==1.5.2": "rknn-toolkit2-1.5.2",
    "RKNN-Toolkit2 2.2.0": "rknn-toolkit2-2.2.0",
    "Sentis 2.1.3": "unity-sentis-2.1.3",
    "Unity Inference Engine 2.2": "unity-sentis-2.2",
    "Barracuda 3.0": "unity-barracuda-3.0",
    "SNPE 2.30": "qairt-2026",
    "opencv-python==4.12.0.88": "opencv-4.12.0.88",
    "opencv-contrib-python 4.12.0": "opencv-4.12.0",
    "tensorrt 8.6 GA": "tensorrt-8.6",
    "TensorRT runtime 8.6": "tensorrt-8.6",
    "Intel OpenVINO toolkit 2024.2": "openvino-2024.2",
    "openvino-dev==2024.2": "openvino-2024.2",
    "ort gpu 1.16": "onnxruntime-1.16",
    "Microsoft.ML.OnnxRuntime 1.16": "onnxruntime-1.16",
    "jp5.1.2": "tensorrt-8.5.2",
    "NVIDIA Jetson Xavier NX": "tensorrt-8.5.2",
    "Jetson TX2": "tensorrt-8.2.1",
}
"""Names as people write them, of releases of which something is stated."""


@pytest.mark.parametrize("name", KNOWN)
def test_names_of_known_releases(name: str) -> None:
    profile = find_profile(name)
    assert (profile.name, profile.warning) == (KNOWN[name], "")


CHIPS = {
    "TI TDA4VM": "tidl",
    "AM62A": "tidl",
    "STM32N6": "st-edge-ai",
    "esp32-s3": "esp-dl",
    "AMD Ryzen AI 300": "ryzen-ai",
    "Kria KV260": "vitis-ai",
    "kneron kl520": "kneron",
    "Horizon X3": "horizon",
    "axera AX650N": "pulsar2",
    "Snapdragon 8 Gen 3": "qnn",
    "Qualcomm QCS6490": "qairt",
    "Atlas 200": "ascend-cann",
    "SiMa.ai": "sima",
}
"""Names as people write them, and the runtimes for which models are compiled for them."""
NO_CHIPS = ["NVIDIA DPU", "rk3588 cpu", "qnn gpu", "AM62A7", "rk3588s2", "hexagon v73", "xdna3"]
"""Names of other things, which only look like those of chips with a release."""


@pytest.mark.parametrize("name", CHIPS)
def test_a_chip_means_the_newest_release_of_what_its_maker_compiles_models_with(name: str) -> None:
    found = find_profile(name)
    assert found.runtime.name == CHIPS[name] and "is taken, the newest that is known" in found.warning


@pytest.mark.parametrize("name", NO_CHIPS)
def test_what_follows_a_chip_is_no_release(name: str) -> None:
    with pytest.raises(
        ArgumentError, match=r"unknown runtime|is not a release number|is a chip, which has no release; name one of"
    ):
        find_profile(name)


NEAR = {
    "tensorrt==10.8": ("NVIDIA TensorRT 10.8", "10.1 or 10.15"),
    "TensorRT v10.13.3": ("NVIDIA TensorRT 10.13.3", "10.1 or 10.15"),
    "trt 8.3": ("NVIDIA TensorRT 8.3", "8.2 or 8.4"),
    "TensorRT 12": ("NVIDIA TensorRT 12", "11"),
    "tensorrt-4": ("NVIDIA TensorRT 4", "5.1"),
    "TensorRT 10": ("NVIDIA TensorRT 10", "10.1 or 10.15"),
    "JetPack 6.2": ("NVIDIA TensorRT 10.3.0", "10.1 or 10.15"),
    "JetPack 4.4": ("JetPack 4.4", "NVIDIA TensorRT 6.0.1, 7.0 or 7.1.3"),
    "JetPack 4.6.4": ("JetPack 4.6.4", "NVIDIA TensorRT 8.2.1, 8.4 or 8.4.1"),
    "JetPack 6": ("JetPack 6", "NVIDIA TensorRT 8.6.2 to 10.15"),
    "jetpack-8.0": ("JetPack 8.0", "NVIDIA TensorRT 10.15 or 11"),
    "triton 23.10": ("Triton 23.10", "ONNX Runtime 1.15.1 to 1.20.1"),
    "ov 2025.2": ("OpenVINO 2025.2", "2025.0 or 2025.4"),
    "OpenVINO 2022.3": ("OpenVINO 2022.3", "2023.3"),
    "openvino-2099": ("OpenVINO 2099", "2026.4"),
    "ort 1.99": ("ONNX Runtime 1.99", "1.32"),
    "cv2 4.13": ("OpenCV dnn 4.13", "4.12 or 5.0"),
    "DirectML 1.10": ("ONNX Runtime, DirectML 1.10", "1.8 or 1.12"),
    "CANN 6.3": ("Huawei Ascend ATC 6.3", "5.0 or 7.0"),
    "CANN 8.0": ("Huawei Ascend ATC 8.0", "7.0"),
    "Hailo DFC 3.28": ("Hailo Dataflow Compiler 3.28", "2024"),
}


@pytest.mark.parametrize("name", NEAR)
def test_what_the_nearest_known_releases_do_not_take_is_avoided(name: str) -> None:
    called, taken_for = NEAR[name]
    profile = find_profile(name)
    assert profile.warning == f"nothing is known about {called} itself; what {taken_for} does not take is avoided"
    assert profile.title.startswith(f"{called} (taken for ")


NEWEST = {
    "TensorRT": ("NVIDIA TensorRT", "11"),
    "sentis": ("Unity Sentis", "2.4"),
    "Barracuda": ("Unity Barracuda", "3.0"),
    "QNN": ("ONNX Runtime, QNN (HTP)", "2026"),
    "QAIRT": ("Qualcomm QAIRT", "2026"),
    "QNN SDK": ("Qualcomm QAIRT", "2026"),
    "snpe": ("SNPE", "2"),
    "CoreML EP": ("ONNX Runtime, CoreML (ML Program)", "2026"),
    "NNAPIExecutionProvider": ("ONNX Runtime, NNAPI", "2026"),
    "CANN": ("Huawei Ascend ATC", "7.0"),
    "transformers.js": ("transformers.js", "4.2"),
    "onnxruntime-web": ("ONNX Runtime Web", "1.32"),
    "tritonserver": ("Triton", "26.07"),
    "Hailo-8": ("Hailo Dataflow Compiler", "2024"),
    "RK3588": ("Rockchip RKNN-Toolkit2", "2.3"),
    "Ascend 310": ("Huawei Ascend ATC", "7.0"),
}


@pytest.mark.parametrize("name", NEWEST)
def test_a_name_without_a_release_means_the_newest_and_says_so(name: str) -> None:
    called, release = NEWEST[name]
    assert find_profile(name).warning == f"no release of {called} was named: {release} is taken, the newest that is known"


def test_what_is_installed_is_meant_where_no_release_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "version", lambda _: "1.16.3")
    assert (find_profile("ort").name, find_profile("ort").warning) == ("onnxruntime-1.16.3", "")
    assert find_profile("ort-web").name == "onnxruntime-1.32"


OWN = """title = "My NPU"
also = ["npu"]
[aliases]
"myboard-3" = "1.4"
[[product]]
title = "My SDK"
names = ["mysdk"]
source = "a manual"
[product.releases]
"2.0 to 2.4" = "1.2"
[[release]]
from = "1.2"
to = "1.4"
evidence = "by documentation"
[[release]]
from = "2.0"
evidence = "by documentation"
"""


@pytest.mark.parametrize(
    ("release", "title"),
    [
        ("", "My NPU 2.0"),
        ("@1.2", "My NPU 1.2"),
        ("@1.3", "My NPU 1.3"),
        ("@npu-1.3", "My NPU 1.3"),
        ("@myboard-3", "My NPU 1.4"),
        ("@mysdk-2.3", "My NPU 1.2"),
        ("@MYSDK 2.3", "My NPU 1.2"),
    ],
)
def test_the_releases_of_a_file_of_ones_own(tmp_path: Path, release: str, title: str) -> None:
    path = tmp_path / "mynpu.toml"
    path.write_text(OWN)
    profile = find_profile(f"{path}{release}")
    assert (profile.title, profile.file, profile.warning) == (title, str(path), "")


def test_a_release_of_ones_own_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "mynpu.toml"
    path.write_text(OWN)
    with pytest.raises(
        ArgumentError, match=r"mynpu.toml@nix: 'nix' is not a release number; known releases of My NPU are 1\.2 to 1\.4"
    ):
        find_profile(f"{path}@nix")


def test_the_product_of_no_release_says_both() -> None:
    assert find_profile("jetpack").warning == (
        "no release of JetPack was named: 7.2 is taken, the newest that is known; nothing is known about NVIDIA TensorRT 10.16.1 itself; "
        "what 10.15 or 11 does not take is avoided"
    )


@pytest.mark.parametrize("name", ["trt", "ort", "ov", "rknn", "OPENVINO", "ONNX Runtime"])
def test_a_name_alone_is_enough(name: str) -> None:
    assert find_profile(name).runtime.name in ("tensorrt", "onnxruntime", "openvino", "rknn-toolkit2")


def test_no_two_runtimes_share_a_name() -> None:
    runtimes = known_runtimes().values()
    names = [name.casefold() for runtime in runtimes for name in (runtime.name, *runtime.also, *runtime.aliases)]
    names += [name.casefold() for runtime in runtimes for product in runtime.products for name in product.names]
    assert len(names) == len(set(names))


def test_every_name_that_is_completed_finds_a_profile() -> None:
    for name in runtime_names():
        assert find_profile(name).runtime.name in known_runtimes()
    assert {"jetpack-6.0", "deepstream", "triton-24.12", "sentis", "trt", "windows-11"} <= set(runtime_names())


def test_the_common_name() -> None:
    assert [common_name(name) for name in ("ORT", "OpenVINO", "nosuch", "jetpack")] == [
        "onnxruntime",
        "openvino",
        "nosuch",
        "jetpack",
    ]
