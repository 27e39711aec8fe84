"""The JSON report of runs that succeed, fail, and only look; and the command line around it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import onnx
import pytest

from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.report.rewritten import node_text

pytestmark = pytest.mark.quick

UNEVEN = "g (float[7] x) => (float[3] a, float[3] b, float[1] c) {a, b, c = Split<num_outputs = 3>(x)}"
STRINGS = "g (string[4] x) => (string[4] a, string[4] b) {a = StringConcat(x, x) b = StringConcat(a, x)}"


def report_of(arguments: list[str], folder: Path) -> tuple[int, dict]:
    path = folder / "report.json"
    status = command.run([*arguments, "-q", "--report", str(path)])
    return status, json.loads(path.read_text())


def test_a_conversion(save, tmp_path: Path) -> None:
    source, target = save(UNEVEN), tmp_path / "out.onnx"
    status, document = report_of(["-t", "12", source, str(target)], tmp_path)
    assert (status, document["exit_status"], document["outcome"]) == (0, 0, "converted")
    assert (document["schema"], document["schema_version"]) == ("split-rewrite/report", 1)
    assert document["opset"] == {"before": 18, "after": 12}
    assert document["rules"] == {"split.sizes_to_attribute": 1, "split.spell_out_parts": 1}
    assert document["rewrites"] == [
        {
            "where": "main graph",
            "op_type": "Split",
            "node": "a",
            "before": "a, b, c = Split <num_outputs: int = 3> (x)",
            "after": ["a, b, c = Split <split: ints = [3, 3, 1]> (x)"],
        }
    ]
    for key, path in (("input", Path(source)), ("output", target)):
        data = path.read_bytes()
        assert document[key] == {"path": str(path), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert document["comparison"]["status"] == "equal"
    assert [output["name"] for output in document["comparison"]["outputs"]] == ["a", "b", "c"]


@pytest.mark.parametrize("report", ["report.json", "report.html"])
@pytest.mark.parametrize(
    "text",
    [
        "[strange] a, b = Split <num_outputs = 2> (x)",
        "a, strange = Split <num_outputs = 2> (x)\n b = Relu (strange)",
        "a = Relu (x)\n b = If (c) <then_branch = t () => (float[2] p) { p, strange = Split <num_outputs = 2> (x) }, else_branch = e () => (float[2] q) { q, strange = Split <num_outputs = 2> (x) }>",
    ],
    ids=["of-a-node", "of-a-value", "in-a-branch"],
)
def test_names_that_are_not_utf8_are_no_obstacle(save, tmp_path: Path, text: str, report: str) -> None:
    body = f"g (float[4] x, bool c) => (float[a] a, float[b] b) {{ {text}\n s, e = Split <num_outputs = 2> (x) }}"
    source = Path(save(body))
    source.write_bytes(source.read_bytes().replace(b"strange", b"str\xff\xfege"))
    assert command.run(["-q", "-t", "13", "--report", str(tmp_path / report), str(source), str(tmp_path / "out.onnx")]) == 0
    assert "s, e = Split" in (tmp_path / report).read_text()


def test_a_refusal_lists_its_blockers(save, tmp_path: Path) -> None:
    status, document = report_of(["-t", "18", save(STRINGS, 20), str(tmp_path / "out.onnx")], tmp_path)
    assert (status, document["exit_status"], document["outcome"]) == (1, 1, "not convertible")
    assert [blocker["node"] for blocker in document["blockers"]] == ["a", "b"]
    assert document["output"] is None


def test_an_input_that_cannot_be_read(tmp_path: Path) -> None:
    status, document = report_of(["-t", "18", str(tmp_path / "none.onnx"), str(tmp_path / "out.onnx")], tmp_path)
    assert (status, document["outcome"]) == (2, "unusable")
    assert document["input"]["sha256"] is None
    assert "none.onnx" in document["message"]


def test_a_dry_run(save, tmp_path: Path) -> None:
    status, document = report_of(["-t", "18", "--dry-run", save(STRINGS, 20)], tmp_path)
    assert (status, document["outcome"]) == (1, "not convertible")
    assert document["reach"]["lowest"] == 20
    assert document["operators"] == {}, "nothing is known of the result"
    assert {blocker["node"] for blocker in document["reach"]["below"]} == {"a", "b"}
    status, document = report_of(["-t", "21", "--dry-run", save(STRINGS, 20)], tmp_path)
    assert (status, document["outcome"]) == (0, "convertible")


def test_standard_output_is_nothing_but_the_report(save, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["-t", "13", save(UNEVEN), str(tmp_path / "out.onnx"), "--report", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "converted"


REFUSED = {
    "unknown-format": (["--report", "r.txt"], "should end with one of .json"),
    "no-folder": (["--report", "none/r.json"], "r.json: the folder none does not exist"),
    "dry-run-with-output": (["--dry-run"], "leave OUTPUT out"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_usage(save, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    assert command.run(["-t", "13", save(UNEVEN), str(tmp_path / "out.onnx"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out.onnx").exists()


def test_assumed_opset(save, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = save("g (float[4] x) => (float[1] a, float[3] b) <int64[2] s = {1, 3}> {a, b = Split(x, s)}", 12)
    assert command.run(["-t", "11", source, str(tmp_path / "out.onnx")]) == 2
    assert "use --assume-opset 13" in capsys.readouterr().err
    assert command.run(["-t", "11", source, str(tmp_path / "out.onnx"), "--assume-opset", "13", "--compare", "off"]) == 0


def test_a_node_whose_text_is_not_utf_8_is_shown_without_its_attributes() -> None:
    node = onnx.NodeProto(op_type="Pad", input=["x"], output=["y"])
    node.attribute.add(name="mode", type=onnx.AttributeProto.STRING, s=b"\x80")
    assert node_text(node) == "y = Pad <…> (x)"


def test_a_node_with_a_tensor_that_onnx_cannot_print_is_shown_without_its_attributes() -> None:
    """onnx 1.17 prints it."""
    tensor = onnx.TensorProto(name="c", data_type=onnx.TensorProto.BOOL, dims=[2], raw_data=bytes(8))
    node = onnx.helper.make_node("Constant", [], ["y"], value=tensor)
    assert node_text(node) in ("y = Constant <…> ()", "y = Constant <value: tensor = bool[2] c...> ()")
