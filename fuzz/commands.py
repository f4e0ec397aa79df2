"""Mutated command lines: whatever is typed ends in one sentence and the right exit status.

Most run inside this process, through the function that the program itself calls; a share runs as
real processes. After each, the streams and the folder are looked at.
"""

from __future__ import annotations

import csv
import hashlib
import io
import random
import re
import sqlite3
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from fuzz.parts import (
    BROKEN,
    CRASHED,
    HELD,
    LEAKED,
    REFUSED,
    Outcome,
    Ran,
    crashed,
    run_command,
    run_process,
)
from fuzz.tables import token

if TYPE_CHECKING:
    from pathlib import Path

PLANTED = [token(random.Random(f"commands {number}"), 12) for number in range(30)]
STATUSES = {0, 1, 2, 130, 143}
ROLES = ["--qi", "age,zip,sex", "--sensitive", "illness", "--drop", "name,note"]
OUTPUTS = ("-o", "--output", "--certificate", "--report", "--out", "--save", "--log")
TEMPLATES: tuple[list[str], ...] = (
    ["anonymize", "data.csv", "-o", "safe.csv", "--k", "3", *ROLES, "--algorithm", "mondrian"],
    ["anonymize", "data.parquet", "-o", "safe.parquet", "-k", "2", *ROLES, "--algorithm", "kaca"],
    ["anonymize", "data.csv", "-o", "safe.xlsx", "--job", "job.toml", "--certificate", "c.json"],
    [
        "anonymize",
        "data.csv",
        "-o",
        "old.csv",
        "--replace",
        "--job",
        "job.toml",
        "--report",
        "r.html",
    ],
    ["anonymize", "data.csv", "-o", "-", "--job", "job.toml", "--quiet"],
    ["anonymize", "data.csv", "--dry-run", "--k", "3", *ROLES, "--algorithm", "hilbert"],
    [
        *("anonymize", "data.csv", "-o", "a.jsonl", "--k", "2", *ROLES, "--l-diversity", "2"),
        *("--l-kind", "distinct", "--privacy-column", "illness", "--max-suppression", "0.1"),
    ],
    [
        *("anonymize", "data.csv", "-o", "a.arrow", "--k", "2", *ROLES, "--t-closeness", "0.5"),
        *("--numeric-output", "bounds", "--missing", "suppress", "--seed", "7", "--threads", "1"),
    ],
    ["anonymize", "data.csv", "-o", "b.csv.gz", "-k", "2", *ROLES, "--hierarchy", "zip=zip.csv"],
    [
        "anonymize",
        "sqlite:///data.db?table=people",
        "-o",
        "sqlite:///safe.db?table=safe",
        "-k",
        "2",
        *ROLES,
    ],
    ["verify", "data.csv", "--k", "2", "--qi", "age,zip"],
    ["verify", "good.csv", "--k", "2", "--qi", "age,zip,sex", "--sensitive", "illness"],
    [
        "verify",
        "good.csv",
        "--k",
        "2",
        "--qi",
        "age,zip,sex",
        "--sensitive",
        "illness",
        "--l-diversity",
        "2",
        "--alpha",
        "0.9",
    ],
    ["score", "data.csv", "good.csv", "--qi", "age,zip,sex", "--sensitive", "illness"],
    ["audit", "data.csv", "good.csv", "--qi", "age,zip,sex", "--sensitive", "illness"],
    ["utility", "data.csv", "good.csv", "--qi", "age,zip,sex", "--sensitive", "illness"],
    [
        "refine",
        "data.csv",
        "--groups",
        "groups.csv",
        "-o",
        "fine.csv",
        "-k",
        "2",
        *ROLES,
        "--effort",
        "fast",
        "--seconds",
        "1",
    ],
    ["hierarchy", "check", "zip.csv", "--data", "data.csv", "--column", "zip"],
    [
        "hierarchy",
        "build",
        "data.csv",
        "--column",
        "zip",
        "--method",
        "prefix",
        "--keep",
        "3,1",
        "-o",
        "tree.csv",
    ],
    [
        "hierarchy",
        "build",
        "data.csv",
        "-c",
        "age",
        "--method",
        "interval",
        "--widths",
        "5,10",
        "--output",
        "ages.csv",
    ],
    ["init", "data.csv", "-o", "new.toml", "--yes"],
    ["explain", "data.csv", "--k", "2", *ROLES, "--out", "why.json", "--algorithm", "mondrian"],
    ["compare", "data.csv", *ROLES, "-k", "2,3", "--algorithms", "mondrian", "--report", "f.html"],
    ["algorithms"],
    ["measures"],
    ["privacy-models"],
    ["--version"],
    ["--help"],
    ["anonymize", "--help"],
)
ODD = (
    "", " ", "-", "--", "0", "-1", "1e400", "nan", "inf", "99999999999999999999", "0.0000001",
    "1e-320", "٣", "three", "true", "[]", "{}", "'", '"', ";", "\x00", "a\x00b", "\u202e", "🐟",
    "\ud800", "é" * 300, "x" * 5000, "../..", ".", "/", "no/such/folder/x.csv", "data.csv",
    "zip.csv", "job.toml", "old.csv", "folder", "folder/x.csv", "loop.csv", "empty.csv",
    "broken.toml", "age", "age,age", "age,,zip", "=", "zip=", "=zip.csv", "zip=zip.csv",
    "age=zip.csv", "zip=nothing.csv", "sqlite:///data.db", "sqlite:///data.db?table=people",
    "sqlite:///no.db?table=x", "sqlite:///data.db?table=no", "postgresql://u:p@/x",
    "sqlite:///zip.csv?table=x", "http://u:p@localhost/x.csv", "%s%n", "\x1b[31m", "$(id)",
    "suppress", "category", "error", "fail", "replace", "fast", "best", "entropy", "recursive",
    "ordered", "equal", "bounds", "struct", "mean", "median", "mondrian", "k-member", "auto",
    "incognito", "ncp", "pmi", "cm", "csv", "parquet", "xlsx", "jsonl", "csv.gz", ",", "tab", "||",
)  # fmt: skip
FLAGS = (
    "--k", "-k", "--qi", "--sensitive", "--identifier", "--insensitive", "--drop", "--hierarchy",
    "--kind", "--order", "--weight", "--l-diversity", "--l-kind", "--l-c", "--t-closeness",
    "--t-distance", "--alpha", "--privacy-column", "--max-suppression", "--algorithm",
    "--algorithm-option", "--measure", "--measure-option", "--seed", "--threads", "--block-rows",
    "--effort", "--refine", "--bound", "--missing", "--missing-values", "--delimiter", "--format",
    "--output-format", "--if-exists", "--replace", "--json", "--log", "--encoding",
    "--no-header", "--decimal", "--unknown-values", "--numeric-output", "--certificate", "--report",
    "--explanation", "--sampling-fraction", "--no-shuffle", "--dry-run", "--no-memory-check",
    "--quiet", "-q", "--debug", "--job", "-o", "--output", "--force", "--yes", "--rows",
    "--algorithms", "--measures", "--list-missing", "--data", "--column", "--groups", "--nonsense",
    "-z", "--K", "--help", "--strict", "--json", "--grid", "--no-grid", "--mask", "--keep",
    "--levels", "--fanout",
)  # fmt: skip


