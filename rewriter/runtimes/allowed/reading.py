"""Reads the operators that a profile allows, and their rules. Messages name the line of the file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, get_args

from ...errors import listed
from ...opsets.facts import known_operators
from ...opsets.transitions import all_operators
from ...suggestions import did_you_mean
from ..releases import Range, parse_release
from .keys import KEYS, Condition, NotUnderstood, OfSetting
from .limits import DEFAULT, WORDS
from .naming import holds_numbers, known_names
from .rules import AllowedList, Body, Otherwise, Rule
from .site import LAYOUT

RULE, EVERY_RULE, LAYOUT_KEY, OTHERWISE, DROPPED, GROUPS = "rule", "all", "layout", "otherwise", "operators_dropped", "operators"
"""The entries of a profile that are about allowed operators, beside `operators_allowed` in a release."""
LIST_KEYS = frozenset([RULE, EVERY_RULE, LAYOUT_KEY, OTHERWISE, DROPPED, GROUPS])
_DEEPEST = 8
"""How deep `any` and `not` may stand in each other."""


class ListReader:
    """Reads the rules of a profile, whose text is needed for the numbers of lines. Raises ValueError, which names the line."""

    def __init__(self, document: Mapping[str, Any], text: str) -> None:
        self._document = document
        self._text = text
        self._layout = read_layout(document.get(LAYOUT_KEY, {}))
        self._otherwise: Otherwise = read_otherwise(document.get(OTHERWISE, "refuse"))
        self.dropped = read_operators(document.get(DROPPED, []), DROPPED)
        self._lines = {table: lines_of(text, table) for table in (EVERY_RULE, RULE)}
        self._every = [self._rule(document[EVERY_RULE], EVERY_RULE, 0)[1]] if EVERY_RULE in document else []
        given = document.get(RULE, [])
        if not isinstance(given, list):
            raise ValueError(f"write [[{RULE}]], a table each")
        self._rules = [self._rule(entry, RULE, index) for index, entry in enumerate(given)]
        self._groups = read_groups(document.get(GROUPS, []))

    def operators_of(self, releases: Range) -> frozenset[str] | None:
        """The operators that all of `releases` take, by the groups of the profile; None where there are no groups."""
        named = (names for range_, names in self._groups if range_.covers(releases))
        return frozenset().union(*named) if self._groups else None

    def of_release(self, releases: Range, operators: frozenset[str] | None) -> AllowedList | None:
        """The list of a range of releases that allows `operators`, or all where these are None; None where nothing is said."""
        rules = [rule for range_, rule in self._rules if range_.overlaps(releases)]
        if operators is None and not rules and not self._every:
            return None
        if operators is not None:
            for rule in rules:
                if strange := sorted(rule.operators - operators):
                    where = f"line {rule.line}: " if rule.line else ""
                    raise ValueError(f"{where}a [[rule]] is about {listed(strange)}, and operators_allowed does not name it")
        by_operator: dict[str, list[Rule]] = {}
        for rule in rules:
            for operator in sorted(rule.operators):
                by_operator.setdefault(operator, []).append(rule)
        kept = {operator: tuple(of_it) for operator, of_it in by_operator.items()}
        return AllowedList(operators, kept, tuple(self._every), self._layout, self._otherwise)

    def _rule(self, entry: Any, table: str, index: int) -> tuple[Range, Rule]:
        lines = self._lines[table]
        line = lines[index] if index < len(lines) else 0
        try:
            if not isinstance(entry, Mapping):
                raise ValueError("write a table of conditions")
            names = read_operators(entry.get("operators", []), "operators")
            if table == RULE and not names:
                raise ValueError('operators is missing: write operators = ["Conv"]')
            return read_range(entry), read_rule(entry, names, self._layout, line)
        except ValueError as error:
            shown = f"[[{RULE}]]" if table == RULE else f"[{EVERY_RULE}]"
            where = f"line {line_within(self._text, line, str(error))}: " if line else ""
            raise ValueError(f"{where}{shown}: {error}") from None


def require_keys(entry: Mapping[str, Any], allowed: Collection[str], where: str) -> None:
    """Raises ValueError where a table, which is at `where`, has a key that is not `allowed`."""
    if unknown := sorted(entry.keys() - allowed):
        shown = listed([f"'{key}'" for key in unknown])
        meant = did_you_mean(unknown[0], allowed)
        raise ValueError(f"{where}: unknown key {shown}{meant or ';'} there can be {', '.join(sorted(allowed))}")


def read_operators(given: Any, key: str) -> frozenset[str]:
    """Read a list of operators; those of other domains are written "com.microsoft::Gelu". Raises ValueError.

    An operator that is newer than the installed onnx is one that we know, too: it has a row of facts.
    """
    if not isinstance(given, list) or not all(isinstance(name, str) and name.isprintable() for name in given):
        raise ValueError(f"{key} has to be a list of names of operators")
    known = all_operators() | known_operators()
    if unknown := [name for name in given if "::" not in name and name not in known]:
        suggestion = did_you_mean(unknown[0], known)
        raise ValueError(f"{key} has {listed(unknown)}, and ONNX has no such operator{suggestion}")
    return frozenset(given)


def read_groups(given: Any) -> list[tuple[Range, frozenset[str]]]:
    """Read groups of operators, each with the releases that take them. Raises ValueError."""
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise ValueError(f"write [[{GROUPS}]], a table each")
    for entry in given:
        require_keys(entry, {"from", "to", "names"}, f"[[{GROUPS}]]")
    return [(read_range(entry), read_operators(entry.get("names", []), "names")) for entry in given]


def read_range(entry: Mapping[str, Any]) -> Range:
    """Read the releases that an entry is about. Raises ValueError."""
    first, last = (parse_release(str(entry[key])) if key in entry else None for key in ("from", "to"))
    found = Range(first, last)
    if first is not None and first not in found:
        raise ValueError(f"from {entry['from']} is after to {entry['to']}")
    return found


def read_rule(given: Mapping[str, Any], operators: frozenset[str], layout: Mapping[str, int], line: int = 0) -> Rule:
    """Read a rule about `operators`, or about every operator where there are none, with the letters of `layout`. Raises ValueError,
    which says what is wrong.
    """
    when = _body(given["when"], operators, layout, "when: ") if "when" in given else None
    note = given.get("note", "")
    if not isinstance(note, str):
        raise ValueError("note has to be text")
    kept = {key: value for key, value in given.items() if key not in ("operators", "from", "to", "when", "note")}
    return Rule(operators, _body(kept, operators, layout, ""), when, note, line)


def _body(given: Any, operators: frozenset[str], layout: Mapping[str, int], where: str, depth: int = 0) -> Body:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where}write a table of conditions")
    if depth > _DEEPEST:
        raise ValueError(f"{where}the conditions are nested too deeply")
    conditions: list[Condition] = []
    for key, value in given.items():
        if key in KEYS:
            found = list(KEYS[key](value, f"{where}{key}"))
            _require_names(found, operators, f"{where}{key}: ")
            _require_letters(found, layout, f"{where}{key}: ")
            _require_numbers(found, operators, layout, f"{where}{key}: ")
            conditions += found
        elif key not in ("any", "not"):
            conditions.append(NotUnderstood(key))
    choices = given.get("any", [])
    if not isinstance(choices, list) or ("any" in given and not choices):
        raise ValueError(f"{where}any: write a list of tables")
    bodies = tuple(_body(one, operators, layout, f"{where}any: ", depth + 1) for one in choices)
    excluded = _body(given["not"], operators, layout, f"{where}not: ", depth + 1) if "not" in given else None
    return Body(tuple(conditions), bodies, excluded, _shown(given))


def _require_names(conditions: Iterable[Condition], operators: frozenset[str], where: str) -> None:
    """Raises ValueError where a condition names what an operator does not have in any version."""
    for name in dict.fromkeys(name for condition in conditions for name in condition.names):
        without = sorted(operator for operator in operators if "::" not in operator and name not in known_names(operator))
        if without:
            has = ", ".join(sorted(known_names(without[0]) - {"*", "X", "Y"}))
            raise ValueError(f"{where}{listed(without)} has no '{name}'; {without[0]} has {has}")


def _require_letters(conditions: Iterable[Condition], layout: Mapping[str, int], where: str) -> None:
    """Raises ValueError where a condition is about an axis that has no letter in the layout."""
    strange = sorted({letter for condition in conditions for letter in condition.letters} - layout.keys())
    if strange:
        raise ValueError(f"{where}the layout has no axis {listed(strange)}; it has {listed(sorted(layout))}")


def _require_numbers(conditions: Iterable[Condition], operators: frozenset[str], layout: Mapping[str, int], where: str) -> None:
    """Raises ValueError where a condition compares an attribute of numbers with a text that is not the letter of an axis."""
    for setting in (condition for condition in conditions if isinstance(condition, OfSetting)):
        texts = [text for text in setting.limit.texts if text not in layout]
        if texts and any(holds_numbers(operator, setting.name) for operator in operators):
            words = listed([*WORDS, DEFAULT])
            raise ValueError(f"{where}{setting.name} has numbers, not '{texts[0]}'; words for numbers are {words}")


def read_layout(given: Any) -> Mapping[str, int]:
    """Read the names of the axes. Raises ValueError."""
    is_right = isinstance(given, Mapping) and all(re.fullmatch("[A-Z]", name) and type(axis) is int for name, axis in given.items())
    if not is_right:
        raise ValueError("layout: write the axis of each letter, such as { N = 0, C = 1, H = -2, W = -1 }")
    if len(set(given.values())) < len(given):
        raise ValueError("layout: two letters have the same axis")
    return given or LAYOUT


def read_otherwise(given: Any) -> Otherwise:
    """Read what happens to nodes that are not allowed. Raises ValueError."""
    if given not in get_args(Otherwise):
        raise ValueError(f"otherwise is {given!r}, not refuse, fallback or silent")
    return given  # type: ignore[return-value]


def lines_of(text: str, table: str) -> list[int]:
    """The numbers of the lines on which the tables called `table` begin: [[rule]], [all]."""
    header = re.compile(rf"\s*\[?\[\s*{re.escape(table)}\s*\]")
    return [number for number, line in enumerate(text.splitlines(), 1) if header.match(line)]


def line_within(text: str, start: int, message: str) -> int:
    """The line of a table, which begins on line `start`, that has the key which a message is about; else `start`."""
    lines = text.splitlines()
    keys = re.findall(r"(\w+)(?=[:\[])", message)
    for number in range(start, len(lines)):
        if lines[number].lstrip().startswith("["):
            break
        if keys and re.match(rf"\s*{re.escape(keys[0])}\b", lines[number]):
            return number + 1
    return start


def _shown(given: Mapping[str, Any]) -> str:
    """Conditions as a person reads them: "mode linear and coordinate_transformation_mode asymmetric"."""
    parts = []
    for key, value in given.items():
        inner = value if isinstance(value, Mapping) else {key: value}
        parts += [f"{name} {limit[0] if isinstance(limit, list) and len(limit) == 1 else limit}" for name, limit in inner.items()]
    return " and ".join(parts)
