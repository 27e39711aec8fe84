"""Says which of the runtimes that a result is for are installed, so that it can be run there, and what is promised of others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ..execution.adapters import ADAPTERS
from ..execution.other_runtimes import Target
from ..process.child import interpreter
from .naming import installed_release
from .profiles import Profile, dotted
from .releases import Range, leading_release


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
        if self.profile.runtime.name not in ADAPTERS or self.profile.file:
            return ""
        package = f"{self.profile.runtime.package} {dotted(self.profile.release)}"
        return f"; with {package} installed here, or in the environment of --python, it is run there"


def trials(profiles: Iterable[Profile], python: str) -> list[Trial]:
    """A trial for each of `profiles`, in the environment of the interpreter `python` ("": this one).

    Raises: ArgumentError where there is no such interpreter.
    """
    return [Trial(profile, _target(profile, python)) for profile in profiles]


def _target(profile: Profile, python: str) -> Target | None:
    runtime = profile.runtime
    if runtime.name not in ADAPTERS or profile.file:
        return None
    target = Target(runtime.name, python or interpreter())
    release = leading_release(_version(target)) if python else installed_release(runtime)
    return target if release is not None and release in Range(profile.release, profile.release) else None


@cache
def _version(target: Target) -> str:
    """The version in another environment, for which a process is started."""
    return target.installed_version()
