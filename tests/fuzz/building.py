"""Graphs under construction: values with known types and sizes, and every way in which ONNX lets one be given.

A `Graph` is the main graph, a subgraph or the body of a function. Builders of operators (`operators`) ask it for operands
and add nodes to it; all choices are those of one `random.Random`, so that a seed, or hypothesis, decides everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from split_rewrite.rewriter.execution.dtypes import numpy_dtype

Shape = tuple[int, ...]
COMMON = ("float", "float", "float", "float", "float", "int64", "int32", "double", "float16", "bool")
WORDS = ("", "a", "bc", "naïve")
MAX_ELEMENTS = 3000


class NotHereError(Exception):
    """The operator cannot be built at this place; another one is tried."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor: element type as in schemas ("float"), sizes as in the run. For a sequence, `shape` is that of each element."""

    name: str
    dtype: str
    shape: Shape
    sequence: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass
class Feed:
    """What the main graph's input `name` gets: an array, or, where it has symbolic dimensions, one of any such size."""

    dtype: str
    dims: list[int | str]
    array: np.ndarray
    fixed: bool
    """Whether its values matter (axes, sizes, indices)."""


@dataclass
class World:
    """What all graphs of one model share."""

    random: Random
    opset: int
    ir_version: int
    dynamic: bool
    """Whether inputs have symbolic dimensions. No size is then stated of what is computed from them."""
    feeds: dict[str, Feed] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """The symbolic dimensions, and what they are in the first run."""
    steps: tuple[int, ...] = (-1, 1, 2)
    """By how much they may be larger in other runs."""
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    count: int = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"


@cache
def dtypes_of(op_type: str, opset: int, index: int = 0) -> tuple[str, ...]:
    """The element types of tensors that input `index` of the operator takes."""
    schema = schema_of(op_type, opset)
    if schema is None:
        return ()
    formal = schema.inputs[min(index, len(schema.inputs) - 1)]
    return tuple(sorted(t[7:-1] for t in formal.types if t.startswith("tensor(") and t[7:-1] != "undefined"))


@cache
def schema_of(op_type: str, opset: int) -> onnx.defs.OpSchema | None:
    if not onnx.defs.has(op_type, max_inclusive_version=opset, domain=""):
        return None
    schema = onnx.defs.get_schema(op_type, opset, "")
    return None if schema.deprecated else schema


def elem_type(dtype: str) -> int:
    return TensorProto.DataType.Value(dtype.upper())


def is_float(dtype: str) -> bool:
    return dtype in ("float", "double", "float16", "bfloat16")


def random_array(random: Random, dtype: str, shape: Shape) -> np.ndarray:
    """Small numbers, for floats multiples of a quarter, so that much arithmetic is exact."""
    source = np.random.default_rng(random.getrandbits(32))
    if dtype == "string":
        return source.choice(np.array(WORDS, object), shape) if shape else np.array(WORDS[1], object)
    if dtype == "bool":
        return np.asarray(source.integers(0, 2, shape).astype(bool))
    numpy = numpy_dtype(elem_type(dtype))
    if dtype.startswith("complex"):
        return np.asarray(source.integers(-8, 9, shape) / 4 + 1j * source.integers(-8, 9, shape) / 4).astype(numpy)
    if dtype == "float8e8m0":
        return np.asarray(np.exp2(source.integers(-2, 3, shape))).astype(numpy)
    if dtype in ("int2", "uint2"):
        return np.asarray(source.integers(0, 2, shape)).astype(numpy)
    if dtype.startswith("uint"):
        return np.asarray(source.integers(0, 8, shape)).astype(numpy)
    if "int" in dtype:
        return np.asarray(source.integers(-4, 5, shape)).astype(numpy)
    return np.asarray(source.integers(-12, 13, shape) / 4).astype(numpy)


