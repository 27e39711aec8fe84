"""What is known of types and shapes: the same whoever asks first, and no more believed than what follows from the inputs."""

from __future__ import annotations

import itertools

import onnx
from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.storage.skeleton import Skeleton


def the_model(proto: onnx.ModelProto) -> Model:
    return Model(Skeleton.of(proto), constants_as_initializers=True)


def test_the_order_of_questions_changes_no_answer() -> None:
    source = model("""g (float[M,1] x) => (float[A,B] z) {
        one = Constant <value_ints = [1]> ()
        two = Constant <value_ints = [2]> ()
        sum = Add (one, two)
        size = Shape <start = 0, end = 1> (x)
        shape = Concat <axis = 0> (size, sum)
        y = Expand (x, shape)
        z = Relu (y)
        s = Shape (z)
    }""")
    questions = [("shape", "y"), ("type", "z"), ("constant", "s"), ("shape", "z")]
    answers = []
    for order in itertools.permutations(questions):
        scope = the_model(source).main
        found = {question: getattr(scope, question[0])(question[1]) for question in order}
        answers.append({question: str(found[question]) for question in questions})
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][("shape", "z")] == "('M', 3)"


def test_a_long_way_back_is_as_well_known_as_a_short_one() -> None:
    relus = "\n".join(f"y{index + 1} = Relu (y{index})" for index in range(150))
    source = model(f"""g (float[6] x) => (float[A,B] y150) {{
        least = Constant <value_ints = [1, 3]> ()
        most = Constant <value_ints = [2, 2]> ()
        shape = Max (least, most)
        y0 = Reshape (x, shape)
        {relus}
    }}""")
    for names in (["y60", "y150"], ["y150", "y60"]):
        scope = the_model(source).main
        assert [scope.shape(name) for name in names] == [(2, 3), (2, 3)]


def test_a_long_chain_of_nodes_that_a_rule_made_needs_no_recursion() -> None:
    scope = the_model(model("g (float[6] x) => (float[A] y) { y = Relu (x) }")).main
    for index in range(3000):
        read = f"m{index - 1}" if index else "x"
        scope.register(onnx.helper.make_node("Relu", [read], [f"m{index}"]), 18)
    assert scope.shape("m2999") == (6,)
