"""From a table to a suggested job: all guesses together, ready to write, edit and run."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError
from shoal.io.columns import mark_codes
from shoal.io.overwrite_guard import HowRead, current_watch, watching_inputs
from shoal.io.read import called
from shoal.io.recognise import are_mostly_values, recognise, recognise_noted
from shoal.io.vocabulary import MISSING_WORDS, UNKNOWN_WORDS, topics_of
from shoal.messages import Message, joined, named_of, plural
from shoal.profile.guess import (
    MOST_QUASI,
    TWO_VALUES,
    Guess,
    can_be_promised,
    compare_columns,
    count_singled_out,
    guess_column,
    other_values,
    promise_for,
    shorten,
)
from shoal.profile.repeated_people import find_repeats_among, find_waves, propose_person
from shoal.runtime.progress import Report, no_progress
from shoal.settings.files import Input
from shoal.settings.job import Job
from shoal.settings.job_file import SCHEMA_FILE, format_job, toml_of
from shoal.table.schema import COLUMN_ROWS, JobColumn, Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from shoal.io.spelling import Found


# -- Which texts of a file stand for a missing value: ``?``, ``NA``, ``-``, a 999 that is a code ---

# Folded to lower case, without blanks at the ends. "unknown" and "none" are answers, not gaps.
_MARKERS = frozenset(
    {
        *("?", "??", "-", "--", "---", ".", "..", "na", "n/a", "n.a.", "#n/a", "#na", "<na>"),
        *("nan", "null", "nil", "(null)", "missing", "not available", "not applicable"),
        *("k.a.", "k. a.", "keine angabe", "s/d", "s.d.", "n.d.", "n/d"),
    }
)
# What programs write for a day that is not known.
_NO_DAYS = frozenset(
    date(*each)
    for each in (
        *((1, 1, 1), (1111, 11, 11), (1753, 1, 1), (1800, 1, 1), (1899, 12, 30), (1899, 12, 31)),
        *((1900, 1, 1), (1901, 1, 1), (1970, 1, 1), (2099, 12, 31), (2999, 12, 31), (2999, 1, 1)),
        *((9999, 1, 1), (9999, 9, 9), (9999, 12, 31)),
    )
)
_OFTEN = 5  # times as often as any other day
# What people type into a number field for "not known".
_NUMBER_CODES = frozenset(
    (
        *(9, 99, 999, 9999, 99999, 999999, 8, 88, 888, 8888, 98, 97, 998, 997, 77, 777),
        *(-1, -2, -3, -7, -8, -9, -66, -77, -88, -97, -98, -99, -888, -998, -999, -9999),
    )
)


def find_markers(frame: pl.DataFrame) -> tuple[tuple[str, ...], dict[str, list[str]]]:
    """Return the texts that stand for a missing value, exactly as the table spells them.

    Returns:
        Those that mean it wherever they stand, and by column those that are values elsewhere.
    """
    import polars as pl

    found: dict[str, list[str]] = {}
    real: set[str] = set()
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        values = column.drop_nulls().unique().sort().to_list()
        markers = [value for value in values if value.strip().casefold() in _MARKERS]
        if len(markers) == len(values):
            continue  # nothing else is there: no reason to think that it is a marker
        others = [value for value in values if value not in markers]
        for marker in markers:
            # NA is Namibia among two-letter codes.
            if marker.isalpha() and all(v.isalpha() and len(v) == len(marker) for v in others):
                real.add(marker)
            else:
                found.setdefault(marker, []).append(column.name)
    single: dict[str, list[str]] = {}
    for marker in [each for each in found if each in real]:
        for name in found.pop(marker):
            single.setdefault(name, []).append(marker)
    for name, words in find_words(frame).items():
        single[name] = [*single.get(name, ()), *(each for each in words if each not in found)]
    return tuple(found), {name: texts for name, texts in single.items() if texts}


def find_words(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return by column the texts among dates or numbers that stand for a missing one.

    They are words such as ``unbekannt`` and days of nothing but zeros. Elsewhere these may be
    answers.
    """
    import polars as pl

    found = {}
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        texts = column.unique().drop_nulls()
        bare = texts.filter(~texts.str.contains("[1-9]")).sort().to_list()
        words = [each for each in bare if _says_unknown(each)]
        if words and are_mostly_values(texts.filter(~texts.is_in(words))):
            found[column.name] = words
    return found


