"""Facts about writing: whole or not at all, alone and together."""

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from shoal.errors import DataError, OptionError
from shoal.io import atomic as atomic_module
from shoal.io.atomic import (
    AtomicGroup,
    atomic_write_bytes,
    atomic_write_text,
    sha256_of,
    write_together,
)
from shoal.io.read import read_table
from shoal.io.write import stage_table, write_table

FRAME = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_and_bytes_are_written(tmp_path):
    atomic_write_text(tmp_path / "a", "é\n")
    atomic_write_bytes(tmp_path / "b", b"\x00\r\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\n"
    assert (tmp_path / "b").read_bytes() == b"\x00\r\n"
    assert names(tmp_path) == ["a", "b"]


def test_the_permissions_of_an_existing_file_are_kept(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    atomic_write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_gets_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    atomic_write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    atomic_write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_missing_folder_and_a_folder_as_target_are_errors(tmp_path):
    with pytest.raises(DataError, match=r"Could not write '.*a\.csv': the folder .* not exist"):
        write_table(FRAME, tmp_path / "absent" / "a.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match="it is a folder"):
        write_table(FRAME, tmp_path / "d.csv")
    assert names(tmp_path) == ["d.csv"]


@needs_dev_full
def test_a_full_device_is_an_error_and_stays_a_device():
    with pytest.raises(DataError, match="Could not write '/dev/full': No space left"):
        write_table(FRAME, "/dev/full", format="csv")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@needs_dev_full
def test_a_full_device_among_several_outputs_takes_the_others_back(tmp_path):
    (tmp_path / "old").write_text("old")
    with pytest.raises(DataError, match="No space left"):
        write_together([("/dev/full", "x"), (tmp_path / "old", "new"), (tmp_path / "new", "new")])
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "old"


@pytest.fixture
def small_disk():
    """Let no file grow beyond 64 KiB, as on a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow", "t.jsonl", "t.xlsx"]
)
def test_a_disk_that_fills_up_leaves_the_previous_file(tmp_path, small_disk, name):
    path = tmp_path / name
    path.write_bytes(b"previous")
    noise = os.urandom(300_000).hex()
    frame = pl.DataFrame({"x": [noise[at : at + 60] for at in range(0, len(noise), 60)]})
    with pytest.raises(DataError, match="Could not write"):
        write_table(frame, path)
    assert path.read_bytes() == b"previous"
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_write_leaves_the_previous_file(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("previous")

    def interrupted(file):
        file.write(b"half")
        raise error

    with pytest.raises(error):
        write_together([(path, interrupted)])
    assert path.read_text() == "previous"
    assert names(tmp_path) == ["a"]


def test_a_killed_writer_leaves_the_previous_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("previous")
    code = (
        "import sys, time\n"
        "from shoal.io.atomic import write_together\n"
        "def slow(file):\n"
        "    file.write(b'half'); file.flush()\n"
        "    print('writing', flush=True); time.sleep(60)\n"
        "write_together([(sys.argv[1], slow)])\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    with writer:
        assert writer.stdout.readline() == b"writing\n"
        assert len(names(tmp_path)) == 2
        writer.send_signal(signal.SIGKILL)
    assert writer.returncode == -signal.SIGKILL
    assert path.read_text() == "previous"
    atomic_write_text(path, "next")
    assert path.read_text() == "next"


def test_nothing_of_a_group_appears_before_its_end(tmp_path):
    with AtomicGroup() as group:
        table = stage_table(group, FRAME, tmp_path / "t.csv")
        digest = sha256_of(table)
        group.add(tmp_path / "certificate.json", digest)
        assert not (tmp_path / "t.csv").exists()
    assert (tmp_path / "certificate.json").read_text() == sha256_of(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv").equals(FRAME)
    assert names(tmp_path) == ["certificate.json", "t.csv"]


def test_an_error_in_a_group_leaves_everything_as_it_was(tmp_path):
    (tmp_path / "t.csv").write_text("previous")

    def fail():
        with AtomicGroup() as group:
            stage_table(group, FRAME, tmp_path / "t.csv")
            group.add(tmp_path / "report.html", "<html>")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert names(tmp_path) == ["t.csv"]
    assert (tmp_path / "t.csv").read_text() == "previous"


def test_a_rename_that_fails_takes_the_earlier_ones_back(tmp_path):
    (tmp_path / "first").write_text("old")

    def block():
        with AtomicGroup() as group:
            group.add(tmp_path / "first", "new")
            group.add(tmp_path / "second", "new")
            group.add(tmp_path / "third", "new")
            (tmp_path / "third").mkdir()  # someone else takes the name in the meantime
            (tmp_path / "third" / "file").write_text("")

    with pytest.raises(DataError, match=r"Could not write '.*third'"):
        block()
    assert names(tmp_path) == ["first", "third"]
    assert (tmp_path / "first").read_text() == "old"


def test_an_interrupt_between_renames_takes_the_earlier_ones_back(tmp_path, monkeypatch):
    (tmp_path / "first").write_text("old")
    synced = []

    def interrupt(folder):
        synced.append(folder)
        if len(synced) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(atomic_module, "_sync_folder", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_together([(tmp_path / "first", "new"), (tmp_path / "second", "new")])
    assert names(tmp_path) == ["first"]
    assert (tmp_path / "first").read_text() == "old"


def test_two_outputs_of_one_group_need_two_files(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(OptionError, match="Two outputs would be written to"):
        write_together([(tmp_path / "a", "1"), (tmp_path / "link", "2")])
    with pytest.raises(OptionError, match="standard output"):
        write_together([("-", "1"), ("-", "2")])
    assert names(tmp_path) == ["link"]


def test_a_pipe_receives_the_bytes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    atomic_write_bytes(pipe, b"x" * 200_000)
    reader.join(timeout=10)
    assert received == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_closed_pipe_on_standard_output_is_an_error():
    code = (
        "import sys\nfrom shoal.errors import DataError\n"
        "from shoal.io.atomic import atomic_write_text\n"
        "try:\n    atomic_write_text('-', 'x' * 1_000_000)\n"
        "except DataError as error:\n    print(error, file=sys.stderr)\n"
    )
    command = f"'{sys.executable}' -c \"$CODE\" | true"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=os.environ | {"CODE": code},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Could not write to standard output: Broken pipe." in done.stderr


def test_the_hash_is_sha256_and_a_missing_file_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256_of(tmp_path / "a").startswith("ba7816bf8f01cfea414140de5dae2223")
    with pytest.raises(DataError, match="Could not read"):
        sha256_of(tmp_path / "b")
