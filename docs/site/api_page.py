"""The page of the public API: every name of `split_rewrite`, and what rules are written with."""

from __future__ import annotations

import inspect

from split_rewrite import rewriter

PACKAGE = "split_rewrite"


def page() -> str:
    """The page, as MyST Markdown with Sphinx's directives."""
    public = {name: getattr(rewriter, name) for name in rewriter.__all__}
    functions = [name for name, value in public.items() if inspect.isfunction(value)]
    errors = [name for name, value in public.items() if inspect.isclass(value) and issubclass(value, Exception)]
    classes = [name for name in public if name not in functions and name not in errors]
    return "\n".join(
        [
            "# Python API",
            "",
            f"All of this is imported from `{PACKAGE}`. [What stays as it is](docs/promise.md) says how far you can rely on it.",
            "",
            *_section("Functions", [f".. autofunction:: {PACKAGE}.{name}" for name in functions]),
            *_section("Classes", [f".. autoclass:: {PACKAGE}.{name}" for name in classes]),
            *_section("Errors", [f".. autoexception:: {PACKAGE}.{name}" for name in errors]),
            *_section(
                "For rules",
                [f".. automodule:: {PACKAGE}.rewriter.engine.registry", f".. autoclass:: {PACKAGE}.rewriter.graph.node.Node"],
            ),
        ]
    )


def _section(title: str, directives: list[str]) -> list[str]:
    return [f"## {title}", "", "```{eval-rst}", *(line for each in directives for line in (each, "")), "```", ""]
