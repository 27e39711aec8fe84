"""What docs/promise.md promises stays: names, parameters, fields, options and exit statuses, as in public_api.txt.

If one of them changes on purpose, write the new list with `python tests/system/test_promise.py`, say so in CHANGELOG.md under
*Changed*, and raise the version as docs/promise.md says. An addition is only written to the list.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from helpers import model

from split_rewrite import rewriter
from split_rewrite.rewriter import testing
from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.engine import registry
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.rewriter.graph.operators import Operators

pytestmark = pytest.mark.quick

LIST = Path(__file__).with_name("public_api.txt")
CONSTRUCTED = ("ConvertOpset", "Options", "Samples", "Tolerance")
"""Classes that callers make; the others are results, of which only the fields are promised."""
DECORATORS = ("upgrade", "downgrade", "decompose", "simplify", "avoid", "express", "replace")


def promised(folder: Path) -> list[str]:
    """Everything that is promised, a line each."""
    return [
        *(line for name in rewriter.__all__ for line in _described(name, getattr(rewriter, name))),
        *(line for name in DECORATORS for line in _parameters(f"registry.{name}", getattr(registry, name))),
        *_parameters("testing.assert_rewrites", testing.assert_rewrites),
        *_parameters("testing.assert_equal_at_every_opset", testing.assert_equal_at_every_opset),
        *_described("Node", Node),
        *_described("Operators", Operators),
        *_options(),
        *_report_fields(folder),
    ]


def _described(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield from _parameters(name, value)
        return
    bases = [base.__name__ for base in value.__mro__[1:] if issubclass(base, Exception)]
    if bases:
        yield f"{name} is {', '.join(bases)}, exit status {value.exit_status}"
    if name in CONSTRUCTED:
        yield from _parameters(name, value)
    fields = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    members = {member for cls in value.__mro__ if cls.__module__.startswith("split_rewrite") for member in vars(cls)}
    for member in sorted({*fields, *members} - {each for each in members if each.startswith("_")}):
        attribute = getattr(value, member, None)
        yield from _parameters(f"{name}.{member}", attribute) if inspect.isfunction(attribute) else [f"{name}.{member}"]


def _parameters(name: str, function: Any) -> Iterator[str]:
    """The name of a function, then its parameters, a line each: by place or by keyword, with plain defaults, without types."""
    yield f"{name}()"
    for place, each in enumerate(inspect.signature(function).parameters.values()):
        plain = isinstance(each.default, str | int | float | bool | None)
        default = "" if each.default is each.empty else f"={each.default!r}" if plain else "=…"
        kind = place if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) else each.kind.description
        yield f"{name}({kind}: {each.name}{default})"


def _options() -> Iterator[str]:
    for offered, prefix in ((command.command, ""), (command.probe, "probe ")):
        for parameter in offered.params:
            if isinstance(parameter, click.Option):
                yield f"{prefix}option {', '.join([*parameter.opts, *parameter.secondary_opts])}"


def _report_fields(folder: Path) -> list[str]:
    """The fields of the JSON report of a conversion, a dry run and a refusal, and the version of its schema."""
    documents = [
        _report(folder, "g (float[7] x) => (float[3] a, float[3] b, float[1] c) {a, b, c = Split<num_outputs = 3>(x)}", 18, "12"),
        _report(folder, "g (string[4] x) => (string[4] y) {y = StringConcat(x, x)}", 20, "18", "--dry-run"),
    ]
    versions = {f"report {document['schema']} {document['schema_version']}" for document in documents}
    return [*versions, *sorted({f"  report.{field}" for document in documents for field in _fields(document)})]


def _report(folder: Path, text: str, opset: int, target: str, *options: str) -> dict[str, Any]:
    source, report = folder / "in.onnx", folder / "report.json"
    source.write_bytes(model(text, opset).SerializeToString())
    destination = [] if options else [str(folder / "out.onnx")]
    command.run([str(source), *destination, "-t", target, *options, "--compare", "model", "-q", "--report", str(report)])
    return json.loads(report.read_text(encoding="utf-8"))


def _fields(value: Any, prefix: str = "") -> Iterator[str]:
    """The names of fields at any depth; those of operators and rules, which are keys as well, stand as *."""
    entries = value if isinstance(value, list) else [value]
    for entry in entries:
        for key, inner in entry.items() if isinstance(entry, dict) else ():
            name = f"{prefix}{key if key.isidentifier() and key.islower() else '*'}"
            yield name
            yield from _fields(inner, f"{name}.")


def test_what_is_promised_stays(tmp_path: Path) -> None:
    now = promised(tmp_path)
    listed = LIST.read_text(encoding="utf-8").splitlines()
    assert [line for line in listed if line not in now] == [], "this went or changed; docs/promise.md says what that takes"
    new = [line for line in now if line not in listed and not line.startswith("Node.")]
    assert new == [], "this is new: add it with python tests/system/test_promise.py"


EXIT_STATUSES = {
    "converted": ("g (float[7] x) => (float[7] y) {y = Relu(x)}", 18, ["-t", "17"], 0),
    "not convertible": ("g (string[4] x) => (string[4] y) {y = StringConcat(x, x)}", 20, ["-t", "18"], 1),
    "wrong usage": ("g (float[7] x) => (float[7] y) {y = Relu(x)}", 18, ["-t", "99"], 2),
}


@pytest.mark.parametrize(("text", "opset", "options", "status"), EXIT_STATUSES.values(), ids=EXIT_STATUSES)
def test_exit_statuses_stay(tmp_path: Path, text: str, opset: int, options: list[str], status: int) -> None:
    source, destination = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(model(text, opset).SerializeToString())
    assert command.run([str(source), str(destination), *options]) == status
    assert destination.exists() == (status == 0)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        LIST.write_text("\n".join([*promised(Path(temporary)), ""]), encoding="utf-8")
