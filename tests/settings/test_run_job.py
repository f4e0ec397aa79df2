"""`shoal.run_job`: from a file to files without a terminal, and the same as the command line."""

import json
import pickle
import threading
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.arguments import job_of
from shoal.cli.program import run
from shoal.errors import DataError, JobError, OptionError, PromiseError
from shoal.table.schema import Role

ROLES = {
    "name": Role.IDENTIFIER,
    "age": Role.QUASI_IDENTIFIER,
    "town": Role.QUASI_IDENTIFIER,
    "ill": Role.SENSITIVE,
}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "patients.csv"
    rows = [f"SECRET-{n},{20 + n * 7 % 40},{'ABC'[n % 3]},{'xyz'[n // 4 % 3]}" for n in range(60)]
    path.write_text("\n".join(["name,age,town,ill", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def job(source, tmp_path):
    return shoal.Job(
        input=str(source),
        output=shoal.Output(
            table=str(tmp_path / "safe.csv"),
            certificate=str(tmp_path / "certificate.json"),
            report=str(tmp_path / "report.html"),
        ),
        columns={name: shoal.JobColumn(role=role) for name, role in ROLES.items()},
        k=4,
        algorithm="mondrian",
        seed=7,
    )


def test_a_job_makes_its_files_and_says_where_they_are(job, tmp_path, capfd):
    made = shoal.run_job(job)
    assert capfd.readouterr() == ("", "")
    assert made.files == {
        "table": str(tmp_path / "safe.csv"),
        "certificate": str(tmp_path / "certificate.json"),
        "report": str(tmp_path / "report.html"),
    }
    published = pl.read_csv(tmp_path / "safe.csv")
    assert published.columns == ["age", "town", "ill"]
    assert published.group_by("age", "town").len().get_column("len").min() >= 4
    assert json.loads((tmp_path / "certificate.json").read_text())["holds"] is True
    assert made.release.verification.holds
    assert made.release.n_rows == 60
    assert made.warnings == ()
    assert "SECRET" not in repr(made) + repr(job)


def test_a_job_file_is_run_from_anywhere(job, tmp_path, monkeypatch):
    shoal.write_job(job, tmp_path / "job.toml")
    assert str(tmp_path) not in (tmp_path / "job.toml").read_text()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    made = shoal.run_job("../job.toml")
    assert (tmp_path / "safe.csv").exists()
    assert made.release.k == 4
    assert list(elsewhere.iterdir()) == []


def test_a_job_runs_in_a_thread_and_tells_its_progress(job, tmp_path):
    told, made = [], []

    def work():
        made.append(shoal.run_job(job, progress=lambda *step: told.append(step)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert made[0].release.n_published == 60
    stages = list(dict.fromkeys(what for _, _, what in told if what != "compiling"))
    assert stages[0] == "reading"
    assert stages[-1] == "writing"
    assert (tmp_path / "safe.csv").exists()


def test_a_run_that_is_stopped_by_its_watcher_writes_nothing(job, tmp_path):
    def stop(done, total, what):
        del done, total
        if what == "writing":
            raise RuntimeError

    before = sorted(tmp_path.iterdir())
    with pytest.raises(RuntimeError):
        shoal.run_job(job, progress=stop)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"k": None}, OptionError, "k is not given"),
        ({"k": 1}, OptionError, "at least 2"),
        ({"k": 61}, PromiseError, "60 rows, fewer than k = 61"),
        ({"input": shoal.Input()}, OptionError, "Say which table is read"),
        ({"output": shoal.Output()}, OptionError, "Say where the release goes"),
        ({"input": "nothing.csv"}, DataError, "nothing.csv"),
        ({"columns": {}}, shoal.RoleError, "no quasi-identifier"),
    ],
    ids=str,
)
def test_a_job_that_cannot_run_leaves_everything_as_it_was(job, tmp_path, changes, error, message):
    (tmp_path / "safe.csv").write_text("previous")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error, match=message):
        shoal.run_job(job.replaced(**{"output": replace(job.output, replace=True)} | changes))
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "safe.csv").read_text() == "previous"


def test_rows_in_the_order_of_the_input_are_warned_about(job):
    assert "order of the input" in shoal.run_job(job.replaced(shuffle=False)).warnings[0]


def test_a_job_that_does_not_exist_is_named():
    with pytest.raises(JobError, match=r"absent\.toml"):
        shoal.run_job("absent.toml")


