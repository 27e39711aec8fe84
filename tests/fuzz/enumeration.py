"""Models of one node that cover what a schema accepts: every pair of choices (attribute, type, shape, kind of values, form) once.

The choices are the factors of a covering array that is built greedily: each next model is the one of a few random ones that
has most pairs that none had before. A seed decides all of it, and model n is the same whatever the number of models.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np
import onnx
from building import dtypes_of, elem_type, is_float, tensor_of
from engines import ENGINES, CannotRunError, run
from onnx import AttributeProto, ModelProto, TensorProto, TypeProto, ValueInfoProto, helper, shape_inference
from onnx.defs import OpSchema
from spaces import NOT_ENUMERATED, SPACES, Space

from split_rewrite.rewriter.execution.dtypes import numpy_dtype

Choice = dict[str, Any]
CANDIDATES = 12
"""Random choices of which the one with most new pairs is taken."""
ATTEMPTS = 25
"""Attempts for each model that is wanted: most choices of strict operators are no valid models."""
VALUES = ("special", "mixed", "finite", "ties", "whole")
FORMS = ("parameters", "run time", "all but first", "all")
"""What is constant: what says how (axes, sizes), nothing, all inputs but the first, everything."""
DIMS = ("known", "symbolic")
TAKES_VARIANCE = frozenset(
    ("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization", "RMSNormalization")
)
"""Operators that divide by the root of a variance, for which specifications have several forms."""
_GENERIC: dict[Any, tuple[Any, ...]] = {
    AttributeProto.INT: (None, 0, 1, -1, 2),
    AttributeProto.FLOAT: (None, -1.5, -1.0, -0.0, 0.25, 1.0, 2.5),
    AttributeProto.INTS: (None, [], [0], [1]),
    AttributeProto.FLOATS: (None, [0.5]),
    AttributeProto.STRING: (None, ""),
    AttributeProto.STRINGS: (None, ["a", ""]),
}
_WORDS = ("", "a", "A", "bc", "a b", " x ", "ß", "naïve", "aXbXc", "ab", "z\n")
_FLOATS = (
    *(
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        2.5,
        -2.5,
        3.5,
        0.3,
        -0.3,
        3.7,
        -3.7,
        6.0,
        10.0,
        -10.0,
        30.0,
        -30.0,
        89.0,
        -104.0,
        710.0,
    ),
    *(1e-4, -1e-4, 1e-7, 1000.0, -1000.0, 16777217.0, 2147483648.0, 9.3e18, 3.2e18, 127.5, 128.0, -128.5, 255.5, 256.0, 65504.0),
)


@dataclass(frozen=True)
class Case:
    """`name` is "Celu-12:17": operator, since_version, attempt. `feeds` are the inputs that decide."""

    name: str
    op_type: str
    version: int
    model: ModelProto
    feeds: dict[str, Any]
    choice: Choice


class UnfitError(Exception):
    """The choice makes no valid model."""


@cache
def versions() -> dict[str, tuple[int, ...]]:
    """The since_versions of each operator of the default domain, without those that deprecate it."""
    found: dict[str, list[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and not schema.deprecated and schema.name not in NOT_ENUMERATED:
            found.setdefault(schema.name, []).append(schema.since_version)
    return {name: tuple(sorted(numbers)) for name, numbers in sorted(found.items())}


def cases(op_type: str, version: int, seed: int, limit: int, within: Space | None = None) -> Iterator[Case]:
    """At most `limit` valid models of the operator in this version, of the space `within`; by default that of `SPACES`."""
    schema = onnx.defs.get_schema(op_type, version, "")
    space = within or SPACES.get(op_type, Space())
    factors = _factors(schema, space)
    random = Random(f"{seed} {op_type} {version}")
    covered: set[tuple[Any, ...]] = set()
    found = 0
    for attempt in range(limit * ATTEMPTS):
        choice = _next_choice(factors, covered, random)
        values = np.random.default_rng(random.getrandbits(32))
        if not space.fits(version, choice):
            continue
        try:
            model, feeds = Builder(schema, choice, values).build()
        except UnfitError:
            continue
        covered.update(_pairs(choice))
        yield Case(f"{op_type}-{version}:{attempt}", op_type, version, model, feeds, choice)
        found += 1
        if found == limit:
            return


def _next_choice(factors: Mapping[str, Sequence[Any]], covered: set[tuple[Any, ...]], random: Random) -> Choice:
    candidates = [{name: random.choice(values) for name, values in factors.items()} for _ in range(CANDIDATES)]
    return max(candidates, key=lambda choice: sum(pair not in covered for pair in _pairs(choice)))


def _pairs(choice: Choice) -> Iterator[tuple[Any, ...]]:
    return itertools.combinations([(name, repr(value)) for name, value in sorted(choice.items())], 2)


def _factors(schema: OpSchema, space: Space) -> dict[str, Sequence[Any]]:
    """name → candidates: "sizes", "values", "form", "dims", "outputs", "type T", "input x", "attribute y"."""
    factors: dict[str, Sequence[Any]] = {
        "sizes": space.sizes or ((),),
        "values": VALUES,
        "form": FORMS,
        "dims": DIMS,
        "outputs": range(max(schema.min_output, 1), min(schema.max_output, _most_outputs(schema)) + 1) or (1,),
    }
    for constraint in schema.type_constraints:
        factors[f"type {constraint.type_param_str}"] = _types(schema, constraint.allowed_type_strs)
    for formal in schema.inputs:
        if formal.name.lower() in space.by_name:
            factors[f"input {formal.name}"] = space.by_name[formal.name.lower()]
    for name, attribute in schema.attributes.items():
        candidates = space.by_name.get(name.lower(), _GENERIC.get(attribute.type.value, (None,)))
        fitting = [value for value in candidates if _fits_attribute(value, attribute)]
        factors[f"attribute {name}"] = fitting or (None,)
    return factors


def _most_outputs(schema: OpSchema) -> int:
    """The number of outputs that are told apart, and more of those that may be any number."""
    is_variadic = bool(schema.outputs) and schema.outputs[-1].option == OpSchema.FormalParameterOption.Variadic
    return len(schema.outputs) + 2 * is_variadic


def _fits_attribute(value: Any, attribute: OpSchema.Attribute) -> bool:
    if value is None:
        return not attribute.required
    number = attribute.type.value
    if isinstance(value, onnx.TensorProto):
        return number == AttributeProto.TENSOR
    if isinstance(value, str):
        return number == AttributeProto.STRING
    if isinstance(value, list):
        return number in (AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS)
    return not isinstance(value, tuple | np.ndarray) and number in (AttributeProto.INT, AttributeProto.FLOAT)


def _types(schema: OpSchema, allowed: Sequence[str]) -> list[str]:
    """Those that can be built: tensors, sequences and optionals of tensors; the element types that most have kernels for twice."""
    kinds = sorted(text for text in allowed if "undefined" not in text and "map(" not in text)
    common = [text for text in kinds if text in ("tensor(float)", "tensor(int64)", "seq(tensor(float))", "tensor(string)")]
    return kinds + common


class Builder:
    """One model of one node, as a choice says."""

    def __init__(self, schema: OpSchema, choice: Choice, source: np.random.Generator) -> None:
        self._schema = schema
        self._choice = choice
        self._source = source
        self._inputs: list[ValueInfoProto] = []
        self._initializers: list[TensorProto] = []
        self._nodes: list[onnx.NodeProto] = []
        self._feeds: dict[str, Any] = {}

    def build(self) -> tuple[ModelProto, dict[str, Any]]:
        """Raises: UnfitError."""
        names = [self._input(index, formal, size) for index, formal, size in self._operands()]
        while names and not names[-1]:
            names.pop()
        outputs = [f"y{index}" for index in range(self._choice["outputs"])]
        node = helper.make_node(self._schema.name, names, outputs, **self._attributes())
        node.attribute.extend(self._empty_lists())
        graph = helper.make_graph([*self._nodes, node], "g", self._inputs, [], self._initializers)
        opset = helper.make_opsetid("", self._schema.since_version)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=helper.find_min_ir_version_for([opset], True))
        model.ir_version = max(model.ir_version, 4)  # below, an initializer has to be an input
        self._declare(model, outputs)
        return model, self._feeds

    def _operands(self) -> Iterator[tuple[int, OpSchema.FormalParameter, Any]]:
        """index, formal, what to put there: a shape, values, or None."""
        sizes = self._choice["sizes"]
        formals = list(self._schema.inputs)
        if formals and formals[-1].option == OpSchema.FormalParameterOption.Variadic:
            formals += [formals[-1]] * (len(sizes) - len(formals))
        for index, formal in enumerate(formals):
            stated = self._choice.get(f"input {formal.name}")
            size = sizes[index] if index < len(sizes) and (sizes[index] is not None or stated is None) else stated
            is_optional = formal.option != OpSchema.FormalParameterOption.Single
            if size is None and not is_optional:
                size = () if sizes else None
            if size is None and not is_optional:
                raise UnfitError(f"nothing for {formal.name}")
            yield index, formal, size

    def _input(self, index: int, formal: OpSchema.FormalParameter, content: Any) -> str:
        if content is None:
            return ""
        kind = self._choice.get(f"type {formal.type_str}") or next(iter(sorted(formal.types)))
        name = f"x{index}"
        if kind.startswith("tensor("):
            self._tensor(name, kind[7:-1], content, index)
            return name
        parts = [self._part(f"{name}_{number}", kind, content, index) for number in range(3)]
        make = {"seq": "SequenceConstruct", "opt": "Optional"}[kind[:3]]
        if self._schema.since_version < {"seq": 11, "opt": 15}[kind[:3]]:
            raise UnfitError("no such type yet")
        self._nodes.append(helper.make_node(make, parts if make == "SequenceConstruct" else parts[:1], [name]))
        return name

    def _part(self, name: str, kind: str, content: Any, index: int) -> str:
        if "seq(" in kind[4:]:
            raise UnfitError("an optional sequence")
        self._tensor(name, kind[kind.rindex("(") + 1 : kind.index(")")], content, index)
        return name

    def _tensor(self, name: str, dtype: str, content: Any, index: int) -> None:
        array = self._array(dtype, content)
        is_parameter = not isinstance(content, tuple)
        form = self._choice["form"]
        if form == "all" or (form == "all but first" and index) or (form == "parameters" and is_parameter):
            self._initializers.append(tensor_of(array, dtype, name))
            return
        self._inputs.append(_declaration(name, dtype, array.shape, self._choice["dims"]))
        self._feeds[name] = array

    def _array(self, dtype: str, content: Any) -> np.ndarray:
        numpy = numpy_dtype(elem_type(dtype))
        if isinstance(content, tuple):
            array = deciding_values(self._source, dtype, content, self._choice["values"])
            return self._without_large(array) if self._schema.name in TAKES_VARIANCE and is_float(dtype) else array
        if dtype == "string":
            raise UnfitError("numbers as strings")
        with np.errstate(all="ignore"):
            return np.asarray(content).astype(numpy)

    def _without_large(self, array: np.ndarray) -> np.ndarray:
        """The array without finite numbers whose squares add up to more than its type, or stash_type, holds.

        Where a variance overflows is open.
        """
        import ml_dtypes

        stash = self._choice.get("attribute stash_type")
        kinds = [array.dtype] if stash is None else [array.dtype, helper.tensor_dtype_to_np_dtype(stash)]
        limit = np.sqrt(min(float(ml_dtypes.finfo(kind).max) for kind in kinds)) / 8
        sizes = np.abs(array.astype(np.float64))
        return np.where(np.isfinite(sizes) & (sizes > limit), np.asarray(2.5, array.dtype), array)

    def _attributes(self) -> dict[str, Any]:
        given = {name: self._choice[f"attribute {name}"] for name in self._schema.attributes}
        floats = {
            name for name, a in self._schema.attributes.items() if a.type.value in (AttributeProto.FLOAT, AttributeProto.FLOATS)
        }
        chosen = {name: value for name, value in given.items() if value is not None and value != []}
        return {name: _as_floats(value) if name in floats else value for name, value in chosen.items()}

    def _empty_lists(self) -> Iterator[AttributeProto]:
        for name, attribute in self._schema.attributes.items():
            if self._choice[f"attribute {name}"] == []:
                yield AttributeProto(name=name, type=attribute.type.value)

    def _declare(self, model: ModelProto, outputs: Sequence[str]) -> None:
        """Give the graph its outputs, as inference or the schema tells their types. Raises: UnfitError."""
        model.graph.output.extend(ValueInfoProto(name=name) for name in outputs)
        try:
            inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        except Exception as error:
            raise UnfitError(str(error)) from error
        for value, known, formal in zip(model.graph.output, inferred.graph.output, _repeated(self._schema), strict=False):
            value.type.CopyFrom(known.type if known.type.WhichOneof("value") else self._type_of(formal))
        self._declare_ranks(model)
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception as error:
            raise UnfitError(str(error)) from error

    def _declare_ranks(self, model: ModelProto) -> None:
        """The checker wants a rank of each output: where inference does not tell, a run does."""
        unknown = [value.type.tensor_type for value in model.graph.output if value.type.HasField("tensor_type")]
        if all(kind.HasField("shape") for kind in unknown):
            return
        results = _run(model, self._feeds)
        for value, result in zip(model.graph.output, results, strict=True):
            kind = value.type.tensor_type
            if value.type.HasField("tensor_type") and not kind.HasField("shape"):
                kind.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in np.shape(result))
                kind.shape.SetInParent()

    def _type_of(self, formal: OpSchema.FormalParameter) -> TypeProto:
        kind = self._choice.get(f"type {formal.type_str}") or next(iter(sorted(formal.types)))
        if not kind.startswith("tensor("):
            raise UnfitError("inference does not tell the type")
        return helper.make_tensor_type_proto(elem_type(kind[7:-1]), None)


def _run(model: ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    for engine in ENGINES:
        try:
            return run(engine, model, feeds)
        except CannotRunError:
            continue
    raise UnfitError("no runtime tells the rank")


def _repeated(schema: OpSchema) -> Iterator[OpSchema.FormalParameter]:
    yield from schema.outputs
    while True:
        yield schema.outputs[-1]


def _as_floats(value: Any) -> Any:
    return [float(number) for number in value] if isinstance(value, list) else float(value)


def _declaration(name: str, dtype: str, shape: Sequence[int], dims: str) -> ValueInfoProto:
    known = [f"N{size}" for size in shape] if dims == "symbolic" else list(shape)
    return helper.make_tensor_value_info(name, elem_type(dtype), known)


def deciding_values(source: np.random.Generator, dtype: str, shape: Sequence[int], kind: str) -> np.ndarray:
    """An array of what rules go wrong at: `kind` is one of VALUES."""
    pool = _pool(dtype, kind)
    size = int(np.prod(shape, dtype=np.int64))
    picked = source.permutation(len(pool))
    indices = np.resize(picked, size) if size else np.zeros(0, np.int64)
    array = pool[indices].reshape(shape)
    if kind == "mixed" and is_float(dtype) and size:
        array = array.copy()
        specials = _pool(dtype, "special")
        array.reshape(-1)[source.integers(size)] = specials[source.integers(len(specials))]
    return array


@cache
def _pool(dtype: str, kind: str) -> np.ndarray:
    if dtype == "string":
        return np.array(_WORDS, object)
    if dtype == "bool":
        return np.array([True, False, False, True, True])
    numpy = numpy_dtype(elem_type(dtype))
    if dtype.startswith("complex"):
        parts = _pool("float" if dtype == "complex64" else "double", kind)
        whole = np.empty(len(parts), numpy)
        whole.real, whole.imag = parts, parts[::-1]
        return whole
    if "int" in dtype:
        return _integers(dtype, kind).astype(numpy)
    if kind == "special":
        return _special_floats(numpy)
    numbers = {"ties": [1, 2, 2, 1, -1, 2, 0.5, 0.5], "whole": range(-6, 7)}.get(kind, np.linspace(-3.1, 3.3, 13))
    return np.array([*numbers], np.float64).astype(numpy)


def _integers(dtype: str, kind: str) -> np.ndarray:
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    near = [0, 1, 2, 3, -1, -2, -3, 5, 7, -7]
    far = [low, high, low + 1, high - 1, high // 2, high // 3, 2**24 + 1, 2**31, -(2**31), 2**53 + 1, 100, -100]
    numbers = {"special": near + far, "ties": [1, 2, 2, 1, -1, 2]}.get(kind, near)
    return np.array([number for number in numbers if low <= number <= high], np.uint64 if low == 0 else np.int64)


def _special_floats(numpy: np.dtype) -> np.ndarray:
    import ml_dtypes

    limits = ml_dtypes.finfo(numpy)
    edges = [float(limits.max), float(limits.min), float(limits.tiny), -float(limits.tiny), float(limits.smallest_subnormal)]
    ones = [1 + float(limits.eps), 1 - float(limits.eps)]
    with np.errstate(all="ignore"):
        numbers = np.array([np.nan, np.inf, -np.inf, *edges, -edges[-1], *ones, *_FLOATS], np.float64).astype(numpy)
    wide = numbers.astype(np.float64)
    return numbers[np.isfinite(wide) | (np.arange(len(wide)) < 3)]


__all__ = ["Case", "cases", "deciding_values", "dtypes_of", "versions"]
