"""How much code one conversion passes through, and how the code is built, as figures to compare before and after a change.

    python tests/benchmarks/structure.py [--names]

The first part converts a model with one Split from opset 18 to 11, a second time in the same process, and counts with
`sys.setprofile`: functions of this project that run, modules that they are in, and calls from one module into another. The
second part reads the code: lines, long modules and classes, modules that import each other in a circle, tables of operator names
outside of `opsets/facts`, and places where rules reach behind `Node`. `--names` lists what is counted.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import onnx
import onnx.parser

import split_rewrite.rewriter
import split_rewrite.rules

REWRITER, RULES = (Path(next(iter(package.__path__))) for package in (split_rewrite.rewriter, split_rewrite.rules))
SPLIT = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[6, 4] x) => (float[2, 4] a, float[4, 4] b) <int64[2] sizes = {2, 4}> { a, b = Split <axis = 0> (x, sizes) }
"""
LONG_MODULE, LONG_CLASS = 450, 250
"""Lines above which a module and a class are counted."""
TABLE = 2
"""The number of operator names from which a literal, a pattern or a chain of comparisons counts as a table."""
OPERATORS = frozenset(schema.name for schema in onnx.defs.get_all_schemas_with_history())


class Passed(NamedTuple):
    """What one conversion passes through: modules, functions ("module:function"), and calls from one module into another."""

    modules: set[str]
    functions: set[str]
    crossings: int


def module_of(path: str) -> str:
    """The dotted name of the module in the file `path`; "" for a file of another project."""
    for name, folder in (("rewriter", REWRITER), ("rules", RULES)):
        if path.startswith(f"{folder}/"):
            return ".".join((name, *Path(path).relative_to(folder).with_suffix("").parts))
    return ""


def passed(work: Callable[[], Any]) -> Passed:
    """Run `work` and count what it passes through in this thread."""
    found = Passed(set(), set(), 0)
    crossings = 0
    known: dict[str, str] = {}

    def module(frame: FrameType) -> str:
        path = frame.f_code.co_filename
        if path not in known:
            known[path] = module_of(path)
        return known[path]

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal crossings
        if event != "call" or not (own := module(frame)):
            return
        found.modules.add(own)
        found.functions.add(f"{own}:{frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name}")
        caller = frame.f_back
        while caller is not None and not module(caller):
            caller = caller.f_back
        crossings += caller is not None and module(caller) != own

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found._replace(crossings=crossings)


