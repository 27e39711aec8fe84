"""The profiles that come with this package, each of one release of a runtime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, reduce

from ..cached import cached_property
from .profile_file import FOLDER, read_runtime
from .releases import Release
from .runtime import Effect, Inside, OpsetRange, Product, Quirk, ReleaseFacts, Runtime, dotted, shown_range

__all__ = [
    "FOLDER",
    "PROBED",
    "Effect",
    "Inside",
    "OpsetRange",
    "Product",
    "Profile",
    "Quirk",
    "ReleaseFacts",
    "Runtime",
    "dotted",
    "known_runtimes",
    "read_runtime",
    "shown_range",
]

PROBED = FOLDER / "probed"
"""The folder with the files that `split-rewrite probe` wrote, one for each release, such as openvino-2024.2.toml."""


@dataclass(frozen=True)
class Profile:
    """One release of a runtime, and what is known about it, or about the releases that it is taken for."""

    runtime: Runtime
    release: Release
    taken_for: tuple[Release, ...]
    """The release itself where it is known, else the nearest known ones, of which none may refuse the model."""
    title: str
    """ "OpenVINO 2024.2", or "TensorRT 10.8 (taken for 10.1 and 10.15)" where the release is not known."""
    file: str = ""
    """The user's file that it is from; "" where it comes with this package."""
    warning: str = ""
    """What the user has to know about the name that was given: that nothing is known about the release, or that none was named."""

    @property
    def name(self) -> str:
        return f"{self.runtime.name}-{dotted(self.release)}"

    @property
    def title_and_file(self) -> str:
        """The title, and the file where it is the user's: "NPU 1.0 (./mynpu.toml)"."""
        return f"{self.title} ({self.file})" if self.file else self.title

    @property
    def known(self) -> tuple[ReleaseFacts, ...]:
        """What is known of each release that it is taken for."""
        return tuple(f for f in self.runtime.releases if any(release in f.releases for release in self.taken_for))

    @cached_property
    def facts(self) -> ReleaseFacts:
        """What a model has to keep to: it takes what all that are known take."""
        return reduce(ReleaseFacts.both, self.known)

    @property
    def quirks(self) -> tuple[Quirk, ...]:
        """The quirks of all releases that it is taken for."""
        return tuple(q for q in self.runtime.quirks if any(release in q.releases for release in self.taken_for))


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
