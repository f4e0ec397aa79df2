"""`shoal warm-up`, and runs on machines where nothing can be kept."""

import re

from tests.helpers.cli_samples import ROLES

from shoal.kernels.cache import FOLDER


def test_warm_up_says_where_the_compiled_code_is(shoal_runs, monkeypatch):
    monkeypatch.setattr("shoal.algorithm.warm_up.DEFAULT", ("enforce", "suppress"))
    outcome = shoal_runs("warm-up", "--processes", 2)
    assert outcome.status == 0
    assert re.fullmatch(
        rf"Compiled in \d+ s\. The code is kept in {re.escape(str(FOLDER))}\.\n", outcome.out
    )
    assert list(FOLDER.glob("*/groups.merge_groups*.nbi"))


def test_warm_up_needs_a_folder_to_keep_the_code_in(shoal_process, environment):
    environment["NUMBA_CACHE_DIR"] = "/proc/nowhere"
    outcome = shoal_process("warm-up")
    assert outcome.status == 2
    assert "NUMBA_CACHE_DIR" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_run_needs_no_folder_of_its_own(shoal_process, environment, table, tmp_path):
    # a service account: the installation can only be read, and there is no home
    environment["NUMBA_CACHE_DIR"] = "/proc/nowhere"
    environment["HOME"] = "/proc/nowhere"
    safe = tmp_path / "safe.csv"
    outcome = shoal_process(
        "anonymize", table, *ROLES, "--k", 3, "--algorithm", "mondrian", "-o", safe
    )
    assert outcome.status == 0, outcome.err
    assert safe.exists()
    assert outcome.err.count("for this run alone") == 1
