"""What a comparison runs as the original is the model as it was read: whatever is done to the model after that is compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest
from helpers import model

from split_rewrite.rewriter import CompareError, Options, convert_file, convert_version
from split_rewrite.rewriter.conversion import acceptance, preparation
from split_rewrite.rewriter.conversion.stages import Job
from split_rewrite.rewriter.graph import given_types
from split_rewrite.rewriter.storage.skeleton import Snapshot
from split_rewrite.rewriter.structure import inlining

NO_FUNCTIONS = Options(for_runtimes=("openvino-2024.2",))


def summing(interface: str = "float[4] x", ir_version: int = 8) -> onnx.ModelProto:
    return model(
        f"g ({interface}) => (float[4] y) <float[4] one = {{1, 2, 3, 4}}> {{ a = Add(x, one) y = Relu(a) }}", 13, ir_version
    )


def calling() -> onnx.ModelProto:
    return model("""<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        g (float[4] x) => (float[4] y) <float[4] one = {1, 2, 3, 4}> { a = Add(x, one) y = f.leak(a) }
        <opset_import: ["" : 13], domain: "f"> leak <slope: float = 0.5> (v) => (w) { w = LeakyRelu <alpha: float = @slope> (v) }""")


def damaged(proto: onnx.ModelProto) -> None:
    """Let the model subtract where it adds."""
    for node in proto.graph.node:
        node.op_type = {"Add": "Sub"}.get(node.op_type, node.op_type)


def proto_of(argument: Any) -> onnx.ModelProto | None:
    if isinstance(argument, Job):
        prepared = getattr(argument, "prepared", None)
        return None if prepared is None else prepared.skeleton.proto
    proto = getattr(argument, "proto", argument)
    return proto if isinstance(proto, onnx.ModelProto) else None


def plant(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, before: bool = False) -> None:
    """Let the function or method `name` of `owner` also damage the model that it is called with."""
    whole = getattr(owner, name)

    def planted(*arguments: Any, **options: Any) -> Any:
        if before:
            damage_all(arguments)
        found = whole(*arguments, **options)
        found = list(found) if name == "tidy" else found
        damage_all(arguments)
        return found

    def damage_all(arguments: tuple[Any, ...]) -> None:
        for proto in map(proto_of, arguments):
            if proto is not None:
                damaged(proto)

    monkeypatch.setattr(owner, name, planted)


STAGES: dict[str, tuple[Any, str, Callable[[], onnx.ModelProto], Options]] = {
    "whatever comes first": (Job, "__init__", summing, Options()),
    "tidying": (preparation, "without_duplicates", summing, Options()),
    "repairing": (acceptance, "repair", lambda: summing(ir_version=3), Options()),
    "inlining": (inlining, "inline", calling, NO_FUNCTIONS),
    "declaring": (given_types, "declare_types", summing, Options(declare={"a": "float[4]"})),
    "overwriting shapes": (
        given_types,
        "overwrite_input_shapes",
        lambda: summing("float[N] x"),
        Options(overwrite_input_shapes={"x": [4]}),
    ),
    "writing sizes": (given_types, "write_sizes", lambda: summing("float[N] x"), Options(overwrite_input_shapes={"x": [4]})),
    "stating types": (given_types, "state_types", summing, Options(declare={"a": "float[4]"})),
    "checking the input": (Job, "check_input", summing, Options()),
    "choosing an opset": (Job, "aim", summing, NO_FUNCTIONS),
}
"""What happens to a model before it is converted: where it is, a model to which it happens, and with which options."""


KINDS: dict[str, Callable[[onnx.ModelProto, Path], Any]] = {
    "ModelProto": lambda proto, _: proto,
    "path": lambda proto, folder: saved(proto, folder),
    "onnx_ir.Model": lambda proto, _: ir.from_proto(proto),
}


def saved(proto: onnx.ModelProto, folder: Path) -> Path:
    onnx.save(proto, folder / "m.onnx")
    return folder / "m.onnx"


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_stage_damages_is_found(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, make, options = STAGES[stage]
    for how in ("auto", "nodes"):
        comparison = convert_version(make(), 12, compare=how, options=options).report.comparison  # type: ignore[arg-type]
        assert comparison is not None and comparison.status == "equal"
    plant(monkeypatch, owner, name, before=owner is Job)
    for how in ("auto", "nodes"):
        with pytest.raises(CompareError, match="differ"):
            convert_version(make(), 12, compare=how, options=options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stage", ["whatever comes first", "inlining"])
def test_it_is_found_in_models_of_all_kinds(stage: str, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    owner, name, make, options = STAGES[stage]
    plant(monkeypatch, owner, name, before=owner is Job)
    for how in ("auto", "model", "nodes", "required"):
        with pytest.raises(CompareError, match="differ"):
            convert_version(KINDS[kind](make(), tmp_path), 12, compare=how, options=options)  # type: ignore[arg-type]


def test_it_is_found_before_a_file_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = saved(calling(), tmp_path)
    before = path.read_bytes()
    plant(monkeypatch, inlining, "inline")
    for destination in (tmp_path / "o.onnx", path):
        with pytest.raises(CompareError, match="differ"):
            convert_file(path, destination, 12, options=NO_FUNCTIONS)
    assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stage", ["whatever comes first", "inlining"])
def test_it_is_found_by_another_runtime(stage: str, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    owner, name, make, options = STAGES[stage]
    options = replace(options, verify_with="onnxruntime")
    assert convert_version(KINDS[kind](make(), tmp_path), 12, compare="off", options=options).report.verified
    plant(monkeypatch, owner, name, before=owner is Job)
    with pytest.raises(CompareError, match="onnxruntime"):
        convert_version(KINDS[kind](make(), tmp_path), 12, compare="off", options=options)


def test_the_opset_that_the_user_states_is_that_of_the_original(tmp_path: Path) -> None:
    """Softmax means something else from opset 13 on; the file, and not only the result, is read as the user says."""
    given = model("g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }", 12)
    for how in ("auto", "nodes"):
        report = convert_version(given, 13, compare=how, options=Options(assume_opset=13)).report  # type: ignore[arg-type]
        assert report.comparison is not None and report.comparison.status == "equal"
        assert [str(change) for change in report.changes] == ["assume_opset: model 'g' (opset 13)"]


# -- what is reported


def test_preparations_are_changes() -> None:
    options = replace(NO_FUNCTIONS, declare={"a": "float[N]"}, overwrite_input_shapes={"x": [4]})
    given = calling()
    given.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    report = convert_version(given, 13, options=options).report
    assert [str(change) for change in report.changes] == [
        "inlining: f::leak 'y' (main graph)",
        "declare: value 'a' (float[N])",
        "overwrite_input_shape: input 'x' ([4])",
    ]
    assert (report.operators_before["f::leak"], report.operators_after["LeakyRelu"]) == (1, 1)


def named_twice() -> onnx.ModelProto:
    """onnxruntime does not load a model in which two nodes have one name."""
    proto = summing()
    for node in proto.graph.node:
        node.name = "n"
    return proto


def test_a_model_that_does_not_run_is_compared_behind_its_repairs() -> None:
    report = convert_version(named_twice(), 12, compare="model", options=Options(runtime="onnxruntime")).report
    assert report.comparison is not None and report.comparison.status == "equal"
    repaired = "another node has its name: it has a number behind it now"
    assert report.warnings[0] == f"Node 'n' (main graph): {repaired}"
    assert report.warnings[1].startswith("Model 'g' (as it was read): as it was read it does not run (onnxruntime ")
    assert report.warnings[1].endswith(f"), so that the comparison starts behind its repairs: {repaired}")


def test_a_repaired_model_that_runs_is_compared_as_it_is() -> None:
    report = convert_version(summing(ir_version=3), 12, options=Options(runtime="onnxruntime")).report
    assert report.comparison is not None and (report.comparison.status, report.comparison.reason) == ("equal", "")
    assert len(report.warnings) == 1


# -- at which cost


def test_nothing_is_kept_where_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Snapshot, "__init__", lambda *_: pytest.fail("a copy is made"))
    assert convert_version(named_twice(), 12, compare="off").report.comparison is None
