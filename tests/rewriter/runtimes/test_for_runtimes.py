"""`--for`: which opset and IR version it chooses, what it refuses, and what a dry run says."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import command_line, convert_version, model, run
from onnx import numpy_helper

from split_rewrite.rewriter import ArgumentError, Options, UnconvertibleError, check_convertible

REDUCE = "agraph (float[2,3,4] x) => (float[2,1,4] y) <int64[1] a = {1}> { [mean] y = ReduceMean(x, a) }"
RELU = "agraph (float[2] x) => (float[2] y) { y = Relu(x) }"


TWICE = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
agraph (float[2] x) => (float[2] y) { m = local.Twice(x) y = local.Twice(m) }
<domain: "local", opset_import: ["" : 18]> Twice (a) => (b) { b = Sum(a, a, a) }"""


def opset_for(text: str, *runtimes: str, opset: int = 18) -> int:
    return convert_version(model(text, opset), options=Options(for_runtimes=runtimes)).model.opset_import[0].version


def test_an_opset_that_the_runtime_takes_stays() -> None:
    assert opset_for(RELU, "openvino-2024.6", opset=18) == 18
    assert opset_for(RELU, "openvino-2024.6", opset=15) == 15


def test_imports_that_no_node_uses_are_left_out_for_a_runtime_alone() -> None:
    """onnxruntime refuses a version that it does not know, also of a domain that nothing uses."""
    before = model('<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 9, "mine" : 1]>' + RELU)
    kept = convert_version(before, 17).model
    assert [entry.domain for entry in kept.opset_import] == ["", "ai.onnx.ml", "mine"]
    cut = convert_version(before, options=Options(for_runtimes=("onnxruntime-1.16",), verify=False)).model
    assert [entry.domain for entry in cut.opset_import] == [""]


def test_above_what_the_runtime_takes_the_best_is_chosen() -> None:
    assert opset_for(RELU, "openvino-2023.3", opset=18) == 14
    assert opset_for(RELU, "jetpack-4.6.2", opset=18) == 13


def test_a_quirk_that_another_opset_avoids_chooses_that() -> None:
    assert opset_for(REDUCE, "openvino-2024.2") == 17
    l1 = REDUCE.replace("ReduceMean", "ReduceL1")
    assert opset_for(l1, "openvino-2024.2") == 17
    assert opset_for(l1, "openvino-2026.4") == 18
    assert opset_for(l1, "openvino-2024.2", "openvino-2026.4") == 12


def test_between_two_releases_what_either_does_not_take_is_avoided() -> None:
    """The older one alone is not safe: OpenVINO 2025.4 computes an axis wrongly that 2025.0 reads right."""
    l1 = "agraph (float[2,3,4] x) => (float[2,1,4] y) { y = ReduceL1 <axes = [1]> (x) }"
    assert [opset_for(l1, f"openvino-{release}", opset=17) for release in ("2025.0", "2025.2", "2025.4")] == [17, 18, 18]
    norm = "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization (x, s) }"
    found = {
        name: convert_version(model(norm, 17), options=Options(for_runtimes=[name])).model for name in ("trt-8.5.3", "JetPack 5.2")
    }
    assert all("LayerNormalization" not in {node.op_type for node in proto.graph.node} for proto in found.values())


