"""One cell of the utility study: a release of the training rows, models and rules made from it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import shoal
from benchmarks.common import eight, fourteen, load_adult
from benchmarks.papers import features, utility_rules
from benchmarks.papers.conjecture_readings import READINGS, read
from shoal.errors import ShoalWarning
from shoal.table.partition import Partition

FOLDS = 5
ROWS, QUICK_ROWS = 30_162, 1_000
"""As many rows of Adult as its first file has without missing values, drawn from both by chance."""
PASSES = 10
"""Sequential clustering stops here: PMI, not monotone, keeps moving records but gains little."""
VARIANTS: dict[str, dict[str, Any]] = {
    "pmi": {"algorithm": "sequential", "measure": "pmi"},
    "mi": {"algorithm": "sequential", "measure": "mi"},
    "lm": {"algorithm": "sequential", "measure": "lm"},
    **{
        f"wmi {w}": {
            "algorithm": "sequential",
            "measure": "wmi",
            "measure_options": {"w": w},
        }
        for w in (0.25, 0.5, 0.75)
    },
    "ncp": {"algorithm": "sequential", "measure": "ncp"},
    "k-member": {"algorithm": "k-member", "measure": "ncp"},
    "k-member, classification": {
        "algorithm": "k-member",
        "measure": "ncp",
        "algorithm_options": {"class_penalty": 1.0},
    },
}
MODELS = ("logistic regression", "random forest", "gradient boosting")
SUPPORT = 0.01
QUICK_SUPPORT = 0.1
CONFIDENCE = {"<=50K": 0.9, ">50K": 0.5}
"""Least confidence of a rule, by class: three quarters of all rows are of the first."""


@dataclass(frozen=True)
class Setting:
    """The original table of a setting, encoded, and how its cells are read."""

    frame: Any
    roles: dict[str, Any]
    table: Any
    columns: list[features.Reading]
    classes: Any
    fold_of: Any


@lru_cache(maxsize=2)
def setting(name: str, *, quick: bool) -> Setting:
    """Return "taxonomies" (8 columns) or "suppression" (14 columns kept or suppressed)."""
    frame = load_adult().sample(fraction=1.0, shuffle=True, seed=2)
    frame = frame.head(QUICK_ROWS if quick else ROWS)
    roles = eight(frame, taxonomies=True) if name == "taxonomies" else fourteen(frame)
    table = features.encoded(frame, roles)
    classes = (frame.get_column("salary") == ">50K").to_numpy().astype(np.int64)
    fold_of = np.arange(frame.height) % FOLDS  # the rows are in random order
    return Setting(frame, roles, table, features.readings(frame, table), classes, fold_of)


def original(name: str, fold: int, quick: bool) -> dict[str, Any]:  # noqa: FBT001 - run by name
    """Return the scores of models of the original rows, and of always guessing the majority."""
    told = setting(name, quick=quick)
    train, test = _split(told, fold)
    majority = int(np.bincount(told.classes[train]).argmax())
    cells = features.exact(told.table.take(train))
    rules = _original_rules(name, fold, quick=quick)
    return {
        "models": _models(told, cells, np.arange(len(train)), train, test, readings=("mean",)),
        "majority": float(np.mean(told.classes[test] == majority)),
        "n_rules": len(rules),
        "train": len(train),
        "test": len(test),
    }


def release(name: str, variant: str, k: int, fold: int, quick: bool) -> dict[str, Any]:  # noqa: FBT001
    """Return what models and rules of a release of the training rows are worth."""
    told = setting(name, quick=quick)
    train, test = _split(told, fold)
    given = dict(VARIANTS[variant])
    if given["algorithm"] == "sequential":
        given["algorithm_options"] = {"max_passes": PASSES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        made = shoal.anonymize(
            told.frame[train.tolist()], k, **told.roles, **given, seed=fold, threads=1
        )
    partition = Partition.from_labels(made.groups)
    cells = features.released(told.table.take(train), partition)
    return {
        "models": _models(told, cells, partition.labels, train, test),
        "rules": _rules(told, name, fold, cells, partition, train, quick=quick),
        "scores": {m: made.scores[m] for m in ("ncp", "pmi", "cm", "entropy-diversity")},
    }


def _split(told: Setting, fold: int) -> tuple[Any, Any]:
    return np.flatnonzero(told.fold_of != fold), np.flatnonzero(told.fold_of == fold)


def _models(
    told: Setting,
    cells: list[features.Cells],
    label: Any,
    train: Any,
    test: Any,
    readings: tuple[str, ...] = READINGS,
) -> dict[str, dict[str, dict[str, float]]]:
    """Train every model on the cells, read in several ways; test on original rows."""
    from threadpoolctl import threadpool_limits

    exact = features.exact(told.table.take(test))
    y, truth = told.classes[train], told.classes[test]
    own = np.arange(len(test))
    found: dict[str, dict[str, dict[str, float]]] = {}
    with threadpool_limits(1):
        for reading in readings:
            chance = np.random.default_rng(len(train))
            x = read(told.columns, cells, label, reading, chance)
            x_test = read(told.columns, exact, own, reading, chance)
            centre, spread = x.mean(axis=0), x.std(axis=0)
            spread = np.where(spread > 0, spread, 1.0)
            x, x_test = (x - centre) / spread, (x_test - centre) / spread
            found[reading] = {
                name: _judge(_fitted(name, x, y).predict_proba(x_test)[:, 1], truth)
                for name in MODELS
            }
    return found


def _fitted(name: str, x: Any, y: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    made = {
        "logistic regression": lambda: LogisticRegression(max_iter=200, tol=1e-3),
        "random forest": lambda: RandomForestClassifier(
            n_estimators=15, min_samples_leaf=5, max_features="sqrt", random_state=0, n_jobs=1
        ),
        "gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0),
    }
    return made[name]().fit(x, y)


def _judge(chance: Any, truth: Any) -> dict[str, float]:
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    guess = (chance > 0.5).astype(np.int64)
    return {
        "accuracy": float(np.mean(guess == truth)),
        "balanced": float(balanced_accuracy_score(truth, guess)),
        "auc": float(roc_auc_score(truth, chance)),
    }


@lru_cache(maxsize=8)
def _original_rules(name: str, fold: int, *, quick: bool) -> dict[utility_rules.Rule, float]:
    told = setting(name, quick=quick)
    train, _ = _split(told, fold)
    degrees = features.share_features(told.columns, features.exact(told.table.take(train)))
    counts = np.zeros((len(train), 2), np.int64)
    counts[np.arange(len(train)), told.classes[train]] = 1
    # equal rows are one group
    rows, place = np.unique(degrees, axis=0, return_inverse=True)
    merged = np.zeros((len(rows), 2), np.int64)
    np.add.at(merged, place, counts)
    support = QUICK_SUPPORT if quick else SUPPORT
    mined = utility_rules.mine(rows, merged, features.owners(told.columns), support)
    return mined.rules(support, tuple(CONFIDENCE.values()))


def _rules(
    told: Setting,
    name: str,
    fold: int,
    cells: list[features.Cells],
    partition: Partition,
    train: Any,
    *,
    quick: bool,
) -> dict[str, dict[str, float]]:
    """Return how close the rules are, with generalised cells read as shares or only if certain."""
    wanted = _original_rules(name, fold, quick=quick)
    counts = np.zeros((partition.n_groups, 2), np.int64)
    np.add.at(counts, (partition.labels, told.classes[train]), 1)
    support = QUICK_SUPPORT if quick else SUPPORT
    found = {}
    for reading, degrees_of in (
        ("shares", features.share_features),
        ("certain", features.certain_features),
    ):
        degrees = degrees_of(told.columns, cells)
        mined = utility_rules.mine(degrees, counts, features.owners(told.columns), support)
        again = utility_rules.confidences(degrees, counts, wanted)
        rules = mined.rules(support, tuple(CONFIDENCE.values()))
        found[reading] = utility_rules.compare(wanted, rules, again)
    return found
