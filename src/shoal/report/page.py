"""Makes the report: one self-contained HTML page that a data officer can read, sign and file.

It names columns, counts and scores, and values only where they are part of a published cell:
labels of the quasi-identifiers (see `shoal.publish.aggregates`) and sensitive values of the
release. Its words are in `templates/`, a file for each section; what they show is counted here.
Templates escape whatever they are given, and translate every message.
"""

from __future__ import annotations

import platform
import re
import shlex
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension, InternationalizationExtension
from jinja2.lexer import Token
from markupsafe import Markup

from shoal.errors import OptionError
from shoal.messages import Message
from shoal.messages.language import LANGUAGES, Language
from shoal.options import one_of
from shoal.report import charts
from shoal.report.advice import shown_advice
from shoal.report.certificate import (
    disclosed_text,
    package_versions,
    what_is_counted,
    who_is_counted,
)
from shoal.report.risk import (
    ASSUMED_FRACTIONS,
    check_fraction,
    coarse_sizes,
    population_uniques,
    risk_of,
    rows_by_risk,
)
from shoal.settings.files import About

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jinja2.lexer import TokenStream

    from shoal.publish.release_data import ReleaseData
    from shoal.report.advice import Explained
    from shoal.study.audit.attack_context import Audit

ATTACK_GROUPS = {
    "linkage": Message("Who finds a person's row?"),
    "regulators": Message("Singling out, linkability, inference"),
    "secrets": Message("What becomes known about sensitive values?"),
    "tight": Message("What follows from how tight cells are?"),
    "dates": Message("What do dates tell that were moved?"),
    "two releases": Message("What do two releases tell together?"),
}
"""The groups of attacks, and the question that each asks."""

_MOST_DRAWN = 4
_DEFAULT_FILES = {"table": "safe.csv", "certificate": "certificate.json"}


