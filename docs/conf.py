# Sphinx reads this file; `make docs` builds the site from the Markdown files beside it.

from importlib.metadata import version as installed_version

project = "Shoal"
author = "The Shoal developers"
project_copyright = "The Shoal developers"
version = release = installed_version("shoal")

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
# A code block without a language is a drawing, not Python.
highlight_language = "none"

html_theme = "furo"
html_title = f"Shoal {release}"
html_copy_source = False
