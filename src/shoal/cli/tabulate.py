"""``shoal tabulate``: a table of counts from which no small number can be worked out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Reading, takes_flags
from shoal.cli.screen import open_console, print_json, say
from shoal.cli.state import number, words
from shoal.messages import Message

if TYPE_CHECKING:
    from shoal.study.tabulate import CountTable

_MOST_ACROSS, _MOST_SHOWN = 8, 60


@takes_flags()
def tabulate(
    data: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="The table whose rows are counted; - is a stream."),
    ],
    *,
    by: Annotated[
        list[str],
        typer.Option("--by", help="Up to four columns to count by.", metavar="COLUMNS"),
    ],
    minimum: Annotated[
        int | None,
        typer.Option(
            "--minimum", help="The smallest number shown, beside 0; 10 unless given.", metavar="N"
        ),
    ] = None,
    round_to: Annotated[
        int | None,
        typer.Option(
            "--round", help="Round to multiples of N; 1, unless given, is exact.", metavar="N"
        ),
    ] = None,
    regime: Annotated[
        str | None,
        typer.Option(
            "--for", help="Minimum and rounding of a regulator: cms or nhs.", metavar="REGIME"
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            "--person",
            help="The column that says whose row it is: people are counted, not rows.",
            metavar="COLUMN",
        ),
    ] = None,
    job: opt.JobFile = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write the table as CSV.", metavar="FILE"),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a file that is there already.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="TABLE is a table of counts that was published: check it instead."
        ),
    ] = False,
    reading: Reading,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Count rows, or people, by columns, and hide what would tell of few people.

    With --job TABLE is read as the original of that job is, and its people are counted. Numbers
    from 1 to below the minimum are hidden (*), and so many others that nobody can work a hidden one
    out from the totals to fewer than MINIMUM possible numbers. What is written is read back and
    verified first, from its own numbers alone.

    Exit status: 0 done, 1 a small number is shown or can be worked out (--check), 2 the table
    cannot be counted.
    """
    from shoal.io.raw_reader import read_written
    from shoal.settings.files import Input
    from shoal.settings.inputs import read_input
    from shoal.study.tabulate import count_rule, parse_counts, read_counts
    from shoal.study.tabulate import tabulate as count
    from shoal.table.schema import Role

    columns = opt.parse_names(by)
    minimum, round_to = _rule_of(regime, minimum, round_to)
    if check:
        published = read_written(data, format=None, delimiter=None, encoding=None, header=True)
        read_counts(published.frame, columns, count_rule(minimum, round_to)).verify()
        if not quiet:
            say(
                Message("The table of counts holds: no small number is shown or can be worked out.")
            )
        return
    if output is not None and not replace:
        from shoal.run.outputs import refuse_existing

        refuse_existing([output])
    if job is None:
        frame = read_input(opt.input_of(Input(), data, reading), published=True)
    else:
        asked = opt.job_of(job, {}, source=data, reading=reading)
        frame = read_input(asked.input, details=asked.schema_options())
        whose = [name for name, each in asked.columns.items() if each.role is Role.PERSON]
        person = person or next(iter(whose), None)
    table = count(frame, columns, minimum=minimum, round_to=round_to, person=person)
    text = table.to_csv()
    parse_counts(text, columns, table.rule).verify()
    if output is not None:
        from shoal.io.atomic import atomic_write_text

        atomic_write_text(output, text)
    if as_json:
        told = {"by": columns, "counted": "rows" if table.n_people is None else "people"}
        print_json({**told, "hidden": table.n_hidden, "lines": table.frame.to_dicts()})
    elif not quiet:
        _print(table)


def _rule_of(regime: str | None, minimum: int | None, round_to: int | None) -> tuple[int, int]:
    """Return the minimum and what is rounded to: as given, or else as a regulator asks."""
    usual = (10, 1)
    if regime is not None:
        from shoal.options import one_of
        from shoal.settings.regimes import REGIMES, cells_of

        usual = cells_of(one_of(*REGIMES)("--for", regime))
        below = minimum is not None and minimum < usual[0]
        finer = round_to is not None and round_to % usual[1]
        for flag, given, weaker in (("--minimum", minimum, below), ("--round", round_to, finer)):
            if weaker:
                said = Message(
                    "Warning: {regime} shows no number below {least}, in multiples of {step}, and "
                    "{flag} {given} was given.",
                    regime=REGIMES[regime].title,
                    least=usual[0],
                    step=usual[1],
                    flag=flag,
                    given=given,
                )
                say(said, stderr=True)
    return (usual[0] if minimum is None else minimum, usual[1] if round_to is None else round_to)


def _print(table: CountTable) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.runtime.sanitize import safe_text
    from shoal.study.count_bounds import HIDDEN
    from shoal.study.tabulate import STAR, TOTAL

    def cell(count: int) -> str:
        return STAR if count == HIDDEN else number(count)

    *down, across = [(*each, TOTAL) for each in table.levels]
    wide = len(down) == 1 and len(across) <= _MOST_ACROSS
    heads = [*table.by[: len(down)], *across] if wide else [*table.by, words("count")]
    shown = Table(box=None, pad_edge=False)
    for place, each in enumerate(heads):
        is_name = place < len(down) or (not wide and place < len(table.by))
        shown.add_column(Text(safe_text(each)), justify="left" if is_name else "right")
    if wide:
        for name, row in zip(down[0], table.shown.tolist(), strict=True):
            shown.add_row(Text(safe_text(name)), *map(cell, row))
    else:
        for *values, count in table.frame.head(_MOST_SHOWN).rows():
            cells = [Text(safe_text(each)) for each in values]
            shown.add_row(*cells, STAR if count is None else number(count))
    console = open_console()
    console.print(shown)
    if not wide and table.frame.height > _MOST_SHOWN:
        more = table.frame.height - _MOST_SHOWN
        say(Message("… and {n:,} more lines; -o FILE writes all.", n=more))
    if table.n_people is None:
        say(Message("Rows were counted; where people have several, say --person COLUMN."))
    elif table.n_in_several:
        say(
            Message(
                "People were counted, each once in a line; {n:,} of {people:,} are in several "
                "lines, and totals count them in each.",
                n=table.n_in_several,
                people=table.n_people,
            )
        )
    else:
        say(Message("People were counted, each once."))
    say(
        Message(
            "{n:,} of {total:,} numbers are hidden ({star}); for each of them at least {least:,} "
            "numbers are possible for whoever knows all others.",
            n=table.n_hidden,
            total=table.shown.size,
            star=STAR,
            least=table.rule.minimum,
        )
    )
