"""Says which of the runtimes that a result is for are installed, so that it can be run there, and what is promised of others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..execution.adapters import ADAPTERS
from ..execution.other_runtimes import Target
from ..process.child import NONE_STARTED, are_started, interpreter
from .naming import installed_release
from .profiles import Profile, dotted
from .releases import Range


class Trial(NamedTuple):
    """A runtime that a result is for, and where it can be run; None where it is not installed in a release that was named."""

    profile: Profile
    target: Target | None
    python: str = ""
    """The interpreter in whose environment it was looked for; "" for this one."""

    @property
    def promise(self) -> str:
        """What is said of a result that was not run there."""
        return f"{self.profile.title}: {self.profile.facts.evidence}, not tried here"

    @property
    def promise_of_loaded(self) -> str:
        """What is said of a result that was loaded there, and not run."""
        return f"{self.profile.title}: {self.profile.facts.evidence}, loaded here, and not run"

    @property
    def advice(self) -> str:
        """How the result can be run there; "" where this program cannot run the runtime."""
        if self.profile.runtime.name not in ADAPTERS or self.profile.file:
            return ""
        if not are_started():
            return f": it runs in a child process, and {NONE_STARTED}"
        package = f"{self.profile.runtime.package} {dotted(self.profile.release)}"
        if self.python:
            return f"; {package} is not installed in the environment of {self.python}"
        return f"; with {package} installed here, or in the environment of --python, it is run there"


def trials(profiles: Iterable[Profile], python: str) -> list[Trial]:
    """A trial for each of `profiles`, in the environment of the interpreter `python` ("": this one).

    Raises: ArgumentError where there is no such interpreter.
    """
    return [Trial(profile, _target(profile, python), python) for profile in profiles]


def _target(profile: Profile, python: str) -> Target | None:
    runtime = profile.runtime
    if runtime.name not in ADAPTERS or profile.file or not are_started():
        return None
    release = installed_release(runtime, python)
    is_there = release is not None and release in Range(profile.release, profile.release)
    return Target(runtime.name, python or interpreter()) if is_there else None
