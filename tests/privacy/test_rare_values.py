"""beta-likeness and delta-disclosure, from the search to the file."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app

MODELS = [
    shoal.BetaLikeness(1),
    shoal.BetaLikeness(1, kind="basic"),
    shoal.DeltaDisclosure(1),
]


def people(n=120):
    chance = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": chance.integers(20, 60, n),
            "sex": chance.choice(["f", "m"], n),
            "ill": chance.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
        }
    )


ROLES = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill"}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.label)
def test_a_release_keeps_the_promise_and_verification_judges_by_its_own_rule(model):
    release = shoal.anonymize(
        people(), k=4, **ROLES, privacy=[model], algorithm="mondrian", rows_are_people=True, seed=1
    )
    check = release.verification.checks[1]
    assert check.holds
    assert check.judged_by == "verification"
    assert release.n_groups > 1


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.label)
def test_a_table_that_breaks_it_is_refused(model):
    # a third of the table has c, all of it in one group
    frame = pl.DataFrame({"age": [1] * 4 + [2] * 2, "sex": ["f"] * 6, "ill": list("aabbcc")})
    found = shoal.verify(frame, 2, **ROLES, privacy=[model])
    assert not found.holds
    assert found.violating_groups >= 1


def test_flags_ask_for_both(tmp_path):
    rows = [f"{age},f,{ill}" for age in ("[1-2]", "[3-4]") for ill in "aab"]
    (tmp_path / "safe.csv").write_text("\n".join(["age,sex,ill", *rows, "[3-4],f,b"]))
    words = ["verify", str(tmp_path / "safe.csv"), "--k", "3", "--qi", "age,sex"]
    words += ["--sensitive", "ill"]
    # shares of b: 1/3 and 2/4, in the whole table 3/7
    kept = ["--beta-likeness", "0.2", "--beta-kind", "basic", "--delta-disclosure", "0.3"]
    assert CliRunner().invoke(app, [*words, *kept]).exit_code == 0
    assert CliRunner().invoke(app, [*words, "--beta-likeness", "0.1"]).exit_code == 1
    assert CliRunner().invoke(app, [*words, "--delta-disclosure", "0.2"]).exit_code == 1


def test_a_kind_alone_refines_nothing():
    from shoal.cli.arguments import merge_privacy

    both = {"beta_likeness": 1.0, "beta_kind": "basic", "delta_disclosure": 0.5}
    assert merge_privacy(shoal.Job(), both) == [
        {"model": "beta-likeness", "beta": 1.0, "kind": "basic"},
        {"model": "delta-disclosure", "delta": 0.5},
    ]
    with pytest.raises(shoal.OptionError, match="--beta-likeness, which is not given"):
        merge_privacy(shoal.Job(), {"beta_kind": "basic"})
