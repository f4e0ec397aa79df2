"""One cell of the conjecture: a release of training rows, read in several ways by several models.

Setting, release and rules are those of `utility_models`; here are more rows, weighted MI, and
models that see one line of features per row.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers import features
from benchmarks.papers.conjecture_readings import READINGS, read
from benchmarks.papers.utility_models import VARIANTS as SINGLE
from benchmarks.papers.utility_models import Task, of_original, of_release, worth

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS = 30_162
"""As many rows of Adult as its first file has without missing values, drawn from both by chance."""
WEIGHTS = (0.25, 0.5, 0.75)
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: SINGLE[name] for name in ("pmi", "mi", "lm", "ncp")},
    **{
        f"wmi {w}": {"algorithm": "sequential", "measure": "wmi", "measure_options": {"w": w}}
        for w in WEIGHTS
    },
}
MODELS = ("logistic regression", "random forest", "gradient boosting")


def original(name: str, fold: int, quick: bool) -> dict[str, Any]:  # noqa: FBT001 - run by name
    """Return the scores of models of the original rows, which read the same in every way."""
    return of_original(Task(name, fold, quick, ROWS), partial(_models, readings=READINGS[:1]))


def release(name: str, variant: str, k: int, fold: int, quick: bool) -> dict[str, Any]:  # noqa: FBT001
    """Return what models and rules of a release of the training rows are worth."""
    return of_release(Task(name, fold, quick, ROWS), VARIANTS[variant], k, _models)


def _models(
    task: Task, cells: list[features.Cells], label: Any, readings: Sequence[str] = READINGS
) -> dict[str, dict[str, dict[str, float]]]:
    """Train every model on the cells, read in several ways; test on original rows."""
    from threadpoolctl import threadpool_limits

    told, train, test = task.told, task.train, task.test
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
                name: worth(_fitted(name, x, y).predict_proba(x_test)[:, 1], truth)
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
        "gradient boosting": lambda: HistGradientBoostingClassifier(
            max_iter=25, learning_rate=0.2, max_bins=63, early_stopping=False, random_state=0
        ),
    }
    return made[name]().fit(x, y)
