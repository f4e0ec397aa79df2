"""The one way to a terminal: whatever is shown there is safe to show.

Column names, file names and labels come from others. Nothing here lets an escape sequence, a mark
of direction or an endless text of theirs reach the screen.
"""

from __future__ import annotations

import functools
import json
import math
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from shoal.cli.state import number, translated, words
from shoal.errors import OptionError, ShoalWarning
from shoal.io.overwrite_guard import current_watch
from shoal.messages import Message, plural
from shoal.runtime.sanitize import safe_lines, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.console import Console
    from rich.table import Table

    from shoal.measure.scores import Scores
    from shoal.publish.aggregates import ColumnFacts
    from shoal.publish.judgement import Judgement
    from shoal.publish.verify import Verification
    from shoal.publish.verify_tables import TablesVerification
    from shoal.release import Release
    from shoal.release.tables import TablesRelease
    from shoal.run.job import JobResult


def say(text: str, *, stderr: bool = False) -> None:
    """Print lines for people, in the language of the command if they are a message."""
    typer.echo(safe_lines(translated(text)), err=stderr)


def print_json(found: Mapping[str, Any]) -> None:
    """Print JSON in ASCII, which escapes whatever could steer a terminal."""
    from shoal.runtime.sanitize import plain_values

    typer.echo(json.dumps(plain_values(found), indent=2, ensure_ascii=True, allow_nan=False))


