"""The branches of an If, and the one that runs in place of the node.

https://onnx.ai/onnx/operators/onnx__If.html
"""

from __future__ import annotations

from ...rewriter.graph.node import Node, Shape, Subgraph


def branch_that_runs(node: Node) -> Subgraph | None:
    """The branch of an If with a constant condition; None where that is not known, or where the branch cannot take its place."""
    condition = node.known_integers(0)
    if condition is None or condition.size != 1:
        return None
    wanted = "then_branch" if condition.all() else "else_branch"
    branch = next(branch for branch in node.subgraphs() if branch.name == wanted)
    is_odd = not node.graph.had_lists and _contradicts(
        node, branch
    )  # exporters declare elements of lists in the other branch's shape
    return None if branch.proto.sparse_initializer or is_odd else branch


def put_in_place(node: Node, branch: Subgraph) -> None:
    """Let `branch` take the place of the If."""
    for each in node.subgraphs():
        node.graph.release(*each.captured)
    node.remove()
    node.explain("its condition is constant, and the branch that it takes is put in its place")
    _paste(node, branch)


def output_shape(branch: Subgraph, index: int) -> Shape | None:
    """The shape of output `index` of a branch; None where it is unknown."""
    return branch.shape(branch.proto.output[index].name)


def differ(one: Shape | None, other: Shape | None) -> bool:
    """Whether two shapes are known to differ, in their rank or in a dimension."""
    if one is None or other is None:
        return False
    pairs = zip(one, other, strict=False)
    return len(one) != len(other) or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def _contradicts(node: Node, branch: Subgraph) -> bool:
    """Whether the branch returns other shapes than the model declares, or than are known, for the outputs of the If."""
    stated = [*map(node.graph.declared_shape, node.outputs)]
    found = [output_shape(branch, index) for index in range(len(stated))]
    return any(differ(node.shape(node.output(index)), shape) or differ(stated[index], shape) for index, shape in enumerate(found))


def _paste(node: Node, branch: Subgraph) -> None:
    """Put the nodes of the branch before the If, and let them make the outputs of the If."""
    made = {name for inner in branch.proto.node for name in inner.output if name}
    results = [(value.name, output) for value, output in zip(branch.proto.output, node.outputs, strict=False) if output]
    names = {name: name for name in made if node.graph.is_unique(name)}
    names |= {name: output for name, output in reversed(results) if name in made}
    names |= branch.move_initializers()
    branch.paste(names)
    for name, output in results:
        value = names.get(name, name)
        if value != output:
            node.op.Identity(value, output=output, opset=node.body_opset)
