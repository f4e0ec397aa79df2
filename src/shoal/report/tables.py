"""The report and the certificate of several tables: against whom, what holds, what was lost."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import DataError
from shoal.io.limits import read_side_file
from shoal.messages import Message
from shoal.report.certificate import build_certificate
from shoal.report.page import ATTACK_GROUPS, render
from shoal.runtime.sanitize import plain_values
from shoal.settings.files import About
from shoal.settings.tables import ITEMS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from shoal.publish.release_data import TablesData
    from shoal.study.audit.attack_context import Audit

TABLES_SCHEMA_VERSION = 1
_OF_ALL = ("schema_version", "created", "about", "versions", "judgement")


class TableShown(NamedTuple):
    """What the report says of one table."""

    name: str
    above: str | None
    rows: int
    left_out: int
    loss: float
    by_column: dict[str, float]


def build_tables_certificate(
    release: TablesData[Any],
    output_sha256: Mapping[str, str] | None = None,
    about: About | None = None,
) -> dict[str, Any]:
    """Return the certificate of several tables: what holds together, and that of each table."""
    hashes = output_sha256 or {}
    each = {
        name: build_certificate(release.releases[name], output_sha256=hashes.get(name), about=about)
        for name in release.releases
    }
    first = each[release.terms[0].name]
    verification = release.verification
    found = {
        "tables_schema_version": TABLES_SCHEMA_VERSION,
        "attacker": release.attacker,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "about": first["about"],
        "versions": first["versions"],
        "k": release.k,
        "knows_events": release.knows_events,
        "holds": verification.holds,
        "promises": [
            {
                "name": check.name,
                "promised": check.promised,
                # more than what was promised is told by nobody
                "measured": min(check.measured, check.promised),
                "holds": check.holds,
            }
            for check in verification.checks
        ],
        "verified": verification.read_from,
        "terms": [
            {
                "table": terms.name,
                "quasi_identifiers": list(terms.quasi_identifiers),
                "key": terms.key,
                "link": terms.link,
                "above": terms.above,
                ITEMS: list(terms.items),
            }
            for terms in release.terms
        ],
        "tables": {
            name: {key: value for key, value in of_one.items() if key not in _OF_ALL}
            for name, of_one in each.items()
        },
        "warnings": list(release.warnings),
    }
    plain = plain_values(found)
    assert isinstance(plain, dict)
    return plain


def render_tables_report(
    release: TablesData[Any],
    *,
    about: About | None = None,
    audit: Audit | None = None,
    language: str = "en",
) -> str:
    """Return the report of several tables as HTML."""
    shown = []
    above_of = {terms.name: terms.above for terms in release.terms}
    for name, each in release.releases.items():
        above = above_of[name] if name in above_of else name.partition(".")[0]
        scores = each.facts.scores  # what the published table tells by itself
        columns = dict(scores.by_column["ncp"])
        shown.append(
            TableShown(name, above, each.n_published, each.n_suppressed, scores["ncp"], columns)
        )
    return render(
        "tables.html",
        language,
        release=release,
        about=about or About(),
        audit=audit,
        attack_groups=ATTACK_GROUPS,
        tables=shown,
    )


def is_tables_certificate(path: str | PathLike[str]) -> bool:
    """Tell whether a file is the certificate of several tables."""
    try:
        return "tables_schema_version" in json.loads(Path(path).read_bytes())
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def read_tables_certificate(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a certificate of several tables says.

    Raises:
        DataError: it cannot be read, or is none.
    """
    shown = os.fspath(path)
    missing = Message("There is no certificate {shown!r}.", shown=shown)
    data = read_side_file(path, Message("the certificate"), missing)
    try:
        found = json.loads(data)
        right = _is_whole(found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        right = False
    if not right:
        raise DataError("{shown!r} is no certificate of Shoal.", shown=shown)
    if found["tables_schema_version"] > TABLES_SCHEMA_VERSION:
        raise DataError(
            "The certificate {shown!r} is of a newer version of Shoal; check it with that one.",
            shown=shown,
        )
    assert isinstance(found, dict)
    return found


def _is_whole(found: Any) -> bool:
    """Tell whether a certificate has what verification needs; it may also fail to be looked at."""
    right = bool(found["terms"])
    for each in found["terms"]:
        names = (each["key"], each["link"], each["above"])
        columns = [each["table"], *each["quasi_identifiers"], *each[ITEMS]]
        recorded = found["tables"][each["table"]]
        right &= all(isinstance(name, str) for name in columns)
        right &= all(isinstance(name, str | None) for name in names)
        right &= isinstance(recorded["output"], dict) and "sha256" in recorded["output"]
        right &= all({"name", "role"} <= set(column) for column in recorded["columns"])
        right &= isinstance(recorded["parameters"]["privacy"], list)
    numbers = (found["tables_schema_version"], found["k"], found["knows_events"])
    return right and all(type(number) is int for number in numbers)