def render_report(
    release: ReleaseData,
    *,
    explanation: Explained | None = None,
    audit: Audit | None = None,
    sampling_fraction: float | None = None,
    input_hmac: str | None = None,
    output_sha256: str | None = None,
    about: About | None = None,
    files: Mapping[str, str] | None = None,
    language: str = "en",
    regime: str | None = None,
) -> str:
    """Return the report of a release as HTML.

    Args:
        release: a finished release.
        explanation: measured advice, which becomes a section of its own.
        audit: attacks on the release, which become a section, too.
        sampling_fraction: share of the population that is in the table, if known; the risks of
            journalist and marketer and the estimate of population uniques depend on it.
        input_hmac: keyed hash of the input file, if there is one.
        output_sha256: hash of the published file, if there is one.
        about: what its owner says about the release.
        files: names of the ``table`` and the ``certificate``, for the commands in it.
        language: of the words; names and cells stay as they are.
        regime: whose questions are answered in a section of their own, if anybody's.

    Raises:
        OptionError: the fraction is not above 0 and at most 1, or the language is not known.
    """
    from shoal import registry
    from shoal.table.frames import to_polars

    fraction = check_fraction(sampling_fraction)
    groups, sensitive = release.reader_view.groups, release.reader_view.sensitive
    before, after = coarse_sizes(release.facts.tuple_sizes, release.k), groups.size_counts
    if release.counts_people:
        # how many people each group has is not published: that they are k is all that is told
        after = ((release.k, groups.number),)
    if release.verification.attacker is not None:
        # rows that look the same in all columns are no groups: what is known is the smallest class
        least = release.k if release.counts_people else release.verification.smallest_group
        after = ((least, max(release.n_published // least, 1)),)
    drawn = list(sensitive)
    if len(drawn) > _MOST_DRAWN:
        drawn.sort(key=lambda each: (-each.certain_rows, -each.most_certain, -each.farthest))
    losses = [(column.name, column.loss) for column in release.facts.columns]
    one_of(*LANGUAGES)("language", language)
    if regime is not None and release.verification.shuffled:
        raise OptionError(
            "A release of shuffled cells is not k-anonymous, so that no regulator's threshold is "
            "kept by it; leave regime out, or publish generalised cells."
        )
    about, was, now = about or About(), risk_of(before, fraction), risk_of(after, fraction)
    answered = None
    if regime is not None:
        from shoal.report.regime import Evidence, answer

        answered = answer(regime, Evidence(release, was, now, audit, about, fraction))
    page = render(
        "report.html",
        language,
        release=release,
        about=about,
        answered=answered,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        judgement=release.judgement,
        doubtful=not release.counts_people and release.whose == "doubtful",
        counted=what_is_counted(release),
        who=who_is_counted(release),
        advice=None if explanation is None else shown_advice(explanation, to_polars(release.frame)),
        was=was,
        now=now,
        fraction=fraction,
        bands={"before": rows_by_risk(before), "after": rows_by_risk(after)},
        uniques=[
            (share, [population_uniques(sizes, share) for sizes in (before, after)])
            for share in (ASSUMED_FRACTIONS if fraction is None else (fraction,))
        ],
        audit=audit,
        attack_groups=ATTACK_GROUPS,
        groups=groups,
        losses=sorted(losses, key=lambda each: -each[1]),
        sensitive=sensitive,
        drawn=drawn[:_MOST_DRAWN],
        measures=[
            (name, registry.load("measures", name).title, value)
            for name, value in release.public_scores.items()
        ],
        settings=_settings(release.parameters),
        versions={"python": platform.python_version()} | package_versions(),
        input_hmac=input_hmac,
        output_sha256=output_sha256,
        files={name: shlex.quote(n) for name, n in (_DEFAULT_FILES | dict(files or {})).items()},
    )
    return f"{page}\n"


def render(template: str, language: str = "en", /, **values: Any) -> str:
    """Return a page made from a template of this room, which escapes every text it is given."""
    page = _templates(language).get_template(template).render(values)
    # spelled as `html.escape` does
    return page.replace("&#34;", "&quot;").replace("&#39;", "&#x27;")


class _Lines(Extension):
    """Makes of a line end in a template nothing between two tags, and a blank elsewhere."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == "data":
                text = re.sub(r"(?<=>)\s*\n\s*(?=<)", "", token.value)
                yield Token(token.lineno, token.type, re.sub(r"\s*\n\s*", " ", text))
            else:
                yield token


@cache
def _templates(language: str) -> Environment:
    words = Language(language)
    environment = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        extensions=[_Lines, InternationalizationExtension],
        finalize=words.translate,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.newstyle_gettext = True  # type: ignore[attr-defined]  # of the extension

    def passage(text: str, /, **values: object) -> Markup:
        return Markup(words(text)) % {name: words.shown(each) for name, each in values.items()}  # noqa: S704 - ours

    def passage_of(one: str, many: str, n: int, /, **values: object) -> Markup:
        chosen = words.chosen(one, many, n)
        return Markup(chosen) % {name: words.shown(each) for name, each in values.items()}  # noqa: S704 - ours

    environment.globals.update(
        _=words,
        charts=charts,
        disclosed_text=disclosed_text,
        gettext=passage,
        ngettext=passage_of,
        zip=zip,
    )
    environment.filters.update(
        brief_per_cent=charts.brief_per_cent,
        number=words.number,
        one_in=_one_in,
        per_cent=charts.per_cent,
        shown=words.shown,
        translated=words.translate,
        whole_per_cent=charts.whole_per_cent,
    )
    return environment


def _one_in(chance: float) -> Message:
    """Return a chance as people say it: 1 in 20."""
    if chance >= 1:
        return Message("1 in 1 (certain)")
    return Message("none") if chance <= 0 else Message("1 in {n:,.0f}", n=1 / chance)


def _settings(parameters: Mapping[str, Any]) -> str:
    """Return what was asked for, without what is empty; never the seed or labels of values."""
    shown = []
    for name, value in parameters.items():
        if name in {"seed", "orders", "hierarchies", "k"} or value in (None, (), [], {}):
            continue
        text = value
        if isinstance(value, dict):
            text = ", ".join(f"{key} = {each}" for key, each in value.items())
        elif name == "privacy":
            text = ", ".join(
                " ".join(f"{key} {each}" for key, each in model.items() if each is not None)
                for model in value
            )
        shown.append(f"{name.replace('_', ' ')}: {text}")
    return "; ".join(shown)
