"""onnx's own tests of the sequence operators: what each model comes to, computed again with the data of the test.

Once as they are, and once with everything known that can be: split and positions as constants, and sequences that were inputs put
together from inputs, one for each element. Then only outputs that are sequences keep a SequenceConstruct.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import helpers
import numpy as np
import onnx
import pytest
from helpers import convert_version
from onnx import helper, numpy_helper

from split_rewrite.rewriter.structure.survey import all_graphs

OPERATORS = frozenset(
    {"ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert"}
    | {"SequenceLength", "SequenceMap", "SplitToSequence"}
)
SIMPLE = Path(onnx.__file__).parent / "backend" / "test" / "data" / "simple"
TARGETS = (None, *helpers.known(11, 13, 18, 21, 25))


@dataclass(frozen=True)
class Case:
    """A model with its inputs by name and the outputs that they give."""

    model: onnx.ModelProto
    inputs: dict[str, Any]
    outputs: Sequence[Any]


@cache
def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        tests = collect_testcases(None)
    for test in tests:
        if OPERATORS.isdisjoint(node.op_type for node in test.model.graph.node):
            continue
        inputs, outputs = test.data_sets[0]
        names = [value.name for value in test.model.graph.input]
        found[test.name] = Case(test.model, dict(zip(names, inputs, strict=True)), outputs)
    for folder in sorted(SIMPLE.glob("test_sequence_model*")):
        found[f"{folder.name}"] = _stored_case(folder)
    return found


def _stored_case(folder: Path) -> Case:
    model, data = onnx.load(folder / "model.onnx"), folder / "test_data_set_0"
    inputs, outputs = (
        [numpy_helper.to_array(onnx.load_tensor(path)) for path in sorted(data.glob(f"{kind}_*.pb"))]
        for kind in ("input", "output")
    )
    names = [value.name for value in model.graph.input]  # the last of them have a default, and no data
    return Case(model, dict(zip(names, inputs, strict=False)), outputs)


def with_known_values(case: Case) -> Case:
    """Integer inputs become constants, inputs that are sequences a SequenceConstruct of inputs."""
    model, inputs = onnx.ModelProto(), dict(case.inputs)
    model.CopyFrom(case.model)
    graph = model.graph
    given = list(graph.input)
    del graph.input[:]
    for value in given:
        array = inputs.pop(value.name, None)
        if isinstance(array, list):
            parts = {f"{value.name}_{index}": part for index, part in enumerate(array)}
            op_type = "SequenceConstruct" if parts else "SequenceEmpty"
            graph.node.insert(0, helper.make_node(op_type, parts, [value.name]))
            graph.input.extend(_tensor_input(name, part) for name, part in parts.items())
            inputs |= parts
        elif array is not None and array.dtype.kind == "i":
            graph.initializer.append(numpy_helper.from_array(array, value.name))
        elif array is not None:
            graph.input.append(value)
            inputs[value.name] = array
    return Case(model, inputs, case.outputs)


def _tensor_input(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def outcome(case: Case, target: int | None) -> set[str]:
    """The sequence operators that are left, after the result gave the outputs of the test exactly."""
    result = convert_version(case.model, target).model
    onnx.checker.check_model(result, full_check=True)
    got = helpers.run(result, case.inputs)
    for value, expected in zip(got, case.outputs, strict=True):
        assert isinstance(value, list) == isinstance(expected, list)
        for part, wanted in zip(value, expected, strict=True) if isinstance(value, list) else [(value, expected)]:
            np.testing.assert_array_equal(part, wanted)
    return {node.op_type for graph in all_graphs(result) for node in graph.node} & OPERATORS


_LOOP = "SequenceAt SequenceEmpty SequenceInsert SequenceLength"
TABLE = {  # what is left of each as it is, and with everything known
    "test_sequence_insert_at_back": ("SequenceInsert", "SequenceConstruct"),
    "test_sequence_insert_at_front": ("SequenceInsert", "SequenceConstruct"),
    "test_split_to_sequence_1": ("SplitToSequence", "SequenceConstruct"),
    "test_split_to_sequence_2": ("SequenceConstruct", "SequenceConstruct"),
    "test_split_to_sequence_nokeepdims": ("SequenceConstruct", "SequenceConstruct"),
    "test_sequence_map_identity_1_sequence": ("SequenceMap", "SequenceConstruct"),
    "test_sequence_map_identity_2_sequences": ("SequenceMap", "SequenceConstruct"),
    "test_sequence_map_identity_1_sequence_1_tensor": ("SequenceMap", "SequenceConstruct"),
    "test_sequence_map_add_2_sequences": ("SequenceMap", "SequenceConstruct"),
    "test_sequence_map_add_1_sequence_1_tensor": ("SequenceMap", "SequenceConstruct"),
    "test_sequence_map_extract_shapes": ("SequenceMap", "SequenceConstruct"),
    "test_sequence_map_identity_1_sequence_expanded": (_LOOP, "SequenceConstruct"),
    "test_sequence_map_identity_2_sequences_expanded": (_LOOP, "SequenceConstruct"),
    "test_sequence_map_identity_1_sequence_1_tensor_expanded": (_LOOP, "SequenceConstruct"),
    "test_sequence_map_add_2_sequences_expanded": (_LOOP, "SequenceConstruct"),
    "test_sequence_map_add_1_sequence_1_tensor_expanded": (_LOOP, "SequenceConstruct"),
    "test_sequence_map_extract_shapes_expanded": (_LOOP, "SequenceConstruct"),
    "test_sequence_model1": ("SequenceAt SequenceConstruct SequenceInsert", ""),
    "test_sequence_model2": ("SequenceAt SequenceConstruct SequenceErase", ""),
    "test_sequence_model3": ("SequenceAt SequenceConstruct SequenceErase SequenceInsert", ""),
    **dict.fromkeys((f"test_sequence_model{number}" for number in range(4, 9)), ("", "")),
}


def test_the_table_is_complete() -> None:
    assert sorted(cases()) == sorted(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_as_it_is(name: str) -> None:
    assert outcome(cases()[name], None) == set(TABLE[name][0].split())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TABLE)
def test_with_everything_known(name: str, target: int | None) -> None:
    assert outcome(with_known_values(cases()[name]), target) == set(TABLE[name][1].split())
