"""Random models that move elements, converted and often damaged: what is "proved for all shapes" holds for all small ones.

    export PYTHONPATH=tests/benchmarks:tests/support
    python tests/fuzz/certificates.py                       # 2,000 models
    python tests/fuzz/certificates.py --random 100 --seed 7
    python tests/fuzz/certificates.py --random 0 --mutants 40

Each model has open dimensions. It is converted to a random opset; then, in two of three, one number of the result is changed, or two
names are exchanged. What is proved of original and result is tried in onnxruntime for all lengths from 0 to 4 with which the original
runs. A proof that does not hold is `false`; a right result that is not proved is only counted. Exit status 1 where one is false.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from certified import TEMPLATES, Template, run_or_none, template_model
from mutants import shaped, structural
from onnx import ModelProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version
from split_rewrite.rewriter.certifying.proving import proofs
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.errors import SplitRewriteError

LENGTHS = range(5)
SYMBOLS = ("N", "M")
TARGETS = (9, 10, 11, 12, 13, 18, 21)


def random_model(random: Random) -> ModelProto:
    """A model of opset 13 or 18 with a float input [N,M,2] and one [N,M,2] or [M,2], of one to five operators."""
    opset = random.choice((13, 18))
    builder = _Builder(random, opset)
    for _ in range(random.randint(1, 5)):
        random.choice(_STEPS)(builder)
    outputs = ", ".join(f"float[{','.join(f'{name}_{axis}' for axis in range(rank))}] {name}" for name, rank in builder.outputs())
    constants = ", ".join(builder.constants)
    second = random.choice(("float[N,M,2] w", "float[K,M,2] w"))
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[N,M,2] x, {second}) => ({outputs}) <{constants}> {{ {" ".join(builder.nodes)} }}'
    return onnx.parser.parse_model(text)


class _Builder:
    """The text of a model under construction: its nodes, its constants, and the ranks of its values."""

    def __init__(self, random: Random, opset: int) -> None:
        self.random = random
        self.opset = opset
        self.nodes: list[str] = []
        self.constants = ["int64[1] unread = {0}"]
        self.ranks = {"x": 3, "w": 3}
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def const(self, values: Sequence[int], *, is_scalar: bool = False) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(f"int64{'' if is_scalar else f'[{len(values)}]'} {name} = {{{','.join(map(str, values))}}}")
        return name

    def value(self, rank: int | None = None) -> str:
        """One of the values, preferably a new one."""
        found = [name for name, own in self.ranks.items() if rank is None or own == rank]
        return self.random.choice(found[-3:])

    def add(self, text: str, *ranks: int) -> list[str]:
        """Add a node, whose outputs have these ranks; `text` is what stands behind the equals sign."""
        names = [self.name() for _ in ranks]
        self.nodes.append(f"{', '.join(names)} = {text}")
        self.ranks |= dict(zip(names, ranks, strict=True))
        return names

    def add_inner(self, text: str) -> str:
        """Add a node whose output is no tensor of floats, and return its name."""
        name = self.name()
        self.nodes.append(f"{name} = {text}")
        return name

    def axis(self, value: str) -> int:
        rank = self.ranks[value]
        return self.random.randrange(-rank, rank)

    def outputs(self) -> list[tuple[str, int]]:
        """Up to three of the last values that nodes made."""
        return [(name, rank) for name, rank in self.ranks.items() if name not in ("x", "w")][-3:]


def _split(builder: _Builder) -> None:
    random, value = builder.random, builder.value()
    if not builder.ranks[value]:
        return
    axis, rank, count = builder.axis(value), builder.ranks[value], random.choice((2, 2, 3))
    way = random.randrange(3)
    if way == 0:
        sizes = builder.const([random.choice((0, 1, 2)) for _ in range(count)])
        builder.add(f"Split<axis = {axis}>({value}, {sizes})", *[rank] * count)
    elif builder.opset == 18:
        builder.add(f"Split<axis = {axis}, num_outputs = {count}>({value})", *[rank] * count)
    else:
        builder.add(f"Split<axis = {axis}>({value})", *[rank] * count)


def _sequence(builder: _Builder) -> None:
    random, value = builder.random, builder.value()
    rank = builder.ranks[value]
    if not rank:
        return
    axis = builder.axis(value)
    if random.random() < 0.5:
        sizes = builder.const([random.choice((1, 1, 2)) for _ in range(2)])
        parts = builder.add_inner(f"SplitToSequence<axis = {axis}>({value}, {sizes})")
        keeps = 1
    else:
        keeps = random.choice((0, 1))
        parts = builder.add_inner(f"SplitToSequence<axis = -1, keepdims = {keeps}>({builder.value(rank)})")
    if random.random() < 0.5:
        place = builder.const([random.choice((0, 1, -1))], is_scalar=True)
        builder.add(f"SequenceAt({parts}, {place})", rank if keeps else rank - 1)
    elif rank - 1 + keeps > 0:
        builder.add(f"ConcatFromSequence<axis = 0, new_axis = 1>({parts})", rank + keeps)


def _slice(builder: _Builder) -> None:
    random, value = builder.random, builder.value()
    if builder.ranks[value]:
        start, end, axis, step = (
            builder.const([number])
            for number in (
                random.randint(-3, 3),
                random.choice((-1, 1, 2, 9, 2**63 - 1)),
                builder.axis(value),
                random.choice((1, 1, 2)),
            )
        )
        builder.add(f"Slice({value}, {start}, {end}, {axis}, {step})", builder.ranks[value])


def _gather(builder: _Builder) -> None:
    random, value = builder.random, builder.value()
    rank = builder.ranks[value]
    if rank:
        is_scalar = random.random() < 0.5
        places = builder.const([random.choice((0, 1, -1)) for _ in range(1 if is_scalar else 2)], is_scalar=is_scalar)
        builder.add(f"Gather<axis = {builder.axis(value)}>({value}, {places})", rank - 1 if is_scalar else rank)


def _concat(builder: _Builder) -> None:
    value = builder.value()
    rank = builder.ranks[value]
    if rank:
        builder.add(f"Concat<axis = {builder.axis(value)}>({value}, {builder.value(rank)})", rank)


def _reshape(builder: _Builder) -> None:
    value = builder.value()
    rank = builder.ranks[value]
    shapes = {3: ([0, -1], [-1, 2], [0, 0, 2], [-1], [0, -1, 1, 2]), 2: ([0, -1], [-1], [0, 1, -1])}
    if rank in shapes:
        sizes = builder.random.choice(shapes[rank])
        builder.add(f"Reshape({value}, {builder.const(sizes)})", len(sizes))


def _reshape_by_lengths(builder: _Builder) -> None:
    value = builder.value()
    if builder.ranks[value] == 3:
        shape = builder.add_inner(f"Shape({value})")
        first = builder.add_inner(f"Gather({shape}, {builder.const([builder.random.choice((0, 1))])})")
        sizes = builder.add_inner(f"Concat<axis = 0>({first}, {builder.const([-1])})")
        builder.add(f"Reshape({value}, {sizes})", 2)


def _transpose(builder: _Builder) -> None:
    value = builder.value()
    perm = list(range(builder.ranks[value]))
    builder.random.shuffle(perm)
    if len(perm) > 1:
        builder.add(f"Transpose<perm = {perm}>({value})", len(perm))


def _pad(builder: _Builder) -> None:
    random, value = builder.random, builder.value()
    rank = builder.ranks[value]
    if rank:
        pads = builder.const([random.choice((0, 0, 1)) for _ in range(2 * rank)])
        builder.add(f"Pad({value}, {pads})", rank)


def _tile(builder: _Builder) -> None:
    value = builder.value()
    rank = builder.ranks[value]
    if rank:
        repeats = builder.const([builder.random.choice((1, 1, 2)) for _ in range(rank)])
        builder.add(f"Tile({value}, {repeats})", rank)


def _unsqueeze(builder: _Builder) -> None:
    value = builder.value()
    axis = builder.random.randrange(builder.ranks[value] + 1)
    (wider,) = builder.add(f"Unsqueeze({value}, {builder.const([axis])})", builder.ranks[value] + 1)
    if builder.random.random() < 0.5:
        builder.add(f"Squeeze({wider}, {builder.const([axis])})", builder.ranks[value])


def _elementwise(builder: _Builder) -> None:
    value = builder.value()
    builder.add(f"{builder.random.choice(('Relu', 'HardSwish' if builder.opset > 13 else 'Neg'))}({value})", builder.ranks[value])


_STEPS = (
    _split, _split, _split, _sequence, _sequence, _slice, _slice, _gather, _concat, _reshape, _reshape_by_lengths, _transpose, _pad, _tile,
    _unsqueeze, _elementwise,
)  # fmt: skip


def damage(model: ModelProto, random: Random) -> None:
    """Change one number of `model`, or exchange two names."""
    graph = model.graph
    ways = [
        index
        for index, tensor in enumerate(graph.initializer)
        if tensor.data_type == onnx.TensorProto.INT64 and np.prod(tensor.dims)
    ]
    attributes = [
        a for node in graph.node for a in node.attribute if a.name in ("axis", "split", "axes", "perm", "pads", "starts", "ends")
    ]
    pairs = [node for node in graph.node if len(node.output) > 1 or len(node.input) > 1]
    if ways and random.random() < 0.6:
        tensor = graph.initializer[random.choice(ways)]
        array = numpy_helper.to_array(tensor).copy()
        place = random.randrange(array.size)
        array.reshape(-1)[place] = np.clip(array.reshape(-1)[place], -(2**62), 2**62) + random.choice((-1, 1))
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    elif attributes and random.random() < 0.7:
        attribute = random.choice(attributes)
        if attribute.ints:
            place = random.randrange(len(attribute.ints))
            attribute.ints[place] = max(min(attribute.ints[place], 2**62), -(2**62)) + random.choice((-1, 1))
        else:
            attribute.i += random.choice((-1, 1))
    elif pairs:
        node = random.choice(pairs)
        names = node.output if len(node.output) > 1 else node.input
        one, other = random.sample(range(len(names)), 2)
        names[one], names[other] = names[other], names[one]


def is_true(original: ModelProto, result: ModelProto, proved: Sequence[str], *, runs: bool) -> str:
    """ "" if both give the same for all small lengths with which the original runs, else where they do not; with `runs`, the result has
    to run with all of them.
    """
    names = [value.name for value in original.graph.output]
    symbols = sorted({dim.dim_param for value in original.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param})
    for sizes in product(LENGTHS, repeat=len(symbols)):
        chosen = dict(zip(symbols, sizes, strict=True))
        inputs = dict(_inputs(original, chosen))
        expected = run_or_none(original, inputs)
        if expected is None or not _is_valid(original, inputs, expected):
            continue
        found = run_or_none(result, inputs)
        if found is None and not runs:
            continue
        for name, value in zip(names, expected, strict=True):
            if name in proved and (found is None or not _are_equal(value, found[names.index(name)])):
                return f"{name} for {chosen}"
    return ""


def _is_valid(model: ModelProto, inputs: Mapping[str, np.ndarray], expected: Sequence[np.ndarray]) -> bool:
    """Whether ONNX's reference gives the same: onnxruntime joins empty tensors with others, and leaves memory as it was."""
    try:
        return all(map(_are_equal, expected, ReferenceEvaluator(model).run(None, dict(inputs))))
    except Exception:  # of several types
        return False


