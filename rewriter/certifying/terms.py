"""Integers that are known, or terms over the open dimensions of a model, in the language of z3.

A known integer is a Python int, so that most arithmetic needs no solver; so is a known condition a bool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, TypeAlias

from .solver import z3

Whole: TypeAlias = Any
"""An integer: an int, or a term of the sort Int."""
Condition: TypeAlias = Any
"""A bool, or a term of the sort Bool."""
Term: TypeAlias = Any
"""A Whole, a Condition, or a term of the sort `DATA`."""

DATA = z3.DeclareSort("Data")
"""The sort of elements of which nothing is known but where they come from."""


def simplified(value: Term) -> Term:
    """The same term in a shorter form; a Python value where it is known."""
    if isinstance(value, bool | int):
        return value
    found = z3.simplify(value)
    if z3.is_int_value(found):
        return found.as_long()
    if z3.is_true(found) or z3.is_false(found):
        return z3.is_true(found)
    return found


def term(value: Term) -> Any:
    """The value as a term of z3."""
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return z3.IntVal(value) if isinstance(value, int) else value


def equal(one: Term, other: Term) -> Condition:
    """Whether both are equal."""
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return simplified(term(one) == term(other))


def are_same(one: Whole, other: Whole) -> bool:
    """Whether both integers are the same polynomial, and so are equal for all dimensions."""
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return z3.is_int_value(found := z3.simplify(term(one) - term(other), som=True)) and found.as_long() == 0


def choice(condition: Condition, one: Term, other: Term) -> Term:
    """`one` where the condition holds, else `other`."""
    if isinstance(condition, bool):
        return one if condition else other
    return simplified(z3.If(condition, term(one), term(other)))


def every(conditions: Iterable[Condition]) -> Condition:
    """Whether all of the conditions hold."""
    found = [condition for condition in conditions if condition is not True]
    return simplified(z3.And([term(condition) for condition in found])) if found else True


def some(conditions: Iterable[Condition]) -> Condition:
    """Whether one of the conditions holds."""
    return simplified(z3.Or([term(condition) for condition in conditions]))


def negated(condition: Condition) -> Condition:
    """Whether the condition does not hold."""
    return not condition if isinstance(condition, bool) else simplified(z3.Not(condition))


def label(name: str) -> str:
    """A name for z3, another one for each `name`: z3 ends a name at the character 0."""
    return name.encode("unicode_escape").decode()


LENGTH, SYMBOL = "length ", "symbol "
"""What the names begin with of the open lengths of inputs."""
_LONGEST = (1 << 31) - 1
"""The largest length that a tensor may have."""


def magnitude(value: Whole, length: int, sizes: Mapping[str, Whole]) -> int:
    """The largest absolute value that an integer may have where open lengths of inputs are at most `length`, and those of values of
    which nothing else is known at most its square.

    `sizes`: the lengths of the axes into which indices point, by the names of these. All else that is unknown is a length, or a
    position on an axis.
    """
    if isinstance(value, int):
        return abs(value)
    found: dict[int, int] = {}
    waiting = [value]
    while waiting:
        each = waiting[-1]
        parts = each.children() if each.decl().kind() in _JOINED else []
        parts = parts[1:] if z3.is_app_of(each, z3.Z3_OP_ITE) else parts
        missing = [part for part in parts if part.get_id() not in found]
        if missing:
            waiting += missing
        else:
            waiting.pop()
            name = each.decl().name()
            if name in sizes:
                found[each.get_id()] = magnitude(sizes[name], length, sizes)
            else:
                found[each.get_id()] = _joined(each, [found[part.get_id()] for part in parts], _bound(name, length))
    return found[value.get_id()]


def _bound(name: str, length: int) -> int:
    """The largest number of this name."""
    if name.startswith((LENGTH, SYMBOL)):
        return length
    return length**2 if name.startswith(UNKNOWN) and AXIS in name else _LONGEST


_JOINED = frozenset((z3.Z3_OP_ADD, z3.Z3_OP_SUB, z3.Z3_OP_UMINUS, z3.Z3_OP_MUL, z3.Z3_OP_IDIV, z3.Z3_OP_MOD, z3.Z3_OP_ITE))
"""The operators whose results are no larger than the sum, the product or the largest of their operands."""
_UNLIMITED = 1 << 128


def _joined(value: Term, sizes: list[int], unknown: int) -> int:
    """The largest absolute value of a number made of numbers up to `sizes`, or of one that is `unknown` at most."""
    kind = value.decl().kind()
    if z3.is_int_value(value):
        return abs(value.as_long())
    if kind not in _JOINED:
        return unknown if kind == z3.Z3_OP_UNINTERPRETED else _UNLIMITED
    if kind == z3.Z3_OP_MUL:
        return prod(sizes)
    return sum(sizes) if kind in (z3.Z3_OP_ADD, z3.Z3_OP_SUB) else max(sizes)


INPUT, UNKNOWN, AXIS = "input ", "value ", " axis "
"""What the names begin with of inputs, and of values that nodes make which are not modelled; AXIS is in those of their lengths."""


def is_about_inputs(value: Term) -> bool:
    """Whether the term is about inputs and their lengths alone, so that all that it says is known."""
    return all(name.startswith(INPUT) for name in functions(value))


def functions(value: Term) -> set[str]:
    """The names of the functions and values in a term of which nothing is known: where its elements come from, and what computes
    them.
    """
    found: set[str] = set()
    seen: set[int] = set()
    waiting = [term(value)]
    while waiting:
        each = waiting.pop()
        if each.get_id() not in seen:
            seen.add(each.get_id())
            waiting += each.children()
            name = each.decl().name()
            if each.decl().kind() == z3.Z3_OP_UNINTERPRETED and (each.num_args() or name.startswith(UNKNOWN)):
                found.add(name)
    return found


def total(values: Iterable[Whole]) -> Whole:
    """The sum of the integers."""
    return simplified(sum(values))


def product(values: Iterable[Whole]) -> Whole:
    """The product of the integers; 1 where there are none."""
    found: Whole = 1
    for value in values:
        found = found * value
    return simplified(found)


def factors(values: Iterable[Whole]) -> list[Whole]:
    """Numbers and terms with the same product as the integers, none of which is a product itself."""
    found: list[Whole] = []
    for value in map(simplified, values):
        found += [value] if isinstance(value, int) or not z3.is_mul(value) else factors(value.children())
    return found


def smaller(one: Whole, other: Whole) -> Whole:
    """The smaller one of two integers."""
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    return choice(term(one) <= term(other), one, other)


def larger(one: Whole, other: Whole) -> Whole:
    """The larger one of two integers."""
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return choice(term(one) >= term(other), one, other)


def within(value: Whole, low: Whole, high: Whole) -> Whole:
    """The integer that is nearest to `value` among those from `low` to `high`."""
    return smaller(larger(value, low), high)


def floor(one: Whole, other: Whole) -> Whole:
    """The quotient rounded down, of a divisor above 0."""
    if isinstance(one, int) and isinstance(other, int):
        return one // other
    return simplified(term(one) / term(other))


def ceiling(one: Whole, other: Whole) -> Whole:
    """The quotient rounded up, of a divisor above 0."""
    return simplified(0 - floor(0 - one, other))


def remainder(one: Whole, other: Whole) -> Whole:
    """What is left of `one` after the quotient rounded down, of a divisor above 0."""
    if isinstance(one, int) and isinstance(other, int):
        return one % other
    return simplified(term(one) % term(other))


def is_below(one: Whole, other: Whole) -> Condition:
    """Whether `one` is less than `other`."""
    if isinstance(one, int) and isinstance(other, int):
        return one < other
    return simplified(term(one) < term(other))


def is_most(one: Whole, other: Whole) -> Condition:
    """Whether `one` is at most `other`."""
    return negated(is_below(other, one))
