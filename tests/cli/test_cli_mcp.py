"""`shoal mcp`, asked by the client of the official SDK: it does the work and returns no cell.

Every cell of the table holds what stands nowhere else, so whatever the server says can be looked
through for it: answers, errors, and what it writes to standard error.
"""

import json
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import polars as pl
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

ROWS = 240
MARK = "zqx"  # in every text of the table
NUMBERS = range(7_310_000, 7_310_000 + ROWS)  # in every number of it


def people():
    """A table in which every cell can be told from whatever else there is."""
    return pl.DataFrame(
        {
            "name": [f"Anna {MARK}name{n}" for n in range(ROWS)],
            "income": [7_310_000 + n for n in range(ROWS)],
            "born": [f"{1731 + n % 60}-0{1 + n % 9}-1{n % 9}" for n in range(ROWS)],
            "town": [f"{MARK}town{n % 6}" for n in range(ROWS)],
            "sex": [f"{MARK}{'fm'[n % 2]}" for n in range(ROWS)],
            "diagnosis": [f"{MARK}ill{n % 5}" for n in range(ROWS)],
            "note": [f"{MARK}note{n % 200}" for n in range(ROWS)],
        }
    )


def cells_in(text):
    """Return what is found of the table in a text."""
    dates = r"17[3-9]\d-0\d-1\d"
    numbers = r"7[.,' ]?310[.,' ]?\d{3}"
    years = r"(?<![\w.])17[3-9]\d(?!\w)"
    return re.findall(rf"(?i){MARK}\w*|{dates}|{numbers}|{years}", text)


CHANGES = {
    "k": 5,
    "max_suppression": 0.0,
    "columns": {
        "name": {"role": "identifier"},
        "income": {"role": "quasi-identifier", "kind": "numeric"},
        "born": {"role": "quasi-identifier"},
        "town": {"role": "quasi-identifier"},
        "sex": {"role": "quasi-identifier"},
        "diagnosis": {"role": "sensitive"},
        "note": {"role": "drop"},
    },
    "privacy": [{"model": "l-diversity", "l": 2, "kind": "distinct", "column": "diagnosis"}],
}


class Agent:
    """One session, and everything that the server has said in it."""

    def __init__(self, session):
        self.session, self.heard = session, []

    async def __call__(self, tool, **given):
        answer = await self.session.call_tool(tool, given)
        self.heard.append(answer.model_dump_json())
        text = answer.content[0].text
        return answer.is_error, json.loads(text) if text.startswith("{") else text


@asynccontextmanager
async def serving(folder, *flags):
    """A server in a process of its own, as an agent starts it."""
    words = ["-m", "shoal", "mcp", "--read", str(folder / "in"), "--write", str(folder / "out")]
    server = StdioServerParameters(command=sys.executable, args=[*words, *flags], cwd=folder)
    with (folder / "stderr").open("w") as stderr:
        async with (
            stdio_client(server, errlog=stderr) as streams,
            ClientSession(*streams) as session,
        ):
            await session.initialize()
            yield Agent(session)


@pytest.fixture
def folder(tmp_path):
    for name in ("in", "out", "elsewhere"):
        (tmp_path / name).mkdir()
    people().write_csv(tmp_path / "in" / "people.csv")
    people().write_csv(tmp_path / "elsewhere" / "others.csv")
    return tmp_path


def held(folder, agent):
    """Whether no cell has been said, to the agent or to whoever reads standard error."""
    said = "\n".join([*agent.heard, (folder / "stderr").read_text()])
    assert cells_in(people().write_csv()), "the search can find cells"
    assert cells_in(said) == []


