"""Says which of the runtimes that a result is for are installed, so that it can be run there, and what is promised of others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from ..process.child import interpreter
from .adapters import ADAPTERS
from .profiles import Profile, dotted
from .releases import Range, Release, parse_release
from .running import Target


class Trial(NamedTuple):
    """A runtime that a result is for, and where it can be run; None where it is not installed in a release that was named."""

    profile: Profile
    target: Target | None

    @property
    def promise(self) -> str:
        """What is said of a result that was not run there."""
        return f"{self.profile.title}: {self.profile.facts.evidence}, not tried here"

    @property
    def advice(self) -> str:
        """How the result can be run there; "" where this program cannot run the runtime."""
        adapter = ADAPTERS.get(self.profile.runtime.name)
        if adapter is None or self.profile.file:
            return ""
        package = f"{adapter.package} {dotted(self.profile.release)}"
        return f"; with {package} installed here, or in the environment of --python, it is run there"


def trials(profiles: Iterable[Profile], python: str) -> list[Trial]:
    """A trial for each of `profiles`, in the environment of the interpreter `python` ("": this one).

    Raises: ArgumentError where there is no such interpreter.
    """
    return [Trial(profile, _target(profile, python)) for profile in profiles]


def _target(profile: Profile, python: str) -> Target | None:
    name = profile.runtime.name
    if name not in ADAPTERS or profile.file:
        return None
    release = _installed(name, python)
    if release is None or release not in Range(profile.release, profile.release):
        return None
    return Target(name, python or interpreter())


@cache
def _installed(adapter: str, python: str) -> Release | None:
    """The release of a runtime that is installed; None where it is not."""
    if python:
        return _release(Target(adapter, python).installed_version())
    try:
        return _release(version(ADAPTERS[adapter].package))
    except PackageNotFoundError:
        return None


def _release(text: str) -> Release | None:
    """The numbers with which the version of a package begins; None where it begins with none."""
    numbers = text.partition("+")[0].split(".")
    digits = [number for number in numbers if number.isdecimal()]
    return parse_release(".".join(digits)) if digits else None