@contextmanager
def told_in_summary() -> Iterator[None]:
    """Keep warnings about a release out of the block: its summary tells them, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        yield


def column_on_screen(name: str) -> str:
    """Return what to call a column: its place where its name may be a cell."""
    watch = current_watch()
    place = None if watch is None else watch.doubtful.get(name)
    return safe_text(name) if place is None else words("column {place}", place=place)


def open_console(*, stderr: bool = False) -> Console:
    """Return a console for tables and colours that shows texts of others safely."""
    return _console_class()(stderr=stderr, highlight=False)


@functools.cache
def _console_class() -> type[Console]:
    # Inside a function: rich is imported by the first command that prints.
    from rich.console import Console
    from rich.segment import Segment

    class Safe(Console):
        """Shows what is not printable as an escape, whoever put it into a table."""

        def render(self, renderable: Any, options: Any = None) -> Any:
            for segment in super().render(renderable, options):
                plain = segment.text.replace("\n", "")
                if segment.control or plain.isprintable():
                    yield segment
                else:
                    yield Segment(safe_lines(segment.text, None), segment.style)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Safe


# -- What a data officer sees at the end of a run, and what ``--json`` prints instead --------------

_BAR = 20
_STATES = {"green": Message("GREEN"), "amber": Message("AMBER"), "red": Message("RED")}


def print_tables_release(release: TablesRelease, files: Mapping[str, str]) -> None:
    """Print what became of several tables."""
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from shoal.io.location import shown_name

    console = open_console()
    console.print(release.attacker, style="bold", markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for name in ("table", "rows published", "rows left out", "detail lost (ncp)"):
        table.add_column(name, justify="left" if name == "table" else "right")
    for name, each in release.releases.items():
        table.add_row(
            Text(safe_text(name)),
            f"{each.n_published:,}",
            f"{each.n_suppressed:,} ({each.n_suppressed / each.n_rows:.2%})",
            f"{each.scores['ncp']:.1%}",
        )
    console.print(table)
    console.print()
    print_tables_verification(release.verification)
    for name, path in files.items():
        console.print(f"{name:<16}{shown_name(path)}", markup=False, soft_wrap=True)
    for warning in release.warnings:
        console.print(f"[yellow]Warning:[/] {escape(warning)}", soft_wrap=True)


def print_tables_verification(verification: TablesVerification) -> None:
    """Print what several tables keep of what they promise."""
    console = open_console()
    for check in verification.checks:
        console.print(f"- {check.sentence}", markup=False, soft_wrap=True)


def print_release(release: Release, *, title: str, stderr: bool = False) -> None:
    """Print the summary of a release."""
    from shoal.publish.judgement import Doubt
    from shoal.report.certificate import who_is_counted

    console = open_console(stderr=stderr)
    verification = release.verification
    facts = _grid()
    share = release.n_suppressed / release.n_rows
    kept = words("{n:,} of {total:,}", n=release.n_published, total=release.n_rows)
    facts.add_row(words("Rows published"), kept)
    gone = words("{n:,} ({share:.2%})", n=release.n_suppressed, share=share)
    facts.add_row(words("Rows suppressed"), gone)
    _add_risk(facts, verification, release.whose)
    lost = words("Detail lost (ncp)")
    if verification.shuffled:
        facts.add_row(words("Cells"), words("exact, shuffled within groups"))
        lost = words("Lost if generalised (ncp)")
    facts.add_row(lost, number(release.scores["ncp"], ".1%"))
    if release.n_suppressed:
        facts.add_row(words("by the rows kept"), number(release.kept_loss, ".1%"))
    measure = release.parameters.get("measure", "ncp")
    if measure != "ncp" and measure in release.scores:
        minimised = words("Minimised ({measure})", measure=measure)
        facts.add_row(minimised, number(release.scores[measure], ".6g"))
    if release.gap is not None:
        facts.add_row(words("Loss"), _distance_from_best(release.gap))
    _print_title(console, title)
    _print_judgement(console, release.judgement, release.warnings)
    console.print(facts)
    who = who_is_counted(release)
    covered = {each.name: each.covered for each in release.facts.columns}
    if not verification.shuffled:
        _print_losses(console, release.scores.by_column.get("ncp", {}), covered, who)
    for each in release.facts.columns:
        if each.stretched:
            console.print(_stretched(each, who), markup=False, soft_wrap=True)
    console.print()
    _print_checks(console, verification)
    n_columns = len(release.schema.quasi_identifiers)
    console.print(f"\n{_meaning(verification, n_columns, release.whose)}")
    for warning in release.warnings:
        if not isinstance(warning, Doubt):  # those stand below the headline
            _print_warning(console, warning)


def _print_warning(console: Console, text: str) -> None:
    from rich.text import Text

    said = Text(words("Warning: {text}", text=text))
    said.stylize("yellow", 0, said.plain.index(":") + 1)
    console.print(said, soft_wrap=True)


def _print_judgement(console: Console, judged: Judgement, warnings: Iterable[str]) -> None:
    """Print the headline, and below it everything that is open and what to do about it."""
    from rich.text import Text

    from shoal.publish.judgement import AMBER, GREEN, RED, Doubt

    colour = {GREEN: "green", AMBER: "yellow", RED: "red"}[judged]
    headline = f"{words(_STATES[judged])}: {translated(judged.sentence)}"
    console.print(Text(headline, f"bold {colour}"), soft_wrap=True)
    advice = {each.point: each for each in warnings if isinstance(each, Doubt)}
    for place, point in enumerate(judged.open):
        text = translated(advice.get(point, point.sentence))
        if judged == AMBER and place == 0:  # the gravest is the headline
            text = text.removeprefix(translated(point.sentence)).strip()
        if text:
            console.print(Text(f"- {text}"), soft_wrap=True)
    console.print()


def _distance_from_best(gap: float) -> str:
    if gap == 1.0:
        return words("the best possible")
    if gap == float("inf"):
        return words("how far from the best possible is not known")
    # never say less than the proof does
    return words("at most {times:.2f} times the best possible", times=math.ceil(gap * 100) / 100)


def print_verification(
    verification: Verification, *, title: str, n_columns: int, whose: str = "assumed"
) -> None:
    """Print what a published table keeps of its promises.

    Args:
        verification: what was found.
        title: the first line.
        n_columns: how many quasi-identifiers there are.
        whose: "hidden" if people were counted, and whose the rows are is not published.
    """
    from shoal.publish.judgement import Doubt

    console = open_console()
    _print_title(console, title)
    assert verification.judgement is not None
    _print_judgement(console, verification.judgement, verification.notes)
    facts = _grid()
    facts.add_row(words("Rows"), number(verification.n_rows, ","))
    _add_risk(facts, verification, whose)
    if not verification.holds:
        where = words(
            "{n:,} rows in {groups:,} groups",
            n=verification.violating_rows,
            groups=verification.violating_groups,
        )
        facts.add_row(words("Breaking a promise"), where)
    console.print(facts)
    console.print()
    _print_checks(console, verification)
    console.print(f"\n{_meaning(verification, n_columns, whose)}")
    for note in verification.notes:
        if not isinstance(note, Doubt):  # those stand below the headline
            _print_warning(console, note)


def print_scores(scores: Scores, *, title: str) -> None:
    """Print every measure, and those that are sums over columns by column."""
    from rich.table import Table

    from shoal import registry

    console = open_console()
    _print_title(console, title)
    table = Table(box=None, pad_edge=False)
    table.add_column(words("measure"), style="bold", no_wrap=True)
    table.add_column(words("value"), justify="right", no_wrap=True)
    table.add_column(words("what"), style="dim")
    for name, value in scores.items():
        found = registry.load("measures", name)
        better = "" if found.direction == "lower" else words(" (higher is better)")
        table.add_row(name, number(value, ".6g"), words(found.title) + better)
    console.print(table)
    _print_losses(console, scores.by_column.get("ncp", {}))


def _print_title(console: Console, title: str) -> None:
    # A file name may look like markup, and must not be cut.
    console.print(translated(title), style="bold", markup=False, soft_wrap=True)


def _grid() -> Table:
    from rich.table import Table

    grid = Table(show_header=False, box=None, pad_edge=False)
    grid.add_column(no_wrap=True)
    grid.add_column(style="bold")
    return grid


def _add_risk(facts: Table, verification: Verification, whose: str = "assumed") -> None:
    people = verification.fewest_people
    fewest = verification.smallest_group if people is None else people
    smallest = Message("{n:,} rows", n=fewest)
    if people is not None:
        smallest = Message("{n:,} different people", n=fewest)
    limited = verification.attacker is not None
    if not limited:
        facts.add_row(words("Groups"), number(verification.n_groups, ","))
    title = words("Smallest class") if limited else words("Smallest group")
    facts.add_row(title, words(smallest))
    chance = Message("1 in {n:,} ({risk:.2%})", n=fewest, risk=verification.highest_risk)
    if people is None and whose == "doubtful":
        chance = Message("not established: people seem to have several rows")
    elif people is None and whose == "hidden":
        chance = Message(
            "1 in {n:,}, by the certificate's word: it counts people", n=verification.k
        )
    if verification.shuffled:
        chance = Message("not limited: exact values show who may be in the table")
    facts.add_row(words("Highest re-identification risk"), words(chance))


def _stretched(column: ColumnFacts, who: str) -> str:
    return words(
        "Note: a few values far away stretch the range of {name!r}. Its intervals are {loss:.1%} "
        "of the range but cover {covered:.1%} of the {who}: count that in the search with --scale "
        "COLUMN=rank or COLUMN=trimmed.",
        name=safe_text(column.name),
        loss=column.loss,
        covered=column.covered,
        who=who,
    )


def _print_losses(
    console: Console,
    columns: Mapping[str, float],
    shares: Mapping[str, float | None] | None = None,
    who: str = "people",
) -> None:
    from rich.table import Table
    from rich.text import Text

    if not columns:
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)

    block = "█" if console.encoding.startswith("utf") else "#"
    for name, loss in columns.items():
        covered = (shares or {}).get(name)
        beside = ""
        if covered is not None:
            beside = words("covers {covered:.1%} of the {who}", covered=covered, who=who)
        bar = block * round(loss * _BAR)
        table.add_row(Text(safe_text(name)), number(loss, ".1%"), bar, beside)
    title = words("Detail lost per column (0 % is exact, 100 % is suppressed)")
    console.print(f"\n{title}", style="bold")
    console.print(table)


def _print_checks(console: Console, verification: Verification) -> None:
    from rich.table import Table
    from rich.text import Text

    heads = (words("promise"), words("promised"), words("measured"))
    table = Table(*heads, "", box=None, pad_edge=False)
    for check in verification.checks:
        holds = Text(words("holds"), "green")
        verdict = holds if check.holds else Text(words("BROKEN"), "bold red")
        table.add_row(
            Text(safe_text(translated(check.name))),
            translated(check.shown(check.promised)),
            translated(check.shown(check.measured)),
            verdict,
        )
    console.print(table)


def _meaning(verification: Verification, n_columns: int, whose: str = "assumed") -> str:
    people = verification.fewest_people
    if verification.attacker is not None:
        return words(verification.checks[0].sentence)
    smallest = verification.smallest_group if people is None else people
    columns = plural("in the quasi-identifier", "in the {n} quasi-identifiers", n_columns)
    if smallest == 1 and not verification.shuffled:
        return words(
            "At least one person stands alone {columns}: do not publish this table.",
            columns=columns,
        )
    others = plural("1 other", "{n:,} others", smallest - 1)
    if verification.shuffled:
        what = Message("rows") if people is None else Message("people")
        sentence = Message(
            "Which cells of a group belong together is hidden among at least {n:,} {what}. This is "
            "not k-anonymity: who knows some values of a person sees whether anybody in the table "
            "has them.",
            n=smallest,
            what=what,
        )
    elif people is None and whose == "doubtful":
        sentence = Message(
            "Every row looks the same as at least {others} {columns}. How many people that "
            "are is not known: people seem to have several rows.",
            others=others,
            columns=columns,
        )
    elif people is None and whose == "hidden":
        sentence = Message(
            "Every row looks the same as at least {others} {columns}. How many people that are "
            "only who made the release can check: whose the rows are is not published.",
            others=others,
            columns=columns,
        )
    else:
        assumed = people is None and whose == "assumed"
        sentence = Message(
            "Everybody in this table looks the same as at least {others} {columns}: who knows "
            "them all about a person finds that person's row with a chance of at most "
            "{risk:.2%}{condition}.",
            others=others,
            columns=columns,
            risk=verification.highest_risk,
            condition=Message(", if every row is a different person") if assumed else "",
        )
    if verification.holds:
        return words(sentence)
    return words(
        "{sentence} That is not what was promised: do not publish this table.", sentence=sentence
    )


def print_private_half(save: str, *, stderr: bool) -> None:
    """Say that a file with who is in which group lies beside the release file, if one does."""
    from pathlib import Path

    from shoal.archive.release_file import people_path

    path = people_path(save)
    if Path(path).is_file():
        open_console(stderr=stderr).print(
            words(
                "{path!r} says who is in which group: it is for later releases of these people. "
                "Keep it as safe as the original table, and give it to nobody.",
                path=path,
            ),
            markup=False,
            soft_wrap=True,
        )


# -- as JSON, by the rules of the certificate -----------------------------------------------------


def check_json(table: str | None) -> None:
    """Refuse a summary that would be mixed with the release on standard output.

    Raises:
        OptionError: both would go there.
    """
    if table == "-":
        raise OptionError("--json and -o - both want standard output; write the release to a file.")


def print_release_json(made: JobResult) -> None:
    """Print what the certificate tells, where everything is, and how far attackers get."""
    from shoal.io.location import shown_name
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
