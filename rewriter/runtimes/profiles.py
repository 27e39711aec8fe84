"""Profiles of runtimes: one TOML file for each, read and checked. docs/runtimes.md describes the format.

A file says what ranges of releases accept, and which forms of nodes they compute wrongly or refuse: the quirks. A quirk has the
same name as in the rule that avoids it, so a file cannot contain a quirk for which there is no rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from ... import rules as _rules  # noqa: F401 - importing the rules registers them
from ..engine.narrow_types import NARROW_TYPES
from ..engine.registry import registry
from ..errors import ArgumentError, listed
from ..opsets.transitions import newest_opset, schema_at
from ..storage.paths import is_special
from .agreement import USUAL, Bounds
from .releases import Range, Release, parse_release

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found]

Effect = Literal["wrong", "refused", "crash"]
FOLDER = Path(__file__).parent / "profiles"
PROBED = FOLDER / "probed"
"""The folder with the files that `split-rewrite probe` wrote, one for each release, such as openvino-2024.2.toml."""
TYPES = frozenset(
    [
        "bool",
        "string",
        "float16",
        "bfloat16",
        "float",
        "double",
        *(f"{kind}{n}" for kind in ("int", "uint") for n in (8, 16, 32, 64)),
        *NARROW_TYPES,
    ]
)


class OpsetRange(NamedTuple):
    """The opsets that a release accepts. `best` is the one at which most models were right. None stands for unknown."""

    min: int | None = None
    max: int | None = None
    best: int | None = None


@dataclass(frozen=True)
class ReleaseFacts:
    """The models that a range of releases accepts.

    `evidence` is a text such as "tried with 1.4.1" or "by documentation"; `source` says where to find it.
    """

    releases: Range
    opset: OpsetRange
    ir_max: int | None
    operators_refused: frozenset[str]
    types_refused: frozenset[str]
    evidence: str
    source: str
    notes: str = ""
    functions_refused: bool = False
    """Whether the runtime accepts no local functions, so that all functions have to be inlined."""


@dataclass(frozen=True)
class Quirk:
    """A form of nodes that a range of releases computes wrongly, refuses, or crashes on, for `operators` or
    for all that can have it.
    """

    form: str
    effect: Effect
    operators: frozenset[str]
    releases: Range
    evidence: str


@dataclass(frozen=True)
class Runtime:
    """The content of one file. `package` is the Python package whose installed version counts where the user names no release.

    `tolerance` is how far its right results may be from those of onnxruntime.
    """

    name: str
    title: str
    package: str
    aliases: Mapping[str, str]
    releases: tuple[ReleaseFacts, ...]
    quirks: tuple[Quirk, ...]
    tolerance: Bounds = USUAL


@dataclass(frozen=True)
class Profile:
    """One release of a runtime, and what is known about it."""

    runtime: Runtime
    release: Release
    facts: ReleaseFacts
    file: str = ""
    """The user's file that it is from; "" where it comes with this package."""

    @property
    def name(self) -> str:
        return f"{self.runtime.name}-{_dotted(self.release)}"

    @property
    def title(self) -> str:
        """ "OpenVINO 2024.2", or "ONNX Runtime 1.40 (taken for 1.31)" where the release is not known."""
        taken_for = "" if self.release in self.facts.releases else f" (taken for {shown_range(self.facts.releases)})"
        return f"{self.runtime.title} {_dotted(self.release)}{taken_for}"

    @property
    def title_and_file(self) -> str:
        """The title, and the file where it is the user's: "NPU 1.0 (./mynpu.toml)"."""
        return f"{self.title} ({self.file})" if self.file else self.title

    @property
    def quirks(self) -> tuple[Quirk, ...]:
        known = self.release if self.release in self.facts.releases else self.facts.releases.last or self.release
        return tuple(quirk for quirk in self.runtime.quirks if known in quirk.releases)


def find_profile(name: str) -> Profile:
    """The profile for `name`: "openvino-2024.2", "jetpack-4.6.2", "onnxruntime" (the installed release), or "./mynpu.toml".

    Raises: ArgumentError where nothing is known about it, or the file is not valid.
    """
    if name.endswith(".toml"):
        runtime = read_runtime(Path(name))
        return Profile(runtime, _newest(runtime), runtime.releases[-1], name)
    runtimes = known_runtimes()
    for runtime in runtimes.values():
        if name in runtime.aliases:
            return _profile(runtime, runtime.aliases[name], name)
    if name in runtimes:
        return _installed_profile(runtimes[name])
    base, _, release = name.rpartition("-")
    if base not in runtimes:
        raise ArgumentError(f"--for {name}: there is no runtime of this name; --list-runtimes shows all")
    return _profile(runtimes[base], release, name)


