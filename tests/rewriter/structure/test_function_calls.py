"""Functions that call each other: how often, how deep, and never in a circle."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.structure import function_calls
from split_rewrite.rewriter.structure.function_calls import check_calls, nodes_run

pytestmark = pytest.mark.quick

HEAD = '<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[4] x) => (float[4] y) {'
F = '<opset_import: ["" : 18, "local" : 1], domain: "local"> '
TWICE = f"{HEAD} h = local.f(x) y = local.f(h) }} {F} f (a) => (b) {{ c = Neg(a) b = Relu(c) }}"


def test_nodes_count_for_each_call() -> None:
    assert nodes_run(model("g (float[4] x) => (float[4] y) { y = Relu(x) }")) == 1
    assert nodes_run(model(TWICE)) == nodes_run(model(TWICE.replace("h = local.f(x) y = local.f(h)", "y = local.f(x)"))) + 3


def test_a_circle_is_refused() -> None:
    circle = model(f"{HEAD} y = local.f(x) }} {F} f (a) => (b) {{ b = local.k(a) }} {F} k (a) => (b) {{ b = local.f(a) }}")
    with pytest.raises(InvalidModelError, match=r"calls? (each other|itself)"):
        check_calls(circle)


def test_too_many_nodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_calls(model(TWICE))
    monkeypatch.setattr(function_calls, "MOST_REPEATED", 1)
    with pytest.raises(InvalidModelError, match="call each other so often that they stand for"):
        check_calls(model(TWICE))


def test_two_functions_of_one_name_are_refused() -> None:
    proto = model(TWICE)
    proto.functions.append(proto.functions[0])
    with pytest.raises(InvalidModelError, match="there are 2 functions 'f'"):
        check_calls(proto)
