"""URLs of tables: how they are read, and that no message ever shows who gets in and how."""

import pickle
import sqlite3

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.atomic import atomic_write_text
from shoal.io.location import is_database, parse_location, shown_name, typed_name
from shoal.runtime.sanitize import hide_credentials

SECRETS = ("alice", "geheim", "hunter2")


def test_the_parts_of_a_postgresql_url():
    found = parse_location(
        "postgres://al%40ice:p%3Aw@Host.example:5433/cli%20nic?table=s.t&sslmode=require"
    )
    assert found.options == {
        "sslmode": "require",
        "host": "Host.example",
        "port": "5433",
        "user": "al@ice",
        "password": "p:w",
        "dbname": "cli nic",
    }
    assert (found.schema, found.table) == ("s", "t")
    assert found.shown == "postgresql://Host.example:5433/cli nic?table=s.t"


@pytest.mark.parametrize(
    ("text", "schema", "table"),
    [
        ("t", None, "t"),
        ("s.t", "s", "t"),
        ('"s.t"', None, "s.t"),
        ('"a""b".t', 'a"b', "t"),
        ("a b", None, "a b"),
    ],
)
def test_a_table_is_named_as_in_sql(text, schema, table):
    found = parse_location(f"postgresql://h/d?table={text}")
    assert (found.schema, found.table) == (schema, table)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///a/b.db?table=t", "a/b.db"),
        ("sqlite:////a/b.db?table=t", "/a/b.db"),
        ("sqlite:///a%20b%23.db?table=t", "a b#.db"),
    ],
)
def test_the_path_of_an_sqlite_url(url, path):
    assert str(parse_location(url).path) == path


def test_files_are_no_urls(tmp_path):
    names = ("a.csv", "-", "/a/b.csv", "C:\\a.csv", "odd:name.csv", tmp_path)
    assert [is_database(name) for name in names] == [False] * len(names)
    assert shown_name("a@b.csv") == "a@b.csv"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://alice:geheim@h/d",
        "postgresql://alice:geheim@h/d?table=",
        "postgresql://alice:geheim@h/d?table=a.b.c",
        "postgresql://alice:ge/heim@h/d?table=t",
        "postgresql://alice:5/geheim@h/d?table=t",
        "postgresql://alice:ge#heim@h/d?table=t",
        "postgresql://alice:5?geheim@h/d?table=t",
        "postgresql://alice:geheim@h:port/d?table=t",
        "postgresql://alice:geheim@[h/d?table=t",
        "postgresql://alice:geheim@h/d?table=t&table=u",
        "mysql://alice:geheim@h/d?table=t",
        "sqlite://alice:geheim@h/d.db?table=t",
        "sqlite:///d.db?table=t&password=geheim",
        "sqlite:///d.db?table=s.t",
    ],
)
@pytest.mark.parametrize("use", ["read", "write"])
def test_a_url_that_cannot_be_read_is_an_error_without_its_password(url, use):
    call = {
        "read": lambda: shoal.read_table(url),
        "write": lambda: shoal.write_table(pl.DataFrame({"a": [1]}), url),
    }[use]
    with pytest.raises(shoal.OptionError) as caught:
        call()
    text = str(caught.value) + shown_name(url)
    assert not [
        part for part in ("alice", "geheim", "heim") if part in text.replace("geheim***", "")
    ]
    assert caught.value.__cause__ is None


def test_credentials_disappear_from_any_text():
    text = (
        "a 'postgresql://alice:geheim@h/d' b mysql://alice:ge@heim/x@h "
        "c postgresql:/alice:geheim@h "
        "d postgresql://h/d?user=x&password=hunter2&table=t e a@b.example"
    )
    hidden = hide_credentials(text)
    assert not [secret for secret in (*SECRETS, "heim") if secret in hidden]
    assert hidden.endswith("&table=t e a@b.example")


def test_a_location_does_not_show_how_to_get_in():
    found = parse_location("postgresql://alice:geheim@h/d?table=t&sslpassword=hunter2")
    assert not [secret for secret in SECRETS if secret in f"{found!r} {found} {found.shown}"]
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own


def test_a_url_where_a_file_is_needed_is_an_error_without_its_password():
    with pytest.raises(shoal.DataError) as caught:
        atomic_write_text("postgresql://alice:geheim@h/d/x", "text")
    assert not [secret for secret in SECRETS if secret in str(caught.value)]


def test_a_missing_table_is_named_and_a_close_one_proposed(place):
    shoal.write_table(pl.DataFrame({"a": [1]}), place("patients"))
    with pytest.raises(shoal.DataError, match=r"no table 'patient' .* Did you mean 'patients'"):
        shoal.read_table(place("patient"))


def test_an_empty_table_is_an_error(place):
    shoal.write_table(pl.DataFrame({"a": []}, {"a": pl.Int64}), place("t"))
    with pytest.raises(shoal.DataError, match="has no rows"):
        shoal.read_table(place("t"))


def read_error(url):
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.read_table(url)
    message = str(caught.value)
    assert message.count("\n") == 0
    assert caught.value.__cause__ is None
    assert not [secret for secret in SECRETS if secret in message]
    return message