def _profile(runtime: Runtime, text: str, name: str) -> Profile:
    known = listed([shown_range(facts.releases) for facts in runtime.releases])
    try:
        release = parse_release(text)
    except ValueError as error:
        raise ArgumentError(f"--for {name}: {error}; known releases of {runtime.title} are {known}") from None
    facts = next((facts for facts in runtime.releases if release in facts.releases), None)
    if facts is None:
        raise ArgumentError(f"--for {name}: nothing is known of {runtime.title} {text}; known releases are {known}")
    return Profile(runtime, release, facts)


def _installed_profile(runtime: Runtime) -> Profile:
    """The profile of the installed release, or of the newest known one before it; if none is installed, of the newest known one."""
    release = _installed_release(runtime) or _newest(runtime)
    older = [facts for facts in runtime.releases if release in facts.releases or (facts.releases.first or ()) < release]
    return Profile(runtime, release, (older or runtime.releases)[-1])


def _installed_release(runtime: Runtime) -> Release | None:
    try:
        numbers = re.match(r"\d+(\.\d+)*", version(runtime.package)) if runtime.package else None
    except PackageNotFoundError:
        return None
    return None if numbers is None else parse_release(numbers[0])


def _newest(runtime: Runtime) -> Release:
    bounds = runtime.releases[-1].releases
    return bounds.last or bounds.first or (0,)


@cache
def known_runtimes() -> dict[str, Runtime]:
    """The runtimes whose profiles come with this package, by name."""
    runtimes = {path.stem: read_runtime(path) for path in sorted(FOLDER.glob("*.toml"))}
    for path in sorted(PROBED.glob("*.toml")):
        name = path.stem.rpartition("-")[0]
        runtimes[name] = _with_probed(runtimes[name], read_runtime(path))
    return runtimes


def _with_probed(runtime: Runtime, probed: Runtime) -> Runtime:
    """`runtime`, extended by what a probe of one release found.

    This counts for all releases in the same range of the runtime's own file.
    """
    (found,) = probed.releases
    assert found.releases.first is not None
    same = next((facts for facts in runtime.releases if found.releases.first in facts.releases), None)
    facts = found if same is None else _joined(same, found)
    releases = sorted(
        [*(other for other in runtime.releases if other is not same), facts], key=lambda facts: facts.releases.first or ()
    )
    quirks = (replace(quirk, releases=facts.releases) for quirk in probed.quirks)
    return replace(runtime, releases=tuple(releases), quirks=(*runtime.quirks, *quirks))


def _joined(written: ReleaseFacts, found: ReleaseFacts) -> ReleaseFacts:
    opset = OpsetRange(*(mine or other for mine, other in zip(written.opset, found.opset, strict=True)))
    refused = written.operators_refused | found.operators_refused
    no_functions = written.functions_refused or found.functions_refused
    ir_max = written.ir_max or found.ir_max
    return replace(written, opset=opset, ir_max=ir_max, operators_refused=refused, functions_refused=no_functions)


def read_runtime(path: Path) -> Runtime:
    """Read a profile. Raises ArgumentError where the file cannot be read, or is not a valid profile."""
    try:
        if is_special(path):  # opening a pipe could wait for ever
            raise ArgumentError(f"{path} cannot be read: it is not a regular file")
        with path.open("rb") as file:
            document = tomllib.load(file)
        return _Reader(path.stem, document).runtime()
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


