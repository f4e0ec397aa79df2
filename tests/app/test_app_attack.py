"""Step 6: attackers come before the release is handed over."""

import pytest
from tests.helpers.app_people import people

from shoal.app.runs import history_of
from shoal.run.job import run_job


@pytest.fixture
def ran(pages):
    people(60).write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    pages.work.update(k=5, algorithm="mondrian", seed=3)
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    return pages, history_of(pages.work)[0]


def test_attackers_say_on_the_page_what_the_command_says(ran, tmp_path):
    pages, made = ran
    assert "Nobody has attacked this release yet." in pages.get("/hand-over").text
    assert pages.post(f"/attack/{made.id}", script=False).status_code == 303
    pages.wait("attack")
    page = pages.get("/attack").text
    assert "Singling out, linkability, inference" in page
    kept = pages.work.kept("attacked")[made.id]
    job = made.read_job(pages.work.folder / "results")
    alone = run_job(
        job.replaced(output=type(job.output)(table=str(tmp_path / "again.csv"), audit=True))
    )
    assert kept["findings"] == alone.audit.to_dict()["findings"]
    names = " ".join(each["name"] for each in kept["findings"])
    assert all(word in names for word in ("singling out", "linkability", "inference"))
    assert "Nobody has attacked" not in pages.get("/hand-over").text
    german = pages.get("/attack", headers={"accept-language": "de"}).text
    assert "Wer findet die Zeile einer Person?" in german


def test_attacks_on_another_run_are_not_those_of_this_one(ran):
    pages, made = ran
    pages.post(f"/attack/{made.id}", script=False)
    pages.wait("attack")
    pages.work.update(k=8)
    assert "The settings have changed since this run" in pages.get("/attack").text
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    assert "Nobody has attacked this release yet." in pages.get("/hand-over").text
    assert "Singling out, linkability" not in pages.get("/attack").text
    assert "Singling out, linkability" in pages.get(f"/attack?run={made.id}").text


def test_what_cannot_be_attacked_is_said_in_a_sentence(ran):
    pages, _ = ran
    pages.work.update(style={"numeric": "mean"})
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    made = history_of(pages.work)[0]
    pages.post(f"/attack/{made.id}", script=False)
    assert pages.app.state.tasks.latest("attack").wait(60)
    assert "cannot be audited" in pages.get("/attack").text
    assert pages.work.kept("attacked") is None


def test_before_a_run_there_is_nothing_to_attack(pages):
    people(60).write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    assert "There is nothing to attack yet." in pages.get("/attack").text
