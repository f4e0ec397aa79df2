"""Languages of the pages: ordinary message files, read by Python's gettext.

English texts are the keys. Another language is a folder ``messages/<code>/LC_MESSAGES`` with
``shoal.po`` and the ``shoal.mo`` made from it; nothing else has to be changed.
"""

from __future__ import annotations

import gettext
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "messages"
_DOMAIN = "shoal"


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation(_DOMAIN, _FOLDER, [language], fallback=True)


def _found() -> dict[str, str]:
    """Return the languages that there are, with what each calls itself."""
    codes = {"en", *(path.parts[-3] for path in _FOLDER.glob(f"*/LC_MESSAGES/{_DOMAIN}.mo"))}
    ordered = sorted(codes, key=lambda code: (code != "en", code))
    return {code: _catalogue(code).gettext("English") for code in ordered}


def _(text: str) -> str:
    """Mark a text for the message files."""
    return text


_OF_A_LANGUAGE = (
    _("English"),  # what the language calls itself
    _("1,234.5"),  # how it writes this number
    _("{n}%"),  # how it writes per cents
)

STAGES = (
    _("reading"),
    _("looking"),
    _("encoding"),
    _("clustering"),
    _("searching"),
    _("refining"),
    _("covering"),
    _("publishing"),
    _("verifying"),
    _("scoring"),
    _("measuring"),
    _("attacking"),
    _("writing"),
    _("written"),
    _("compiling"),
    _("compiling anew"),
    _("looking for cells"),
    _("unifying closest clusters"),
    _("done"),
)
"""What work tells about where it is; a stage that is not here is shown in English."""

LANGUAGES = _found()
"""Languages by their codes, English first."""


def language_of(cookie: str | None, accepted: str) -> str:
    """Return the language of a page: the chosen one, else what the browser likes best."""
    if cookie in LANGUAGES:
        return cookie
    wishes: list[tuple[float, int, str]] = []
    for place, part in enumerate(accepted.split(",")[:20]):
        code, _, rest = part.strip().partition(";")
        weight = 1.0
        if rest.strip().startswith("q="):
            try:
                weight = float(rest.strip()[2:])
            except ValueError:
                weight = 0.0
        wishes.append((-weight, place, code.split("-")[0].lower()))
    return next((code for weight, _, code in sorted(wishes) if weight and code in LANGUAGES), "en")


class Words:
    """Texts in one language: ``_("Rows: %(n)s", n=3)``."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._catalogue = _catalogue(language)

    def __call__(self, text: str, **values: object) -> str:
        """Return a text in this language, with its values put in."""
        found = self._catalogue.gettext(text) if text else ""
        return found % values if values else found

    def plural(self, one: str, many: str, n: int, **values: object) -> str:
        """Return one of two texts, by the rules of the language; ``%(n)s`` is the number."""
        found = self._catalogue.ngettext(one, many, n)
        return found % {"n": self.number(n), **values}

    def number(self, value: float, digits: int = 0) -> str:
        """Return a number as this language writes it."""
        shown = self("1,234.5")
        signs = {",": shown[1], ".": shown[-2]}
        return "".join(signs.get(sign, sign) for sign in f"{value:,.{digits}f}")

    def share(self, value: float) -> str:
        """Return a share as per cents; nothing that is there becomes 0 or 100."""
        if 0 < value < 0.001:
            text = f"< {self.number(0.1, 1)}"
        elif 0.999 < value < 1:
            text = f"> {self.number(99.9, 1)}"
        else:
            text = self.number(100 * value, 0 if value in (0, 1) else 1)
        return self("{n}%").replace("{n}", text)