class _Reader:
    """Reads and checks the fields of a profile. Its methods raise ValueError, which says what is wrong and where."""

    def __init__(self, name: str, document: dict[str, Any]) -> None:
        self._name = name
        self._document = document

    def runtime(self) -> Runtime:
        _require_keys(self._document, {"title", "package", "aliases", "release", "quirk", "tolerance"}, "the file")
        releases = tuple(self._facts(entry) for entry in _tables(self._document, "release"))
        if not releases:
            raise ValueError("there is no [[release]]")
        for one, other in combinations([facts.releases for facts in releases], 2):
            if one.overlaps(other):
                raise ValueError(f"two [[release]] overlap: {shown_range(one)} and {shown_range(other)}")
        quirks = tuple(self._quirk(entry) for entry in _tables(self._document, "quirk"))
        _check_quirks(quirks, releases)
        title, package = _text(self._document, "title", "the file"), _text(self._document, "package", "the file", "")
        if not title.isprintable():
            raise ValueError("the file: title has to be one line of text")
        if not re.fullmatch(r"[\w.-]*", package, re.ASCII):
            raise ValueError("the file: package has to be the name of a Python package")
        return Runtime(self._name, title, package, self._aliases(releases), releases, quirks, self._tolerance())

    def _aliases(self, releases: Sequence[ReleaseFacts]) -> dict[str, str]:
        aliases = self._document.get("aliases", {})
        if not isinstance(aliases, dict) or not all(type(to) in (str, int, float) for to in aliases.values()):
            raise ValueError("aliases is no table of names and releases")
        names = {alias: str(to) for alias, to in aliases.items()}
        for alias, to in names.items():
            if not any(parse_release(to) in facts.releases for facts in releases):
                raise ValueError(f"aliases: {alias!r} stands for release {to}, of which there is no [[release]]")
        return names

    def _tolerance(self) -> Bounds:
        given = self._document.get("tolerance", {})
        if not isinstance(given, dict):
            raise ValueError("write tolerance = { rtol = 1e-3, atol = 1e-4 }")
        _require_keys(given, set(Bounds._fields), "tolerance")
        if not all(type(bound) in (int, float) and 0 <= bound < 1 for bound in given.values()):
            raise ValueError("tolerance: a bound is a number from 0 to below 1")
        return USUAL._replace(**given)

    def _facts(self, entry: dict[str, Any]) -> ReleaseFacts:
        releases = _range(entry, "[[release]]")
        where = f"release {shown_range(releases)}"
        allowed = {
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
        }
        _require_keys(entry, allowed, where)
        types = _names(entry, "types_refused", where)
        if unknown := types - TYPES:
            raise ValueError(f"{where}: types_refused has {listed(sorted(unknown))}; types are {', '.join(sorted(TYPES))}")
        return ReleaseFacts(
            releases,
            _opsets(entry.get("opset", {}), where),
            _number(entry, "ir_max", where),
            _operators(entry, "operators_refused", where),
            types,
            _text(entry, "evidence", where),
            _text(entry, "source", where, ""),
            _text(entry, "notes", where, ""),
            _flag(entry, "functions_refused", where),
        )

    def _quirk(self, entry: dict[str, Any]) -> Quirk:
        form = _text(entry, "form", "[[quirk]]")
        where = f"quirk '{form}'"
        _require_keys(entry, {"form", "from", "to", "operators", "effect", "evidence"}, where)
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


def _check_quirks(quirks: Sequence[Quirk], releases: Sequence[ReleaseFacts]) -> None:
    """Raises ValueError where a quirk is of no release, or two quirks say different things of the same nodes."""
    for quirk in quirks:
        if not any(quirk.releases.overlaps(facts.releases) for facts in releases):
            raise ValueError(f"quirk '{quirk.form}': there is no [[release]] for {shown_range(quirk.releases)}")
    for one, other in combinations(quirks, 2):
        is_same = one.form == other.form and not one.operators.isdisjoint(other.operators)
        if is_same and one.releases.overlaps(other.releases):
            raise ValueError(f"two [[quirk]] are about the same nodes: '{one.form}'")


def _require_keys(entry: Mapping[str, Any], allowed: set[str], where: str) -> None:
    if unknown := entry.keys() - allowed:
        raise ValueError(f"{where}: unknown {listed(sorted(unknown))}; there can be {', '.join(sorted(allowed))}")


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
        raise ValueError(f"{where}: {key} has {listed(unknown)}, and ONNX has no such operator")
    return names


def _opsets(value: object, where: str) -> OpsetRange:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: write opset = {{ min = 7, max = 17 }}")
    _require_keys(value, {"min", "max", "best"}, f"{where}: opset")
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


def shown_range(releases: Range) -> str:
    """A range of releases as text: "2024.2", "1.26 to 1.31", "11 and later"."""
    first, last = (None if bound is None else _dotted(bound) for bound in releases)
    if first == last:
        return first or "all"
    return f"up to {last}" if first is None else f"{first} and later" if last is None else f"{first} to {last}"


def _dotted(release: Iterable[int]) -> str:
    return ".".join(map(str, release))
