"""The profiles that come with this package, each of one release of a runtime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from .profile_file import FOLDER, read_runtime
from .releases import Release
from .runtime import Effect, OpsetRange, Quirk, ReleaseFacts, Runtime, dotted, shown_range

__all__ = [
    "FOLDER",
    "PROBED",
    "Effect",
    "OpsetRange",
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
    """One release of a runtime, and what is known about it."""

    runtime: Runtime
    release: Release
    facts: ReleaseFacts
    file: str = ""
    """The user's file that it is from; "" where it comes with this package."""

    @property
    def name(self) -> str:
        return f"{self.runtime.name}-{dotted(self.release)}"

    @property
    def title(self) -> str:
        """ "OpenVINO 2024.2", or "ONNX Runtime 1.40 (taken for 1.31)" where the release is not known."""
        taken_for = "" if self.release in self.facts.releases else f" (taken for {shown_range(self.facts.releases)})"
        return f"{self.runtime.title} {dotted(self.release)}{taken_for}"

    @property
    def title_and_file(self) -> str:
        """The title, and the file where it is the user's: "NPU 1.0 (./mynpu.toml)"."""
        return f"{self.title} ({self.file})" if self.file else self.title

    @property
    def quirks(self) -> tuple[Quirk, ...]:
        known = self.release if self.release in self.facts.releases else self.facts.releases.last or self.release
        return tuple(quirk for quirk in self.runtime.quirks if known in quirk.releases)


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
