"""Makes nodes from formulas: `op.Mul(x, op.Sigmoid(x))` makes two nodes and returns the name of the product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, overload


class Maker(Protocol):
    """A function that makes one node and returns the names of its outputs. The outputs are given by names or by their number."""

    def __call__(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str] | int, attributes: dict[str, Any], opset: int | None
    ) -> list[str]: ...


class Domain(NamedTuple):
    """A domain other than ONNX's, in the version in which a model imports it."""

    name: str
    version: int


class Operator(NamedTuple):
    """One operator, which is called with the names of its inputs, and its attributes. Attributes that are None are left out."""

    make: Maker
    op_type: str

    @overload
    def __call__(self, *inputs: str, outputs: Sequence[str] | int, opset: int | None = None, **attributes: Any) -> list[str]: ...

    @overload
    def __call__(self, *inputs: str, output: str = "", opset: int | None = None, **attributes: Any) -> str: ...

    def __call__(
        self,
        *inputs: str,
        output: str = "",
        outputs: Sequence[str] | int | None = None,
        opset: int | None = None,
        **attributes: Any,
    ) -> str | list[str]:
        """Make a node. Returns the name of its output, or a list of names if `outputs` gives several names or a number.

        Outputs without a name get a fresh one, made from the name of the operator. `opset` is the opset in whose form the node is,
        if that is not the one that the rule writes for.
        """
        given = {name: value for name, value in attributes.items() if value is not None}
        if outputs is not None:
            return self.make(self.op_type, inputs, outputs, given, opset)
        return self.make(self.op_type, inputs, [output] if output else 1, given, opset)[0]


class Operators:
    """All operators as attributes, such as `op.Add` and `op.TopK`, and methods for constants and other domains.

    `maker_of` gives what makes nodes of another domain; without it, there are none.
    """

    __slots__ = ("_add_constant", "_make", "_maker_of")

    def __init__(
        self, make: Maker, add_constant: Callable[[Any, Any], str], maker_of: Callable[[Domain], Maker] | None = None
    ) -> None:
        self._make = make
        self._add_constant = add_constant
        self._maker_of = maker_of

    def __getattr__(self, op_type: str) -> Operator:
        if not op_type[0].isupper():
            raise AttributeError(f"no operator is called {op_type!r}")
        return Operator(self._make, op_type)

    def of(self, domain: str, version: int) -> Operators:
        """The operators of another domain, as in `op.of("com.example", 1).Fused(x)`, which the model then imports in this version.

        Making one raises Unconvertible where the model imports another version.
        """
        if self._maker_of is None:
            raise TypeError("only nodes beside another one can be of another domain")
        if not isinstance(domain, str) or not isinstance(version, int) or version < 1:
            raise TypeError(f"a domain is a string and its version an integer from 1 on, not {domain!r} and {version!r}")
        return Operators(self._maker_of(Domain(domain, version)), self._add_constant)

    def const(self, value: Any, dtype: Any) -> str:
        """Make a constant and return its name. `dtype` is a TensorProto.DataType, or anything that numpy accepts as a dtype.

        Raises Unconvertible where `dtype` cannot hold the value.
        """
        return self._add_constant(value, dtype)

    def int64(self, value: Any) -> str:
        """Make an int64 constant from a number, a list or an array, and return its name."""
        return self._add_constant(value, "int64")
