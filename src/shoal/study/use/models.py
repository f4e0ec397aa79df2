"""Models trained on a release and tested on people as they are; needs scikit-learn.

The same model is trained on the original beside it. A generalised cell can be read in several
ways: its ``middle`` (labels as shares of the values they stand for), one ``draw``, its ``set``
(labels as a mark for every value they may stand for), or ``weights``: several draws of every row,
each with its part of the weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.study.use.views import View

__all__ = ["READINGS", "train"]

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
        raise DataError(f"The target {target.name!r} has fewer than two values, nothing to learn.")
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