def test_an_unknown_release_has_one_warning(tmp_path: Path) -> None:
    onnx.save(model(RELU), tmp_path / "in.onnx")
    names = ("--for", "tensorrt-10.8", "--for", "TRT 10.8", "--for", "openvino-2024.6")
    ended = command_line(str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx"), *names)
    warning = "nothing is known about NVIDIA TensorRT 10.8 itself; what 10.1 or 10.15 does not take is avoided"
    assert (ended.status, ended.err) == (0, f"warning: {warning}\n")
    report = check_convertible(model(RELU), None, options=Options(for_runtimes=["tensorrt-10.8"]))
    assert report.warnings == [warning] and report.to_dict()["about_runtimes"] == [warning]
    assert report.runtimes == "NVIDIA TensorRT 10.8 (taken for 10.1 and 10.15)"


def test_what_nobody_says_of_ai_onnx_ml_has_a_warning() -> None:
    scaler = model("""<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 1]> g (float[N,2] x) => (float[N,2] y) {
        y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) }""")
    found = {
        name: convert_version(scaler, options=Options(for_runtimes=[name])).report.warnings for name in ("hailo-3", "ort-1.16")
    }
    warning = "nothing is known about operators of ai.onnx.ml in {}: it may not load them"
    assert any(text.startswith(warning.partition("{}")[0]) for text in found["hailo-3"])
    assert not any("ai.onnx.ml" in text for text in found["ort-1.16"])


def test_a_known_release_has_no_warning() -> None:
    assert check_convertible(model(RELU), None, options=Options(for_runtimes=["jetpack-4.6.2"])).warnings == []


def test_several_runtimes_have_to_have_an_opset_in_common() -> None:
    with pytest.raises(ArgumentError, match="no opset suits all: Horizon hb_mapper 2022 loads opsets 10 to 11; Windows ML"):
        opset_for(RELU, "horizon-2022", "winml-10.1809")


def test_a_target_that_is_given_has_to_be_taken() -> None:
    options = Options(for_runtimes=["tensorrt-8.6"])
    assert convert_version(model(REDUCE), 16, options=options).model.opset_import[0].version == 16
    with pytest.raises(ArgumentError, match=r"^target_opset 18: NVIDIA TensorRT 8.6 loads opsets 7 to 17"):
        convert_version(model(REDUCE), 18, options=options)


POOL = "agraph (float[1,1,8] x) => (float[1,1,A] y) { y = LpPool<kernel_shape = [1], strides = [2], ceil_mode = 1>(x) }"
PADDED = """agraph (float[1,1,3,8] x) => (float[1,1,3,A] y)
    { y = LpPool<kernel_shape = [3,1], strides = [1,2], pads = [1,0,1,0], ceil_mode = 1>(x) }"""


def test_a_refusal_says_which_opsets_the_runtime_loads_where_it_is_not_that_of_the_model() -> None:
    options = Options(for_runtimes=["openvino-2023.3"])
    with pytest.raises(UnconvertibleError, match=r" 18→17: .*; OpenVINO 2023.3 loads opsets 6 to 17$"):
        convert_version(model(POOL, 18), options=options)
    (blocker,) = check_convertible(model(POOL, 18), 17, options=options).blockers
    assert blocker.hint.endswith("; OpenVINO 2023.3 loads opsets 6 to 17")
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(POOL, 18), 17, options=Options(for_runtimes=["openvino-2024.6"]))
    assert "loads opsets" not in str(caught.value), "it loads the model's own"


def test_what_the_runtime_itself_refuses_is_said_rather_than_a_step_to_an_opset_that_it_likes_best() -> None:
    with pytest.raises(UnconvertibleError, match=r"^LpPool 'y' \(main graph\): Alibaba MNN 3.6 computes it wrongly"):
        convert_version(model(PADDED, 18), options=Options(for_runtimes=["mnn-3.6"]))


def test_the_ir_version_is_one_that_the_runtime_loads() -> None:
    result = convert_version(model(RELU, 13, ir_version=9), options=Options(for_runtimes=["ort-web-1.15"])).model
    assert (result.ir_version, result.opset_import[0].version) == (8, 13)


def test_functions_that_are_not_taken_are_inlined() -> None:
    """And what is in them is looked at as if it stood in the graph."""
    result = convert_version(onnx.parser.parse_model(TWICE), options=Options(for_runtimes=["mnn-3.6"])).model
    assert not result.functions
    assert [node.op_type for node in result.graph.node] == ["Sum"] * 4
    assert all(len(node.input) == 2 for node in result.graph.node)


@pytest.mark.parametrize("text", [TWICE, TWICE.replace("local.Twice", "Relu")], ids=["called", "left over"])
def test_functions_are_inlined_for_what_reads_no_ir_version_with_functions(text: str) -> None:
    before = onnx.parser.parse_model(text)
    result = convert_version(before, options=Options(for_runtimes=["onnxruntime-1.8"])).model
    assert not result.functions
    assert result.ir_version <= 7


def test_functions_that_are_taken_stay() -> None:
    result = convert_version(onnx.parser.parse_model(TWICE), options=Options(for_runtimes=["onnxruntime-1.20"])).model
    assert [function.name for function in result.functions] == ["Twice"]