def test_why_there_is_no_connection_is_said_without_credentials(server):
    wrong = {"user": "alice", "password": "geheim"}
    assert "does not accept this user and password" in read_error(server.url("t", **wrong))
    assert "no database of this name" in read_error(server.url("t", database="none"))
    assert "asks for a password" in read_error(server.url("t", user="alice", password=""))
    refused = f"postgresql://alice:geheim@127.0.0.1:{9}/d?table=t"
    assert "no server answers" in read_error(refused)
    nowhere = "postgresql://alice:geheim@nowhere.invalid/d?table=t"
    assert "no host of this name" in read_error(nowhere)
    unknown = server.url("t") + "&hunter=2"
    assert "an option that PostgreSQL does not know" in read_error(unknown)


def test_a_user_who_may_not_read_a_table_is_told_so(server, database):
    shoal.write_table(pl.DataFrame({"a": [1]}), server.url("t", database=database))
    with server.connect(database) as connection:
        connection.execute("DROP ROLE IF EXISTS alice")
        connection.execute("CREATE ROLE alice LOGIN PASSWORD 'geheim'")
    url = server.url("t", database=database, user="alice", password="geheim")  # noqa: S106
    assert "this user may not do that" in read_error(url)
    with server.connect(database) as connection:
        connection.execute("DROP ROLE alice")


def test_a_file_that_is_no_sqlite_database_is_an_error(tmp_path):
    path = tmp_path / "a.db"
    path.write_text("not a database at all, but long enough to be taken for one\n" * 100)
    with pytest.raises(shoal.DataError, match="not an SQLite database"):
        shoal.read_table(f"sqlite:///{path}?table=t")


# Queries


@pytest.fixture
def clinic(tmp_path):
    path = tmp_path / "clinic.db"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE patients (name TEXT, age INTEGER, born DATE)")
        rows = [(f"SECRET-{n}", 20 + n, "1990-01-02") for n in range(8)]
        base.executemany("INSERT INTO patients VALUES (?, ?, ?)", rows)
    base.close()
    return path


def test_a_query_is_read_like_a_table(clinic):
    url = f"sqlite:///{clinic}?query=SELECT age, born FROM patients WHERE age > 23 AND age < 27"
    frame = shoal.read_table(url)
    assert frame.schema == {"age": pl.Int64, "born": pl.Date}
    assert sorted(frame["age"]) == [24, 25, 26]
    assert shoal.read_table(url, columns=["age"]).columns == ["age"]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM patients",
        "SELECT 1; DELETE FROM patients",
        "PRAGMA writable_schema = 1",
        "SELECT nothing FROM patients",
        "SELECT * FROM nowhere WHERE name = 'SECRET-1'",
        "SELECT",
        "",
    ],
)
def test_a_query_that_is_none_is_one_sentence_and_changes_nothing(clinic, query):
    before = clinic.read_bytes()
    with pytest.raises(ShoalError, match="query") as caught:
        shoal.read_table(f"sqlite:///{clinic}?query={query}")
    assert "SECRET" not in str(caught.value)
    assert clinic.read_bytes() == before


def test_a_query_cannot_be_written_to_and_does_not_go_with_a_table(clinic):
    frame = pl.DataFrame({"a": [1]})
    with pytest.raises(OptionError, match="not to a query"):
        shoal.write_table(frame, f"sqlite:///{clinic}?query=SELECT 1")
    with pytest.raises(OptionError, match="keep one"):
        shoal.read_table(f"sqlite:///{clinic}?table=patients&query=SELECT 1")


def test_a_query_is_never_shown_and_can_be_typed_again(clinic):
    url = f"sqlite:///{clinic}?query=SELECT age FROM patients WHERE name <> 'SECRET-3'"
    assert shown_name(url) == f"sqlite:///{clinic}?query=..."
    assert shoal.read_table(typed_name(url)).equals(shoal.read_table(url))
    url = "postgresql://ada:pa%40ss@db.example:5433/clinic?table=t&sslpassword=x&sslmode=require"
    assert typed_name(url) == "postgresql://db.example:5433/clinic?table=t&sslmode=require"
    assert typed_name("postgresql://ada@db/clinic?table=t") == "postgresql://ada@db/clinic?table=t"


def test_a_table_that_a_query_reads_is_not_replaced_by_its_release(clinic, shoal_says):
    source = f"sqlite:///{clinic}?query=SELECT age FROM (SELECT * FROM patients)"
    target = f"sqlite:///{clinic}?table=patients"
    status, said = shoal_says(
        "anonymize", source, "-o", target, "--replace", "--k", "2", "--qi", "age"
    )
    assert (status, "would be the same" in said) == (2, True)


def test_postgresql_answers_queries_and_nothing_else(server, database, shoal_says):
    url = server.url("t", database=database)
    shoal.write_table(pl.DataFrame({"age": [20, 30, 40, 50], "zip": ["a", "b", "a", "b"]}), url)
    query = url.partition("?")[0] + "?query="
    found = shoal.read_table(query + "SELECT age, zip FROM t WHERE zip = 'a' -- comment")
    assert sorted(found.rows()) == [(20, "a"), (40, "a")]
    for bad in ("SELECT nothing FROM t", "WITH x AS (DELETE FROM t RETURNING age) SELECT * FROM x"):
        with pytest.raises(DataError, match="query"):
            shoal.read_table(query + bad)
    assert shoal.read_table(url).height == 4
    status, said = shoal_says(
        *("anonymize", query + "SELECT age, zip FROM t", "-o", url, "--replace"),
        *("--k", "2", "--qi", "age,zip"),
    )
    assert (status, "would be the same" in said) == (2, True)