def test_an_agent_gets_from_a_table_to_a_verified_release_and_sees_no_cell(folder):
    async def session():
        async with serving(folder) as agent:
            listed = await agent.session.list_tools()
            agent.heard.append(listed.model_dump_json())
            assert [tool.name for tool in listed.tools] == [
                *("look", "plan", "run", "verify", "audit")
            ]
            failed, found = await agent("look", table="people.csv")
            assert not failed
            assert found["rows"] == ROWS
            assert [each["name"] for each in found["columns"]] == people().columns
            assert found["columns"][0]["guessed_role"] == "identifier"
            failed, found = await agent("plan", table="people.csv", name="five", changes=CHANGES)
            assert not failed, found
            assert "k-anonymity with k = 5" in found["would_do"]
            failed, made = await agent("run", job="five", output="safe.csv")
            assert not failed, made
            assert made["published_rows"] == ROWS
            failed, found = await agent(
                "verify", release="safe.csv", certificate="safe.certificate.json"
            )
            assert not failed
            assert found["holds"]
            failed, found = await agent("verify", release="safe.csv", job="five")
            assert found["holds"]
            failed, found = await agent(
                "audit", original="people.csv", release="safe.csv", job="five", targets=50
            )
            assert not failed
            assert found
        held(folder, agent)

    anyio.run(session)
    files = {path.name for path in (folder / "out").iterdir()}
    assert files == {"safe.csv", "safe.certificate.json", "safe.report.html"}
    published = pl.read_csv(folder / "out" / "safe.csv")
    assert published.columns == ["income", "born", "town", "sex", "diagnosis"]
    groups = published.group_by("income", "born", "town", "sex").len()
    assert groups["len"].min() >= 5


def write_broken(folder):
    """Write files that are not what they are given as."""
    data = folder / "in"
    text = (data / "people.csv").read_text()
    lines = text.splitlines()
    (data / "no_names.csv").write_text("\n".join(lines[1:]))
    (data / "ragged.csv").write_text("\n".join([*lines, f"{MARK}a,{MARK}b", f'"{MARK}c']))
    (data / "latin.csv").write_bytes(
        text.encode() + f"{MARK}\xe9\xff,1,2,3,4,5,6\n".encode("cp1252")
    )
    (data / "zeros.csv").write_bytes(text.encode() + f"{MARK}\0\0{MARK}".encode())
    (data / "people.parquet").write_bytes(text.encode())
    (data / "people.xlsx").write_bytes(text.encode())
    (data / "people.json").write_text(json.dumps({f"{MARK}key": f"{MARK}value", "k": f"{MARK}k"}))
    (data / "keys.toml").write_text(f'{MARK}key = "{MARK}value"\n')
    (data / "typed.toml").write_text(f'k = "{MARK}value"\n')
    (data / "column.toml").write_text(f'[columns."{MARK}column"]\nrole = "{MARK}role"\n')
    (data / "privacy.toml").write_text(f'k = 2\n[[privacy]]\nmodel = "{MARK}model"\n')
    (data / "csv.toml").write_text(text)
    people().head(3).write_csv(data / "few.csv")
    (folder / "in" / "link.csv").symlink_to(folder / "elsewhere" / "others.csv")
    (folder / "out" / "there.csv").write_text(text)


def broken(data):
    """What is asked about them, tool by tool."""
    as_quasi = {"role": "quasi-identifier"}
    for name, said in (
        ("town", {"hierarchy": "people.csv"}),
        ("income", {"hierarchy": "people.csv"}),
        ("town", {"kind": "numeric"}),
        ("town", {"kind": "date"}),
        ("income", {"kind": "datetime"}),
        ("born", {"kind": "numeric"}),
        ("sex", {"order": ["a", "b"]}),
        ("town", {"hierarchy": {"rule": "icd10"}}),
        ("town", {"top": 5}),
    ):
        columns = {**CHANGES["columns"], name: {**as_quasi, **said}}
        yield "plan", {"table": "people.csv", "changes": {**CHANGES, "columns": columns}}
    with_hierarchy = {**CHANGES, "hierarchies": {"town": str(data / "people.csv")}}
    yield "plan", {"table": "people.csv", "changes": with_hierarchy}
    yield "plan", {"table": "people.csv", "changes": {"k": "five"}}
    yield "plan", {"table": "people.csv", "changes": {"k": 500}}
    yield "plan", {"table": "people.csv", "changes": {"columns": {"nobody": {"role": "drop"}}}}
    yield "plan", {"table": "people.csv", "changes": {"columns": {"sex": {"role": "king"}}}}
    yield "plan", {"table": "people.csv", "changes": {"input": {"engine": "spark"}}}
    yield "plan", {"table": "people.csv", "changes": {"output": {"log": "/etc/shoal.log"}}}
    yield "plan", {"table": "people.csv", "changes": {"previous": [str(data / "people.csv")]}}
    yield "plan", {"table": "people.csv", "name": "../job"}
    population = {"model": "k-map", "k": 2, "population": str(data / "ragged.csv")}
    yield "plan", {"table": "people.csv", "changes": {"privacy": [population]}}
    for name in sorted(path.name for path in data.iterdir()):
        if name not in ("people.csv", "few.csv"):
            yield "look", {"table": name}
            yield "verify", {"release": name, "certificate": "people.json"}
            yield "verify", {"release": "people.csv", "certificate": name}
        if name.endswith((".toml", ".json")):
            yield "verify", {"release": "people.csv", "job": name}
            yield "run", {"job": name, "output": "safe.csv"}
    for path in ("../elsewhere/others.csv", "/etc/passwd", "", "\0", "people.csv\0", "..", "*.csv"):
        yield "look", {"table": path}
    for url in ("sqlite:///in/people.csv?table=a", "postgresql://u:p@localhost/db?table=a"):
        yield "look", {"table": url}
        yield "run", {"job": "good", "output": url}
    for path in ("../in/people.csv", "/etc/safe.csv", "", "there.csv", "-", "safe.xyz"):
        yield "run", {"job": "good", "output": path}
    yield "run", {"job": "nobody", "output": "safe.csv"}
    yield "audit", {"original": "people.csv", "release": "ragged.csv", "job": "good"}
    yield "audit", {"original": "people.csv", "release": "few.csv", "job": "good", "targets": -1}
    yield "look", {"table": 7}
    yield MARK[0], {}


