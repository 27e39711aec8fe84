"""Random chains of sequence operators, read by a list of arrays here and converted there: the same values, no sequence left."""

from __future__ import annotations

from dataclasses import dataclass, field

import helpers
import numpy as np
import onnx
from helpers import convert_version
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from split_rewrite.rewriter.structure.survey import all_graphs

OPSETS = helpers.known(11, 12, 13, 17, 18, 24)
TARGETS = helpers.known(11, 12, 13, 17, 18, 21, 25)
INPUTS = {
    "x": np.arange(24, dtype=np.float32).reshape(4, 6),
    "z": np.arange(24, dtype=np.float32).reshape(4, 6) - 50,
    "w": np.arange(12, dtype=np.float32).reshape(2, 6) * 3,
    "v": np.arange(6, dtype=np.float32) + 100,
}
DECLARED = {
    "static": "float[4, 6] x, float[4, 6] z, float[2, 6] w, float[6] v",
    "dynamic": "float[A, B] x, float[A, B] z, float[C, B] w, float[B] v",
}


@dataclass
class Program:
    """A graph under construction: its text, and the value of everything in it."""

    dynamic: bool
    lines: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    feeds: dict[str, np.ndarray] = field(default_factory=lambda: dict(INPUTS))
    tensors: dict[str, np.ndarray] = field(default_factory=lambda: dict(INPUTS))
    sequences: dict[str, list[np.ndarray]] = field(default_factory=dict)
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Sequences that the declared shapes or a run-time position leave open."""

    def name(self, kind: str) -> str:
        return f"{kind}{len(self.lines) + len(self.stored)}"

    def constant(self, value: int | list[int], kind: str = "int64") -> str:
        name = self.name("k")
        shape, values = ("", [value]) if isinstance(value, int) else (f"[{len(value)}]", value)
        self.stored.append(f"{kind}{shape} {name} = {{{', '.join(map(str, values))}}}")
        return name

    def sequence(self, call: str, value: list[np.ndarray], known: bool = True) -> None:
        name = self.name("s")
        self.lines.append(f"{name} = {call}")
        self.sequences[name] = value
        if not known:
            self.unknown.add(name)

    def tensor(self, call: str, value: np.ndarray) -> None:
        name = self.name("t")
        self.lines.append(f"{name} = {call}")
        self.outputs[name] = value
        if value.dtype == np.float32:
            self.tensors[name] = value

    def text(self) -> str:
        kinds = {np.dtype(np.float32): "float", np.dtype(np.int64): "int64"}
        outputs = []
        for name, value in self.outputs.items():
            dims = ", ".join(f"{name}_{axis}" for axis in range(value.ndim))
            outputs.append(f"{kinds[value.dtype]}{f'[{dims}]' if dims else ''} {name}")
        inputs = DECLARED["dynamic" if self.dynamic else "static"]
        extra = "".join(f", int64 {name}" for name in self.feeds if name not in INPUTS)
        stored = f"<{', '.join(self.stored)}>" if self.stored else ""
        return f"g ({inputs}{extra}) => ({', '.join(outputs)}) {stored} {{\n" + "\n".join(self.lines) + "\n}"


def split(draw: st.DrawFn, program: Program) -> None:
    name = draw(st.sampled_from(sorted(program.tensors)))
    value = program.tensors[name]
    if value.ndim == 0:
        return
    axis = draw(st.integers(-value.ndim, value.ndim - 1))
    dim = value.shape[axis]
    kind = draw(st.sampled_from(["absent", "squeezed", "scalar", "sizes"]))
    known = not program.dynamic or kind == "sizes"
    if kind in ("absent", "squeezed"):
        squeezed = kind == "squeezed"
        parts = [np.take(value, [i], axis) for i in range(dim)]
        parts = [np.squeeze(part, axis) for part in parts] if squeezed else parts
        program.sequence(f"SplitToSequence<axis = {axis}, keepdims = {int(not squeezed)}>({name})", parts, known)
        return
    integer = draw(st.sampled_from(["int64", "int32"]))
    if kind == "scalar":
        size = draw(st.integers(1, dim + 2))
        bounds = list(range(size, dim, size))
        operand = program.constant(size, integer)
    else:
        bounds = sorted(draw(st.lists(st.integers(0, dim), max_size=3)))
        sizes = [int(size) for size in np.diff([0, *bounds, dim])]
        operand = program.constant(sizes, integer)
    parts = np.split(value, bounds, axis) if dim or kind == "sizes" else []
    program.sequence(f"SplitToSequence<axis = {axis}>({name}, {operand})", parts, known)


def construct(draw: st.DrawFn, program: Program) -> None:
    names = draw(st.lists(st.sampled_from(sorted(program.tensors)), min_size=1, max_size=4))
    program.sequence(f"SequenceConstruct({', '.join(names)})", [program.tensors[name] for name in names])


def empty(draw: st.DrawFn, program: Program) -> None:
    program.sequence("SequenceEmpty()", [])


def insert(draw: st.DrawFn, program: Program) -> None:
    name = draw(st.sampled_from(sorted(program.sequences)))
    value = list(program.sequences[name])
    tensor = draw(st.sampled_from(sorted(program.tensors)))
    if draw(st.booleans()):
        at, operand = len(value), ""
    else:
        at = draw(st.integers(-len(value), len(value)))
        operand = f", {program.constant(at)}"
    value.insert(at, program.tensors[tensor])
    program.sequence(f"SequenceInsert({name}, {tensor}{operand})", value, name not in program.unknown)


def erase(draw: st.DrawFn, program: Program) -> None:
    name = draw(st.sampled_from(sorted(program.sequences)))
    value = list(program.sequences[name])
    if not value:
        return
    if draw(st.booleans()):
        at, operand = -1, ""
    else:
        at = draw(st.integers(-len(value), len(value) - 1))
        operand = f", {program.constant(at, 'int32')}"
    del value[at]
    program.sequence(f"SequenceErase({name}{operand})", value, name not in program.unknown)


def pick(draw: st.DrawFn, program: Program) -> None:
    name = draw(st.sampled_from(sorted(program.sequences)))
    value = program.sequences[name]
    if not value:
        return
    at = draw(st.integers(-len(value), len(value) - 1))
    if draw(st.integers(0, 3)):
        operand = program.constant(at)
    else:
        operand = program.name("i")
        program.lines.append(f"{operand}_copy = Identity({operand})")
        program.feeds[operand] = np.array(at)
        program.unknown.add(name)
    program.tensor(f"SequenceAt({name}, {operand})", value[at])


def count(draw: st.DrawFn, program: Program) -> None:
    count_one(program, draw(st.sampled_from(sorted(program.sequences))))


def count_one(program: Program, name: str) -> None:
    program.tensor(f"SequenceLength({name})", np.array(len(program.sequences[name])))


def concat(draw: st.DrawFn, program: Program) -> None:
    name = draw(st.sampled_from(sorted(program.sequences)))
    value = program.sequences[name]
    if not value:
        return
    new_axis = draw(st.booleans())
    rank = value[0].ndim + new_axis
    if rank == 0:
        return
    axis = draw(st.integers(-rank, rank - 1))
    try:
        result = np.stack(value, axis) if new_axis else np.concatenate(value, axis)
    except ValueError:
        return
    program.tensor(f"ConcatFromSequence<axis = {axis}, new_axis = {int(new_axis)}>({name})", result)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    program = Program(dynamic=draw(st.booleans()))
    draw(st.sampled_from([split, construct, empty]))(draw, program)
    makers = st.sampled_from([split, construct, insert, erase, pick, pick, count, concat, concat])
    for _ in range(draw(st.integers(2, 8))):
        draw(makers)(draw, program)
    for name in list(program.sequences):  # what nothing reads is dead before, and stays
        if not any(f"({name}{end}" in line for line in program.lines for end in ",)"):
            count_one(program, name)
    return program


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=programs(), opset=st.sampled_from(OPSETS), target=st.sampled_from(TARGETS))
def test_a_chain_means_what_a_list_means(program: Program, opset: int, target: int) -> None:
    source = helpers.model(program.text(), opset, ir_version=10 if opset >= 18 else 7)
    result = convert_version(source, target).model
    for got, expected in zip(helpers.run(result, program.feeds), program.outputs.values(), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)
    if not program.unknown:
        assert not sequence_operators(result)


def sequence_operators(proto: onnx.ModelProto) -> set[str]:
    return {node.op_type for graph in all_graphs(proto) for node in graph.node if "Sequence" in node.op_type}
