"""`--for` with a list of allowed operators: what is refused, what may stay, and which other form is taken."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import onnx
import pytest
from fitting import for_a_list, refused_for
from helpers import command_line, convert_version, model, run

from split_rewrite.rewriter import ConversionResult, Options, UnconvertibleError
from split_rewrite.rewriter.engine import fitting
from split_rewrite.rewriter.engine.fitting import MOST_TRIALS, Plan, Plans
from split_rewrite.rewriter.engine.registry import Way, avoid
from split_rewrite.rewriter.engine.task import Task
from split_rewrite.rewriter.engine.ways import Ways
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.rewriter.storage.skeleton import Skeleton
from split_rewrite.rewriter.structure import declarations

HEAD = '{}\ntitle = "NPU"\n[[release]]\nfrom = "1"\nopset = {{ min = 11, max = 18 }}\nevidence = "by documentation"\n'
LAST = "\n[[rule]]\noperators = ['Softmax']\nattr = { axis = [-1] }\n"
SOFTMAX = "g (float[1,4,8,8] x) => (float[1,4,8,8] y) { [soft] y = Softmax<axis = 1>(x) }"
GELU = "g (float[2,3] x) => (float[2,3] y) { [act] y = Gelu(x) }"
FOREIGN = '<ir_version: 8, opset_import: ["" : 18, "a.b" : 1]>\ng (float[2] x) => (float[2] y) { [mine] y = a.b.Own(x) }'
OPEN = "g (float[N,4] x) => (float[N,4] y) { [act] y = Relu(x) }"
TOPK = "g (float[4] x, int64[1] k) => (float[2] y, int64[2] i) { t = Relu(x) [top] y, i = TopK(t, k) }"


def profile(folder: Path, operators: list[str], rules: str = "", head: str = "") -> str:
    path = folder / "npu.toml"
    path.write_text(f"{HEAD.format(head)}operators_allowed = {operators}\n{rules}", encoding="utf-8")
    return str(path)


def convert(name: str, text: str, opset: int = 18, **options: bool) -> ConversionResult:
    return convert_version(model(text, opset), options=Options(for_runtimes=[name], **options))


def refused(name: str, text: str, opset: int = 18, **options: bool) -> str:
    with pytest.raises(UnconvertibleError) as caught:
        convert(name, text, opset, **options)
    return str(caught.value)


def operators(result: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in result.graph.node]


# -- what does not fit


def test_an_operator_without_another_form_is_refused(tmp_path: Path) -> None:
    message = refused(profile(tmp_path, ["Relu"]), TOPK)
    reason = "NPU 1 does not allow it: it is not among the operators; there is no other form of this TopK"
    assert message.startswith(f"TopK 'top' (main graph): {reason}")


def test_a_message_says_what_each_other_form_lacks(tmp_path: Path) -> None:
    message = refused(profile(tmp_path, ["Softmax"], LAST), SOFTMAX)
    assert (
        "NPU 1 does not allow it: axis is 1, not 3; not by softmaxes.over_the_last_axis, since its rewrite needs Transpose"
        in message
    )


def test_operators_of_other_domains_have_to_be_named(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(FOREIGN.replace("[mine] ", ""))
    with pytest.raises(UnconvertibleError, match=r"Own 'y' .*: NPU 1 does not allow it: it is not among the operators"):
        convert_version(proto, options=Options(for_runtimes=[profile(tmp_path, ["Relu"])]))
    name = profile(tmp_path, ["Relu", "a.b::Own"])
    assert operators(convert_version(proto, options=Options(for_runtimes=[name])).model) == ["Own"]


def test_open_shapes_are_refused_where_the_list_wants_none(tmp_path: Path) -> None:
    assert "the shape of 'x' is open: N" in refused(profile(tmp_path, ["Relu"], "[all]\nstatic = true"), OPEN)


# -- what nobody can tell


UNKNOWN = "[[rule]]\noperators = ['Relu']\nquant = { X = 'per_tensor' }"


def test_what_nobody_can_tell_is_a_warning(tmp_path: Path) -> None:
    report = convert(profile(tmp_path, ["Relu"], UNKNOWN), OPEN).report
    reason = "the profile has the key 'quant', which is not known here"
    assert report.warnings == [f"Relu 'act' (main graph): nobody can tell whether NPU 1 allows it: {reason}"]
    assert "nobody can tell" in refused(profile(tmp_path, ["Relu"], UNKNOWN), OPEN, strict=True)


def test_what_nobody_can_tell_is_refused_where_the_runtime_says_nothing(tmp_path: Path) -> None:
    assert "nobody can tell whether NPU 1 allows it" in refused(profile(tmp_path, ["Relu"], UNKNOWN, "otherwise = 'silent'"), OPEN)


def test_conditions_in_words_are_listed(tmp_path: Path) -> None:
    name = profile(tmp_path, ["Relu"], "[[rule]]\noperators = ['Relu']\nnote = 'fused only'")
    report = convert(name, OPEN).report
    assert [(remark.kind, remark.message) for remark in report.remarks] == [("unchecked", "NPU 1: fused only")]


# -- what the runtime leaves to the CPU


def test_a_fallback_is_reported_and_can_be_refused(tmp_path: Path) -> None:
    name = profile(tmp_path, ["Relu"], head="otherwise = 'fallback'")
    (remark,) = convert(name, TOPK).report.remarks
    assert (remark.kind, remark.node, remark.message) == (
        "fallback",
        "top",
        "NPU 1 does not allow it: it is not among the operators",
    )
    assert "TopK 'top'" in refused(name, TOPK, no_fallback=True)


def test_the_command_line_counts_what_falls_back(tmp_path: Path) -> None:
    onnx.save(model(TOPK), tmp_path / "m.onnx")
    name = profile(tmp_path, ["Relu"], head="otherwise = 'fallback'")
    run = command_line("--for", name, str(tmp_path / "m.onnx"), str(tmp_path / "o.onnx"))
    assert run.err == ""
    assert (run.status, "on the CPU" in run.out, "1 of 2 nodes: TopK (-v says why)" in run.out) == (0, True, True)
    assert command_line("--for", name, "--no-fallback", str(tmp_path / "m.onnx"), str(tmp_path / "p.onnx")).status == 1


# -- other forms


def test_another_form_is_taken_and_explained(tmp_path: Path) -> None:
    result = convert(profile(tmp_path, ["Softmax", "Transpose"], LAST), SOFTMAX)
    assert operators(result.model) == ["Transpose", "Softmax", "Transpose"]
    (remark,) = result.report.remarks
    assert remark.message.endswith("axis is 1, not 3; written by softmaxes.over_the_last_axis (3 nodes, 768 elements)")


def test_the_expansion_for_older_opsets_is_taken_at_the_same_opset(tmp_path: Path) -> None:
    result = convert(profile(tmp_path, ["Erf", "Mul", "Add", "Div"]).replace("max = 18", "max = 20"), GELU, 20)
    assert sorted(operators(result.model)) == ["Add", "Div", "Erf", "Mul", "Mul"]


def test_the_cheapest_form_is_taken(tmp_path: Path) -> None:
    """Over the elementary functions it would be five nodes."""
    names = ["Softmax", "Transpose", "Sub", "ReduceMax", "Exp", "ReduceSum", "Div"]
    assert len(operators(convert(profile(tmp_path, names, LAST), SOFTMAX).model)) == 3
    assert len(operators(convert(profile(tmp_path, names[2:]), SOFTMAX).model)) == 5


def test_a_form_of_a_form_is_found(tmp_path: Path) -> None:
    names = ["Softmax", "Transpose", "Log"]
    text = SOFTMAX.replace("Softmax", "LogSoftmax")
    rules = LAST
    message = refused(profile(tmp_path, names, rules), text)
    assert "there is no other form" not in message
    result = convert(profile(tmp_path, ["Exp", "Log", "Sub", "ReduceSum", "ReduceMax"]), text)
    assert sorted(operators(result.model)) == ["Exp", "Log", "ReduceMax", "ReduceSum", "Sub", "Sub"]


def test_constants_are_stored(tmp_path: Path) -> None:
    text = "g (float[1] x) => (float[1] y) { c = Constant<value_float = 2.0>() y = Add(x, c) }"
    assert operators(convert(profile(tmp_path, ["Add"]), text).model) == ["Add"]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    name = profile(tmp_path, ["Softmax", "Transpose"], LAST)
    first, second = (convert(name, SOFTMAX).model.SerializeToString(deterministic=True) for _ in range(2))
    assert first == second


def test_what_is_computed_from_constants_alone_is_stored_also_where_it_rounds(tmp_path: Path) -> None:
    text = """g (float[2] x) => (float[2] y) {
        a = Constant<value = float {32}>() b = Constant<value = float {-0.5}>() c = Pow(a, b) y = Mul(x, c) }"""
    result = convert_version(model(text, 13), options=Options(for_runtimes=[profile(tmp_path, ["Mul"])]), compare="required")
    assert operators(result.model) == ["Mul"]
    (stored,) = (onnx.numpy_helper.to_array(tensor) for tensor in result.model.graph.initializer)
    assert abs(float(stored) - 32**-0.5) < 2e-8


def test_a_trial_takes_the_types_that_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inference of each trial as a whole was half of the time of a search."""
    weighed: list[str] = []
    weigh = declarations.weigh

    def recording(serialized: bytes, vouched: Collection[str] = ()) -> declarations.Evidence | None:
        weighed.append(onnx.ModelProto.FromString(serialized).graph.name)
        return weigh(serialized, vouched)

    monkeypatch.setattr(declarations, "weigh", recording)
    name = profile(tmp_path, ["Div", "Erf", "Add", "Mul"])
    assert "Gelu" not in operators(convert(name, GELU, 20).model)
    assert "trial" not in weighed
    assert "g" in weighed


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the forms that are tried, in order."""
    names: list[str] = []
    go = Ways.go

    def recording(self: Ways, way: Way, node: Task) -> bool:
        names.append(way.name)
        return go(self, way, node)

    monkeypatch.setattr(Ways, "go", recording)
    return names


GROUPS = "<float[16,1,1,1] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> { y = Conv <group = 16> (x, w) }"


def test_the_other_nodes_of_a_form_that_is_refused_are_left(tmp_path: Path, tried: list[str]) -> None:
    text = f"g (float[1,16,4,4] x) => (float[1,16,4,4] y) {GROUPS}"
    refused(profile(tmp_path, ["Split", "Concat", "Reshape"]), text)
    of_each_group = tried.index("products.convolution_of_each_group")
    assert tried[of_each_group:].count("products.product_with_patches") < 16


def test_reshapes_between_nodes_that_get_fewer_axes_do_not_end_the_search(tmp_path: Path) -> None:
    weights = f"<float[1,2,4,4] w = {{{','.join(map(str, range(32)))}}}>"
    text = f"g (float[1,2,8,8] x) => (float[1,1,2,2] y) {weights} {{ y = Conv <strides = [4, 4]> (x, w) }}"
    name = profile(tmp_path, ["Gemm", "Reshape", "Transpose"], "[all]\nrank = { '*' = { max = 4 } }")
    assert "Gemm" in operators(convert(name, text).model)


def test_operands_are_changed_only_for_an_operator_of_the_list(tmp_path: Path, tried: list[str]) -> None:
    text = "g (float[2] x, float[3,1] z) => (float[3,2] y) { y = Max (x, z) }"
    refused(profile(tmp_path, ["Relu"]), text)
    assert "arithmetic.negated_smallest" in tried
    assert not any(name.startswith("operands.") for name in tried)
    refused(profile(tmp_path, ["Max"], "[[rule]]\noperators = ['Max']\ntype = { '*' = ['int8'] }"), text)
    assert "operands.swapped" in tried


def test_channels_are_chosen_by_a_convolution_only_where_the_list_has_one(tmp_path: Path, tried: list[str]) -> None:
    text = "g (float[1,3,2,2] x) => (float[1,1,2,2] y) <int64[1] i = {1}> { y = Gather<axis = 1>(x, i) }"
    refused(profile(tmp_path, ["Relu"]), text)
    assert "convolutions.convolution_of_chosen_channels" not in tried
    assert operators(convert(profile(tmp_path, ["Conv"]), text).model) == ["Conv"]


def test_a_form_with_a_node_that_has_none_is_left_at_once(tmp_path: Path, tried: list[str]) -> None:
    """The largest element would be sought in twenty ways before the Exp is reached."""
    text = "g (float[4,8] x) => (float[4,8] y) { y = LogSoftmax (x) }"
    message = refused(profile(tmp_path, ["Max", "MaxPool", "Reshape", "Sub", "Log", "Slice"]), text)
    assert "not by softmaxes.logarithm_of_softmax, since its rewrite needs Exp, which is not allowed either" in message
    assert "statistics.over_one_last_axis" not in tried


def test_a_node_whose_pieces_cannot_all_be_written_is_refused_before_they_are(tmp_path: Path, tried: list[str]) -> None:
    text = "g (float[4,8] x, float[8] s) => (float[4,8] y) { [norm] y = LayerNormalization (x, s) }"
    four_axes = "[[rule]]\noperators = ['Sub']\nrank = { A = 4 }"
    name = profile(tmp_path, ["Add", "Sub", "Mul", "ReduceMean", "Div", "Reshape"], four_axes)
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(text, 17), 16, options=Options(for_runtimes=[name]))
    first = caught.value.blockers[0]
    reason = "its rewrite needs Sqrt: NPU 1 does not allow it: it is not among the operators"
    assert (first.op_type, first.node, first.reason.partition(";")[0]) == ("LayerNormalization", "norm", reason)
    assert "arithmetic.power_of_one_half" in tried
    assert not any(name.startswith("more_axes") for name in tried)


def test_a_piece_that_another_rule_rewrites_first_is_not_refused(tmp_path: Path) -> None:
    @avoid("Erf of mine", "Erf", opset=13, exact=False)
    def mine(node: Node) -> None:
        """A tangent, which is not exact."""
        node.become.Tanh(node.input(0))

    text = "g (float[2,6] x) => (float[2,6] y) { y = Gelu(x) }"
    name = profile(tmp_path, ["Tanh", "Mul", "Add", "Div"])
    result = convert_version(model(text, 20), 13, options=Options(for_runtimes=[name], rules=[mine], verify=False))
    assert "Tanh" in operators(result.model) and "Erf" not in operators(result.model)


def test_int64_of_too_many_axes_is_moved_once(tmp_path: Path) -> None:
    """On int32, with a Cast back that had too many axes, which made another Reshape of int64, and so on for ever."""
    text = """g (int32[8] x) => (float[8] y) <int64[5] five = {1,2,2,2,1}, int64[1] one = {8}> {
        wide = Cast<to = 7>(x) high = Reshape(wide, five) flat = Reshape(high, one) y = Cast<to = 1>(flat)
    }"""
    name = profile(tmp_path, ["Cast", "Reshape"], "[all]\ntype = { '*' = ['float', 'int32'] }\nrank = { '*' = { max = 4 } }")
    assert operators(convert(name, text).model) == ["Reshape", "Cast"]
    assert "the rank of" in refused(name, text.replace("(float[8] y)", "(float[8] y, int64[1,2,2,2,1] high)"))


def test_a_trial_that_stores_much_counts_as_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "AS_MUCH_AS_A_TRIAL", 4)
    plans, large = Plans(), model("g (float x) => (float y) { y = Add(x, w) }", 13)
    large.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(MOST_TRIALS, np.float32), "w"))
    plans.begin_trial(is_first=True)
    plans.begin_trial(is_first=False)
    assert not plans.are_spent()
    plans.end_trial(Model(Skeleton.of(large), constants_as_initializers=True))
    assert plans.are_spent()


def test_what_was_refused_behind_fewer_ways_is_refused_at_once() -> None:
    plans, passed_over = Plans(), ["a"]
    found = plans.search("key", ("a",), passed_over, Plan)
    assert plans.find("key", ("a",)) is plans.find("key", ("b", "a")) is found
    assert plans.find("key", ()) is None  # more ways may follow there
    assert plans.find("key", ("b",)) is None  # it may try `a`


def test_what_was_refused_for_want_of_trials_is_tried_again_elsewhere() -> None:
    plans = Plans()

    def search() -> Plan:
        assert plans.are_spent()
        return Plan()

    plans.search("key", ("a",), [], search)
    assert plans.find("key", ("a",)) is None
    refused = plans.search("other", (), [], lambda: search() and Plan())
    assert plans.find("other", ()) is refused  # equal nodes of the model have no more
    plans.begin_trial(is_first=True)
    assert not plans.are_spent()
    for _ in range(MOST_TRIALS):
        plans.begin_trial(is_first=False)
    assert plans.are_spent()
    plans.begin_trial(is_first=True)
    assert not plans.are_spent()


@pytest.mark.parametrize("most", [1, 10, 25, *range(28, 34), 50, *range(58, 64), 300])
def test_a_form_that_was_found_with_few_trials_left_is_written(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "MOST_TRIALS", most)
    text = """g (float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1, 1, 2, 2}> {
        [up] y = Resize<mode = "linear">(x, ABSENT, s) }"""
    names = "Add AveragePool Clip Concat Conv ConvTranspose DepthToSpace LeakyRelu MaxPool Mul Relu Reshape Softmax Split Sub Tanh"
    rules = "[[rule]]\noperators = ['Conv']\ndim = { 0 = [1] }\nconst = ['W']"
    try:
        assert "Conv" in operators(convert(profile(tmp_path, [*names.split(), "Transpose"], rules), text).model)
    except UnconvertibleError as refusal:
        assert str(refusal).startswith("Resize 'up' (main graph): NPU 1 does not allow it")


LOOP = """g (float[2] x) => (float[2] y) <int64 count = {3}, bool on = {1}> {
    y = Loop (count, on, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) { d = Identity(c) t = Neg(s) }>
}"""


def test_a_loop_of_known_count_is_refused_with_the_way_out(tmp_path: Path) -> None:
    name = profile(tmp_path, ["Neg"])
    assert "Hint: --static writes out a Loop of a few turns that are known" in refused(name, LOOP)
    assert operators(convert(name, LOOP, static=True).model) == ["Neg"] * 3
    computed = LOOP.replace(" <int64 count = {3}, ", " <").replace("(float[2] x)", "(float[2] x, int64 count)")
    assert "--static" not in refused(name, computed)
    read_at_run_time = LOOP.replace("(float[2] x)", "(float[2] x, bool go)").replace("Identity(c)", "Identity(go)")
    assert "--static" not in refused(name, read_at_run_time, static=True)


NARROW = [
    ("Mul", "int32", np.multiply, np.array([100, -128, 7, -3], np.int8)),
    ("Add", "int32", np.add, np.array([65535, 1, 7, 3], np.uint16)),
    ("Max", "float", np.maximum, np.array([32767, -32768, 7, -3], np.int16)),
]


@pytest.mark.parametrize(("op_type", "wide", "meaning", "numbers"), NARROW)
def test_a_type_that_is_not_on_the_list_is_computed_in_a_wider_one(
    op_type: str, wide: str, meaning: np.ufunc, numbers: np.ndarray, tmp_path: Path
) -> None:
    kind = numbers.dtype
    proto = model(f"g ({kind}[4] x) => ({kind}[4] y) {{ y = {op_type} (x, x) }}", 14)
    rules = f'[[rule]]\noperators = ["{op_type}"]\ntype = {{ "*" = ["{wide}"] }}'
    result = convert_version(proto, 14, options=for_a_list(tmp_path, ["Cast", op_type], rules)).model
    assert operators(result) == ["Cast", op_type, "Cast"]
    np.testing.assert_array_equal(run(result, {"x": numbers})[0], meaning(numbers, numbers))


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("g (double[4] x) => (double[4] y) { y = Mul (x, x) }", "float"),
        ("g (int32[4] x) => (int32[4] y) { y = Mul (x, x) }", "double"),
        ("g (int64[4] x) => (int64[4] y) { y = Mul (x, x) }", "double"),
    ],
)
def test_no_type_is_taken_that_does_not_hold_the_numbers(text: str, taken: str, tmp_path: Path) -> None:
    rules = f'[[rule]]\noperators = ["Mul"]\ntype = {{ "*" = ["{taken}"] }}'
    assert "does not allow it: the type of 'x' is " in refused_for(tmp_path, ["Cast", "Mul"], model(text, 13), rules)
