"""Item by item what keeps others out: the attacks, tried."""

import html
import re
import socket
import stat
from pathlib import Path

import httpx
import pytest
from starlette.routing import Mount, Route
from tests.app.conftest import Pages, go_on, let_in

import shoal.app
from shoal.app.access import CONTENT_POLICY, Guard, Session, is_loopback

PACKAGE = Path(shoal.app.__file__).parent
PASSWORD = "correct horse battery"  # noqa: S105 - of a test
SCRIPT = "<script>alert('x')</script>"


def all_routes(app):
    """Yields a method and a path of every page and answer."""
    for route in app.routes:
        if isinstance(route, Mount):
            yield "GET", f"{route.path}/app.js"
        if isinstance(route, Route):
            path = re.sub(r"\{\w+:int\}", "0", route.path)
            path = re.sub(r"\{\w+(:path)?\}", "x", path)
            for method in sorted(route.methods - {"HEAD"}):
                yield method, path


def ask_raw(pages, *lines, path="/open"):
    """Sends a request to a page that no client would send; returns the answer as text."""
    with socket.create_connection(("127.0.0.1", pages.guard.port), timeout=10) as connection:
        text = "\r\n".join(
            [f"GET {pages.path}{path} HTTP/1.1", *lines, "Connection: close", "", ""]
        )
        connection.sendall(text.encode())
        found = b""
        while part := connection.recv(65536):
            found += part
    return found.decode("utf-8", "replace")


def cookie_of(pages):
    return f"Cookie: {pages.guard.cookie}={pages.client.cookies[pages.guard.cookie]}"


def test_nothing_is_answered_without_the_key(pages, patients):
    pages.drop("patients.csv", patients)
    stranger = pages.new_client()
    asked = list(all_routes(pages.app))
    assert len(asked) > 12
    for method, path in asked:
        answer = stranger.request(method, path, headers={"origin": pages.origin})
        assert answer.status_code == 403, (method, path)
        assert "open to one browser only" in answer.text
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("key", ["", "x", "ä", "\ud800".encode("utf-8", "surrogatepass")])
def test_a_wrong_key_opens_nothing(pages, key):
    answer = pages.new_client().get("/", params={"key": key})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_key_lets_one_browser_in_and_is_worth_nothing_then(pages):
    address = pages.guard.invite()
    assert pages.new_client().head(address).status_code == 403  # whoever only looks uses nothing up
    first, second = pages.new_client(), pages.new_client()
    let_in(first, address)
    assert first.get("/open").status_code == 200
    for client in (second, first):
        assert client.get(address).status_code == 403
        assert "set-cookie" not in client.get(address).headers
    assert first.get("/open").status_code == 200


def test_keys_cookies_and_paths_do_not_stand_for_each_other(pages):
    key = pages.guard.invite().partition("key=")[2]
    token, name = pages.client.cookies[pages.guard.cookie], pages.path.strip("/")
    stranger = pages.new_client()
    for given in (token, name):
        assert stranger.get("/", params={"key": given}).status_code == 403
    for path in ("/", f"/{name}/", f"/{token}/", f"/{key}/"):
        for given in ("", key, name):
            headers = {"cookie": f"{pages.guard.cookie}={given}"}
            assert stranger.get(f"{path}open", headers=headers).status_code == 403
    headers = {"cookie": f"{pages.guard.cookie}={token}"}
    for path in ("/open", f"/{token}/open", f"/{name}x/open", f"//{name}/open"):
        assert stranger.get(path, headers=headers).status_code == 403
    assert stranger.get(f"/{name}/open", headers=headers).status_code == 200


def test_the_cookie_is_of_no_use_to_scripts_other_pages_and_other_paths(pages):
    answer = pages.new_client().get(pages.guard.invite())
    path = re.search(r'url=(/[\w-]{43,})/"', answer.text)[1]
    told = [each.strip() for each in answer.headers["set-cookie"].lower().split(";")]
    assert {"httponly", "samesite=strict", f"path={path.lower()}"} <= set(told)
    assert "expires" not in answer.headers["set-cookie"].lower()


def test_a_session_is_of_no_use_to_another(pages):
    other = pages.new_client()
    let_in(other, pages.guard.invite())
    assert other.base_url.path != pages.client.base_url.path
    name = pages.guard.cookie
    assert other.cookies[name] != pages.client.cookies[name]
    wrong = {"cookie": f"{name}={other.cookies[name]}"}
    stranger = pages.new_client()
    assert stranger.get(f"{pages.path}/open", headers=wrong).status_code == 403