def _says_unknown(text: str) -> bool:
    word = text.strip().casefold()
    return word in UNKNOWN_WORDS or word.strip(".!()<>[]") in MISSING_WORDS or _is_no_day(word)


def _is_no_day(text: str) -> bool:
    return re.fullmatch(r"0{1,4}([./-])0{1,2}\1 ?0{1,4}(?:[T ][0:.]+)?", text) is not None


def find_codes(frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return by column the numbers and days that stand for a missing value in it.

    They are those that people use for that, each more than once, and far from all others.
    """
    import polars as pl

    found: dict[str, tuple[str, ...]] = {}
    for column in frame.get_columns():
        if column.dtype.is_integer() or column.dtype.is_float():
            codes = map(str, _codes_of(column.drop_nulls()))
        elif column.dtype in (pl.Date, pl.Datetime):
            codes = map(str, _days_of(column.drop_nulls().cast(pl.Date)))
        else:
            continue
        if each := tuple(codes):
            found[column.name] = each
    return found


def _days_of(days: pl.Series) -> list[date]:
    """Return the days that mean that none is known: alone at an end, and far off or frequent."""
    kept = days.filter(~days.is_in(list(_NO_DAYS)))
    low, high = kept.min(), kept.max()
    if 2 * len(kept) < len(days) or not isinstance(low, date) or not isinstance(high, date):
        return []
    spread = max(high - low, timedelta(1))
    often = _OFTEN * max(kept.value_counts()["count"].to_list())
    codes = []
    for day in sorted(_NO_DAYS):
        hits = int((days == day).sum())
        gap = max(low - day, day - high)
        if hits >= 2 and (gap > 2 * spread or (gap > timedelta(0) and hits >= often)):
            codes.append(day)
    return codes


def _codes_of(values: pl.Series) -> list[int]:
    import polars as pl

    usual = pl.Series(sorted(_NUMBER_CODES), dtype=pl.Int64).cast(values.dtype)
    codes = [int(each) for each in values.filter(values.is_in(usual.implode())).unique().sort()]
    # Codes stand beside one another, as 97, 98 and 99: the fewer there are, the more are values.
    while codes:
        others = values.filter(~values.is_in(pl.Series(codes, dtype=values.dtype).implode()))
        left = [each for each in codes if _is_code(values, others, each)]
        if left == codes:
            return codes
        codes = left
    return []


def apply_markers(
    frame: pl.DataFrame,
    markers: Sequence[str],
    numeric: Sequence[str] = (),
    decimal: str | None = None,
) -> pl.DataFrame:
    """Return the table as it reads with these markers: gaps are null, freed numbers are typed."""
    import polars as pl

    from shoal.io.columns import mark_missing, type_columns

    numbers = [int(text) for text in markers if text.removeprefix("-").isdecimal()]
    columns = []
    for column in frame.get_columns():
        if column.dtype == pl.String:
            marked = mark_missing(column, markers)
            typed = type_columns(marked.to_frame(), numeric=numeric, decimal=decimal)
            columns.append(typed.to_series())
        elif column.dtype.is_integer() and numbers:
            hit = column.is_in(pl.Series(numbers, dtype=pl.Int64).implode())
            columns.append(column.set(hit, None))
        else:
            columns.append(column)
    return pl.DataFrame(columns)


def _is_code(values: pl.Series, others: pl.Series, code: int) -> bool:
    """Tell whether a number is far from all values but the other codes."""
    hits = int((values == code).sum())
    if hits < 2 or len(others) < len(values) / 2 or others.n_unique() < 3:
        return False
    low, high = float(others.min()), float(others.max())  # type: ignore[arg-type]  # numbers
    if code < 0:
        # -1 in a column that is never negative otherwise, and that holds counts or ages.
        return low >= 0 and (code < -1 or bool({"age", "family"} & {*topics_of(values.name)}))
    spread = max(high - low, 1)
    return code > high and code - high > 2 * spread and high < code / 2


def has_commas(texts: pl.DataFrame, typed: pl.DataFrame) -> bool:
    """Tell whether a column became numbers that are written with a comma."""
    import polars as pl

    return any(
        before.dtype == pl.String
        and after.dtype.is_float()
        and bool(before.str.contains(",", literal=True).any())
        for before, after in zip(texts, typed, strict=True)
    )


def loose_numbers(frame: pl.DataFrame, markers: Sequence[str], decimal: str | None) -> list[str]:
    """Return the text columns that are numbers once 1.5 and 1.50 are the same.

    Codes such as 250.10 beside 250.1 are left alone where the name speaks of a code.
    """
    codes = {"diagnosis", "treatment", "key", "postcode", "number of a person"}
    names = [name for name in frame.columns if not codes & {*topics_of(name)}]
    plain = apply_markers(frame, markers, decimal=decimal)
    loose = apply_markers(frame, markers, numeric=names, decimal=decimal)
    return [name for name in names if plain.schema[name] != loose.schema[name]]


_MOST_NAMED = 20


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A job that looks right for a table, and why. Nobody but its owner knows the data: check it.

    Attributes:
        columns: a guess per column, in table order.
        k: a first k for a table of this size.
        missing_values: texts that stand for a missing value, the empty one first; None if the
            table came as a dataframe.
        notes: what the person who checks it should know.
        n_rows: how many rows the table has.
        singled_out: how many of them all quasi-identifiers together single out; None if that was
            not counted.
        input: how the file was read, as far as it had to be found out; the job says so, and later
            runs need not find out again.
        details: what else is proposed for columns, by the options of `JobColumn`: a grid, where
            values have more digits than a reader can use.
        others: by column the share of the rows that have another than the most frequent value.
        declined: sensitive columns that a person has taken the proposed promise away from.
    """

    columns: tuple[Guess, ...]
    k: int
    missing_values: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    n_rows: int = 0
    singled_out: int | None = None
    input: Input = field(default_factory=Input)
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)
    declined: tuple[str, ...] = ()

    @property
    def promised(self) -> tuple[str, ...]:
        """The sensitive columns of which two different values in every group are promised."""
        wanted = [g.name for g in self.columns if g.role is Role.SENSITIVE]
        found = can_be_promised(wanted, self.others, self.k)
        return tuple(name for name in found if name not in self.declined)

    @property
    def unsure(self) -> tuple[str, ...]:
        """The columns that a person should look at first."""
        return tuple(guess.name for guess in self.columns if not guess.sure)

    def __getitem__(self, name: str) -> Guess:
        """Return the guess for one column."""
        for guess in self.columns:
            if guess.name == name:
                return guess
        raise KeyError(name)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments for ``shoal.anonymize(frame, **arguments)``."""
        options: dict[str, Any] = {role.option: [] for role in Role}
        kinds, orders, hierarchies = {}, {}, {}
        for guess in self.columns:
            options[guess.role.option].append(guess.name)
            if guess.role is Role.QUASI_IDENTIFIER:
                if guess.uses_hierarchy:
                    hierarchies[guess.name] = guess.rule or guess.hierarchy
                elif guess.kind is not None:
                    kinds[guess.name] = guess.kind.value
                if guess.order is not None:
                    orders[guess.name] = guess.order
        return {
            "k": self.k,
            **options,
            "kinds": kinds,
            "orders": orders,
            "hierarchies": hierarchies,
            **{
                COLUMN_ROWS[detail].option: {
                    guess.name: found[guess.name]
                    for guess in self.columns
                    if self._on(guess, detail)
                }
                for detail, found in self.details.items()
            },
            "privacy": [promise_for(name) for name in self.promised],
        }

    def details_of(self, guess: Guess) -> dict[str, Any]:
        """Return what else is proposed for a column that is generalised, by the keys of a job."""
        return {
            name: each[guess.name] for name, each in self.details.items() if self._on(guess, name)
        }

    def _on(self, guess: Guess, detail: str) -> bool:
        """Tell whether an option is proposed for a column."""
        row = COLUMN_ROWS[detail]
        if guess.name not in self.details[detail] or not row.is_for(guess.role):
            return False
        if guess.role is not Role.QUASI_IDENTIFIER or not row.roles:
            return True  # published as it is, or it is about how the column is read
        on_a_line = guess.kind is not None and guess.kind.is_measured
        return on_a_line and not guess.uses_hierarchy

    def replaced(self, guess: Guess) -> Suggestion:
        """Return the suggestion with another guess for one column."""
        columns = tuple(guess if each.name == guess.name else each for each in self.columns)
        return replace(self, columns=columns)

    def counted(self, frame: pl.DataFrame) -> Suggestion:
        """Return the suggestion with rows that are singled out counted anew, after changes."""
        columns, singled_out = count_singled_out(frame, self.columns)
        return replace(self, columns=tuple(columns), singled_out=singled_out)

    def write(
        self,
        path: str | PathLike[str] = "job.toml",
        *,
        source: str = "DATA",
        force: bool = False,
    ) -> list[Path]:
        """Write the job file and its hierarchies, all or nothing; return what was written.

        Hierarchies that grow by a rule are in the job file. Others go to a folder beside it,
        ``job-hierarchies/`` for ``job.toml``, and hold the distinct values of their columns:
        treat them like the data.

        Args:
            path: the job file.
            source: the table, for the command that the job file shows.
            force: replace files that exist.

        Raises:
            OptionError: a file exists.
            DataError: a file cannot be written.
        """
        from shoal.io.atomic import AtomicGroup

        target = Path(path)
        files = self._hierarchy_files(target)
        existing = [p for p in (target, *files.values()) if p.exists()]
        if existing and not force:
            raise OptionError(
                "{existing!r} exists; give another name, or --force (force=True) to replace it.",
                existing=os.fspath(existing[0]),
            )
        job, comments = self._job(target, files, source)
        if files:
            next(iter(files.values())).parent.mkdir(exist_ok=True)
        with AtomicGroup() as group:
            for guess in self.columns:
                if guess.name in files and guess.hierarchy is not None:
                    text = io.StringIO()
                    guess.hierarchy.to_csv(text)
                    group.add(files[guess.name], text.getvalue())
            text_of_job = format_job(job, comments, folder=target.parent)
            group.add(target, f"#:schema {SCHEMA_FILE}\n{text_of_job}")
        return [target, *files.values()]

    def _hierarchy_files(self, target: Path) -> dict[str, Path]:
        folder = target.with_name(f"{target.stem}-hierarchies")
        files: dict[str, Path] = {}
        taken: set[str] = set()
        for guess in self.columns:
            if guess.hierarchy is None or guess.rule is not None:
                continue
            stem = re.sub(r"[^\w.-]+", "_", guess.name[:80]).strip("._") or "column"
            name, number = stem, 2
            while name.casefold() in taken:
                name, number = f"{stem}_{number}", number + 1
            taken.add(name.casefold())
            files[guess.name] = folder / f"{name}.csv"
        return files

    def _job(
        self, target: Path, files: Mapping[str, Path], source: str
    ) -> tuple[Job, dict[str, str]]:
        columns: dict[str, JobColumn] = {}
        comments = {"": self._header(target, source), "k": _K_COMMENT}
        if self.missing_values is not None:
            comments["missing_values"] = "What stands for a missing value in the file."
        comments["input.extra_rows"] = _EXTRA_COMMENT
        for guess in self.columns:
            is_quasi = guess.role is Role.QUASI_IDENTIFIER
            file = files.get(guess.name)
            columns[guess.name] = JobColumn(
                role=guess.role,
                kind=guess.kind if is_quasi else None,
                hierarchy=(guess.rule or file) if guess.uses_hierarchy else None,
                order=guess.order if is_quasi else None,
                **self.details_of(guess),
            )
            for detail in self.details_of(guess):
                comments[f"columns.{guess.name}.{detail}"] = COLUMN_ROWS[detail].comment
            comments[f"columns.{guess.name}"] = self._comment(guess, file)
        job = Job(
            input=self.input,
            k=self.k,
            algorithm="auto",
            measure="ncp",
            missing_values=self.missing_values,
            columns=columns,
            privacy=[promise_for(name) for name in self.promised],
        )
        if self.promised:
            comments["privacy.0"] = TWO_VALUES
        return job, comments

    def _header(self, target: Path, source: str) -> str:
        names = shlex.quote(source), shlex.quote(str(target))
        lines = [
            f"A job for {source}, guessed by 'shoal init'. Nobody but you knows the data: check",
            "every role below. Then run:",
            f"  shoal anonymize {names[0]} -o safe.csv --job {names[1]}",
            "Roles: identifier (removed), quasi-identifier (generalised), sensitive and",
            "insensitive (published as they are), drop (removed), person (says whose row it is,",
            "where people have several: k counts people; removed).",
        ]
        if self.unsure:
            lines.append(f"In doubt: {len(self.unsure)}. Look for CHECK THIS.")
        bare = [g.name for g in self.columns if g.role is Role.SENSITIVE]
        bare = [name for name in bare if name not in self.promised]
        if bare:
            lines += [
                f"No promise is made about {', '.join(map(repr, bare))}: a group may share one",
                "value, which is then known without finding anybody.",
            ]
        lines += [f"Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _comment(self, guess: Guess, file: Path | None) -> str:
        lines = [guess.why if guess.sure else f"CHECK THIS: {guess.why}"]
        if self.singled_out is not None and guess.together is not None:
            beside = "the" if guess.role is not Role.QUASI_IDENTIFIER else "the other"
            lines.append(
                f"It singles out {guess.alone:,} of {self.n_rows:,} rows alone, and "
                f"{guess.together:,} together with {beside} quasi-identifiers."
            )
        if guess.role is Role.QUASI_IDENTIFIER and guess.how:
            lines.append(guess.how)
        shown = ""
        if guess.rule is not None:
            shown = toml_of(guess.rule.to_dict(), "hierarchy")
        elif file is not None:
            shown = _toml_text(f"{file.parent.name}/{file.name}")
        if shown and not guess.uses_hierarchy:
            lines.append(
                f"For fixed steps instead, replace the kind by: hierarchy = {shown}"
                if guess.role is Role.QUASI_IDENTIFIER
                else f"If others may know it, make it a quasi-identifier with: hierarchy = {shown}"
            )
        elif guess.role is Role.SENSITIVE and guess.order is not None:
            lines.append(
                'If others may know it, make it a quasi-identifier with kind = "ordinal" and its\n'
                "order = [...] from low to high."
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, lists, shown, table

        return shown(
            facts([("Rows", f"{self.n_rows:,}"), ("k to begin with", self.k)]),
            table(
                ("column", "role", "kind", "sure", "why"),
                (
                    (
                        each.name,
                        each.role.value,
                        "" if each.kind is None else each.kind.value,
                        "yes" if each.sure else "no",
                        each.why,
                    )
                    for each in self.columns
                ),
            ),
            lists(self.notes),
        )


_K_COMMENT = (
    "Nobody stands out from fewer than k people. At least 2; 5 to 20 is common, more where the\n"
    "release is public or the data is delicate. 'shoal compare' shows what each k costs."
)


_EXTRA_COMMENT = (
    "Rows that look like totals, notes or repeated headers: they are left out, each time. If each\n"
    'of them is a person, say "keep".'
)


def suggest_job(
    data: Any,
    *,
    missing_values: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    sheet: str | None = None,
    extra_rows: str | None = None,
    rename: Mapping[str, str] | None = None,
) -> Suggestion:
    """Look at a table and suggest a job: roles, kinds, hierarchies, missing values and k.

    Nothing is run and nothing is written. The guesses err on the side of caution: what is not
    recognised is generalised or dropped and marked (``guess.sure`` is false), what singles people
    out is never published exactly, and no reason shows a cell.

    Args:
        data: a pandas, polars or pyarrow dataframe, or the path of a file.
        missing_values: texts of the file that stand for a missing value; found out if not given.
        format: of the file, where its ending does not say it.
        delimiter: of a CSV; found out if not given.
        encoding: of its text; found out if not given.
        header: whether its first line holds the names of the columns.
        decimal: a comma or a point; found out if not given.
        sheet: of a workbook; the one with the largest table if not given.
        extra_rows: ``"keep"`` or ``"drop"`` for rows that look like totals, notes or repeated
            headers; they are left out, and the job says so, if not given.
        rename: new names of its columns.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [31, 47, 47, 52], "diagnosis": ["flu", "flu", "gout", "flu"]})
    >>> [(guess.name, str(guess.role)) for guess in suggest_job(table).columns]
    [('age', 'quasi-identifier'), ('diagnosis', 'sensitive')]
    """
    if not isinstance(data, str | PathLike):
        return look_at(data)[0]
    return look_at(
        Input(
            path=os.fspath(data),
            missing_values=None if missing_values is None else tuple(missing_values),
            format=format,
            delimiter=delimiter,
            encoding=encoding,
            header=header,
            decimal=decimal,
            sheet=sheet,
            extra_rows=extra_rows,
            rename=rename,
        )
    )[0]


def look_at(data: Any, progress: Report = no_progress) -> tuple[Suggestion, pl.DataFrame]:
    """Return what ``suggest_job`` suggests for a table or files, and the table it looked at."""
    from shoal.table.frames import to_polars

    notes: list[str] = []
    markers: tuple[str, ...] | None = None
    source = Input()
    spelled: dict[str, Found] = {}
    codes: dict[str, tuple[str, ...]] = {}
    if isinstance(data, Input):
        missing_values = data.missing_values
        given = ("",) if missing_values is None else missing_values
        asked = replace(data, missing_values=given, extra_rows=data.extra_rows or "drop")
        frame, how = _read(asked, progress)
        found, single = find_markers(frame) if missing_values is None else ((), {})
        if found or missing_values is not None:
            markers = tuple(dict.fromkeys(("", *given, *found)))
        comma = how.comma(asked.decimal)
        numeric = loose_numbers(frame, found, comma)
        frame = mark_codes(frame, single)
        freed = apply_markers(frame, found, numeric=numeric, decimal=comma)
        if has_commas(frame, freed):
            how.decimal = ","
        frame = recognise_noted(
            freed, how, name=called(str(asked.path)), lenient=numeric, decimal=asked.decimal
        )
        if missing_values is None:
            codes = {name: tuple(each) for name, each in single.items()}
            for name, each in find_codes(frame).items():
                codes[name] = (*codes.get(name, ()), *each)
            frame = mark_codes(frame, codes)
        source = _found_out(data, how)
        rename = asked.rename or {}
        spelled = {rename.get(name, name): each for name, each in how.spelled.items()}
    else:
        frame, spelled = recognise(to_polars(data))
        if any(find_markers(frame)):
            notes.append("some columns hold texts such as '?' or 'NA'; make them null first.")
    guesses = []
    for number, column in enumerate(frame.get_columns(), start=1):
        progress(number, frame.width, "looking")
        guess = _read_so(guess_column(column), spelled.get(column.name))
        guesses.append(_with_codes(guess, len(codes.get(column.name, ()))))
    waves = find_waves(frame)
    guesses = compare_columns(frame, propose_person(frame, guesses, waves))
    guesses = propose_person(frame, guesses, waves)  # comparing may find the number of a person
    k = min(10, max(2, frame.height // 10))
    notes += find_repeats_among(frame, guesses, k, waves)
    first = () if waves is None else (waves.running, *waves.constant)
    guesses, left_out = shorten(guesses, first)
    if left_out:
        notes.append(
            plural(
                "A column that is not recognised is left out, since more than {most} "
                "quasi-identifiers leave little of each: {names}. Say whether others may know it "
                "or whether it is private.",
                "{n:,} columns that are not recognised are left out, since more than {most} "
                "quasi-identifiers leave little of each: {names}. Say of each whether others may "
                "know it or whether it is private.",
                len(left_out),
                most=MOST_QUASI,
                names=named_of(left_out, _MOST_NAMED),
            )
        )
    guesses, singled_out = count_singled_out(frame, guesses)
    if not any(guess.role is Role.QUASI_IDENTIFIER for guess in guesses):
        notes.append("no column looks like a quasi-identifier; choose at least one.")
    suggestion = Suggestion(
        columns=tuple(guesses),
        k=k,
        missing_values=markers,
        notes=tuple(notes),
        n_rows=frame.height,
        singled_out=singled_out,
        input=source,
        details={**_details(frame, guesses, spelled), "missing_codes": codes},
        others=other_values(frame),
    )
    return suggestion, frame


def _read(asked: Input, progress: Report) -> tuple[pl.DataFrame, HowRead]:
    """Return the table, and how it was read."""
    from shoal.settings.inputs import read_input

    with watching_inputs() if current_watch() is None else nullcontext(current_watch()) as watch:
        frame = read_input(asked, progress=progress)
        found = [] if watch is None else list(watch.how_read.values())
    how = found[-1] if found else HowRead()
    extra = {kind: rows for each in found for kind, rows in each.extra_rows.items()}
    return frame, replace(how, extra_rows=extra)


def _found_out(asked: Input, how: HowRead) -> Input:
    """Return what a job has to say so that the file is read in the same way without looking."""
    from shoal.io.formats import detect_format
    from shoal.io.location import is_database

    if asked.path is None or is_database(asked.path):
        return Input(rename=asked.rename)
    delimiter = asked.delimiter or how.delimiter
    usual = detect_format(asked.path, asked.format).row.separator or ","
    return Input(
        delimiter=None if delimiter == usual else delimiter,
        format=asked.format,
        encoding=asked.encoding or (None if how.encoding == "utf-8" else how.encoding),
        header=asked.header,
        decimal=asked.decimal or how.decimal,
        sheet=asked.sheet or how.sheet,
        extra_rows=asked.extra_rows or ("drop" if how.extra_rows else None),
        rename=asked.rename,
    )


def _read_so(guess: Guess, found: Found | None) -> Guess:
    """Return a guess that says how its column was read, as a question where that is in doubt."""
    if found is None or not found.why:
        return guess
    told = found.doubt or Message(
        "Read as {spelling}: {why}.", spelling=found.spelling, why=found.why
    )
    return replace(
        guess, why=joined(" ", [guess.why, told]), sure=guess.sure and found.doubt is None
    )


def _with_codes(guess: Guess, n_codes: int) -> Guess:
    """Return a guess that says how many codes of its column are taken for missing."""
    if not n_codes:
        return guess
    why = plural(
        "{n} code that stands apart from all other values is taken for missing.",
        "{n} codes that stand apart from all other values are taken for missing.",
        n_codes,
    )
    return replace(guess, why=joined(" ", [guess.why, why]))


def _details(
    frame: pl.DataFrame, guesses: Sequence[Guess], spelled: Mapping[str, Found]
) -> dict[str, dict[str, Any]]:
    """Return what is proposed for each column beside its kind, whatever its role, by option."""
    found: dict[str, dict[str, Any]] = {
        "read_as": {name: each.spelling for name, each in spelled.items() if each.why}
    }
    for row in COLUMN_ROWS.values():
        if row.suggest is not None:
            each = {g.name: row.suggest(g.kind, frame.get_column(g.name)) for g in guesses}
            found[row.name] = {name: value for name, value in each.items() if value is not None}
    return found


def _toml_text(text: str) -> str:
    # The quoting of JSON is that of TOML for every text a file name can be.
    return json.dumps(text, ensure_ascii=False)
