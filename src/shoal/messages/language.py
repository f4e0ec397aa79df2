"""Languages of messages, pages and reports: ordinary message files, read by Python's gettext.

English texts are the keys. Another language is a folder ``<code>/LC_MESSAGES`` with ``shoal.po``
and the ``shoal.mo`` made from it; nothing else has to be changed. Texts of pages are written in
templates, with holes of the form ``%(name)s``; what other rooms say comes as a `Message`.
"""

from __future__ import annotations

import gettext
import string
from functools import cache
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.messages import Message, shaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_FOLDER = Path(__file__).parent
_DOMAIN = "shoal"


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation(_DOMAIN, _FOLDER, [language], fallback=True)


_OF_A_LANGUAGE = (
    Message("English"),  # what the language calls itself
    Message("1,234.5"),  # how it writes this number
    Message("{n}%"),  # how it writes per cents
)

LANGUAGES = ("en", *sorted(path.parts[-3] for path in _FOLDER.glob(f"*/LC_MESSAGES/{_DOMAIN}.mo")))
"""The codes of the languages, English first."""


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


class Language:
    """Texts in one language: ``_("Rows: %(n)s", n=3)`` of a page, or a message of another room."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._catalogue = _catalogue(language)
        self._formatter = _Formatter(self)

    def __call__(self, text: str, /, **values: object) -> str:
        """Return a text of a page in this language, with its values put in."""
        if isinstance(text, Message):
            return self.translate(text)
        found = self._catalogue.gettext(text) if text else ""
        if not values:
            return found
        return found % {
            name: self.translate(value) if isinstance(value, str) else value
            for name, value in values.items()
        }

    def plural(self, one: str, many: str, n: int, **values: object) -> str:
        """Return one of two texts, by the rules of the language; ``%(n)s`` is the number."""
        return self.chosen(one, many, n) % {"n": self.number(n), **values}

    def chosen(self, one: str, many: str, n: int) -> str:
        """Return one of two texts, by the rules of the language, without its values."""
        return self._catalogue.ngettext(one, many, n)

    def translate(self, text: str) -> str:
        """Return a message in this language; a text that is none, and names, as they are."""
        if not isinstance(text, Message):
            return text
        if text.singular is not None:
            found = self._catalogue.ngettext(text.singular, text.template, text.values["n"])
        else:
            found = self._catalogue.gettext(text.template) if text.template else ""
        if not text.values:
            return found
        return self._formatter.vformat(found, (), text.values)

    def knows(self, text: str) -> bool:
        """Tell whether a text is a message that the catalogue has."""
        if self.language == "en":
            return True
        if not isinstance(text, Message):
            return False
        inside = [each for each in text.values.values() if isinstance(each, Message)]
        if text.singular is None:
            known = self._catalogue.gettext(text.template)
        else:
            known = self._catalogue.ngettext(text.singular, text.template, 2)
        return all(map(self.knows, inside)) and (known != text.template or text.only_holes())

    def shown(self, value: Any, spec: str = ",") -> str:
        """Return a value as this language writes it: a message, or a number in a format."""
        if isinstance(value, str):
            return self.translate(value)
        return self._formatter.format_field(value, spec)

    def number(self, value: float, digits: int = 0) -> str:
        """Return a number as this language writes it."""
        return self.digits(f"{value:,.{digits}f}")

    def digits(self, shown: str) -> str:
        """Return an English number as this language writes it."""
        if self.language == "en":
            return shown
        model = self("1,234.5")
        signs = {",": model[1], ".": model[-2]}
        return "".join(signs.get(sign, sign) for sign in shown)

    def share(self, value: float) -> str:
        """Return a share as per cents; nothing that is there becomes 0 or 100."""
        if 0 < value < 0.001:
            text = f"< {self.number(0.1, 1)}"
        elif 0.999 < value < 1:
            text = f"> {self.number(99.9, 1)}"
        else:
            text = self.number(100 * value, 0 if value in (0, 1) else 1)
        return self("{n}%").replace("{n}", text)


class _Formatter(string.Formatter):
    """Fills the holes of a template: messages in the language, numbers as it writes them."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what fills a hole."""
        value = super().get_value(key, args, kwargs)
        return self._language.translate(value) if isinstance(value, str) else value

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a value as it is shown."""
        if isinstance(value, str):
            return shaped(value, format_spec)
        shown: str = super().format_field(value, format_spec)
        if not isinstance(value, Number) or not any(map(str.isdigit, shown)):
            return shown
        if shown.endswith("%"):
            return self._language("{n}%").replace("{n}", self._language.digits(shown[:-1]))
        return self._language.digits(shown)
