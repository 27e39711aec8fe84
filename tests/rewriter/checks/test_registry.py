"""Checks of operators are registered once, and leave nodes alone whose attributes are parameters."""

from __future__ import annotations

from pkgutil import iter_modules

import pytest
from onnx import AttributeProto, helper

from split_rewrite.rewriter.checks import operators
from split_rewrite.rewriter.checks.registry import CHECKS, checks

pytestmark = pytest.mark.quick


class Standing:
    """A node as far as the registry looks at it."""

    def __init__(self, **attributes: int) -> None:
        self.proto = helper.make_node("Twist", ["x"], ["y"], **attributes)


def test_an_operator_has_one_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(CHECKS, "Twist", raising=False)
    checks("Twist")(lambda _: iter(["it is twisted"]))
    with pytest.raises(ValueError, match="Twist has two checks"):
        checks("Twist")(lambda _: iter(()))
    assert list(CHECKS.pop("Twist")(Standing(turns=2))) == ["it is twisted"]  # type: ignore[arg-type]


@pytest.mark.parametrize(("reads_attributes", "expected"), [(True, []), (False, ["it is twisted"])])
def test_parameters_are_not_checked(reads_attributes: bool, expected: list[str]) -> None:
    checks("Twist", reads_attributes=reads_attributes)(lambda _: iter(["it is twisted"]))
    node = Standing()
    node.proto.attribute.add(name="turns", ref_attr_name="turns", type=AttributeProto.INT)
    assert list(CHECKS.pop("Twist")(node)) == expected  # type: ignore[arg-type]


def test_each_module_of_operators_registers_a_check() -> None:
    modules = {module.name for module in iter_modules(operators.__path__)}
    assert {name.replace("_", "") for name in modules} <= {name.lower() for name in CHECKS}
