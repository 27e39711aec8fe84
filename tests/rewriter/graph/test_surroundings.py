"""The graph around a node: where values come from, and who reads them."""

from __future__ import annotations

import onnx
from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.surroundings import Surroundings
from split_rewrite.rewriter.storage.skeleton import Skeleton

SOURCE = """g (bool c, float[4,N] x) => (float[4,N] y) <float[2] w = {1, 2}> {
    a = Relu (x)
    i = Identity (a)
    y = If (c) <then_branch = t () => (float[4,N] p) { q = Neg (a)\n p = Neg (q) }, else_branch = e () => (float[4,N] r) { r = Neg (i) }>
}"""


def graphs() -> tuple[Surroundings, Surroundings]:
    """The main graph and the first branch."""
    main = Model(Skeleton.of(model(SOURCE)), constants_as_initializers=True).main
    branch = next(iter(main.children(main.graph.node[2], 2, 18)))
    return Surroundings(main), Surroundings(branch)


def test_a_branch_reads_values_that_the_main_graph_defines() -> None:
    main, branch = graphs()
    assert (main.is_main, branch.is_main, branch.is_function) == (True, False, False)
    assert main.defines("a") and branch.defines("q") and not branch.defines("a")
    assert branch.is_same("a", main) and main.is_input("x") and branch.is_input("x") and not branch.is_input("a")
    assert (main.is_output("y"), branch.is_output("y"), branch.is_output("p")) == (True, False, True)


def test_readers_include_the_nodes_whose_subgraphs_read() -> None:
    main, branch = graphs()
    assert [node.op_type for node in main.readers("a")] == ["Identity", "If"]
    assert [node.op_type for node in branch.readers("q")] == ["Neg"]
    assert not main.is_read_once("a") and main.is_read_once("x")


def test_copies_and_sources() -> None:
    main, _ = graphs()
    assert main.original("i") == "a"
    assert main.source("a") == "it comes from Relu 'a'"
    assert main.source("x") == "it is an input of the main graph"
    assert main.input_with("N") == ("x", 1) and main.input_with("M") is None


def test_nodes_of_a_domain_are_those_of_the_first_question() -> None:
    main, _ = graphs()
    assert [node.op_type for node in main.as_read("")] == ["Relu", "Identity", "If"]
    main._scope.graph.node[0].op_type = "Neg"
    assert [node.op_type for node in main.as_read("")] == ["Relu", "Identity", "If"]
    assert main.as_read("com.example") == []


def test_a_declaration_is_added_only_where_there_is_none() -> None:
    main, _ = graphs()
    main.declare("a", onnx.TensorProto.FLOAT)
    main.declare("x", onnx.TensorProto.DOUBLE)
    assert [value.name for value in main._scope.graph.value_info] == ["a"]
    main.name_dimensions("i")
    stated = {value.name: value.type for value in main._scope.graph.value_info}["i"]
    dims = stated.tensor_type.shape.dim
    assert (dims[0].dim_value, dims[1].dim_param) == (4, "N")
