"""What a job says about files: the tables of options behind ``[input]`` and ``[output]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import OptionError
from shoal.io.formats import DROP, FORMATS, KEEP
from shoal.io.remote import check_address
from shoal.io.source import check_encoding
from shoal.messages.language import LANGUAGES
from shoal.options import Flag, Option, check_all, one_of, option, or_none, rows_of, truth

# What the owner of a release says about it: title, owner, purpose.

_LONGEST = 500


@dataclass(frozen=True, kw_only=True)
class About:
    """What the owner of a release says about it; stands in report and certificate as it is said.

    Attributes:
        title: what the release is called.
        owner: who answers for it.
        purpose: what it is published for.

    Raises:
        OptionError: something is no text, too long, or holds what cannot be printed.
    """

    title: str | None = None
    owner: str | None = None
    purpose: str | None = None

    def __post_init__(self) -> None:
        """Check and trim what is said."""
        for name, value in vars(self).copy().items():
            object.__setattr__(self, name, check_said(name, value))


def check_said(name: str, value: object) -> str | None:
    """Return a text as it is printed, without white space around it; None if it says nothing.

    Raises:
        OptionError: it is no text, too long, or holds what cannot be printed.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise OptionError("{name} must be text, got {value!r}.", name=name, value=value)
    text = " ".join(value.split())
    if len(text) > _LONGEST:
        raise OptionError(
            "{name} has {n:,} characters; say it in at most {longest}, it is printed on the "
            "first page of the report.",
            name=name,
            n=len(text),
            longest=_LONGEST,
        )
    if not text.isprintable():
        raise OptionError(
            "{name} holds characters that cannot be printed; leave them out.", name=name
        )
    return text or None


_READERS = (
    "anonymize",
    "apply",
    "refine",
    "explain",
    "compare",
    "score",
    "audit",
    "utility",
    "verify",
    "init",
    "build",
    "check",
    "tabulate",
)
_ORIGINALS = tuple(each for each in _READERS if each != "verify")  # which reads a release


