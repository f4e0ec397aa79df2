"""Privacy models of plug-ins on Spark: run in workers, judged by their own rule from counts."""

from __future__ import annotations

import importlib
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import people
from tests.helpers.spark_samples import FEW, K, N, assert_same, in_order, on_spark, table_of

import shoal
from shoal.engine.spark import check
from shoal.errors import OptionError
from shoal.privacy import PrivacyModel
from shoal.privacy.release_wide import ReleaseModel

pytestmark = pytest.mark.long


def made_here():
    """Models of a notebook: no worker can import them, so they travel with the work."""

    @dataclass(frozen=True)
    class Several(PrivacyModel):
        name, title, citation = "several", "several values", "an example"
        at_least = order_free = True
        values: int
        column: str | None = None

        @property
        def promised(self):
            return self.values

        def describe(self, column=None):
            return f"In every group there are at least {self.values} values of {column!r}."

        def per_group(self, histograms, whole):
            return np.count_nonzero(histograms, axis=1).astype(float)

    @dataclass(frozen=True)
    class Alike(PrivacyModel):
        """No value is much more frequent in a group than in the whole table."""

        name, title, citation = "alike", "shares as in the whole table", "an example"
        factor: float
        column: str | None = None

        @property
        def promised(self):
            return self.factor

        def describe(self, column=None):
            return f"No value of {column!r} is {self.factor} times as frequent as elsewhere."

        def per_group(self, histograms, whole):
            shares = histograms / histograms.sum(axis=1, keepdims=True)
            return (shares / (whole / whole.sum())).max(axis=1)

    return [Several(3, column="disease"), Alike(2.0, column="stage")]


@pytest.fixture(scope="module")
def models():
    return made_here()


@pytest.fixture(scope="module")
def release(spark, models):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "SHARE_GROUPS", 5)  # judged in several shares
        return on_spark(spark, people(N), block_rows=120, key="token", privacy=models)


ASKED = {"quasi_identifiers": FEW, "sensitive": ["disease", "stage"]}


def test_models_of_plug_ins_are_kept_in_blocks_and_verified_by_their_own_rule(release, models):
    frame = people(N)
    check_release(in_order(release, frame), frame, K, FEW)
    assert release.n_groups > 5
    expected = shoal.verify(table_of(release.frame), K, privacy=models, **ASKED)
    assert_same(release.verification, expected)
    judged = [each.judged_by for each in release.verification.checks[1:]]
    assert judged == ["the model's own rule"] * 2


def test_tampered_values_break_the_rule_of_a_plug_in_as_on_one_machine(release, models):
    from pyspark.sql import functions

    from shoal.publish.verification_terms import promises_of

    ulcers = functions.expr("if(disease in ('flu', 'gout'), 'ulcer', disease)")
    stages = functions.expr("if(city = 'Ur', 1, stage)")
    frame = release.frame.withColumns({"disease": ulcers, "stage": stages})
    found = check.verify_frame(frame, k=K, promises=promises_of(models), **ASKED)
    assert_same(found, shoal.verify(table_of(frame), K, privacy=models, **ASKED))
    assert [each.holds for each in found.checks] == [True, False, False]


def test_a_model_that_cannot_reach_the_workers_is_refused_in_one_sentence(
    spark, models, tmp_path, monkeypatch
):
    several = models[0]
    unsent = type(several)(threading.Lock(), column="disease")
    with pytest.raises(OptionError, match=r"^The privacy model 'several' cannot be sent.*plain"):
        on_spark(spark, people(N), privacy=[unsent])
    (tmp_path / "only_on_the_driver.py").write_text(
        "from shoal.privacy.l_diversity import LDiversity\n\n"
        "class Own(LDiversity):\n    name = 'own'\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("only_on_the_driver").Own
    monkeypatch.setitem(sys.modules, "only_on_the_driver", sys.modules.pop("only_on_the_driver"))
    with pytest.raises(OptionError, match=r"^A worker cannot load .* 'own' \(ModuleNotFoundError"):
        on_spark(spark, people(N), privacy=[own(2, column="disease")])


def test_a_plug_in_about_a_release_as_a_whole_is_refused_in_one_sentence(spark):
    class Own(ReleaseModel):
        name, label, promised = "own", "own", 1.0

        def describe(self, column=None):
            return "A promise."

        def reached(self, table, partition):
            return 1.0

    with pytest.raises(OptionError, match=r"Spark does not do this: own, .*as a whole"):
        on_spark(spark, people(N), privacy=[Own()])
