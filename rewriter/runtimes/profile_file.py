"""Reads profiles of runtimes: one TOML file for each, which is read and checked. docs/runtimes.md describes the format.

A file says what ranges of releases accept, and which forms of nodes they compute wrongly or refuse: the quirks. A quirk has the
same name as in the rule that avoids it, so a file cannot contain a quirk for which there is no rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

from ... import rules as _rules  # noqa: F401 - importing the rules registers them
from ..engine.registry import registry
from ..errors import ArgumentError, listed
from ..execution.agreement import USUAL, Bounds
from ..opsets.transitions import all_operators, newest_opset, schema_at
from ..storage.paths import is_special
from ..suggestions import did_you_mean
from .allowed.reading import LIST_KEYS, ListReader, read_operators, require_keys
from .allowed.rules import AllowedList
from .element_types import TYPES
from .releases import Range, parse_release
from .runtime import Effect, Inside, InterfaceLimits, OpsetRange, Product, Quirk, ReleaseFacts, Runtime, shown_range

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found]

FOLDER = Path(__file__).parent / "profiles"
"""The folder with the profiles that come with this package."""


_KEYS = {
    "title",
    "package",
    "aliases",
    "also",
    "chips",
    "product",
    "domains",
    "release",
    "quirk",
    "tolerance",
    "extends",
    "versions_refused",
}
"""The entries of a profile, beside those of lists."""
_RELEASE_KEYS = {
    "from",
    "to",
    "opset",
    "ir_max",
    "operators_refused",
    "types_refused",
    "functions_refused",
    "evidence",
    "source",
    "notes",
    "operators_allowed",
    "interface",
    "external_data_refused",
    "ml_max",
}
_DEEPEST = 4
"""How many profiles may extend each other."""


def read_runtime(path: Path, depth: int = 0) -> Runtime:
    """Read a profile. Raises ArgumentError where the file cannot be read, or is not a valid profile.

    `depth` is the number of profiles that extend this one.
    """
    try:
        if is_special(path):  # opening a pipe could wait for ever
            raise ArgumentError(f"{path} cannot be read: it is not a regular file")
        text = path.read_bytes().decode("utf-8")
        document = tomllib.loads(text)
        parent = _parent(document.get("extends"), path, depth)
        return _Reader(path.stem, document, text, parent).runtime()
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} is not valid TOML: {error}") from None
    except RecursionError:
        raise ArgumentError(f"the profile {path} is not right: its values are nested too deeply") from None
    except ArgumentError:
        raise
    except ValueError as error:
        raise ArgumentError(f"the profile {path} is not right: {error}") from None


def _parent(extends: object, path: Path, depth: int) -> Runtime | None:
    """The profile that the one at `path` extends: a file beside it, or one that comes with this package."""
    if extends is None:
        return None
    if depth >= _DEEPEST:
        raise ValueError(f"extends: more than {_DEEPEST} profiles extend each other")
    if not isinstance(extends, str) or not extends.isprintable():
        raise ValueError("extends has to be the name of a runtime, or a file such as ./base.toml")
    if extends.endswith(".toml"):
        return read_runtime(path.parent / extends, depth + 1)
    if not (FOLDER / f"{extends}.toml").is_file() or "/" in extends:
        raise ValueError(f"extends: there is no runtime {extends}; --list-runtimes shows all")
    return read_runtime(FOLDER / f"{extends}.toml", depth + 1)


class _Reader:
    """Reads and checks the fields of a profile. Its methods raise ValueError, which says what is wrong and where.

    `parent` is the profile that this one extends.
    """

    def __init__(self, name: str, document: dict[str, Any], text: str, parent: Runtime | None) -> None:
        self._name = name
        self._document = document
        self._parent = parent
        self._lists = ListReader(document, text)

    def runtime(self) -> Runtime:
        if misplaced := sorted(self._document.keys() & _RELEASE_KEYS):
            raise ValueError(f"the file: write {listed(misplaced)} below [[release]]")
        require_keys(self._document, _KEYS | LIST_KEYS, "the file")
        releases = tuple(self._facts(entry) for entry in _tables(self._document, "release"))
        if not releases:
            raise ValueError("there is no [[release]]")
        for one, other in combinations([facts.releases for facts in releases], 2):
            if one.overlaps(other):
                raise ValueError(f"two [[release]] overlap: {shown_range(one)} and {shown_range(other)}")
        quirks = tuple(self._quirk(entry) for entry in _tables(self._document, "quirk"))
        quirks += () if self._parent is None else self._inherited(quirks, releases)
        _check_quirks(quirks, releases)
        title, package = _text(self._document, "title", "the file"), _text(self._document, "package", "the file", "")
        if not title.isprintable():
            raise ValueError("the file: title has to be one line of text")
        if not re.fullmatch(r"[\w.-]*", package, re.ASCII):
            raise ValueError("the file: package has to be the name of a Python package")
        also, chips = (tuple(sorted(_names(self._document, key, "the file"))) for key in ("also", "chips"))
        domains = _names(self._document, "domains", "the file")
        aliases, products = self._aliases(releases), tuple(map(_product, _tables(self._document, "product")))
        return Runtime(self._name, title, package, aliases, also, chips, releases, quirks, self._tolerance(), domains, products)

    def _aliases(self, releases: Sequence[ReleaseFacts]) -> dict[str, str]:
        aliases = self._document.get("aliases", {})
        if not isinstance(aliases, dict) or not all(type(to) in (str, int, float) for to in aliases.values()):
            raise ValueError("aliases is not a table of names and releases")
        names = {alias: str(to) for alias, to in aliases.items()}
        for alias, to in names.items():
            if not any(parse_release(to) in facts.releases for facts in releases):
                raise ValueError(f"aliases: {alias!r} stands for release {to}, of which there is no [[release]]")
        return names

    def _tolerance(self) -> Bounds:
        given = self._document.get("tolerance", {})
        if not isinstance(given, dict):
            raise ValueError("write tolerance = { rtol = 1e-3, atol = 1e-4 }")
        require_keys(given, set(Bounds._fields), "tolerance")
        if not all(type(bound) in (int, float) and 0 <= bound < 1 for bound in given.values()):
            raise ValueError("tolerance: a bound is a number from 0 to below 1")
        return USUAL._replace(**given)

    def _facts(self, entry: dict[str, Any]) -> ReleaseFacts:
        releases = _range(entry, "[[release]]")
        where = f"release {shown_range(releases)}"
        require_keys(entry, _RELEASE_KEYS, where)
        allowed = self._allowed(entry, releases, where)
        return ReleaseFacts(
            releases,
            _opsets(entry.get("opset", {}), where),
            _number(entry, "ir_max", where),
            _operators(entry, "operators_refused", where),
            _types(entry, "types_refused", where),
            _text(entry, "evidence", where),
            _text(entry, "source", where, ""),
            _text(entry, "notes", where, ""),
            _flag(entry, "functions_refused", where) or (allowed is not None and allowed.operators is not None),
            allowed,
            self._versions(releases),
            _interface(entry.get("interface", {}), where),
            _flag(entry, "external_data_refused", where),
            _number(entry, "ml_max", where),
        )

    def _versions(self, releases: Range) -> frozenset[tuple[str, int]]:
        """The versions of operators that a range of releases does not take."""
        found: set[tuple[str, int]] = set()
        for entry in _tables(self._document, "versions_refused"):
            require_keys(entry, {"from", "to", "names"}, "[[versions_refused]]")
            named = [_version(name) for name in sorted(_names(entry, "names", "[[versions_refused]]"))]
            if _range(entry, "[[versions_refused]]").overlaps(releases):
                found.update(named)
        return frozenset(found)

    def _allowed(self, entry: Mapping[str, Any], releases: Range, where: str) -> AllowedList | None:
        """The list of a release, with what it inherits."""
        own = _allowed_operators(entry, where)
        own = self._lists.operators_of(releases) if own is None else own
        parents = () if self._parent is None else self._parent.releases[-1:]
        inherited = next((facts.allowed for facts in parents if facts.allowed is not None), None)
        if inherited is None:
            return self._lists.of_release(releases, own)
        base = inherited.operators
        reached = None if base is None else base | (own or frozenset())
        found = self._lists.of_release(releases, reached) or AllowedList()
        return inherited.extended(replace(found, operators=own), self._lists.dropped)

    def _inherited(self, quirks: Sequence[Quirk], releases: Sequence[ReleaseFacts]) -> tuple[Quirk, ...]:
        """The quirks of the newest release of the parent, in all releases, but those that this profile states itself."""
        assert self._parent is not None
        newest = self._parent.releases[-1].releases
        own = {quirk.form for quirk in quirks}
        found = {quirk.form: quirk for quirk in self._parent.quirks if quirk.form not in own and quirk.releases.overlaps(newest)}
        return tuple(replace(quirk, releases=Range()) for quirk in found.values())

    def _quirk(self, entry: dict[str, Any]) -> Quirk:
        form = _text(entry, "form", "[[quirk]]")
        where = f"quirk '{form}'"
        require_keys(entry, {"form", "from", "to", "operators", "effect", "evidence"}, where)
        having = registry.operators_with(form)
        if not having:
            raise ValueError(f"{where}: nothing avoids it; --list-runtimes quirks shows those that can be avoided")
        operators = _operators(entry, "operators", where) or having
        if foreign := operators - having:
            raise ValueError(f"{where}: {listed(sorted(foreign))} cannot have this form; {listed(sorted(having))} can")
        effect = _text(entry, "effect", where, "wrong")
        if effect not in get_args(Effect):
            raise ValueError(f"{where}: effect is '{effect}', not wrong, refused or crash")
        return Quirk(form, effect, frozenset(operators), _range(entry, where), _text(entry, "evidence", where))  # type: ignore[arg-type]


def _product(entry: dict[str, Any]) -> Product:
    """A product that has the runtime inside. Without `releases`, it has the numbers of the runtime."""
    title, where = _text(entry, "title", "[[product]]"), f"product '{entry.get('title')}'"
    require_keys(entry, {"title", "names", "source", "releases"}, where)
    names, source = _names(entry, "names", where), _text(entry, "source", where)
    if not names or not title.isprintable():
        raise ValueError(f"{where}: names is missing, or title is not one line of text")
    if "releases" not in entry:
        return Product(title, tuple(sorted(names)), None, source)
    table = entry["releases"]
    if not isinstance(table, dict) or not all(isinstance(inner, str) for inner in table.values()):
        raise ValueError(f'{where}: releases is not a table such as {{ "6.1 to 6.2" = "10.3" }}')
    releases = [Inside(_spanned(span), parse_release(inner), span) for span, inner in table.items()]
    return Product(title, tuple(sorted(names)), tuple(sorted(releases)), source)


def _spanned(text: str) -> Range:
    """The range of releases that "6.1 to 6.2", or "6.2" alone, stands for."""
    first, _, last = text.partition(" to ")
    return Range(parse_release(first), parse_release(last or first))


def _check_quirks(quirks: Sequence[Quirk], releases: Sequence[ReleaseFacts]) -> None:
    """Raises ValueError where a quirk is of no release, or two quirks say different things of the same nodes."""
    for quirk in quirks:
        if not any(quirk.releases.overlaps(facts.releases) for facts in releases):
            raise ValueError(f"quirk '{quirk.form}': there is no [[release]] for {shown_range(quirk.releases)}")
    for one, other in combinations(quirks, 2):
        is_same = one.form == other.form and not one.operators.isdisjoint(other.operators)
        if is_same and one.releases.overlaps(other.releases):
            raise ValueError(f"two [[quirk]] are about the same nodes: '{one.form}'")


def _tables(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = document.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"write [[{key}]], a table each")
    return entries


def _text(entry: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = entry.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"{where}: {key} is missing" if value is None else f"{where}: {key} has to be text")
    return value


def _number(entry: Mapping[str, Any], key: str, where: str) -> int | None:
    value = entry.get(key)
    if value is not None and (type(value) is not int or value < 1):
        raise ValueError(f"{where}: {key} has to be a number from 1 on")
    return value


def _flag(entry: Mapping[str, Any], key: str, where: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{where}: {key} has to be true or false")
    return value


def _names(entry: Mapping[str, Any], key: str, where: str) -> frozenset[str]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) and name.isprintable() for name in value):
        raise ValueError(f"{where}: {key} has to be a list of names")
    return frozenset(value)


def _operators(entry: Mapping[str, Any], key: str, where: str) -> frozenset[str]:
    names = _names(entry, key, where)
    if unknown := [name for name in sorted(names) if schema_at(name, newest_opset()) is None]:
        suggestion = did_you_mean(unknown[0], all_operators())
        raise ValueError(f"{where}: {key} has {listed(unknown)}, and ONNX has no such operator{suggestion}")
    return names


def _version(name: str) -> tuple[str, int]:
    """The operator and the since_version in a name such as "RoiAlign-22"."""
    op_type, _, version = name.rpartition("-")
    number = int(version) if version.isdecimal() else 0
    schema = schema_at(op_type, number) if 0 < number <= newest_opset() else None
    if number <= newest_opset() and (schema is None or schema.since_version != number):
        raise ValueError(f"[[versions_refused]]: names has {name}, and ONNX has no such version")
    return op_type, number


def _types(entry: Mapping[str, Any], key: str, where: str) -> frozenset[str]:
    types = _names(entry, key, where)
    if unknown := types - TYPES:
        raise ValueError(f"{where}: {key} has {listed(sorted(unknown))}; types are {', '.join(sorted(TYPES))}")
    return types


def _interface(value: object, where: str) -> InterfaceLimits:
    if not isinstance(value, dict):
        raise ValueError(f'{where}: write interface = {{ rank_min = 2, input_types_refused = ["bool"] }}')
    where = f"{where}: interface"
    require_keys(value, set(InterfaceLimits._fields), where)
    types = (_types(value, key, where) for key in ("input_types_refused", "output_types_refused"))
    return InterfaceLimits(_number(value, "rank_min", where) or 0, *types)


def _allowed_operators(entry: Mapping[str, Any], where: str) -> frozenset[str] | None:
    if "operators_allowed" not in entry:
        return None
    try:
        return read_operators(entry["operators_allowed"], "operators_allowed")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _opsets(value: object, where: str) -> OpsetRange:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: write opset = {{ min = 7, max = 17 }}")
    require_keys(value, {"min", "max", "best"}, f"{where}: opset")
    found = OpsetRange(*(_number(value, key, f"{where}: opset") for key in OpsetRange._fields))
    known = [number for number in (found.min, found.best, found.max) if number is not None]
    if known != sorted(known):
        raise ValueError(f"{where}: opset contradicts itself: min ≤ best ≤ max does not hold for {', '.join(map(str, known))}")
    return found


def _range(entry: Mapping[str, Any], where: str) -> Range:
    first, last = (parse_release(_text(entry, key, where)) if key in entry else None for key in ("from", "to"))
    found = Range(first, last)
    if first is not None and first not in found:
        raise ValueError(f"{where}: from {entry['from']} is after to {entry['to']}")
    return found
