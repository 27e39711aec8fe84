"""Finds runtimes by the names that users give them: in any case, by short names, with releases as pip or a manual writes them, and
by the products that have them inside.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from ..errors import ArgumentError, listed, shortened
from ..execution.adapters import ADAPTERS
from ..execution.other_runtimes import Target
from ..suggestions import did_you_mean
from .profiles import Product, Profile, Runtime, dotted, known_runtimes, read_runtime, shown_range
from .releases import Release, known_near, leading_release, parse_release

_WITH_RELEASE = re.compile(r"(?P<base>.+?)(?:[\s=@_-]+v?)?(?P<release>\d[\d.]*)(?:-py3)?", re.IGNORECASE)
"""A name with a release: "openvino-2024.2", "openvino==2024.2", "TensorRT8.6", "onnxruntime@v1.18", "tritonserver:24.12-py3"."""
_UNFINISHED = re.compile(r"(?P<base>.*[^\s=@-])[\s=@-]+(?P<release>\S*)")
"""A name followed by what is no number."""
_OF_FILE = re.compile(r"(?P<path>.+\.toml)(?:@.+)?")
"""A profile of the user's own, perhaps with a release behind it: "./mynpu.toml", "./mynpu.toml@1.2"."""
_WITHOUT_RELEASE = re.compile(r".+\.toml@")
_MAKERS = frozenset(
    {"amd", "axera", "google", "horizon", "huawei", "intel", "kneron", "microsoft", "nvidia", "qualcomm", "rockchip", "ti"}
)
"""Words before the name of a chip or a product that may be left out: "NVIDIA Jetson Orin", "TI TDA4VM"."""
_EDITIONS = frozenset({"dev", "ea", "ga", "lts", "release", "runtime", "toolkit", "version"})
"""Words behind a name or a release that do not change what the runtime takes: "tensorrt 8.6 GA", "openvino-dev 2023.1"."""
_SHORTEST_GUESS = 4
"""The number of characters of a name from which on similar ones are suggested: among short ones, all are similar."""
_TIMES_THE_NEWEST = 10
"""A release whose first number is more than this many times that of the newest known one is none, but the number of a chip."""
_MOST_RELEASES = 3
"""The number of releases that a message names one by one."""


class Named(NamedTuple):
    """A runtime, and the release that was named with it, empty where none was; the product where it is a release of one."""

    runtime: Runtime
    release: str = ""
    product: Product | None = None
    is_chip: bool = False

    @property
    def title(self) -> str:
        return self.runtime.title if self.product is None else self.product.title


def find_profile(name: str, parameter: str = "--for", python: str = "") -> Profile:
    """The profile for `name`: "openvino-2024.2", "TensorRT 8.6", "jetpack-4.6.2", "ort" (the installed release), or a file of the
    user's own, "./mynpu.toml" (its newest release), "./mynpu.toml@1.2", "./mynpu.toml@myboard-3".

    Installed is what the environment of the interpreter `python` has ("": this one). Raises: ArgumentError where it is unknown, or
    the file is not valid. Its message begins with `parameter`.
    """
    if profile_file(name):
        return _of_file(name, parameter)
    named = find_runtime(name, parameter)
    given, remark = f"{parameter} {name}", ""
    if not named.release and named.product is None and (installed := installed_release(named.runtime, python)):
        named = named._replace(release=dotted(installed))
    if not named.release:
        named = named._replace(release=_newest_named(named, given))
        remark = f"no release of {named.title} was named: {named.release} is taken, the newest that is known"
    release = _release(named, given)
    counts_itself = named.product is None or named.product.releases is None
    if counts_itself and release[0] > _TIMES_THE_NEWEST * max(_newest(named.runtime)[0], 1):
        raise _unknown(named, given)
    return _profile(named, release, given, remark)


def profile_file(name: str) -> str:
    """The path in a `name` that means a profile of the user's own; "" where it means a runtime."""
    found = _OF_FILE.fullmatch(name)
    return "" if found is None else found["path"]


def _of_file(name: str, parameter: str) -> Profile:
    """The profile of a file of the user's own."""
    path = profile_file(name)
    runtime, release = read_runtime(Path(path)), name[len(path) + 1 :]
    named = _among(_named([runtime]), release) or Named(runtime, release or dotted(_newest(runtime)))
    given = f"{parameter} {name}"
    if not named.release:
        named = named._replace(release=_newest_named(named, given))
    return replace(_profile(named, _release(named, given), given, ""), file=path)


