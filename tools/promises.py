"""The table of all promises on docs/choosing-k-l-t.md, made from what the privacy models declare.

Run: python tools/promises.py
Writes the table between its two marks; a test holds that it is that of today.
"""

from __future__ import annotations

import sys
from pathlib import Path

from shoal.options import REQUIRED, Number, Option, choices_of
from shoal.privacy.base import options_of
from shoal.registry import built_in, load

PAGE = Path(__file__).resolve().parents[1] / "docs" / "choosing-k-l-t.md"
FIRST, LAST = "<!-- promises: python tools/promises.py -->\n", "<!-- end of promises -->\n"


def row_of(option: Option) -> str:
    """Returns an option with what it may be, its default and its flags."""
    inner = getattr(option.check, "check", option.check)
    said = ", ".join(choices_of(option.check)) or (
        str(inner.range) if isinstance(inner, Number) else ""
    )
    usual = "" if option.default in (REQUIRED, None) else f"{option.default} unless given"
    flags = [flag.names[0] for flag in (option.flag, *option.parts.values()) if flag]
    more = "; ".join(filter(None, (said, usual, ", ".join(f"`{flag}`" for flag in flags))))
    return f"`{option.name}`" + (f" ({more})" if more else "")


def table() -> str:
    """Returns the table: one row for each model that comes with the package."""
    lines = ["| promise | about | says | options |", "|---|---|---|---|"]
    for name in built_in("privacy"):
        model = load("privacy", name)
        options = "<br>".join(map(row_of, options_of(model)))
        lines.append(f"| `{name}` ({model.citation}) | {model.about} | {model.title} | {options} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Returns the page with the table of today."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(FIRST)
    return f"{before}{FIRST}\n{table()}\n{LAST}{rest.partition(LAST)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit(0)
