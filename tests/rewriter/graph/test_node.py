"""The words that a rule has: docs/vocabulary.md lists all of them, and no rule uses another."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from documentation import ROOT
from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.node import Node, Subgraph
from split_rewrite.rewriter.graph.surroundings import Surroundings
from split_rewrite.rewriter.graph.values import Values
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytestmark = pytest.mark.quick

PAGE = (ROOT / "docs/vocabulary.md").read_text(encoding="utf-8")
AROUND, INSIDE = "## The graph around it", "## A subgraph"


def listed(text: str) -> list[str]:
    """The words in the first column of the tables."""
    return re.findall(r"^\| `(\w+)` \| `[^|]+` \|", text, re.MULTILINE)


def words(*classes: type) -> Iterator[str]:
    """The public names of `classes`."""
    for each in classes:
        yield from (name for name in vars(each) if not name.startswith("_"))


def test_the_page_lists_the_words_of_a_node() -> None:
    own = {name for each in Node.__mro__[:-1] for name in words(each)}
    found = listed(PAGE.partition(AROUND)[0])
    assert sorted(found) == sorted(own)


def test_the_page_lists_the_words_of_graphs() -> None:
    around, _, inside = PAGE.partition(AROUND)[2].partition(INSIDE)
    assert sorted(listed(around)) == sorted(words(Surroundings))
    assert sorted(listed(inside)) == sorted(words(Subgraph))
    assert set(words(Values)) <= set(listed(PAGE))


def test_each_example_says_its_word() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([^|]+)` \|", PAGE, re.MULTILINE)
    assert [word for word, example in rows if word not in example] == []


BRANCHES = """
<ir_version: 8, opset_import: ["" : 18, "mine" : 1]>
g (bool c, float[4, 6] x) => (float[4, n] y) {
  a, b = Split <axis = 1, num_outputs = 2> (x)
  m = mine.Op (x)
  y = If (c) <then_branch = t () => (float[4, 3] p) { p = Relu (a) }, else_branch = e () => (float[4, 6] q) { q = Neg (m) }>
}
"""


def nodes() -> list[Node]:
    """The nodes of `BRANCHES`."""
    whole = Model(Skeleton(model(BRANCHES)), constants_as_initializers=True)
    return [Node(proto, whole.main, 18, index) for index, proto in enumerate(whole.main.graph.node)]


def test_the_maker_of_a_value_is_found_from_a_subgraph() -> None:
    split, _, choice = nodes()
    then, other = choice.subgraphs()
    (relu,) = [maker for name in ("p",) if (maker := then.maker(name)) is not None]
    assert (then.name, other.name) == ("then_branch", "else_branch")
    assert relu.op_type == "Relu" and then.contains(relu) and not other.contains(relu)
    made_by = relu.maker()
    assert made_by is not None and made_by.outputs == split.outputs and made_by.graph.is_main
    assert then.captured == {"a"}


def test_nodes_of_other_domains_and_inputs_have_no_maker() -> None:
    split, foreign, choice = nodes()
    assert split.maker() is None and split.maker("m") is None and foreign.maker("nothing") is None
    assert choice.graph.source("m") == "it comes from Op 'm'"
    assert choice.graph.source("x") == "it is an input of the main graph"


def test_a_value_is_an_input_or_a_name() -> None:
    split, _, choice = nodes()
    assert split.shape() == split.shape("x") == (4, 6) and split.shape(split.output(1)) == (4, 3)
    assert split.shape(5) is None and split.constant(1) is None and split.elem_type("") is None
    assert split.is_read(0) and not split.is_read(1) and not split.is_read(7)
    assert choice.graph.is_output("y") and not choice.graph.is_output("a")