# the command line, a job, a job file: one and the same


COMMANDS = {
    "plain": ["--k", "4", "--qi", "age,town", "--sensitive", "ill", "--identifier", "name"],
    "promises": [
        *["--k", "3", "--qi", "age,town", "--sensitive", "ill", "--drop", "name"],
        *["--l-diversity", "2", "--l-kind", "distinct", "--weight", "age=2", "--kind", "town=set"],
    ],
    "search": [
        *["--k", "3", "--qi", "age", "--qi", "town", "--insensitive", "ill", "--drop", "name"],
        *["--algorithm", "k-member", "--measure", "lm", "--refine", "fast", "--block-rows", "40"],
        *["--order", "town=A,B,C", "--numeric-output", "bounds", "--max-suppression", "0.1"],
        *["--bound", "--missing", "error", "--missing-values", "?", "--delimiter", ","],
    ],
}


def said_by(*words):
    """What the command line asks for, as a job."""
    import typer

    from shoal.cli import arguments as opt
    from shoal.cli.arguments import Asked, Promised, Reading, Writing, takes_flags

    found = []

    @takes_flags()
    def anonymize(
        source: str,
        *,
        job: opt.JobFile = None,
        asked: Asked,
        promises: Promised,
        reading: Reading,
        writing: Writing,
    ):
        found.append(
            job_of(job, asked, promises=promises, source=source, reading=reading, writing=writing)
        )

    app = typer.Typer()
    app.command()(anonymize)
    app([str(word) for word in words], standalone_mode=False)
    return found[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_a_job_and_a_job_file_give_the_same_bytes(source, tmp_path, name):
    words = [str(source), *COMMANDS[name], "--seed", "11"]
    typed, listed = tmp_path / "typed.csv", tmp_path / "listed.csv"
    assert run(["anonymize", *words, "-o", str(typed), "--quiet"]) == 0
    job = said_by(*words, "-o", listed, "--certificate", tmp_path / "c.json")
    shoal.write_job(job, tmp_path / "job.toml")
    assert shoal.read_job(tmp_path / "job.toml") == job
    shoal.run_job(tmp_path / "job.toml")
    assert listed.read_bytes() == typed.read_bytes()
    again = tmp_path / "again.csv"
    words = ["anonymize", "--job", str(tmp_path / "job.toml"), "-o", str(again), "--replace", "-q"]
    assert run(words) == 0
    assert again.read_bytes() == typed.read_bytes()


def test_a_job_file_can_say_everything(source, tmp_path, capfd):
    (tmp_path / "job.toml").write_text(
        """
k = 4
bound = true
missing_values = ["", "?"]
[input]
path = "patients.csv"
delimiter = ","
format = "csv"
memory_check = false
[output]
table = "safe.parquet"
certificate = "certificate.json"
[columns.name]
role = "drop"
[columns.age]
role = "quasi-identifier"
[columns.town]
role = "quasi-identifier"
[columns.ill]
role = "insensitive"
"""
    )
    assert run(["anonymize", "--job", str(tmp_path / "job.toml"), "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")
    assert pl.read_parquet(tmp_path / "safe.parquet").height == 60
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate["parameters"]["bound"] is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[input]\npth = 'x'", r"Unknown key 'pth' in \[input\].*mean 'path'"),
        ("[output]\ntable = 3", "output.table in .* text in quotation marks, not a whole number"),
        ("[output]\nsampling_fraction = 'x'", "output.sampling_fraction in .* a number, not text"),
        ("[input]\nmemory_check = 1", "input.memory_check in .* true or false"),
        ("input = 'x.csv'", r"input in .* a table, written as \[input\]"),
        ("shuffle = 'no'", "shuffle in .* true or false, not text"),
    ],
)
def test_mistakes_about_files_name_their_place(tmp_path, text, message):
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(JobError, match=message):
        shoal.read_job(tmp_path / "job.toml")


def test_streams_and_databases_are_not_taken_for_files_beside_the_job(tmp_path):
    job = shoal.Job(input="sqlite:///clinic.db?table=patients", output="-", k=3)
    shoal.write_job(job, tmp_path / "job.toml")
    assert shoal.read_job(tmp_path / "job.toml") == job


def test_a_job_with_an_option_that_does_not_exist_is_refused():
    with pytest.raises(OptionError, match=r"no option 'algoritm'\. Did you mean 'algorithm'"):
        shoal.Job(algoritm="x")
    with pytest.raises(AttributeError, match="algoritm"):
        _ = shoal.Job().algoritm


