# Sphinx reads this file; `make docs` builds the site from the Markdown files beside it.

from __future__ import annotations

import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Shoal"
author = "The Shoal developers"
project_copyright = "The Shoal developers"
version = release = installed_version("shoal-anonymity")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
# A code block without a language is a drawing, not Python.
highlight_language = "none"

# Docstrings are Google style, with `names` in single backticks.
default_role = "code"
autodoc_typehints = "none"  # arguments are described in words; the types are in the source
autodoc_class_signature = "separated"  # a result is not made by users, so its class needs none
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Class attributes", "Attributes")]

html_theme = "furo"
html_title = f"Shoal {release}"
html_copy_source = False


def setup(app: Sphinx) -> None:
    app.connect("source-read", list_results)
    # A new page of results changes this one, which Sphinx cannot know.
    app.connect("env-get-outdated", lambda *_: ["results"])
    app.connect("autodoc-process-docstring", keep_bars)


def list_results(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the pages that exist in results/ to the page about them; an empty glob would warn."""
    pages = sorted(each.stem for each in (Path(app.srcdir) / "results").glob("*.md"))
    if page == "results" and pages:
        names = "\n".join(f"results/{name}" for name in pages)
        source[0] += f"\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"


def keep_bars(*given: Any) -> None:
    """Keep |x| of formulas, which reStructuredText takes for something else."""
    lines: list[str] = given[-1]
    lines[:] = [re.sub(r"(``.*?``)|\|", lambda m: m[1] or r"\|", line) for line in lines]
