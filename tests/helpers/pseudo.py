"""A language that is no language: every letter of a catalogue is a wide one, holes stay.

What is still in plain letters on a page or a screen did not come through a catalogue.
"""

import re

from shoal.messages import language
from shoal.report import page
from tests.helpers.scripts import load_script

_KEPT = re.compile(r"(%\(\w+\)s|%%|\{[^{}]*\}|<[^>]+>|&\w+;)")
_WIDE = 0xFEE0  # from a letter to the wide one


def widened(text):
    """Return a text in wide letters, with its holes and tags as they are."""
    return "".join(
        part
        if place % 2
        else "".join(
            chr(ord(each) + _WIDE) if each.isascii() and each.isalpha() else each for each in part
        )
        for place, part in enumerate(_KEPT.split(text))
    )


def write_catalogue(folder):
    """Write the catalogue of such a language in the place of German."""
    tool = load_script("tools/messages.py")
    catalog = tool.find_texts()
    catalog.locale = "de"
    for message in catalog:
        if message.id:
            plural = isinstance(message.id, tuple)
            message.string = tuple(map(widened, message.id)) if plural else widened(message.id)
    path = folder / "de" / "LC_MESSAGES" / "shoal.mo"
    path.parent.mkdir(parents=True)
    path.write_bytes(tool.as_mo(tool.as_po(catalog), "de"))


def plain_words(text, known=()):
    """Return the words of a text in plain letters, but for those that are known."""
    for each in sorted(known, key=len, reverse=True):
        text = re.sub(rf"(?<![A-Za-z]){re.escape(each)}(?![A-Za-z])", " ", text)
    return sorted(set(re.findall(r"[A-Za-z][A-Za-z'-]+", text)))


def forget_languages():
    """Have catalogues and templates read anew."""
    language._catalogue.cache_clear()
    page._templates.cache_clear()
