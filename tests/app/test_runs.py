"""Runs behind the pages: the command line's bytes, before and after, advice, what stays private."""

import io
import json
import zipfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.helpers.app_people import job_of_people, people

import shoal
from shoal.app.before_after import HIDDEN, SAME, WIDER
from shoal.app.curve import Curve, curve_key, draw, draw_curve, sizes_around
from shoal.app.feasibility import encode_job, impossible
from shoal.app.hand_over import as_commands, portable_job, private_zip, public_zip, sign_run
from shoal.app.runs import Tried, apply_settings, changed_column, look_beside, run_in
from shoal.errors import OptionError
from shoal.report.certificate import read_certificate
from shoal.run.job import run_job
from shoal.settings.inputs import read_input
from shoal.settings.job import JobColumn
from shoal.settings.job_file import format_job, read_job


def unwatched(done, total, what):
    """Nobody looks."""


@pytest.fixture(scope="session")
def table():
    return people()


@pytest.fixture(scope="session")
def source(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    table.write_csv(path)
    return path


@pytest.fixture(scope="session")
def job(source):
    return job_of_people(source)


@pytest.fixture(scope="session")
def tried(job, tmp_path_factory):
    """One run and the folder of its results; nobody changes them."""
    results = tmp_path_factory.mktemp("results")
    return run_in(results, job, lambda *_: None), results


# -- the run -------------------------------------------------------------------------------------


def test_a_run_writes_the_bytes_that_the_saved_job_file_writes_elsewhere(tried, job, tmp_path):
    run, results = tried
    files = run.files(results)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with zipfile.ZipFile(io.BytesIO(private_zip(job, files, "people.csv"))) as kept:
        kept.extractall(folder)
    (folder / "people.csv").write_bytes(Path(job.input.path).read_bytes())
    saved = read_job(folder / "job.toml")
    assert saved.seed == 11
    run_job(saved)
    assert (folder / "release.csv").read_bytes() == files.release.read_bytes()


def test_a_run_without_a_seed_gets_one_and_can_be_repeated_exactly(job, tmp_path):
    first = run_in(tmp_path / "a", job.replaced(seed=None), unwatched)
    again = first.read_job(tmp_path / "a")
    assert again.seed is not None
    second = run_in(tmp_path / "b", again, unwatched)
    one, two = (
        r.files(tmp_path / f).release.read_bytes() for r, f in ((first, "a"), (second, "b"))
    )
    assert one == two


def test_a_stopped_run_leaves_nothing(job, tmp_path):
    class Stop(BaseException):
        pass

    def stop(done, total, what):
        if what == "verifying":
            raise Stop

    with pytest.raises(Stop):
        run_in(tmp_path, job, stop)
    assert list(tmp_path.iterdir()) == []


def test_a_run_survives_json_and_counts_what_was_lost(tried):
    run, _ = tried
    assert Tried.from_dict(json.loads(json.dumps(run.to_dict()))) == run
    assert run.smallest >= 5
    assert run.n_rows == 300
    assert set(run.by_column) == {"age", "zip", "job"}
    assert run.checks


def test_what_is_kept_of_a_run_holds_no_cell_of_the_table(tried, table):
    run, _ = tried
    text = json.dumps(run.to_dict())
    for cell in table.get_column("name").to_list():
        assert f'{cell}"' not in text
    assert not any(cell in text for cell in table.get_column("zip").to_list())


# -- before and after ----------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["mondrian", "incognito", "auto"])
def test_before_and_after_are_the_published_rows_with_the_rows_they_were(
    algorithm, source, tmp_path
):
    extra = {"max_suppression": 0.1} if algorithm == "incognito" else {}
    asked = job_of_people(source, algorithm=algorithm, **extra)
    asked = asked.replaced(
        columns={
            **asked.columns,
            "job": JobColumn(role="quasi-identifier", hierarchy=_tree_of_jobs(tmp_path)),
            "age": JobColumn(
                role="quasi-identifier", hierarchy={"rule": "intervals", "widths": [5, 10, 20]}
            ),
        }
    )
    run = run_in(tmp_path / "results", asked, unwatched)
    files = run.files(tmp_path / "results")
    frame = read_input(asked.input)
    both = look_beside(files, asked, frame)
    published = pl.read_csv(files.release, infer_schema=False)
    keys = both.names[: both.n_keys]
    seen = []
    for view in both.page(0, both.n_groups, most_rows=10_000):
        assert view.n_rows >= 5
        assert len(view.rows) == view.n_rows
        after = tuple(cell.text for cell in view.published)
        for row in view.rows:
            others = tuple(cell.text for cell in row[both.n_keys :])
            seen.append((*after, *others))
        for place, cell in enumerate(view.published):
            texts = {row[place].text for row in view.rows}
            assert (cell.change == SAME) is (texts == {cell.text})
            assert (cell.change == HIDDEN) is (cell.text == "*" and texts != {"*"})
            assert cell.change in {SAME, WIDER, HIDDEN}
    expected = published.select(both.names).rows()
    assert sorted(seen) == sorted(expected)
    assert both.n_groups == published.select(keys).n_unique() == run.n_groups
    assert both.left_out().n_rows == run.n_suppressed
    losses = [view.loss for view in both.page(0, both.n_groups)]
    assert losses == sorted(losses, reverse=True)


def _tree_of_jobs(folder):
    from shoal.hierarchy import Taxonomy

    path = folder / "jobs.csv"
    hands = ["baker", "cook", "smith", "tailor", "weaver"]
    Taxonomy.from_nested({"hands": hands, "other": ["clerk", "driver", "nurse"]}).to_csv(path)
    return path


def test_groups_come_in_pages_and_long_groups_are_cut(tried, job):
    run, results = tried
    both = look_beside(run.files(results), job, read_input(job.input))
    first, second = both.page(0, 2, most_rows=3), both.page(2, 2, most_rows=3)
    assert [view.number for view in (*first, *second)] == [0, 1, 2, 3]
    assert all(len(view.rows) == 3 for view in first)
    assert both.page(both.n_groups - 1, 5)[-1].number == both.n_groups - 1
    assert both.page(10**9, 5) == []


def test_a_table_that_has_changed_since_is_not_put_beside_the_release(tried, job):
    run, results = tried
    assert look_beside(run.files(results), job, read_input(job.input).head(200)) is None


@pytest.mark.parametrize(("how", "is_shown"), [("since first", True), ("shift weeks", False)])
def test_dates_are_moved_before_anything_is_looked_at(tmp_path, how, is_shown):
    rows = [
        (number, 20 + number % 40, date(2024, 1, 1) + timedelta(number * 7 % 300 + 30 * visit))
        for number in range(40)
        for visit in range(2)
    ]
    frame = pl.DataFrame(rows, ["id", "age", "seen"], orient="row")
    frame.write_csv(tmp_path / "visits.csv")
    said = {"id": JobColumn(role="person"), "age": JobColumn(role="quasi-identifier")}
    said["seen"] = JobColumn(role="quasi-identifier", kind="date", dates=how)
    asked = shoal.Job(k=3, input=str(tmp_path / "visits.csv"), columns=said, algorithm="mondrian")
    assert impossible(encode_job(read_input(asked.input), asked), asked) == {}
    run = run_in(tmp_path / "results", asked, unwatched)
    both = look_beside(run.files(tmp_path / "results"), asked, read_input(asked.input))
    # an offset that is forgotten cannot be put beside anything
    assert (both is not None) is is_shown
    if both is not None:
        seen = both.names.index("seen")
        days = {row[seen].text for view in both.page(0, both.n_groups) for row in view.rows}
        assert days == {"0", "30"}


# -- impossible settings -------------------------------------------------------------------------


def test_a_possible_job_has_nothing_to_complain_about(table, job):
    asked = job.replaced(privacy=[{"model": "l-diversity", "l": 2, "kind": "distinct"}])
    assert impossible(encode_job(table, asked), asked) == {}


@pytest.mark.parametrize(
    ("options", "place", "why"),
    [
        ({"k": 301}, "k", "300 rows, fewer than k = 301"),
        ({"k": 1}, "k", "at least 2"),
        (
            {"privacy": [{"model": "l-diversity", "l": 4, "kind": "distinct"}]},
            "privacy.0",
            "at most 3",
        ),
        ({"privacy": [{"model": "alpha-k", "alpha": 0.1}]}, "privacy.0", "alpha must be at least"),
        ({"privacy": [{"model": "t-closeness", "t": 2}]}, "privacy.0", "below 1"),
        ({"privacy": [{"model": "k-map", "k": 3}]}, "privacy.0", "needs a table of the population"),
        ({"max_suppression": 1.5}, "max_suppression", "below 1"),
        ({"algorithm": "magic"}, "algorithm", "magic"),
    ],
)
def test_an_impossible_setting_is_explained_where_it_is_set(table, job, options, place, why):
    asked = job.replaced(**options)
    found = impossible(encode_job(table, asked), asked)
    assert list(found) == [place]
    assert why in found[place]


def test_two_impossible_promises_are_each_told_in_their_place(table, job):
    asked = job.replaced(
        k=1000,
        privacy=[
            {"model": "alpha-k", "alpha": 0.5},
            {"model": "l-diversity", "l": 9, "kind": "distinct"},
        ],
    )
    assert set(impossible(encode_job(table, asked), asked)) == {"k", "privacy.1"}


def test_wrong_columns_are_told_and_promises_wait_for_them(table, job):
    broken = {**job.columns, "age": JobColumn(role="quasi-identifier", kind="date")}
    asked = job.replaced(columns=broken)
    found = impossible(encode_job(table, asked), asked)
    assert list(found) == ["columns"]
    assert "'age'" in found["columns"]


# -- advice --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def advised(table, job):
    return shoal.explain(table, **{**job.arguments(), "workers": 1})


def test_each_change_that_was_tried_and_has_an_option_becomes_a_job_that_runs(
    advised, table, job, tmp_path
):
    def listed(column, how):
        assert (column, how) == ("job", "frequency")
        from shoal.app.hierarchy_preview import Values, build

        path = tmp_path / f"{column}.csv"
        build(Values.of(table.get_column(column)), how, {}).tree.to_csv(path)
        return path

    told = {(change.what, change.column): change for change in advised.changes}
    assert {what for what, _ in told} == {"drop", "coarsen", "suppress", "lower-k", "hierarchy"}
    for (what, column), change in told.items():
        if (what, column) == ("coarsen", "zip"):
            assert change.settings == {"columns": {"zip": {"grid": "level 1"}}}
        after = apply_settings(job, change.settings, listed)
        assert after != job
        assert read_job_of(after, tmp_path) == after
        release = shoal.anonymize(table, **after.replaced(privacy=None).arguments())
        assert release.verification.holds
        if what == "drop":
            assert column not in release.frame.columns
        if what == "lower-k":
            assert release.k == 4


def read_job_of(job, folder):
    path = folder / "job.toml"
    path.write_text(format_job(job))
    return read_job(path)


def test_advice_and_promises_carry_their_sentences_and_settings(advised):
    assert tuple(each.sentence for each in advised.to_do) == advised.advice
    assert tuple(each.sentence for each in advised.further) == advised.promises
    first = {"model": "l-diversity", "l": 2, "kind": "distinct"}
    assert advised.further[0].settings == {"privacy": [first]}


def test_a_promise_is_added_to_those_there_are(job):
    before = job.replaced(privacy=[{"model": "alpha-k", "alpha": 0.5}])
    after = apply_settings(before, {"privacy": [{"model": "t-closeness", "t": 0.3}]}, None)
    assert [model["model"] for model in after.privacy] == ["alpha-k", "t-closeness"]


@pytest.mark.parametrize("settings", [{"columns": {"nobody": {"role": "drop"}}}, {"seeds": 3}])
def test_settings_that_fit_no_job_are_refused(job, settings):
    with pytest.raises(OptionError, match=r"nobody|seeds"):
        apply_settings(job, settings, None)


def test_a_changed_column_keeps_nothing_that_contradicts_the_change(job):
    zips = job.columns["zip"]
    assert changed_column(zips, role="drop") == JobColumn(role="drop")
    aged = changed_column(job.columns["age"], grid=5)
    assert aged.grid == 5
    grown = changed_column(aged, hierarchy={"rule": "intervals", "widths": [5]})
    assert (grown.grid, grown.kind) == (None, "categorical")
    lined = changed_column(grown, grid=10)
    assert (lined.hierarchy, lined.kind, lined.grid) == (None, None, 10)


# -- the curve -----------------------------------------------------------------------------------


def test_the_curve_grows_point_by_point_from_the_chosen_k(table, job):
    curves = list(draw_curve(table, job, unwatched, rows=120))
    assert [len(curve.points) for curve in curves] == list(range(1, len(curves) + 1))
    assert curves[0].points[0].k == 5
    last = curves[-1]
    assert [point.k for point in last.points] == sizes_around(5, 120) == [2, 3, 5, 7, 10, 15]
    assert last.whole
    assert not curves[0].whole
    assert (last.n_rows, last.n_all, last.is_sample) == (120, 300, True)
    losses = [point.loss for point in last.points]
    assert all(0 <= loss <= 1 for loss in losses)
    assert losses[0] < losses[-1]
    assert Curve.from_dict(json.loads(json.dumps(last.to_dict()))) == last


def test_a_point_of_the_curve_is_what_a_run_loses(table, job):
    whole = list(draw_curve(table, job, unwatched, rows=None))[-1]
    release = shoal.anonymize(table, **{**job.arguments(), "seed": 0})
    assert whole.at(5).loss == pytest.approx(release.scores["ncp"], abs=1e-12)
    assert not whole.is_sample


def test_a_size_that_no_release_keeps_is_a_point_with_its_reason(table, job):
    asked = job.replaced(privacy=[{"model": "alpha-k", "alpha": 0.2}])
    found = list(draw_curve(table, asked, unwatched, rows=None))[-1]
    assert all(point.loss is None and "alpha" in point.error for point in found.points)
    assert draw(found, 5).marks == ()


def test_the_curve_stops_when_nobody_wants_it_any_more(table, job):
    class Stop(BaseException):
        pass

    def stop(done, total, what):
        if done:
            raise Stop

    with pytest.raises(Stop):
        list(draw_curve(table, job, stop, rows=120))


def test_a_curve_goes_stale_with_every_setting_but_k_and_the_files(job):
    key = curve_key(job)
    assert curve_key(job.replaced(k=7, seed=4)) == key
    assert curve_key(job.replaced(max_suppression=0.0, measure="ncp")) == key
    assert curve_key(job.replaced(privacy=[{"model": "t-closeness", "t": 0.3}])) != key
    columns = {**job.columns, "job": JobColumn(role="drop")}
    assert curve_key(job.replaced(columns=columns)) != key


def test_the_picture_of_a_curve_marks_where_one_stands(table, job):
    curve = list(draw_curve(table, job, unwatched, rows=120))[-1]
    drawn = draw(curve, 5)
    assert [mark[2] for mark in drawn.marks if mark[4]] == [5]
    across = [mark[0] for mark in drawn.marks]
    assert across == sorted(across)
    assert drawn.left < across[0] < across[-1] < drawn.right
    assert all(0 < mark[1] <= drawn.base for mark in drawn.marks)


# -- hand over -----------------------------------------------------------------------------------


def test_what_is_given_away_holds_neither_seed_nor_job_nor_groups(tried):
    run, results = tried
    with zipfile.ZipFile(io.BytesIO(public_zip(run.files(results)))) as given:
        assert sorted(given.namelist()) == ["certificate.json", "release.csv", "report.html"]
        assert {entry.date_time for entry in given.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_what_is_kept_holds_the_hierarchies_that_the_job_names(source, tmp_path):
    asked = job_of_people(source, seed=987654321)
    tree = _tree_of_jobs(tmp_path)
    columns = {**asked.columns, "job": JobColumn(role="quasi-identifier", hierarchy=tree)}
    asked = asked.replaced(columns=columns)
    run = run_in(tmp_path / "r", asked, unwatched)
    with zipfile.ZipFile(
        io.BytesIO(private_zip(asked, run.files(tmp_path / "r"), "p.csv"))
    ) as zipped:
        assert sorted(zipped.namelist()) == ["hierarchies/jobs.csv", "job.toml"]
        text = zipped.read("job.toml").decode()
    assert 'hierarchy = "hierarchies/jobs.csv"' in text
    assert "seed = 987654321" in text
    assert str(tmp_path) not in text
    public = run.files(tmp_path / "r").public()
    assert not any(b"987654321" in path.read_bytes() for path in public.values())


def test_two_hierarchies_of_one_name_stay_two_files(job, tried, tmp_path):
    run, results = tried
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "tree.csv")
    columns = {
        **job.columns,
        "zip": JobColumn(role="quasi-identifier", hierarchy=paths[0]),
        "job": JobColumn(role="quasi-identifier", hierarchy=paths[1]),
    }
    _, trees = portable_job(job.replaced(columns=columns), run.files(results))
    assert trees == {"tree.csv": paths[0], "tree-2.csv": paths[1]}


@pytest.mark.parametrize("passphrase", ["", "correct horse"])
def test_a_signed_run_is_verified_with_the_public_key_beside_it(job, tmp_path, passphrase):
    run = run_in(tmp_path / "r", job, unwatched)
    files = run.files(tmp_path / "r")
    key = tmp_path / "officer.key"
    number = sign_run(files, key, passphrase=passphrase, new=True)
    assert read_certificate(files.certificate).signed
    assert sorted(files.public()) == [
        "certificate.json", "officer.pub", "release.csv", "report.html",
    ]  # fmt: skip
    assert files.public_key.read_bytes() == (tmp_path / "officer.pub").read_bytes()
    checked = shoal.verify_certificate(
        files.release, files.certificate, public_key=files.public_key
    )
    assert checked.holds
    assert number in files.certificate.read_text()
    with pytest.raises(OptionError, match="signed already"):
        sign_run(files, key, passphrase=passphrase)
    assert sign_run(files, key, passphrase=passphrase, replace=True) == number
    assert not [path for path in files.folder.iterdir() if path.name.startswith("tmp")]


def test_the_commands_say_what_the_page_did(tried):
    run, results = tried
    lines = as_commands(run.files(results), key="my officer.key")
    assert lines == [
        "shoal anonymize --job job.toml",
        "shoal sign certificate.json --key 'my officer.key'",
        "shoal verify release.csv --certificate certificate.json --public-key officer.pub",
    ]


def test_groups_of_a_run_are_private_to_its_owner(tried):
    run, results = tried
    files = run.files(results)
    assert files.folder.stat().st_mode & 0o077 == 0
    with np.load(files.groups) as stored:
        assert len(stored["groups"]) == people().height
