"""Tests of the table of facts: each operator has one row, and what a row names exists."""

from __future__ import annotations

from collections import defaultdict

import onnx
import pytest
from onnx.defs import OpSchema

from split_rewrite.rewriter.engine import tidying
from split_rewrite.rewriter.opsets import facts, folding, partial, type_protos
from split_rewrite.rewriter.opsets.facts import Kind, Role, Work
from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.quick

VERSIONS: dict[str, list[OpSchema]] = defaultdict(list)
for schema in onnx.defs.get_all_schemas_with_history():
    VERSIONS[f"{schema.domain}::{schema.name}" if schema.domain else schema.name].append(schema)
NUMBERS = {
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.INT32,
    onnx.TensorProto.INT64,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.BFLOAT16,
}
ROWS = sorted(facts.known_operators() & VERSIONS.keys())


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Twist", "not enough values to unpack"),
        ("Twist turns - data", "'turns' is not a valid Kind"),
        ("Twist moves hard data", "'hard' is not a valid Work"),
        ("Twist moves - date", "'date' is not a valid Role"),
        ("Twist moves - data ; colour=red", "there is no word 'colour'"),
    ],
)
def test_refuses_a_row_that_is_not_well_formed(row, message):
    with pytest.raises(ValueError, match=message) as caught:
        facts.parse(row)
    assert str(caught.value).startswith(repr(row))


def test_nothing_is_known_without_a_row():
    assert facts.of("Twist") is facts.of("Abs", "com.example") is facts.UNKNOWN
    assert facts.UNKNOWN.role(3) == {Role.OPERAND}


def test_reads_a_row():
    fact = facts.parse("Twist moves wraps data start+counts[] operand* ; folds=twist steps lax=one,other reverse? mode:up|down")
    assert (fact.operator, fact.kind, fact.work) == ("Twist", Kind.MOVES, Work.WRAPS)
    assert fact.role(1) == {Role.START, Role.COUNTS} and fact.role(2) == fact.role(7) == {Role.OPERAND}
    assert list(fact.inputs(Role.COUNTS)) == [1]
    assert fact.vectors == (1,) and fact.flags == {"reverse"}
    assert fact.names("lax") == ["one", "other"] and fact.names("folds") == ["twist"] and fact.names("idle") == []
    assert fact.takes(Role.COUNTS) and not fact.takes(Role.AXES)
    assert fact.has("steps") and fact.word("folds") == "twist" and not fact.has("idle") and fact.word("idle") == ""
    assert fact.choices == {"mode": ("up", "down")}


def test_inputs_behind_the_listed_ones_are_operands_unless_the_row_says_otherwise():
    assert facts.of("Gather").role(2) == {Role.OPERAND}
    assert facts.of("Concat").role(40) == {Role.DATA}


def test_each_operator_of_the_default_domain_has_a_row():
    assert {name for name in VERSIONS if "::" not in name} <= facts.known_operators()


def test_the_rows_stand_in_the_order_of_the_alphabet_and_each_once():
    rows = [row.split(maxsplit=1)[0] for row in facts._rows()]
    own = [name for name in rows if "::" not in name]
    assert own == sorted(own) and len(rows) == len(set(rows))


@pytest.mark.parametrize("name", ROWS)
def test_a_row_names_inputs_and_attributes_that_the_operator_has(name):
    fact = facts._fact(name)
    inputs = max(len(schema.inputs) for schema in VERSIONS[name])
    assert len(fact.roles) <= inputs
    assert not fact.is_variadic or any(
        parameter.option == OpSchema.FormalParameterOption.Variadic for schema in VERSIONS[name] for parameter in schema.inputs
    )
    attributes = {key for schema in VERSIONS[name] for key, value in schema.attributes.items()}
    assert fact.choices.keys() | fact.flags <= attributes or newest_opset() < 25


@pytest.mark.parametrize("name", ROWS)
def test_vectors_hold_numbers(name):
    for index in facts._fact(name).vectors:
        kinds = [inputs[index].types for inputs in (schema.inputs for schema in VERSIONS[name]) if len(inputs) > index]
        assert all({type_protos.tensor_type(kind) for kind in each} <= NUMBERS for each in kinds if index), (name, index)


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("folds", folding._FUNCTIONS),
        ("entries", partial._ENTRIES),
        ("sized", partial._SHAPES),
        ("idle", tidying._IDLE),
        ("merges", tidying._MERGES),
        ("by", facts.known_operators()),
    ],
)
def test_the_value_of_a_word_is_known_where_it_is_read(word, known):
    assert {facts.of(name).word(word) for name in facts.with_word(word)} <= set(known)
