"""Settings of the documentation, built by `make docs`."""

from __future__ import annotations

from mead import __version__

project = "MEAD for Spark"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = f"MEAD for Spark {release}"
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
python_maximum_signature_line_length = 100
