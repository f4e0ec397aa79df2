"""The headline of a release: green, amber or red, and why. It is made here and nowhere else.

Promises that hold are not all there is: a group may share one diagnosis, a column that is published
as it is may name people, rows may not be people. So a release is judged by its promises *and* by
what a reader of the published table sees beside them. Screen, pages, report and certificate show
this judgement and have no words of their own for it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from shoal.messages import Message, named_of, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


GREEN, AMBER, RED = "green", "amber", "red"

MOST_KNOWN = Fraction(1, 100)
"""Share of the rows whose value of a sensitive column may be known for a release to be green.

In a column with two values that are equally frequent, groups of ten agree by chance in two of a
thousand cases; one per cent lets that pass, and nothing that shows a pattern. In a table of fewer
than 100 k rows a single group that agrees is more."""
MOST_ALONE = Fraction(1, 20)
"""Share of the rows that the exact columns together may single out for a release to be green.

One in twenty is the chance of a guess in groups of 20, the strictest k in common use: columns that
are said to be unknown to others must not find more people than such a guess would."""

_WHO = {"people": Message("people"), "rows": Message("rows")}
_FIRST = (
    "limited knowledge",
    "shuffled cells",
    "earlier releases",
    "several rows",
    "not checked",
    "names people",
    "names are cells",
    "regulator",
    "known value",
    "few left",
    "exact columns",
    "unmoved dates",
    "unique column",
    "related column",
    "moved dates",
    "pseudonyms",
    "kept pseudonyms",
)
"""What can be open, the gravest first."""
_MOST_NAMES = 4


@dataclass(frozen=True)
class OpenPoint:
    """Something that no promise covers.

    Attributes:
        what: its kind, one of a few words.
        sentence: what is open, with its number.
        column: the column that it is about, if it is one.
        rows: how many published rows it is about, where the published table tells that.
    """

    what: str
    sentence: str
    column: str | None = None
    rows: int | None = None


class Doubt(Message):
    """A warning about something that no promise covers, so that the judgement names it.

    Attributes:
        point: what is open, in short.
    """

    __slots__ = ("point",)
    point: OpenPoint

    def __new__(cls, text: str, /, point: OpenPoint) -> Self:
        """Return a message that knows what it is about."""
        made = super().__new__(cls, "{text}", text=text)
        made.point = point
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Doubt, (self.values["text"], self.point)


@dataclass(frozen=True)
class Counted:
    """What a reader can count in a published table.

    Attributes:
        n_rows: its rows.
        known: by sensitive column, the rows in groups in which everybody has the same value.
        exact: the columns that are published as they are.
        alone: rows that these columns together single out: no other row has the same cells, or,
            where people are counted, no row of another person.
        who: whom a row stands for, "people" or "rows".
        with_ids: whether `alone` was counted with ids that are not published.
    """

    n_rows: int
    known: Mapping[str, int]
    exact: Sequence[str] = ()
    alone: int = 0
    who: str = "people"
    with_ids: bool = False


class Judgement(str):
    """``"green"``, ``"amber"`` or ``"red"``.

    Attributes:
        sentence: the headline.
        open: what is open, the gravest first; empty if it is green.
    """

    __slots__ = ("open", "sentence")
    sentence: str
    open: tuple[OpenPoint, ...]

    def __new__(cls, state: str, sentence: str, points: Iterable[OpenPoint] = ()) -> Self:
        """Return a state with its reasons."""
        made = super().__new__(cls, state)
        made.sentence, made.open = sentence, tuple(points)
        return made

    def __getnewargs__(self) -> tuple[str, str, tuple[OpenPoint, ...]]:  # type: ignore[override]
        return str(self), self.sentence, self.open

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, with the shares that were allowed."""
        return {
            "state": str(self),
            "sentence": self.sentence,
            "open": [asdict(point) for point in self.open],
            "allowed": {"known_value": float(MOST_KNOWN), "exact_columns": float(MOST_ALONE)},
        }