def test_a_function_that_cannot_be_inlined_is_refused() -> None:
    other = onnx.parser.parse_model(TWICE.replace('["" : 18]>', '["" : 17]>'))
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(other, options=Options(for_runtimes=["mnn-3.6"]))
    assert "Alibaba MNN 3.6 does not take local functions" in str(caught.value)


def npu_without(folder: Path, *types: str) -> Options:
    """Options for a runtime that takes opset 21, and none of `types`."""
    profile = folder / "npu.toml"
    named = ", ".join(f'"{kind}"' for kind in types)
    profile.write_text(
        f'title = "NPU"\n[[release]]\nfrom = "1"\nopset = {{ max = 21 }}\ntypes_refused = [{named}]\nevidence = "by documentation"\n'
    )
    return Options(for_runtimes=[str(profile)])


WEIGHTS = "g (float[1] x) => (float[4] y) <float8e4m3fn[4] w = {1, 2, 3, 126}> { v = Cast <to = 1> (w)  y = Add (x, v) }"


@pytest.mark.parametrize(("types", "wide"), [(["float8e4m3fn"], "float16"), (["float8e4m3fn", "float16"], "float32")])
def test_a_narrow_type_that_is_not_taken_gives_way_though_the_opset_has_it(tmp_path: Path, types: list[str], wide: str) -> None:
    given = model(WEIGHTS, 21, 10)
    result, report = convert_version(given, compare="nodes", options=npu_without(tmp_path, *types))
    (weight,) = result.graph.initializer
    assert (numpy_helper.to_array(weight).dtype.name, report.target_opset) == (wide, 21)
    numbers = np.uint8([1, 2, 3, 126]).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    np.testing.assert_array_equal(run(result, {"x": np.float32([2])})[0], numbers + 2)
    assert report.comparison is not None and report.comparison.status == "equal"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "g (float8e5m2[2] x) => (float[2] y) { y = Cast <to = 1> (x) }",
            "Input 'x' (main graph): the model's input is float8e5m2, which NPU 1 does not take. Hint: change the model's inputs",
        ),
        (
            "g (float[2,2] x) => (float[2,2] y) { b = Cast <to = 16> (x)  c = MatMul (b, b)  y = Cast <to = 1> (c) }",
            "MatMul 'c' (main graph): it computes in bfloat16, which NPU 1 does not take, and in a wider type the result would not be "
            "the same to the last bit. Hint: --allow float32-for-bfloat16 computes in float",
        ),
    ],
    ids=["interface", "arithmetic"],
)
def test_a_narrow_type_that_cannot_give_way(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(text, 21, 10), options=npu_without(tmp_path, "float8e5m2", "bfloat16"))
    assert message in str(caught.value)


def test_bfloat16_on_the_cpu() -> None:
    """onnxruntime has no kernel for a product in bfloat16, and runs the one in float."""
    text = "g (float[2,2] x) => (float[2,2] y) { b = Cast <to = 16> (x)  c = MatMul (b, b)  y = Cast <to = 1> (c) }"
    options = Options(for_runtimes=["onnxruntime-1.20"], allow=frozenset({"float32-for-bfloat16"}))
    x = np.float32([[1, 2], [3, 4]])
    np.testing.assert_array_equal(run(convert_version(model(text, 17), options=options).model, {"x": x})[0], x @ x)


def test_a_dry_run_lists_what_is_refused_or_wrong(tmp_path: Path) -> None:
    text = REDUCE.replace("{ [mean]", "{ [most] m = Max(x, x, x)\n[mean]").replace("(x, a)", "(m, a)").replace("Mean", "L1")
    onnx.save(model(text), tmp_path / "m.onnx")
    ended = command_line("--dry-run", "--for", "mnn-3.6", str(tmp_path / "m.onnx"))
    assert ended.status == 0
    assert "avoided: Max 'most' (main graph): Alibaba MNN 3.6 computes it wrongly (Three or more operands)" in ended.out
    assert any(line.split() == ["for", "Alibaba", "MNN", "3.6"] for line in ended.out.splitlines())


