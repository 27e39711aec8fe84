"""What became of one node is repeated on others of its form: only where a rule would do the same, and always byte for byte that."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import pytest
from helpers import convert_version, model
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from split_rewrite.rewriter import InvalidModelError, UnconvertibleError
from split_rewrite.rewriter.engine import repeats
from split_rewrite.rewriter.engine.conversion import Engine
from split_rewrite.rewriter.engine.repeats import Repeats, form_of


def converted(source: onnx.ModelProto, target: int) -> tuple[object, ...]:
    """All that a conversion tells: the model, or the blockers."""
    try:
        result = convert_version(source, target)
    except UnconvertibleError as error:
        return (tuple(error.blockers),)
    report = result.report
    return result.model.SerializeToString(), tuple(report.changes), tuple(report.remarks), frozenset(report.inexact)


def one_by_one(source: onnx.ModelProto, target: int) -> tuple[object, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Repeats, "find", lambda *_: None)
        return converted(source, target)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The nodes that the rules were asked about."""
    names: list[str] = []
    work = Engine._work

    def note(self: Engine, node: object, target: int, tidying: object) -> object:
        names.append(node.output(0))  # type: ignore[attr-defined]
        return work(self, node, target, tidying)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "_work", note)
    yield names


HEAD = (
    '<ir_version: 8, opset_import: ["" : {opset}]> '
    "g (float[4,6] x, float[4,5] z, float[N,6] d, int64[M] s) => (float[a,b] a, float[c,d] c)"
)

DIFFERENT = {
    "the-dimension-is-another": (18, 13, "a, b = Split <axis = 1, num_outputs = 2> (x)\n c, e = Split <axis = 1, num_outputs = 2> (z)"),
    "the-dimension-is-unknown": (18, 13, "a, b = Split <axis = 0, num_outputs = 2> (x)\n c, e = Split <axis = 0, num_outputs = 2> (d)"),
    "the-axis-is-another": (18, 13, "a, b = Split <axis = 0, num_outputs = 2> (x)\n c, e = Split <axis = 1, num_outputs = 2> (x)"),
    "the-rank-is-unknown": (
        13,
        10,
        "u = Reshape (x, s)\n a, b = Split <axis = -1> (x)\n c, e = Split <axis = -1> (u)",
    ),
    "the-sizes-are-others": (
        13,
        11,
        "k = Constant <value_ints = [3, 3]> ()\n l = Constant <value_ints = [1, 5]> ()\n"
        "a, b = Split <axis = 1> (x, k)\n c, e = Split <axis = 1> (x, l)",
    ),
    "one-is-a-part-of-the-other": (
        13,
        11,
        "k = Constant <value_ints = [3, 3]> ()\n a, b = Split <axis = 1> (x, k)\n"
        "l = Constant <value_ints = [1, 2]> ()\n c, e = Split <axis = 1> (b, l)",
    ),
    "the-type-is-another": (13, 1, "a = Neg (x)\n i = Neg (s)\n c = Neg (z)\n j = Neg (i)"),
    "one-is-refused": (18, 1, "a, b = Split <axis = 1, num_outputs = 2> (x)\n c, e = Split <axis = 0, num_outputs = 2> (d)"),
}  # fmt: skip


@pytest.mark.parametrize(("opset", "target", "text"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_nothing_is_repeated(opset: int, target: int, text: str) -> None:
    source = model(f"{HEAD.format(opset=opset)} {{\n{text}\n}}")
    assert converted(source, target) == one_by_one(source, target)


def test_rules_are_asked_once(asked: list[str]) -> None:
    splits = "\n".join(f"a{i}, b{i} = Split <axis = 1, num_outputs = 2> (x)" for i in range(50))
    text = f'<ir_version: 8, opset_import: ["" : 18]> g (float[4,6] x) => (float[4,3] a0) {{\n{splits}\n}}'
    expected = one_by_one(model(text), 11)
    asked.clear()
    assert converted(model(text), 11) == expected
    assert asked == ["a0"]


def test_the_check_and_the_conversion_find_each_form_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []

    def note(node: onnx.NodeProto) -> repeats.Form:
        found.append(node.output[0])
        return form_of(node)

    monkeypatch.setattr(repeats, "form_of", note)
    splits = "\n".join(f"a{i}, b{i} = Split <axis = 1, num_outputs = 2> (x)" for i in range(3))
    convert_version(model(f"g (float[4,6] x) => (float[4,3] a0) {{\n{splits}\n}}", 18), 11)
    assert found == ["a0", "a1", "a2"]


OPERATORS = (
    "Split <axis = {axis}, num_outputs = 2> ({x})",
    "Split <axis = {axis}> ({x}, k)",
    "Split <axis = {axis}> ({x}, s)",
    "ReduceSum <keepdims = {keep}> ({x}, ax)",
    "ReduceMean <keepdims = {keep}> ({x}, ax)",
    "Softmax <axis = {axis}> ({x})",
    "Relu ({x})",
    "Neg ({x})",
    "Neg (s)",
    "Clip ({x}, lo)",
    "Pad ({x}, pads)",
    "Squeeze ({x})",
    "Unsqueeze ({x}, ax)",
)


@st.composite
def many_alike(draw: st.DrawFn) -> tuple[onnx.ModelProto, int]:
    """Few forms of nodes, many of each, on inputs of other shapes."""
    lines: list[str] = []
    for i in range(draw(st.integers(2, 14))):
        text = draw(st.sampled_from(OPERATORS)).format(
            x=draw(st.sampled_from("xyzd")), axis=draw(st.sampled_from((0, 1, -1))), keep=draw(st.integers(0, 1))
        )
        outputs = f"v{i}, w{i}" if text.startswith("Split") else f"v{i}"
        lines.append(f"{outputs} = {text}")
    constants = "int64[2] k = {3, 3}, int64[1] ax = {0}, float lo = {-1}, int64[4] pads = {0, 1, 0, 1}"
    inputs = "float[4,6] x, float[6,4] y, float[4,5] z, float[N,6] d, int64[2] s"
    body = "\n".join(lines)
    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => (int64[r] out) <{constants}> {{\n{body}\nout = Shape (v0)\n}}'
    return model(text), draw(st.sampled_from((1, 5, 7, 9, 10, 11, 12, 13, 18, 21)))


@settings(max_examples=60, deadline=None)
@given(many_alike())
def test_the_result_is_that_of_asking_for_each(case: tuple[onnx.ModelProto, int]) -> None:
    source, target = case
    try:
        expected = one_by_one(source, target)
    except InvalidModelError:
        assume(False)
    assert converted(source, target) == expected


def test_forms_differ() -> None:
    nodes = [onnx.helper.make_node("Relu", inputs, outputs) for inputs, outputs in (
        ([], ["b"]), ([""], ["b"]), (["a"], ["b"]), (["a", "a"], ["b"]), (["x", "a"], ["b"]), (["a", "x"], ["b"]), (["a"], ["b", "c"]),
        (["a"], ["", "c"]), (["a", ""], ["b"]),
    )]  # fmt: skip
    nodes += [onnx.helper.make_node("Relu", ["a"], ["b"], alpha=value) for value in (1, 2, 1.0, "1", [1])]
    assert len({form_of(node) for node in nodes}) == len(nodes)


def test_names_do_not_matter() -> None:
    nodes = [onnx.helper.make_node("Split", [x, "s"], [f"{x}1", f"{x}2"], name=x, axis=1) for x in "xyz"]
    assert len({form_of(node) for node in nodes}) == 1
