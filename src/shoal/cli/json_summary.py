"""``--json``: what a run found as JSON on standard output, by the rules of the certificate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from shoal.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.publish.verify import Verification
    from shoal.settings.run_job import JobResult

__all__ = ["check_json", "print_json", "print_release_json", "print_verification_json"]


def check_json(wanted: bool, table: str | None) -> None:
    """Refuse a summary that would be mixed with the release on standard output.

    Raises:
        OptionError: both would go there.
    """
    if wanted and table == "-":
        raise OptionError("--json and -o - both want standard output; write the release to a file.")


def print_release_json(made: JobResult) -> None:
    """Print what the certificate tells, where everything is, and how far attackers get."""
    from shoal.io import shown_name
    from shoal.report.certificate import build_certificate

    release = made.release
    found = build_certificate(release)
    for key in ("input", "output"):
        del found[key]  # hashes are for the certificate, which belongs to one file
    rows = {
        "rows": release.n_rows,
        "published_rows": release.n_published,
        "suppressed_rows": release.n_suppressed,
    }
    where = {name: shown_name(path) for name, path in made.files.items()}
    audit = {} if made.audit is None else {"audit": made.audit.to_dict()}
    print_json({**found, **rows, "files": where, "notes": list(made.notes), **audit})


def print_verification_json(
    verification: Verification, name: str, more: Mapping[str, Any] | None = None
) -> None:
    """Print what a published table keeps of its promises, and what else was found."""
    print_json(
        {
            "table": name,
            "holds": verification.holds,
            "judgement": verification.to_dict()["judgement"],
            "rows": verification.n_rows,
            "promises": [
                {
                    "name": check.name,
                    "promised": check.promised,
                    "measured": check.measured,
                    "holds": check.holds,
                }
                for check in verification.checks
            ],
            "risk": {
                "groups": verification.n_groups,
                "smallest_group": verification.smallest_group,
                "fewest_people": verification.fewest_people,
                "highest_reidentification_risk": verification.highest_risk,
            },
            "violating_rows": verification.violating_rows,
            "violating_groups": verification.violating_groups,
            "warnings": list(verification.notes),
            **(more or {}),
        }
    )


def print_json(found: Mapping[str, Any]) -> None:
    """Print JSON in ASCII, which escapes whatever could steer a terminal."""
    from shoal.report.certificate import plain_values

    typer.echo(json.dumps(plain_values(found), indent=2, ensure_ascii=True, allow_nan=False))