def test_no_error_shows_a_cell_whatever_a_file_is_given_as(folder):
    write_broken(folder)
    asked = list(broken(folder / "in"))

    async def session():
        async with serving(folder) as agent:
            failed, found = await agent("plan", table="people.csv", name="good", changes=CHANGES)
            assert not failed, found
            told = []
            for tool, given in asked:
                failed, found = await agent(tool, **given)
                told.append((tool, given, failed, found))
        held(folder, agent)
        return told

    told = anyio.run(session)
    fine = [each[:2] for each in told if not each[2]]
    assert fine == [], fine
    unplanned = [each for each in told if "unexpectedly" in str(each[3])]
    assert unplanned == []
    assert {path.name for path in (folder / "out").iterdir()} == {"there.csv"}


def test_a_sentence_says_what_an_agent_may_not_touch(folder):
    async def session():
        async with serving(folder) as agent:
            _, found = await agent("look", table="/etc/passwd")
            assert "no file '/etc/passwd' in the folders that may be read" in found["error"]
            await agent("plan", table="people.csv", name="good", changes=CHANGES)
            _, found = await agent("run", job="good", output="../safe.csv")
            assert "'../safe.csv' lies outside the folder for releases" in found["error"]
            _, found = await agent("look", table="no_names.csv")
            assert "may be data" in found["error"]
            failed, found = await agent("look", table="no_names.csv", header=False)
            assert not failed
            assert found["columns"][0]["name"] == "column_1"
            _, found = await agent("plan", table="people.csv", changes={"columns": {"sx": {}}})
            assert "Column 'sx' has no role" in found["error"]
        held(folder, agent)

    write_broken(folder)
    anyio.run(session)


def test_jobs_and_hierarchies_are_kept_where_that_is_asked_and_gone_otherwise(folder):
    kept = folder / "jobs"
    kept.mkdir()

    async def session():
        async with serving(folder, "--jobs", str(kept)) as agent:
            failed, found = await agent("plan", table="people.csv", name="five", changes=CHANGES)
            assert not failed, found
            failed, found = await agent("look", table=str(kept / "five.toml"))
            assert failed

    anyio.run(session)
    assert (kept / "five.toml").is_file()


def test_without_folders_nothing_is_served(shoal_runs, folder):
    assert "--read FOLDER for tables" in shoal_runs("mcp").err
    outcome = shoal_runs("mcp", "--read", folder / "in", "--write", folder / "nowhere")
    assert outcome.status == 2
    assert "There is no folder" in outcome.err


def test_without_the_package_a_sentence_says_what_to_install(shoal_runs, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    outcome = shoal_runs("mcp", "--read", folder / "in", "--write", folder / "out")
    assert outcome.status == 2
    assert "pip install 'shoal-anonymity[mcp]'" in outcome.err


def test_the_package_is_loaded_by_its_own_command_only():
    source = Path(__file__).parents[2] / "src" / "shoal"
    found = [
        path.name
        for path in source.rglob("*.py")
        if re.search(r"^(from|import) mcp", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert found == []
