"""Compares the shapes of the outputs of a run with those that the model declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import onnx

from ...execution.messages import Outputs
from ...opsets.type_protos import sizes_and_symbols
from ..inputs.readers import Dim

Sizes = Mapping[str, int]
"""The sizes of symbolic dimensions."""


class Contradiction(NamedTuple):
    """An output whose shape is not the declared one.

    `declared` has a number for each dimension whose size is stated, also by a symbol that the inputs determine, and a symbol, or ""
    for the others.
    """

    output: str
    declared: tuple[Dim, ...]
    got: tuple[int, ...]

    @property
    def distance(self) -> float:
        """How far the shapes are apart: 0 is never reached."""
        if len(self.declared) != len(self.got):
            return 1e6 * abs(len(self.declared) - len(self.got))
        wanted = (abs(size - got) for size, got in zip(self.declared, self.got, strict=True) if isinstance(size, int))
        return float(sum(wanted))

    def __str__(self) -> str:
        declared, got = (", ".join(map(str, dims)) for dims in (self.declared, self.got))
        return f"output '{self.output}' of the original has shape [{got}], which is declared as [{declared}]"


class DeclaredOutputs:
    """The shapes that a model declares for its outputs.

    A size that is stated as a number is a promise. A symbol is one where the graph inputs determine its size, but exporters also
    write one symbol for different sizes. No dimensions at all say nothing: writers leave such a shape where they know none.
    """

    def __init__(self, values: Sequence[onnx.ValueInfoProto]) -> None:
        self._shapes = {value.name: _declared_shape(value) for value in values}

    def shapes(self, sizes: Sizes) -> list[tuple[Dim, ...]]:
        """The declared shapes, with the sizes of symbols that are known."""
        return [_resolved(shape, sizes) for shape in self._shapes.values() if shape is not None]

    def contradictions(self, outputs: Outputs, sizes: Sizes) -> list[Contradiction]:
        """The outputs of other shapes than declared. `sizes` are those of the symbols that the inputs determine."""
        pairs = zip(outputs.names, outputs.values, strict=True)
        found = (self._contradiction(name, value, sizes) for name, value in pairs)
        return [contradiction for contradiction in found if contradiction is not None]

    def _contradiction(self, name: str, value: Any, sizes: Sizes) -> Contradiction | None:
        shape = self._shapes.get(name)
        if not shape or value is None or isinstance(value, (list, dict)):
            return None
        got, resolved = tuple(value.shape), _resolved(shape, sizes)
        return None if _fits(resolved, got) else Contradiction(name, resolved, got)


def bound_sizes(inputs: Mapping[str, Any], shapes: Mapping[str, tuple[Dim, ...] | None]) -> dict[str, int]:
    """The sizes of the symbols in the declared `shapes` of the inputs, without those that stand for several sizes."""
    sizes: dict[str, int] = {}
    ambiguous: set[str] = set()
    for name, shape in shapes.items():
        got = getattr(inputs.get(name), "shape", None)
        if shape is None or got is None or len(got) != len(shape):
            continue
        for dim, size in zip(shape, got, strict=True):
            if isinstance(dim, str) and sizes.setdefault(dim, int(size)) != size:
                ambiguous.add(dim)
    return {name: size for name, size in sizes.items() if name and name not in ambiguous}


def _declared_shape(value: onnx.ValueInfoProto) -> tuple[Dim, ...] | None:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        return None
    return sizes_and_symbols(tensor.shape)


def _resolved(shape: tuple[Dim, ...], sizes: Sizes) -> tuple[Dim, ...]:
    return tuple(sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in shape)


def _fits(shape: tuple[Dim, ...], got: tuple[int, ...]) -> bool:
    if len(shape) != len(got):
        return False
    return all(isinstance(dim, str) or dim == size for dim, size in zip(shape, got, strict=True))
