# Sphinx reads this file; `make docs` builds the site from the Markdown files beside it.

from __future__ import annotations

import json
import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

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
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
# A browser shows MathML by itself; the usual renderer is a script that comes over the network.
html_math_renderer = "mathml"


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("build-finished", list_versions)
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


def write_formula(page: Any, node: Any) -> None:
    """Add a formula as MathML."""
    page.body.append(convert(node.astext(), display="block" if is_block(node) else "inline"))
    raise SkipNode


def is_block(node: Any) -> bool:
    return type(node).__name__ == "math_block"


def list_versions(app: Sphinx, error: Exception | None) -> None:
    """Write beside the folder of this version which versions there are, newest first."""
    if error is not None or app.builder.format != "html":
        return
    site = Path(app.outdir).parent
    found = sorted(
        (each.parent.name for each in site.glob("*/objects.inv")),
        key=lambda name: [int(part) for part in re.findall(r"\d+", name)],
        reverse=True,
    )
    (site / "versions.js").write_text(f"window.shoalVersions = {json.dumps(found)};\n")
    (site / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>Shoal</title>'
        f'<meta http-equiv="refresh" content="0; url={found[0]}/index.html">'
        f'<a href="{found[0]}/index.html">Shoal {found[0]}</a>\n'
    )
