"""The three questions of the European regulators (WP 216), asked as attacks.

Can a person be singled out? Can two records about a person be linked? Can a value be inferred?
As in Anonymeter (Giomi et al., PETS 2023) every attack runs three times: with the release, as a
naive attacker without it (baseline), and on people who are not in the table (control). What
holds for people outside the table is knowledge about the population, not a leak; the risk is
(rate - control) / (1 - control).

Without a control table, linkability and inference are tried on the same people with their own row
taken out of the release: that is what would be learnt about them had they stayed away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.messages import Message
from shoal.study.audit.attack_context import Finding, rate_of
from shoal.study.read_release import draw_cells

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from shoal.release_reader.classes import People
    from shoal.release_reader.columns import OpenColumn
    from shoal.study.audit.attack_context import Scene, Secret, Seen


_GUESSES = 400
_AT_ONCE = 4
"""How many columns a guess about a single person is made of, at most."""
_WORK = 150_000_000


def ask(scene: Scene) -> list[Finding]:
    """Return what the three attacks reach."""
    found = [_single_out(scene, several=False), _single_out(scene, several=True)]
    if scene.n_columns > 1:
        found.append(_link(scene))
    return [*found, *(_infer(scene, secret) for secret in scene.secrets)]


# -- singling out ----------------------------------------------------------------------


class _Condition(NamedTuple):
    """One condition of a guess: a column, how it compares, and with what."""

    column: int
    sign: str
    value: float | str


class _GuessColumns(NamedTuple):
    """The columns that guesses are about, of one table: places on a line, or labels."""

    places: list[NDArray[np.float64] | None]
    labels: list[NDArray[np.object_] | None]

    def true_of(self, guess: tuple[_Condition, ...], rows: NDArray[np.int64] | None) -> int:
        """Return how many people a guess is true of."""
        fits: NDArray[np.bool_] | None = None
        for part in guess:
            places, labels = self.places[part.column], self.labels[part.column]
            cells: Any = places if places is not None else labels
            chosen = cells if rows is None else cells[rows]
            with np.errstate(invalid="ignore"):
                if part.sign == "=":
                    here = chosen == part.value
                else:
                    here = chosen <= part.value if part.sign == "<" else chosen >= part.value
            fits = here if fits is None else fits & here
        return 0 if fits is None else int(np.count_nonzero(fits))


def _single_out(scene: Scene, *, several: bool) -> Finding:
    """Guess a description that is true of exactly one person of the original."""
    chance = scene.chance(201 + several)
    n_guesses = int(min(_GUESSES, max(_WORK // max(scene.people.n * _AT_ONCE, 1), 20)))
    pools = [_pool(scene, scene.people, scene.original)]
    rows = None
    if scene.control is not None and scene.control_frame is not None:
        pools.append(_pool(scene, scene.control, scene.control_frame))
        # a guess is true of more people in a larger table: both are made equally large
        size = min(scene.control.n, scene.people.n)
        rows = [
            np.sort(chance.choice(n, size, replace=False))
            for n in (scene.people.n, scene.control.n)
        ]
    guesses = _many(scene, chance, n_guesses) if several else _extremes(scene, chance, n_guesses)
    blind = [_blind(scene, chance, len(each)) for each in guesses]
    subset = None if rows is None else rows[0]
    hits = sum(pools[0].true_of(guess, subset) == 1 for guess in guesses)
    naive = sum(pools[0].true_of(guess, subset) == 1 for guess in blind)
    control = None
    if rows is not None:
        control = sum(pools[1].true_of(guess, rows[1]) == 1 for guess in guesses) / max(
            len(guesses), 1
        )
    usual = naive / max(len(blind), 1)
    reached = rate_of(hits, len(guesses))
    return Finding(
        *reached,
        name=Message("singling out: several columns")
        if several
        else Message("singling out: one column"),
        attack="regulators",
        baseline=usual,
        control=control,
        sentence=Message(
            "{rate:.1%} of the descriptions of {words} that are made from the release are true of "
            "exactly one person; of blind guesses {usual:.1%}{outside}.",
            rate=reached.rate,
            words=Message("several columns")
            if several
            else Message("one column (extremes and rare values)"),
            usual=usual,
            outside=_outside(control),
        ),
        lowered_by=Message("a grid (--grid) for ends; a larger k; fewer sensitive columns"),
    )


def _outside(control: float | None) -> str:
    if control is None:
        return ""
    return Message(", of people outside the table {share:.1%}", share=control)


def _shown(scene: Scene) -> list[str]:
    """Return the published columns beside the quasi-identifiers that guesses may use."""
    names = [*scene.schema.sensitive, *scene.schema.insensitive]
    frames = [scene.original, scene.published]
    if scene.control_frame is not None:
        frames.append(scene.control_frame)
    return [name for name in names if all(name in frame.columns for frame in frames)]


def _pool(scene: Scene, people: People, frame: pl.DataFrame) -> _GuessColumns:
    places: list[NDArray[np.float64] | None] = []
    labels: list[NDArray[np.object_] | None] = []
    for column, values in zip(scene.classes.columns, people.values, strict=True):
        on_line = column.line != "label"
        places.append(values.places if on_line else None)
        labels.append(None if on_line else _texts(frame.get_column(column.name)))
    for name in _shown(scene):
        places.append(None)
        labels.append(_texts(frame.get_column(name)))
    return _GuessColumns(places, labels)


def _texts(column: pl.Series) -> NDArray[np.object_]:
    from shoal.hierarchy import canonical_label

    distinct = {v: None if v is None else canonical_label(v) for v in column.unique().to_list()}
    return np.array([distinct[value] for value in column.to_list()], object)


def _many(scene: Scene, chance: np.random.Generator, n: int) -> list[tuple[_Condition, ...]]:
    """Return guesses that put together what one published row says in several columns."""
    drawn = [_drawn_values(column, chance) for column in scene.classes.columns]
    middles = [
        None if column.line == "label" else float(np.nanmedian((column.low + column.high) / 2))
        for column in scene.classes.columns
    ]
    exact = [_texts(scene.published.get_column(name)) for name in _shown(scene)]
    n_columns = len(drawn) + len(exact)
    guesses = []
    for row in chance.integers(scene.published.height, size=n).tolist():
        parts = []
        for column in chance.permutation(n_columns)[: min(_AT_ONCE, n_columns)].tolist():
            if column >= len(drawn):
                parts.append(_Condition(column, "=", exact[column - len(drawn)][row]))
                continue
            value, middle = drawn[column][row], middles[column]
            if middle is None:
                parts.append(_Condition(column, "=", value))
            else:
                parts.append(_Condition(column, ">" if value > middle else "<", float(value)))
        guesses.append(tuple(parts))
    return guesses


def _drawn_values(column: OpenColumn, chance: np.random.Generator) -> NDArray[np.object_]:
    """Return a value inside every row's cell: a place on the line, or a label."""
    if column.line == "label":
        return np.array(draw_cells(column, chance).to_list(), object)
    low, high = column.low, column.high
    ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    least, most = (ends.min(), ends.max()) if len(ends) else (0.0, 0.0)
    first = np.where(np.isfinite(low), low, least)[column.codes]
    last = np.where(np.isfinite(high), high, most)[column.codes]
    places = first + chance.random(len(first)) * (last - first)
    values: NDArray[np.object_] = (np.round(places) if column.whole else places).astype(object)
    return values


