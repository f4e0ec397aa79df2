"""Message files: takes texts out of the code, and compiles what translators wrote.

    python tools/messages.py            update every shoal.po, and compile it to shoal.mo
    python tools/messages.py --check    exit status 1 if a file is not current or not complete
    python tools/messages.py --new fr   begin another language

Texts are found by their calls: ``_("...")``, ``words("...")``, ``Message("...")``,
``plural("...", "...", n)`` and errors, in Python files and in templates, and ``{% trans %}`` in
templates; those of privacy models, measures, roles, kinds and commands are what they declare. A
``.po`` file is edited with any editor, or with Poedit.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from typer.main import get_command

from shoal.cli.app import app
from shoal.cli.program import help_of, parts_of
from shoal.privacy.base import options_of
from shoal.registry import built_in, load
from shoal.table.schema import COLUMN_ROWS, Kind, Role

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "shoal"
MESSAGES = SOURCE / "messages"
HOLE = re.compile(r"%\(\w+\)s|\{[^{}]*\}")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "ngettext": (1, 2),
    "words": None,
    "Message": None,
    "Doubt": None,
    "Damaged": None,
    "plural": (1, 2),
    "AlgorithmError": None,
    "DataError": None,
    "HierarchyError": None,
    "JobError": None,
    "OptionError": None,
    "PromiseError": None,
    "RoleError": None,
    "ShoalError": None,
}
METHODS = [("**.py", "python"), ("**/templates/**.html", "jinja2.ext.babel_extract")]


def find_texts() -> Catalog:
    """Returns every text, in English."""
    found = Catalog(project="shoal", charset="utf-8")
    options = {"**/templates/**.html": {"trimmed": "true", "newstyle_gettext": "true"}}
    texts = extract_from_dir(SOURCE, METHODS, options, keywords=KEYWORDS)
    models = [load("privacy", name) for name in built_in("privacy")]
    declared = {row.help for model in models for row in options_of(model)}
    declared |= {row.help for row in COLUMN_ROWS.values() if row.card}
    declared |= {model.title for model in models}
    declared |= {load("measures", name).title for name in built_in("measures")}
    declared |= {each.value for names in (Role, Kind) for each in names}
    declared |= {text for part in parts_of(get_command(app)) for text in help_of(part).values()}
    # Without places: an edit elsewhere leaves the message files as they are.
    for message in sorted({each[2] for each in texts} | declared, key=str):
        text = message if isinstance(message, str) else message[0]
        plain = HOLE.sub("", text)
        # signs between holes are the same everywhere, but for those that a language writes itself
        if any(map(str.isalpha, plain)) or text in (plain, "{n}%"):
            found.add(message)
    return found


def updated(path: Path, texts: Catalog) -> Catalog:
    """Returns a language with the texts of today; what is not used any more is left out."""
    language = path.parts[-3]
    before = (
        read_po(io.BytesIO(path.read_bytes()), locale=language)
        if path.exists()
        else Catalog(locale=language, charset="utf-8")
    )
    after = Catalog(locale=language, project="shoal", charset="utf-8", fuzzy=False)
    for message in texts:
        if message.id:
            known = before.get(message.id[0] if isinstance(message.id, tuple) else message.id)
            string = known.string if known is not None and known.id == message.id else None
            after.add(message.id, string)
    return after


def as_po(catalog: Catalog) -> bytes:
    """Returns a language as text for translators."""
    text = io.BytesIO()
    write_po(text, catalog, width=100, omit_header=True, no_location=True, sort_output=True)
    plurals = f"nplurals={catalog.num_plurals}; plural={catalog.plural_expr};"
    header = (
        f"# Messages of Shoal: {catalog.locale.english_name}.\n"
        "# `python tools/messages.py` updates and compiles this file.\n"
        'msgid ""\nmsgstr ""\n'
        f'"Language: {catalog.locale}\\n"\n'
        '"Content-Type: text/plain; charset=utf-8\\n"\n'
        '"Content-Transfer-Encoding: 8bit\\n"\n'
        f'"Plural-Forms: {plurals}\\n"\n\n'
    )
    return header.encode() + text.getvalue()


def as_mo(po: bytes, language: str) -> bytes:
    """Returns a language as Python's gettext reads it."""
    catalog = read_po(io.BytesIO(po), locale=language)
    # Nothing that changes by itself: the same texts are the same bytes.
    day = datetime(2026, 1, 1, tzinfo=UTC)
    plain = Catalog(
        locale=language, charset="utf-8", fuzzy=False, creation_date=day, revision_date=day
    )
    for message in catalog:
        if message.id:
            plain.add(message.id, message.string)
    plurals = f"nplurals={plain.num_plurals}; plural={plain.plural_expr};"
    plain.mime_headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Plural-Forms", plurals),
    ]
    text = io.BytesIO()
    write_mo(text, plain)
    return text.getvalue()


def missing(catalog: Catalog) -> list[str]:
    """Returns the texts that a language lacks."""
    return [
        str(message.id)
        for message in catalog
        if message.id
        and not (all(message.string) if isinstance(message.string, tuple) else message.string)
    ]


def main() -> int:
    """Updates the files, or checks them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, and complain")
    parser.add_argument("--new", metavar="CODE", help="begin another language, as in fr")
    asked = parser.parse_args()
    if asked.new:
        (MESSAGES / asked.new / "LC_MESSAGES").mkdir(parents=True, exist_ok=True)
    texts, problems = find_texts(), 0
    for folder in sorted(MESSAGES.glob("*/LC_MESSAGES")):
        path = folder / "shoal.po"
        catalog = updated(path, texts)
        po = as_po(catalog)
        mo = as_mo(po, path.parts[-3])
        for file, content in ((path, po), (path.with_suffix(".mo"), mo)):
            if not file.exists() or file.read_bytes() != content:
                problems += 1
                print(f"{file.relative_to(ROOT)} {'is not current' if asked.check else 'updated'}")
                if not asked.check:
                    file.write_bytes(content)
        lacking = missing(catalog)
        problems += len(lacking)
        for text in lacking:
            print(f"{path.parts[-3]} lacks: {text}")
    return 1 if asked.check and problems else 0


if __name__ == "__main__":
    sys.exit(main())
