"""About two hundred small models for probing a runtime: one for each form that a quirk may name, and for opsets and IR versions.

The models of forms and operators are those of `probes.toml`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, parser

from ..opsets.transitions import newest_opset

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found]

OLDEST_OPSET = 7
"""The oldest opset that is probed.

Documentation of runtimes starts with it, and it is the first that broadcasts like all later ones.
"""
OLDEST_IR = 3


class Probe(NamedTuple):
    """One model and what it tests.

    `form` is the name of a form as in `@avoid`, and `about` an operator. Otherwise, `form` is "opset" or "ir_version" and `about` a
    number; or "operators" and `about` their names; or "functions" and `about` the number of local functions.
    """

    form: str
    about: str | int | tuple[str, ...]
    model: onnx.ModelProto
    plain: onnx.ModelProto | None = None
    """A model that computes the same and that onnxruntime runs; None where it runs `model`."""

    def inputs(self) -> list[np.ndarray]:
        """Values for each input: numbers of both signs, some of them halves."""
        return [_values(value.type.tensor_type) for value in self.model.graph.input]


def _values(kind: TensorProto | onnx.TypeProto.Tensor) -> np.ndarray:
    shape = [dim.dim_value or 2 * dim.HasField("dim_param") for dim in kind.shape.dim]  # type: ignore[union-attr]
    count = int(np.prod(shape))
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)  # type: ignore[union-attr]
    if dtype == np.bool_:
        return (np.arange(count) % 3 == 0).reshape(shape)
    values = (np.arange(count) * 7 % 13 - 5) / 2
    return (values * 2 if dtype.kind == "i" else values).astype(dtype).reshape(shape)


def probes() -> Iterator[Probe]:
    """All probes that the installed onnx can express, those of opsets and IR versions first."""
    for opset in range(OLDEST_OPSET, newest_opset() + 1):
        yield Probe("opset", opset, _model("(float[2,3] x) => (float[2,3] y) { y = Add(x, x) }", opset))
    for ir_version in range(OLDEST_IR, onnx.IR_VERSION + 1):
        model = _model("(float[2,3] x) => (float[2,3] y) { y = Add(x, x) }", 9)
        model.ir_version = ir_version
        yield Probe("ir_version", ir_version, model)
    yield Probe("functions", 1, parser.parse_model(_FUNCTION))
    with Path(__file__).with_name("probes.toml").open("rb") as file:
        for table in tomllib.load(file)["probe"]:
            if table["opset"] <= newest_opset():
                yield from _probes_of(**table)


def _probes_of(form: str, opset: int, model: str, plain: str = "", **listed: list[str]) -> Iterator[Probe]:
    """The probes of one table: one for each combination of what `listed` has for the names in `form` and the models."""
    for chosen in product(*listed.values()):
        written, text, same = form, model, plain
        for name, choice in zip(listed, chosen, strict=True):
            written, text, same = (each.replace(f"{{{name}}}", choice) for each in (written, text, same))
        operators = tuple(chosen[list(listed).index("op")].split("+"))
        proto = _model(text, opset)
        proto.producer_name = "pytorch" if written.endswith("exported by pytorch") else ""
        yield Probe(written, operators if form == "operators" else operators[0], proto, _model(same, opset) if same else None)


def _model(text: str, opset: int) -> onnx.ModelProto:
    """The model written as `text`.

    The name "absent" stands for an absent input, since the parser of older onnx has no notation for it.
    """
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\nagraph {text}')
    for node in model.graph.node:
        node.input[:] = ["" if name == "absent" else name for name in node.input]
        node.output[:] = ["" if name == "absent" else name for name in node.output]
    return model


_FUNCTION = """<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
agraph (float[2,3] x) => (float[2,3] y) { y = local.Twice(x) }
<domain: "local", opset_import: ["" : 13]>
Twice (a) => (b) { b = Add(a, a) }"""
