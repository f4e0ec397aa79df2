"""One cell of the utility study: a release of the training rows, models and rules made from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.common import eight, fourteen
from benchmarks.papers import features, utility_rules
from benchmarks.papers.as_published import anonymize
from shoal.datasets import load_adult
from shoal.errors import ShoalWarning
from shoal.table.partition import Partition

FOLDS = 5
ROWS, QUICK_ROWS = 20_000, 1_000
"""How many rows of Adult, drawn by chance: all of them would take an hour."""
PASSES = 10
"""Sequential clustering stops here: PMI, not monotone, keeps moving records but gains little."""
VARIANTS: dict[str, dict[str, Any]] = {
    "pmi": {"algorithm": "sequential", "measure": "pmi"},
    "mi": {"algorithm": "sequential", "measure": "mi"},
    "lm": {"algorithm": "sequential", "measure": "lm"},
    "ncp": {"algorithm": "sequential", "measure": "ncp"},
    "k-member": {"algorithm": "k-member", "measure": "ncp"},
    "k-member, classification": {
        "algorithm": "k-member",
        "measure": "ncp",
        "algorithm_options": {"class_penalty": 1.0},
    },
}
MODELS = ("logistic regression", "naive Bayes", "random forest", "gradient boosting")
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
def setting(name: str, rows: int) -> Setting:
    """Return "taxonomies" (8 columns) or "suppression" (14 columns kept or suppressed)."""
    frame = load_adult().sample(fraction=1.0, shuffle=True, seed=2).head(rows)
    roles = eight(frame, taxonomies=True) if name == "taxonomies" else fourteen(frame)
    table = features.encoded(frame, roles)
    classes = (frame.get_column("salary") == ">50K").to_numpy().astype(np.int64)
    fold_of = np.arange(frame.height) % FOLDS  # the rows are in random order
    return Setting(frame, roles, table, features.readings(frame, table), classes, fold_of)


@dataclass(frozen=True)
class Task:
    """One fold of a setting: the rows that are released, and those that models are tested on."""

    name: str
    fold: int
    quick: bool
    all_rows: int = ROWS

    @property
    def told(self) -> Setting:
        """The setting."""
        return setting(self.name, QUICK_ROWS if self.quick else self.all_rows)

    @property
    def train(self) -> Any:
        """Places of the rows that are released."""
        return np.flatnonzero(self.told.fold_of != self.fold)

    @property
    def test(self) -> Any:
        """Places of the rows left out."""
        return np.flatnonzero(self.told.fold_of == self.fold)

    @property
    def support(self) -> float:
        """Least share of the rows that a rule holds."""
        return QUICK_SUPPORT if self.quick else SUPPORT


Models = Callable[[Task, list[features.Cells], Any], dict[str, Any]]
"""From a task, cells of its training rows and the group of each: what models are worth."""


def original(name: str, fold: int, quick: bool) -> dict[str, Any]:  # noqa: FBT001 - run by name
    """Return the scores of models of the original rows, and of always guessing the majority."""
    return of_original(Task(name, fold, quick), _models)


def release(name: str, variant: str, k: int, fold: int, quick: bool) -> dict[str, Any]:  # noqa: FBT001
    """Return what models and rules of a release of the training rows are worth."""
    return of_release(Task(name, fold, quick), VARIANTS[variant], k, _models)


def of_original(task: Task, models: Models) -> dict[str, Any]:
    """Return what the original training rows are worth."""
    told, train, test = task.told, task.train, task.test
    majority = int(np.bincount(told.classes[train]).argmax())
    return {
        "models": models(task, features.exact(told.table.take(train)), np.arange(len(train))),
        "majority": float(np.mean(told.classes[test] == majority)),
        "n_rules": len(_original_rules(task)),
        "train": len(train),
        "test": len(test),
    }


def of_release(task: Task, variant: dict[str, Any], k: int, models: Models) -> dict[str, Any]:
    """Return what a release of the training rows is worth."""
    told, train = task.told, task.train
    given = dict(variant)
    if given["algorithm"] == "sequential":
        given["algorithm_options"] = {"max_passes": PASSES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        made = anonymize(
            told.frame[train.tolist()], k, **told.roles, **given, seed=task.fold, threads=1
        )
    partition = Partition.from_labels(made.groups)
    cells = features.released(told.table.take(train), partition)
    return {
        "models": models(task, cells, partition.labels),
        "rules": _rules(task, cells, partition),
        "scores": {m: made.scores[m] for m in ("ncp", "pmi", "cm", "entropy-diversity")},
    }


def _models(task: Task, cells: list[features.Cells], label: Any) -> dict[str, dict[str, float]]:
    """Train every model on the cells and classes of the training rows; test on original rows."""
    from threadpoolctl import threadpool_limits

    told, train, test = task.told, task.train, task.test
    exact = features.exact(told.table.take(test))
    y, truth = told.classes[train], told.classes[test]
    mixed = features.mixed_features(told.columns, cells)
    centre, spread = _moments(mixed, cells[0].rows)
    mixed = ((mixed - centre) / spread).astype(np.float32)
    mixed_test = features.mixed_features(told.columns, exact)
    mixed_test = ((mixed_test - centre) / spread).astype(np.float32)
    shares = features.share_features(told.columns, cells)
    shares_test = features.share_features(told.columns, exact)
    # rows of a group and class are equal: counted once with a weight, where that is the same
    groups, classes, weight = _bundles(label, y)
    found = {}
    with threadpool_limits(1):
        for name in MODELS:
            model = _model(name)
            if name == "naive Bayes":
                model.fit(shares[groups], classes, sample_weight=weight)
                chance = model.predict_proba(shares_test)[:, 1]
            elif name == "logistic regression":
                model.fit(mixed[groups], classes, sample_weight=weight)
                chance = model.predict_proba(mixed_test)[:, 1]
            else:
                model.fit(mixed[label], y)
                chance = model.predict_proba(mixed_test)[:, 1]
            found[name] = worth(chance, truth)
    return found


def _model(name: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB

    made = {
        "logistic regression": lambda: LogisticRegression(max_iter=1_000),
        "naive Bayes": lambda: MultinomialNB(alpha=1.0),
        "random forest": lambda: RandomForestClassifier(
            n_estimators=40, min_samples_leaf=5, random_state=0, n_jobs=1
        ),
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    return made[name]()


def _moments(values: Any, rows: Any) -> tuple[Any, Any]:
    """Return the mean and the standard deviation of each feature over rows; 1 where it is 0."""
    centre = rows @ values / rows.sum()
    spread = np.sqrt(rows @ (values - centre) ** 2 / rows.sum())
    return centre, np.where(spread > 0, spread, 1.0)


def _bundles(label: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return group, class and number of rows of each combination that occurs."""
    pairs, weight = np.unique(label.astype(np.int64) * 2 + y, return_counts=True)
    return pairs // 2, pairs % 2, weight


