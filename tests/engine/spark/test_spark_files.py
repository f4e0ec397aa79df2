"""A release of Spark in its folder: verified there, moved whole, and nothing told by its layout."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.contract_samples import SEED, people
from tests.helpers.spark_samples import FEW, QUICK_JAVA, K, N, on_spark, rows_of
from typer.testing import CliRunner

import shoal
import shoal.spark
from shoal.cli.app import app
from shoal.engine.spark import folder as folders
from shoal.engine.spark.folder import settle_footer
from shoal.errors import DataError, OptionError, PromiseError

VERIFIED = {"quasi_identifiers": FEW, "sensitive": ["disease", "stage"]}


def contents(folder):
    files = [path for path in sorted(folder.iterdir()) if path.name[0] != "."]
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.long
def test_the_footer_of_a_file_does_not_tell_which_process_wrote_it(spark, plain, tmp_path):
    plain.write(tmp_path / "safe")
    path = tmp_path / "safe" / "part-00000.snappy.parquet"
    before = path.read_bytes()
    folder = folders.Folder(spark, str(tmp_path / "safe"), str(tmp_path / "safe"), replaces=True)
    place = folder.path(str(path))
    # another process keeps the encodings of a column in another order
    length = int.from_bytes(before[-8:-4], "little")
    formats = spark._jvm.org.apache.parquet.format.Util
    start = len(before) - 8 - length
    stream = spark._jvm.java.io.ByteArrayInputStream(bytearray(before[start:-8]))
    footer = formats.readFileMetaData(stream)
    for column in footer.getRow_groups()[0].getColumns():
        spark._jvm.java.util.Collections.reverse(column.getMeta_data().getEncodings())
    written = spark._jvm.java.io.ByteArrayOutputStream()
    formats.writeFileMetaData(footer, written)
    other = before[:start] + bytes(written.toByteArray()) + before[-8:]
    assert other != before
    path.write_bytes(other)
    (tmp_path / "safe" / f".{path.name}.crc").unlink(missing_ok=True)
    assert settle_footer(spark, folder.files(), place, folder.path(f"{path}-beside"))
    assert path.read_bytes() == before
    assert not settle_footer(spark, folder.files(), place, folder.path(f"{path}-beside"))


def test_a_folder_is_verified_as_written_and_its_bytes_follow_from_the_rows(plain, again, tmp_path):
    first = plain
    written = first.write(tmp_path / "safe")
    assert written.verification.read_from == "what was written"
    files = [each.name for each in (tmp_path / "safe").iterdir() if each.name[0] != "."]
    assert files == ["part-00000.snappy.parquet"]
    found = pl.read_parquet(tmp_path / "safe" / "*.parquet")
    assert shoal.verify(found, K, **VERIFIED).holds
    assert sorted(map(str, found.rows())) == rows_of(first)
    assert found.rows() != sorted(found.rows(), key=str)
    again.write(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "safe")
    with pytest.raises(OptionError, match="exists"):
        first.write(tmp_path / "safe")
    first.write(tmp_path / "safe", if_exists="replace", format="csv")
    table = pl.read_csv(tmp_path / "safe" / "*.csv")
    assert shoal.verify(table, K, **VERIFIED).holds
    assert sorted(each.name for each in tmp_path.iterdir()) == ["again", "safe"]


def test_what_does_not_hold_in_the_files_never_appears(plain, tmp_path, monkeypatch):
    release = plain
    (tmp_path / "safe").mkdir()
    (tmp_path / "safe" / "kept").write_text("as it was")
    read = folders.read_folder
    monkeypatch.setattr(folders, "read_folder", lambda *given: read(*given).limit(N - 1))
    with pytest.raises(PromiseError, match="rows"):
        release.write(tmp_path / "safe", if_exists="replace")
    assert [each.name for each in tmp_path.iterdir()] == ["safe"]
    assert contents(tmp_path / "safe") == {"kept": b"as it was"}


@pytest.mark.long
def test_the_command_line_goes_from_folder_to_folder(spark, tmp_path):
    frame = people(N).select("age", "city", "disease", "name")
    (tmp_path / "in").mkdir()
    frame.rename({"age": "Alter"}).write_csv(tmp_path / "in" / "part.csv")
    command = [
        *("anonymize", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--format", "csv"),
        *("--engine", "spark", "--k", str(K), "--qi", "age,city", "--sensitive", "disease"),
        *("--identifier", "name", "--algorithm", "mondrian", "--seed", str(SEED)),
        *("--rename", "Alter=age", "--certificate", str(tmp_path / "certificate.json")),
        *("--report", str(tmp_path / "report.html"), "--save", str(tmp_path / "kept.shoal")),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    found = pl.read_csv(tmp_path / "out" / "*.csv")
    assert found.columns == ["age", "city", "disease"]
    assert shoal.verify(found, K, quasi_identifiers=FEW, sensitive="disease").holds
    assert found.get_column("age").str.contains(r"^\[\d+-\d+\]$|^\d+$").all()
    assert json.loads((tmp_path / "certificate.json").read_text())
    assert "k-anonymity" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert shoal.load_release(tmp_path / "kept.shoal").n_rows == found.height
    explained = ["--replace", "--explanation", str(tmp_path / "explained.json")]
    refused = CliRunner().invoke(app, [*command, *explained])
    assert "is not for Spark yet" in str(refused.exception)
    over = [each.replace(str(tmp_path / "out"), str(tmp_path / "in")) for each in command]
    input_kept = CliRunner().invoke(app, [*over, "--replace"])
    assert "is what the table is read from" in str(input_kept.exception)
    assert [each.name for each in (tmp_path / "in").iterdir()] == ["part.csv"]
    again = CliRunner().invoke(app, command)
    assert isinstance(again.exception, OptionError)
    assert "exists" in str(again.exception)


@pytest.mark.parametrize("ending", ["csv", "CSV.GZ"])
def test_a_folder_of_csv_parts_is_known_by_its_files(spark, tmp_path, ending):
    parts = tmp_path / "in"
    parts.mkdir()
    (parts / "_SUCCESS").touch()
    rows = people(N).select("age", "city")
    for number, part in enumerate((rows.head(N // 2), rows.tail(N - N // 2))):
        text = part.write_csv().encode()
        packed = gzip.compress(text) if "GZ" in ending else text
        (parts / f"part-0000{number}.{ending.lower()}").write_bytes(packed)
    command = ["anonymize", f"{parts}/", "-o", str(tmp_path / "out"), "--engine", "spark"]
    done = CliRunner().invoke(app, [*command, "--k", str(K), "--qi", "age,city", "--seed", "1"])
    assert done.exit_code == 0, done.output
    found = pl.read_csv(tmp_path / "out" / "*.csv")
    assert shoal.verify(found, K, quasi_identifiers=["age", "city"]).holds


def test_a_folder_in_another_format_is_said_with_the_one_that_was_tried(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part-0").write_text("age,city\n31,Bonn\n")
    command = ["anonymize", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--engine", "spark"]
    done = CliRunner().invoke(app, [*command, "--k", "2", "--qi", "age"])
    assert isinstance(done.exception, DataError)
    assert "cannot be read as parquet on Spark" in str(done.exception)
    assert "say which: --format parquet or --format csv" in str(done.exception)
    assert not (tmp_path / "out").exists()


def children(of):
    """Process ids that a process has started, by what they run."""
    found = {}
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended
            parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) in of:
                found[int(each.name)] = (each / "cmdline").read_text()
    return found


def executors():
    """Process ids of the executors of our session."""
    ours = children(children({os.getpid()}))
    return [pid for pid, said in ours.items() if "CoarseGrainedExecutorBackend" in said]


@pytest.mark.long
def test_an_executor_that_is_killed_in_the_middle_changes_nothing(spark, plain):
    killed = []

    def kill(done, total, what):
        if what == "clustering blocks" and not killed:
            killed.extend(executors()[:1])
            os.kill(killed[0], signal.SIGKILL)

    release = on_spark(spark, people(N), block_rows=60, progress=kill)
    assert killed
    assert rows_of(release) == rows_of(plain)


SUBMITTED = """
import sys
import time
import polars as pl
from shoal.cli.program import run