def find_runtime(name: str, parameter: str) -> Named:
    """The runtime and the release that `name` stands for. Raises ArgumentError, which begins with `parameter`, where unknown."""
    named = _among(_by_name(), name)
    if named is not None:
        return named
    if not name.strip():
        raise ArgumentError(f"{parameter}: a name is empty (--list-runtimes lists all)")
    given = f"{parameter} {shortened(name)}"
    if _WITHOUT_RELEASE.fullmatch(name):
        raise ArgumentError(f"{given}: no release follows the @; without it, the newest in the file is taken")
    if os.path.isdir(name):
        raise ArgumentError(f"{given}: is a folder; name a profile in it, which ends with .toml")
    base = _base(shortened(name))
    chip = _by_name().get(_folded(base))
    if chip is not None and chip.is_chip:
        example = dotted(_newest(chip.runtime))
        raise ArgumentError(
            f"{given}: {base} is a chip, which has no release; name one of {chip.title}: {chip.runtime.name}-{example}"
        )
    suggested = did_you_mean(base, _spelled()) if len(base) >= _SHORTEST_GUESS else ""
    raise ArgumentError(f"{given}: unknown runtime{suggested} (--list-runtimes lists all)")


def _among(known: Mapping[str, Named], name: str) -> Named | None:
    """What `name`, perhaps with a release behind it, stands for among the `known` names; None where it is not among them."""
    spellings = (name, _plain(name))
    whole = (known.get(_folded(spelling)) for spelling in spellings)
    split = (_with_release(known, spelling) for spelling in spellings)
    return next((named for named in (*whole, *split) if named is not None), None)


def _with_release(known: Mapping[str, Named], name: str) -> Named | None:
    """What `name` stands for where a release is behind it."""
    parts = _WITH_RELEASE.fullmatch(name.strip()), _UNFINISHED.fullmatch(name.strip())
    for found in filter(None, parts):
        base = _folded(found["base"])
        named = known.get(base) or known.get(base.rstrip(":"))
        if named is not None and not named.release and not named.is_chip:
            return named._replace(release=found["release"])
    return None


def _plain(name: str) -> str:
    """`name` without its maker and the words of an edition."""
    first, *others = re.split(r"[-_=@\s]+", name.strip())
    words = others if others and first.casefold() in _MAKERS else [first, *others]
    return " ".join(word for word in words if word.casefold() not in _EDITIONS)


def common_name(name: str) -> str:
    """The name of the runtime in this package, such as "onnxruntime" for "ORT"; `name` itself where it is unknown."""
    named = _by_name().get(_folded(name))
    return name if named is None or named.product is not None else named.runtime.name


def runtime_names() -> list[str]:
    """The names that shells complete: of all runtimes, of what has them inside, and of those of their releases that are known by
    themselves.
    """
    found: list[str] = []
    for runtime in known_runtimes().values():
        single = [facts.releases.first for facts in runtime.releases if facts.releases.first == facts.releases.last]
        numbered = (f"{runtime.name}-{dotted(release)}" for release in single if release is not None)
        found += [runtime.name, *runtime.also, *runtime.chips, *runtime.aliases, *numbered]
        for product in runtime.products:
            bounds = [bound for inside in product.releases or () for bound in inside.bounds]
            found += [name for name in product.names if product.releases != ()]
            found += [f"{name}-{bound}" for name in product.names for bound in bounds]
    return found


@cache
def _by_name() -> dict[str, Named]:
    """What each name, folded, stands for."""
    return _named(known_runtimes().values())


def _named(runtimes: Iterable[Runtime]) -> dict[str, Named]:
    """What each name of `runtimes`, folded, stands for."""
    found: dict[str, Named] = {}
    for runtime in runtimes:
        found |= {_folded(name): Named(runtime) for name in (runtime.title, *runtime.also, runtime.name)}
        found |= {_folded(name): Named(runtime, is_chip=True) for name in runtime.chips}
        found |= {_folded(name): Named(runtime, "", product) for product in runtime.products for name in product.names}
        found |= {_folded(alias): Named(runtime, release) for alias, release in runtime.aliases.items()}
    return found


def _spelled() -> list[str]:
    """The names that a message suggests."""
    runtimes = known_runtimes().values()
    inside = [name for runtime in runtimes for product in runtime.products for name in product.names if product.releases != ()]
    names = [*(name for runtime in runtimes for name in (runtime.name, *runtime.aliases, *runtime.also, *runtime.chips)), *inside]
    return [name for name in names if len(name) >= _SHORTEST_GUESS]


