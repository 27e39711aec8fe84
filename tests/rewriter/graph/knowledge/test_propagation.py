"""Types inferred once for each distinct node: those that inference of the whole model finds, or none."""

from __future__ import annotations

from random import Random

import onnx
import pytest
from helpers import convert_version, model
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_models import random_case

from split_rewrite.rewriter import CheckError, InvalidModelError, UnconvertibleError
from split_rewrite.rewriter.graph.knowledge import original
from split_rewrite.rewriter.graph.knowledge.propagation import Propagated, most_kinds, propagate
from split_rewrite.rewriter.opsets.facts import may_hold_graphs
from split_rewrite.rewriter.opsets.type_protos import shape_of, type_string
from split_rewrite.rewriter.structure.declarations import weigh
from split_rewrite.rewriter.structure.survey import Survey


def propagated(source: onnx.ModelProto) -> Propagated | None:
    op_types = [node.op_type for node in source.graph.node]
    return propagate(source.graph, op_types, source.opset_import[0].version, source.ir_version)


def types_of_the_whole(source: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    evidence = weigh(source.SerializeToString())
    assert evidence is not None
    whole = evidence.believed
    return {value.name: value.type for values in (whole.graph.value_info, whole.graph.output) for value in values}


def readable(kind: onnx.TypeProto) -> tuple[object, ...]:
    return type_string(kind), shape_of(kind)


INCOMPLETE = {
    "a-length-depends-on-the-data": "(float[4] x) => (int64[r,c] y) { y = NonZero (x) }",
    "a-shape-is-computed": "(float[4] x, int64[2] s) => (float[a,b] y) { y = Reshape (x, s) }",
    "a-shape-goes-through-other-nodes": "(float[N,6] x) => (float[a] y) { s = Shape (x)\n p = ReduceProd <keepdims = 1> (s)\n y = Reshape (x, p) }",
    "an-input-has-a-dimension-without-a-name": "(float[?] x) => (float[N] y) { y = Relu (x) }",
    "an-input-is-a-sequence": "(seq(float[2]) x, int64 i) => (float[2] y) { y = SequenceAt (x, i) }",
    "the-output-is-declared-otherwise": "(float[N] x) => (float[4] y) { y = Relu (x) }",
    "a-value-is-declared-otherwise": "(float[N] x) => (float[N] y) <float[1,N] r> { r = Relu (x)\n y = Relu (r) }",
    "an-output-is-absent": "(float[4] x) => (int64[1] i) { k = Constant <value_ints = [1]> ()\n _, i = TopK (x, k) }",
    "a-twin-has-all-outputs": "(float[4] x) => (float[1] y) { k = Constant <value_ints = [1]> ()\n v, i = TopK (x, k)\n _, j = TopK (x, k)\n y = Relu (v) }",
    "a-weight-may-be-overridden-and-is-a-shape": "(float[4] x, int64[1] s) => (float[4] y) <int64[1] s = {4}> { y = Reshape (x, s) }",
}


@pytest.mark.parametrize("body", INCOMPLETE.values(), ids=INCOMPLETE)
def test_nothing_is_said_unless_everything_is_known(body: str) -> None:
    source = model(f"g {body}")
    for node in source.graph.node:
        node.output[:] = ["" if name == "_" else name for name in node.output]
    assert propagated(source) is None


@pytest.mark.parametrize("declared", ["M,6", "?,6", "N,M"])
def test_another_name_of_a_dimension_contradicts_nothing(declared: str) -> None:
    source = model(f"g (float[N,6] x) => (float[{declared}] y) {{ y = Relu (x) }}")
    found, evidence = propagated(source), weigh(source.SerializeToString())
    assert found is not None and evidence is not None and not evidence.contradictions
    kind = found.type("y")
    assert kind is not None and shape_of(kind) == ("N", 6) == shape_of(evidence.believed.graph.output[0].type)


def test_nothing_is_said_of_a_model_that_repeats_itself_too_little() -> None:
    lengths = range(1, most_kinds(0) + 2)
    lines = [f"s{n} = Constant <value_ints = [{n}]> ()" for n in lengths]
    assert propagated(model("g (float[2] x) => (float[2] y) { " + "\n".join([*lines[:-5], "y = Relu (x)"]) + " }")) is not None
    assert propagated(model("g (float[2] x) => (float[2] y) { " + "\n".join([*lines, "y = Relu (x)"]) + " }")) is None


def test_a_larger_model_may_have_more_kinds_of_nodes() -> None:
    assert [most_kinds(nodes) for nodes in (10, 8_000, 1_000_000)] == [100, 200, 500]


def test_constants_that_say_a_shape_count_and_others_do_not() -> None:
    source = model(
        """g (float[2,6] x) => (float[3,4] z) <int64[2] s = {3, 4}, int64[2] t = {4, 3}, float[6] w = {1, 2, 3, 4, 5, 6}> {
            a = Add (x, w)
            b = Reshape (a, t)
            c = Constant <value = int64[2] {3, 4}> ()
            d = Reshape (b, c)
            e = Constant <value_ints = [2, 6]> ()
            f = Reshape (d, e)
            z = Reshape (f, s)
        }"""
    )
    found = propagated(source)
    assert found is not None
    assert {name: found.shape(name) for name in "abdfz"} == {"a": (2, 6), "b": (4, 3), "d": (3, 4), "f": (2, 6), "z": (3, 4)}


def test_layers_that_differ_in_their_weights_only_are_one() -> None:
    numbers = range(most_kinds(0) + 1)
    weights = ", ".join(f"float[2,2] w{n} = {{1, 0, 0, {n}}}" for n in numbers)
    layers = "\n".join(f"x{n + 1} = MatMul (x{n}, w{n})" for n in numbers)
    assert propagated(model(f"g (float[2,2] x0) => (float[2,2] x{len(numbers)}) <{weights}> {{ {layers} }}")) is not None


def test_below_ir_version_4_an_initializer_is_a_constant_though_it_is_an_input() -> None:
    source = model("g (float[4] x, int64[1] s) => (float[4] y) <int64[1] s = {4}> { y = Reshape (x, s) }", ir_version=3)
    assert propagated(source) is not None


def test_a_symbol_of_the_author_is_a_known_dimension() -> None:
    found = propagated(model("g (float[N,6] x) => (float[N,3] a) { a, b = Split <axis = 1, num_outputs = 2> (x)\n c = Relu (x) }"))
    assert found is not None
    kind = found.type("b")
    assert kind is not None and shape_of(kind) == ("N", 3) and found.shape("b") is None


def agrees(found: tuple[object, ...] | None, expected: tuple[object, ...] | None) -> bool:
    """Whether both are the same type, apart from lengths that the whole leaves open: onnx 1.17 reads no value_ints."""
    if found is None or expected is None or found[0] != expected[0] or not found[1] or not expected[1]:
        return found == expected
    pairs = list(zip(found[1], expected[1], strict=False))  # pyright: ignore[reportArgumentType]
    return len(found[1]) == len(expected[1]) and all(wanted in (None, dim) for dim, wanted in pairs)  # pyright: ignore[reportArgumentType]


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**32).map(Random))
@example(Random(651793))
def test_what_is_said_is_what_inference_of_the_whole_says(random: Random) -> None:
    source = random_case(random).model
    found = propagated(source) if is_flat(source) else None
    if found is not None:
        expected = {name: readable(kind) for name, kind in types_of_the_whole(source).items()}
        types = {name: kind and readable(kind) for name in expected for kind in [found.type(name)]}
        assert [name for name in expected if not agrees(types[name], expected[name])] == []


def is_flat(source: onnx.ModelProto) -> bool:
    survey = Survey(source)
    return len(survey.graphs) == 1 and not any(map(may_hold_graphs, survey.operators))


def converted(source: onnx.ModelProto, target: int) -> object:
    try:
        return convert_version(source, target).model.SerializeToString()
    except (CheckError, InvalidModelError, UnconvertibleError) as error:
        return str(error)


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**32).map(Random))
def test_a_large_model_is_converted_as_a_small_one(random: Random) -> None:
    case = random_case(random)
    as_small = converted(case.model, case.target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(original, "INFERRED_AS_A_WHOLE_UP_TO", 0)
        assert converted(case.model, case.target) == as_small