def _extremes(scene: Scene, chance: np.random.Generator, n: int) -> list[tuple[_Condition, ...]]:
    """Return guesses about one column: beyond its outermost ends, at ends, and rare values."""
    guesses: list[tuple[_Condition, ...]] = []
    for number, column in enumerate(scene.classes.columns):
        rows = np.bincount(column.codes, minlength=len(column.cells))
        if column.line == "label":
            single = [m[0] for m, r in zip(column.members, rows, strict=True) if len(m) == 1 and r]
            guesses += [(_Condition(number, "=", each),) for each in single]
            continue
        ends = np.unique(np.concatenate([column.low, column.high]))
        ends = ends[np.isfinite(ends)]
        if len(ends):
            guesses += [
                (_Condition(number, "<", float(ends[0])),),
                (_Condition(number, ">", float(ends[-1])),),
            ]
            guesses += [(_Condition(number, "=", float(end)),) for end in ends.tolist()]
    first = len(scene.classes.columns)
    for number, name in enumerate(_shown(scene)):
        texts, counts = np.unique(
            _texts(scene.published.get_column(name)).astype(str), return_counts=True
        )
        guesses += [(_Condition(first + number, "=", str(t)),) for t in texts[counts == 1].tolist()]
    if len(guesses) > n:
        guesses = [guesses[i] for i in np.sort(chance.choice(len(guesses), n, replace=False))]
    return guesses


def _blind(scene: Scene, chance: np.random.Generator, size: int) -> tuple[_Condition, ...]:
    """Return a guess of so many columns by someone who knows only which values there may be."""
    columns = scene.classes.columns
    parts = []
    for number in chance.permutation(len(columns))[:size].tolist():
        column = columns[number]
        if column.line == "label":
            known = sorted({each for members in column.members for each in members}) or [""]
            parts.append(_Condition(number, "=", known[int(chance.integers(len(known)))]))
            continue
        ends = np.concatenate([column.low, column.high])
        ends = ends[np.isfinite(ends)]
        least, most = (ends.min(), ends.max()) if len(ends) else (0.0, 0.0)
        value = float(least + chance.random() * (most - least))
        parts.append(_Condition(number, "<" if chance.random() < 0.5 else ">", value))
    return tuple(parts)


