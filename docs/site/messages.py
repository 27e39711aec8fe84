"""The messages of the program, read from its sources: what each module or function raises, with … where it puts something in."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import product
from types import CodeType, FunctionType
from typing import Any

MOST = 64
"""Texts of one message, at most."""


def raised(function: ast.FunctionDef | ast.Module, errors: set[str]) -> Iterator[tuple[list[str], list[str]]]:
    """What the calls of `errors` in `function` say: the texts that the first argument may be, and those of the second."""
    nodes = list(own_nodes(function))
    names = assigned(nodes)
    for node in nodes:
        if isinstance(node, ast.Call) and _name(node.func) in errors and node.args:
            first, second = (texts(argument, names) for argument in (node.args[0], _second(node)))
            yield first, second


def own_nodes(function: ast.FunctionDef | ast.Module) -> Iterator[ast.AST]:
    """What is in the function, without the functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            pending.extend(ast.iter_child_nodes(node))


def assigned(nodes: list[ast.AST]) -> dict[str, list[ast.expr]]:
    """What is assigned to each name."""
    names: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, []).append(node.value)
    return names


def texts(expression: ast.expr, names: dict[str, list[ast.expr]]) -> list[str]:
    """The texts that an expression may have, … for what is only known when it runs; none where that is everything."""
    return [text for text in _parts(expression, names) if re.search(r"\w", text)]


def refusals(rule: FunctionType) -> list[tuple[str, str]]:
    """The reasons for which a rule refuses a node, with the hints, in the order of its sources; "" where there is no hint.

    Looks into the functions of `rules/` that it calls; what a `Node` itself refuses is not among them.
    """
    found: dict[str, str] = {}
    for function in _reachable(rule):
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        definition = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        for reasons, hints in reversed(list(raised(definition, {"Unconvertible"}))):
            for reason in reasons:
                found.setdefault(reason, hints[0] if hints else "")
    return list(found.items())


def _reachable(rule: FunctionType) -> list[FunctionType]:
    """The rule and the functions of `rules/` that it calls, directly or not."""
    found = [rule]
    for function in found:
        called = (function.__globals__.get(name) for name in _names(function.__code__))
        found += [each for each in called if _is_of_the_rules(each) and each not in found]
    return found


def _is_of_the_rules(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__module__.startswith("split_rewrite.rules.")


def _names(code: CodeType) -> Iterator[str]:
    """The names that `code` and the functions in it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _second(call: ast.Call) -> ast.expr:
    """The second argument of a call, by place or as `hint`; an empty text where there is none."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "hint"]
    return next(iter([*call.args[1:2], *named]), ast.Constant(""))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _parts(expression: ast.expr, names: dict[str, list[ast.expr]]) -> list[str]:
    match expression:
        case ast.Constant(value=str() as text):
            return [text]
        case ast.JoinedStr(values=values):
            return _joined([_parts(value, names) for value in values])
        case ast.FormattedValue(value=value):
            return _parts(value, names)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _joined([_parts(left, names), _parts(right, names)])
        case ast.IfExp(body=body, orelse=orelse):
            return _parts(body, names) + _parts(orelse, names)
        case ast.BoolOp(values=values):
            return [part for value in values for part in _parts(value, names)]
        case ast.Name(id=name) if name in names:
            return [part for value in names[name] for part in _parts(value, {})]
        case _:
            return ["…"]


def _joined(parts: list[list[str]]) -> list[str]:
    return ["".join(some) for some in product(*parts)][:MOST]
