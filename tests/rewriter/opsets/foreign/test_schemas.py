"""The schemas of onnxruntime's operators agree with those of the installed onnxruntime, and a node's form is held against them."""

from __future__ import annotations

import onnx
import pytest
from helpers import one_node
from packaging.version import Version

from split_rewrite.rewriter.opsets.foreign import schemas
from split_rewrite.rewriter.opsets.foreign.schemas import Parameter, oddity, parse, schema_of

pytestmark = pytest.mark.quick


TYPES = {"f": "tensor(float)", "h": "tensor(float16)", "i": "tensor(int64)"}

ODD = {
    "unknown attribute": ("y = com.microsoft.QuickGelu <beta = 1.0> (f)", "has no attribute beta of this type"),
    "attribute of another type": ("y = com.microsoft.QuickGelu <alpha = 1> (f)", "has no attribute alpha of this type"),
    "no attribute": ("y = com.microsoft.GroupNorm (f, f, f)", "needs the attribute activation"),
    "no input": ("y = com.microsoft.Gelu ()", "does not take these inputs"),
    "absent input": ('y = com.microsoft.BiasGelu (f, "")', "does not take these inputs"),
    "too many inputs": ("y = com.microsoft.Gelu (f, f)", "does not take these inputs"),
    "too many outputs": ("y, z = com.microsoft.Gelu (f)", "does not make these outputs"),
    "another type": ("y = com.microsoft.Gelu (i)", "does not take int64 for X"),
    "two types": ("y = com.microsoft.BiasGelu (f, h)", "does not take float16 for B beside float"),
}


@pytest.mark.parametrize(("text", "message"), ODD.values(), ids=ODD)
def test_what_a_schema_does_not_allow(text: str, message: str) -> None:
    assert oddity(one_node(text), TYPES.get) == message


@pytest.mark.parametrize(
    "text",
    [
        "y = com.microsoft.Gelu (f)",
        "y = com.microsoft.BiasGelu (f, unknown)",
        'y = com.microsoft.SkipLayerNormalization <epsilon = 0.1> (f, f, f, "", f)',
        "y = com.microsoft.QLinearConcat <axis = 1> (f, zero, a, f, zero, a, f, zero)",
        "y = com.example.Unheard (i, i, i)",
    ],
)
def test_what_it_allows(text: str) -> None:
    assert oddity(one_node(text), TYPES.get) == ""


def test_reads_a_row() -> None:
    schema = parse("A:T B?:float rest**:V -> Y:T | T=float,int8 V=int8 | axis:int! names:strings")
    assert schema.inputs == (Parameter("A", "T", ""), Parameter("B", "float", "?"), Parameter("rest", "V", "**"))
    assert [schema.allowed(parameter) for parameter in schema.inputs] == [{"float", "int8"}, {"float"}, {"int8"}]
    assert schema.attributes == {"axis": onnx.AttributeProto.INT, "names": onnx.AttributeProto.STRINGS}
    assert schema.required == {"axis"}


def test_of_other_operators_nothing_is_known() -> None:
    assert schema_of("Gelu", "") is schema_of("Gelu", "com.example") is None
    assert schemas.known_domains() == {"com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc", "split_rewrite.adopted"}


def test_the_rows_stand_in_the_order_of_the_alphabet() -> None:
    assert list(schemas._rows()) == sorted(schemas._rows())


def _plain(kind: str) -> str:
    return kind.removeprefix("tensor(").removesuffix(")") if kind.startswith("tensor(") else kind


def _parameters(given) -> tuple[Parameter, ...]:
    marks = {"Single": "", "Optional": "?", "Variadic": "*"}
    found = ((p, marks[str(p.option).rpartition(".")[2]]) for p in given)
    names = ((p, f"{mark}*" if mark == "*" and not p.isHomogeneous else mark) for p, mark in found)
    return tuple(Parameter(p.name.replace(" ", "_"), _plain(p.typeStr), mark) for p, mark in names)


def test_they_are_those_of_onnxruntime() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    if Version(onnxruntime.__version__) < Version("1.32"):
        pytest.skip("the rows are those of onnxruntime 1.32")
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    domains = schemas.known_domains()
    found = sorted(get_all_operator_schema(), key=lambda schema: schema.since_version)
    known = {f"{schema.domain}::{schema.name}": schema for schema in found if schema.domain in domains}
    rows = {name for name in schemas.known_operators() if name.startswith("com.")} - {"com.microsoft::SimplifiedLayerNormalization"}
    assert rows == known.keys() or Version(onnxruntime.__version__).release[:2] > (1, 32)
    for name in rows & known.keys():
        domain, _, op_type = name.partition("::")
        ours, theirs = schema_of(op_type, domain), known[name]
        assert ours is not None
        assert (ours.inputs, ours.outputs) == (_parameters(theirs.inputs), _parameters(theirs.outputs))
        allowed = {each.type_param_str: set(map(_plain, each.allowed_type_strs)) for each in theirs.type_constraints}
        assert all(kinds == allowed[variable] for variable, kinds in ours.types.items()), name
        assert {key: str(value.type).rpartition(".")[2] for key, value in theirs.attributes.items()} == {
            key: onnx.AttributeProto.AttributeType.Name(kind) for key, kind in ours.attributes.items()
        }
        assert ours.required == {key for key, value in theirs.attributes.items() if value.required}