def run(seed: str, folder: Path) -> Outcome:
    """Run one mutated command line."""
    rng = random.Random(seed)
    furnish(folder)
    words = mutate(rng, list(rng.choice(TEMPLATES)))
    before = _contents(folder)
    as_process = rng.random() < 0.004
    if as_process:  # which takes neither of these characters
        words = [word.replace("\x00", "").replace("\ud800", "") for word in words]
    try:
        ran = run_process(words, folder) if as_process else run_command(words, folder)
    except Exception as error:
        outcome = crashed(error)
        outcome.detail.insert(0, repr(words))
        return outcome
    verdict, problems = judge(words, ran, before, _contents(folder), PLANTED)
    note = f"{words[0] if words else ''} {ran.status}"
    return Outcome(verdict, problems and [repr(words), *problems], note[:40])


def furnish(folder: Path) -> None:
    """Fill a folder with inputs of every kind."""
    for name, data in _inputs().items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    (folder / "loop.csv").symlink_to("loop.csv")


@cache
def _inputs() -> dict[str, bytes]:
    n, ill = 12, PLANTED[24:]
    header = ["name", "age", "zip", "sex", "illness", "note"]
    rows = [
        [PLANTED[i], 20 + i * 3, f"4790{i % 6}", "FM"[i % 2], ill[i % 3], PLANTED[n + i]]
        for i in range(n)
    ]
    text, parquet = io.StringIO(), io.BytesIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    pl.DataFrame(rows, schema=header, orient="row").write_parquet(parquet)
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE people (name, age INTEGER, zip, sex, illness, note)")
    base.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)
    base.commit()
    roles = {"age": "quasi-identifier", "zip": "quasi-identifier", "sex": "quasi-identifier",
             "illness": "sensitive", "name": "identifier", "note": "drop"}  # fmt: skip
    job = ['k = 3\nalgorithm = "mondrian"\nseed = 5\n']
    job += [f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items()]
    good = "age,zip,sex,illness\n" + "".join(f"*,4790*,*,{ill[i % 3]}\n" for i in range(n))
    texts = {
        "data.csv": text.getvalue(),
        "zip.csv": "".join(f"4790{i};4790*;*\n" for i in range(6)),
        "groups.csv": "group\n" + "".join(f"{i // 3}\n" for i in range(n)),
        "good.csv": good,
        "old.csv": "what was here before\n",
        "empty.csv": "",
        "broken.toml": "k = = 3\n",
        "job.toml": "".join(job),
    }
    made = {name: each.encode() for name, each in texts.items()}
    return made | {"data.parquet": parquet.getvalue(), "data.db": base.serialize()}


