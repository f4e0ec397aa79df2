"""`utility`: what can still be learnt from a release."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from shoal.errors import DataError, OptionError, refuse_unknown
from shoal.messages import Message
from shoal.publish.recode import with_coded
from shoal.release_reader.classes import Classes, open_classes, values_of
from shoal.release_reader.columns import EXACT, open_column, source_names
from shoal.settings.request import open_key
from shoal.study.read_release import Described, schema_and_style
from shoal.table.dates import move_as_released
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.recode import Style
    from shoal.release_reader.classes import Values
    from shoal.release_reader.columns import OpenColumn
    from shoal.table.schema import Schema


# Original and release in the same terms: how much of each row lies in each part of a column.
#
# A column is cut into parts: numbers and dates at the original's quantiles, labels by value. A row
# of the original lies in one part; a published cell is spread over the values that it stands for,
# each as likely as the others.

_PARTS = 20
_LABELS = 50


@dataclass(frozen=True, eq=False)
class View:
    """One column of both tables.

    Attributes:
        name: the column.
        line: whether its values lie on a line.
        before: part of each row of the original.
        within: share of each distinct published cell (first axis) in each part (second axis).
        codes: distinct cell of each published row.
        middles: of a line: place of each row of the original; NaN if missing.
        published: of a line: middle of each published row's cell.
        half: of a line: half the width of each distinct cell.
        n_parts: how many parts there are.
    """

    name: str
    line: bool
    before: NDArray[np.int64]
    within: NDArray[np.float64]
    codes: NDArray[np.int64]
    middles: NDArray[np.float64]
    published: NDArray[np.float64]
    half: NDArray[np.float64]
    n_parts: int

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how the original and the release are spread over the parts."""
        before: NDArray[Any] = np.bincount(self.before, minlength=self.n_parts)
        cells: NDArray[Any] = np.bincount(self.codes, minlength=len(self.within))
        after = cells @ self.within
        return before / max(before.sum(), 1), after / max(after.sum(), 1e-12)


def view_of(column: OpenColumn, values: Values) -> View:
    """Return the view of a column from its cells and the original's values."""
    return _on_line(column, values) if column.line != "label" else _labels(column, values)


def exact_column(name: str, published: pl.DataFrame) -> OpenColumn:
    """Return a column that was published as it is."""
    cells = [published.get_column(each) for each in source_names(name, published.columns)]
    numbers = cells[0].dtype.is_numeric() or cells[0].dtype.is_temporal()
    return open_column(name, cells, kind=None if numbers else EXACT)


def _on_line(column: OpenColumn, values: Values) -> View:
    places = values.places
    known = places[~np.isnan(places)]
    ends = np.linspace(0, 1, _PARTS + 1)[1:-1]
    cuts: NDArray[Any] = np.empty(0)
    if len(known):  # cuts are values of the table, so that whole numbers are cut at whole ones
        cuts = np.unique(np.quantile(known, ends, method="inverted_cdf"))
    n_parts = len(cuts) + 2  # the last part is what is missing
    before = np.where(np.isnan(places), n_parts - 1, np.searchsorted(cuts, places, side="left"))
    low, high = _ends(column, known)
    within = np.zeros((len(column.cells), n_parts))
    # a whole number n covers (n - 1, n]: so do parts, which hold their upper cut
    start = low - 1 if column.whole else low
    width = high - start
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    for part in range(n_parts - 1):
        inside = np.minimum(high, edges[part + 1]) - np.maximum(start, edges[part])
        with np.errstate(divide="ignore", invalid="ignore"):
            within[:, part] = np.where(width > 0, np.clip(inside, 0, None) / width, 0.0)
    point = ~(width > 0)
    within[point] = 0.0
    rows = np.flatnonzero(point)
    within[rows, np.searchsorted(cuts, low[rows], side="left")] = 1.0
    within[column.missing] = 0.0
    within[column.missing, n_parts - 1] = 1.0
    middle = (low + high) / 2
    middle[column.missing] = np.nan
    return View(
        column.name,
        True,
        before.astype(np.int64),
        within,
        column.codes,
        places,
        middle[column.codes],
        (high - low) / 2,
        n_parts,
    )


