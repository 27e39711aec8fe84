"""Sphinx's configuration; docs/site/build.py runs it on a copy of the pages."""

from importlib.metadata import version as installed

project = "split-rewrite"
version = release = installed("split-rewrite")
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
html_theme = "furo"
html_title = f"split-rewrite {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
default_role = "code"  # docstrings write code between single backticks
myst_heading_anchors = 4
suppress_warnings = ["toc.empty_glob"]  # folders of pages that a version may not have
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
python_maximum_signature_line_length = 80