def test_a_column_may_be_described_in_words():
    column = shoal.JobColumn(role="quasi-identifier", kind="set", hierarchy="zip.csv", order=["a"])
    assert column.role is Role.QUASI_IDENTIFIER
    assert (column.kind, column.hierarchy.name, column.order) == ("set", "zip.csv", ("a",))
    with pytest.raises(shoal.RoleError, match="must be one of"):
        shoal.JobColumn(role="quasi")


def test_models_styles_and_numbers_of_numpy_survive_a_job_file(tmp_path):
    job = shoal.Job(
        k=np.int64(3),
        max_suppression=np.float64(0.25),
        privacy=[shoal.LDiversity(2, kind="distinct"), {"model": "alpha-k", "alpha": 0.5}],
        style=shoal.Style(numeric="bounds"),
    )
    shoal.write_job(job, tmp_path / "job.toml")
    assert shoal.read_job(tmp_path / "job.toml") == job
    assert job == job.replaced(privacy=job.privacy)
    request = job.replaced(
        columns={"age": shoal.JobColumn(role="quasi-identifier")},
    ).request()
    assert request.privacy[0] == shoal.LDiversity(2, kind="distinct")
    assert request.style == shoal.Style(numeric="bounds")
    assert shoal.Job(privacy=shoal.AlphaK(0.5)).privacy == ({"model": "alpha-k", "alpha": 0.5},)


def test_a_release_is_checked_in_the_format_that_its_job_wrote(source, tmp_path):
    (tmp_path / "job.toml").write_text(
        "k = 3\n[input]\npath = 'patients'\nformat = 'csv'\n"
        "[output]\ntable = 'safe'\nformat = 'parquet'\n"
        + "".join(f"[columns.{name}]\nrole = '{role}'\n" for name, role in ROLES.items())
    )
    source.rename(tmp_path / "patients")
    job, safe, data = (str(tmp_path / name) for name in ("job.toml", "safe", "patients"))
    assert run(["anonymize", "--job", job, "--quiet"]) == 0
    assert pl.read_parquet(safe).height == 60
    assert run(["verify", safe, "--job", job, "--quiet"]) == 0
    assert run(["score", data, safe, "--job", job]) == 0


def test_a_job_can_be_sent_to_another_process(job):
    assert pickle.loads(pickle.dumps(job)) == job  # noqa: S301 - our own bytes


# the key that ties a certificate to its input


@pytest.fixture
def key(tmp_path):
    from shoal.io.keys import make_secret

    make_secret(tmp_path / "officer.key")
    return tmp_path / "officer.key"


def test_with_a_key_the_certificate_says_which_input_it_was(job, source, key, tmp_path):
    output = {name: getattr(job.output, name) for name in ("table", "certificate")}
    shoal.run_job(job.replaced(output=shoal.Output(**output, secret=str(key))))
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate["input"]["hmac_sha256"] == shoal.keyed_sha256(source, key)
    shoal.run_job(job.replaced(output=replace(job.output, replace=True)))
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate["input"]["hmac_sha256"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"certificate": None}, "--secret is for the certificate"),
        ({"secret": "absent.key"}, "no key file 'absent.key'"),
        ({"certificate": "officer.key"}, "the key file would be the same file"),
        ({"table": "patients.csv"}, "the input would be the same file"),
        ({"report": "town.csv"}, "the hierarchy file would be the same file"),
    ],
    ids=["no document", "no key", "over the key", "over the input", "over a hierarchy"],
)
def test_what_a_job_reads_is_never_written_over(job, key, tmp_path, monkeypatch, changes, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town.csv").write_text("A;*\nB;*\nC;*\n")
    columns = {
        **job.columns,
        "town": shoal.JobColumn(role="quasi-identifier", hierarchy="town.csv"),
    }
    files = {"table": "safe.csv", "certificate": "c.json", "secret": str(key), **changes}
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(shoal.ShoalError, match=message):
        shoal.run_job(job.replaced(output=shoal.Output(**files), columns=columns))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_stream_has_no_file_that_a_key_could_tie_a_release_to(job, key):
    output = shoal.Output(table="safe.csv", certificate="c.json", secret=str(key))
    with pytest.raises(OptionError, match="a stream is none"):
        shoal.run_job(job.replaced(input="-", output=output))