def test_a_cookie_that_another_server_adds_keeps_nobody_out(pages):
    ours = cookie_of(pages)
    for cookies in (f"{ours}; {pages.guard.cookie}=x", f"{ours}; broken;;=;", ours + "; a=b"):
        found = ask_raw(pages, f"Host: 127.0.0.1:{pages.guard.port}", cookies)
        assert " 200 " in found.splitlines()[0]


def test_every_address_of_every_page_is_inside_the_session(pages, patients):
    pages.drop("patients.csv", patients)
    pages.post("/columns/1", {"role": "quasi-identifier"})
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    seen, asked = set(), {"/"}
    while asked:
        place = asked.pop()
        seen.add(place)
        answer = pages.get(place)
        while answer.status_code == 303:
            answer = pages.get(answer.headers["location"])
        assert answer.status_code == 200, place
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        for name, address in re.findall(r'\s([a-z-]+)="(/[^"]*|https?:[^"]*)"', answer.text):
            if name in ("data-next", "value") or "report.html" in place:
                continue
            assert address.startswith(f"{pages.path}/"), (place, name, address)
            if name == "href":
                inner = html.unescape(address).removeprefix(pages.path).partition("#")[0]
                asked |= {inner} - seen
    assert len(seen) > 20


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "attacker.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.:{port}",
    ],
)
def test_a_request_for_another_host_is_refused_even_with_the_cookie(pages, host):
    name = host.format(port=pages.guard.port)
    assert " 421 " in ask_raw(pages, f"Host: {name}", cookie_of(pages)).splitlines()[0]


def test_two_hosts_or_none_are_refused(pages):
    ours = f"Host: 127.0.0.1:{pages.guard.port}"
    assert " 200 " in ask_raw(pages, ours, cookie_of(pages)).splitlines()[0]
    assert " 200 " not in ask_raw(pages, ours, ours, cookie_of(pages)).splitlines()[0]
    assert " 200 " not in ask_raw(pages, cookie_of(pages)).splitlines()[0]


def test_the_names_of_this_machine_are_ours(pages):
    for name in ("localhost", "127.0.0.1", "[::1]"):
        found = ask_raw(pages, f"Host: {name}:{pages.guard.port}", cookie_of(pages))
        assert " 200 " in found.splitlines()[0]


@pytest.mark.parametrize("origin", ["http://attacker.example", "null", "", None, "https://{ours}"])
def test_a_form_from_another_page_changes_nothing(pages, patients, origin):
    pages.drop("patients.csv", patients)
    revision = pages.work.revision
    headers = {"accept": "application/json"}
    if origin is not None:
        headers["origin"] = origin.format(ours=f"127.0.0.1:{pages.guard.port}")
    answers = [
        pages.client.post("/columns/1", data={"role": "drop"}, headers=headers),
        pages.client.post("/finish", headers=headers),
        pages.client.post(
            "/open/upload", params={"name": "x.csv"}, content=b"a\n1\n", headers=headers
        ),
    ]
    assert [each.status_code for each in answers] == [403] * 3
    assert pages.work.revision == revision
    assert pages.work.source is not None


def test_another_page_cannot_read_or_follow_a_link_here(pages):
    for headers in ({"origin": "http://attacker.example"}, {"sec-fetch-site": "cross-site"}):
        assert pages.get("/open", headers=headers).status_code == 403


def test_every_answer_has_a_policy_and_is_kept_by_nobody(pages, patients):
    pages.drop("patients.csv", patients)
    seen = [
        pages.get(path) for path in ("/open", "/columns", "/static/app.js", "/nowhere", "/finish")
    ]
    seen += [
        pages.new_client().get("/open"),
        pages.get("/open/job.toml"),
        pages.get("/columns/counts/0"),
    ]
    for answer in seen:
        assert answer.headers["content-security-policy"] == CONTENT_POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "server" not in answer.headers


def test_templates_hold_no_script_style_or_address_of_their_own():
    templates = sorted(PACKAGE.glob("templates/*.html"))
    assert len(templates) > 5
    for path in templates:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<script(?![^>]*\ssrc=\"/static/)", text), path.name
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text), path.name
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", text), path.name
        assert not re.search(r"\|\s*safe|autoescape|Markup", text), path.name


