"""Describes runtimes as text for --list-runtimes and the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..engine.registry import registry
from ..errors import listed
from ..report.summary import aligned
from .allowed.rules import AllowedList
from .naming import find_profile, find_runtime, profile_file
from .profiles import Effect, Product, Quirk, ReleaseFacts, Runtime, dotted, known_runtimes, shown_range
from .releases import Range

EFFECTS: dict[Effect, str] = {"wrong": "silently wrong", "refused": "refused", "crash": "crashes"}
_PROBED = "by probe of "


def overview() -> str:
    """A line for each range of releases of each runtime, with opsets, IR version and evidence; then other names."""
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
    products = [
        f"{', '.join(product.names)}: {runtime.name}, by the releases of {product.title}"
        for runtime in known_runtimes().values()
        for product in runtime.products
        if product.releases != ()
    ]
    return "\n".join([*aligned([("runtime", "releases", "opsets", "IR version", "evidence"), *rows]), *aliases, *products])


def about(name: str) -> str:
    """Everything that is known about the runtime `name`, or about one release of it, such as "openvino-2024.2".

    For "quirks", the forms that can be avoided. Raises ArgumentError for unknown names.
    """
    if name == "quirks":
        return "\n".join(aligned(sorted(forms().items())))
    named = None if profile_file(name) else find_runtime(name, "--list-runtimes")
    if named is not None and not named.release:
        return "\n".join(_about(named.runtime))
    profile = find_profile(name, "--list-runtimes")
    meant = replace(profile.runtime, title=profile.title, releases=profile.known, quirks=profile.quirks)
    return "\n".join(_about(meant, profile.warning))


def _about(runtime: Runtime, warning: str = "") -> Iterator[str]:
    yield runtime.title
    if warning:
        yield f"warning: {warning}"
    yield f"names: {', '.join([runtime.name, *runtime.also, *runtime.chips])}"
    yield from (f"{alias} is {runtime.name}-{release}" for alias, release in runtime.aliases.items())
    for product in runtime.products:
        yield f"{', '.join(product.names)}: {product.title} {inside(product)} ({product.source})"
    for facts in runtime.releases:
        numbers = f"{opsets(facts)}{_shown_ml(facts)}, IR version {shown_ir(facts)}"
        yield f"{shown_range(facts.releases)}: {numbers}; {facts.evidence} ({facts.source})"
        if facts.notes:
            yield f"  {facts.notes}"
        if facts.allowed is not None:
            yield f"  {allowed_of(facts.allowed)}"
        if refused := not_taken(facts):
            yield f"  not supported: {', '.join(refused)}"
    yield from (f"needs {need}" for need in needs(runtime))
    instead = forms()
    by_form: dict[str, list[str]] = {}
    for quirk, where in alike(runtime):
        what = f"{EFFECTS[quirk.effect]} in {where}{of_operators(quirk)}; {quirk.evidence}"
        by_form.setdefault(quirk.form, []).append(f"  {what}")
    for form, lines in by_form.items():
        yield from ("", form, *lines, f"  with --for: {instead[form]}")


def inside(product: Product) -> str:
    """The releases of a runtime that are in a product, as text."""
    if product.releases is None:
        return "has the same numbers"
    return ", ".join(f"{known.shown} has {dotted(known.inner)}" for known in product.releases) or "is unknown"


def needs(runtime: Runtime) -> Iterator[str]:
    """What a runtime needs of a model beside its operators, with the releases where these differ."""
    by_need: dict[str, list[str]] = {}
    for facts in runtime.releases:
        for need in _needs_of(facts):
            by_need.setdefault(need, []).append(shown_range(facts.releases))
    for need, where in by_need.items():
        yield need if len(where) == len(runtime.releases) else f"{need} (in {', '.join(where)})"


def _needs_of(facts: ReleaseFacts) -> Iterator[str]:
    if facts.allowed is not None and (static := facts.allowed.static_operators):
        yield f"fixed shapes{static}: --overwrite-input-shape sets those that are open"
    if facts.interface.rank_min:
        yield f"inputs and outputs of at least {facts.interface.rank_min} dimensions"
    for what in ("input", "output"):
        if types := facts.interface.types_refused(what):
            yield f"{what}s of other types than {', '.join(sorted(types))}"
    if facts.functions_refused:
        yield "models without local functions: --for inlines them"
    if facts.external_data_refused:
        yield "models without external data: --for writes the weights into the file"


def alike(runtime: Runtime) -> Iterator[tuple[Quirk, str]]:
    """The quirks of a runtime, each once, with a text of all its releases, as "2023.3, 2024.2", and the evidence for them."""
    groups: dict[tuple[str, str, frozenset[str]], list[Quirk]] = {}
    for quirk in runtime.quirks:
        groups.setdefault((quirk.form, quirk.effect, quirk.operators), []).append(quirk)
    for group in groups.values():
        ranges = list(dict.fromkeys(quirk.releases for quirk in group))
        where = "all releases" if Range() in ranges else ", ".join(map(shown_range, ranges))
        yield replace(group[-1], evidence=_evidence([quirk.evidence for quirk in group])), where


def _evidence(given: Sequence[str]) -> str:
    """Combine evidence: "by probe of 4.12.0" and "by probe of 5.0.0" become "by probe of 4.12.0 and 5.0.0"."""
    probed = list(dict.fromkeys(text.removeprefix(_PROBED) for text in given if text.startswith(_PROBED)))
    others = [text for text in dict.fromkeys(given) if not text.startswith(_PROBED)]
    return "; ".join([*others, *([_PROBED + listed(probed)] if probed else [])])


def allowed_of(found: AllowedList) -> str:
    """The operators that a list allows, those with conditions marked by *."""
    names = sorted(found.rules if found.operators is None else found.operators)
    shown = ", ".join(f"{name}*" if name in found.rules else name for name in names)
    others = {"refuse": "refused", "fallback": "left to the CPU", "silent": "computed wrongly"}[found.otherwise]
    return f"allowed (* under conditions; others are {others}): {shown}"


def not_taken(facts: ReleaseFacts) -> list[str]:
    """The operators and types that a runtime does not accept, and "local functions" if it does not accept these."""
    return [*sorted(facts.operators_refused | facts.types_refused), *["local functions"] * facts.functions_refused]


def of_operators(quirk: Quirk) -> str:
    """The operators of a quirk, as ": ReduceL1, ReduceL2"; "" where it concerns all operators that can have the form."""
    return f": {', '.join(sorted(quirk.operators))}" if quirk.operators < registry.operators_with(quirk.form) else ""


def forms() -> dict[str, str]:
    """The forms that can be avoided, each with what is written instead."""
    return {rule.form: rule.summary for rule in registry if rule.kind == "avoid"}


def opsets(facts: ReleaseFacts) -> str:
    low, high, best = facts.opset
    if low is None and high is None:
        return "opsets unknown"
    shown = f"opsets {'?' if low is None else low} to {'?' if high is None else high}"
    return shown if best is None else f"{shown}, best {best}"


def _shown_ml(facts: ReleaseFacts) -> str:
    return "" if facts.ml_max is None else f", ai.onnx.ml up to {facts.ml_max}"


def shown_ir(facts: ReleaseFacts) -> str:
    return "unknown" if facts.ir_max is None else f"up to {facts.ir_max}"