class Graph:
    """One graph under construction. `parent` is the graph around a subgraph; a function body has none and is no `main`."""

    def __init__(self, world: World, parent: Graph | None = None, *, main: bool = False, opset: int = 0) -> None:
        self.world = world
        self.random = world.random
        self.parent = parent
        self.main = main
        self.opset = opset or world.opset
        self.values: list[Value] = []
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[TensorProto] = []
        self.sparse: list[onnx.SparseTensorProto] = []
        self.arguments: list[tuple[Value, np.ndarray, bool]] = []
        """Of a function body: what each call has to pass, and whether its values matter."""
        self._constants: dict[tuple[str, Shape, bytes], Value] = {}

    # -- chances

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def choose(self, options: Iterable[Any]) -> Any:
        return self.random.choice(list(options))

    def integer(self, low: int, high: int) -> int:
        """low to high, both possible."""
        return self.random.randint(low, high)

    def dtype(self, allowed: Sequence[str]) -> str:
        """One of `allowed`, mostly one that runtimes have kernels for."""
        common = [dtype for dtype in COMMON if dtype in allowed]
        if common and self.maybe(0.85):
            return self.choose(common)
        if not allowed:
            raise NotHereError
        return self.choose(allowed)

    def shape(self, low: int = 0, high: int = 4) -> Shape:
        rank = self.integer(low, high)
        return tuple(self.choose((1, 2, 3, 4, 5, 6)) if self.maybe(0.97) else 0 for _ in range(rank))

    def axis(self, rank: int, *, negative_from: int = 11) -> int:
        if rank == 0:
            raise NotHereError
        return self.integer(-rank if self.opset >= negative_from else 0, rank - 1)

    def axes(self, rank: int, low: int = 1, *, negative_from: int = 11) -> list[int]:
        if rank < low:
            raise NotHereError
        chosen = self.random.sample(range(rank), self.integer(low, rank))
        return [axis - rank if self.opset >= negative_from and self.maybe(0.3) else axis for axis in chosen]

    # -- values that are there

    def visible(self) -> list[Value]:
        return self.values + (self.parent.visible() if self.parent else [])

    def pick(
        self,
        dtypes: Sequence[str],
        low: int = 0,
        high: int = 4,
        fits: Callable[[Value], bool] = lambda _: True,
        shape: Shape | None = None,
        sequence: bool = False,
    ) -> Value:
        """A tensor of rank `low` to `high`, most often one that is there already; `shape` is for a new one."""
        known = [
            value
            for value in self.visible()
            if value.sequence == sequence and value.dtype in dtypes and low <= value.rank <= high and fits(value)
        ]
        if known and (sequence or self.maybe(0.75)):
            return self.choose(known[: 1 + len(known) // 2] if self.maybe(0.2) else known)
        if sequence:
            raise NotHereError
        new = self.source(self.dtype(dtypes), self.shape(low, high) if shape is None else shape)
        if not fits(new):
            raise NotHereError
        return new

    def of(self, op_type: str, low: int = 0, high: int = 4, index: int = 0, **more: Any) -> Value:
        """A tensor that input `index` of the operator takes."""
        return self.pick(dtypes_of(op_type, self.opset, index), low, high, **more)

    def like(self, dtype: str, shape: Shape) -> Value:
        """A tensor of just this type and these sizes."""
        return self.pick((dtype,), fits=lambda value: value.shape == shape, shape=shape)

    # -- values that are new

    def source(self, dtype: str, shape: Shape) -> Value:
        """A new tensor: an input, an initializer, a Constant, or one of those in a graph further out."""
        array = random_array(self.random, dtype, shape)
        return self.given(array, dtype, fixed=False) if self.maybe(0.7) else self.constant(array, dtype)

    def given(self, array: np.ndarray, dtype: str, fixed: bool = True) -> Value:
        """A new input of the main graph or of the function; inside of a subgraph it is captured."""
        if self.parent is not None:
            return self.parent.given(array, dtype, fixed)
        value = self.named("x", dtype, array.shape)
        if not self.main:
            self.arguments.append((value, array, fixed))
            return value
        is_open = self.world.dynamic and not fixed
        dims = [self._symbol(size) if is_open and size and self.maybe(0.4) else size for size in array.shape]
        self.inputs.append(helper.make_tensor_value_info(value.name, elem_type(dtype), dims))
        self.world.feeds[value.name] = Feed(dtype, dims, array, fixed)
        return value

    def _symbol(self, size: int) -> str:
        same = [name for name, known in self.world.sizes.items() if known == size]
        name = self.choose(same) if same and self.maybe(0.5) else self.world.fresh("N")
        self.world.sizes[name] = size
        return name

    def constant(self, array: Any, dtype: str = "int64") -> Value:
        """A constant in one of its forms, perhaps one that is there; sometimes one that a caller may override."""
        array = np.asarray(array, numpy_dtype(elem_type(dtype)))
        key = (dtype, array.shape, array.tobytes() if array.dtype != object else repr(array.tolist()).encode())
        if key in self._constants and self.maybe(0.7):
            return self._constants[key]
        if self.parent is not None and self.maybe(0.3):
            return self.parent.constant(array, dtype)
        self._constants[key] = value = self._new_constant(array, dtype)
        return value

    def _new_constant(self, array: np.ndarray, dtype: str) -> Value:
        is_function = not self.main and self.parent is None
        in_constant = dtype in CONSTANT_TYPES and (self.opset >= 9 or (is_float(dtype) and dtype != "bfloat16"))
        if in_constant and (is_function or self.maybe(0.4) or (self.parent and self.world.ir_version < 4)):
            return self._constant_node(array, dtype)
        if is_function:
            raise NotHereError
        value = self.named("c", dtype, array.shape)
        if self.world.ir_version < 4 and self.parent is not None:
            raise NotHereError
        overridable = self.main and (self.world.ir_version < 4 or self.maybe(0.1))
        if overridable:
            self.inputs.append(helper.make_tensor_value_info(value.name, elem_type(dtype), array.shape))
        self.initializers.append(tensor_of(array, dtype, value.name, raw=self.maybe(0.7)))
        return value

    def _constant_node(self, array: np.ndarray, dtype: str) -> Value:
        value = self.named("c", dtype, array.shape)
        attributes: dict[str, Any] = {"value": tensor_of(array, dtype, "", raw=self.maybe(0.7))}
        if self.opset >= 12 and array.ndim <= 1 and dtype in ("int64", "float", "string") and array.size and self.maybe(0.4):
            kind = {"int64": "int", "float": "float", "string": "string"}[dtype] + ("s" if array.ndim else "")
            attributes = {f"value_{kind}": array.tolist()}
        self.nodes.append(helper.make_node("Constant", [], [value.name], **attributes))
        return value

    def operand(self, array: Any, dtype: str = "int64", *, dynamic: float = 0.08) -> str:
        """Axes, sizes, limits: mostly constant, in one of the ways that exporters find, else computed when the model runs."""
        array = np.asarray(array, numpy_dtype(elem_type(dtype)))
        if self.maybe(dynamic):
            return self.given(array, dtype).name
        if self.maybe(0.1) and array.ndim == 1 and array.size > 1 and self.opset >= 4 and dtype == "int64":
            parts = [self.constant(array[:1]).name, self.constant(array[1:]).name]
            return self.node("Concat", parts, [(dtype, array.shape)], axis=0)[0].name
        if self.maybe(0.1) and dtype in dtypes_of("Identity", self.opset):
            return self.node("Identity", [self.constant(array, dtype).name], [(dtype, array.shape)])[0].name
        if self.maybe(0.1) and dtype == "int64" and self.opset >= 9 and (array == array.astype(np.int32)).all():
            return self.node("Cast", [self.constant(array, "int32").name], [(dtype, array.shape)], to=elem_type(dtype))[0].name
        return self.constant(array, dtype).name

    def named(self, prefix: str, dtype: str, shape: Sequence[int], sequence: bool = False) -> Value:
        value = Value(self.world.fresh(prefix), dtype, tuple(int(size) for size in shape), sequence)
        self.values.append(value)
        return value

    def node(
        self,
        op_type: str,
        inputs: Sequence[str | Value],
        outputs: Sequence[tuple[str, Sequence[int]] | None],
        *,
        domain: str = "",
        sequence: bool = False,
        **attributes: Any,
    ) -> list[Value]:
        """Add a node whose outputs have these types and sizes (None: left out); attributes that are None are left out."""
        if any(math.prod(output[1]) > MAX_ELEMENTS for output in outputs if output):
            raise NotHereError
        made = [None if output is None else self.named("v", *output, sequence) for output in outputs]
        names = [value.name if isinstance(value, Value) else value for value in inputs]
        while names and not names[-1]:
            names.pop()
        given = {key: value for key, value in attributes.items() if value is not None}
        lists = {key: given.pop(key) for key in list(given) if given[key] == []}
        node = helper.make_node(op_type, names, [value.name if value else "" for value in made], domain=domain, **given)
        node.attribute.extend(onnx.AttributeProto(name=key, type=onnx.AttributeProto.INTS) for key in lists)
        if self.maybe(0.5):
            node.name = self.world.fresh("node")
        if self.maybe(0.05):
            node.doc_string = "a note"
        self.nodes.append(node)
        return [value for value in made if value]


CONSTANT_TYPES = frozenset(COMMON) | {"string", "int8", "uint8", "int16", "uint16", "uint32", "uint64"}


def tensor_of(array: np.ndarray, dtype: str, name: str, raw: bool = True) -> TensorProto:
    if dtype == "string" or (not raw and dtype in ("float", "double", "int64", "int32", "bool", "int8", "uint8")):
        values = [text.encode() for text in array.reshape(-1)] if dtype == "string" else array.reshape(-1).tolist()
        return helper.make_tensor(name, elem_type(dtype), array.shape, values)
    if dtype in ("int4", "uint4", "int2", "uint2", "float4e2m1", "float6e2m3", "float6e3m2"):
        return helper.make_tensor(name, elem_type(dtype), array.shape, array.astype(np.float32).reshape(-1))
    return TensorProto(name=name, data_type=elem_type(dtype), dims=array.shape, raw_data=array.tobytes())
