"""Reads in a child process what a comparison has to know of a model before it runs it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import onnx
import onnx.inliner

from ...execution.messages import Failure
from ...execution.model_client import Worker
from ...onnx_model.all_nodes import nodes_with_opset
from ...opsets import facts
from ...opsets.facts import Kind
from ...opsets.type_protos import shared_no_names, tensors_in
from ...structure.function_calls import nodes_run
from ...structure.specialization import with_values
from ..judging.runtime_defects import Doubt, disputed_node, doubt, known_defects, lax_operator, random_operator
from .carried import carries_only
from .equal_lengths import equal_lengths
from .readers import MAX_NODES, NO_READINGS, Readings, readings


class Description(NamedTuple):
    """The interface of a model: serialized ValueInfoProtos of the required and the optional inputs, and the names of the outputs.

    `random` names a node that draws random numbers. `defects` maps runtimes to the reason why they cannot be trusted on this model.
    `disputed` names a node that onnxruntime computes differently from the specification. `lax` says what onnxruntime accepts in
    this model although the specification forbids it. `doubt` says why onnxruntime may give other numbers for another graph that
    computes the same. `readings` says what is done with the values of the inputs. `declared` has serialized ValueInfoProtos of the
    outputs. `equal` has what stands for symbolic dimensions, by `equal_lengths`. `carries` is `carries_only`. `overrides` says
    whether callers may give the optional inputs: before IR 4 they are there because all initializers have to be inputs.
    """

    required: tuple[bytes, ...]
    overridable: tuple[bytes, ...]
    outputs: tuple[str, ...]
    random: str
    defects: dict[str, str]
    disputed: str
    lax: str
    doubt: Doubt | None
    equal: dict[str, int | str]
    readings: Readings = NO_READINGS
    declared: tuple[bytes, ...] = ()
    carries: bool = False
    overrides: bool = False
    is_coarse: bool = False


class Describe(NamedTuple):
    """The question for the `Description` of the model at `path`, whose external data is not read."""

    path: str

    def answer(self) -> Description:
        """The description, read in the child."""
        model = with_values(onnx.load(self.path, load_external_data=False))
        _open_shared_dimensions(model.graph)
        given = {tensor.name for tensor in model.graph.initializer}
        given |= {tensor.values.name for tensor in model.graph.sparse_initializer}
        inputs = model.graph.input
        read = _without_functions(model)
        return Description(
            required=tuple(value.SerializeToString() for value in inputs if value.name not in given),
            overridable=tuple(value.SerializeToString() for value in inputs if value.name in given),
            outputs=tuple(value.name for value in model.graph.output),
            random=random_operator(model),
            defects=known_defects(model),
            disputed=disputed_node(model),
            lax=lax_operator(model),
            doubt=doubt(model),
            equal=equal_lengths(model),
            readings=readings(read),
            declared=tuple(value.SerializeToString() for value in model.graph.output),
            carries=carries_only(model),
            overrides=model.ir_version >= 4,
            is_coarse=_is_coarse(model),
        )


def _open_shared_dimensions(graph: onnx.GraphProto) -> None:
    """Take the names from dimensions of inputs and outputs that share one which is none: they need not be equal."""
    shared = shared_no_names(graph)
    for value in (*graph.input, *graph.output) if shared else ():
        for tensor in tensors_in(value.type):
            for dim in tensor.shape.dim:
                if dim.dim_param in shared:
                    dim.ClearField("dim_param")


def _is_coarse(model: onnx.ModelProto) -> bool:
    """Whether the model computes with quantized numbers, in integers whose steps differ from kernel to kernel, or casts to 16-bit
    floats, in any graph.
    """
    return any(_is_coarse_node(node) for node, _ in nodes_with_opset(model))


def _is_coarse_node(node: onnx.NodeProto) -> bool:
    row = facts.of(node.op_type, node.domain)
    kinds = {attribute.i for attribute in node.attribute if attribute.name == "to"}
    return row.kind is Kind.QUANTIZES or "saturated_products" in row.word("ort-wrong") or not kinds.isdisjoint(_HALVES)


_HALVES = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def _without_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the nodes of its functions in place of their calls, as far as onnx can do that."""
    try:
        if not model.functions or nodes_run(model) > MAX_NODES:
            return model
        return onnx.inliner.inline_local_functions(model)
    except Exception:  # whatever onnx does not like in a function, which is none of the questions here
        return model


def description_of(worker: Worker, path: Path) -> Description | Failure:
    """The description of the model at `path`, read in the child of `worker`."""
    return worker.ask(Describe(str(path.resolve())))
