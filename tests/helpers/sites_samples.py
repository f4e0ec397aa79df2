"""Several sites: as processes that speak TLS, and as threads that share numbers."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import polars as pl

from shoal.sites.keys import make_key
from shoal.sites.sharing import deal
from shoal.sites.wire import SitesError

SOURCE = Path(__file__).parents[2] / "src"
SITES = ("east", "north", "south")
ILLNESSES = ["asthma", "flu", "gout", "none"]
TOWNS = {"Alm": "hills", "Berg": "hills", "Moor": "plain", "Deich": "plain", "Watt": "sea"}


def patients(n, seed=0):
    """Rows of patients whose age, town and sex hang together."""
    rng = np.random.default_rng(seed)
    town = rng.choice(list(TOWNS), n, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    age = np.clip(rng.normal(45, 18, n) + 10 * (town == "Alm"), 0, 99).astype(int)
    return pl.DataFrame(
        {
            "name": [f"person {seed}-{number}" for number in range(n)],
            "age": age,
            "town": town,
            "sex": rng.choice(["F", "M"], n),
            "illness": rng.choice(ILLNESSES, n, p=[0.3, 0.3, 0.2, 0.2]),
        }
    )


JOB = """
k = {k}

[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
[columns.town]
role = "quasi-identifier"
hierarchy = "town.csv"
[columns.sex]
role = "quasi-identifier"
hierarchy = "sex.csv"
[columns.illness]
role = "sensitive"
{more}
[sites]
coordinator = "127.0.0.1:{port}"
{options}
[sites.ranges]
age = [0, 99]
[sites.values]
illness = ["asthma", "flu", "gout", "none"]
[sites.fingerprints]
{fingerprints}
"""


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def set_up(folder, parts, *, k=5, more="", options=""):
    """Writes keys, tables, hierarchies and the job of a run; returns the job."""
    names = [*list(parts), "coordinator"]
    lines = []
    for name in names:
        if not (folder / f"{name}.key").exists():
            make_key(name, folder)
        from shoal.sites.keys import fingerprint_of

        lines.append(f'{name} = "{fingerprint_of(folder / f"{name}.crt")}"')
    for name, part in parts.items():
        part.write_csv(folder / f"{name}.csv")
    towns = "".join(f"{town};{land};*\n" for town, land in TOWNS.items())
    (folder / "town.csv").write_text(towns, encoding="utf-8")
    (folder / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    job = folder / "job.toml"
    said = JOB.format(
        k=k, port=free_port(), more=more, options=options, fingerprints="\n".join(lines)
    )
    job.write_text(said, encoding="utf-8")
    return job


def start(folder, *arguments):
    """Starts a party as a process of its own."""
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "shoal", "sites", *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_coordinator(folder, *more, job="job.toml"):
    return start(folder, "run", "--job", job, "--key", "coordinator.key", *more)


def start_site(folder, name, *more, job="job.toml"):
    """Starts a site, whose release is NAME-safe.csv."""
    own = ("--table", f"{name}.csv", "--job", job, "--key", f"{name}.key")
    return start(folder, "serve", *own, "-o", f"{name}-safe.csv", *more)


def ended(process, timeout=120):
    """What a process said, once it has ended: status, output and errors."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        message = f"A party did not end: {out} {err}"
        raise AssertionError(message) from None
    return process.returncode, out, err


class Hub:
    """What threads of one process share in place of connections; dealing is the real one."""

    def __init__(self, n_sites):
        self.n_sites = n_sites
        self.barrier = threading.Barrier(n_sites, timeout=60)
        self.slots = [None] * n_sites
        self.dealt = []
        self.opened = []
        self.sent = []


class AtHub:
    """The other sites, as a thread reaches them."""

    def __init__(self, hub, place):
        self.hub, self.place, self.n_sites = hub, place, hub.n_sites

    def _all(self, given):
        hub = self.hub
        hub.slots[self.place] = given
        hub.barrier.wait()
        found = list(hub.slots)
        hub.barrier.wait()
        return found

    def ask(self, wanted):
        asked = self._all(wanted.pack())
        assert len(set(asked)) == 1
        if self.place == 0:
            self.hub.dealt = deal(type(wanted).unpack(asked[0]), self.n_sites)
        self.hub.barrier.wait()
        return type(self.hub.dealt[0]).unpack(self.hub.dealt[self.place].pack(), wanted)

    def exchange(self, what, given, size):
        found = self._all(given)
        if self.place == 0:
            self.hub.sent.append((what, found))
        del found[self.place]
        assert size is None or all(len(each) == size for each in found)
        return found

    def malformed(self, site):
        return SitesError("malformed", str(site))

    def note_opened(self, what, numbers):
        if self.place == 0:
            self.hub.opened.append((what, numbers.tolist()))


def in_threads(n_sites, work):
    """Runs work(others) of each site in a thread; returns what each returned, and the hub."""
    hub, results = Hub(n_sites), [None] * n_sites

    def run(place):
        try:
            results[place] = work(AtHub(hub, place))
        except BaseException as error:  # noqa: BLE001 - told by the thread that asked
            results[place] = error
            hub.barrier.abort()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(n_sites)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    broken = (threading.BrokenBarrierError,)
    errors = [each for each in results if isinstance(each, BaseException)]
    for each in sorted(errors, key=lambda error: isinstance(error, broken)):
        raise each
    return results, hub
