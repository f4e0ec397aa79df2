"""What it costs to keep further columns of wide tables, and what to drop them.

Run: python -m benchmarks.init.wide
Four real tables, k = 5: detail lost over all columns that others may know, where those that are
not kept lose all of it, for several lengths of the list of quasi-identifiers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest.mock import patch

import shoal
from benchmarks.init.real import content_of, fetch, real_tables
from shoal.profile import guess
from shoal.profile.suggest import look_at
from shoal.settings.files import Input

TABLES = ("ecdat-mroz", "ecdat-ofp", "wooldridge-fringe", "wooldridge-wage1")
LENGTHS = (10, 15, 20, 25)
K = 5


def main() -> None:
    """Print a line for each table and length."""
    fetch()
    for table in (each for each in real_tables() if each.name in TABLES):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            path.write_bytes(content_of(table))
            with patch.object(guess, "MOST_QUASI", 10_000):
                every = len(look_at(Input(path=str(path)))[0].arguments()["quasi_identifiers"])
            for length in LENGTHS:
                with patch.object(guess, "MOST_QUASI", length):
                    found, frame = look_at(Input(path=str(path)))
                asked = {**found.arguments(), "k": K, "privacy": []}
                kept = len(asked["quasi_identifiers"])
                lost = kept * shoal.anonymize(frame, **asked).scores["ncp"] + every - kept
                print(f"{table.name}: {kept} of {every} kept, {lost / every:.3f} lost")


if __name__ == "__main__":
    main()
