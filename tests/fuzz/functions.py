"""Random models whose local functions call each other, with what they compute, found without onnx and without a runtime.

    python tests/fuzz/functions.py --models 5000 --seed 1

inlines the functions of each model and runs both forms in onnxruntime. Parameters have defaults or none, and are set at the call,
left out, or are parameters of the caller; inputs and outputs may be absent; branches of If read values around them. There are few
names, so that those of functions, branches and the main graph clash.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, helper

OPSET = 18
_NAMES = ("v", "w", "x", "y", "a", "b")
_DOMAIN = "f"
_X = np.array([-3, -1.5, -0.5, 0.25, 1, 2], np.float32)
Values = Mapping[str, np.ndarray | None]


def made(seed: int) -> tuple[ModelProto, dict[str, np.ndarray], list[np.ndarray]]:
    """A random model, its inputs and its outputs."""
    maker = _Maker(random.Random(seed))
    model = maker.model()
    inputs = {"x": _X, "lo": np.array(-1, np.float32)}
    values = _computed(model.graph.node, inputs, {}, {function.name: function for function in model.functions})
    return model, inputs, [values[value.name] for value in model.graph.output]  # type: ignore[misc]


class _Maker:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._functions: list[FunctionProto] = []

    def model(self) -> ModelProto:
        for number in range(self._chance.randint(1, 4)):
            self._functions.append(self._function(f"f{number}"))
        nodes, values = self._body(["x"], ["lo"], [])
        graph = helper.make_graph(
            nodes,
            "g",
            [
                helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [6]),
                helper.make_tensor_value_info("lo", onnx.TensorProto.FLOAT, []),
            ],
            [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [6]) for name in values[-2:]],
        )
        functions = self._functions[:]
        self._chance.shuffle(functions)
        return helper.make_model(graph, functions=functions, ir_version=9, opset_imports=self._imports())

    def _imports(self) -> list[onnx.OperatorSetIdProto]:
        return [helper.make_opsetid("", OPSET), helper.make_opsetid(_DOMAIN, 1)]

    def _function(self, name: str) -> FunctionProto:
        inputs, optional = ["v", "w"][: self._chance.randint(1, 2)], ["b"][: self._chance.randint(0, 1)]
        parameters = ["alpha", "beta"][: self._chance.randint(0, 2)]
        nodes, values = self._body(inputs, optional, parameters)
        with_default = [name for name in parameters if self._chance.random() < 0.6]
        return helper.make_function(
            _DOMAIN,
            name,
            [*inputs, *optional],
            values[-self._chance.randint(1, 2) :],
            nodes,
            self._imports(),
            attributes=[name for name in parameters if name not in with_default],
            attribute_protos=[helper.make_attribute(name, self._number()) for name in with_default],
        )

    def _body(self, values: Sequence[str], optional: Sequence[str], parameters: Sequence[str]) -> tuple[list[NodeProto], list[str]]:
        """Nodes that read and make values; and the values that they make, at least two."""
        known, nodes, new = list(values), [], []
        free = [
            name for name in (*_NAMES, *(f"{name}{n}" for name in _NAMES for n in range(1, 5))) if name not in (*values, *optional)
        ]
        for _ in range(self._chance.randint(2, 4)):
            more = self._some(known, optional, parameters, free)
            nodes += more
            last = [name for name in more[-1].output if name]
            known += last
            new += last
        if len(new) < 2:
            nodes.append(helper.make_node("Neg", [known[-1]], [free.pop(0)]))
            new.append(nodes[-1].output[0])
        seen: set[str] = set()
        for node in nodes:  # one graph has each name once
            node.name = "" if node.name in seen else node.name
            seen.add(node.name)
        return nodes, new

    def _some(self, known: list[str], optional: Sequence[str], parameters: Sequence[str], free: list[str]) -> list[NodeProto]:
        """One or a few nodes, whose last one makes new values."""
        choices: list[Callable[..., list[NodeProto]]] = [self._plain, self._clip, self._scaled, self._branch]
        choices += [self._call] * (3 if self._functions else 0)
        return self._chance.choice(choices)(known, optional, parameters, free)

    def _plain(self, known: list[str], optional: Sequence[str], parameters: Sequence[str], free: list[str]) -> list[NodeProto]:
        node = helper.make_node("LeakyRelu", [self._chance.choice(known)], [free.pop(0)], name=self._chance.choice(("", "n", "k")))
        node.attribute.extend(self._attributes(["alpha"], parameters))
        return [node]

    def _clip(self, known: list[str], optional: Sequence[str], parameters: Sequence[str], free: list[str]) -> list[NodeProto]:
        bound = self._chance.choice([*optional, ""])
        return [helper.make_node("Clip", [self._chance.choice(known), bound], [free.pop(0)])]

    def _scaled(self, known: list[str], optional: Sequence[str], parameters: Sequence[str], free: list[str]) -> list[NodeProto]:
        number = helper.make_node("LeakyRelu", [self._chance.choice(known)], [free.pop(0)])
        number.attribute.extend(self._attributes(["alpha"], parameters))
        return [number, helper.make_node("Sub", [number.output[0], self._chance.choice(known)], [free.pop(0)])]

    def _branch(self, known: list[str], optional: Sequence[str], parameters: Sequence[str], free: list[str]) -> list[NodeProto]:
        smallest, unknown, condition = free.pop(), free.pop(), free.pop()
        yes = [  # a constant condition would be folded by onnxruntime, which fails for nested ones
            helper.make_node("ReduceMin", [self._chance.choice(known)], [smallest], keepdims=0),
            helper.make_node("IsNaN", [smallest], [unknown]),
            helper.make_node(self._chance.choice(("Not", "Identity")), [unknown], [condition]),
        ]
        graphs = []
        for name in ("then", "else"):
            inner_free = [name for name in free if name not in known]
            first = (
                self._plain(known, optional, parameters, inner_free)
                if self._chance.random() < 0.5 or not self._functions
                else (self._call(known, optional, parameters, inner_free))
            )
            read = [next(filter(None, first[-1].output)), self._chance.choice(known)]
            last = helper.make_node("Add", read, [inner_free.pop(0)])
            output = onnx.ValueInfoProto(name=last.output[0])
            output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
            graphs.append(helper.make_graph([*first, last], name, [], [output]))
        made_inside = {name for graph in graphs for node in graph.node for name in node.output}
        free[:] = [name for name in free if name not in made_inside]
        return [*yes, helper.make_node("If", [condition], [free.pop(0)], then_branch=graphs[0], else_branch=graphs[1])]

    def _call(self, known: list[str], optional: Sequence[str], parameters: Sequence[str], free: list[str]) -> list[NodeProto]:
        function = self._chance.choice(self._functions)
        inputs = [self._chance.choice([*optional, ""]) if name == "b" else self._chance.choice(known) for name in function.input]
        while inputs[-1] == "":
            inputs.pop()
        outputs = [free.pop(0) for _ in function.output]
        if len(outputs) > 1 and self._chance.random() < 0.5:
            outputs = self._chance.choice([outputs[:1], ["", outputs[1]]])
        node = helper.make_node(function.name, inputs, outputs, domain=_DOMAIN, name=self._chance.choice(("", "call", "n")))
        names = [*function.attribute, *(attribute.name for attribute in function.attribute_proto)]
        node.attribute.extend(self._attributes(names, parameters))
        return [node]

    def _attributes(self, names: Sequence[str], parameters: Sequence[str]) -> list[AttributeProto]:
        """Some of these attributes: numbers, or parameters of the function around them."""
        found = []
        for name in names:
            kind = self._chance.choice(("absent", "number", "parameter"))
            if kind == "number":
                found.append(helper.make_attribute(name, self._number()))
            elif kind == "parameter" and parameters:
                reference = AttributeProto(name=name, type=AttributeProto.FLOAT, ref_attr_name=self._chance.choice(parameters))
                found.append(reference)
        return found

    def _number(self) -> float:
        return self._chance.choice((0.125, 0.25, 0.5, 2.0, -1.0))


# --- what they compute ------------------------------------------------------------------------------------------------


def _computed(
    nodes: Sequence[NodeProto], outer: Values, parameters: Mapping[str, float], functions: Mapping[str, FunctionProto]
) -> dict[str, np.ndarray | None]:
    """The values that `nodes` read and make."""
    values = dict(outer)
    for node in nodes:
        inputs = [values[name] if name else None for name in node.input]
        numbers: dict[str, float] = {}
        for attribute in node.attribute:
            if attribute.ref_attr_name in parameters:
                numbers[attribute.name] = parameters[attribute.ref_attr_name]
            elif not attribute.ref_attr_name and attribute.type == AttributeProto.FLOAT:
                numbers[attribute.name] = attribute.f
        if node.domain == _DOMAIN:
            function = functions[node.op_type]
            given = {attribute.name: attribute.f for attribute in function.attribute_proto} | numbers
            inside: dict[str, Any] = dict.fromkeys(function.input) | dict(zip(function.input, inputs, strict=False))
            inside = _computed(function.node, inside, given, functions)
            outputs = [inside[name] for name in function.output]
        elif node.op_type == "If":
            name = "then_branch" if inputs[0] else "else_branch"
            graph = next(attribute.g for attribute in node.attribute if attribute.name == name)
            inside = _computed(graph.node, values, parameters, functions)
            outputs = [inside[value.name] for value in graph.output]
        else:
            outputs = [_operator(node, inputs, numbers)]
        values.update({name: value for name, value in zip(node.output, outputs, strict=False) if name})
    return values


def _operator(node: NodeProto, inputs: Sequence[Any], numbers: Mapping[str, float]) -> np.ndarray:
    match node.op_type:
        case "ReduceMin":
            return inputs[0].min()
        case "IsNaN":
            return np.isnan(inputs[0])
        case "Not":
            return ~inputs[0]
        case "Identity":
            return inputs[0]
        case "Neg":
            return -inputs[0]
        case "Add":
            return inputs[0] + inputs[1]
        case "Sub":
            return inputs[0] - inputs[1]
        case "Clip":
            return inputs[0] if len(inputs) < 2 or inputs[1] is None else np.maximum(inputs[0], inputs[1])
        case "LeakyRelu":
            return np.where(inputs[0] < 0, np.float32(numbers.get("alpha", 0.01)) * inputs[0], inputs[0])
        case other:
            raise AssertionError(other)


def findings(seed: int) -> list[str]:
    """What is wrong with the random model of this seed after its functions are inlined, and with the model itself."""
    from helpers import answer

    from split_rewrite.rewriter.structure import inlining

    model, inputs, expected = made(seed)
    copy = ModelProto.FromString(model.SerializeToString())
    inlining.inline(copy, set(map(inlining.key_of, copy.functions)))
    found = ["functions are left"] if copy.functions else []
    for what, each in (("functions", model), ("inlined", copy)):
        got = answer(each, inputs)
        if not isinstance(got, list):  # onnxruntime does not take some calls whose outputs are not used
            found += [] if each is model else [f"{what}: {got}"]
        elif not all(np.allclose(one, other, rtol=1e-5, atol=1e-6) for one, other in zip(got, expected, strict=True)):
            found.append(f"{what}: another result")
    return [f"seed {seed}: {what}" for what in found]


def main() -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = [line for seed in range(options.seed, options.seed + options.models) for line in findings(seed)]
    print("\n".join([*found, f"{options.models:,} models, {len(found):,} findings"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
