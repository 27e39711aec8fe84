"""Messages and logs explained, without a model and with one."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter import InvalidModelError, explain

RESTAMPED = "g (float[N,6] x) => (float[N,3] y, float[N,3] z) { [parts] y, z = Split <axis = 1, num_outputs = 2> (x) }"
UNRECOGNIZED = "Unrecognized attribute: num_outputs for operator Split"


@pytest.fixture
def restamped(tmp_path: Path) -> str:
    """A Split of opset 18 in a file that says 17."""
    onnx.save(model(RESTAMPED, 17), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def test_an_unknown_message_is_none() -> None:
    assert explain("the printer is on fire") is None


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"<html>")
    with pytest.raises(InvalidModelError):
        explain(UNRECOGNIZED, tmp_path / "m.onnx")


def test_a_message_alone() -> None:
    found = explain("[ONNXRuntimeError] : 1 : FAIL : Opset 21 is under development and support for this is limited. The operator schemas "
                    "may change. Current official support for domain ai.onnx is till opset 19.")  # fmt: skip
    assert found is not None and found.remedy is not None
    assert found.tools == ("onnxruntime",) and found.means == "The model has opset 21; this onnxruntime takes opsets up to 19."
    assert found.remedy.command(found.model) == "split-rewrite -t 19 model.onnx out.onnx" and found.remedy.works is None


def test_the_first_command_that_works_is_shown(restamped: str) -> None:
    found = explain(UNRECOGNIZED, restamped)
    assert found is not None and found.remedy is not None
    assert [(one.options, one.works) for one in found.remedies] == [("", False), ("--assume-opset 18 -t 17", True)]
    assert found.remedy.command(found.model) == f"split-rewrite --assume-opset 18 -t 17 {restamped} out.onnx"
    assert found.nodes == ("Split 'parts' in graph 'g'",)


def test_nodes_are_found_by_name_and_counted(tmp_path: Path) -> None:
    text = "g (float[2] x) => (float[2] y) { [one] a = Relu (x) [two] b = Relu (a) [three] c = Relu (b) [four] d = Relu (c) y = Relu (d) }"
    onnx.save(model(text, 18), tmp_path / "m.onnx")
    by_name = explain("Could not find an implementation for Relu(14) node with name 'two'", tmp_path / "m.onnx")
    assert by_name is not None and by_name.nodes[-1] == "2 more"
    by_node = explain(
        "Type 'tensor(int32)' of input parameter (a) of operator (Relu) in node (two) is invalid.", tmp_path / "m.onnx"
    )
    assert by_node is not None and by_node.nodes == ("Relu 'two' in graph 'g'",)


def test_a_long_log_is_searched_and_further_messages_are_said() -> None:
    noise = "".join(f"[INFO] step {number} of many\n" for number in range(20_000))
    found = explain(f"{noise}Missing model IR version.\n{noise}the graph is not acyclic\n")
    assert found is not None
    assert (found.number, found.line) == (20_001, "Missing model IR version.")
    assert found.others == ("The graph has a cycle: the model itself is wrong.",)


def test_it_is_data(restamped: str) -> None:
    found = explain(UNRECOGNIZED, restamped)
    assert found is not None
    document = json.loads(json.dumps(found.to_dict()))
    assert document["schema"] == "split-rewrite/explanation" and document["names"] == {"attribute": "num_outputs", "op": "Split"}
    assert [command["works"] for command in document["commands"]] == [False, True]


def test_an_ir_version_that_is_impossible_is_not_said_to_work(tmp_path: Path) -> None:
    onnx.save(model("g (float[2] x) => (float[2] y) <float[1] w = {2}> { y = Mul (x, w) }", 13), tmp_path / "m.onnx")
    found = explain("Your model ir_version 8 is higher than the checker's (3).", tmp_path / "m.onnx")
    assert found is not None and found.remedy is None
    assert [(one.works, one.refusal) for one in found.remedies] == [
        (False, "--ir-version 3: this model needs at least IR version 4")
    ]


def test_a_command_cannot_do_more_when_it_is_pasted() -> None:
    found = explain("Missing model IR version.")
    assert found is not None and found.remedy is not None
    assert found.remedy.command("$(rm x).onnx") == "split-rewrite --ir-version 8 '$(rm x).onnx' out.onnx"
    assert found.remedy.command("-v.onnx") == "split-rewrite --ir-version 8 ./-v.onnx out.onnx"


@pytest.mark.parametrize("given", [5, b"m.onnx", onnx.ModelProto()])
def test_a_model_that_is_no_path(given: object) -> None:
    with pytest.raises(TypeError, match="model has to be a path"):
        explain("Unsupported model IR version: 10, max supported IR version: 9", given)  # type: ignore[arg-type]