def sources() -> Iterator[tuple[str, ast.Module, int]]:
    """The name, the syntax tree and the number of lines of each module."""
    for folder in (REWRITER, RULES):
        for path in sorted(folder.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            yield module_of(str(path)), ast.parse(text), len(text.splitlines())


def length(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def functions(trees: Iterable[ast.Module]) -> list[int]:
    """The lengths of all functions, in lines."""
    return [length(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def tables(name: str, tree: ast.Module, own: frozenset[str] = frozenset()) -> Iterator[str]:
    """Places where a module names several operators, other than its `own`.

    These are collections, also of rows that begin with an operator; `match` and chains of comparisons; regular expressions and
    texts that are split; and beginnings and ends of names that several operators have.
    """
    types = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"}
    for node in ast.walk(tree):
        operators = [] if id(node) in types else list(dict.fromkeys(named(node)))
        if len(set(operators) - own) >= TABLE:
            yield f"{name}:{node.lineno} {', '.join(operators[:6])}"  # pyright: ignore[reportAttributeAccessIssue]


def named(node: ast.AST) -> Iterator[str]:
    """The operators that a collection, a comparison, a pattern or a part of a name stands for."""
    match node:
        case ast.Set() | ast.Tuple() | ast.List():
            yield from (name for item in node.elts for name in in_row(item))
        case ast.Dict():
            yield from (name for key in node.keys if key is not None for name in in_row(key))
        case ast.MatchOr():
            yield from (name for case in node.patterns if isinstance(case, ast.MatchValue) for name in constant(case.value))
        case ast.Match():
            patterns = (case.pattern for case in node.cases)
            yield from (name for each in patterns if isinstance(each, ast.MatchValue) for name in constant(each.value))
        case ast.BoolOp():
            yield from (name for part in node.values for name in compared(part))
        case ast.If():
            yield from chained(node)
        case ast.Call(func=ast.Attribute(attr=method, value=value), args=args):
            yield from called(method, value, args)
        case ast.JoinedStr(values=[ast.Constant(value=str(start)), ast.FormattedValue(), *_]) if is_part(start):
            yield from (operator for operator in sorted(OPERATORS) if operator.startswith(start))


def constant(node: ast.AST) -> Iterator[str]:
    """The operator that a constant names."""
    if isinstance(node, ast.Constant) and node.value in OPERATORS:
        yield str(node.value)


def is_part(text: str) -> bool:
    """Whether `text` looks like the beginning or the end of an operator's name."""
    return len(text) > 1 and text.isalnum() and text[0].isupper()


def in_row(node: ast.AST) -> Iterator[str]:
    """The operators that an item of a collection names: itself, or the first item of a row."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from (name for item in node.elts[:1] for name in in_row(item))
    yield from constant(node)


def compared(node: ast.AST) -> Iterator[str]:
    """The operators that a comparison compares with."""
    if isinstance(node, ast.Compare):
        yield from (name for side in node.comparators for name in constant(side))


def chained(node: ast.If) -> Iterator[str]:
    """The operators that `if` and the `elif` behind it compare with."""
    following: ast.AST | None = node
    while isinstance(following, ast.If):
        yield from compared(following.test)
        following = following.orelse[0] if len(following.orelse) == 1 else None


def called(method: str, value: ast.expr, args: list[ast.expr]) -> Iterator[str]:
    """The operators that a call of `value.method(*args)` looks for: by a pattern, a beginning, an end, or in a text that is split."""
    texts = [arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if isinstance(value, ast.Name) and value.id == "re":
        yield from (word for text in texts for word in re.findall(r"\w+", text) if word in OPERATORS)
    if isinstance(value, ast.Constant) and isinstance(value.value, str) and method == "split":
        yield from (word for word in value.value.split() if word in OPERATORS)
    for text in texts:
        if method in ("startswith", "endswith", "removeprefix", "removesuffix") and is_part(text):
            yield from (operator for operator in sorted(OPERATORS) if text in (operator[: len(text)], operator[-len(text) :]))


def imported(name: str, tree: ast.Module, known: frozenset[str]) -> set[str]:
    """The modules of `known` that the module `name` imports anywhere, those for type checkers alone included."""
    package = name.split(".") if f"{name}.__init__" in known else name.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] if len(package) >= node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            targets = [f"{module}.{alias.name}" for alias in node.names]
            found.update(target if target in known else module for target in targets)
    return (found & known) - {name}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        pending = list(graph[start])
        while pending:
            module = pending.pop()
            if module not in seen:
                seen.add(module)
                pending += graph.get(module, ())
        reached[start] = seen
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in graph if name in reached[name]}
    return sorted(sorted(group) for group in groups)


def behind_node(name: str, tree: ast.Module) -> Iterator[str]:
    """Places where a rule reads `node.scope`, which is not a word of the rules' vocabulary."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "scope" and name.startswith("rules."):
            yield f"{name}:{node.lineno}"


def show(what: str, found: Iterable[object], with_names: bool) -> None:
    names = sorted(map(str, found))
    print(f"{what:48} {len(names):6}")
    for name in names if with_names else ():
        print(f"    {name}")


def show_passed(with_names: bool) -> None:
    model = onnx.parser.parse_model(SPLIT)
    for compare in ("off", "auto"):

        def convert(how: Any = compare) -> None:
            split_rewrite.rewriter.convert_version(model, 11, compare=how)

        convert()
        found = passed(convert)
        print(f"one Split 18→11, compare={compare}")
        show("  modules", found.modules, with_names)
        show("  functions", found.functions, with_names)
        print(f"{'  calls across modules':48} {found.crossings:6}")


def show_code(with_names: bool) -> None:
    code = list(sources())
    trees = {name: tree for name, tree, _ in code}
    for part in ("rewriter", "rules"):
        print(f"{f'lines in {part}/':48} {sum(lines for name, _, lines in code if name.startswith(part)):6}")
    print(f"{'median length of a function, in lines':48} {statistics.median(functions(trees.values())):6}")
    show(
        f"modules of more than {LONG_MODULE} lines",
        (f"{name} {lines}" for name, _, lines in code if lines > LONG_MODULE),
        with_names,
    )
    classes = ((name, node) for name, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    long = [f"{name}:{node.name} {length(node)}" for name, node in classes if length(node) > LONG_CLASS]
    show(f"classes of more than {LONG_CLASS} lines", long, with_names)
    kept = [place for name, tree in trees.items() if name.startswith(("rewriter", "rules.shared")) for place in tables(name, tree)]
    show("tables of operator names outside of the rows", kept, with_names)
    known = frozenset(trees)
    found = circles({name: imported(name, tree, known) for name, tree in trees.items()})
    show("circles of modules", (", ".join(group) for group in found), with_names)
    show("node.scope in rules", (place for name, tree in trees.items() for place in behind_node(name, tree)), with_names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="list what is counted")
    with_names = parser.parse_args().names
    show_passed(with_names)
    show_code(with_names)


if __name__ == "__main__":
    main()