def _text(name: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise OptionError("{name} must be text, got {value!r}.", name=name, value=value)
    return value


def _place(name: str, value: Any) -> str | None:
    place = _text(name, value)
    if place is not None:
        check_address(place)
    return place


def _texts(name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise OptionError(
            "{name} must be a list of texts, as in ['', '?'], got {value!r}.",
            name=name,
            value=value,
        )
    return tuple(value)


def _places(name: str, value: Any) -> tuple[str, ...] | None:
    places = _texts(name, value)
    for place in places or ():
        check_address(place)
    return places


def _new_names(name: str, value: Any) -> dict[str, str] | None:
    pairs = {} if value is None else value
    texts = isinstance(pairs, Mapping) and [each for pair in pairs.items() for each in pair]
    if texts is False or not all(isinstance(each, str) for each in texts):
        raise OptionError(
            "{name} must say the new names of columns, as in {{Geburtsdatum = 'birth date'}}.",
            name=name,
        )
    found = {old: new.strip() for old, new in pairs.items()}
    for old, new in found.items():
        if not new or not new.isprintable():
            raise OptionError(
                "The new name of column {old!r} must be text that can be seen, on one line.",
                old=old,
            )
    return found or None


def _encoding(name: str, value: Any) -> str | None:
    text = _text(name, value)
    return None if text is None else check_encoding(text)


def _decimal(name: str, value: Any) -> str | None:
    named = {"comma": ",", "point": "."}
    text = _text(name, value)
    if text is not None and named.get(text, text) not in (",", "."):
        raise OptionError("{name} must be ',' or '.', got {value!r}.", name=name, value=value)
    return None if text is None else named.get(text, text)


def _regime(name: str, value: Any) -> str | None:
    if value is None:
        return None
    from shoal.settings.regimes import REGIMES  # not needed by most runs

    return str(one_of(*REGIMES)(name, value))


def _file(*names: str, on: tuple[str, ...], metavar: str | None = "FILE") -> Flag:
    return Flag(names=names, on=on, panel="Files", metavar=metavar)


@dataclass(frozen=True, kw_only=True)
class Input:
    """Where the table is and how it is read: ``[input]`` of a job file.

    Raises:
        OptionError: an option is of the wrong type.
    """

    path: str | None = option(
        default=None,
        check=_place,
        help="The table: a file, a folder, a pattern or a database URL; - is standard input.",
        path=True,
    )
    more: tuple[str, ...] = option(
        default=(),
        check=_places,
        help="Further files with the same columns, read as one table with the first.",
        path=True,
    )
    missing_values: tuple[str, ...] | None = option(
        default=None,
        check=_texts,
        help="Texts that mean a missing value, beside the empty one, as in '?,NA'.",
        flag=_file("--missing-values", on=_READERS, metavar="TEXTS"),
    )
    delimiter: str | None = option(
        default=None,
        check=_text,
        help="What separates the cells of a CSV; recognised unless given.",
        flag=_file("--delimiter", on=_READERS, metavar="CHARACTER"),
    )
    format: str | None = option(
        default=None,
        check=_text,
        help=f"One of {', '.join(FORMATS)}, if the name of the file does not say it.",
        flag=_file("--format", on=_READERS, metavar="FORMAT"),
    )
    encoding: str | None = option(
        default=None,
        check=_encoding,
        help="Of a text file, as in cp1252 or utf-16; recognised unless given.",
        flag=_file("--encoding", on=_READERS, metavar="NAME"),
    )
    header: bool = option(
        default=True,
        check=truth,
        help="The first line holds the names of the columns.",
        flag=Flag(
            names=("--no-header",),
            on=_READERS,
            panel="Files",
            help="The first line is data; columns are called column_1, column_2, ….",
        ),
    )
    sheet: str | None = option(
        default=None,
        check=_text,
        help="Which sheet of a workbook, by name or number; the largest table unless given.",
        flag=_file("--sheet", on=_ORIGINALS, metavar="NAME"),
    )
    extra_rows: str | None = option(
        default=None,
        check=or_none(one_of(DROP, KEEP)),
        help="Rows that look like totals, notes or repeated headers: drop or keep them; a table "
        "that has some is refused unless this is said.",
        flag=_file("--extra-rows", on=_ORIGINALS, metavar="CHOICE"),
    )
    decimal: str | None = option(
        default=None,
        check=_decimal,
        help="What stands before decimals, ',' or '.'; a comma is recognised where it does not "
        "separate cells.",
        flag=_file("--decimal", on=_ORIGINALS, metavar="SIGN"),
    )
    rename: Mapping[str, Any] | None = option(
        default=None,
        check=_new_names,
        help="A column's new name; all other options, and the release, know only that one.",
        flag=Flag(
            names=("--rename",),
            on=_ORIGINALS,
            panel="Files",
            metavar="OLD=NEW",
            example="Geburtsdatum=born",
        ),
    )
    memory_check: bool = option(
        default=True,
        check=truth,
        help="Refuse a table that may not fit into memory.",
        flag=Flag(
            names=("--no-memory-check",),
            on=("anonymize",),
            help="Start even if the table may not fit into memory.",
        ),
    )
    engine: str = option(
        default="local",
        check=one_of("local", "spark"),
        help="Where the work is done: local, this machine, or spark, for folders of any size.",
        flag=Flag(names=("--engine",), on=("anonymize",), panel="Files", metavar="NAME"),
    )
    master: str | None = option(
        default=None,
        check=_text,
        help="Where Spark works, as 'local[4]' or yarn; what its settings say unless given.",
        flag=Flag(names=("--master",), on=("anonymize",), panel="Files", metavar="URL"),
    )

    def __post_init__(self) -> None:
        """Check the options."""
        check_all(self)

    @property
    def sources(self) -> tuple[str, ...]:
        """Everything that is read as one table."""
        return () if self.path is None else (self.path, *self.more)


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where the release and what is written about it go: ``[output]`` of a job file.

    Raises:
        OptionError: an option is of the wrong type.
    """

    table: str | None = option(
        default=None,
        check=_place,
        help="Where the release goes; - is standard output.",
        path=True,
        flag=_file("--output", "-o", on=("anonymize", "refine", "apply")),
    )
    format: str | None = option(
        default=None,
        check=_text,
        help="The format of the release, if the name of its file does not say it.",
        flag=_file("--output-format", on=("anonymize", "apply"), metavar="FORMAT"),
    )
    if_exists: str | None = option(
        default=None,
        check=or_none(one_of("fail", "replace")),
        help="If a file or the table of a database is already there: fail (the default) or "
        "replace.",
        flag=_file("--if-exists", on=("anonymize", "refine", "apply"), metavar="CHOICE"),
    )
    replace: bool = option(
        default=False,
        check=truth,
        help="Replace what is already there; the same as --if-exists replace.",
        flag=_file("--replace", on=("anonymize", "refine", "apply"), metavar=None),
    )
    log: str | None = option(
        default=None,
        check=_place,
        help="Add a line to this file for everything that happens; never a cell.",
        path=True,
        flag=_file("--log", on=("anonymize",)),
    )
    log_json: bool = option(
        default=False,
        check=truth,
        help="Write each line of the log as JSON.",
        flag=_file("--log-json", on=("anonymize",), metavar=None),
    )
    escape_formulas: bool = option(
        default=False,
        check=truth,
        help="In a CSV, put an apostrophe before texts that a spreadsheet would run.",
        flag=_file("--escape-formulas", on=("anonymize", "refine", "apply"), metavar=None),
    )
    certificate: str | None = option(
        default=None,
        check=_place,
        help="Also write a certificate (JSON).",
        path=True,
        flag=_file("--certificate", on=("anonymize", "refine", "apply")),
    )
    labels: str | None = option(
        default=None,
        check=_place,
        help="Also write which values the published labels of listed hierarchies stand for (CSV), "
        "to hand over with the release.",
        path=True,
        flag=_file("--labels", on=("anonymize", "refine")),
    )
    secret: str | None = option(
        default=None,
        check=_place,
        help="A key of 'shoal secret': certificate and report then tell which input it was, to "
        "whoever has the key.",
        path=True,
        flag=_file("--secret", on=("anonymize", "refine")),
    )
    save: str | None = option(
        default=None,
        check=_place,
        help="Also keep what further rows and later releases need, in a .shoal file; with "
        "--person also who is in which group, in a private file beside it (.people).",
        path=True,
        flag=_file("--save", on=("anonymize", "refine", "apply")),
    )
    report: str | None = option(
        default=None,
        check=_place,
        help="Also write a report (HTML).",
        path=True,
        flag=_file("--report", on=("anonymize", "refine")),
    )
    explanation: str | None = option(
        default=None,
        check=_place,
        help="A file of 'shoal explain --out', to be shown in the report.",
        path=True,
        flag=_file("--explanation", on=("anonymize",)),
    )
    audit: bool = option(
        default=False,
        check=truth,
        help="Attack the release with the original in hand; how far each attacker gets is said on "
        "the screen and in the report.",
        flag=_file("--audit", on=("anonymize",), metavar=None),
    )
    sampling_fraction: float | None = option(
        default=None,
        help="The share of the population that is in the table; risks in the report use it.",
        flag=_file("--sampling-fraction", on=("anonymize",), metavar="SHARE"),
    )
    title: str | None = option(
        default=None,
        check=check_said,
        help="What the release is called; for report and certificate.",
        flag=_file("--title", on=("anonymize", "refine"), metavar="TEXT"),
    )
    owner: str | None = option(
        default=None,
        check=check_said,
        help="Who answers for the release; for report and certificate.",
        flag=_file("--owner", on=("anonymize", "refine"), metavar="TEXT"),
    )
    purpose: str | None = option(
        default=None,
        check=check_said,
        help="What the release is for; for report and certificate.",
        flag=_file("--purpose", on=("anonymize", "refine"), metavar="TEXT"),
    )
    regime: str | None = option(
        default=None,
        check=_regime,
        help="What a regulator asks (ema, health-canada, hipaa-expert, hipaa-safe-harbor, cms, "
        "nhs, eu): k where it is not given, warnings, and its questions in the report.",
        flag=_file("--for", on=("anonymize", "refine"), metavar="REGIME"),
    )
    language: str = option(
        default="en",
        check=one_of(*LANGUAGES),
        help="The language of the report and of the screen, as en or de; the certificate, which "
        "programs read, is English.",
    )

    def __post_init__(self) -> None:
        """Check the options."""
        check_all(self)
        if self.replace and self.if_exists == "fail":
            raise OptionError(
                "replace says that what is there is replaced, and if_exists = 'fail' that it is "
                "not; keep one of them."
            )

    @property
    def replaces(self) -> bool:
        """Whether what is already there is replaced."""
        return self.replace or self.if_exists == "replace"

    @property
    def choice(self) -> str:
        """What happens to a table of a database that is already there: replace or fail."""
        return "replace" if self.replaces else "fail"


INPUT_OPTIONS: dict[str, Option] = {row.name: row for row in rows_of(Input)}
OUTPUT_OPTIONS: dict[str, Option] = {row.name: row for row in rows_of(Output)}