def judge(
    broken: Sequence[str],
    counted: Counted,
    warnings: Iterable[str] = (),
    also_open: Iterable[OpenPoint] = (),
) -> Judgement:
    """Return what is to be thought of a release.

    Args:
        broken: names of the promises that do not hold.
        counted: what the published table shows.
        warnings: what was said about the run; those that are a `Doubt` are open.
        also_open: what else is said to be open; what was found here is not told twice.
    """
    points = [*_points_of_certain_values(counted), *_points_of_exact_columns(counted)]
    points += [each.point for each in warnings if isinstance(each, Doubt)]
    found = {(each.what, each.column) for each in points}
    points += [each for each in also_open if (each.what, each.column) not in found]
    points.sort(key=lambda each: (_FIRST.index(each.what), -(each.rows or 0)))
    if broken:
        names = ", ".join(broken[:_MOST_NAMES])
        rest = len(broken) - _MOST_NAMES
        broken_promises = plural(
            "A promise is broken: {names}{more}. Do not publish this table.",
            "{n} promises are broken: {names}{more}. Do not publish this table.",
            len(broken),
            names=names,
            more=Message(" and {n} more", n=rest) if rest > 0 else "",
        )
        return Judgement(RED, broken_promises, points)
    if points:
        sentence = points[0].sentence
        if len(points) > 1:
            sentence = plural(
                "{first} {n} more point is open.",
                "{first} {n} more points are open.",
                len(points) - 1,
                first=sentence,
            )
        return Judgement(AMBER, sentence, points)
    return Judgement(GREEN, Message("Every promise holds, and nothing else was found open."))


def point_of_attacker(k: int, who: str) -> OpenPoint:
    """Return what is open where the promises are about an attacker who does not know everything."""
    return OpenPoint(
        "limited knowledge",
        Message(
            "Nobody stands out from fewer than {k:,} against {who}; whoever knows more of a person "
            "may find the row.",
            k=k,
            who=who,
        ),
    )


def point_of(fields: Mapping[str, Any]) -> OpenPoint:
    """Return a point as `Judgement.to_dict` writes it; errors of Python where it is none."""
    found = OpenPoint(**fields)
    texts = (found.what, found.sentence, found.column or "")
    if found.what not in _FIRST or not all(isinstance(each, str) for each in texts):
        raise ValueError
    if not found.sentence.isprintable():
        raise ValueError
    if found.rows is not None and type(found.rows) is not int:
        raise TypeError
    return found


def _points_of_certain_values(counted: Counted) -> list[OpenPoint]:
    """Return the columns whose value is known for too many."""
    return [
        OpenPoint(
            "known value",
            Message(
                "The value of {name!r} of {rows:,} of {n_rows:,} {who} is known without finding "
                "them: everybody in their groups has the same.",
                name=name,
                rows=rows,
                n_rows=counted.n_rows,
                who=_WHO[counted.who],
            ),
            name,
            rows,
        )
        for name, rows in counted.known.items()
        if rows > MOST_KNOWN * counted.n_rows
    ]


def _points_of_exact_columns(counted: Counted) -> list[OpenPoint]:
    """Return whether the columns that are published as they are single out too many."""
    if not counted.alone or counted.alone < MOST_ALONE * counted.n_rows:
        return []
    # whose the rows are is not published: that they are many is all that is told of it
    rows = None if counted.with_ids else counted.alone
    who = _WHO[counted.who]
    many = Message(
        "{rows:,} of {n_rows:,} {who}", rows=counted.alone, n_rows=counted.n_rows, who=who
    )
    if rows is None:
        many = Message("{share:.0%} or more of the {who}", share=float(MOST_ALONE), who=who)
    shown = named_of(counted.exact, _MOST_NAMES)
    sentence = Message(
        "Columns that are published as they are ({names}) single out {many}.",
        names=shown,
        many=many,
    )
    if len(counted.exact) == 1:
        sentence = Message(
            "Column {name}, which is published as it is, singles out {many}.",
            name=shown,
            many=many,
        )
    return [OpenPoint("exact columns", sentence, rows=rows)]