def _are_equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and bool(np.array_equal(one, other))


def _inputs(model: ModelProto, chosen: Mapping[str, int]) -> Iterator[tuple[str, np.ndarray]]:
    for number, value in enumerate(model.graph.input):
        shape = [chosen[dim.dim_param] if dim.dim_param else dim.dim_value for dim in value.type.tensor_type.shape.dim]
        yield value.name, (np.arange(np.prod(shape)).reshape(shape) + 1000 * number + 1).astype(np.float32)


def check(seed: int) -> tuple[str, str]:
    """What became of the model of this seed: an outcome, and what is wrong."""
    random = Random(seed)
    original = random_model(random)
    try:
        onnx.checker.check_model(original, full_check=True)
    except Exception:  # of several types: most are lengths that contradict each other
        return "invalid", ""
    try:
        result = convert_version(original, random.choice(TARGETS), compare="off", options=Options()).model
    except UnconvertibleError:
        return "refused", ""
    except SplitRewriteError as error:
        return "error", str(error)
    is_damaged = random.random() < 2 / 3
    if is_damaged:
        damage(result, random)
    try:
        found = proofs(*map(_inferred, (original, result)), 20)
    except Exception as error:  # a damaged result may break anything
        return ("damaged" if is_damaged else "internal"), f"{type(error).__name__}: {error}"
    proved = [output.name for output in found.outputs if output.is_proved]
    if not proved:
        return ("open (damaged)" if is_damaged else "open"), found.reason or found.outputs[0].reason
    wrong = is_true(original, result, proved, runs=found.is_proved)
    if wrong:
        return "false", wrong
    return ("proved (damaged)" if is_damaged else "proved" if len(proved) == len(found.outputs) else "proved in part"), ""


