"""What all parties agree on: keys, fingerprints and the table [sites] of a job."""

import pytest
from tests.helpers.sites_samples import SITES, patients, set_up

from shoal.errors import DataError, JobError, OptionError, RoleError
from shoal.sites.agreement import read_agreement
from shoal.sites.keys import fingerprint_of, make_key, read_identity

PARTS = {name: patients(9) for name in SITES}


def test_a_job_says_who_takes_part_and_what_may_be_known(tmp_path):
    agreement = read_agreement(set_up(tmp_path, PARTS))
    assert agreement.sites == SITES
    assert agreement.k == 5
    assert [each.name for each in agreement.columns] == ["age", "town", "sex"]
    assert [each.size for each in agreement.columns] == [100, 5, 2]
    assert agreement.values == {"illness": ("asthma", "flu", "gout", "none")}


@pytest.mark.parametrize(
    ("old", "new", "error", "said"),
    [
        ("age = [0, 99]", "age = [99, 0]", JobError, "sites.ranges.age"),
        ("age = [0, 99]", "age = [0, 99, 0]", JobError, "sites.ranges.age"),
        ("age = [0, 99]", "height = [0, 99]", JobError, "age"),
        ("age = [0, 99]", "age = [0, 99]\nsex = [0, 1]\nheight = [0, 9]", JobError, "height"),
        ('illness = ["asthma"', 'illness = ["flu"', JobError, "sites.values.illness"),
        ('hierarchy = "sex.csv"', "", JobError, "'sex'"),
        ('role = "sensitive"', 'role = "insensitive"', RoleError, "'illness'"),
        ('role = "identifier"', 'role = "person"', RoleError, "'name'"),
        ("k = 5", "k = 5\nknows = 2", JobError, "'knows'"),
        ("k = 5", 'k = 5\n[[privacy]]\nmodel = "t-closeness"\nt = 0.3', JobError, "t-closeness"),
        ("k = 5", 'k = 5\n[[privacy]]\nmodel="l-diversity"\nl=2\nkind="recursive"\nc=2.0',
         JobError, "l-diversity"),
        ("[sites.ranges]", "speed = 3\n[sites.ranges]", JobError, "sites.speed"),
        ("[sites.ranges]", "at_two_sites = 1\n[sites.ranges]", JobError, "at_two_sites"),
        ('coordinator = "127', 'coordinator = "127.0.0.1"#', JobError, "host:port"),
        ('east = "', 'east = "x', JobError, "fingerprints.east"),
        ('east = "', '"../east" = "', OptionError, "../east"),
    ],
)  # fmt: skip
def test_a_job_that_several_sites_cannot_do_is_refused_with_a_sentence(
    tmp_path, old, new, error, said
):
    job = set_up(tmp_path, PARTS)
    text = job.read_text(encoding="utf-8")
    assert old in text
    job.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(error) as refused:
        read_agreement(job)
    assert said in str(refused.value)


def test_whatever_has_to_be_the_same_changes_the_hash(tmp_path):
    job = set_up(tmp_path, PARTS)
    text = job.read_text(encoding="utf-8")
    seen = {read_agreement(job).digest}
    for old, new in (
        ("k = 5", "k = 6"),
        ("[0, 99]", "[0, 99, 5]"),
        ('"gout", "none"', '"none", "gout"'),
        ("[sites.ranges]", "at_two_sites = true\n[sites.ranges]"),
        ("k = 5", 'k = 5\n[[privacy]]\nmodel = "l-diversity"\nl = 2'),
    ):
        job.write_text(text.replace(old, new), encoding="utf-8")
        seen.add(read_agreement(job).digest)
    job.write_text(text, encoding="utf-8")
    (tmp_path / "sex.csv").write_text("F;any;*\nM;any;*\n", encoding="utf-8")
    seen.add(read_agreement(job).digest)
    assert len(seen) == 7


def test_cells_outside_of_the_job_are_refused_and_not_shown(tmp_path):
    import polars as pl

    age, town, _ = read_agreement(set_up(tmp_path, PARTS)).columns
    for column, cells in (
        (age, [1, 777]),
        (age, [1, None]),
        (age, [1.5, 2.0]),
        (age, ["a", "b"]),
        (town, ["Alm", "Atlantis"]),
        (town, ["Alm", None]),
    ):
        with pytest.raises(DataError) as refused:
            column.codes(pl.Series(column.name, cells))
        assert not any(each in str(refused.value) for each in ("777", "1.5", "Atlantis"))
    assert age.codes(pl.Series([0.0, 99.0])).tolist() == [0, 99]


def test_a_certificate_with_another_fingerprint_is_refused(tmp_path):
    agreement = read_agreement(set_up(tmp_path, PARTS))
    prints = dict(agreement.fingerprints)
    assert read_identity(tmp_path / "east.key", tmp_path, prints).name == "east"
    for name in ("north.key", "north.crt"):
        (tmp_path / name).unlink()
    make_key("north", tmp_path)
    with pytest.raises(OptionError, match="another fingerprint"):
        read_identity(tmp_path / "east.key", tmp_path, prints)
    make_key("west", tmp_path)
    with pytest.raises(OptionError, match="no party 'west'"):
        read_identity(tmp_path / "west.key", tmp_path, prints)


def test_a_key_is_its_owners_alone_and_never_replaced(tmp_path):
    secret, certificate, fingerprint = make_key("east", tmp_path)
    assert secret.stat().st_mode & 0o077 == 0
    assert fingerprint == fingerprint_of(certificate)
    with pytest.raises(OptionError, match="exists already"):
        make_key("east", tmp_path)
    with pytest.raises(OptionError, match="no name of a site"):
        make_key("../east", tmp_path)


@pytest.mark.parametrize("step", [1, 3, 5, 7])
def test_every_number_lies_in_the_ends_of_its_code(tmp_path, step):
    import numpy as np
    import polars as pl

    job = set_up(tmp_path, PARTS)
    job.write_text(job.read_text().replace("[0, 99]", f"[3, 99, {step}]"), encoding="utf-8")
    age = read_agreement(job).columns[0]
    numbers = np.arange(3, 100)
    codes = age.codes(pl.Series(numbers))
    low, high = age.ends(codes, codes)
    assert ((low <= numbers) & (numbers <= high)).all()
    assert (high - low < step).all()
    assert codes.max() == age.size - 1
