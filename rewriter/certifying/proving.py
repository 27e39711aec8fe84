"""Proves that original and result are equal, in a child process: the solver is a program in C++, and may take any time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import onnx
from onnx import GraphProto, ModelProto, TypeProto

from ..errors import ArgumentError
from ..onnx_model.protos import subgraphs
from ..opsets import type_protos
from ..opsets.inference import infer_model
from ..process import child_call, serving
from ..process.child import Child, Crashed, NotReady, serving_program
from .certificate import Certificate, Proof
from .model_reader import is_known_of_loops, newly_declared, otherwise_declared
from .preconditions import obstacle

if TYPE_CHECKING:
    from .prover import UnprovenError

SECONDS = 60.0
"""The time for all questions to the solver."""
_GRACE = 30.0
"""The time for what is no question: reading the models, and building the terms."""
_MEMORY = 4 << 30
"""The memory of the child."""


def require_solver() -> None:
    """Raises ArgumentError where the solver is not installed."""
    if find_spec("z3") is None:
        raise ArgumentError("--certify needs the package z3-solver: pip install 'split-rewrite[certify]'")


def certify(original: bytes, result: bytes, seconds: float = SECONDS) -> Certificate:
    """Prove what can be proved of `result`, the conversion of `original`. Both are serialized; large payloads may be elsewhere.

    Nothing that the conversion found out is used: shapes are those of the inputs, and what onnx infers from these.
    Raises: SystemLimitError where no child can be started.
    """
    try:
        child_call.check_model(result, True)
    except (child_call.Refused, Crashed) as error:
        return Certificate((), (), "", f"onnx refuses the result: {error}")
    models = [ModelProto.FromString(model) for model in (original, result)]
    reason = obstacle(*models)
    if reason:
        return Certificate((), (), "", reason)
    try:
        prepared = [known for model in models if (known := _prepared(model)) is not None]
    except (child_call.Refused, Crashed) as error:
        return Certificate((), (), "", f"onnx cannot read the models: {error}")
    if len(prepared) < len(models):
        return Certificate((), (), "", "onnx cannot infer the types")
    declared = newly_declared(models[0], models[1], prepared[1])
    if declared:
        return Certificate((), (), "", f"the result declares of '{declared}' what the original does not")
    others = sorted(otherwise_declared(models[0], models[1]))
    child = Child(serving_program(__name__), "-W", "ignore")
    try:
        request = json.dumps([*(model.SerializeToString().hex() for model in prepared), seconds, others]).encode()
        answer = json.loads(bytes(child.ask(request, seconds + _GRACE, _MEMORY)))
    except (Crashed, NotReady) as error:
        return Certificate((), (), "", f"the solver ended: {error}")
    finally:
        child.close()
    outputs, changes = (tuple(Proof(**proof) for proof in answer.pop(name)) for name in ("outputs", "changes"))
    return Certificate(outputs, changes, **answer)


def _prepared(model: ModelProto) -> ModelProto | None:
    """The model with the nodes of its functions in place of calls, and with the types that onnx infers from its inputs alone: what
    it declares of other values may be wrong. None where nothing can be inferred.
    """
    model = _without_functions(model)
    given = {value.name for value in model.graph.input}
    defaults = [tensor for tensor in model.graph.initializer if tensor.name in given]
    for tensor in defaults:  # callers may override them
        model.graph.initializer.remove(tensor)
    _forget_types(model.graph)
    for value in model.graph.input:
        type_protos.forget_no_names(value.type)
    inferred = infer_model(model)
    if inferred is not None:
        inferred.graph.initializer.extend(defaults)
    return inferred


def _without_functions(given: ModelProto) -> ModelProto:
    """A copy of the model with the nodes of its functions in place of the calls; with all functions and calls where that is not
    possible for all.
    """
    model = ModelProto.FromString(given.SerializeToString())
    if not model.functions or not _state_defaults(model):
        return model
    inlined = ModelProto.FromString(child_call.inline_functions(model.SerializeToString()))
    return model if inlined.functions else inlined


def _state_defaults(model: ModelProto) -> bool:
    """State the defaults of functions' attributes in the calls that leave them out. False where a call passes on an attribute that
    its own caller may leave out.
    """
    functions = {(each.domain, each.name, each.overload): each for each in model.functions}
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        waiting += [inner for _, graph in subgraphs(node) for inner in graph.node]
        called = functions.get((node.domain, node.op_type, node.overload))
        defaults = list(called.attribute_proto) if called else []
        stated = {attribute.name: attribute.ref_attr_name for attribute in node.attribute}
        if any(stated.get(default.name) for default in defaults):
            return False
        node.attribute.extend(default for default in defaults if default.name not in stated)
    return True


def _forget_types(graph: GraphProto) -> None:
    """Remove what is declared of values that nodes make, also in subgraphs."""
    del graph.value_info[:]
    for output in graph.output:
        output.ClearField("type")
    for node in graph.node:
        for _, inner in subgraphs(node):
            _forget_types(inner)
            for place, value in enumerate(inner.input):
                if not is_known_of_loops(node, place, value.type):
                    value.ClearField("type")


def proofs(original: ModelProto, result: ModelProto, seconds: float, others: Iterable[str] = ()) -> Certificate:
    """What can be proved of the outputs within `seconds`. The models are `_prepared`, and were `otherwise_declared`."""
    import z3

    from .interpreter import Interpreter
    from .prover import Prover, UnprovenError

    solver = f"z3 {z3.get_version_string()}"
    names = [value.name for value in original.graph.output]
    has_other_defaults = result.ir_version < 4 <= original.ir_version and bool(_interface(result)[1])
    if _interface(original) != _interface(result) or has_other_defaults:
        return Certificate((), (), solver, "the result has other inputs or outputs")
    prover = Prover(seconds)
    interpreter = Interpreter(prover, frozenset(others))
    try:
        interpreter.read_original(original)
        if not prover.is_possible:
            return Certificate((), (), solver, "the solver finds no lengths with which the original is valid")
        interpreter.read_inputs(result)
        if not prover.is_possible:
            return Certificate((), (), solver, "the result takes no inputs that the original takes")
        interpreter.read_result(result)
    except UnprovenError as error:
        return Certificate((), (), solver, str(error))
    changes = {name: _proof(name, problem) for name, problem in interpreter.changes.items()}
    outputs: list[Proof] = []
    for name in names:
        cause = interpreter.doubts.get(name)
        if cause is not None:
            outputs.append(replace(changes[cause], name=name, reason=_about(cause, name) + changes[cause].reason))
        else:
            value = interpreter.original.get(name)
            is_same = value is not None and value is interpreter.result.get(name)
            outputs.append(Proof(name, is_same, "" if is_same else "it is another value"))
    return Certificate(tuple(outputs), tuple(changes.values()), solver)


def _kind(kind: TypeProto) -> tuple[str | None, int | None, bytes]:
    """The type of an input as far as both models have to have the same: of tensors all but the lengths."""
    shape = type_protos.shape_of(kind)
    is_tensor = kind.WhichOneof("value") == "tensor_type"
    return type_protos.type_string(kind), None if shape is None else len(shape), b"" if is_tensor else kind.SerializeToString()


def _interface(model: ModelProto) -> tuple[object, list[bytes], list[str]]:
    """The inputs with their types, those of them that have a value if nobody gives another, and the names of the outputs."""
    inputs = [(value.name, *_kind(value.type)) for value in model.graph.input]
    names = {name for name, *_ in inputs}
    stored = [tensor.SerializeToString() for tensor in model.graph.initializer if tensor.name in names]
    return inputs, sorted(stored), [value.name for value in model.graph.output]


def _proof(name: str, problem: UnprovenError | None) -> Proof:
    return Proof(name, True) if problem is None else Proof(name, False, str(problem), problem.lengths)


def _about(cause: str, name: str) -> str:
    return "" if cause == name else f"'{cause}': "


def serve() -> None:
    """Answer requests of `certify`."""
    serving.serve(_answer)


def _answer(request: memoryview) -> bytes:
    original, result, seconds, others = json.loads(bytes(request))
    models = [onnx.ModelProto.FromString(bytes.fromhex(model)) for model in (original, result)]
    return json.dumps(asdict(proofs(models[0], models[1], seconds, others))).encode()
