"""Finds out how a sequence is made, and what this tells about its elements. The rules that remove sequences use it.

The elements of a sequence are known if a SequenceConstruct or SequenceEmpty makes it. Rules run in topological order, so every node
before that can become one of these has done so. Values of an outer graph are found from its subgraphs too. docs/sequences.md
explains why each rewrite is exact.
"""

from __future__ import annotations

from typing import NamedTuple

from onnx import TensorProto

from ...rewriter.errors import InvalidModelError, NotSimplified
from ...rewriter.graph.node import Node, Subgraph, Surroundings
from .split_sizes import part_count

MAX_PARTS = 4096
"""The number of parts that a node may become where the model does not list their sizes: enough for a
sequence that is taken apart step by step, and a limit for graphs that grow with their data.
"""


class Parts(NamedTuple):
    """A sequence whose elements are all the parts of `data`, cut along `axis`. With `squeezed`, the elements do not have that axis.

    `node` is the node that cuts: a Split, or a SplitToSequence whose number of parts is only known at run time. `sizes` is the
    input with the sizes: one for all parts, or one for each; "" where it makes equal parts or, for a SplitToSequence, single rows.
    """

    node: Node
    data: str
    axis: int
    squeezed: bool
    sizes: str


def maker(node: Node, index: int = 0) -> Node | None:
    """The node that makes the sequence in input `index`, skipping Identity nodes; None where it is a graph input."""
    return maker_of(node, node.input(index))


def maker_of(place: Node | Subgraph, name: str) -> Node | None:
    """The node that makes the sequence `name`, as seen from `place`, skipping Identity nodes; None where it is a graph input."""
    return _maker_and_output(place, name)[0]


def _maker_and_output(place: Node | Subgraph, name: str) -> tuple[Node | None, str]:
    """The node that `maker_of` finds, and the name of the sequence at that node."""
    made_by = place.maker(name)
    while made_by is not None and made_by.op_type == "Identity":
        place, name = made_by, made_by.input(0)
        made_by = place.maker(name)
    return made_by, (place.graph if isinstance(place, Node) else place).resolve(name)


def elements(node: Node, index: int = 0) -> list[str]:
    """The names of the elements of the sequence in input `index`. Each can be read where `node` is.

    Raises NotSimplified, with the reason, where they are unknown.
    """
    made_by = maker(node, index)
    if made_by is not None and made_by.op_type == "SequenceEmpty":
        return []
    if made_by is None or made_by.op_type != "SequenceConstruct":
        raise NotSimplified(f"the elements of '{node.input(index)}' are not known: {source(node, index, made_by)}")
    names = [made_by.graph.resolve(name) for name in made_by.inputs]
    require_same_values(node, made_by.graph, names)
    return names


def source(node: Node, index: int, made_by: Node | None) -> str:
    """A text that says where the list or optional in input `index`, which `made_by` makes, comes from."""
    if made_by is None:
        return node.graph.source(node.input(index))
    if made_by.op_type == "SplitToSequence":
        return f"how many parts SplitToSequence '{made_by.name}' makes is only known at run time"
    return f"it comes from {made_by.op_type} '{made_by.name}'"


def require_same_values(node: Node, home: Surroundings, names: list[str]) -> None:
    """Raises NotSimplified where one of `names` of `home`, the graph of `node` or an outer one, is another value at `node`."""
    for name in names:
        if not node.graph.is_same(name, home):
            raise NotSimplified(f"'{name}' is another value inside {node.where}")


def run_time_parts(node: Node, index: int = 0) -> Parts | None:
    """The parts that a SplitToSequence makes for the sequence in input `index`; None where another node makes the sequence."""
    source = maker(node, index)
    if source is None or source.op_type != "SplitToSequence":
        return None
    names = [source.graph.resolve(name) for name in source.inputs]
    require_same_values(node, source.graph, [name for name in names if name])
    squeezed = removes_axis(source)
    sizes = names[1] if source.has_input(1) and not squeezed else ""
    return Parts(source, names[0], source.attr("axis", 0), squeezed, sizes)


