"""Fields of a form, made from the tables of options: a new option or promise appears by itself.

What a setting means is one plain sentence that changes with its value. A promise has its own, in
the language of the page where the catalogue has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, ShoalError
from shoal.messages import Message
from shoal.options import REQUIRED, choices_of
from shoal.privacy.base import options_of
from shoal.publish.limited import limited_of
from shoal.registry import load
from shoal.settings.job import JOB_OPTIONS
from shoal.table.schema import COLUMN_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.messages.language import Language
    from shoal.options import Option
    from shoal.settings.job import Job
    from shoal.table.schema import JobColumn, Kind

_PREVIOUS = Message(
    "Releases of these people that are out: the .shoal file of each, one on each line. A column "
    "has to say whose row it is."
)
RULES = (Message("prefix"), Message("intervals"), Message("dates"), Message("grid"))
"""What rules of hierarchies are called on a page."""


@dataclass(frozen=True)
class Field:
    """One field of a form.

    Attributes:
        name: under which it is sent.
        label: what it is called.
        kind: ``whole``, ``number``, ``text``, ``choice``, ``yes``, ``column`` or ``files`` (names
            of files, one on each line).
        value: what it holds now, as text; a box that is ticked holds ``yes``.
        help: one line.
        choices: what can be chosen.
        needed: whether it must not be empty.
        usual: what holds if it is empty, as text.
    """

    name: str
    label: str
    kind: str
    value: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    needed: bool = False
    usual: str = ""


# -- options of a run ----------------------------------------------------------------------------


def option_fields(job: Job, panel: str, but: Sequence[str] = ()) -> list[Field]:
    """Return the options of one panel of ``--help``, as the job says them.

    Args:
        job: what it says now.
        panel: as ``Promises`` or ``Search``.
        but: options that have fields elsewhere.
    """
    found = []
    for row in JOB_OPTIONS.values():
        if row.flag is not None and row.flag.panel == panel and row.name not in but:
            made = _option_field(row, job)
            if made is not None:
                found.append(made)
        for entry, flag in row.parts.items():
            if flag.panel == panel:
                said = (job.options.get(row.name) or {}).get(entry, "")
                help_text = flag.help or row.help
                found.append(Field(f"{row.name}.{entry}", entry, "text", str(said), help_text))
    return found


def column_fields(column: JobColumn, kind: Kind | None) -> list[Field]:
    """Return the options that the card of a column asks, as the job says them.

    Args:
        column: what the job says now.
        kind: how the column is generalised.
    """
    return [
        field_of(row, row.name, getattr(column, row.name))
        for row in COLUMN_ROWS.values()
        if row.card
        and row.is_for(column.role)
        and (row.fits is None or (kind is not None and row.fits(kind)))
    ]


def read_column(
    name: str, column: JobColumn, kind: Kind | None, given: Mapping[str, str]
) -> dict[str, Any]:
    """Return the changes of a column that its card asks for.

    Raises:
        OptionError: an option is out of range; it names the column.
    """
    changes: dict[str, Any] = {}
    for each in column_fields(column, kind):
        if each.name in given:
            row, value = COLUMN_ROWS[each.name], parse_field(each, given[each.name])
            if value is not None and row.check is not None:
                row.check(name, value)
            changes[each.name] = row.default if value is None else value
    return changes


_KINDS = {"int": "whole", "float": "number", "str": "text", "bool": "yes"}


def _option_field(row: Option, job: Job) -> Field | None:
    if row.name == "previous":
        files = "\n".join(str(each) for each in job.options.get(row.name) or ())
        return Field(row.name, row.name, "files", files, _PREVIOUS)
    if row.plain_type not in _KINDS:
        return None  # a table: said in a job file
    choices = _registered(row.name) if row.name in ("algorithm", "measure") else None
    return field_of(row, row.name, job.options.get(row.name), choices)


def field_of(row: Option, name: str, value: Any, choices: tuple[str, ...] | None = None) -> Field:
    """Return the field of an option that holds a value.

    Args:
        row: the option.
        name: under which the field is sent.
        value: what it holds; None if nothing is said.
        choices: what can be chosen, where the option's check does not say it.
    """
    kind = _KINDS.get(row.plain_type, "text")
    if kind == "yes":
        on = row.default if value is None else value
        return Field(name, row.name, kind, "yes" if on else "", row.help)
    known = choices_of(row.check) if choices is None else choices
    return Field(
        name,
        row.name,
        "choice" if known or choices is not None else kind,
        "" if value is None else str(value),
        row.help,
        known,
        needed=row.default is REQUIRED,
        usual="" if row.default in (None, REQUIRED) else str(row.default),
    )


def _registered(name: str) -> tuple[str, ...]:
    from shoal import registry

    if name == "algorithm":
        return registry.algorithms()
    known = registry.measures()
    return tuple(each for each in known if registry.load("measures", each).can_minimise)


def read_options(job: Job, given: Mapping[str, str], shown: Sequence[Field]) -> dict[str, Any]:
    """Return the changes of a job that a form asks for; None takes an option away.

    Raises:
        OptionError: a number is none.
    """
    changes: dict[str, Any] = {}
    for each in shown:
        if each.kind == "files" and each.name not in given:
            continue  # they stay as they are
        value = parse_field(each, given.get(each.name, ""))
        option, _, entry = each.name.partition(".")
        if entry:
            table = {**(changes.get(option) or job.options.get(option) or {}), entry: value}
            changes[option] = {key: said for key, said in table.items() if said is not None} or None
        elif value == JOB_OPTIONS[option].default:
            changes[option] = None
        else:
            changes[option] = value
    return changes


def parse_field(of: Field, text: str) -> Any:
    """Return what was typed into a field; None if it is empty.

    Raises:
        OptionError: it is no number where one is needed, or not among the choices.
    """
    text = text.strip()
    if of.kind == "yes":
        return text == "yes"
    if not text:
        return None
    if of.kind == "files":
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if of.kind == "whole":
        if not text.removeprefix("-").isdecimal() or len(text) > 18:
            raise OptionError(
                "{label} must be a whole number, not {text!r}.", label=of.label, text=text[:40]
            )
        return int(text)
    if of.kind == "number":
        try:
            number = float(text.replace(",", "."))
        except ValueError:
            raise OptionError(
                "{label} must be a number, not {text!r}.", label=of.label, text=text[:40]
            ) from None
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    if of.kind == "choice" and text not in of.choices:
        raise OptionError(
            "{label} must be one of {choices}, not {text!r}.",
            label=of.label,
            choices=", ".join(of.choices),
            text=text[:40],
        )
    return text


# -- promises ------------------------------------------------------------------------------------


def new_model(name: str) -> dict[str, Any]:
    """Return a promise to begin with, as a job file has it.

    Raises:
        OptionError: there is no such model.
    """
    rows = options_of(load("privacy", name))
    start = {
        row.name: 1 if row.start is None else row.start
        for row in rows
        if row.start is not None or row.default is REQUIRED
    }
    return {"model": name, **start}


def model_fields(table: Mapping[str, Any], place: int, sensitive: Sequence[str]) -> list[Field]:
    """Return the fields of one promise.

    Args:
        table: as a job file has it.
        place: its number among the promises.
        sensitive: columns that it can be about.
    """
    return [
        field_of(
            row,
            f"privacy.{place}.{row.name}",
            table.get(row.name),
            tuple(sensitive) if row.name == "column" else None,
        )
        for row in options_of(load("privacy", str(table["model"])))
    ]


def read_model(
    table: Mapping[str, Any], place: int, given: Mapping[str, str], sensitive: Sequence[str]
) -> dict[str, Any]:
    """Return a promise with what a form says about it.

    Raises:
        OptionError: a number is none.
    """
    changed: dict[str, Any] = {"model": table["model"]}
    for each in model_fields(table, place, sensitive):
        value = parse_field(each, given.get(each.name, each.value))
        if value is not None:
            changed[each.label] = value
    return changed


def of_k(
    words: Language, k: int, quasi: Sequence[str], *, people: bool = False, job: Job | None = None
) -> str:
    """Return what k promises to somebody who knows the quasi-identifiers.

    Args:
        words: the language.
        k: what is promised.
        quasi: the columns.
        people: whether people are counted, and not rows.
        job: says whether the attacker knows some of them only, and whether cells are shuffled.
    """
    known = ", ".join(quasi[:6]) + (" …" if len(quasi) > 6 else "")
    limited = limited_of(job.knows, job.combinations or ()) if job is not None else None
    if job is not None and (job.style or {}).get("cells") == "shuffled":
        return words(
            "Every group has at least %(k)s rows, and what belongs to one row in it is hidden "
            "(%(columns)s). That a person is in the table is not.",
            columns=known,
            k=words.number(k),
        )
    if limited:
        who = words.translate(limited.who(len(quasi)))
        texts = (
            words(
                "%(who)s finds at least %(k)s rows that fit (%(columns)s); whoever knows more of a "
                "person may find the row.",
                who=who[:1].upper() + who[1:],
                columns=known,
                k=words.number(k),
            ),
            words(
                "%(who)s finds rows of at least %(k)s different people that fit (%(columns)s); "
                "whoever knows more of a person may find the rows.",
                who=who[:1].upper() + who[1:],
                columns=known,
                k=words.number(k),
            ),
        )
        return texts[people]
    if people:
        return words(
            "Whoever knows all of these about a person (%(columns)s) finds rows of at least %(k)s "
            "different people that fit; picking one of them is right with a chance of at most "
            "%(share)s.",
            columns=known,
            k=words.number(k),
            share=words.share(1 / k),
        )
    return words(
        "Whoever knows all of these about a person (%(columns)s) finds at least %(k)s rows that "
        "fit; picking one of them is right with a chance of at most %(share)s.",
        columns=known,
        k=words.number(k),
        share=words.share(1 / k),
    )


def of_suppression(words: Language, share: float, n_rows: int) -> str:
    """Return what leaving rows out means."""
    if not share:
        return words("Every row is published.")
    return words(
        "Up to %(n)s of the %(rows)s rows may be left out, those that cost the others most.",
        n=words.number(int(share * n_rows)),
        rows=words.number(n_rows),
    )


def of_model(words: Language, table: Mapping[str, Any], *, people: bool = False) -> tuple[str, str]:
    """Return the sentence of a promise, and its language; both empty while it is not complete.

    Args:
        words: the language.
        table: model and options.
        people: whether people are counted, each with a value once, and not rows.
    """
    from shoal.privacy import PrivacyModel
    from shoal.publish.verify import in_people

    try:
        model = PrivacyModel.from_dict({k: v for k, v in table.items() if k != "population"})
    except ShoalError:
        return "", words.language
    said = model.describe()
    if people:
        said = in_people(said)
    return words.translate(said), words.language if words.knows(said) else "en"
