"""A small table and how its columns are used, for the tests of the command line."""

import re

PREVIOUS = b"the,previous\nrelease,stays\n"
ROLES = ["--qi", "age,zip,sex", "--sensitive", "diagnosis", "--identifier", "name"]
DIAGNOSES = ("asthma", "flu", "migraine")


_PROGRESS = re.compile(
    r".+: [\d,]+( of [\d,]+ \(\d+%\))?(, [\d.]+( [kM])? rows/s(, [\d:]+ left)?)?"
    r"|.+ \.\.\. \([\d:]+ since the start\)"
)


def but_progress(lines):
    """What a command said beside how far it is, which only a busy machine hears."""
    return [line for line in lines if not _PROGRESS.fullmatch(line)]


def patients(n_rows=40):
    """A table as CSV; its texts hold SECRET, so that a message that shows a cell is found."""
    rows = (
        f"SECRET-{row},{20 + 7 * row % 50},SECRET-47{row % 6}0,"
        f"{'SECRET-F' if row % 3 else 'M'},SECRET-{DIAGNOSES[row // 2 % 3]}"
        for row in range(n_rows)
    )
    return "\n".join(["name,age,zip,sex,diagnosis", *rows]) + "\n"
