"""A small table of people for the parts behind the pages, and a job for it."""

import random

import polars as pl

from shoal.settings.files import Input
from shoal.settings.job import Job, JobColumn

AREAS = (101, 102, 201, 350)
JOBS = ("baker", "clerk", "cook", "driver", "nurse", "smith", "tailor", "weaver")


def people(n_rows=300, seed=7):
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "name": [f"person {number}" for number in range(n_rows)],
            "age": [rng.randint(18, 80) for _ in range(n_rows)],
            "zip": [
                f"{rng.choice([101, 102, 201, 350])}{rng.randint(10, 29)}" for _ in range(n_rows)
            ],
            "job": [rng.choice(JOBS) for _ in range(n_rows)],
            "illness": [rng.choice(["flu", "gout", "asthma"]) for _ in range(n_rows)],
        }
    )


def job_of_people(path, **options):
    return Job(
        input=Input(path=str(path)),
        columns={
            "name": JobColumn(role="identifier"),
            "age": JobColumn(role="quasi-identifier"),
            "zip": JobColumn(
                role="quasi-identifier", hierarchy={"rule": "prefix", "keep": [3], "length": 5}
            ),
            "job": JobColumn(role="quasi-identifier"),
            "illness": JobColumn(role="sensitive"),
        },
        **{"k": 5, "algorithm": "mondrian", "seed": 11, **options},
    )
