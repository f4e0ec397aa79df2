"""How `shoal init` does on a part of the collection: who was guessed as what."""

import dataclasses
from collections import Counter

from shoal.profile.suggest import suggest_job
from tests.helpers.collection import ROLES

PUBLISHED = ("quasi-identifier", "sensitive", "insensitive")


def judge(tables, folder, seed=0):
    """Return a row per column: table, column, the expert's role, the guessed one, sure or not."""
    rows = []
    for table in tables:
        suggestion = suggest_job(table.write(folder, seed))
        for guess in suggestion.columns:
            label = table.labels[guess.name]
            expert = _of_wide(guess) if label == "w" else ROLES[label]
            rows.append((table.name, guess.name, expert, guess.role.value, guess.sure))
    return rows


def _of_wide(guess):
    asked = guess.role == "quasi-identifier" and not guess.sure
    return "quasi-identifier" if asked else "drop"


def blinded(table):
    """Return the table with columns called c0, c1 and so on: only values are left to judge by."""
    columns = ((f"c{place}", *column[1:]) for place, column in enumerate(table.columns))
    return dataclasses.replace(table, columns=tuple(columns), missing=("", ()))


def named_and_published(rows):
    """Return the columns that name people and are guessed as published: the worst error."""
    return [row[:4] for row in rows if row[2] in {"identifier", "person"} and row[3] in PUBLISHED]


def confusion(rows):
    """Return how often an expert's role was guessed as which."""
    return Counter((row[2], row[3]) for row in rows)


def precision_and_recall(rows):
    """Return precision, recall and the number of columns for each role, and for removed ones."""
    counts = confusion(rows)
    found = {role: _rates(counts, {role}) for role in ROLES.values()}
    return found | {"removed": _rates(counts, {"identifier", "person", "drop"})}


def _rates(counts, roles):
    right = sum(n for (expert, guess), n in counts.items() if expert in roles and guess in roles)
    guessed = sum(n for (_, guess), n in counts.items() if guess in roles)
    expected = sum(n for (expert, _), n in counts.items() if expert in roles)
    return right / guessed if guessed else 1.0, right / expected if expected else 1.0, expected
