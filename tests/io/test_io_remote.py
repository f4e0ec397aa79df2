"""Tables in stores: s3:// against a server of this machine, https:// against another one."""

import http.server
import io
import json
import os
import ssl
import sys
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.s3_server import BUCKET, KEY, SECRET, s3_server

import shoal
from shoal.cli.program import run
from shoal.errors import DataError, OptionError
from shoal.io.atomic import AtomicGroup
from shoal.io.location import input_files
from shoal.io.read import read_table
from shoal.io.temporaries import remove_leftovers

ROLES = ("--k", "4", "--qi", "age,town", "--sensitive", "illness", "--identifier", "name")


@pytest.fixture(scope="module")
def server():
    with s3_server() as bucket:
        yield bucket


@pytest.fixture
def lake(server):
    """A bucket with a table, as CSV and as Parquet."""
    for key in server.names():
        server.client.delete_object(Bucket=BUCKET, Key=key)
    server.refused.clear()
    server.put("in/people.csv", people().write_csv().encode())
    server.asked.clear()
    return server


@pytest.fixture
def says(capfd):
    def call(*arguments):
        capfd.readouterr()
        status = run([str(each) for each in arguments])
        captured = capfd.readouterr()
        return status, captured.out + captured.err

    return call


@pytest.fixture(autouse=True)
def no_copies(tmp_path, monkeypatch):
    """After each test no copy of an object is left on the disk."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield
    assert list(place.iterdir()) == []


def people(n=80):
    return pl.DataFrame(
        {
            "name": [f"Person{i}" for i in range(n)],
            "age": [20 + i % 7 for i in range(n)],
            "town": [["Ulm", "Bonn", "Jena"][i % 3] for i in range(n)],
            "illness": [["flu", "gout"][i % 2] for i in range(n)],
        }
    )


def parquet(table):
    data = io.BytesIO()
    table.write_parquet(data)
    return data.getvalue()


def no_secret_in(*texts):
    for text in texts:
        assert KEY not in text
        assert SECRET not in text


def test_from_store_to_store_with_everything_that_is_written_beside(lake, says):
    made = {name: lake.url(f"out/{name}") for name in ("safe.parquet", "c.json", "r.html")}
    status, said = says(
        *("anonymize", lake.url("in/people.csv"), "-o", made["safe.parquet"], *ROLES),
        *("--certificate", made["c.json"], "--report", made["r.html"]),
    )
    assert status == 0, said
    assert lake.names() == ["in/people.csv", "out/c.json", "out/r.html", "out/safe.parquet"]
    # read once, whatever looks at it: how many rows, which columns, the cells
    assert lake.asked.count(("GET", f"/{BUCKET}/in/people.csv")) == 1
    certificate, page = lake.get("out/c.json").decode(), lake.get("out/r.html").decode()
    no_secret_in(said, certificate, page)
    assert BUCKET not in certificate
    published = read_table(made["safe.parquet"])
    assert published.columns == ["age", "town", "illness"]
    assert published.height == json.loads(certificate)["output"]["rows"]
    status, said = says("verify", made["safe.parquet"], "--certificate", made["c.json"])
    assert status == 0, said
    assert "the one that the certificate is about" in said
    lake.put("out/safe.parquet", lake.get("out/safe.parquet").replace(b"Ulm", b"Olm"))
    assert says("verify", made["safe.parquet"], "--certificate", made["c.json"])[0] != 0


def test_the_release_is_that_of_the_same_table_in_a_file(lake, tmp_path, says):
    here = tmp_path / "people.csv"
    here.write_bytes(lake.get("in/people.csv"))
    places = (here, tmp_path / "safe.csv"), (lake.url("in/people.csv"), lake.url("safe.csv"))
    for source, target in places:
        status, said = says("anonymize", source, "-o", target, *ROLES, "--seed", "7")
        assert status == 0, said
    assert lake.get("safe.csv") == (tmp_path / "safe.csv").read_bytes()


def test_init_looks_at_an_object_and_a_job_file_names_them_as_they_are(
    lake, tmp_path, says, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    source, made = lake.url("in/people.csv"), lake.url("out/safe.csv")
    status, said = says("init", source, "-o", "job.toml", "--yes")
    assert status == 0, said
    assert f"shoal anonymize {source}" in said
    text = Path("job.toml").read_text(encoding="utf-8")
    Path("deeper").mkdir()
    Path("deeper/job.toml").write_text(
        f'{text}\n[input]\npath = "{source}"\n[output]\ntable = "{made}"\n', encoding="utf-8"
    )
    status, said = says("anonymize", "--job", "deeper/job.toml", "--k", "4")
    assert status == 0, said
    assert "out/safe.csv" in lake.names()
    shoal.write_job(shoal.read_job("deeper/job.toml"), "again.toml")
    assert shoal.read_job("again.toml").input.path == source
    assert shoal.read_job("again.toml").output.table == made


def test_python_reads_and_writes_objects(lake):
    release = shoal.anonymize(
        shoal.read_table(lake.url("in/people.csv")),
        k=4,
        quasi_identifiers=["age", "town"],
        sensitive="illness",
        identifiers="name",
    )
    release.write(lake.url("out/safe.csv"))
    assert read_table(lake.url("out/safe.csv")).height == release.n_published


def test_further_rows_are_read_from_a_store_and_written_there(lake, tmp_path, says):
    kept = tmp_path / "release.shoal"
    first = ("anonymize", lake.url("in/people.csv"), "-o", lake.url("safe.csv"), *ROLES)
    assert says(*first, "--save", kept)[0] == 0
    lake.put("kept/release.shoal", kept.read_bytes())
    more = lake.put("in/more.csv", people(40).write_csv().encode())
    status, said = says(
        *("apply", more, "--release", lake.url("kept/release.shoal"), "-o", lake.url("more.csv")),
    )
    assert status == 0, said
    assert read_table(lake.url("more.csv")).columns == ["age", "town", "illness"]


@pytest.mark.parametrize("option", ["--save", "--log"])
def test_what_is_not_published_is_no_object(lake, says, option):
    status, said = says(
        *("anonymize", lake.url("in/people.csv"), "-o", lake.url("safe.csv"), *ROLES),
        *(option, lake.url("x.shoal")),
    )
    assert (status, "give a file of this machine" in said) == (2, True), said
    assert lake.names() == ["in/people.csv"]


def test_an_object_that_is_there_is_kept_unless_it_is_to_be_replaced(lake, says):
    before = b"what somebody put there"
    lake.put("safe.csv", before)
    command = ("anonymize", lake.url("in/people.csv"), "-o", lake.url("safe.csv"), *ROLES)
    status, said = says(*command)
    assert (status, "exists" in said) == (2, True)
    assert lake.get("safe.csv") == before
    assert says(*command, "--replace")[0] == 0
    assert lake.get("safe.csv") != before


@pytest.mark.parametrize("there", [True, False], ids=["replaced", "new"])
def test_where_one_object_is_refused_the_others_are_as_they_were(lake, tmp_path, says, there):
    if there:
        lake.put("safe.csv", b"the table of before")
        lake.put("c.json", b"the certificate of before")
        (tmp_path / "r.html").write_text("the page of before", encoding="utf-8")
    before = {key: lake.get(key) for key in lake.names()}
    lake.refused.add(f"/{BUCKET}/c.json")
    lake.asked.clear()
    status, said = says(
        *("anonymize", lake.url("in/people.csv"), "-o", lake.url("safe.csv"), *ROLES, "--replace"),
        *("--certificate", lake.url("c.json"), "--report", tmp_path / "r.html"),
    )
    assert (status, "Could not write" in said) == (2, True), said
    assert ("PUT", f"/{BUCKET}/safe.csv") in lake.asked  # it was there, for a moment
    assert {key: lake.get(key) for key in lake.names()} == before
    assert lake.unfinished() == []
    assert (tmp_path / "r.html").exists() == there
    if there:
        assert (tmp_path / "r.html").read_text(encoding="utf-8") == "the page of before"
    no_secret_in(said)


def test_a_release_that_is_not_kept_never_reaches_the_store(lake, says):
    status, _ = says(
        *("anonymize", lake.url("in/people.csv"), "-o", lake.url("safe.csv"), *ROLES),
        *("--l-diversity", "3", "--max-suppression", "0"),
    )
    assert status == 1
    assert lake.names() == ["in/people.csv"]
    assert not [path for method, path in lake.asked if method != "GET" and "PUT" in method]


def test_the_input_is_never_replaced(lake, says):
    before = lake.get("in/people.csv")
    url = lake.url("in/people.csv")
    status, said = says("anonymize", url, "-o", url, *ROLES, "--replace")
    assert (status, "same file" in said) == (2, True), said
    assert lake.get("in/people.csv") == before


def test_large_objects_go_in_pieces_and_appear_whole(lake):
    data = os.urandom(1 << 20) * 12
    with AtomicGroup() as group:
        group.add(lake.url("large.bin"), data)
        assert lake.names() == ["in/people.csv"]
    assert ("POST", f"/{BUCKET}/large.bin") in lake.asked
    assert lake.get("large.bin") == data
    assert lake.unfinished() == []


def test_a_run_that_is_stopped_leaves_nothing_in_the_store(lake):
    class StoppedError(Exception):
        pass

    def stopped():
        with AtomicGroup() as group:
            group.add(lake.url("safe.csv"), "table")
            raise StoppedError

    with pytest.raises(StoppedError):
        stopped()
    assert lake.names() == ["in/people.csv"]


def test_folders_and_patterns_of_objects_are_one_table(lake):
    for town in ("Ulm", "Bonn"):
        rows = people().filter(pl.col("town") == town).drop("town")
        lake.put(f"visits/town={town}/part-0.parquet", parquet(rows))
    lake.put("visits/_SUCCESS", b"")
    lake.put("visits/notes.md", b"no table")
    wanted = people().filter(pl.col("town") != "Jena").sort("name").select(people().columns)
    found = read_table(lake.url("visits/")).sort("name").select(people().columns)
    assert found.cast(pl.String).equals(wanted.cast(pl.String))
    lake.put("months/2.csv", people(20).write_csv().encode())
    lake.put("months/1.csv", people(10).write_csv().encode())
    assert input_files(lake.url("months/*.csv")) == [
        lake.url("months/1.csv"),
        lake.url("months/2.csv"),
    ]
    assert read_table(lake.url("months/")).height == 30
    with pytest.raises(DataError, match="No object fits"):
        input_files(lake.url("years/*.csv"))
    with pytest.raises(DataError, match="no table in the folder"):
        input_files(lake.url("years/"))


def test_the_values_of_folders_are_not_shown(lake, says):
    lake.put("visits/town=Ulm/part-0.parquet", b"broken")
    status, said = says("anonymize", lake.url("visits/"), "-o", "x.csv", *ROLES)
    assert (status, "Ulm" in said, "town=…" in said) == (2, False, True), said


def test_an_output_is_not_among_the_inputs_of_the_next_run(lake, says):
    for source in ("in/", "in/*.csv"):
        status, said = says("anonymize", lake.url(source), "-o", lake.url("in/safe.csv"), *ROLES)
        assert (status, "among the inputs" in said) == (2, True), said


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIAX:hush-hush@lake/in/people.csv",
        "s3://lake/in/people.csv?X-Amz-Signature=hush-hush",
        "https://reader:hush-hush@example.org/people.csv",
        "https://example.org/people.csv?sig=hush-hush",
        "https://example.org/people.csv#hush-hush",
        "abfs://box:hush-hush@account.dfs.core.windows.net/people.csv",
        "gs://hush-hush@lake/people.csv",
    ],
)
def test_a_url_with_a_password_or_a_signature_is_refused_and_not_shown(lake, tmp_path, says, url):
    here = tmp_path / "people.csv"
    people().write_csv(here)
    job = tmp_path / "job.toml"
    job.write_text(f'k = 4\n[input]\npath = "{url}"\n[output]\ntable = "safe.csv"\n')
    log = tmp_path / "log"
    for command in (
        ("anonymize", url, "-o", tmp_path / "safe.csv", *ROLES, "--log", log),
        ("anonymize", here, "-o", url, *ROLES, "--log", log),
        ("anonymize", here, "-o", tmp_path / "safe.csv", *ROLES, "--certificate", url),
        ("anonymize", "--job", job),
        ("init", url, "-o", tmp_path / "new.toml"),
        ("verify", url, "--k", "4", "--qi", "age"),
        ("verify", here, "--certificate", url),
        ("score", here, url, *ROLES[2:6]),
        ("apply", here, "--release", url, "-o", tmp_path / "safe.csv"),
    ):
        status, said = says(*command)
        assert (status, "hush" in said) == (2, False), said
        assert "leave it out" in said, (command, said)
    assert not (tmp_path / "safe.csv").exists()
    assert not (tmp_path / "new.toml").exists()
    assert not log.exists() or "hush" not in log.read_text()
    with pytest.raises(OptionError) as raised:
        shoal.read_table(url)
    assert "hush" not in str(raised.value)


def test_what_a_store_says_is_said_in_our_words(lake, says, monkeypatch):
    status, said = says("anonymize", lake.url("none.csv"), "-o", "x.csv", *ROLES)
    assert (status, "There is no object" in said) == (2, True), said
    status, said = says("anonymize", "s3://nowhere/none.csv", "-o", "x.csv", *ROLES)
    assert (status, "There is no object" in said) == (2, True), said
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    status, said = says("anonymize", lake.url("in/people.csv"), "-o", "x.csv", *ROLES)
    assert (status, "does not answer" in said) == (2, True), said
    no_secret_in(said)
    status, said = says("anonymize", lake.url("in/people.csv"), "-o", "x.csv", *ROLES, "--debug")
    no_secret_in(said)


def test_without_the_package_one_sentence_says_what_to_install(says, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    status, said = says("anonymize", "s3://lake/people.csv", "-o", "x.csv", *ROLES)
    assert (status, "pip install 'shoal-anonymity[cloud]'" in said) == (2, True), said


def test_copies_are_private_and_those_of_a_killed_run_are_removed(lake, tmp_path):
    from shoal.io.remote import fetched

    copy = fetched(lake.url("in/people.csv"))
    assert copy.stat().st_mode & 0o077 == 0
    left = copy.with_name(copy.name.replace(str(os.getpid()), "4194304"))
    copy.rename(left)
    assert remove_leftovers([left.parent]) == 1


# -- https ------------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder that a server of this machine gives by https://; returns the folder and the URL."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])

    def certified(name, key, by=None, by_key=None):
        named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        end = x509.BasicConstraints(ca=by is None, path_length=None)
        return (
            x509.CertificateBuilder()
            .subject_name(named)
            .issuer_name(named if by is None else by.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(names, critical=False)
            .add_extension(end, critical=True)
            .sign(key if by_key is None else by_key, hashes.SHA256())
        )

    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    office, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = certified("an office", office)
    made = certified("localhost", own, authority, office)
    trusted, shown = tmp_path / "trusted.pem", tmp_path / "shown.pem"
    trusted.write_bytes(authority.public_bytes(pem))
    secret = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    shown.write_bytes(made.public_bytes(pem) + secret)
    folder = tmp_path / "site"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    yield folder, f"https://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_files_are_read_by_https_and_not_written(site, tmp_path, says):
    folder, where = site
    people().write_csv(folder / "people of Köln.csv")
    safe = tmp_path / "safe.csv"
    status, said = says("anonymize", f"{where}/people%20of%20K%C3%B6ln.csv", "-o", safe, *ROLES)
    assert status == 0, said
    assert read_table(safe).height == 80
    status, said = says("anonymize", f"{where}/none.csv", "-o", tmp_path / "x.csv", *ROLES)
    assert (status, "There is no object" in said) == (2, True), said
    status, said = says("anonymize", safe, "-o", f"{where}/out.csv", *ROLES)
    assert (status, "not written" in said) == (2, True), said
    status, said = says("anonymize", f"{where}/", "-o", tmp_path / "x.csv", *ROLES)
    assert (status, "name the file" in said) == (2, True), said
