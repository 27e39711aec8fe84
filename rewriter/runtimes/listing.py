"""What is known of runtimes, as text."""

from __future__ import annotations

from collections.abc import Iterator

from ..engine.registry import registry
from ..errors import ArgumentError, listed
from ..report.summary import aligned
from .profiles import Quirk, ReleaseFacts, Runtime, known_runtimes, shown_range


def overview() -> str:
    """One line for each range of releases of each runtime: opsets, IR version, evidence; then the aliases."""
    rows = [
        (runtime.name, shown_range(facts.releases), opsets(facts), shown_ir(facts), facts.evidence)
        for runtime in known_runtimes().values()
        for facts in runtime.releases
    ]
    aliases = [
        f"{alias} is {runtime.name}-{release}"
        for runtime in known_runtimes().values()
        for alias, release in runtime.aliases.items()
    ]
    return "\n".join([*aligned([("runtime", "releases", "opsets", "IR version", "evidence"), *rows]), *aliases])


def about(name: str) -> str:
    """All that is known of the runtime `name`; of "quirks", the forms that can be avoided. Raises ArgumentError."""
    if name == "quirks":
        return "\n".join(aligned(sorted(forms().items())))
    runtimes = known_runtimes()
    if name not in runtimes:
        raise ArgumentError(f"--list-runtimes {name}: there is no runtime of this name; there are {', '.join(runtimes)}")
    return "\n".join(_about(runtimes[name]))


def _about(runtime: Runtime) -> Iterator[str]:
    yield runtime.title
    for facts in runtime.releases:
        yield f"{shown_range(facts.releases)}: {opsets(facts)}, IR version {shown_ir(facts)}; {facts.evidence} ({facts.source})"
        if facts.notes:
            yield f"  {facts.notes}"
        if refused := not_taken(facts):
            yield f"  not supported: {', '.join(refused)}"
    instead = forms()
    for quirk, where in alike(runtime):
        what = quirk.form + of_operators(quirk)
        yield f"{quirk.effect} in {where}: {what}; {quirk.evidence}. Instead: {instead[quirk.form]}"


def alike(runtime: Runtime) -> Iterator[tuple[Quirk, str]]:
    """Its quirks, each once with all its releases, as "2023.3, 2024.2"; the evidence is that of the last of them."""
    groups: dict[tuple[str, str, frozenset[str]], list[Quirk]] = {}
    for quirk in runtime.quirks:
        groups.setdefault((quirk.form, quirk.effect, quirk.operators), []).append(quirk)
    for group in groups.values():
        yield group[-1], ", ".join(dict.fromkeys(shown_range(quirk.releases) for quirk in group))


def not_taken(facts: ReleaseFacts) -> list[str]:
    """Operators, types, and "local functions"."""
    return [*sorted(facts.operators_refused | facts.types_refused), *["local functions"] * facts.functions_refused]


def of_operators(quirk: Quirk) -> str:
    """ " of ReduceL1 and ReduceL2" where the quirk is not of all operators that can have its form."""
    return f" of {listed(sorted(quirk.operators))}" if quirk.operators < registry.operators_with(quirk.form) else ""


def forms() -> dict[str, str]:
    """The forms that can be avoided, and what is done instead."""
    return {rule.form: rule.summary for rule in registry if rule.kind == "avoid"}


def opsets(facts: ReleaseFacts) -> str:
    low, high, best = facts.opset
    if low is None and high is None:
        return "opsets unknown"
    shown = f"opsets {'?' if low is None else low} to {'?' if high is None else high}"
    return shown if best is None else f"{shown}, best {best}"


def shown_ir(facts: ReleaseFacts) -> str:
    return "unknown" if facts.ir_max is None else f"up to {facts.ir_max}"
