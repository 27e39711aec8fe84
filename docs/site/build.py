"""Build the documentation site: `python docs/site/build.py FOLDER`, after `pip install -e '.[docs]'`.

The pages of the tree, those that are made of the program (operators, the API) and the reports of the gallery are put together in a
temporary folder, from which Sphinx makes HTML. A warning of Sphinx and a link that leads nowhere are errors.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
sys.path[:0] = [str(SITE), str(ROOT / "tests" / "support")]

import api_page  # noqa: E402
import broken_links  # noqa: E402
import gallery  # noqa: E402
import operator_pages  # noqa: E402

from split_rewrite.rewriter.report.page_style import DARK, DRAWINGS, LIGHT  # noqa: E402


def main(target: Path) -> int:
    """Build the site in `target`. Returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        _gather(source)
        status = build_main(["-W", "--keep-going", "-q", "-b", "html", str(source), str(target)])
    broken = broken_links.broken(target) if status == 0 else []
    print(*broken, sep="\n", file=sys.stderr, end="\n" if broken else "")
    return status or bool(broken)


def _gather(source: Path) -> None:
    """Put all that Sphinx reads into the folder `source`."""
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*"), ROOT / "models" / "README.md"):
        if page.is_file() and SITE not in page.parents:
            copy = source / page.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, copy)
    for name in ("index.md", "conf.py"):
        shutil.copy(SITE / name, source)
    for name, text in {
        "index": operator_pages.index(),
        **{name: operator_pages.page(name) for name in operator_pages.operators()},
    }.items():
        _write(source / "operators" / f"{name}.md", text)
    _write(source / "api.md", api_page.page())
    for name, text in gallery.reports().items():
        _write(source / "_extra" / "gallery" / name, text)
    _write(source / "_static" / "site.css", _style())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _style() -> str:
    """The style of drawings, in the colours of the report, light or dark as the reader has chosen."""
    return f"""
.rewrite {{ {LIGHT} border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }}
body[data-theme="dark"] .rewrite {{ {DARK} }}
@media (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) .rewrite {{ {DARK} }} }}
{DRAWINGS}
.rewrite .panels {{ grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); }}
.rewrite .panels.stacked {{ grid-template-columns: minmax(0, 1fr); }}
article td {{ text-align: left; vertical-align: top; }}
iframe.report {{ width: 100%; height: 540px; border: 1px solid var(--color-background-border); border-radius: 10px; }}
"""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/site/build.py FOLDER")
    with contextlib.redirect_stdout(io.StringIO()):
        outcome = main(Path(sys.argv[1]))
    sys.exit(outcome)