# -- linkability -----------------------------------------------------------------------


def _link(scene: Scene) -> Finding:
    """Put two tables about the same people together that share no column, through the release."""
    order = scene.chance(203).permutation(scene.n_columns)
    half = scene.n_columns // 2
    sides = order[:half], order[half:]
    sizes = scene.classes.sizes.astype(np.float64)

    def same_row(seen: Seen, sizes: NDArray[np.float64]) -> float:
        best = []
        for side in sides:
            agree = seen.fits[side].sum(axis=0)
            best.append(agree == agree[sizes > 0].max())
        one, other = (float(sizes[each].sum()) for each in best)
        return float(sizes[best[0] & best[1]].sum()) / max(one * other, 1.0)

    chances = [same_row(seen, sizes) for seen in scene.seen]
    control = _control(scene, same_row, sizes)
    reached = rate_of(float(sum(chances)), len(chances), everybody=scene.everybody)
    return Finding(
        *reached,
        name=Message("linkability"),
        attack="regulators",
        baseline=1.0 / max(scene.published.height, 1),
        control=control,
        sentence=Message(
            "Two records of one person, with {n} and {others} of the quasi-identifiers, are led to "
            "the same row with a chance of {rate:.2%}; of people who are not in the release "
            "{control:.2%}.",
            n=len(sides[0]),
            others=len(sides[1]),
            rate=reached.rate,
            control=0.0 if control is None else control,
        ),
        lowered_by=Message("a larger k; fewer or coarser quasi-identifiers"),
    )


def _control(
    scene: Scene,
    attack: Callable[[Seen, NDArray[np.float64]], float],
    sizes: NDArray[np.float64],
) -> float:
    """Return what an attack reaches about people who are not in the release."""
    if scene.control is not None:
        who = range(min(scene.control.n, len(scene.targets)))
        return float(np.mean([attack(scene.look(scene.control, each), sizes) for each in who]))
    chance = scene.chance(204)
    reached = []
    for seen in scene.seen:
        own = _own_class(seen, sizes, chance)
        if own is not None:
            sizes[own] -= 1
        reached.append(attack(seen, sizes))
        if own is not None:
            sizes[own] += 1
    return float(np.mean(reached)) if reached else 0.0


def _own_class(seen: Seen, sizes: NDArray[np.float64], chance: np.random.Generator) -> int | None:
    """Return the class of a person's own row; by chance, in proportion, if several fit."""
    fitting = np.flatnonzero(seen.full)
    if not len(fitting):
        return None
    weights = sizes[fitting] / sizes[fitting].sum()
    return int(chance.choice(fitting, p=weights))


# -- inference -------------------------------------------------------------------------


def _infer(scene: Scene, secret: Secret) -> Finding:
    """Guess a sensitive value: the most frequent one among the rows that fit best."""
    sizes = scene.classes.sizes.astype(np.float64)
    chance = scene.chance(205)

    def right(seen: Seen, value: int, without: tuple[int, int] | None) -> float:
        agree = seen.fits.sum(axis=0)
        best = agree == agree.max()
        counts = secret.among(best)
        if without is not None and best[without[0]]:
            counts[without[1]] = max(counts[without[1]] - 1, 0)
        top = counts.max()
        if top <= 0:
            return 0.0
        return float(counts[value] == top) / int(np.count_nonzero(counts == top))

    hits = [right(seen, int(secret.true[seen.who]), None) for seen in scene.seen]
    if scene.control is not None and secret.control is not None:
        who = range(min(scene.control.n, len(scene.targets)))
        outside = [
            right(scene.look(scene.control, each), int(secret.control[each]), None) for each in who
        ]
    else:
        outside = []
        for seen in scene.seen:
            own, value = _own_class(seen, sizes, chance), int(secret.true[seen.who])
            outside.append(right(seen, value, None if own is None else (own, value)))
    usual = float(np.mean(secret.true[scene.targets] == int(secret.whole.argmax())))
    control = float(np.mean(outside)) if outside else 0.0
    reached = rate_of(float(sum(hits)), len(hits))
    return Finding(
        *reached,
        name=Message("inference: {column}", column=secret.name),
        attack="regulators",
        baseline=usual,
        control=control,
        sentence=Message(
            "Who guesses {column!r} from the rows that fit a person best is right for {rate:.1%}; "
            "always guessing the most frequent value for {usual:.1%}, and for people who are not "
            "in the release {control:.1%}.",
            column=secret.name,
            rate=reached.rate,
            usual=usual,
            control=control,
        ),
        lowered_by=Message(
            "l-diversity (--l-diversity) or t-closeness (--t-closeness); a larger k"
        ),
    )
