"""A register of people whose values are all different texts, so that a leak can be searched for."""

import random

import polars as pl
import pytest

import shoal

ROLES = {
    "quasi_identifiers": ["age", "zip", "sex"],
    "sensitive": ["ill"],
    "person": "id",
}
ILLS = ("asthma", "flu", "gout", "measles")


def register(n_rows, seed=0, first=0):
    """People with ids of their own from ``first`` on."""
    chance = random.Random(seed)
    return pl.DataFrame(
        {
            "id": [f"person-{first + number}" for number in range(n_rows)],
            "age": [chance.randint(18, 90) for _ in range(n_rows)],
            "zip": [str(chance.randint(10_000, 10_999)) for _ in range(n_rows)],
            "sex": [chance.choice("FM") for _ in range(n_rows)],
            "ill": [chance.choice(ILLS) for _ in range(n_rows)],
        }
    )


def others(people):
    """The same rows, of people who were never seen."""
    return people.with_columns(id=pl.lit("other ") + pl.col("id"))


def release_of(frame, k=4, **options):
    roles = {**ROLES, **options.pop("roles", {})}
    rules = {"zip": {"rule": "prefix", "keep": [3, 1], "length": 5}}
    options = {"seed": 7, "hierarchies": rules, "threads": 1, **options}
    return shoal.anonymize(frame, k, **roles, **options)


@pytest.fixture(scope="session")
def people():
    return register(120)


@pytest.fixture(scope="session")
def release(people):
    return release_of(people)


@pytest.fixture
def saved(release, tmp_path):
    path = tmp_path / "release.shoal"
    release.save(path)
    return path