def removes_axis(node: Node) -> bool:
    """Whether a SplitToSequence cuts single rows and removes the axis from them.

    Raises Unconvertible where the specification and onnxruntime disagree: keepdims=0 with an input split that is, or may be, a
    scalar. All parts that onnxruntime can make of it have one row; it fails for longer ones, and then only the specification has a
    meaning.
    """
    if node.attr("keepdims", 1) or not node.has_input(1):
        return not node.attr("keepdims", 1)
    rank, size, dimension = node.rank(1), node.constant(1), node.dimension(node.attr("axis", 0))
    if rank not in (None, 0):
        return False
    if size is not None and size.ndim == 0 and size > 1 and isinstance(dimension, int) and dimension > 1:
        return False
    meaning = node.meaning(
        "keepdims=0 is ignored, because split is given", "removes the axis of parts of length 1, and fails on longer ones"
    )
    if meaning == "onnxruntime" and rank is None:
        raise NotSimplified(f"the rank of split '{node.input(1)}' is unknown, and onnxruntime removes the axis only if it is 0")
    return meaning == "onnxruntime"


def part_sizes(node: Node) -> list[int] | None:
    """The sizes of the parts of a SplitToSequence; None where they are only known at run time.

    Raises NotSimplified where the number of parts is unknown.
    """
    axis = node.attr("axis", 0)
    if removes_axis(node):
        return _chunks(node, axis, 1)
    split = node.constant(1)
    if split is None and node.has_input(1):
        return None
    if split is not None and split.ndim == 1 and split.size:
        return [int(size) for size in split]
    if split is not None and split.ndim:
        raise NotSimplified(f"split must be a scalar or a vector of sizes and has shape {split.shape}")
    return _chunks(node, axis, 1 if split is None else int(split))


def run_time_count(node: Node) -> int:
    """The number of parts of a split whose sizes are only known at run time. Raises NotSimplified where it is unknown."""
    shape = node.shape(1)
    if shape is None or len(shape) != 1 or not isinstance(count := shape[0], int) or count == 0:
        raise NotSimplified(f"split '{node.input(1)}' {why_unknown(node, 1)}, and so is the number of its parts")
    if node.elem_type(1) is None:
        raise NotSimplified(f"the type of split '{node.input(1)}' is unknown, and Split takes only int64")
    return count


def _chunks(node: Node, axis: int, size: int) -> list[int]:
    """The sizes of the parts if each but the last has `size`. Raises NotSimplified where they are too many."""
    dimension = node.need_dimension(axis)
    if size <= 0:
        raise NotSimplified(f"split must be positive and is {size}")
    if dimension > size * MAX_PARTS:
        raise NotSimplified(f"it makes {-(-dimension // size)} parts, and more than {MAX_PARTS} are not written out")
    whole, rest = divmod(dimension, size)
    return [size] * whole + [rest] * (rest > 0)


def list_length(place: Node | Subgraph, name: str) -> int | None:
    """The number of elements of the list `name`, as seen from `place`; None where it is unknown.

    Raises NotSimplified, with the reason, where a SplitToSequence makes the list and does not tell.
    """
    added, (made_by, name) = 0, _maker_and_output(place, name)
    while made_by is not None and made_by.op_type in _STEPS:
        added += _STEPS[made_by.op_type]
        made_by, name = _maker_and_output(made_by, made_by.input(0))
    if made_by is not None and made_by.op_type == "If":
        length = _length_from_branches(made_by, name)
        return None if length is None else added + length
    if made_by is None or made_by.op_type not in ("SequenceConstruct", "SequenceEmpty", "SplitToSequence"):
        return None
    if made_by.op_type != "SplitToSequence":
        return added + len(made_by.inputs)
    sizes = part_sizes(made_by)
    return added + (run_time_count(made_by) if sizes is None else len(sizes))


