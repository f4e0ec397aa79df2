"""Tables in which people have several rows, and counts of them without any code of Shoal."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import numpy as np
import polars as pl

from shoal import Taxonomy

AREAS = [f"{first}{second}" for first in "NESW" for second in range(6)]
TREES = {
    "home": Taxonomy.from_paths([(area, area[0], "*") for area in AREAS]),
    "sex": Taxonomy.from_paths([("f", "*"), ("m", "*")]),
}
ROLES = {"quasi_identifiers": ["age", "sex", "home"], "sensitive": ["sick"], "person": "patient"}
ILLS = ["flu", "cold", "gout", "none", "rash"]


@cache
def panel(n_people=130, most_visits=6, seed=5):
    """Visits of patients: some come once and some often, they grow older, and a few move."""
    rng = np.random.default_rng(seed)
    visits = rng.integers(1, most_visits + 1, n_people)
    who = np.repeat(np.arange(n_people), visits)
    n_rows = len(who)
    year = 2010 + rng.integers(0, 6, n_rows)
    born, home = rng.integers(1930, 2005, n_people), rng.choice(AREAS, n_people)
    sex = rng.choice(["f", "m"], n_people)
    moved = rng.random(n_rows) < 0.1
    order = rng.permutation(n_rows)
    return pl.DataFrame(
        {
            "patient": [f"MRN-{each:07}" for each in who * 7919 % 1_000_003],
            "age": year - born[who],
            "sex": sex[who],
            "home": np.where(moved, rng.choice(AREAS, n_rows), home[who]),
            "sick": rng.choice(ILLS, n_rows, p=[0.3, 0.25, 0.2, 0.15, 0.1]),
        }
    )[order]


def people_in_groups(published, quasi_identifiers, ids):
    """Return the ids behind each combination that a reader of the release can tell apart."""
    groups = defaultdict(set)
    for cells, who in zip(published.select(quasi_identifiers).rows(), ids, strict=True):
        groups[cells].add(who)
    return groups


def fewest_people(published, quasi_identifiers, ids):
    """Return the number of people of the combination that fewest share."""
    return min(map(len, people_in_groups(published, quasi_identifiers, ids).values()))


def counted_once(published, quasi_identifiers, ids, column):
    """Return the values of each group, and of the table: each once for a person."""
    groups, whole = defaultdict(set), set()
    rows = zip(published.select(quasi_identifiers).rows(), ids, published[column], strict=True)
    for cells, who, value in rows:
        groups[cells].add((who, value))
        whole.add((who, value))
    return [[value for _, value in group] for group in groups.values()], [v for _, v in whole]


@cache
def yearly(n_people=595, n_years=7, *, year=True, seed=1, order="by person"):
    """A panel without an id: people who are asked every year, some of whom change their work."""
    rng = np.random.default_rng(seed)
    who, when = np.repeat(np.arange(n_people), n_years), np.tile(np.arange(n_years), n_people)
    n_rows = len(who)

    def stays(values):
        return rng.choice(values, n_people)[who]

    table = pl.DataFrame(
        {
            "experience": stays(np.arange(1, 45)) + when,
            "weeks": rng.integers(5, 53, n_rows),
            "south": stays(["yes", "no"]),
            "sex": stays(["f", "m"]),
            "schooling": stays(np.arange(4, 18)),
            "union": np.where(rng.random(n_rows) < 0.05, "new", stays(["yes", "no"])),
            "wage": rng.normal(6.7, 0.4, n_rows).round(1),
            "year": 1976 + when,
        }
    )
    turned = {
        "by person": np.arange(n_rows),
        "by year": np.lexsort((who, when)),
        "by chance": rng.permutation(n_rows),
    }[order]
    return table[turned] if year else table[turned].drop("year")
