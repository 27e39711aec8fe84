"""Whether a model keeps to a list of allowed operators, by the profile's file alone.

It shares no code with the program: types and shapes are those of `onnx.shape_inference`, and it knows just the keys that the profiles of
`tests/system/devices` use.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import tomllib
from onnx import helper, numpy_helper

NAMES = {1: "float", 10: "float16", 3: "int8", 2: "uint8", 6: "int32", 7: "int64", 9: "bool", 11: "double"}
FIXED = "tensor(int64)"


def violations(model: onnx.ModelProto, profile: Path) -> list[str]:
    """What of `model` the profile does not allow, a line each."""
    rules = tomllib.loads(profile.read_text(encoding="utf-8"))
    return list(_Checker(onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True), rules).violations())


class _Checker:
    def __init__(self, model: onnx.ModelProto, profile: dict[str, Any]) -> None:
        graph = model.graph
        self.graph, self.profile = graph, profile
        self.opset = next(entry.version for entry in model.opset_import if entry.domain == "")
        self.stored = {tensor.name: tensor for tensor in graph.initializer}
        self.types = {value.name: value.type.tensor_type for value in (*graph.input, *graph.output, *graph.value_info)}
        for tensor in graph.initializer:
            self.types[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, tensor.dims).tensor_type

    def violations(self) -> Iterator[str]:
        allowed = self.profile["release"][0]["operators_allowed"]
        for node in self.graph.node:
            if node.op_type not in allowed or node.domain:
                yield f"{node.op_type} is not in the list"
                continue
            for rule in (self.profile["all"], *self.profile["rule"]):
                if node.op_type in rule.get("operators", [node.op_type]):
                    yield from (f"{node.op_type} {node.output[0]}: {reason}" for reason in self.broken(node, rule))

    def broken(self, node: onnx.NodeProto, rule: dict[str, Any]) -> Iterator[str]:
        for key, given in rule.items():
            if key == "any":
                if all(list(self.broken(node, one)) for one in given):
                    yield "none of any"
            elif key == "static":
                yield from (f"{name} is open" for name in (*node.input, *node.output) if name and None in self.shape(name))
            elif key not in ("operators", "note"):
                check = getattr(self, f"of_{key}")
                yield from (
                    f"{key} {name}" for name in given if not check(node, name, given[name] if isinstance(given, dict) else None)
                )

    def shape(self, name: str) -> list[int | None]:
        return [dim.dim_value if dim.HasField("dim_value") else None for dim in self.types[name].shape.dim]

    def operands(self, node: onnx.NodeProto, name: str) -> list[str]:
        schema = onnx.defs.get_schema(node.op_type, self.opset)
        formals = [formal.name for formal in schema.inputs]
        if name == "*":
            free = [
                value
                for index, value in enumerate(node.input)
                if value and not (set(schema.inputs[min(index, len(formals) - 1)].types) == {FIXED} and value in self.stored)
            ]
            return [*free, *filter(None, node.output)]
        outputs = [formal.name for formal in schema.outputs]
        if name in formals:
            return [value for value in node.input[formals.index(name) :][:1] if value]
        if name in outputs:
            return [value for value in node.output[outputs.index(name) :][:1] if value]
        return list(node.input[:1]) if name == "X" else []

    def setting(self, node: onnx.NodeProto, name: str) -> Any:
        for attribute in node.attribute:
            if attribute.name == name:
                value = helper.get_attribute_value(attribute)
                return value.decode() if isinstance(value, bytes) else value
        found = self.operands(node, name)
        if found and found[0] in self.stored and self.stored[found[0]].dims != [0]:
            return numpy_helper.to_array(self.stored[found[0]]).tolist()
        formal = onnx.defs.get_schema(node.op_type, self.opset).attributes.get(name)
        if formal is not None and formal.default_value.name:
            value = helper.get_attribute_value(formal.default_value)
            return value.decode() if isinstance(value, bytes) else value
        if name == "scales":
            after, before = self.shape(node.output[0]), self.shape(node.input[0])
            return [new / old for new, old in zip(after, before, strict=True)]  # type: ignore[operator]
        return self.shape(node.input[1])[2:] if name == "kernel_shape" else None

    def of_attr(self, node: onnx.NodeProto, name: str, limit: Any) -> bool:
        base, _, place = name.partition("[")
        value = self.setting(node, base)
        if value is None:
            return True
        elements = value if isinstance(value, list) else [value]
        if place:
            elements = [elements["NC".index(place[0])]]
        if base in ("axis", "axes"):
            rank = len(self.shape(node.input[0]))
            elements, limit = [axis % rank for axis in elements], [axis % rank for axis in limit]
        return all(_within(element, limit) for element in elements)

    of_value = of_attr

    def of_type(self, node: onnx.NodeProto, name: str, types: list[str]) -> bool:
        return all(NAMES.get(self.types[value].elem_type) in types for value in self.operands(node, name))

    def of_rank(self, node: onnx.NodeProto, name: str, limit: Any) -> bool:
        return all(_within(len(self.shape(value)), limit) for value in self.operands(node, name))

    def of_dim(self, node: onnx.NodeProto, name: str, limit: Any) -> bool:
        operand, _, letter = name.partition(".")
        return all(_within(self.shape(value)["NC".index(letter)], limit) for value in self.operands(node, operand))

    def of_const(self, node: onnx.NodeProto, name: str, _: None) -> bool:
        return all(value in self.stored for value in self.operands(node, name))

    def of_absent(self, node: onnx.NodeProto, name: str, _: None) -> bool:
        return all(0 in self.shape(value) for value in self.operands(node, name))


def _within(value: Any, limit: Any) -> bool:
    if isinstance(limit, dict):
        return limit.get("min", value) <= value <= limit.get("max", value)
    if limit == "integer":
        return float(value).is_integer()
    return value in (limit if isinstance(limit, list) else [limit])
