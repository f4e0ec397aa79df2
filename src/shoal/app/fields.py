"""Fields of a form, made from the tables of options: a new option or promise appears by itself."""

from __future__ import annotations

import sys
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from shoal.app.told_below import PREVIOUS
from shoal.errors import OptionError
from shoal.options import REQUIRED, choices_of
from shoal.settings.job import JOB_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.options import Option
    from shoal.settings.job import Job


_STARTS: dict[str, dict[str, Any]] = {
    "l-diversity": {"l": 2, "kind": "distinct"},
    "t-closeness": {"t": 0.3},
    "alpha-k": {"alpha": 0.5},
    "beta-likeness": {"beta": 2},
    "delta-disclosure": {"delta": 1},
    "ke-anonymity": {"e": 1},
    "k-map": {"k": 5},
    "delta-presence": {"delta_max": 0.5},
    "population-risk": {"limit": 0.1},
}
"""What a new promise begins with; others begin with 1."""


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


def _option_field(row: Option, job: Job) -> Field | None:
    kind = {"int": "whole", "float": "number", "str": "text", "bool": "yes"}.get(row.plain_type)
    if row.name == "previous":
        files = "\n".join(str(each) for each in job.options.get(row.name) or ())
        return Field(row.name, row.name, "files", files, PREVIOUS)
    if kind is None:
        return None  # a table: said in a job file
    choices = choices_of(row.check)
    if row.name in ("algorithm", "measure"):
        choices = _registered(row.name)
    value = job.options.get(row.name)
    if kind == "yes":
        on = row.default if value is None else value
        return Field(row.name, row.name, kind, "yes" if on else "", row.help)
    usual = "" if row.default in (None, REQUIRED) else str(row.default)
    return Field(
        row.name,
        row.name,
        "choice" if choices else kind,
        "" if value is None else str(value),
        row.help,
        choices,
        usual=usual,
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
    from shoal import registry

    model = registry.load("privacy", name)
    start: dict[str, Any] = {each.name: 1 for each in fields(model) if _is_needed(each)}
    return {"model": name, **start, **_STARTS.get(name, {})}


def _is_needed(each: Any) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def model_fields(table: Mapping[str, Any], place: int, sensitive: Sequence[str]) -> list[Field]:
    """Return the fields of one promise.

    Args:
        table: as a job file has it.
        place: its number among the promises.
        sensitive: columns that it can be about.
    """
    from shoal import registry

    model = registry.load("privacy", str(table["model"]))
    found = []
    for each in fields(model):
        kind, choices = _kind_of(each.name, _type_of(each, model), sensitive)
        value = table.get(each.name)
        usual = "" if _is_needed(each) or each.default is None else str(each.default)
        found.append(
            Field(
                f"privacy.{place}.{each.name}",
                each.name,
                kind,
                "" if value is None else str(value),
                choices=choices,
                needed=_is_needed(each),
                usual=usual,
            )
        )
    return found


def _type_of(each: Any, model: type) -> Any:
    """Return the type of a field; its own module says what the words in it mean."""
    asked = type("Asked", (), {"__annotations__": {each.name: each.type}})
    try:
        return get_type_hints(asked, vars(sys.modules[model.__module__]))[each.name]
    except (NameError, TypeError):
        return str


def _kind_of(name: str, known: Any, sensitive: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    if name == "column":
        return "choice", tuple(sensitive)
    options = [each for each in get_args(known) if each is not type(None)]
    literals = options if options and all(isinstance(each, str) for each in options) else ()
    if literals:
        return "choice", tuple(literals)
    types = {known, *options} if get_origin(known) is not None else {known}
    if float in types:
        return "number", ()
    return ("whole", ()) if int in types else ("text", ())


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