def _length_from_branches(node: Node, name: str) -> int | None:
    """The number of elements of the output `name` of `node`, an If, if both branches have the same; else None."""
    index = node.outputs.index(name)
    lengths = {list_length(branch, branch.proto.output[index].name) for branch in node.subgraphs()}
    return lengths.pop() if len(lengths) == 1 else None


_STEPS = {"SequenceInsert": 1, "SequenceErase": -1}
"""The number of elements that an operator adds to a list."""


def parts_of_one_split(node: Node, names: list[str]) -> Parts | None:
    """The parts of a Split, if `names` are all of its parts in order, or all of them squeezed along its axis; else None."""
    makers = [node.maker(name) for name in names]
    axes = {None if each is None else _squeezed_axis(each) for each in makers}
    squeezed_axis = axes.pop() if len(axes) == 1 else None
    if squeezed_axis is not None:
        names = [each.graph.resolve(each.input(0)) for each in makers if each is not None]
        makers = [each.maker() for each in makers if each is not None]
    split = makers[0] if makers else None
    if split is None or split.op_type != "Split" or split.outputs != names or part_count(split) != len(names):
        return None
    axis = split.attr("axis", 0)
    if squeezed_axis not in (None, axis):
        return None
    data = split.graph.resolve(split.input(0))
    require_same_values(node, split.graph, [data])
    sizes = split.graph.resolve(split.input(1)) if split.has_input(1) else ""
    return Parts(split, data, axis, squeezed_axis is not None, sizes)


def _squeezed_axis(node: Node) -> int | None:
    """The axis that a Squeeze of one axis removes; None for any other node."""
    if node.op_type != "Squeeze":
        return None
    value = node.constant(1)
    axes = node.attr("axes", [] if value is None else value.reshape(-1).tolist())
    return axes[0] if len(axes) == 1 else None


def same_axis(first: int, second: int, rank: int | None) -> bool:
    """Whether `first` and `second` are the same axis of a tensor of rank `rank`, as far as that is known."""
    return first == second or (rank is not None and first % rank == second % rank)


def constant_position(node: Node, index: int) -> int | None:
    """The position in input `index`, a scalar, where it is constant; else None."""
    value = node.constant(index)
    return None if value is None or value.size != 1 else int(value.reshape(-1)[0])


def why_unknown(node: Node, index: int) -> str:
    """A text that says why the value in input `index` is not constant."""
    is_stored = node.graph.may_be_stored(node.input(index))
    return "may be overridden by the caller" if is_stored else "is only known at run time"


def require_position(node: Node, position: int, low: int, high: int, length: int) -> None:
    """Check that `low` <= `position` <= `high`, for a sequence of `length` elements.

    Otherwise raises InvalidModelError if the node always runs, and NotSimplified in a subgraph or function, which may never run.
    """
    if low <= position <= high:
        return
    problem = f"position {position} is out of range of a sequence of {length} elements"
    if node.graph.is_main:
        raise InvalidModelError(f"{node.op_type} '{node.name}' ({node.where}) is invalid: {problem}")
    raise NotSimplified(f"{problem}: it fails if it runs")


def gathers_whole(node: Node, data: str, axis: int) -> bool:
    """Whether onnxruntime gives the right result for a Gather of `data` along `axis`: for strings, it
    copies only one for each index.
    """
    rank = node.rank(data)
    is_last = rank is not None and same_axis(axis, -1, rank)
    return is_last or node.elem_type(data) not in (TensorProto.STRING, None)


def scalar(node: Node, index: int) -> str:
    """Input `index`, which has one element, reshaped to a scalar."""
    if node.rank(index) == 0:
        return node.input(index)
    return node.op.Reshape(node.input(index), node.op.int64([]))


def undoes_split(node: Node, parts: Parts | None) -> bool:
    """Forward the original data if a ConcatFromSequence joins all its `parts` again. Returns whether it does."""
    if parts is None or parts.squeezed != bool(node.attr("new_axis", 0)):
        return False
    if not same_axis(node.attr("axis"), parts.axis, parts.node.rank()):
        return False
    node.forward(0, parts.data)
    node.remove()
    return True