@pytest.mark.parametrize(
    "path",
    [
        "/static/../guard.py",
        "/static/..%2fguard.py",
        "/static/%2e%2e/guard.py",
        "/static/..\\guard.py",
        "/static//etc/passwd",
    ],
)
def test_nothing_but_static_files_is_served_as_one(pages, path):
    found = ask_raw(pages, f"Host: 127.0.0.1:{pages.guard.port}", cookie_of(pages), path=path)
    assert " 404 " in found.splitlines()[0]
    assert "compare_digest" not in found
    assert "root:" not in found


@pytest.fixture
def outside(tmp_path):
    """A file that is not in the folder that files may be opened in."""
    path = tmp_path / "outside.csv"
    path.write_text("secret\nnobody\nsees\n", encoding="utf-8")
    return path


def test_a_path_outside_the_folder_is_not_opened(pages, outside):
    (pages.work.root / "link.csv").symlink_to(outside)
    (pages.work.root / "folder").symlink_to(outside.parent)
    tried = [
        str(outside),
        "../outside.csv",
        "folder/../../outside.csv",
        "link.csv",
        "folder/outside.csv",
        "~/../../etc/passwd",
        "/etc/passwd",
        "sqlite:////etc/passwd?table=x",
        "sqlite:///../outside.csv?table=x",
        "a\0b.csv",
    ]
    for path in tried:
        answer = pages.post("/open/path", {"path": path})
        assert answer.status_code == 400, path
        assert "nobody" not in answer.text
    assert pages.work.source is None
    for folder in ("..", "folder", "/", str(outside.parent)):
        assert pages.get("/open/browse", params={"folder": folder}).status_code in {303, 400}


def test_a_job_file_cannot_point_outside_either(pages, outside):
    (pages.work.root / "table.csv").write_text("age\n1\n2\n", encoding="utf-8")
    jobs = {
        "input": f'[input]\npath = "{outside}"\n',
        "more": f'[input]\npath = "table.csv"\nmore = ["{outside}"]\n',
        "hierarchy": f'[input]\npath = "table.csv"\n[columns.age]\nrole = "drop"\n'
        f'hierarchy = "{outside}"\n',
        "people": '[input]\npath = "table.csv"\n[[privacy]]\nmodel = "k-map"\nk = 2\n'
        f'population = "{outside}"\n',
        "previous": f'previous = ["{outside}"]\n[input]\npath = "table.csv"\n',
    }
    for name, text in jobs.items():
        path = pages.work.root / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        answer = pages.post("/open/path", {"path": path.name})
        assert answer.status_code == 400, name
        assert "only in" in answer.json()["error"], name
    assert pages.work.source is None


def test_the_name_of_a_dropped_file_leads_nowhere(pages, patients):
    for name in ("../../evil.csv", "/etc/evil.csv", "..\\evil.csv", "a\0b.csv", "…/.csv", "."):
        assert pages.drop(name, patients, wait=False).status_code == 200
        pages.app.state.tasks.latest("open").wait(60)
        path = Path(pages.work.source.path)
        assert path.parent.parent == pages.work.folder / "data"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(pages.work.folder.stat().st_mode) == 0o700


def test_a_script_in_a_name_or_a_cell_is_shown_as_text(pages):
    rows = [f'"{SCRIPT}","{SCRIPT}",{i % 9}' for i in range(40)]
    table = "\n".join([f'"{SCRIPT}","<img src=x onerror=alert(1)>",age', *rows])
    assert pages.drop(f"{SCRIPT}.csv", table.encode()).status_code == 200
    answers = [pages.get(p).text for p in ("/open", "/columns", "/finish", "/nowhere")]
    answers.append(pages.get("/open/rows").json()["html"])
    answers += pages.post("/columns/0", {"role": "quasi-identifier"}).json()["rows"].values()
    answers.append(pages.get("/columns/0").json()["card"])
    for text in answers:
        assert "<script>alert" not in text
        assert "<img" not in text
    assert "&lt;script&gt;" in answers[0]
    assert "&lt;script&gt;" in answers[1]


