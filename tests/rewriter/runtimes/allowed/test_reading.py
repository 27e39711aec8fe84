"""Lists of allowed operators: what is wrong with a file is told with its line; variants extend other files."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import model

from split_rewrite.rewriter import ArgumentError
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.rewriter.runtimes.naming import find_profile
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytestmark = pytest.mark.quick

HEAD = 'title = "NPU"\n[[release]]\nfrom = "1"\nevidence = "by documentation"\noperators_allowed = ["Conv", "Relu"]\n'
CONV = HEAD + '\n[[rule]]\noperators = ["Conv"]\n'

BAD = {
    "operator": (HEAD.replace("Relu", "Reluu"), "release 1 and later: operators_allowed has Reluu, and ONNX has no such operator"),
    "not in the list": (HEAD + '[[rule]]\noperators = ["Add"]', "line 6: a [[rule]] is about Add, and operators_allowed does not"),
    "no operators": (HEAD + "[[rule]]\nstatic = true", "line 6: [[rule]]: operators is missing"),
    "attribute": (
        CONV + "rank = { X = 4 }\nattr = { strids = [1] }",
        "line 10: [[rule]]: attr: Conv has no 'strids'; Conv has B, W",
    ),
    "operand": (CONV + "rank = { Z = 4 }", "line 9: [[rule]]: rank: Conv has no 'Z'"),
    "name": (CONV + "attr = { 'pads(H)' = 1 }", "line 9: [[rule]]: attr: 'pads(H)' is no name: write axis, strides[*]"),
    "type": (CONV + "type = { X = ['f32'] }", "line 9: [[rule]]: type: X: write a list of types: bfloat16"),
    "no table": (CONV + "rank = 4", "line 9: [[rule]]: rank: write a table, such as { X = … }"),
    "dimension": (CONV + "dim = { 'h*w' = 4 }", "line 9: [[rule]]: dim: 'h' is no dimension: write C, 1 or W.H"),
    "no limit": (CONV + "dim = { H = 1979-05-27 }", "line 9: [[rule]]: dim: H: write a value, a list of values"),
    "min": (CONV + "dim = { H = { min = '1' } }", "line 9: [[rule]]: dim: H: min has to be a number"),
    "min above max": (CONV + "dim = { H = { min = 7, max = 2 } }", "line 9: [[rule]]: dim: H: min is above max, so that nothing"),
    "negative rank": (CONV + "rank = { X = { max = -1 } }", "line 9: [[rule]]: rank: X: write numbers from 0 on"),
    "text for a rank": (CONV + 'rank = { X = "4" }', "line 9: [[rule]]: rank: X: write numbers from 0 on"),
    "text for an opset": (CONV + 'opset = "17"', "line 9: [[rule]]: opset: write numbers from 0 on"),
    "text for a length": (CONV + 'dim = { C = ["a"] }', "line 9: [[rule]]: dim: C: write numbers from 0 on"),
    "text for an input": (CONV + 'value = { B = "1" }', "line 9: [[rule]]: value: B has numbers, not '1'; words for numbers"),
    "letter of no axis": (CONV + 'shape = { X = [[1, "Z"]] }', "line 9: [[rule]]: shape: the layout has no axis Z"),
    "negative size": (CONV + "dim = { H = [-1] }", "line 9: [[rule]]: dim: H: write numbers from 0 on"),
    "text for numbers": (
        CONV + "attr = { pads = 'power3' }",
        "line 9: [[rule]]: attr: pads has numbers, not 'power3'; words for numbers are integer, power2, default",
    ),
    "two letters for an axis": ("layout = { C = 1, K = 1 }\n" + HEAD, "layout: two letters have the same axis"),
    "mod": (CONV + "dim = { H = { mod = 0 } }", "line 9: [[rule]]: dim: H: mod has to be a number above 0"),
    "constants": (CONV + "const = 'W'", "line 9: [[rule]]: const: write a list of names"),
    "shape": (CONV + "shape = { X = [1, 2] }", "line 9: [[rule]]: shape: X: write a list of shapes, such as"),
    "static": (CONV + "static = 1", "line 9: [[rule]]: static: write true, false, or a list of dimensions"),
    "static dimension": (CONV + "static = ['c']", "line 9: [[rule]]: static: 'c' is no dimension: write C, 1 or W.H"),
    "static everything": (CONV + "static = ['*']", "line 9: [[rule]]: static: '' is no dimension: write C, 1 or W.H"),
    "static operand": (CONV + "static = ['Z.1']", "line 9: [[rule]]: static: Conv has no 'Z'"),
    "any": (CONV + "any = { rank = { X = 1 } }", "line 9: [[rule]]: any: write a list of tables"),
    "no alternative": (CONV + "any = []", "line 9: [[rule]]: any: write a list of tables"),
    "axis of no layout": (CONV + "attr = { 'pads[Q]' = [0] }", "attr: the layout has no axis Q; it has C, H, N, W"),
    "dimension of no layout": (CONV + "dim = { 'C*W.Z' = { max = 3 } }", "dim: the layout has no axis Z; it has C, H, N, W"),
    "open dimension of no layout": (CONV + "static = ['D']", "static: the layout has no axis D; it has C, H, N, W"),
    "dimension of nothing": (CONV + "dim = { '' = { max = 3 } }", "dim: '' is no dimension"),
    "releases backward": (CONV + "from = '3'\nto = '2'\nrank = { X = 4 }", "[[rule]]: from 3 is after to 2"),
    "in any": (CONV + "any = [{ rank = { Z = 1 } }]", "[[rule]]: any: rank: Conv has no 'Z'"),
    "not": (CONV + "not = 1", "[[rule]]: not: write a table of conditions"),
    "when": (CONV + "when = []", "[[rule]]: when: write a table of conditions"),
    "note": (CONV + "note = 1", "[[rule]]: note has to be text"),
    "release": (CONV + 'from = "x"', "'x' is not a release number"),
    "nested": (CONV + "not = " + "{ not = " * 20 + "{ static = true }" + " }" * 20, "the conditions are nested too deeply"),
    "layout": ("layout = { C = '1' }\n" + HEAD, "layout: write the axis of each letter"),
    "otherwise": ("otherwise = 'cpu'\n" + HEAD, "otherwise is 'cpu', not refuse, fallback or silent"),
    "dropped": ("operators_dropped = ['X']\n" + HEAD, "operators_dropped has X, and ONNX has no such operator"),
    "all": ("[all]\nrank = 4\n" + HEAD.replace("title", "[x]\ntitle"), "line 2: [all]: rank: write a table"),
    "no rules": ("rule = 1\n" + HEAD, "write [[rule]], a table each"),
    "extends": ("extends = 'nosuch'\n" + HEAD, "extends: there is no runtime nosuch; --list-runtimes shows all"),
    "itself": ("extends = './npu.toml'\n" + HEAD, "extends: more than 4 profiles extend each other"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError) as caught:
        find_profile(str(path))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def reasons(path: Path, *graphs: str) -> list[str]:
    """Why the profile does not allow the first node of each graph; "" where it does."""
    allowed = find_profile(str(path)).facts.allowed
    assert allowed is not None
    found: list[str] = []
    for text in graphs:
        proto = model(text)
        main = Model(Skeleton.of(proto), constants_as_initializers=True).main
        found.append("; ".join(allowed.judge(Node(proto.graph.node[0], main, 18)).against))
    return found


CONVOLVED = "g (float[1,4,8,8] x, float[6,4,3,3] w) => (y) { y = Conv(x, w) }"
RELU = "g (float[1] x) => (y) { y = Relu(x) }"
SIGMOID = "g (float[1] x) => (y) { y = Sigmoid(x) }"


def test_a_variant_drops_adds_and_replaces(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(CONV + "attr = { group = [4] }", encoding="utf-8")
    variant = tmp_path / "small.toml"
    child = 'title = "Small"\nextends = "./base.toml"\noperators_dropped = ["Relu"]\n' + HEAD.partition("\n")[2]
    child = child.replace('["Conv", "Relu"]', '["Sigmoid"]')
    variant.write_text(child, encoding="utf-8")
    assert reasons(tmp_path / "base.toml", CONVOLVED, RELU, SIGMOID) == ["group is 1, not 4", "", "it is not among the operators"]
    assert reasons(variant, CONVOLVED, RELU, SIGMOID) == ["group is 1, not 4", "it is not among the operators", ""]
    variant.write_text(child + '\n[[rule]]\noperators = ["Conv"]\nattr = { group = [2] }', encoding="utf-8")
    assert reasons(variant, CONVOLVED) == ["group is 1, not 2"]


def test_rules_are_for_releases(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(CONV + 'from = "0.5"\nto = "0.9"\nattr = { group = [4] }', encoding="utf-8")
    assert reasons(path, CONVOLVED) == [""]


def test_rules_without_a_list_allow_what_they_do_not_name(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(CONV.replace('operators_allowed = ["Conv", "Relu"]\n', "") + "attr = { group = [4] }", encoding="utf-8")
    assert reasons(path, CONVOLVED, SIGMOID) == ["group is 1, not 4", ""]


def test_a_series_includes_its_releases(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(CONV + "from = '1.2'\nto = '1'\nrank = { X = 4 }", encoding="utf-8")
    assert find_profile(str(path)).facts.allowed is not None
