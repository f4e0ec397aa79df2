"""A JSON Schema of job files, made from the tables of options: editors complete and check by it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from shoal.options import REQUIRED, Number, choices_of
from shoal.privacy.base import options_of
from shoal.publish.recode import Style
from shoal.registry import load, names
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS
from shoal.settings.job import JOB_OPTIONS, MODELS, TABLE
from shoal.settings.tables import EVENT_OPTIONS, ITEMS, TABLE_KEYS, TABLES
from shoal.table.schema import COLUMN_ROWS, Kind, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shoal.options import Option

_DRAFT = "http://json-schema.org/draft-07/schema#"
_OUTSIDE = {"type": "string", "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$"}
"""A value that comes from outside as a whole."""
_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_SCALARS: Mapping[str, dict[str, Any]] = {
    "str": _TEXT,
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
}
_RULE = {
    "type": "object",
    "properties": {"rule": _TEXT},
    "required": ["rule"],
}
_DETAILS: Mapping[str, dict[str, Any]] = {
    "hierarchy": {"anyOf": [_TEXT, _RULE]},
    "list": {"type": "array"},
    "number or text": {"type": ["number", "string"]},
    "number or date": {"type": ["number", "string"]},
    "list[str]": _TEXTS,
    "list[list[str]]": {"type": "array", "items": _TEXTS},
    "tuple[str, ...]": _TEXTS,
    TABLE: {"type": "object"},
    MODELS: {"type": "array"},
    "Any": {},
}


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema of job files, with all promises that are installed."""
    return {
        "$schema": _DRAFT,
        "title": "A job of Shoal",
        "description": "Keys and values of a job file, as `shoal anonymize --job` reads it.",
        **_object(
            {
                **{name: _of(row) for name, row in JOB_OPTIONS.items()},
                "missing_values": {**_TEXTS, "description": "What stands for a missing value."},
                "input": _files(INPUT_OPTIONS.values()),
                "output": _files(OUTPUT_OPTIONS.values()),
                "columns": {"type": "object", "additionalProperties": _column()},
                "hierarchies": {
                    "type": "object",
                    "additionalProperties": _DETAILS["hierarchy"],
                },
                "privacy": {"type": "array", "items": _promise()},
                "style": _style(),
                **{name: _of(row) for name, row in EVENT_OPTIONS.items()},
                TABLES: {"type": "object", "additionalProperties": _table()},
            }
        ),
    }


def _table() -> dict[str, Any]:
    """Return the shape of one of several tables."""
    column = _column(ITEMS)
    files = _files(INPUT_OPTIONS.values())["properties"]
    hierarchies = {"type": "object", "additionalProperties": _DETAILS["hierarchy"]}
    columns = {"type": "object", "additionalProperties": column}
    keys = dict.fromkeys(TABLE_KEYS, _TEXT)
    return _object({**keys, "columns": columns, "hierarchies": hierarchies, **files})


def _object(properties: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    needed = list(required)
    found = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**found, "required": needed} if needed else found


def _of(row: Option) -> dict[str, Any]:
    """Return the schema of one option, from its type, its check and its help."""
    kind = row.plain_type
    if kind in _SCALARS or choices_of(row.check):
        shape = _scalar(row, _SCALARS.get(kind, _TEXT))
    else:
        shape = dict(_DETAILS[kind])
    told = {"description": str(row.help)} if row.help else {}
    plain = row.default not in (REQUIRED, None) and isinstance(row.default, str | int | float)
    return {**shape, **told, **({"default": row.default} if plain and kind in _SCALARS else {})}


def _scalar(row: Option, shape: dict[str, Any]) -> dict[str, Any]:
    words, check = choices_of(row.check), row.check
    if words:
        shape = {"enum": list(words)}
    elif isinstance(check, Number) and shape["type"] in ("integer", "number"):
        ends = {
            "exclusiveMinimum": check.above,
            "minimum": check.at_least,
            "exclusiveMaximum": check.below,
            "maximum": check.at_most,
        }
        shape = {**shape, **{name: end for name, end in ends.items() if end is not None}}
    return _or_outside(shape)


def _or_outside(shape: dict[str, Any]) -> dict[str, Any]:
    return dict(shape) if shape == _TEXT else {"anyOf": [shape, _OUTSIDE]}


def _files(rows: Iterable[Option]) -> dict[str, Any]:
    # missing values stand at the top of the file
    return _object({row.name: _of(row) for row in rows if row.name != "missing_values"})


def _column(*further: str) -> dict[str, Any]:
    """Return the shape of a column, whose kind may be one of further ones."""
    found = {name: _of(row) for name, row in COLUMN_ROWS.items()}
    kinds = _or_outside({"enum": [*(kind.value for kind in Kind), "infer", *further]})
    found["kind"] = {"description": found["kind"]["description"], **kinds}
    role = _or_outside({"enum": [each.value for each in Role]})
    role["description"] = "What happens to the column."
    return _object({"role": role, **found}, ["role"])


def _style() -> dict[str, Any]:
    types = get_type_hints(Style)
    shapes = {}
    for each in fields(Style):
        words = get_args(types[each.name])
        shape = {"enum": list(words)} if words else _SCALARS[types[each.name].__name__]
        shapes[each.name] = _or_outside(shape)
    told = {"description": str(JOB_OPTIONS["style"].help)}
    return {**_object(shapes), **told}


def _promise() -> dict[str, Any]:
    known = names("privacy")
    options: dict[str, list[dict[str, Any]]] = {}
    for name in known:
        for row in options_of(load("privacy", name)):
            options.setdefault(row.name, []).append(_of(row))
    properties = {
        name: found[0] if all(each == found[0] for each in found) else {"anyOf": found}
        for name, found in options.items()
    }
    return _object({"model": {"enum": list(known)}, **properties}, ["model"])
