"""Settings of the documentation, built by `make docs`."""

from __future__ import annotations

from pathlib import Path

import mead

project = "MEAD for Spark"
release = mead.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.apidoc"]
apidoc_modules = [
    {
        "path": str(Path(mead.__file__).parent),
        "destination": "reference/api",
        "module_first": True,
        "max_depth": 1,
    }
]
exclude_patterns = ["reference/api/modules.rst"]  # a table of contents with one entry
suppress_warnings = ["ref.python"]  # a field called "type" beside the built-in of that name
apidoc_automodule_options = {"ignore-module-all", "members", "undoc-members", "show-inheritance"}

html_theme = "furo"
html_title = f"MEAD for Spark {release}"
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
