"""Small tables of every kind, and promises to make about them."""

from __future__ import annotations

import datetime as dt
from functools import cache

import numpy as np
import polars as pl

from shoal import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    KEAnonymity,
    KMap,
    LDiversity,
    PopulationRisk,
    TCloseness,
)

SEED = 987_654_321  # long enough to be recognised wherever it should not be
GRADES = ["none", "basic", "middle", "high", "top"]
COUNTRIES = {
    "Asia": {"South": ["India", "Nepal"], "West": ["Iran", "Iraq"]},
    "America": {"North": ["USA"], "Andes": ["Peru", "Chile"]},
    "Oceania": ["Fiji"],
}
PATHS = {
    leaf: (region, continent)
    for continent, regions in COUNTRIES.items()
    for region, leaves in (
        regions.items() if isinstance(regions, dict) else ((continent, regions),)
    )
    for leaf in leaves
}
DISEASES = {"ill": {"stomach": ["ulcer"], "other": ["flu", "gout"]}, "well": ["none"]}
DISEASE_PATHS = {
    "ulcer": ("ulcer", "stomach", "ill", "*"),
    "flu": ("flu", "other", "ill", "*"),
    "gout": ("gout", "other", "ill", "*"),
    "none": ("none", "well", "*"),
}
KINDS = {
    "numeric": ["age", "income"],
    "ordinal": ["grade"],
    "categorical": ["country"],
    "flat": ["city"],
    "set": ["skill"],
    "date": ["born"],
    "datetime": ["seen"],
}
EVERY_COLUMN = [name for names in KINDS.values() for name in names]
TREES = ["country", "city"]
ROLES = {
    "sensitive": ["disease", "stage"],
    "identifiers": ["name"],
    "insensitive": ["token"],
}


@cache
def people(n_rows=90, *, missing=False, seed=3):
    """A table with one column of each kind, two sensitive ones, a name and a token per row."""
    rng = np.random.default_rng(seed)
    day, moment = dt.date(1960, 1, 1), dt.datetime(2024, 2, 28, 22, 30)
    leaves = list(PATHS)
    columns = {
        "age": rng.normal(45, 15, n_rows).astype(int).tolist(),
        "income": (rng.integers(-20, 400, n_rows) / 8).tolist(),
        "grade": rng.choice(GRADES, n_rows).tolist(),
        "country": [leaves[i] for i in rng.zipf(1.6, n_rows) % len(leaves)],
        "city": rng.choice(["Ur", "Uruk", "Eridu"], n_rows, p=[0.6, 0.3, 0.1]).tolist(),
        "skill": rng.choice(["a", "b", "c", "d", "e"], n_rows).tolist(),
        "born": [day + dt.timedelta(days=int(d)) for d in rng.integers(0, 900, n_rows)],
        "seen": [moment + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 999, n_rows)],
    }
    if missing:
        for name, values in columns.items():
            gone = rng.choice(n_rows, 5, replace=False)
            columns[name] = [None if i in gone else v for i, v in enumerate(values)]
    columns["disease"] = rng.choice(["flu", "ulcer", "gout", "none"], n_rows).tolist()
    columns["stage"] = rng.integers(1, 6, n_rows).tolist()
    columns["name"] = [f"person {i}" for i in range(n_rows)]
    columns["token"] = list(range(n_rows))
    return pl.DataFrame(columns)


def arguments(names):
    """Roles, kinds and hierarchies for a release of `people` that generalises these columns."""
    return {
        "quasi_identifiers": list(names),
        **ROLES,
        "drop": [name for name in EVERY_COLUMN if name not in names],
        "hierarchies": {
            "disease": DISEASES,
            **({"country": COUNTRIES} if "country" in names else {}),
        },
        "kinds": {"skill": "set"} if "skill" in names else {},
        "orders": {"grade": GRADES} if "grade" in names else {},
    }


EVERYBODY = pl.concat([people(missing=True), people(1200, missing=True, seed=8)])
PRIVACY = {
    "k alone": [],
    "frequency": [LDiversity(1.8, column="disease")],
    "distinct": [LDiversity(3, kind="distinct")],
    "entropy": [LDiversity(2.2, kind="entropy", column="disease")],
    "recursive": [LDiversity(2, kind="recursive", c=1.5, column="disease")],
    "t equal": [TCloseness(0.35, column="disease")],
    "t ordered": [TCloseness(0.2, distance="ordered", column="stage")],
    "t tree": [TCloseness(0.25, distance="hierarchical", column="disease")],
    "alpha": [AlphaK(0.6, column="disease")],
    "beta": [BetaLikeness(1.2, column="disease")],
    "beta basic": [BetaLikeness(0.8, kind="basic", column="stage")],
    "delta": [DeltaDisclosure(1.3, column="disease")],
    "range": [KEAnonymity(2, k=3, column="stage")],
    "k-map": [KMap(9, population=EVERYBODY)],
    "presence": [DeltaPresence(0.6, population=EVERYBODY)],
    "average risk": [PopulationRisk(0.15)],
    "two columns": [LDiversity(2, kind="distinct"), TCloseness(0.5)],
}