def mutate(rng: random.Random, words: list[str]) -> list[str]:
    """Change a few words."""
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5))):
        place = rng.randrange(len(words) + 1)
        kind = rng.randrange(7)
        if kind == 0 and words:
            words.pop(min(place, len(words) - 1))
        elif kind == 1 and words:
            words[min(place, len(words) - 1)] = rng.choice(ODD)
        elif kind == 2:
            words[place:place] = [rng.choice(FLAGS)]
        elif kind == 3:
            words[place:place] = [rng.choice(FLAGS), rng.choice(ODD)]
        elif kind == 4 and len(words) > 1:
            a, b = rng.randrange(len(words)), rng.randrange(len(words))
            words[a], words[b] = words[b], words[a]
        elif kind == 5 and words:
            words.insert(place, rng.choice(words))
        elif words:
            at = rng.randrange(len(words))
            words[at] = _scribble(rng, words[at])
    return [word for word in words if word not in ("demo", "--install-completion")]


def _scribble(rng: random.Random, word: str) -> str:
    letters = list(word)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(letters) + 1)
        if letters and rng.random() < 0.5:
            letters.pop(min(at, len(letters) - 1))
        else:
            letters.insert(at, rng.choice("0-=,.x é\x00\n🐟"))
    return "".join(letters)


def judge(
    words: list[str], ran: Ran, before: dict[str, str], after: dict[str, str], planted: list[str]
) -> tuple[str, list[str]]:
    """Return what became of a command, and what is wrong with it."""
    err = ran.err.decode("utf-8", "replace")
    problems = []
    if ran.status not in STATUSES:
        problems.append(f"exit status {ran.status}: {err[-1500:]}")
    debug = "--debug" in words
    if not debug and ("Traceback" in err or "panicked" in err):
        problems.append(f"a traceback: {err[-1500:]}")
    if problems:
        return CRASHED, problems
    seen = [ran.err] if _streams(words) else [ran.err, ran.out]
    # What costs most is told in the cells that would be published: with other roles, any.
    ours = "explain" not in words or "\0".join(ROLES) in "\0".join(words)
    told = [text for text in planted if ours and any(text.encode() in each for each in seen)]
    if told and not debug and "--list-missing" not in words:
        return LEAKED, [f"{told[:3]} on the streams: {err[-500:]!r} {ran.out[-500:]!r}"]
    problems += _sentence(ran, err) if not debug else []
    problems += _changes(words, ran, before, after)
    if problems:
        return BROKEN, problems
    return (HELD if ran.status == 0 else REFUSED), []


def _streams(words: list[str]) -> bool:
    """Return whether an output of the command goes to standard output."""
    return "-" in words or any(word.endswith(("=-", "-o-", "/dev/stdout")) for word in words)


def _sentence(ran: Ran, err: str) -> list[str]:
    errors = [line for line in err.splitlines() if line.startswith("Error:")]
    if ran.status == 0 and errors:
        return [f"an error and exit status 0: {errors}"]
    if ran.status == 2 and len(errors) != 1:
        return [f"exit status 2 with {len(errors)} errors: {err[-800:]}"]
    return []


def _logs(words: list[str]) -> set[str]:
    """Return the names that may be those of a log, which tells of runs that failed, too."""
    after = {after for word, after in pairwise(words) if word == "--log"}
    return after | {word.removeprefix("--log=") for word in words if word.startswith("--log=")}


def _changes(
    words: list[str], ran: Ran, before: dict[str, str], after: dict[str, str]
) -> list[str]:
    """Say which files changed that must not have."""
    changed = [name for name, digest in before.items() if after.get(name) != digest]
    new = sorted(after.keys() - before.keys() - _logs(words))
    stray = [name for name in new if re.search(r"\.shoal-|\.tmp$|-journal$|-wal$", name)]
    if stray:
        return [f"left behind: {stray}"]
    if ran.status and (changed or new):
        return [f"exit status {ran.status}, but changed {changed} and made {new}"]
    wrong = [name for name in changed if not _named_as_output(name, words)]
    return [f"changed {wrong}, which is no output of the command"] if wrong else []


def _named_as_output(name: str, words: list[str]) -> bool:
    """Return whether a file is named where outputs are, and nowhere else."""
    outputs = {
        place
        for place, word in enumerate(words)
        if any(word.startswith(f"{option}=") for option in OUTPUTS)
        or (word.startswith("-o") and len(word) > 2)
        or (place and words[place - 1] in OUTPUTS)
    }
    named = [place for place, word in enumerate(words) if name in word]
    return bool(named) and set(named) <= outputs


def _contents(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