folder = sys.argv[1]
usual = ["anonymize", folder + "/in", "-o", folder + "/out", "--engine", "spark"]
usual += ["--qi", "age,city", "--algorithm", "mondrian", "--sensitive", "disease"]
print("statuses", run([*usual, "--k", "4"]), run([*usual, "--k", "4"]),
      run([*usual, "--k", "9999", "--replace"]))
"""


@pytest.mark.long
def test_spark_submit_runs_the_command_line_and_statuses_say_how_it_went(tmp_path):
    """A session of its own, in another process: done, in the way, a promise out of reach."""
    import pyspark

    (tmp_path / "in").mkdir()
    people(60).select("age", "city", "disease").write_parquet(tmp_path / "in" / "part.parquet")
    (tmp_path / "job.py").write_text(SUBMITTED, encoding="utf-8")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    java = f"spark.driver.extraJavaOptions={QUICK_JAVA}"
    quiet = ["spark.ui.enabled=false", "spark.sql.codegen.wholeStage=false", java]
    settings = [word for each in quiet for word in ("--conf", each)]
    done = subprocess.run(
        [submit, "--master", "local[1]", *settings, tmp_path / "job.py", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
    )
    assert "statuses 0 2 1" in done.stdout, done.stderr
    found = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert shoal.verify(found, 4, quasi_identifiers=FEW, sensitive="disease").holds


@pytest.mark.long
@pytest.mark.parametrize("ended", ["the command", "Java"])
def test_a_run_that_is_terminated_leaves_no_folder_behind(tmp_path, ended):
    """Terminated as soon as there is a folder: the command, or what it works with."""
    (tmp_path / "in").mkdir()
    people(60).select("age", "city", "disease").write_parquet(tmp_path / "in" / "part.parquet")
    words = ["anonymize", "in", "-o", "out", "--engine", "spark", "--master", "local[1]"]
    words += ["--k", "4", "--qi", "age,city", "--sensitive", "disease", "--rows-are-people"]
    code = "import sys; from shoal.cli.program import run_program; run_program(sys.argv[1:])"
    run = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JDK_JAVA_OPTIONS": QUICK_JAVA,
        },
        start_new_session=True,
    )
    try:
        while not list(tmp_path.glob("_out-*")):
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.01)
        for pid in [run.pid] if ended == "the command" else children({run.pid}):
            os.kill(pid, signal.SIGTERM)
        said = run.communicate()[1]  # until Java has ended, too: it has the same stream
        if ended == "the command":
            assert "Terminated; nothing was written." in said
        assert run.returncode == (143 if ended == "the command" else 2), said
        assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] != ".") == ["in"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def test_a_table_of_spark_is_not_taken_to_one_machine_without_a_word(spark):
    with pytest.raises(DataError, match="give tables of Spark to"):
        shoal.anonymize(spark.range(10), 2, quasi_identifiers="id")