def _ends(
    column: OpenColumn, known: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of all cells; what stands for anything has those of the column."""
    low, high = column.low.copy(), column.high.copy()
    finite = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    if not len(finite):
        finite = known if len(known) else np.zeros(1)
    low[~np.isfinite(low)] = finite.min()
    high[~np.isfinite(high)] = finite.max()
    return low, np.maximum(high, low)


def _labels(column: OpenColumn, values: Values) -> View:
    assert values.covered is not None
    counts: NDArray[Any] = np.bincount(values.codes[values.codes >= 0], minlength=1)
    kept = np.argsort(-counts, kind="stable")[: _LABELS - 1]
    n_parts = len(kept) + 2  # then all others, and what is missing
    part_of = np.full(len(counts) + 1, len(kept))
    part_of[kept] = np.arange(len(kept))
    part_of[-1] = n_parts - 1
    before = part_of[values.codes]
    within = np.zeros((len(column.cells), n_parts))
    covers = values.covered
    known = covers.label < len(counts)
    np.add.at(within, (covers.cell[known], part_of[covers.label[known]]), 1.0)
    within[column.everything] = np.bincount(part_of[:-1], minlength=n_parts)
    total = within.sum(axis=1, keepdims=True)
    within = np.divide(within, total, out=np.zeros_like(within), where=total > 0)
    within[column.missing, n_parts - 1] = 1.0
    nothing = np.full(len(before), np.nan)
    return View(
        column.name,
        False,
        before.astype(np.int64),
        within,
        column.codes,
        nothing,
        np.full(len(column.codes), np.nan),
        np.zeros(len(column.cells)),
        n_parts,
    )


# Counts and distributions: what an analyst gets from a release, beside the truth.

SELECTIVITIES = (0.01, 0.05, 0.1, 0.25)
_QUERIES = 25
_PAIRS = 30


def ask_counts(views: Sequence[View], chance: np.random.Generator) -> list[dict[str, Any]]:
    """Return the errors of random questions "how many people have …?".

    A question names 1 to 4 columns and some parts of each, so that about the wanted share of the
    people fits. The release answers with expected counts. The error is |answer - truth| over the
    truth, or over a thousandth of the rows where fewer fit.
    """
    n_rows = len(views[0].before)
    found = []
    for n_columns in range(1, min(4, len(views)) + 1):
        for wanted in SELECTIVITIES:
            errors, truths = [], []
            for _ in range(_QUERIES):
                true = np.ones(n_rows, np.bool_)
                answer = np.ones(len(views[0].codes))
                for number in chance.permutation(len(views))[:n_columns].tolist():
                    parts = _pick(views[number], wanted ** (1 / n_columns), chance)
                    true &= parts[views[number].before]
                    answer *= (views[number].within @ parts)[views[number].codes]
                truth = int(true.sum())
                truths.append(truth / n_rows)
                errors.append(abs(float(answer.sum()) - truth) / max(truth, n_rows / 1000))
            found.append(
                {
                    "columns": n_columns,
                    "selectivity": wanted,
                    "reached": float(np.mean(truths)),
                    "median_error": float(np.median(errors)),
                    "mean_error": float(np.mean(errors)),
                    "n": _QUERIES,
                }
            )
    return found


def _pick(view: View, wanted: float, chance: np.random.Generator) -> NDArray[np.bool_]:
    """Return some parts of a column that hold about so many people; of a line side by side."""
    share: NDArray[Any] = np.bincount(view.before, minlength=view.n_parts) / len(view.before)
    order = np.arange(view.n_parts)
    order = np.roll(order, -int(chance.integers(view.n_parts))) if view.line else order
    if not view.line:
        order = chance.permutation(order)
    reached = np.cumsum(share[order])
    parts = np.zeros(view.n_parts, np.bool_)
    parts[order[: int(np.searchsorted(reached, wanted)) + 1]] = True
    return parts


def one_way(views: Sequence[View]) -> dict[str, float]:
    """Return how far each column's distribution is off: ½ Σ |p - q| over its parts."""
    result = {}
    for view in views:
        before, after = view.shares()
        result[view.name] = float(np.abs(before - after).sum() / 2)
    return result


def _tables(one: View, two: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of two columns together, in the original and in the release."""
    before = np.zeros((one.n_parts, two.n_parts))
    np.add.at(before, (one.before, two.before), 1.0)
    pairs, count = np.unique(one.codes * len(two.within) + two.codes, return_counts=True)
    first, second = np.divmod(pairs, len(two.within))
    after = (one.within[first] * count[:, None]).T @ two.within[second]
    return before / max(before.sum(), 1), after / max(after.sum(), 1e-12)


def two_way(views: Sequence[View], chance: np.random.Generator) -> dict[str, float]:
    """Return how far the joint distributions of pairs of columns are off: mean and worst."""
    chosen = list(combinations(range(len(views)), 2))
    if len(chosen) > _PAIRS:
        chosen = [chosen[i] for i in chance.choice(len(chosen), _PAIRS, replace=False).tolist()]
    off = [np.abs(np.subtract(*_tables(views[a], views[b]))).sum() / 2 for a, b in chosen]
    return {"mean": float(np.mean(off)), "worst": float(np.max(off))} if off else {}


def associations(views: Sequence[View]) -> dict[str, float]:
    """Return how far associations are off: Pearson's r of two lines, Cramér's V of others."""
    off = []
    for one, two in combinations(views, 2):
        if one.line and two.line:
            before = _pearson(one.middles, two.middles)
            after = _pearson(one.published, two.published)
        else:
            before, after = (_cramer(each) for each in _tables(one, two))
        off.append(abs(before - after))
    return {"mean": float(np.mean(off)), "worst": float(np.max(off))} if off else {}


def _pearson(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    known = ~(np.isnan(one) | np.isnan(two))
    one, two = one[known], two[known]
    if len(one) < 2 or one.std() == 0 or two.std() == 0:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])


def _cramer(shares: NDArray[np.float64]) -> float:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    shares = shares[rows > 0][:, columns > 0]
    expected = np.outer(rows[rows > 0], columns[columns > 0])
    smaller = min(shares.shape) - 1
    if smaller < 1:
        return 0.0
    return float(np.sqrt(((shares - expected) ** 2 / expected).sum() / smaller))


# Models trained on a release and tested on people as they are; needs scikit-learn.
#
# The same model is trained on the original beside it. A generalised cell can be read in several
# ways: its ``middle`` (labels as shares of the values they stand for), one ``draw``, its ``set``
# (labels as a mark for every value they may stand for), or ``weights``: several draws of every row,
# each with its part of the weight.

Data = tuple["NDArray[np.float64]", "NDArray[np.int64]", "NDArray[np.float64] | None"]
READINGS = ("middle", "draw", "set", "weights")
_MOST = 10_000
_DRAWS = 3
_SHARE = 0.3


def train(
    views: Sequence[View],
    target: View,
    held_out: Sequence[View] | None,
    held_target: NDArray[np.int64] | None,
    chance: np.random.Generator,
) -> list[dict[str, Any]]:
    """Return how well models do that were trained on the original and on the release.

    Args:
        views: the features.
        target: what is to be predicted.
        held_out: features of people who are in neither; without them a part of the original is
            set aside, and as large a part of the release.
        held_target: what is true of them.
        chance: decides who is set aside.

    Raises:
        OptionError: scikit-learn is not installed.
        DataError: the target has fewer than two values.
    """
    try:
        import sklearn  # noqa: F401 - only whether it is there
    except ImportError:
        raise OptionError(
            "Models need scikit-learn: pip install 'shoal-anonymity[sklearn]', "
            "or leave the target out."
        ) from None
    rows = chance.permutation(len(target.before))
    published = chance.permutation(len(target.codes))
    if held_out is None or held_target is None:
        cut = max(int(len(rows) * _SHARE), 1)
        tested, kept = rows[:cut], rows[cut:]
        published = published[: max(len(published) - cut, 1)]
        test_x, test_y = _exact(views, tested), target.before[tested]
    else:
        kept, test_x, test_y = rows, _exact(held_out, None), held_target
    kept, published = kept[:_MOST], published[:_MOST]
    sets: dict[str, Data] = {"original": (_exact(views, kept), target.before[kept], None)}
    truth = target.within[target.codes[published]].argmax(axis=1)
    for reading in READINGS:
        sets[reading] = _read(views, published, truth, reading, chance)
    if len(np.unique(test_y)) < 2 or any(len(np.unique(y)) < 2 for _, y, _ in sets.values()):
        raise DataError(
            "The target {name!r} has fewer than two values, nothing to learn.", name=target.name
        )
    return [
        {"trained_on": name, "model": model, **_judge(model, *data, test_x, test_y)}
        for name, data in sets.items()
        for model in ("linear", "forest", "boosting")
    ]


def _exact(views: Sequence[View], rows: NDArray[np.int64] | None) -> NDArray[np.float64]:
    parts = []
    for view in views:
        chosen = slice(None) if rows is None else rows
        if view.line:
            parts.append(_filled(view.middles[chosen], view)[:, None])
        else:
            parts.append(np.eye(view.n_parts)[view.before[chosen]])
    return np.hstack(parts)


def _filled(places: NDArray[np.float64], view: View) -> NDArray[np.float64]:
    known = view.published[~np.isnan(view.published)]
    filled: NDArray[np.float64] = np.where(
        np.isnan(places), known.mean() if len(known) else 0.0, places
    )
    return filled


def _read(
    views: Sequence[View],
    rows: NDArray[np.int64],
    truth: NDArray[np.int64],
    reading: str,
    chance: np.random.Generator,
) -> Data:
    copies = _DRAWS if reading == "weights" else 1
    tables = [_features(views, rows, reading, chance) for _ in range(copies)]
    weights = np.full(len(rows) * copies, 1.0 / copies) if copies > 1 else None
    return np.vstack(tables), np.tile(truth, copies), weights


def _features(
    views: Sequence[View], rows: NDArray[np.int64], reading: str, chance: np.random.Generator
) -> NDArray[np.float64]:
    parts = []
    for view in views:
        codes = view.codes[rows]
        if view.line:
            places = view.published[rows]
            if reading in ("draw", "weights"):
                places = _drawn_places(view, codes, places, chance)
            parts.append(_filled(places, view)[:, None])
            continue
        share = view.within[codes]
        if reading == "set":
            share = (share > 0).astype(np.float64)
        elif reading != "middle":
            share = np.eye(view.n_parts)[_drawn_parts(share, chance)]
        parts.append(share)
    return np.hstack(parts)


def _drawn_parts(share: NDArray[np.float64], chance: np.random.Generator) -> NDArray[np.int64]:
    reached = np.cumsum(share, axis=1)
    beyond: NDArray[np.int64] = (chance.random((len(share), 1)) > reached).sum(axis=1)
    drawn: NDArray[np.int64] = np.minimum(beyond, share.shape[1] - 1)
    return drawn


def _drawn_places(
    view: View,
    codes: NDArray[np.int64],
    middles: NDArray[np.float64],
    chance: np.random.Generator,
) -> NDArray[np.float64]:
    half = view.half[codes]
    drawn: NDArray[np.float64] = middles + (2 * chance.random(len(codes)) - 1) * half
    return drawn


def _judge(
    model: str,
    x: NDArray[np.float64],
    y: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    test_x: NDArray[np.float64],
    test_y: NDArray[np.int64],
) -> dict[str, float]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, roc_auc_score

    made: Any = {
        "linear": lambda: LogisticRegression(max_iter=2000),
        "forest": lambda: RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
        "boosting": lambda: HistGradientBoostingClassifier(max_iter=60, random_state=0),
    }[model]()
    centre, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread == 0] = 1.0
    made.fit((x - centre) / spread, y, sample_weight=weights)
    there = (test_x - centre) / spread
    known = np.isin(test_y, made.classes_)
    guessed = made.predict(there)
    result = {
        "accuracy": float(accuracy_score(test_y, guessed)),
        "balanced_accuracy": float(_balanced(test_y, guessed)),
    }
    chances = made.predict_proba(there)[known]
    if len(made.classes_) == 2 and len(np.unique(test_y[known])) == 2:
        result["auc"] = float(roc_auc_score(test_y[known], chances[:, 1]))
    elif set(np.unique(test_y[known])) == set(made.classes_.tolist()):
        result["auc"] = float(roc_auc_score(test_y[known], chances, multi_class="ovr"))
    return result


def _balanced(truth: NDArray[np.int64], guessed: NDArray[np.int64]) -> float:
    """Return the mean over the values of how many of them are recognised."""
    return float(np.mean([(guessed[truth == value] == value).mean() for value in np.unique(truth)]))


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What analysts get from a release, beside the original; shares and errors, no cell.

    Attributes:
        queries: relative errors of random counts, by number of columns and selectivity.
        one_way: how far the distribution of each column is off, from 0 to 1.
        two_way: the same for pairs of columns: ``mean`` and ``worst``.
        associations: how far correlations are off: ``mean`` and ``worst``.
        models: accuracy, balanced accuracy and AUC of each model, by what it was trained on.
        notes: what should be known about these numbers.
    """

    queries: tuple[dict[str, Any], ...]
    one_way: dict[str, float]
    two_way: dict[str, float]
    associations: dict[str, float]
    models: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    @property
    def query_error(self) -> float:
        """The median relative error over all kinds of questions: one number for all of them."""
        return float(np.median([each["median_error"] for each in self.queries]))

    def best_model(self, trained_on: str) -> dict[str, Any] | None:
        """Return the model with the highest balanced accuracy of those trained on this."""
        found = [each for each in self.models if each["trained_on"] == trained_on]
        return max(found, key=lambda each: float(each["balanced_accuracy"]), default=None)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The most important numbers in words."""
        said = [
            Message(
                "A count of people is off by {off:.1%} (median, questions of 1 to 4 columns).",
                off=self.query_error,
            )
        ]
        if self.one_way:
            worst = max(self.one_way, key=lambda name: self.one_way[name])
            mean = float(np.mean(list(self.one_way.values())))
            said.append(
                Message(
                    "Distributions of single columns are off by {mean:.1%} on average; most in "
                    "{worst!r}, by {most:.1%}.",
                    mean=mean,
                    worst=worst,
                    most=self.one_way[worst],
                )
            )
        if self.two_way:
            mean = self.two_way["mean"]
            said.append(
                Message("Joint distributions of two columns are off by {mean:.1%}.", mean=mean)
            )
        first = self.best_model("original")
        after = [self.best_model(each) for each in ("middle", "draw", "set", "weights")]
        known = [each for each in after if each is not None]
        if first is not None and known:
            best = max(known, key=lambda each: float(each["balanced_accuracy"]))
            said.append(
                Message(
                    "The best model trained on the release has a balanced accuracy of {best:.1%} "
                    "({model}, cells read as {read}); trained on the original {first:.1%}.",
                    best=best["balanced_accuracy"],
                    model=best["model"],
                    read=best["trained_on"],
                    first=first["balanced_accuracy"],
                )
            )
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {**asdict(self), "query_error": self.query_error}

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import lists, share, shown, table

        models = (
            (each["trained_on"], each["model"], share(each["balanced_accuracy"]))
            for each in self.models
        )
        return shown(
            lists(self.sentences),
            table(
                ("columns", "share of the people", "median error", "mean error"),
                (
                    (
                        each["columns"],
                        *map(share, (each["selectivity"], each["median_error"])),
                        share(each["mean_error"]),
                    )
                    for each in self.queries
                ),
            ),
            table(("column", "off by"), ((n, share(off)) for n, off in self.one_way.items())),
            table(("trained on", "model", "balanced accuracy"), models) if self.models else "",
            lists(self.notes),
        )


def utility(
    original: Any,
    published: Any,
    *,
    target: str | None = None,
    held_out: Any = None,
    seed: int = 0,
    **described: Unpack[Described],
) -> Utility:
    """Say what can still be learnt from a release: counts, distributions, models.

    Args:
        original: the table before (pandas, polars or pyarrow).
        published: the release, also of other software.
        target: the column that models predict; needs scikit-learn. No models unless given.
        held_out: rows of people who are in neither table, to test the models on.
        seed: makes questions and models repeatable.
        described: how the release was made (`shoal.study.read_release.Described`):
            ``quasi_identifiers``, which have to be said, ``sensitive``, ``hierarchies``,
            ``kinds``, ``orders``, ``grid``, ``top``, ``bottom``, ``dates``, ``person``,
            ``person_key``, ``default_grid``, ``unknown_values`` and ``style``.

    Raises:
        OptionError: an option is wrong, a column does not exist, or scikit-learn is missing.
        DataError: the release cannot have been made from the original.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise OptionError(
            "seed must be a whole number of at least 0, but {seed!r} was given.", seed=seed
        )
    before, after = to_polars(original), to_polars(published)
    if not before.height or not after.height:
        raise DataError("A table has no rows, so there is nothing to learn from.")
    schema, form = schema_and_style(before, **described)
    key = open_key(described.get("person_key"))
    before = move_as_released(before, schema, key)
    test = None if held_out is None else move_as_released(to_polars(held_out), schema, key)
    views, tested = _views(before, after, test, schema, form, target)
    notes = []
    if before.height > after.height:
        lost = before.height - after.height
        notes.append(Message("{n:,} rows of the original are not published.", n=lost))
    models: list[dict[str, Any]] = []
    if target is not None:
        place = next(n for n, view in enumerate(views) if view.name == target)
        features = [view for view in views if view.name != target]
        outside = None if tested is None else [v for v in tested if v.name != target]
        truth = None if tested is None else tested[place].before
        models = train(features, views[place], outside, truth, np.random.default_rng([seed, 3]))
        if test is None:
            notes.append(
                Message(
                    "No rows were held out: models were tested on a part of the original whose "
                    "generalised rows may be in the release."
                )
            )
    return Utility(
        queries=tuple(ask_counts(views, np.random.default_rng([seed, 1]))),
        one_way=one_way(views),
        two_way=two_way(views, np.random.default_rng([seed, 2])),
        associations=associations(views),
        models=tuple(models),
        notes=tuple(notes),
    )


def count_error(before: pl.DataFrame, after: pl.DataFrame, schema: Schema, style: Style) -> float:
    """Return the median relative error of random counts from a release; 0 if nothing was lost."""
    views, _ = _views(before, after, None, schema, style, None)
    found = ask_counts(views, np.random.default_rng([0, 1]))
    return float(np.median([each["median_error"] for each in found]))


def _views(
    before: pl.DataFrame,
    after: pl.DataFrame,
    test: pl.DataFrame | None,
    schema: Schema,
    style: Style,
    target: str | None,
) -> tuple[list[View], list[View] | None]:
    """Return a view of every column that matters, and that of the people who were held out."""
    import polars as pl

    before, test = with_coded(before, schema), None if test is None else with_coded(test, schema)
    classes = open_classes(after, schema, style)
    names = list(dict.fromkeys([*schema.sensitive, *([] if target is None else [target])]))
    sentence = Message("The table has no column {name!r}.{hint}")
    refuse_unknown(names, before.columns, OptionError, sentence)
    kept = [exact_column(name, after) for name in names if name not in schema.quasi_identifiers]
    every = Classes((*classes.columns, *kept), classes.cells, classes.of_row, classes.sizes)
    used = [column.name for column in every.columns]
    table = before.select(used)
    if test is not None:
        missing = next((name for name in used if name not in test.columns), None)
        if missing is not None:
            raise OptionError(
                "The rows that were held out have no column {missing!r}.", missing=missing
            )
        table = pl.concat([table, test.select(used)], how="vertical_relaxed")
    people = values_of(table, every)
    views = [view_of(c, v) for c, v in zip(every.columns, people.values, strict=True)]
    n = before.height
    first = [replace(v, before=v.before[:n], middles=v.middles[:n]) for v in views]
    if test is None:
        return first, None
    return first, [replace(v, before=v.before[n:], middles=v.middles[n:]) for v in views]
