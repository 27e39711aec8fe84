"""The commands against messages: what is filled in, and what a dry run says of them."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.explaining.remedies import Remedy, attempts, remedies, tried
from split_rewrite.rewriter.runtimes.known_messages import find_messages

FILLED = {
    "No Op registered for Gelu with domain_version of 17": ["--assume-opset 20 -t 17", "-t 20"],
    "No importer registered for op: LayerNormalization. Attempting": ["-t 16", "--for tensorrt"],
    "No importer registered for op: Abs. Attempting": ["--for tensorrt"],
    "No importer registered for op: MyOwn. Attempting": ["--for tensorrt"],
    "[TensorRT 8.4.1] No importer registered for op: LayerNormalization. Attempting": ["-t 16", "--for tensorrt-8.4"],
    "OpenCV(4.10.0) error: tensor.has_shape() in function 'dumpValueInfoProto'": ["--for opencv-4.10"],
    "Unsupported model IR version: 10, max supported IR version: 8": ["--for onnxruntime-1.9", "--ir-version 8"],
    "Unsupported model IR version: 99, max supported IR version: 98": ["--ir-version 98"],
    "Op registered for Upsample is deprecated in domain_version of 13": ["-t 13", "--assume-opset 9 -t 13"],
    "Op registered for GroupNormalization is deprecated in domain_version of 18": ["-t 21", "-t 17"],
    "OpenVINO does not support the following ONNX operations: DeformConv": ["--for openvino", "-t 18"],
    "Unrecognized attribute: num_outputs for operator Split": ["", "--assume-opset 18"],
    "No Adapter From Version $18 for Split": ["-t 17"],
    "Could not find an implementation for AveragePool(19) node with name 'p'": ["--for onnxruntime", "-t 18"],
    "Duplicate definition of name (y)": [],
}


@pytest.mark.parametrize("message", FILLED)
def test_options_are_filled_in(message: str) -> None:
    (place,) = find_messages(message)
    assert [remedy.options for remedy in remedies(place.known, place.values, message)] == FILLED[message]


def test_a_command_is_ready_to_be_copied() -> None:
    assert Remedy("-t 17").command("my model.onnx") == "split-rewrite -t 17 'my model.onnx' out.onnx"
    assert Remedy("").command("m.onnx") == "split-rewrite m.onnx out.onnx"


TRIED = {
    "-t 11": (True, ""),
    "-t 5": (False, "Split"),
    "--for openvino-2023.3": (True, ""),
    "--for opencv-4.12": (
        False,
        "it changes nothing of the model: what is known of OpenCV dnn 4.12 does not tell why it is refused",
    ),
    "-t 18": (False, "it changes nothing of the model"),
    "--for onnxruntime": (False, "takes the model as it is; name the release that wrote the message, as in --for onnxruntime-N"),
    "--for nobody": (False, "unknown runtime"),
    "--assume-opset 13": (False, "num_outputs"),
    "--standard --ir-version 9": (True, ""),
    "--external-data split": (True, ""),
}


@pytest.mark.parametrize("options", TRIED)
def test_a_command_is_tried_on_a_model(options: str, tmp_path: Path) -> None:
    text = "g (float[2,6] x) => (float[2,3] y, float[2,3] z) { y, z = Split <axis = 1, num_outputs = 2> (x) }"
    if options == "-t 5":
        text = "g (int8[6] x, int64[2] s) => (int8[A] y, int8[B] z) { y, z = Split (x, s) }"
    onnx.save(model(text, 18), tmp_path / "m.onnx")
    works, refusal = TRIED[options]
    found = tried(Remedy(options), str(tmp_path / "m.onnx"))
    assert found.works is works and refusal in found.refusal
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_a_model_of_another_opset_than_it_says_is_tried_with_that_one(tmp_path: Path) -> None:
    text = "g (float[2,6] x) => (float[1,6] y) { y = Slice <starts = [0], ends = [1]> (x) }"
    onnx.save(model(text, 10), tmp_path / "m.onnx")
    refused, works = attempts(Remedy("-t 13"), str(tmp_path / "m.onnx"), 10)
    assert (refused.works, works) == (False, Remedy("--assume-opset 9 -t 13", works=True))
    _, works = attempts(Remedy(""), str(tmp_path / "m.onnx"), 10)
    assert works == Remedy("--assume-opset 9 -t 10", works=True)


def test_a_command_that_works_is_tried_once(tmp_path: Path) -> None:
    onnx.save(model("g (float[2] x) => (float[2] y) { y = Relu (x) }", 10), tmp_path / "m.onnx")
    assert [found.works for found in attempts(Remedy("-t 13"), str(tmp_path / "m.onnx"), 10)] == [True]