def test_what_is_wrong_at_the_opset_of_the_model_is_said() -> None:
    report = check_convertible(model(REDUCE.replace("Mean", "L1"), 18), None, options=Options(for_runtimes=["openvino-2026.4"]))
    assert [remark for remark in report.remarks if remark.kind == "avoided"] == []
    down = model(REDUCE.replace("Mean", "L1").replace("(x, a)", "<axes=[1]>(x)"), 17)
    report = check_convertible(down, None, options=Options(for_runtimes=["openvino-2026.4"]))
    (remark,) = [remark for remark in report.remarks if remark.kind == "avoided"]
    assert remark.node == "mean" and remark.message.startswith("OpenVINO 2026.4 computes it wrongly (Reduce axes as an attribute")
    assert report.target_opset == 18


def test_names_are_a_collection() -> None:
    with pytest.raises(TypeError, match="for_runtimes has to be a collection of names of runtimes, not 'mnn'"):
        Options(for_runtimes="mnn")


RNN = "<float[1,4,2] w = {{1, 2, 3, 4, 5, 6, 7, 8}}, float[1,4,1] r = {{1, 2, 3, 4}}{more}> {{ y = LSTM<hidden_size = 1{attributes}>({inputs}) }}"
NOT_TAKEN = {
    "no-kernel": (
        "onnxruntime-1.16",
        "g (double[2] x) => (double[2] y) { y = Selu(x) }",
        "the type of 'x' is double, not float or float16",
    ),
    "no-kernel-here": ("onnxruntime-1.32", "g (double[2] x) => (double[2] y) { y = Selu(x) }", "the type of 'x' is double"),
    "clip": ("mnn-3.6", ("", ", clip = 0.5", "x, w, r"), "it has clip"),
    "peepholes": ("openvino-2026.4", (", float[1,3] p = {1, 2, 3}", "", "x, w, r, , , , , p"), "it has P"),
    "forgets": ("opencv-4.12", ("", ", input_forget = 1", "x, w, r"), "input_forget is 1, not 0"),
    "large-first": (
        "openvino-2026.4",
        "g (int64[2] x) => (int64[2] y) { c = Constant<value_int = 4294967298>()  y = Sub(c, x) }",
        "A is 4294967298, not -2147483647 to 2147483647",
    ),
    "large-and-spread": (  # what is known counts, not what is stored
        "openvino-2026.4",
        "g (int64[2] x) => (int64[2] y) <int64[1] c = {4294967298}> { n = Constant<value_ints = [2]>()  t = Tile(c, n)  y = Mul(x, t) }",
        "B is 4294967298, not -2147483647 to 2147483647",
    ),
    "product-in-float": (
        "mnn-3.6",
        "g (int32[2] x) => (int32[2] y) <int32 c = {16777217}> { y = Mul(x, c) }",
        "B is 16777217, not -16777216 to 16777216",
    ),
    "product-in-float-with-a-matrix": (
        "mnn-3.6",
        "g (int32[1,2] x) => (int32[1,2] y) <int32[1,2] c = {1, 16777217}> { y = Mul(x, c) }",
        "B is 16777217, not -16777216 to 16777216",
    ),
    "bits-by-products-in-float": ("mnn-3.6", "g (int32[2] x) => (int32[2] y) { y = BitwiseOr(x, x) }", "B is -2147483648", 18),
    "needs-32-bits": ("openvino-2024.2", "g (int32[2] x) => (int32[2] y) { y = BitwiseAnd(x, x) }", "B is -2147483648", 18),
}


@pytest.mark.parametrize("case", NOT_TAKEN)
def test_what_a_runtime_computes_otherwise_is_refused(case: str) -> None:
    name, text, reason, *opset = NOT_TAKEN[case]
    if isinstance(text, tuple):
        more, attributes, inputs = text
        text = "g (float[3,1,2] x) => (float[3,1,1,1] y) " + RNN.format(more=more, attributes=attributes, inputs=inputs)
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(text, *opset or [13]), options=Options(for_runtimes=[name]))
    assert f"does not allow it: {reason}" in str(caught.value) or f"; {reason}" in str(caught.value)


def test_an_input_of_a_type_that_is_not_taken() -> None:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model("g (float16[2] x) => (float16[2] y) { y = Relu(x) }", 13), options=Options(for_runtimes=["mnn-3.6"]))
    assert "Alibaba MNN 3.6 takes no inputs of type float16. Hint: let the model take another type, and cast it" in str(
        caught.value
    )


