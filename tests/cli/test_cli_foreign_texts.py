"""Facts about texts of others on a screen: no cell, no password, nothing that steers it."""

import ast
import re
from pathlib import Path

import pytest
from tests.helpers.cli_samples import ROLES, but_progress, patients
from tests.helpers.effort import further

import shoal.cli
from shoal.runtime.sanitize import hide_credentials, hide_words, safe_lines, safe_text

CODE = Path(shoal.cli.__file__).parent
EVIL = "ag\x1b]0;owned\x07e\x9b2J\u202eth\u2066gir\r\x08"
# What may stand on a screen: printable characters and line ends.
UNSAFE = re.compile("[^\\S\n ]|[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def test_a_safe_text_is_one_printable_line_of_bounded_length():
    for text in (EVIL, "\n", "a" * 10_000, "\ud800", "\u2028", "\x00", EVIL * 1000):
        shown = safe_text(text)
        assert shown.isprintable()
        assert len(shown) <= 200 * 10
        assert shown.encode()


def test_a_plain_text_is_shown_as_it_is():
    for text in ("Größe (cm)", "年龄", "a b", "It's"):
        assert safe_text(text) == safe_lines(text) == text


def test_everything_is_printed_through_one_door():
    # JSON in ASCII escapes whatever could steer a terminal
    allowed = {"screen.py": {"echo"}, "program.py": {"print"}}
    found = []
    for path in CODE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            is_own = (
                isinstance(node.func, ast.Name)
                or getattr(getattr(node.func, "value", None), "id", "") == "typer"
            )
            fixed = all(
                isinstance(each, ast.Constant)
                or "get_help" in ast.dump(each)
                or "version" in ast.dump(each)
                for each in node.args
            )
            prints = is_own and name in {"print", "echo", "secho", "Console"} and not fixed
            if prints and name not in allowed.get(path.name, ()):
                found.append(f"{path.name}:{node.lineno} {name}")
    assert found == []


# Column names and file names


@pytest.fixture
def evil_table(tmp_path):
    path = tmp_path / f"data{EVIL.replace('/', '')}.csv"
    text = patients().replace("age", f'"{EVIL}"', 1)
    path.write_bytes(text.encode())
    return path


def commands(table, folder):
    roles = ["--qi", f"{EVIL},sex", "--sensitive", "diagnosis", "--identifier", "name"]
    drop = ["--drop", "zip"]
    return {
        "anonymize": ["anonymize", table, "-o", folder / f"o{EVIL}.csv", "--k", 3, *roles, *drop],
        "dry run": ["anonymize", table, "--dry-run", "--k", 3, *roles, *drop],
        "no role": ["anonymize", table, "-o", folder / "o.csv", "--k", 3, "--qi", "sex"],
        "unknown": ["anonymize", table, "-o", folder / "o.csv", "--k", 3, "--qi", f"x{EVIL}"],
        "kind": [
            "anonymize",
            table,
            "-o",
            folder / "o.csv",
            "--k",
            3,
            *roles,
            *drop,
            "--kind",
            f"{EVIL}={EVIL}",
        ],
        "no file": ["anonymize", folder / f"{EVIL}.csv", "-o", folder / "o.csv", "--k", 3, *ROLES],
        "no folder": ["anonymize", table, "-o", folder / EVIL / "o.csv", "--k", 3, *roles, *drop],
        "no job": ["anonymize", table, "-o", folder / "o.csv", "--job", folder / EVIL],
        "no option": ["anonymize", table, f"--{EVIL}"],
        "no command": [EVIL],
        "verify": ["verify", table, "--k", 2, "--qi", EVIL],
        "score": ["score", table, table, "--qi", f"{EVIL},sex"],
        "audit": ["audit", table, table, "--qi", f"{EVIL},sex", "--sensitive", "diagnosis"],
        "utility": ["utility", table, table, "--qi", f"{EVIL},sex"],
        "explain": ["explain", table, "--k", 3, *roles, *drop, "--algorithm", "mondrian"],
        "compare": ["compare", table, "--k", 2, *roles, *drop, "--algorithms", "mondrian"],
        "init": ["init", table, "--yes", "-o", folder / f"job{EVIL}.toml"],
        "build": ["hierarchy", "build", table, "-c", EVIL, "-o", folder / f"h{EVIL}.csv"],
        "check": ["hierarchy", "check", table],
    }


@pytest.mark.parametrize("which", commands("", Path()))
def test_nothing_that_steers_a_terminal_is_printed(shoal_runs, tmp_path, evil_table, which):
    outcome = shoal_runs(*commands(evil_table, tmp_path)[which])
    assert outcome.status in {0, 1, 2}, outcome.err
    assert outcome.out + outcome.err
    for text in (outcome.out, outcome.err):
        assert UNSAFE.search(text) is None, ascii(UNSAFE.search(text))


def test_values_that_are_listed_on_request_do_not_steer_a_terminal(shoal_runs, tmp_path):
    (tmp_path / "a.csv").write_bytes(f'a\n"{EVIL}"\nx\n'.encode())
    (tmp_path / "h.csv").write_text("x;*\n", encoding="utf-8")
    outcome = shoal_runs(
        "hierarchy",
        "check",
        tmp_path / "h.csv",
        "--data",
        tmp_path / "a.csv",
        "-c",
        "a",
        "--list-missing",
    )
    assert outcome.status == 2
    assert "owned" in outcome.out
    assert UNSAFE.search(outcome.out) is None


# A first line that is data


HEADERLESS = [
    ("numbers", "SECRET-1,31,SECRET-flu\nSECRET-2,47,SECRET-gout\nSECRET-3,47,SECRET-flu\n"),
    ("repeated", "SECRET-a,Secret-F,SECRET-flu\nSECRET-b,Secret-F,SECRET-x\nSECRET-c,y,z\n"),
    ("dates", "SECRET-a,1970-01-02,SECRET-flu\nSECRET-b,1970-01-03,SECRET-x\n"),
    ("mail", "SECRET-a,a@SECRET.org,SECRET-flu\nSECRET-b,b@SECRET.org,SECRET-x\n"),
    ("words", "SECRET-Anna,SECRET-Oslo,SECRET-flu\nSECRET-Bo,SECRET-Rome,SECRET-x\n"),
]


@pytest.mark.parametrize(("_", "text"), HEADERLESS, ids=[name for name, _ in HEADERLESS])
@pytest.mark.parametrize(
    "command",
    [
        ["anonymize", "?", "-o", "o.csv", "--k", "2", "--qi", "age"],
        ["anonymize", "?", "-o", "o.csv", "--k", "2", "--qi", "SECRE-1"],
        ["anonymize", "?", "-o", "o.csv", "--k", "2", "--qi", "column_9", "--drop", "a,b"],
        ["verify", "?", "--k", "2", "--qi", "age"],
        ["score", "?", "?", "--qi", "age"],
        ["audit", "?", "?", "--qi", "age"],
        ["utility", "?", "?", "--qi", "age"],
        ["explain", "?", "--k", "2", "--qi", "age"],
        ["compare", "?", "--k", "2", "--qi", "age"],
        ["hierarchy", "build", "?", "-c", "SECRET-flue", "-o", "h.csv"],
    ],
    ids=lambda words: " ".join(words[:1] + words[-2:]),
)
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_first_line_that_may_be_data_is_not_shown(
    shoal_runs, tmp_path, monkeypatch, _, text, command, ending
):
    import polars as pl

    # on a fresh machine, too, a wrong column is said before anything is compiled
    monkeypatch.setattr("shoal.algorithm.warm_up._missing", list)
    monkeypatch.chdir(tmp_path)
    file = f"data.{ending}"
    if ending == "csv":
        Path(file).write_text(text, encoding="utf-8")
    else:
        pl.read_csv(text.encode()).write_excel(file)
    outcome = shoal_runs(*(file if word == "?" else word for word in command))
    assert outcome.status == 2, outcome.out
    for typed in ("SECRE-1", "SECRET-flue"):
        outcome.err = outcome.err.replace(typed, "")
    assert "secret" not in outcome.err.casefold(), outcome.err
    assert len(but_progress(outcome.err.splitlines())) == 1


def test_init_does_not_show_a_first_line_that_may_be_data(shoal_runs, tmp_path):
    (tmp_path / "a.csv").write_text(HEADERLESS[0][1], encoding="utf-8")
    outcome = shoal_runs("init", tmp_path / "a.csv", "--yes", "-o", tmp_path / "job.toml")
    assert outcome.status == 0, outcome.err
    assert "SECRET" not in outcome.out
    assert "column 2" in outcome.out
    assert "run this again with --no-header" in " ".join(outcome.out.split())


@pytest.mark.parametrize(
    "header", ["zip,age,x", "Alter;PLZ;Ort", "q1,q2,q3", "a,b,c", "V001,V002,V003"]
)
def test_a_line_of_names_is_shown(shoal_runs, tmp_path, header):
    mark = ";" if ";" in header else ","
    rows = "".join(f"{n}{mark}{n % 3}{mark}x{n}\n" for n in range(9))
    (tmp_path / "a.csv").write_text(f"{header}\n{rows}", encoding="utf-8")
    first = header.split(mark)[0]
    outcome = shoal_runs(
        "anonymize", tmp_path / "a.csv", "-o", tmp_path / "o.csv", "--k", 2, "--qi", first
    )
    assert outcome.status == 2
    assert header.split(mark)[1] in outcome.err


# Files that are no hierarchies


SYSTEM_FILE = "root:x:0:0:root:/root:/bin/bash\nSECRET:x:1:1:SECRET:/SECRET:/bin/sh\n"
OTHERS = [
    SYSTEM_FILE,
    "SECRET;A;*\nSECRET;B;*\n",
    "a;SECRET;*\nb;SECRET;x\n",
    "a;SECRET;SECRET2;*\nb;SECRET2;SECRET;*\n",
    "SECRET;b;*\nb;SECRET;*\n",
    "SECRET = 1\nSECRET2 = 2\n",
    '"SECRET\n',
    "SECRET;;*\n",
]


@pytest.mark.parametrize("text", OTHERS, ids=range(len(OTHERS)))
def test_a_file_that_is_no_hierarchy_is_not_shown(shoal_runs, tmp_path, table, text):
    (tmp_path / "h.csv").write_text(text, encoding="utf-8")
    for command in (
        ["hierarchy", "check", tmp_path / "h.csv"],
        [
            "anonymize",
            table,
            "-o",
            tmp_path / "o.csv",
            "--k",
            3,
            *ROLES,
            "--hierarchy",
            f"zip={tmp_path / 'h.csv'}",
        ],
    ):
        outcome = shoal_runs(*command)
        assert outcome.status == 2
        assert "h.csv" in outcome.err
        assert "SECRET" not in outcome.err
        assert "bash" not in outcome.err


# Passwords


URLS = [
    "postgres:/user:{}@host/db?table=t",
    "postgresql//user:{}@host/db?table=t",
    "postgresql:user:{}@host/db?table=t",
    "postgres:///user:{}@host/db",
    "user:{}@host/db",
    "user:{}@host:5432/db?table=t",
    "//user:{}@host/db",
    "posgresql:/user:{}@host/db.csv",
    "mysql://user:{}@host/db",
    "postgresql://user:{}@host:port/db?table=t",
    "postgresql:// user:{}@host/db?table=t",
    "jdbc:postgresql://user:{}@host/db",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(
    "password",
    further(
        ["s3cr3t/pa:ss", "s3cr3t", "s3cr3t%2Fpa%3Ass", "s3 cr3t@pass"],
        lambda password: not password.isidentifier() and "%" not in password,
    ),
)
def test_a_password_in_a_mistyped_url_is_not_shown(shoal_runs, tmp_path, table, url, password):
    typed = url.format(password)
    base = ["--k", 3, *ROLES]
    for command in (
        ["anonymize", typed, "-o", tmp_path / "o.csv", *base],
        ["anonymize", table, "-o", typed, *base],
        ["anonymize", table, "-o", tmp_path / "o.csv", "--report", typed, *base],
        ["anonymize", table, "-o", tmp_path / "o.csv", "--job", typed],
        ["anonymize", table, "-o", tmp_path / "o.csv", *base, "--hierarchy", f"zip={typed}"],
        ["verify", typed, "--k", 2, "--qi", "a"],
        ["init", typed, "-o", tmp_path / "job.toml"],
        ["compare", table, *base, "--out", typed],
        [typed],
    ):
        outcome = shoal_runs(*command)
        assert outcome.status == 2, outcome.out
        for piece in ("s3cr3t", "s3 cr3t", "cr3t@", "pa:ss", "pa%3Ass", ":ss@"):
            assert piece not in outcome.out + outcome.err, outcome.err


def test_words_that_are_no_url_are_left_alone():
    for text in ("Error: there is no file 'a@b.csv'.", "Column 'e-mail @ home' is fine.", "a: b@c"):
        assert hide_credentials(text) == text
        assert hide_words(text, ["anonymize", "a@b.csv", "--qi", "x"]) == text