def check_mutants(template: Template, seed: int, count: int) -> Iterator[tuple[str, str]]:
    """What became of up to `count` wrong versions of the result of a template: "refuted" with lengths by the solver, or with inputs by the
    comparison that a conversion makes beside the proof, "open", "false", or "equal"."""
    original = template_model(template)
    result = convert_version(original, template.target, compare="off").model
    names = [value.name for value in original.graph.output]
    if is_true(original, result, names, runs=True):
        return  # onnxruntime does not run models of these opsets
    random = Random(seed)
    for mutant in (*structural(random, result, count), *shaped(random, result, count // 4)):
        try:
            onnx.checker.check_model(mutant.model, full_check=True)
            found = proofs(*map(_inferred, (original, mutant.model)), 20)
        except Exception:  # of several types: the mutant is not valid
            continue
        what = f"{template.nodes}, {mutant.kind} {mutant.what}"
        if not is_true(original, mutant.model, names, runs=True):
            yield "equal", what
        elif found.is_proved:
            yield "false", what
        elif any(proof.lengths for proof in (*found.outputs, *found.changes)):
            yield "refuted", what
        else:
            yield ("refuted by a run" if _is_found_different(original, mutant.model) else "open"), what


def _is_found_different(original: ModelProto, result: ModelProto) -> bool:
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}.onnx") for name in ("original", "result")]
        for path, model in zip(paths, (original, result), strict=True):
            path.write_bytes(model.SerializeToString())
        return compare(*paths, thorough=True).status == "different"


def _inferred(model: ModelProto) -> ModelProto:
    bare = ModelProto.FromString(model.SerializeToString())
    del bare.graph.value_info[:]
    for output in bare.graph.output:
        output.type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(bare, data_prop=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--random", type=int, default=2000, metavar="N", help="the number of models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mutants", type=int, default=20, metavar="N", help="the number of wrong results of each template")
    options = parser.parse_args(arguments)
    begin, counts = time.monotonic(), Counter[str]()
    for seed in range(options.seed, options.seed + options.random):
        outcome, what = check(seed)
        counts[outcome] += 1
        if outcome in ("false", "internal", "error", "open"):
            print(f"{outcome}: model {seed}: {what}"[:300], flush=True)
    for template in TEMPLATES if options.mutants else ():
        for outcome, what in check_mutants(template, options.seed, options.mutants):
            counts[f"mutants {outcome}" if outcome != "false" else outcome] += 1
            if outcome in ("false", "open"):
                print(f"{outcome}: {what}"[:300], flush=True)
    print(", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items())), f"in {time.monotonic() - begin:.0f} s")
    return 1 if counts["false"] or counts["internal"] else 0


if __name__ == "__main__":
    sys.exit(main())