def test_weights_are_written_into_the_file_for_a_runtime_that_reads_no_others(tmp_path: Path) -> None:
    proto = model("g (float[2,300] x, float[300,300] w) => (float[2,300] y) { y = MatMul(x, w) }", 17)
    proto.graph.input.pop()
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((300, 300), np.float32), "w"))
    onnx.save(proto, tmp_path / "in.onnx", save_as_external_data=True, location="weights")
    refused = command_line("--for", "opencv-4.12", f"{tmp_path}/in.onnx", f"{tmp_path}/out.onnx", "--external-data", "copy")
    assert (refused.status, refused.err) == (
        2, "error: --external-data copy: OpenCV dnn 4.12 reads no external data; leave the option out\n",
    )  # fmt: skip
    assert command_line("--for", "opencv-4.12", f"{tmp_path}/in.onnx", f"{tmp_path}/out.onnx", "--no-verify").status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.onnx", "out.onnx", "weights"]
    result = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    assert [tensor.data_location for tensor in result.graph.initializer] == [onnx.TensorProto.DEFAULT]
    command_line("--for", "opencv-5.0", f"{tmp_path}/in.onnx", f"{tmp_path}/five.onnx", "--no-verify")
    other = onnx.load(tmp_path / "five.onnx", load_external_data=False)
    assert [tensor.data_location for tensor in other.graph.initializer] == [onnx.TensorProto.EXTERNAL]


@pytest.mark.parametrize("release", ["2024.2", "2026.4"])
def test_openvino_gets_no_transform_that_its_importer_refuses_or_computes_wrongly(release: str) -> None:
    """Its importer wants a signal of three axes and known lengths, and makes an axis too many of a one-sided DFT."""
    text = "g (float[2,N] x) => (float[2,A,B,2] y) <int64 step = {3}, float[4] w = {1, 2, 2, 1}> { y = STFT <onesided = 1> (x, step, w) }"
    options = Options(for_runtimes=[f"openvino-{release}"], verify=False)
    result = convert_version(model(text, 17), compare="required", options=options)
    nodes = result.model.graph.node
    assert "STFT" not in [node.op_type for node in nodes]
    assert not [node for node in nodes if node.op_type == "DFT" and any(a.name == "onesided" and a.i for a in node.attribute)]
    assert result.report.comparison is not None and result.report.comparison.status == "equal"


BRANCHES = """g (float[N,2] x, bool c) => (float[N,2] y) { y = If (c) <
    then_branch = t () => (float[N,2] a) { a = Neg (x) }, else_branch = e () => (float[N,2] b) { b = Mul (x, x) }> }"""


def test_an_if_of_open_lengths_keeps_to_its_first_branch_in_openvino() -> None:
    failing = BRANCHES.replace("a = Neg (x)", "s = Shape (x) a = Reshape (x, s)")
    message = (
        r"If 'y' .*: OpenVINO 2026.1 computes it wrongly .*: the shape \(N, 2\).* Hint: fix it with --overwrite-input-shape x:N,2"
    )
    with pytest.raises(UnconvertibleError, match=message):
        convert_version(model(failing, 17), options=Options(for_runtimes=["openvino-2026.1"]))
    for name, text, last in (
        ("openvino-2026.1", BRANCHES, "Where"),
        ("openvino-2026.1", failing.replace("[N", "[3"), "If"),
        ("openvino-2026.4", failing, "If"),
    ):
        assert convert_version(model(text, 17), options=Options(for_runtimes=[name])).model.graph.node[-1].op_type == last


@pytest.mark.parametrize(("indices", "stays"), [("b", True), ("6", False)])
def test_opencv_loads_an_open_batch_as_one_row(indices: str, stays: bool) -> None:
    """OpenCV 4.12 asks whether updates and indices have the same shape when it loads the model, where an open length is 1."""
    text = f"""g (float[6,4] x, int64[{indices},1] i, float[b,1] u) => (float[6,4] y) {{
        n = Abs(x) t = ScatterElements<axis = 1>(n, i, u) y = Neg(t) }}"""
    stored = text.replace(", int64[6,1] i", "").replace("(float[6,4] y)", "(float[6,4] y) <int64[6,1] i = {0,1,2,3,0,1}>")
    result = convert_version(model(text if stays else stored, 13), options=Options(for_runtimes=["opencv-4.12"])).model
    assert ("ScatterElements" in [node.op_type for node in result.graph.node]) is stays
