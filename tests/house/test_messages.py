"""Message files are complete and compiled from what translators see."""

import re

import pytest
from tests.helpers.scripts import load_script


@pytest.fixture(scope="module")
def tool():
    return load_script("tools/messages.py")


@pytest.fixture(scope="module")
def texts(tool):
    return tool.find_texts()


def test_german_has_every_text_of_the_pages_and_its_files_are_current(tool, texts):
    path = tool.MESSAGES / "de" / "LC_MESSAGES" / "shoal.po"
    catalog = tool.updated(path, texts)
    assert tool.missing(catalog) == []
    po = path.read_bytes()
    assert tool.as_po(catalog) == po
    assert tool.as_mo(po, "de") == path.with_suffix(".mo").read_bytes()


def test_a_translation_puts_the_same_values_in(tool, texts):
    catalog = tool.updated(tool.MESSAGES / "de" / "LC_MESSAGES" / "shoal.po", texts)
    # A hole may be filled in another shape: `{promise:bare}` for `{promise:clause}`.
    holes = re.compile(r"%\(\w+\)s|\{\w+|%%")
    for message in catalog:
        if not message.id:
            continue
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        for english, other in zip(ids, strings, strict=True):
            assert set(holes.findall(english)) == set(holes.findall(other)), english


def test_every_text_of_the_pages_is_found(texts):
    # one of each way to write it: a template, a plural, a mark, a call in Python
    ids = {m.id[0] if isinstance(m.id, tuple) else m.id for m in texts}
    assert {"Which table?", "%(n)s value", "Columns", "There is no such page."} <= ids
