"""Rules of a caller, of every kind, for one conversion: they come before those of this package, and their mistakes are theirs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
from helpers import model, run
from onnx import TensorProto, numpy_helper

from split_rewrite.rewriter import (
    ArgumentError,
    CompareError,
    Options,
    Report,
    UnconvertibleError,
    check_convertible,
    convert_version,
)
from split_rewrite.rewriter.engine.registry import (
    avoid,
    decompose,
    downgrade,
    express,
    registry,
    replace,
    simplify,
    upgrade,
)
from split_rewrite.rewriter.errors import Unconvertible
from split_rewrite.rewriter.graph.node import Node

RELU = "g (float[2] x) => (float[2] y) { [n] y = Relu(x) }"
GELU = "g (float[3] x) => (float[3] y) { y = Gelu(x) }"
SPLIT = "g (float[2] x) => (float[1] a, float[1] b) { a, b = Split(x) }"


def options(*rules: Callable[[Node], None], **more: Any) -> Options:
    return Options(rules=rules, **more)


def nodes(proto: Any) -> list[tuple[str, str]]:
    return [(node.domain, node.op_type) for node in proto.graph.node]


# -- what is refused

NEVER = [
    (simplify("Relu", opset=99), "is for opset 99, and onnx knows opsets 1 to "),
    (upgrade("Split", 0), "is for opset 0, and onnx knows opsets 1 to "),
    (upgrade("Split", 14), "is for opset 14, which brought no new version of Split"),
    (downgrade("Split", 1), "is for opset 1, and onnx knows opsets 1 to "),
    (simplify("Relux", opset=13), "is for Relux, not an operator of ONNX; 'replace' is for other domains"),
    (simplify("all operators", opset=13), "is for all operators, not an operator of ONNX"),
    (decompose("Relu", opset=13), "is for opsets without Relu, and every opset has it"),
    (replace("", "Relu", opset=13), "replaces an operator of ONNX's own domain, as only 'simplify' and 'decompose' can"),
    (replace("ai.onnx", "Relu", opset=13), "replaces an operator of ONNX's own domain"),
]


@pytest.mark.parametrize(("decorate", "message"), NEVER, ids=[message for _, message in NEVER])
@pytest.mark.parametrize("act", [convert_version, check_convertible])
def test_a_rule_that_could_never_be_used_is_an_error_at_the_call(decorate: Any, message: str, act: Any) -> None:
    def rule(node: Node) -> None:
        raise AssertionError("it is never used")

    with pytest.raises(ArgumentError, match=f"^rules: test_own_rules.rule {message}"):
        act(model(RELU, 13), 13, options=options(decorate(rule)))


def two_inputs(node: Node) -> None:
    node.become.Relu(node.input(0), node.input(0))


def no_inputs(node: Node) -> None:
    node.become.Concat(axis=0)


def odd_attribute(node: Node) -> None:
    node.become.Relu(node.input(0), axis=1)


def attribute_of_another_type(node: Node) -> None:
    node.become.Softmax(node.input(0), axis=0.5)


def no_attribute(node: Node) -> None:
    node.become.Concat(node.input(0))


def too_young(node: Node) -> None:
    node.become.Gelu(node.input(0))


def other_types(node: Node) -> None:
    node.become.Add(node.input(0), node.op.int64([1]))


def other_shapes(node: Node) -> None:
    node.become.MatMul(node.input(0), node.op.const([[1.0, 2.0]] * 3, TensorProto.FLOAT))


def no_float(node: Node) -> None:
    node.become.Not(node.input(0))


def another_result(node: Node) -> None:
    node.become.Cast(node.input(0), to=TensorProto.DOUBLE)


def from_nowhere(node: Node) -> None:
    node.become.Elu("nowhere")


def from_itself(node: Node) -> None:
    node.become.Elu(node.output(0))


def failing(node: Node) -> None:
    raise KeyError("x")


def leaving(node: Node) -> None:
    raise SystemExit(3)


def speechless(node: Node) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    raise Mute


def converting(node: Node) -> None:
    convert_version(onnx.ModelProto(), 13)


def removing(node: Node) -> None:
    node.remove()


def renaming(node: Node) -> None:
    node.set_output(0, "other")


def half_stored(node: Node) -> None:
    tensor = numpy_helper.from_array(np.zeros(2, np.float32), "half")
    tensor.dims[0] = 5
    node.become.Add(node.input(0), node.add_tensor(tensor))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (two_inputs, "wrote an invalid Relu: it has 2 inputs, and takes 1"),
        (no_inputs, "wrote an invalid Concat: it has 0 inputs, and takes 1 or more"),
        (odd_attribute, "wrote an invalid Relu: it has no attribute axis at this opset"),
        (attribute_of_another_type, "wrote an invalid Softmax: its attribute axis has to be of type INT"),
        (no_attribute, "wrote an invalid Concat: its attribute axis is missing"),
        (too_young, "wrote an invalid Gelu: opset 13 does not have it"),
        (other_types, r"wrote an invalid Add: 'x' \(float\) and 'y_constant' \(int64\) have to be of one type"),
        (no_float, "wrote an invalid Not: it does not take float as 'x'"),
        (another_result, "wrote an invalid Cast: it makes double of 'y', which is float"),
        (from_nowhere, "wrote an invalid Elu: it reads 'nowhere', which nothing makes"),
        (from_itself, "wrote an invalid Elu: it reads 'y', which it makes itself"),
        (failing, r"failed on Relu 'n' \(main graph\): KeyError: 'x'"),
        (leaving, r"failed on Relu 'n' \(main graph\): SystemExit: 3"),
        (speechless, r"failed on Relu 'n' \(main graph\): Mute: it has no text"),
        (converting, r"failed on Relu 'n' \(main graph\): InvalidModelError: the model states no IR version; .*"),
        (removing, "left nothing that makes 'y', which is read"),
        (renaming, "left nothing that makes 'y', which is read"),
        (half_stored, r"failed on Relu 'n' \(main graph\): InvalidModelError: tensor 'half': has 8 bytes of data, but .*"),
    ],
)
def test_the_mistakes_of_a_rule_are_told_as_its_own(function: Callable[[Node], None], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^rules: test_own_rules.{function.__name__} {message}$"):
        convert_version(model(RELU, 13), 13, options=options(simplify("Relu", opset=13)(function)))


@pytest.mark.parametrize("text", [RELU, "g (float[2] x) => (float[2] y) { y = Neg(x) }"])
def test_the_mistake_of_a_condition_is_told_as_that_of_its_rule(text: str) -> None:
    def broken(node: Node) -> bool:
        raise KeyError("x")

    @simplify(("Relu", "Neg"), opset=13, when=broken)
    def never(node: Node) -> None:
        raise AssertionError("it is never used")

    with pytest.raises(
        ArgumentError, match=r"^rules: test_own_rules.never failed on (Relu|Neg) '.' \(main graph\): KeyError: 'x'$"
    ):
        convert_version(model(text, 13), 13, options=options(never))


def test_shapes_that_do_not_fit_are_told_with_the_rule() -> None:
    with pytest.raises(ArgumentError, match=r"^rules: the result is not valid after test_own_rules.other_shapes: .*MatMul"):
        convert_version(model(RELU, 13), 13, options=options(simplify("Relu", opset=13)(other_shapes)))


def test_what_a_newer_form_takes_is_adapted_and_no_mistake() -> None:
    """Max of int32 came with opset 12, and a rule may be written for the form of opset 8."""

    @simplify("Relu", opset=8)
    def as_max(node: Node) -> None:
        node.become.Max(node.input(0), node.op.const(0, TensorProto.INT32))

    result = convert_version(model("g (int32[2] x) => (int32[2] y) { y = Relu(x) }", 14), 14, options=options(as_max)).model
    assert [node.op_type for node in result.graph.node] == ["Max"]


def test_a_value_that_an_edited_node_makes_is_defined() -> None:
    @simplify("Relu", opset=13)
    def squared(node: Node) -> None:
        old, inner = node.output(0), node.fresh_name("t")
        node.proto.output[0] = inner
        node.edited()
        node.become.Abs(node.input(0))
        node.after.Mul(inner, inner, output=old)

    text = "g (float[2] x) => (float[2] z) { y = Relu(x) z = Neg(y) }"
    result = convert_version(model(text, 13), 13, compare="off", options=options(squared)).model
    assert [node.op_type for node in result.graph.node] == ["Abs", "Mul", "Neg"]


def test_a_type_that_there_is_not_is_the_fault_of_the_rule() -> None:
    @simplify("Relu", opset=13)
    def to_nowhere(node: Node) -> None:
        node.become.Cast(node.input(0), to=2**40)

    with pytest.raises(ArgumentError, match=r"^rules: "):
        convert_version(model(RELU, 13), 13, options=options(to_nowhere))


def test_types_within_a_body_and_of_lists_are_judged() -> None:
    text = """g (float[2] x, bool c) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] p) { p = Relu(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }>
    }"""
    with pytest.raises(ArgumentError, match=r"wrote an invalid Add: 'x' \(float\) and '\w+' \(int64\) have to be of one type"):
        convert_version(model(text, 13), 13, options=options(simplify("Relu", opset=13)(other_types)))

    def list_of_one(node: Node) -> None:
        node.become.SequenceConstruct(node.input(0))

    with pytest.raises(ArgumentError, match=r"wrote an invalid SequenceConstruct: it does not make float as 'y'"):
        convert_version(model(RELU, 13), 13, options=options(simplify("Relu", opset=13)(list_of_one)))


def test_a_decomposition_has_to_remove_the_operator() -> None:
    @decompose("Gelu", opset=13)
    def idle(node: Node) -> None:
        """Does nothing."""

    with pytest.raises(ArgumentError, match=r"^rules: test_own_rules.idle left its Gelu in place$"):
        convert_version(model(GELU, 20), 13, options=options(idle))


def test_rules_that_do_not_come_to_an_end_are_named() -> None:
    @simplify("Relu", opset=13)
    def there(node: Node) -> None:
        node.become.of("mine", 1).There(node.input(0))

    @replace("mine", "There", opset=13)
    def back(node: Node) -> None:
        node.become.Relu(node.input(0))

    with pytest.raises(ArgumentError, match=r"^rules: those for Relu do not come to an end, the last of them test_own_rules"):
        convert_version(model(RELU, 13), 13, options=options(there, back))


def test_rules_that_grow_for_ever_are_named() -> None:
    @simplify("Relu", opset=13)
    def doubled(node: Node) -> None:
        node.set_input(0, node.op.Relu(node.input(0)))

    with pytest.raises(ArgumentError, match=r"^rules: those for Relu do not come to an end, the last of them test_own_rules"):
        convert_version(model(RELU, 13), 13, options=options(doubled))


def test_only_functions_are_rules() -> None:
    class Family:
        @simplify("Relu", opset=13)
        def first(self, node: Node) -> None:
            """A method, which needs an object."""

    with pytest.raises(TypeError, match=r"^a rule is a function made by .def., not a method: let a function of its own call it$"):
        simplify("Relu", opset=13)(Family().first)
    with pytest.raises(TypeError, match="not a partial"):
        simplify("Relu", opset=13)(partial(failing))
    with pytest.raises(ArgumentError, match="is not a function decorated as a rule"):
        convert_version(model(RELU, 13), 13, options=options(Family().first))


@pytest.mark.parametrize(("operators", "opset"), [("Relu", "13"), (None, 13), (("Relu", 1), 13)])
def test_operators_are_strings_and_opsets_integers(operators: Any, opset: Any) -> None:
    with pytest.raises(TypeError, match=r"^simplify: operators are strings and opsets are integers, not "):
        simplify(operators, opset=opset)


def test_domains_are_strings_and_versions_from_1() -> None:
    with pytest.raises(TypeError, match=r"^replace: the domain is a string, not None$"):
        replace(None, "Odd", opset=13)  # type: ignore[arg-type] # what is tested

    @simplify("Relu", opset=13)
    def unversioned(node: Node) -> None:
        node.become.of("mine", -1).Odd(node.input(0))

    with pytest.raises(ArgumentError, match=r"unversioned failed on .* its version an integer from 1 on, not 'mine' and -1$"):
        convert_version(model(RELU, 13), 13, options=options(unversioned))


@pytest.mark.parametrize(
    ("value", "kind"), [(1.5, "int64"), ([1, 300], "int8"), (np.array([300]), "uint8"), (np.array([-1]), "uint32")]
)
def test_constants_are_not_rounded_or_wrapped(value: Any, kind: str) -> None:
    @simplify("Relu", opset=13)
    def stored(node: Node) -> None:
        node.op.const(value, kind)

    result = convert_version(model(RELU, 13), 13, options=options(stored))
    assert [each.op_type for each in result.model.graph.node] == ["Relu"]
    assert not result.report.applied


def test_a_wrong_rule_does_not_pass_the_comparison() -> None:
    @simplify("Relu", opset=13)
    def gone(node: Node) -> None:
        node.forward(0, node.input(0))
        node.remove()

    with pytest.raises(CompareError, match="Relu became Identity"):
        convert_version(model(RELU, 13), 13, options=options(gone))


def test_a_domain_is_not_imported_in_two_versions() -> None:
    text = """<ir_version: 8, opset_import: ["" : 13, "mine" : 2]> g (float[2] x) => (float[2] y) { a = mine.Odd(x) y = Celu(a) }"""
    with pytest.raises(UnconvertibleError, match="its form needs mine in version 1, and the model imports version 2"):
        convert_version(model(text), 11, options=options(decompose_celu))


# -- what each kind does


@decompose("Celu", opset=11, exact=False)
def decompose_celu(node: Node) -> None:
    node.become.of("mine", 1).Celu(node.input(0), alpha=node.attr("alpha", 1.0))


@decompose("Gelu", opset=13, exact=False)
def own_gelu(node: Node) -> None:
    op, x, kind = node.op, node.input(0), node.need_elem_type()
    share = op.Add(op.const(1, kind), op.Erf(op.Mul(x, op.const(0.5**0.5, kind))))
    node.become.Mul(op.Mul(x, op.const(0.5, kind)), share)


@downgrade("Split", 13)
def no_split(node: Node) -> None:
    raise Unconvertible("nobody splits here", "ask")


@avoid("a form of my own", "Sigmoid", opset=13, exact=False)
def no_sigmoid(node: Node) -> None:
    op, kind = node.op, node.need_elem_type()
    node.become.Div(op.const(1, kind), op.Add(op.const(1, kind), op.Exp(op.Neg(node.input(0)))))


def converted(text: str, opset: int, target: int, rules: Sequence[Callable[[Node], None]]) -> tuple[Any, Report]:
    return convert_version(model(text, opset), target, options=options(*rules))


def test_a_rule_of_the_caller_comes_first_and_only_where_it_is_given(caplog: pytest.LogCaptureFixture) -> None:
    names = {rule.name for rule in registry}
    with caplog.at_level(logging.INFO, "split_rewrite"):
        result, report = converted(GELU, 20, 13, [own_gelu])
    assert report.applied == {"test_own_rules.own_gelu": 1} and report.comparison is not None
    assert report.comparison.status == "equal"
    assert "test_own_rules.own_gelu takes the place of gelu.in_elementary_functions for Gelu" in caplog.text
    x = np.array([-1, 0, 2], np.float32)
    np.testing.assert_allclose(run(result, {"x": x})[0], [-0.15865526, 0, 1.9544997], rtol=1e-6)
    assert converted(GELU, 20, 13, [])[1].applied == {"gelu.in_elementary_functions": 1}
    assert {rule.name for rule in registry} == names


def test_a_step_of_the_caller_takes_the_place_of_that_of_the_package() -> None:
    with pytest.raises(UnconvertibleError, match=r"nobody splits here\. Hint: ask"):
        converted(SPLIT, 13, 11, [no_split])
    assert converted(SPLIT, 13, 11, [])[0].graph.node[0].op_type == "Split"


@downgrade("Split", 13)
def sizes_as_attribute(node: Node) -> None:
    node.set_attr("split", node.const_input(1, "the sizes").tolist())
    node.drop_input(1)


@upgrade("Split", 13)
def sizes_as_input(node: Node) -> None:
    node.add_input(node.op.int64(node.pop_attr("split")))


def test_a_step_of_the_caller_writes_the_other_form() -> None:
    older = "g (float[3] x) => (float[1] a, float[2] b) { a, b = Split<split = [1, 2]>(x) }"
    newer = "g (float[3] x) => (float[1] a, float[2] b) <int64[2] s = {1, 2}> { a, b = Split(x, s) }"
    for text, source, target, rule in ((newer, 13, 11, sizes_as_attribute), (older, 11, 13, sizes_as_input)):
        result, report = converted(text, source, target, [rule])
        assert report.applied == {f"test_own_rules.{rule.__name__}": 1}
        assert report.comparison is not None and report.comparison.status == "equal"
        assert len(result.graph.node[0].input) == (1 if target == 11 else 2)


def test_a_form_of_the_callers_own_is_avoided_without_a_profile() -> None:
    result, report = converted("g (float[3] x) => (float[3] y) { y = Sigmoid(x) }", 13, 13, [no_sigmoid])
    assert nodes(result) == [("", "Neg"), ("", "Exp"), ("", "Add"), ("", "Div")]
    assert [str(remark) for remark in report.remarks if remark.kind == "avoided"] == [
        "Sigmoid 'y' (main graph): test_own_rules.no_sigmoid avoids this form"
    ]


def test_another_form_for_a_runtime(tmp_path: Any) -> None:
    profile = tmp_path / "npu.toml"
    head = 'title = "NPU"\n[[release]]\nfrom = "1"\nopset = { max = 13 }\nevidence = "by documentation"\n'
    profile.write_text(f'{head}operators_allowed = ["Mul", "Sqrt"]\n')

    @express("Abs", opset=13, exact=False)
    def root_of_square(node: Node) -> None:
        node.become.Sqrt(node.op.Mul(node.input(0), node.input(0)))

    text = "g (float[3] x) => (float[3] y) { y = Abs(x) }"
    runtimes = (str(profile),)
    result = convert_version(model(text, 13), options=options(root_of_square, for_runtimes=runtimes, verify=False), compare="off")
    assert nodes(result.model) == [("", "Mul"), ("", "Sqrt")]


# -- other domains


def test_a_rule_may_write_operators_of_another_domain() -> None:
    result, report = converted("g (float[3] x) => (float[3] y) { y = Celu<alpha = 2.0>(x) }", 13, 11, [decompose_celu])
    assert nodes(result) == [("mine", "Celu")]
    assert {entry.domain: entry.version for entry in result.opset_import} == {"": 11, "mine": 1}
    assert report.comparison is not None and report.comparison.status == "not compared"


def test_no_import_is_left_that_nothing_uses() -> None:
    @simplify("Relu", opset=13)
    def there(node: Node) -> None:
        node.become.of("mine", 1).There(node.input(0))

    @replace("mine", "There", opset=13)
    def back(node: Node) -> None:
        assert node.domain_version == 1
        node.become.Max(node.input(0), node.op.const(0, node.need_elem_type()))

    result, _ = converted(RELU, 13, 13, [there, back])
    assert nodes(result) == [("", "Max")] and [entry.domain for entry in result.opset_import] == [""]


def test_in_a_function_the_function_imports_the_domain() -> None:
    text = """<ir_version: 8, opset_import: ["" : 13, "f" : 1]> g (float[3] x) => (float[3] y) { y = f.own(x) }
        <opset_import: ["" : 13], domain: "f"> own (v) => (w) { w = Celu(v) }"""
    result = convert_version(model(text), 11, options=options(decompose_celu)).model
    assert [entry.domain for entry in result.functions[0].opset_import] == ["", "mine"]
    assert [entry.domain for entry in result.opset_import] == ["", "f", "mine"]  # onnxruntime asks for it there, too


# -- what was found by attacking them


FOREIGN = '<ir_version: 8, opset_import: ["" : 17, "mine" : 1]> g (float[2,3] x) => (float[2,3] z) { a = Neg(x) z = mine.A(a) }'


def test_a_simplification_that_refuses_what_it_has_changed_is_an_error() -> None:
    @simplify("Softmax", opset=13)
    def along_the_last_axis(node: Node) -> None:
        axis = node.pop_attr("axis", -1) % node.need_rank()
        node.become.Softmax(node.input(0), axis=axis)

    text = FOREIGN.replace("z = mine.A(a)", "b = mine.A(a) z = Softmax<axis = 0>(b)")
    with pytest.raises(ArgumentError, match=r"along_the_last_axis changed Softmax 'z' before it refused it \(the rank of 'b'"):
        convert_version(model(text), options=options(along_the_last_axis))


def test_a_node_that_another_rule_made_may_get_one_behind_it() -> None:
    @simplify("Erf", opset=13)
    def probed(node: Node) -> None:
        if node.output(0).endswith("_probed"):
            return
        value = node.output(0)
        node.after.Ceil(node.detach_output(0, "probed"), output=value)

    result = convert_version(model(GELU, 20), 13, options=options(probed), compare="off").model
    assert [op_type for _, op_type in nodes(result)][1:3] == ["Erf", "Ceil"]


def test_what_rules_write_or_leave_is_held_to_the_list_of_operators(tmp_path: Any) -> None:
    @replace("mine", "A", opset=13)
    def left(node: Node) -> None:
        pass

    @replace("mine", "A", opset=13)
    def other(node: Node) -> None:
        node.become.of("mine", 1).B(node.input(0))

    profile = tmp_path / "npu.toml"
    head = 'title = "NPU"\n[[release]]\nfrom = "1"\nevidence = "by documentation"\n'
    profile.write_text(f'{head}operators_allowed = ["Neg"]\n')
    for rule, name in ((left, "A"), (other, "B")):
        with pytest.raises(UnconvertibleError, match=f"mine::{name} is not an ONNX operator"):
            convert_version(model(FOREIGN), options=options(rule, standard=True))
        with pytest.raises(UnconvertibleError, match="NPU 1 does not allow it: it is not among the operators"):
            convert_version(model(FOREIGN), options=options(rule, for_runtimes=(str(profile),)))


def test_what_a_rule_becomes_is_replaced_in_turn() -> None:
    @replace("mine", "A", opset=13)
    def first(node: Node) -> None:
        node.become.of("mine", 1).B(node.input(0))

    @replace("mine", "B", opset=13)
    def second(node: Node) -> None:
        node.become.Abs(node.input(0))

    for target in (13, 17, 21):
        result = convert_version(model(FOREIGN), target, options=options(first, second), compare="off").model
        assert nodes(result) == [("", "Neg"), ("", "Abs")]


def test_a_wrong_version_of_a_domain_is_refused_before_the_node_changes() -> None:
    @replace("mine", "A", opset=13)
    def newer(node: Node) -> None:
        node.become.of("mine", 2).B(node.input(0))

    with pytest.raises(UnconvertibleError, match="its form needs mine in version 2, and the model imports version 1"):
        convert_version(model(FOREIGN), options=options(newer))


@pytest.mark.parametrize("target", [None, 13, 21])
def test_an_invalid_result_is_blamed_on_the_rule_at_every_opset(target: int | None) -> None:
    @replace("mine", "A", opset=13)
    def from_nowhere(node: Node) -> None:
        node.become.Abs("nowhere")

    with pytest.raises(ArgumentError, match="from_nowhere wrote an invalid Abs: it reads 'nowhere', which nothing makes"):
        convert_version(model(FOREIGN), target, options=options(from_nowhere))


@pytest.mark.parametrize("error", [RecursionError("deep"), ConnectionError("lost")])
def test_limits_of_the_system_in_a_rule_are_told_as_those_of_the_rule(error: Exception) -> None:
    @replace("mine", "A", opset=13)
    def failing(node: Node) -> None:
        raise error

    with pytest.raises(ArgumentError, match=r"failing failed on A 'z' \(main graph\): \w+Error: (deep|lost)"):
        convert_version(model(FOREIGN), options=options(failing))


def test_a_rule_that_returns_something_is_an_error() -> None:
    @simplify("Neg", opset=13)
    def generating(node: Node) -> Any:
        yield node

    with pytest.raises(ArgumentError, match="generating returns a generator; a rule edits its node, and returns nothing"):
        convert_version(model(FOREIGN), options=options(generating))


def test_two_rules_of_the_same_name_both_run() -> None:
    def to(op_type: str, other: str) -> Callable[[Node], None]:
        @simplify(op_type, opset=13)
        def become(node: Node) -> None:
            if node.op_type == op_type and node.inputs == ["x"]:
                getattr(node.become, other)(node.input(0))

        return become

    def idle() -> Callable[[Node], None]:
        @simplify("Relu", opset=13)
        def become(node: Node) -> None:
            pass

        return become

    result = convert_version(model(RELU, 13), options=options(idle(), to("Relu", "Abs")), compare="off").model
    assert nodes(result) == [("", "Abs")]


def test_a_replacement_has_to_remove_the_operator() -> None:
    @replace("mine", "There", opset=13)
    def again(node: Node) -> None:
        node.set_attr("k", node.attr("k") + 1)

    proto = model("g (float[2] x) => (float[2] y) { y = mine.There<k = 3>(x) }", 13)
    proto.opset_import.add(domain="mine", version=1)
    for target in (11, 13, 15):
        with pytest.raises(ArgumentError, match=r"^rules: test_own_rules.again left its mine::There in place$"):
            convert_version(proto, target, options=options(again))


def test_replacements_that_lead_back_are_named() -> None:
    @replace("mine", "A", opset=13)
    def there(node: Node) -> None:
        node.become.of("mine", 1).B(node.input(0))

    @replace("mine", "B", opset=13)
    def back(node: Node) -> None:
        node.become.of("mine", 1).A(node.input(0))

    proto = model("g (float[2] x) => (float[2] y) { y = mine.A(x) }", 13)
    proto.opset_import.add(domain="mine", version=1)
    with pytest.raises(ArgumentError, match=r"^rules: those for A do not come to an end, the last of them test_own_rules"):
        convert_version(proto, 13, options=options(there, back))


def test_decompositions_that_lead_back_are_named() -> None:
    @decompose("Gelu", opset=14)
    def there(node: Node) -> None:
        node.become.HardSwish(node.input(0))

    @decompose("HardSwish", opset=20)
    def back(node: Node) -> None:
        node.become.Gelu(node.input(0))

    with pytest.raises(ArgumentError, match=r"^rules: those for Gelu do not come to an end, the last of them test_own_rules"):
        convert_version(model(GELU, 20), 13, options=options(there, back))


def test_what_a_rule_says_is_one_line_of_some_hundred_characters() -> None:
    @simplify("Relu", opset=13)
    def chatty(node: Node) -> None:
        raise ValueError("a\nb\nc" * 300)

    with pytest.raises(ArgumentError) as caught:
        convert_version(model(RELU, 13), 13, options=options(chatty))
    assert len(str(caught.value)) < 450 and "\n" not in str(caught.value)

    @decompose("Gelu", opset=13)
    def refusing(node: Node) -> None:
        raise Unconvertible("one\nreason", "two\nhints")

    with pytest.raises(UnconvertibleError, match=r"one reason\. Hint: two hints"):
        convert_version(model(GELU, 20), 13, options=options(refusing))

    @decompose("Gelu", opset=13)
    def careful(node: Node) -> None:
        node.caution("be\ncareful")
        node.become.Relu(node.input(0))

    warnings = convert_version(model(GELU, 20), 13, compare="off", options=options(careful)).report.warnings
    assert [warning.endswith(": be careful") for warning in warnings] == [True]


def test_the_output_of_a_function_that_a_rule_removes() -> None:
    """onnx.checker would not see it."""
    calls = model(
        """<ir_version: 8, opset_import: ["" : 13, "l" : 1]>
        g (float[2] x) => (float[2] z) { z = l.f(x) }
        <domain: "l", opset_import: ["" : 13]> f (a) => (b) { b = Relu(a) }"""
    )
    with pytest.raises(ArgumentError, match=r"^rules: test_own_rules.removing left nothing that makes 'b', which is read$"):
        convert_version(calls, 11, options=options(simplify("Relu", opset=11)(removing)))


def test_another_shape_is_told_as_the_mistake_of_the_rule() -> None:
    def twice(node: Node) -> None:
        node.become.Concat(node.input(0), node.input(0), axis=0)

    rule = options(simplify("Relu", opset=13)(twice))
    with pytest.raises(
        ArgumentError, match=r"^rules: the model declares another shape of output 'y' .*, after test_own_rules.twice"
    ):
        convert_version(model(RELU, 13), 13, compare="off", options=rule)
    with pytest.raises(CompareError, match=r"Relu became Concat; the model was changed by test_own_rules.twice\. Hint"):
        convert_version(model(RELU, 13), 13, options=rule)


def test_a_step_that_leaves_what_the_target_lacks() -> None:
    @downgrade("Split", 13)
    def nothing(node: Node) -> None:
        """It changes nothing."""

    split = "g (float[4] x) => (float[2] y, float[2] z) <int64[2] s = {2, 2}> { y, z = Split(x, s) }"
    with pytest.raises(
        UnconvertibleError, match=r"input 's' does not exist in the form of opset 11, and test_own_rules.nothing left it there"
    ):
        convert_version(model(split, 13), 11, options=options(nothing))