def _base(name: str) -> str:
    """What is suggested for: the name without its release."""
    parts = _WITH_RELEASE.fullmatch(name.strip()) or _UNFINISHED.fullmatch(name.strip())
    return name if parts is None else parts["base"]


def _folded(name: str) -> str:
    """A name without what people write in different ways: case, hyphens and spaces."""
    return re.sub(r"[-_\s]", "", name.casefold())


def _release(named: Named, given: str) -> Release:
    try:
        return parse_release(named.release.rstrip("."))
    except ValueError:
        known = f"known releases of {named.title} are {_known(named)}"
        raise ArgumentError(f"{given}: '{named.release}' is not a release number; {known}") from None


def _known(named: Named) -> str:
    """The releases that are known, as text."""
    if named.product is None or named.product.releases is None:
        return listed([shown_range(facts.releases) for facts in named.runtime.releases])
    return listed([inside.shown for inside in named.product.releases])


def _inside(named: Named, release: Release, given: str) -> tuple[Release, ...]:
    """The releases of the runtime that may be in the one that was named.

    Raises: ArgumentError for a product's releases before any that is known, as they need not have the runtime.
    """
    if named.product is None or named.product.releases is None:
        return (release,)
    near = _near(named.product, release)
    if not near or near[0][: len(release)] > release:
        raise _unknown(named, given)
    found = [inside.inner for known in near for inside in named.product.releases if known in inside.releases]
    return tuple(sorted(set(found)))


def _unknown(named: Named, given: str) -> ArgumentError:
    unknown = f"{given}: nothing is known about {' '.join(filter(None, [named.title, named.release]))}"
    if named.product is not None and named.product.releases == ():
        return ArgumentError(f"{unknown}; name the release of {named.runtime.title} in it")
    return ArgumentError(f"{unknown}; known releases are {_known(named)}")


def _near(product: Product, release: Release) -> tuple[Release, ...]:
    """The known releases of a product that `release` is taken for; only itself where it is known, or where the runtime's count."""
    return (release,) if product.releases is None else known_near(release, [inside.releases for inside in product.releases])


def _profile(named: Named, release: Release, given: str, remark: str) -> Profile:
    """The profile for `release` of what was named."""
    runtime, inside = named.runtime, _inside(named, release, given)
    ranges = [facts.releases for facts in runtime.releases]
    between = [range_.first for range_ in ranges if range_.first is not None and inside[0] < range_.first < inside[-1]]
    taken_for = tuple(sorted({*between, *(known for inner in inside for known in known_near(inner, ranges))}))
    is_stated = named.product is None or _near(named.product, release) == (release,)
    title = f"{runtime.title} {dotted(inside[0])}" if is_stated else f"{named.title} {named.release}"
    if is_stated and taken_for == inside:
        return Profile(runtime, inside[0], taken_for, title, warning=remark)
    whose = "" if is_stated else f"{runtime.title} "
    unknown = f"nothing is known about {title} itself; what {whose}{_series(taken_for, 'or')} does not take is avoided"
    warning = f"{remark}; {unknown}" if remark else unknown
    return Profile(runtime, inside[0], taken_for, f"{title} (taken for {_series(taken_for, 'and')})", warning=warning)


def _series(releases: Sequence[Release], last: str) -> str:
    """The releases as "10.1, 10.15 or 11", with `last` before the last one; many as "1.15 to 1.20"."""
    shown = [dotted(release) for release in releases]
    if len(shown) > _MOST_RELEASES:
        return f"{shown[0]} to {shown[-1]}"
    return f" {last} ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def installed_release(runtime: Runtime, python: str = "") -> Release | None:
    """The release of the runtime that is installed in the environment of the interpreter `python` ("": this one).

    None where none is, and in another environment where the runtime cannot be run from here.
    Raises: ArgumentError where there is no such interpreter.
    """
    if python:
        return leading_release(_version_in(Target(runtime.name, python))) if runtime.name in ADAPTERS else None
    try:
        return leading_release(version(runtime.package)) if runtime.package else None
    except PackageNotFoundError:
        return None


@cache
def _version_in(target: Target) -> str:
    """The version in another environment, for which a process is started."""
    return target.installed_version()


def _newest_named(named: Named, given: str) -> str:
    """The newest release that is known of what was named. Raises ArgumentError where none is."""
    if named.product is None or named.product.releases is None:
        return dotted(_newest(named.runtime))
    if not named.product.releases:
        raise _unknown(named, given)
    return named.product.releases[-1].bounds[-1]


def _newest(runtime: Runtime) -> Release:
    bounds = runtime.releases[-1].releases
    return bounds.last or bounds.first or (0,)
