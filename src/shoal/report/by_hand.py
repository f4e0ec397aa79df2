"""What the report says about its owner, and where a person signs it."""

from __future__ import annotations

import shlex
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.report.about import About

__all__ = ["said_about", "signature_block"]


def said_about(about: About) -> str:
    """Return owner and purpose, for the head of the page; empty if nothing is said."""
    said = (("Owner", about.owner), ("Purpose", about.purpose))
    rows = "".join(
        f"<div><dt>{what}</dt><dd>{escape(text)}</dd></div>" for what, text in said if text
    )
    title = "" if about.title is None else '<p class="soft">Report of a release</p>\n'
    return title + (f'<dl class="about">{rows}</dl>\n' if rows else "")


def signature_block(
    about: About, output_sha256: str | None, files: Mapping[str, str] | None = None
) -> str:
    """Return lines to be filled in by hand by the person who lets the release go out.

    Args:
        about: what the owner says about the release.
        output_sha256: hash of the published file, if there is one.
        files: names of the ``table`` and the ``certificate``, for the commands.
    """
    named = {"table": "safe.csv", "certificate": "certificate.json", **(files or {})}
    table, certificate = (escape(shlex.quote(named[each])) for each in ("table", "certificate"))
    what = "this release" if about.title is None else f"<b>{escape(about.title)}</b>"
    purpose = "" if about.purpose is None else f" for this purpose: {escape(about.purpose)}"
    file = (
        ""
        if output_sha256 is None
        else f"<p>The published file has the SHA-256 <code>{escape(output_sha256)}</code>.</p>"
    )
    lines = "".join(
        f'<div><span class="line"></span><span class="soft">{name}</span></div>'
        for name in ("Name and function", "Place and date", "Signature")
    )
    return (
        f'<div class="card signing"><p>I have read this report and let {what} be published'
        f"{purpose}.</p>{file}<div class=lines>{lines}</div>"
        '<p class="note">On paper, sign here. For others to check: <code>shoal sign '
        f"{certificate} --key officer.key</code> signs the certificate, and <code>shoal verify "
        f"{table} --certificate {certificate} --public-key officer.pub</code> checks promises, "
        "file and signature in one go.</p></div>"
    )
