"""Step 2: cards of columns, counted on the server and changed without a reload."""

from shoal.table.schema import Role


def test_a_dropped_table_gets_a_card_per_column_with_guess_and_counts(pages, patients):
    assert pages.drop("patients.csv", patients).status_code == 200
    page = pages.get("/columns")
    assert page.status_code == 200
    for name in ("name", "age", "zip", "sex", "diagnosis"):
        assert f"<bdi>{name}</bdi>" in page.text
    assert page.text.count('class="card column') == 5
    for guess in pages.work.table.suggestion.columns:
        assert pages.work.job.columns[guess.name].role is guess.role


def test_choosing_a_role_changes_the_job_and_the_bar(pages, patients):
    pages.drop("patients.csv", patients)
    before = pages.get("/columns/counts/0").json()
    told = pages.post("/columns/1", {"role": "drop"})
    assert told.status_code == 200, told.text
    assert pages.work.job.columns["age"].role is Role.DROP
    after = pages.get("/columns/counts/0").json()
    assert after["revision"] > before["revision"]
    assert after["counts"] != before["counts"]
