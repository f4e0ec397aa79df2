"""Release files that are damaged and whose hash is right: one sentence and a status, always.

What a release keeps (`.shoal`) and its private half (`.people`) are JSON under a hash. Here a part
of the JSON is replaced by something else and the hash is made anew, as somebody would who wants
the reader to fall over. Every command that reads such a file is tried.
"""

from __future__ import annotations

import hashlib
import json
import random
from functools import cache
from typing import TYPE_CHECKING, Any

from fuzz.commands import judge
from fuzz.parts import Outcome, crashed, empty_folder, run_command
from fuzz.tables import token

if TYPE_CHECKING:
    from pathlib import Path

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, 2**31, 2**63, 10**30, "", " ", "x", "0", "*",
    "age", "home", "\x00", "\ud800", "é", "x" * 3000, [], [None], [[]], {}, {"a": 1}, "numeric",
    "categorical", "quasi-identifier", "sensitive", "person", "interval", "i64", "Int64", "String",
    "powers of 10", "level 3", [1, "a", None], "AAAA", "=", "[1-2]",
)  # fmt: skip
COMMANDS: tuple[list[str], ...] = (
    ["apply", "new.csv", "--release", "a.shoal", "-o", "more.csv", "--save", "b.shoal"],
    ["register", "."],
    ["anonymize", "new.csv", "-o", "next.csv", "--previous", "a.shoal", "--k", "2", "--qi",
     "age,home", "--sensitive", "ill", "--person", "id", "--algorithm", "mondrian"],
)  # fmt: skip
PLANTED = [token(random.Random(f"kept {number}"), 12) for number in range(24)]


def run(seed: str, folder: Path) -> Outcome:
    """Give one damaged release file to one command."""
    rng = random.Random(seed)
    files = dict(_sound())
    which = rng.choice(("a.shoal", "a.shoal", "a.shoal.people"))
    files[which] = damaged(rng, files[which])
    if which == "a.shoal" and rng.random() < 0.7:
        files["a.shoal.people"] = _belonging(files["a.shoal.people"], files["a.shoal"])
    if rng.random() < 0.2:
        del files["a.shoal.people"]
    for name, data in files.items():
        (folder / name).write_bytes(data)
    words = list(rng.choice(COMMANDS))
    before = _digests(folder)
    try:
        ran = run_command(words, folder)
    except Exception as error:
        return crashed(error, which)
    verdict, problems = judge(words, ran, before, _digests(folder), PLANTED)
    return Outcome(verdict, problems and [repr(words), *problems], f"{which} {words[0]}")


@cache
def _sound() -> dict[str, bytes]:
    """Return a release that was kept, and rows that came later."""
    people = [(PLANTED[i], 20 + 3 * i, ("north", "south")[i % 2], ("flu", "gout")[i // 2 % 2])
              for i in range(24)]  # fmt: skip
    texts = [",".join(map(str, row)) for row in people]
    with empty_folder() as folder:
        (folder / "old.csv").write_text("id,age,home,ill\n" + "\n".join(texts[:12]) + "\n")
        words = ["anonymize", "old.csv", "-o", "safe.csv", "--save", "a.shoal", "--k", "2", "--qi"]
        words += ["age,home", "--sensitive", "ill", "--person", "id", "--algorithm", "mondrian"]
        words += ["--l-diversity", "2", "--l-kind", "distinct", "--grid", "age=5", "--quiet"]
        ran = run_command(words, folder)
        if ran.status:
            message = f"no release was kept: {ran.err!r}"
            raise RuntimeError(message)
        found = {name: (folder / name).read_bytes() for name in ("a.shoal", "a.shoal.people")}
    return found | {"new.csv": ("id,age,home,ill\n" + "\n".join(texts[12:]) + "\n").encode()}


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Return a release file with a few parts replaced, and a hash that is right."""
    head, _, body = data.partition(b"\n")
    said = json.loads(body)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _replace(rng, said)
    return _packed(head, said)


def _packed(head: bytes, said: Any) -> bytes:
    body = json.dumps(said).encode()
    right = {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    return json.dumps(json.loads(head) | right).encode() + b"\n" + body + b"\n"


def _belonging(people: bytes, release: bytes) -> bytes:
    """Return the private half as that of another release file."""
    head, _, body = people.partition(b"\n")
    said = json.loads(body) | {"of": hashlib.sha256(release).hexdigest()}
    return _packed(head, said)


def _replace(rng: random.Random, said: Any) -> None:
    """Replace, remove or repeat something at a random place below."""
    while True:
        places = list(said) if isinstance(said, dict) else list(range(len(said)))
        if not places:
            return
        at = rng.choice(places)
        if isinstance(said[at], dict | list) and said[at] and rng.random() < 0.75:
            said = said[at]
            continue
        way = rng.random()
        if way < 0.6:
            said[at] = rng.choice(ODD)
        elif way < 0.8:
            del said[at]
        elif isinstance(said, list):
            said.insert(rng.randrange(len(said) + 1), said[at])
        else:
            said[rng.choice(("k", "name", "cells", "x"))] = said[at]
        return


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
