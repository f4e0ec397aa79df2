"""Rows that are no people stop a run, or are left out, as somebody has said."""

import openpyxl

ROWS = [
    ["id", "age", "sex"],
    *([n, 20 + n, "fm"[n % 2]] for n in range(1, 31)),
    ["Summe", 1065, ""],
]
ROLES = ["--k", 5, "--qi", "age,sex", "--drop", "id", "--quiet"]


def test_init_proposes_to_leave_them_out_and_the_job_is_obeyed(shoal_runs, tmp_path):
    path, job, safe = (tmp_path / name for name in ("t.csv", "job.toml", "safe.csv"))
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in ROWS))
    found = shoal_runs("init", path, "-o", job, "--yes")
    assert "total (row 32)" in found.err
    assert 'extra_rows = "drop"' in job.read_text()
    command = ["anonymize", path, "-o", safe, *ROLES]
    found = shoal_runs(*command)
    assert found.status == 2
    assert "total (row 32)" in found.err
    assert "--extra-rows drop" in found.err
    assert "Summe" not in found.err
    assert not safe.exists()
    assert shoal_runs(*command, "--job", job).status == 0
    assert safe.read_text().count("\n") == 31
    assert shoal_runs(*command, "--replace", "--extra-rows", "keep").status == 0
    assert safe.read_text().count("\n") == 32


def test_every_command_that_reads_the_original_asks_and_none_asks_of_a_release(
    shoal_runs, tmp_path
):
    path, safe = tmp_path / "t.csv", tmp_path / "safe.csv"
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in ROWS))
    drop = ["--extra-rows", "drop"]
    assert shoal_runs("anonymize", path, "-o", safe, *ROLES, *drop).status == 0
    with safe.open("a") as file:
        file.write("Total,f\n")  # in a release it is a cell like others
    for command in ("score", "audit"):
        roles = ["--qi", "age,sex"]
        asked = shoal_runs(command, path, safe, *roles)
        assert asked.status == 2
        assert "rows that look like a total" in asked.err
        assert "rows that look like" not in shoal_runs(command, path, safe, *roles, *drop).err


def test_a_sheet_is_chosen_on_the_command_line(shoal_runs, tmp_path):
    book = openpyxl.Workbook()
    book.create_sheet("Patients")
    for row in ROWS[:-1]:
        book["Patients"].append(row)
    for n in range(40):
        book.active.append([n, n, n, n])
    book.save(tmp_path / "t.xlsx")
    command = ["anonymize", tmp_path / "t.xlsx", "-o", tmp_path / "safe.csv", *ROLES]
    assert shoal_runs(*command).status == 2
    assert shoal_runs(*command, "--sheet", "Patients").status == 0
    found = shoal_runs(*command, "--replace", "--sheet", "Patient")
    assert found.status == 2
    assert "no sheet 'Patient'" in found.err
