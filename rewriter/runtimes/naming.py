"""Finds runtimes by the names that users give them: in any case, by short names, with releases as pip or a manual writes them."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from ..errors import ArgumentError, listed
from ..suggestions import did_you_mean
from .profiles import Profile, Runtime, dotted, known_runtimes, read_runtime, shown_range
from .releases import Release, parse_release

_WITH_RELEASE = re.compile(r"(?P<base>.*[^\s=@-])[\s=@-]+v?(?P<release>\d[\d.]*)", re.IGNORECASE)
"""A name with a release: "openvino-2024.2", "openvino==2024.2", "TensorRT 8.6", "onnxruntime@v1.18"."""
_UNFINISHED = re.compile(r"(?P<base>.*[^\s=@-])[\s=@-]+(?P<release>\S*)")
"""A name followed by what is no number."""


class Named(NamedTuple):
    """A runtime, and the release that was named with it; empty where none was."""

    runtime: Runtime
    release: str


def find_profile(name: str, parameter: str = "--for") -> Profile:
    """The profile for `name`: "openvino-2024.2", "TensorRT 8.6", "jetpack-4.6.2", "ort" (the installed release), or "./mynpu.toml".

    Raises: ArgumentError where nothing is known about it, or the file is not valid. Its message begins with `parameter`.
    """
    if name.endswith(".toml"):
        runtime = read_runtime(Path(name))
        return Profile(runtime, _newest(runtime), runtime.releases[-1], name)
    runtime, release = find_runtime(name, parameter)
    return _profile(runtime, release, f"{parameter} {name}") if release else _installed_profile(runtime)


def find_runtime(name: str, parameter: str) -> Named:
    """The runtime and the release that `name` stands for. Raises ArgumentError, which begins with `parameter`, where unknown."""
    for runtime in known_runtimes().values():
        for alias, release in runtime.aliases.items():
            if _folded(alias) == _folded(name):
                return Named(runtime, release)
    known = _by_name()
    if (runtime := known.get(_folded(name))) is not None:
        return Named(runtime, "")
    parts = _WITH_RELEASE.fullmatch(name.strip()) or _UNFINISHED.fullmatch(name.strip())
    if parts is not None and (runtime := known.get(_folded(parts["base"]))) is not None:
        return Named(runtime, parts["release"])
    suggestion = did_you_mean(name if parts is None else parts["base"], _spelled())
    raise ArgumentError(f"{parameter} {name}: unknown runtime{suggestion} (--list-runtimes lists all)")


def common_name(name: str) -> str:
    """The name of the runtime in this package, such as "onnxruntime" for "ORT"; `name` itself where it is unknown."""
    runtime = _by_name().get(_folded(name))
    return name if runtime is None else runtime.name


def runtime_names() -> list[str]:
    """The names that shells complete: of all runtimes, and of those of their releases that are known by themselves."""
    found: list[str] = []
    for runtime in known_runtimes().values():
        releases = [facts.releases for facts in runtime.releases]
        single = [bounds.first for bounds in releases if bounds.first is not None and bounds.first == bounds.last]
        found += [runtime.name, *runtime.also, *runtime.aliases, *(f"{runtime.name}-{dotted(release)}" for release in single)]
    return found


def _by_name() -> dict[str, Runtime]:
    return {
        _folded(name): runtime for runtime in known_runtimes().values() for name in (runtime.title, *runtime.also, runtime.name)
    }


def _spelled() -> list[str]:
    return [name for runtime in known_runtimes().values() for name in (runtime.name, *runtime.aliases, *runtime.also)]


def _folded(name: str) -> str:
    """A name without what people write in different ways: case, hyphens and spaces."""
    return re.sub(r"[-_\s]", "", name.casefold())


def _profile(runtime: Runtime, text: str, given: str) -> Profile:
    known = listed([shown_range(facts.releases) for facts in runtime.releases])
    try:
        release = parse_release(text.rstrip("."))
    except ValueError:
        raise ArgumentError(f"{given}: '{text}' is not a release number; known releases of {runtime.title} are {known}") from None
    facts = next((facts for facts in runtime.releases if release in facts.releases), None)
    if facts is None:
        raise ArgumentError(f"{given}: nothing is known about {runtime.title} {text}; known releases are {known}")
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
