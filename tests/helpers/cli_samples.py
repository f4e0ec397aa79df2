"""A small table and how its columns are used, for the tests of the command line."""

PREVIOUS = b"the,previous\nrelease,stays\n"
ROLES = ["--qi", "age,zip,sex", "--sensitive", "diagnosis", "--identifier", "name"]
DIAGNOSES = ("asthma", "flu", "migraine")


def patients(n_rows=40):
    """A table as CSV; its texts hold SECRET, so that a message that shows a cell is found."""
    rows = (
        f"SECRET-{row},{20 + 7 * row % 50},SECRET-47{row % 6}0,"
        f"{'SECRET-F' if row % 3 else 'M'},SECRET-{DIAGNOSES[row // 2 % 3]}"
        for row in range(n_rows)
    )
    return "\n".join(["name,age,zip,sex,diagnosis", *rows]) + "\n"