def worth(chance: Any, truth: Any) -> dict[str, float]:
    """Return how well chances of the second class foretell the true classes."""
    from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

    guess = (chance > 0.5).astype(np.int64)
    return {
        "accuracy": float(np.mean(guess == truth)),
        "balanced": float(balanced_accuracy_score(truth, guess)),
        "auc": float(roc_auc_score(truth, chance)),
        "log_loss": float(log_loss(truth, np.clip(chance, 1e-6, 1 - 1e-6))),
    }


@lru_cache(maxsize=8)
def _original_rules(task: Task) -> dict[utility_rules.Rule, float]:
    told, train = task.told, task.train
    degrees = features.share_features(told.columns, features.exact(told.table.take(train)))
    counts = np.zeros((len(train), 2), np.int64)
    counts[np.arange(len(train)), told.classes[train]] = 1
    # equal rows are one group
    rows, place = np.unique(degrees, axis=0, return_inverse=True)
    merged = np.zeros((len(rows), 2), np.int64)
    np.add.at(merged, place, counts)
    mined = utility_rules.mine(rows, merged, features.owners(told.columns), task.support)
    return mined.rules(task.support, tuple(CONFIDENCE.values()))


def _rules(
    task: Task, cells: list[features.Cells], partition: Partition
) -> dict[str, dict[str, float]]:
    """Return how close the rules are, with generalised cells read as shares or only if certain."""
    told, wanted = task.told, _original_rules(task)
    counts = np.zeros((partition.n_groups, 2), np.int64)
    np.add.at(counts, (partition.labels, told.classes[task.train]), 1)
    found = {}
    for reading, read in (
        ("shares", features.share_features),
        ("certain", features.certain_features),
    ):
        degrees = read(told.columns, cells)
        mined = utility_rules.mine(degrees, counts, features.owners(told.columns), task.support)
        again = utility_rules.confidences(degrees, counts, wanted)
        rules = mined.rules(task.support, tuple(CONFIDENCE.values()))
        found[reading] = utility_rules.compare(wanted, rules, again)
    return found
