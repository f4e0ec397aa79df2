"""`shoal demo`: the first thing that users see."""

import json

from shoal.io.read import read_table


def test_the_demo_ends_with_table_report_certificate_and_summary(shoal_process, tmp_path):
    outcome = shoal_process("demo", cwd=tmp_path)
    assert outcome.status == 0, outcome.err
    folder = tmp_path / "shoal-demo"
    assert sorted(path.name for path in folder.iterdir()) == [
        "adult_k10.csv",
        "certificate.json",
        "report.html",
    ]
    frame = read_table(folder / "adult_k10.csv")
    assert frame.height == 45_222
    assert frame.columns == [
        "age", "workclass", "education_num", "marital_status", "occupation", "race", "sex",
        "native_country", "salary",
    ]  # fmt: skip
    assert frame.group_by(frame.columns[:-1]).len().get_column("len").min() >= 10
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["holds"] is True
    assert "1 in 10 (10.00%)" in outcome.out
    # Whatever the first run had to compile, the second one has it.
    again = shoal_process("demo", "--out", tmp_path / "again")
    assert again.status == 0
    assert "ompiling" not in again.err
