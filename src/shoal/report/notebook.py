"""Makes what a notebook shows of a release: a summary and two pictures, without any cell.

Every number is one that the published table tells by itself, as in the certificate, so a notebook
can be handed on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shoal.report.certificate import disclosed_text, who_is_counted
from shoal.report.charts import per_cent, size_bars
from shoal.report.page import render
from shoal.runtime.notebook import facts, lists, shown, table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from shoal.publish.release_data import ReleaseData


@dataclass(frozen=True)
class Summary:
    """What was promised, kept and lost.

    Attributes:
        facts: what, and how much.
        promises: promise, promised, measured, and whether it holds.
        losses: loss of each quasi-identifier, 0 (exact) to 1 (all hidden).
        warnings: what the reader should know.
        covered: of numbers and dates, the mean share of the people that an interval covers.
        who: what that share counts, "people" or "rows".
    """

    facts: tuple[tuple[str, str], ...]
    promises: tuple[tuple[str, str, str, str], ...]
    losses: tuple[tuple[str, float], ...]
    warnings: tuple[str, ...]
    covered: Mapping[str, float] = field(default_factory=dict)
    who: str = "people"

    @classmethod
    def of(cls, release: ReleaseData) -> Summary:
        """Return the summary of a release."""
        found = release.verification
        judged = release.judgement
        facts = [
            ("Judgement", f"{judged}: {judged.sentence}"),
            ("Rows published", f"{release.n_published:,} of {release.n_rows:,}"),
            *([] if found.attacker else [("Groups", f"{release.n_groups:,}")]),
            (
                "Smallest class" if found.attacker else "Smallest group",
                f"{found.smallest_group:,} rows (k = {release.k:,})"
                if not release.counts_people
                else f"at least {release.k:,} different people (k)",
            ),
        ]
        loss = release.public_scores["ncp"]
        if not math.isnan(loss):
            facts.append(("Detail lost (ncp)", per_cent(loss)))
        return cls(
            facts=tuple(facts),
            promises=tuple(
                (
                    check.name,
                    check.shown(check.promised),
                    disclosed_text(release, check),
                    "holds" if check.holds else "BROKEN",
                )
                for check in found.checks
            ),
            losses=tuple((column.name, column.loss) for column in release.facts.columns),
            warnings=release.warnings,
            covered={
                each.name: each.covered
                for each in release.facts.columns
                if each.covered is not None
            },
            who=who_is_counted(release),
        )

    def __str__(self) -> str:
        lines = [f"{what:<18}  {text}" for what, text in self.facts]
        lines += ["", "Promises (promised, measured)"]
        lines += [
            f"  {name}: {wanted}, {found}, {verdict}"
            for name, wanted, found, verdict in self.promises
        ]
        lines += ["", "Detail lost per column"]
        for name, loss in self.losses:
            covered = self.covered.get(name)
            share_covered = (
                "" if covered is None else f", covers {per_cent(covered)} of the {self.who}"
            )
            lines.append(f"  {name}: {per_cent(loss)}{share_covered}")
        lines += [f"Warning: {text}" for text in self.warnings]
        # Blanks that keep numbers together are for pages; in text they only surprise.
        return "\n".join(lines).replace("\u00a0", " ").replace("\u202f", " ")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads = ("promise", "promised", "measured", "")
        return shown(
            facts(self.facts),
            table(heads, self.promises),
            lists(f"Warning: {text}" for text in self.warnings),
        )


@dataclass(frozen=True)
class Plot:
    """Pictures of a release: what each column lost, and how large the groups are.

    Attributes:
        losses: loss of each quasi-identifier, largest first.
        sizes: label and number of groups of each size.
    """

    losses: tuple[tuple[str, float], ...]
    sizes: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, release: ReleaseData) -> Plot:
        """Return the pictures of a release."""
        ranked = sorted(release.facts.columns, key=lambda column: -column.loss)
        return cls(
            losses=tuple((column.name, column.loss) for column in ranked),
            sizes=tuple(size_bars(release.reader_view.groups)),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the pictures as a page of HTML, whole or not at all."""
        from shoal.io.atomic import atomic_write_text

        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>A release</title>'
        atomic_write_text(path, f"{head}<body>{self._repr_html_()}</body></html>\n")

    def __repr__(self) -> str:
        return (
            f"<Plot of {len(self.losses)} columns; a notebook draws it, and "
            "plot.save('plot.html') keeps it>"
        )

    def _repr_html_(self) -> str:
        return shown(render("notebook.html", plot=self))
