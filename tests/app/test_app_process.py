"""``shoal app`` as a process: what it prints, how it ends, and what it refuses."""

import os
import re
import signal
import ssl
import subprocess
import sys
import time

import httpx
import pytest
from tests.app.conftest import go_on, let_in

from shoal.app.serve import Wishes, serve
from shoal.errors import OptionError

LINE = re.compile(r"Shoal is at (\S+)")


class Process:
    """The program, started as a person does."""

    def __init__(self, folder, *words, cwd=None, browser=None):
        command = [sys.executable, "-m", "shoal", "app", "--port", "0"]
        command += ["--no-browser"] if browser is None else []
        self.process = subprocess.Popen(
            [*command, "--folder", str(folder), *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(browser or {})},
        )
        self.first = self.process.stdout.readline()
        found = LINE.search(self.first)
        assert found, self.first + self.process.communicate(timeout=60)[0]
        self.address = found[1]
        self.origin = self.address.partition("/?")[0].rstrip("/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # a test that fails leaves no server behind
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=60)

    def client(self, **options):
        return httpx.Client(base_url=self.origin, trust_env=False, timeout=60, **options)

    def end(self, number):
        self.process.send_signal(number)
        rest = self.process.communicate(timeout=60)[0]
        return self.process.returncode, self.first + rest


def drop(process, client, content):
    let_in(client, process.address)
    headers = {"origin": process.origin, "accept": "application/json"}
    told = client.post("/open/upload", params={"name": "t.csv"}, content=content, headers=headers)
    task = told.json()["task"]
    while client.get(f"/task/{task}").json()["state"] == "running":
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "status", "copies"),
    [(signal.SIGINT, 0, 0), (signal.SIGTERM, 143, 0), (signal.SIGKILL, -9, 1)],
    ids=["Ctrl-C", "terminate", "kill"],
)
def test_the_end_removes_copies_and_keeps_settings_and_a_kill_keeps_both(
    tmp_path, patients, number, status, copies
):
    with Process(tmp_path / "private", cwd=tmp_path) as process:
        with process.client() as client:
            drop(process, client, patients)
            client.get("/columns")
        returned, printed = process.end(number)
    assert returned == status
    assert len(list((tmp_path / "private").glob("data/*/t.csv"))) == copies
    assert "diagnosis" in (tmp_path / "private" / "job.toml").read_text(encoding="utf-8")
    # no data and no request in what is printed, and the key once
    assert "Person" not in printed
    assert "GET" not in printed
    assert "Traceback" not in printed
    keys = re.findall(r"key=([\w-]+)", printed)
    assert min(map(len, keys)) >= 43
    assert len(set(keys)) == len(keys) <= 2  # the one that was used, and the next


def test_a_table_or_a_job_of_the_command_line_is_opened(tmp_path, patients):
    (tmp_path / "t.csv").write_bytes(patients)
    with Process(tmp_path / "private", tmp_path / "t.csv", cwd=tmp_path) as process:
        with process.client() as client:
            let_in(client, process.address)
            for _ in range(600):
                text = client.get("/open").text
                if "200 rows" in text:
                    break
                time.sleep(0.1)
            assert "200 rows, 5 columns" in text
        assert process.end(signal.SIGINT)[0] == 0


@pytest.mark.parametrize(
    ("host", "given", "sentence"),
    [
        ("192.0.2.1", [], "other machines"),
        ("192.0.2.1", ["tls_certificate", "tls_key"], "other machines"),
        ("192.0.2.1", ["password_file"], "other machines"),
        ("192.0.2.1", ["password_file", "tls_certificate"], "both"),
        ("0.0.0.0", ["password_file", "tls_certificate", "tls_key"], "every address"),  # noqa: S104
        ("192.0.2.1", ["short", "tls_certificate", "tls_key"], "at least 12"),
    ],
)
def test_beyond_this_machine_only_with_a_password_and_tls(files, tmp_path, host, given, sentence):
    names = {
        "password_file": files / "password",
        "tls_certificate": files / "page.pem",
        "tls_key": files / "page.key",
    }
    said = {name: str(names[name]) for name in given if name in names}
    if "short" in given:
        said["password_file"] = str(files / "short")
    wishes = Wishes(host=host, folder=str(tmp_path / "private"), browser=False, **said)
    with pytest.raises(OptionError, match=sentence) as caught:
        serve(wishes, say=pytest.fail)
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "private").exists()


def test_with_tls_the_page_speaks_tls_and_its_cookie_travels_nowhere_else(files, tmp_path):
    tls = ["--tls-certificate", files / "page.pem", "--tls-key", files / "page.key"]
    with Process(tmp_path / "private", "--password-file", files / "password", *tls) as process:
        assert process.address.startswith("https://127.0.0.1:")
        assert "key=" not in process.address
        trusted = ssl.create_default_context(cafile=files / "page.pem")
        with process.client(verify=trusted) as client:
            said = {"password": "correct horse battery"}
            answer = client.post("/login", data=said, headers={"origin": process.origin})
            go_on(client, answer)
            assert "secure" in answer.headers["set-cookie"].lower()
            assert client.get("/open").status_code == 200
        assert process.end(signal.SIGINT)[0] == 0


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"data": "nothing.csv"}, "There is no file 'nothing.csv'"),
        ({"data": "no.toml", "host": "::1"}, "There is no file 'no.toml'"),
        ({"port": 99_999}, "port 99999"),
        ({"files": "nowhere"}, "'nowhere' is none"),
        ({"tls_certificate": "no.pem", "tls_key": "no.key"}, "'no.pem' cannot be read"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(tmp_path, said, sentence):
    wishes = Wishes(**{"folder": str(tmp_path / "private"), "browser": False, "port": 0, **said})
    with pytest.raises(OptionError, match=sentence):
        serve(wishes, say=pytest.fail)


def test_a_refusal_on_the_command_line_has_status_2_and_one_line(tmp_path):
    found = subprocess.run(
        [sys.executable, "-m", "shoal", "app", "--no-browser", "--host", "192.0.2.1"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 2
    assert "would show the data to other machines" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_without_the_extra_one_sentence_says_what_to_install(tmp_path):
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError(name='uvicorn')\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    found = subprocess.run(
        [sys.executable, "-m", "shoal", "app"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert found.returncode == 2
    assert found.stderr.strip() == (
        "Error: The page needs more packages: pip install 'shoal-anonymity[app]'."
    )
