"""What has to hold of both models before anything is proved of them: runtimes load them, and read them as the proof does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, defs

from ..onnx_model.all_nodes import nodes_with_opset, with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS, ONNX_DOMAINS
from ..onnx_model.protos import default_opset, defined_names, label_of
from ..opsets import facts
from ..structure.inlining import callee, key_of
from ..structure.survey import all_graphs, all_tensors
from .model_reader import has_odd_counter

_RUNTIMES = ("com.microsoft", "com.ms.", "org.pytorch.")
"""What the domains of operators begin with that onnxruntime defines."""
_GIVEN = ("_inlfunc_", "InsertedPrecisionFreeCast_")
"""What the names begin with that onnxruntime gives to values and nodes."""
_SCAN_WITHOUT_BATCH = 9
"""The opset from which on a Scan takes no batch, and runtimes run none without a turn."""


def obstacle(original: ModelProto, result: ModelProto) -> str:
    """Why nothing can be proved of these models; "" where nothing is in the way."""
    found = (reason for model in (original, result) for reason in _obstacles(model))
    return next(filter(None, found), "") or _new_import(original, result) or _new_gap(original, result)


def _obstacles(model: ModelProto) -> Iterator[str]:
    if sum(entry.domain in DEFAULT_DOMAINS for entry in model.opset_import) != 1:
        yield "a model does not import ONNX's own domain once"
    yield _unknown_import(model)
    yield _shadowing_function(model)
    yield _function_of_another_opset(model)
    yield _captured_name(model)
    if has_odd_counter(model):
        yield "a Loop declares another type of its counter or condition than Loop has"
    if any(opset < _SCAN_WITHOUT_BATCH and _is_scan(node) for node, opset in nodes_with_opset(model)):
        yield "a Scan of opset 8 gives other shapes in no turn"
    if any(map(_is_odd_bool, (*all_tensors(model), *_sparse_values(model)))):
        yield "a stored bool is neither 0 nor 1"
    for graph in all_graphs(model):
        if _has_repetition([node.name for node in graph.node if node.name]):
            yield "two nodes of a graph have one name"
        if isinstance(graph, GraphProto):
            stored = [tensor.name for tensor in graph.initializer]
            if _has_repetition(stored):
                yield "two initializers have one name"
            if graph is not model.graph and not {value.name for value in graph.input}.isdisjoint(stored):
                yield "a body has an initializer in the place of an input"
    if _has_ambiguous_initializer(model):
        yield "a body has an initializer with the name of another value, which onnxruntime may read in its place"


def _is_scan(node: NodeProto) -> bool:
    return node.op_type == "Scan" and node.domain in DEFAULT_DOMAINS


def _sparse_values(model: ModelProto) -> Iterator[TensorProto]:
    """What is stored of sparse tensors."""
    for graph in all_graphs(model):
        yield from (each.values for each in (graph.sparse_initializer if isinstance(graph, GraphProto) else ()))
        for attribute in (attribute for node in graph.node for attribute in node.attribute):
            yield from (each.values for each in (attribute.sparse_tensor, *attribute.sparse_tensors))


def _is_odd_bool(tensor: TensorProto) -> bool:
    """Whether a stored bool is neither 0 nor 1: readers take it for different values."""
    stored = {*tensor.int32_data, *tensor.raw_data} if tensor.data_type == TensorProto.BOOL else set[int]()
    return not stored <= {0, 1}


def _has_repetition(names: Sequence[str]) -> bool:
    return len({*names}) < len(names)


def _unknown_import(model: ModelProto) -> str:
    """A version of a domain that does not exist; "" where there is none. Runtimes load no model that imports one."""
    newest = {domain: last for domain, (_, last) in defs.C.schema_version_map().items()}
    newest[DEFAULT_DOMAINS[1]] = newest[DEFAULT_DOMAINS[0]]
    newest["com.microsoft"] = 1
    imports = (entry for part in (model, *model.functions) for entry in part.opset_import)
    unknown = (entry for entry in imports if entry.version > newest.get(entry.domain, entry.version))
    return next((f"a model imports version {entry.version} of '{entry.domain}', which nobody knows" for entry in unknown), "")


def _new_import(original: ModelProto, result: ModelProto) -> str:
    """A domain of which the result imports a version that the original does not, beside those of which all versions are known; ""
    where there is none.
    """
    known = {*defs.C.schema_version_map(), *DEFAULT_DOMAINS, "com.microsoft"}
    before, after = ({(entry.domain, entry.version) for entry in model.opset_import} for model in (original, result))
    new = sorted(domain for domain, _ in after - before if domain not in known)
    return f"the result imports a version of '{new[0]}' that the original does not" if new else ""


def _new_gap(original: ModelProto, result: ModelProto) -> str:
    """An operator of the result that leaves out operands or outputs as none of the original does, of which runtimes are not all
    aware; "" where there is none.
    """
    known = {*_gaps(original)}
    return next(
        (f"the result has a {gap[1]} that leaves out an operand or output" for gap in _gaps(result) if gap not in known), ""
    )


def _gaps(model: ModelProto) -> Iterator[tuple[str, str, tuple[bool, ...], tuple[bool, ...]]]:
    """The nodes that have an unnamed output, an unnamed operand among as many as one likes, or fewer than a function takes."""
    functions = {key_of(each): each for each in model.functions}
    for node in (node for graph in all_graphs(model) for node in graph.node):
        given, made = tuple(map(bool, node.input)), tuple(map(bool, node.output))
        function, fact = functions.get(callee(node)), facts.of(label_of(node))
        if function is not None:
            required = (*given, len(given) >= len(function.input))
        else:
            required = given[len(fact.roles) - 1 :] if fact.is_variadic else ()
        if not all((*required, *made)):
            yield node.domain, node.op_type, given, made


def _captured_name(model: ModelProto) -> str:
    """A name that onnxruntime may give to another value when it writes functions in place of calls; "" where there is none."""
    own = (name for graph in all_graphs(model) for name in (*defined_names(graph), *(node.name for node in graph.node)))
    if found := next((name for name in own if name.startswith(_GIVEN)), ""):
        return f"onnxruntime may give the name '{found}' to another value"
    functions = [each.name for each in model.functions]
    values = {(each.name, name) for each in model.functions for name in (*defined_names(each), *(node.name for node in each.node))}
    joined = ["_".join(pair) for pair in values]
    if _has_repetition(joined) or (_has_repetition(functions) and any(_calls(each, model) for each in model.functions)):
        return "onnxruntime may give values of two functions one name"
    return ""


def _calls(function: FunctionProto, model: ModelProto) -> bool:
    """Whether a function of the model calls another."""
    functions = {key_of(each) for each in model.functions}
    return any(callee(node) in functions for node in with_inner(function.node))


def _has_ambiguous_initializer(model: ModelProto) -> bool:
    """Whether an initializer of a body has the name of a value of another graph."""
    graphs = all_graphs(model)
    values = Counter(name for graph in graphs for name in {*defined_names(graph)})
    bodies = (graph for graph in graphs if isinstance(graph, GraphProto) and graph is not model.graph)
    return any(values[tensor.name] > 1 for graph in bodies for tensor in graph.initializer)


def _shadowing_function(model: ModelProto) -> str:
    """A function in a domain whose operators runtimes define, which they may run in its place; "" where there is none."""
    own = (each for each in model.functions if each.domain in ONNX_DOMAINS or each.domain.startswith(_RUNTIMES))
    names = (f"{each.domain or DEFAULT_DOMAINS[1]}.{each.name}" for each in own)
    return next((f"runtimes may have an operator of their own in place of the function '{name}'" for name in names), "")


def _function_of_another_opset(model: ModelProto) -> str:
    """A function that imports another opset than the model, which runtimes may read by that; "" where there is none."""
    opset = default_opset(model.opset_import)
    others = (each.name for each in model.functions if default_opset(each.opset_import) not in (None, opset))
    return next((f"the function '{name}' is of another opset than the model" for name in others), "")
