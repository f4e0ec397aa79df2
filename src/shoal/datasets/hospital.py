"""A synthetic hospital of any size: patients, their stays, and diagnoses and drugs of stays."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.datasets.adult import Backend, check_backend, to_backend
from shoal.datasets.census import check_whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

HOSPITAL_LINKS = {
    "stays.patient_id": "patients.patient_id",
    "diagnoses.stay_id": "stays.stay_id",
    "drugs.stay_id": "stays.stay_id",
}
"""How the tables of `make_hospital` hang together."""

HOSPITAL_ROLES: dict[str, dict[str, Any]] = {
    "patients": {"quasi_identifiers": ["sex", "born", "postcode"], "identifiers": ["name"]},
    "stays": {"quasi_identifiers": ["admitted", "ward", "days"], "insensitive": ["outcome"]},
    "diagnoses": {"quasi_identifiers": ["code"]},
    "drugs": {"quasi_identifiers": ["code"]},
}
"""What their columns are to somebody who publishes them; hierarchies are `hospital_hierarchies`."""

_FROM, _DAYS = date(2018, 1, 1), 6 * 365
_STAYS, _DIAGNOSES, _DRUGS = 5.0, 3.9, 2.4
# A trouble that people have: how common it is below 40, below 65 and above; its ward, how long
# people stay, its diagnoses and drugs, common ones first.
_TROUBLES: tuple[tuple[tuple[float, float, float], str, int, str, str], ...] = (
    (
        (3, 16, 30),
        "cardiology",
        6,
        "I10 I25 I50 I48 I21 I20 I63 I70 E78",
        "C07AB02 C10AA05 B01AC06 C09AA05 C03CA01",
    ),
    (
        (4, 10, 14),
        "internal medicine",
        5,
        "E11 E78 N18 E66 E10 D50 E03 E87 I10",
        "A10BA02 A10AB01 C09AA05 B03AA07",
    ),
    (
        (9, 9, 12),
        "pneumology",
        5,
        "J18 J44 J45 J20 J06 J96 J12 J15",
        "R03AC02 J01CA04 R03BA02 H02AB06",
    ),
    (
        (10, 13, 12),
        "surgery",
        4,
        "K80 K35 K40 K57 K56 K29 K21 K52",
        "A02BC01 N02BE01 J01DD04 N02AA01",
    ),
    (
        (18, 12, 12),
        "trauma",
        4,
        "S72 S52 S82 S06 S42 S22 S13 M54 T14",
        "N02BE01 M01AE01 N02AA01 B01AB05",
    ),
    (
        (2, 10, 12),
        "oncology",
        8,
        "C50 C34 C18 C61 C20 C67 C91 D12 C25",
        "L01XE03 A04AA01 L01DB01 H02AB02",
    ),
    (
        (16, 9, 4),
        "psychiatry",
        18,
        "F10 F32 F33 F20 F41 F43 F60 F19",
        "N06AB04 N05AH03 N05BA06 N05AX08",
    ),
    (
        (7, 7, 12),
        "neurology",
        5,
        "G40 G45 G35 G20 G43 R55 I63 G47",
        "N03AX14 N04BA02 N02CC01 B01AC06",
    ),
    ((22, 3, 0), "obstetrics", 3, "O80 O82 O70 Z37 O42 O60 O26 O34", "G02AD02 B03AA07 N01BB01"),
    ((9, 11, 14), "urology", 3, "N20 N39 N40 N30 N13 C61 R31", "G04CA02 J01MA02 N02BE01"),
)
_RARE = [
    "A15",
    "A41",
    "A49",
    "B18",
    "B37",
    "D35",
    "D61",
    "D69",
    "D86",
    "E05",
    "E22",
    "E84",
    "E85",
    "G12",
    "G61",
    "G71",
    "H25",
    "H40",
    "I27",
    "I33",
    "I42",
    "I71",
    "J84",
    "K50",
    "K51",
    "K70",
    "K74",
    "K85",
    "L40",
    "L93",
    "M05",
    "M32",
    "M45",
    "N04",
    "P07",
    "Q21",
    "Q90",
    "R10",
    "R50",
    "T78",
]
_OUTCOMES = ("home", "home", "home", "home", "rehabilitation", "another hospital", "died")
_CONSONANTS, _VOWELS = "bdfghklmnprstvw", "aeiou"


def make_hospital(n_people: int, seed: int = 0, *, backend: Backend = "polars") -> dict[str, Any]:
    """Return the tables of a hospital: about five stays per patient, three diagnoses per stay.

    ===========  ================================================================
    patients     patient_id, name, sex, born, postcode: one row for each person
    stays        stay_id, patient_id, admitted, ward, days, outcome
    diagnoses    stay_id, code: categories of ICD-10
    drugs        stay_id, code: substances of ATC
    ===========  ================================================================

    Nobody in it exists. Each person has one or two troubles, by age and sex, with their wards,
    diagnoses and drugs; a trouble brings a person back, so histories of one person resemble each
    other. One diagnosis in thirty is rare. Three quarters of the people have few stays, some have
    dozens. Numbers of the real world were not looked up: rates are only plausible.

    Determinism: the tables depend on ``n_people`` and ``seed`` alone.

    Cost: about one second and 200 MB for 100,000 people.

    Args:
        n_people: rows of ``patients``, at least 1.
        seed: any integer from 0; different seeds give different people.
        backend: the library of the tables: ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

    Raises:
        OptionError: an argument is outside what it allows, or the backend is not installed.
    """
    check_whole_number("n_people", n_people, at_least=1)
    check_whole_number("seed", seed, at_least=0)
    check_backend(backend)
    rng = np.random.Generator(np.random.PCG64([int(seed), 7]))
    return {name: to_backend(each, backend) for name, each in _draw(int(n_people), rng).items()}


def hospital_hierarchies() -> dict[str, dict[str, Any]]:
    """Return the hierarchies that fit the tables of `make_hospital`, by table and column."""
    return {
        "patients": {"postcode": {"rule": "prefix", "keep": [3, 2, 1]}},
        "diagnoses": {"code": {"rule": "icd10"}},
        "drugs": {"code": {"rule": "atc"}},
    }


def _draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    import polars as pl

    age = np.clip(rng.gamma(5.0, 10.5, n), 0, 103)
    band = np.digitize(age, [40, 65])
    female = rng.random(n) < 0.51
    rates = np.array([trouble[0] for trouble in _TROUBLES], float)
    trouble = np.empty((n, 2), np.int64)
    for number in (0, 1):
        chance = rates[:, band].T.copy()
        fertile = female & (age > 16) & (age < 46)
        chance[~fertile, [t[1] for t in _TROUBLES].index("obstetrics")] = 0
        upto = np.cumsum(chance, axis=1)
        trouble[:, number] = (rng.random(n)[:, None] * upto[:, -1:] > upto).sum(axis=1)
    n_stays = np.clip(rng.geometric(1 / _STAYS, n), 1, 60)
    patient = np.repeat(np.arange(n), n_stays)
    first = rng.random(len(patient)) < 0.75
    reason = np.where(first, trouble[patient, 0], trouble[patient, 1])
    wards = [t[1] for t in _TROUBLES]
    long = np.array([t[2] for t in _TROUBLES])[reason]
    elsewhere = rng.random(len(patient)) < 0.08
    ward = np.where(elsewhere, rng.integers(0, len(wards), len(patient)), reason)
    when = (
        np.sort(rng.random(len(patient)) + patient) - patient
    )  # a person's stays follow each other
    born = np.datetime64(_FROM) - (age * 365.25).astype(np.int64)
    stays = pl.DataFrame(
        {
            "stay_id": rng.permutation(len(patient)) + 100_000,
            "patient_id": patient,
            "admitted": np.datetime64(_FROM) + (when * _DAYS).astype(np.int64),
            "ward": np.array(wards)[ward],
            "days": np.clip(rng.geometric(1 / long), 1, 120),
            "outcome": np.array(_OUTCOMES)[rng.integers(0, len(_OUTCOMES), len(patient))],
        }
    )
    numbers = rng.permutation(n) + 10_000
    patients = pl.DataFrame(
        {
            "patient_id": numbers,
            "name": _names(n, rng),
            "sex": np.where(female, "F", "M"),
            "born": born,
            "postcode": _postcodes(n, rng),
        }
    )
    stays = stays.with_columns(patient_id=pl.Series(numbers[patient]))
    ids = stays.get_column("stay_id").to_numpy()
    found = {"patients": patients, "stays": stays}
    for name, each, mean in (("diagnoses", 3, _DIAGNOSES), ("drugs", 4, _DRUGS)):
        of_stay = np.repeat(np.arange(len(ids)), 1 + rng.poisson(mean - 1, len(ids)))
        codes = _codes([t[each].split() for t in _TROUBLES], reason[of_stay], rng)  # type: ignore[union-attr]
        if name == "diagnoses":
            rare = rng.random(len(codes)) < 1 / 30
            codes = np.where(rare, np.array(_RARE)[rng.integers(0, len(_RARE), len(codes))], codes)
        frame = pl.DataFrame({"stay_id": ids[of_stay], "code": codes})
        found[name] = frame.unique(maintain_order=True)
    return found


def _codes(
    lists: Sequence[Sequence[str]], of: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[Any]:
    """Return a code for each row from the list of its trouble, the first ones most often."""
    sizes = np.array([len(each) for each in lists])
    table = np.array([[*each, *[""] * (sizes.max() - len(each))] for each in lists])
    place = (sizes[of] * rng.random(len(of)) ** 2).astype(np.int64)
    return np.asarray(table[of, place])


def _postcodes(n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return postcodes: a few large towns, many small places."""
    places = 10_000 + (np.arange(400) * 7_919) % 80_000
    drawn = (400 * rng.random(n) ** 2.5).astype(np.int64)
    return np.asarray(np.array([f"{each:05d}" for each in places])[drawn])


def _names(n: int, rng: np.random.Generator) -> list[str]:
    letters = rng.integers(0, len(_CONSONANTS) * len(_VOWELS), (n, 4))
    parts = [a + b for a in _CONSONANTS for b in _VOWELS]
    return [f"{parts[a]}{parts[b]} {parts[c]}{parts[d]}".title() for a, b, c, d in letters.tolist()]