def test_a_name_of_a_file_in_a_listed_folder_is_shown_as_text(pages):
    (pages.work.root / "<img src=x onerror=alert(1)>.csv").write_text("a\n1\n", encoding="utf-8")
    html = pages.get("/open/browse", headers={"accept": "application/json"}).json()["html"]
    assert "<img" not in html
    assert "&lt;img" in html


def test_an_error_is_one_sentence_without_a_cell(pages):
    answer = pages.drop("broken.csv", b'a,b\n1,2\n"secret cell,3\n4,5\n', wait=False)
    task = pages.app.state.tasks.latest("open")
    task.wait(60)
    assert (answer.status_code, task.state) == (200, "failed")
    text = pages.get("/open").text
    assert "secret cell" not in text
    assert "Traceback" not in text
    assert "&#39;broken.csv&#39;, line 3" in text
    assert str(pages.work.folder) not in text


def test_what_nobody_planned_for_is_one_sentence_too(pages, monkeypatch):
    def fail(*_):
        raise ValueError("a cell of the table")

    monkeypatch.setattr(type(pages.work), "asides", fail)
    answer = pages.get("/open")
    assert answer.status_code == 500
    assert "a cell of the table" not in answer.text
    assert "ValueError" in answer.text


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.3.2.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - not bound
        ("10.0.0.5", False),
        ("localhost.attacker.example", False),
        ("", False),
    ],
)
def test_only_addresses_that_nobody_else_can_reach_are_loopback(host, own):
    assert is_loopback(host) is own


def test_with_a_password_the_key_opens_nothing_and_guessing_changes_nothing(work):
    pages = Pages(work, password=PASSWORD)
    try:
        client = pages.new_client()
        assert client.get("/", params={"key": "x"}).headers["location"] == "/login"
        assert "Password" in client.get("/login").text
        wrong = client.post("/login", data={"password": "x"}, headers={"origin": pages.origin})
        assert "set-cookie" not in wrong.headers
        assert (wrong.status_code, "not the password" in wrong.text) == (403, True)
        assert "not the password" not in pages.new_client().get("/login").text
        endless = client.post("/login", content=b"x" * 100_000, headers={"origin": pages.origin})
        assert endless.status_code == 413
        assert client.get("/open").status_code == 303
        assert client.post("/finish", headers={"origin": pages.origin}).status_code == 403
        said = {"password": PASSWORD}
        right = client.post("/login", data=said, headers={"origin": pages.origin})
        go_on(client, right)
        assert client.get("/open").status_code == 200
    finally:
        pages.end()


def test_what_lets_in_is_always_new_and_long_and_not_shown():
    guard = Guard()
    keys = {guard.invite().partition("key=")[2] for _ in range(20)}
    sessions = [Session() for _ in range(20)]
    keys |= {each.name for each in sessions} | {each.token for each in sessions}
    assert len(keys) == 60
    assert min(map(len, keys)) >= 43  # 256 bits
    shown = repr(guard) + repr(sessions)
    assert not any(key in shown for key in keys)


def test_a_message_is_shown_to_the_browser_that_it_is_for(pages, patients):
    other = pages.new_client()
    let_in(other, pages.guard.invite())
    pages.drop("patients.csv", patients)
    (pages.work.root / "secret name.csv").mkdir()
    pages.post("/open/path", {"path": "secret name.csv"}, script=False)
    assert "secret name" not in other.get("/finish").text
    assert "secret name" in pages.get("/finish").text
    assert "secret name" not in pages.get("/finish").text


def test_a_visitor_without_a_session_is_shown_nothing_of_others(work, patients):
    pages = Pages(work, password=PASSWORD)
    try:
        said = {"password": PASSWORD}
        answer = pages.client.post("/login", data=said, headers={"origin": pages.origin})
        go_on(pages.client, answer)
        empty = pages.new_client().get("/login").text
        pages.drop("patients.csv", patients)
        pages.post("/open/path", {"path": "secret name.csv"}, script=False)
        assert pages.new_client().get("/login").text == empty
        assert "secret name" in pages.get("/open").text
    finally:
        pages.end()


def test_the_language_form_leads_to_no_other_host(pages):
    for back in ("//attacker.example/", "https://attacker.example", "/\\attacker.example", "x"):
        answer = pages.post("/language", {"language": "de", "back": back})
        assert httpx.URL(answer.headers["location"]).host == ""
        assert answer.headers["location"] == "/"
