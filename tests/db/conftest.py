"""A PostgreSQL of the tests' own: made, started, stopped and removed again by one fixture."""

import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from tests.helpers.db_secrets import PASSWORD, USER

from shoal.cli.program import run


@dataclass
class Server:
    """Where the server listens, and how to get in."""

    port: int

    def url(self, table, *, database="postgres", user=USER, password=PASSWORD):
        who = f"{quote(user, safe='')}:{quote(password, safe='')}"
        return f"postgresql://{who}@127.0.0.1:{self.port}/{database}?table={quote(table)}"

    def connect(self, database="postgres"):
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=PASSWORD,
            dbname=database,
            autocommit=True,
        )


def _programs():
    """The folder of initdb and pg_ctl; they are installed by tools/setup_postgres.sh."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = [folder for folder in folders if (folder / "initdb").exists()]
    if found:
        return found[-1]
    program = shutil.which("initdb")
    assert program is not None, "PostgreSQL is not installed: run make services"
    return Path(program).resolve().parent


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def server():
    programs = _programs()
    # The server does not run as root: where the tests do, it runs as the user of its package.
    as_root = os.geteuid() == 0
    prefix = ["runuser", "-u", "postgres", "--"] if as_root else []
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
    secret = folder / "password"
    secret.write_text(PASSWORD, encoding="utf-8")
    if as_root:
        for path in (folder, secret):
            shutil.chown(path, "postgres")

    def call(*command):
        # Not captured by a pipe: the server would keep it open.
        with (folder / "output").open("ab") as output:
            done = subprocess.run(
                [*prefix, *map(str, command)], stdout=output, stderr=output, check=False, cwd="/"
            )
        assert done.returncode == 0, (folder / "output").read_text(encoding="utf-8")

    data, port = folder / "data", _free_port()
    try:
        call(
            programs / "initdb",
            *("-D", data, "-U", USER, f"--pwfile={secret}", "-A", "scram-sha-256"),
            *("-E", "UTF8", "--locale=C", "--no-sync"),
        )
        options = (
            f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= "
            "-c fsync=off -c max_connections=20 -c shared_buffers=16MB"
        )
        call(*(programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w"), "-o", options, "start")
        try:
            yield Server(port)
        finally:
            call(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(server):
    """Names a fresh, empty database of the server."""
    name = f"d{os.urandom(6).hex()}"
    with server.connect() as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield name
    with server.connect() as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(params=["postgresql", "sqlite"])
def place(request, tmp_path):
    """Gives the URL of a table in an empty database, for both kinds of databases."""
    if request.param == "sqlite":
        return lambda table: f"sqlite:///{tmp_path}/a.db?table={quote(table)}"
    server, database = request.getfixturevalue("server"), request.getfixturevalue("database")
    return lambda table: server.url(table, database=database)


@pytest.fixture
def shoal_says(capfd):
    """Runs a command in this process; returns its status and everything it printed."""

    def call(*arguments):
        capfd.readouterr()
        status = run([str(each) for each in arguments])
        captured = capfd.readouterr()
        return status, captured.out + captured.err

    return call
