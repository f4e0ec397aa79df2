"""What the page says of the conjecture follows the runs, however they come out."""

import pytest
from benchmarks.papers import conjecture, conjecture_compare, conjecture_page
from benchmarks.papers.conjecture_models import MODELS
from benchmarks.papers.conjecture_readings import READINGS

FOLDS = 3


def made_run(values, f1, entropy):
    """Return a run of a release whose metrics depend on the reading."""
    rules = {"recall": f1, "precision": f1, "f1": f1, "confidence_error": 0.1, "rules": 9.0}
    return {
        "models": {
            reading: {
                model: dict.fromkeys(conjecture_compare.METRICS, values[reading])
                for model in MODELS
            }
            for reading in READINGS
        },
        "rules": {"shares": rules, "certain": rules},
        "scores": {"ncp": 0.1, "pmi": 0.1, "cm": 0.1, "entropy-diversity": entropy},
    }


def results_of(pmi, other=0.7, f1=0.3):
    """Return results in which PMI has these values by reading, and all others the same one."""
    base = {
        "models": {"mean": {m: dict.fromkeys(conjecture_compare.METRICS, 0.8) for m in MODELS}},
        "majority": 0.75,
        "n_rules": 600,
        "train": 800,
        "test": 200,
    }
    settings = {}
    for name, plan in conjecture.PLAN.items():
        cells = {
            variant: {
                str(k): [
                    made_run(
                        pmi if variant == "pmi" else dict.fromkeys(READINGS, other + 0.001 * fold),
                        f1 if variant == "pmi" else 0.5 + 0.001 * fold,
                        0.1 if variant == "pmi" else 0.5,
                    )
                    for fold in range(FOLDS)
                ]
                for k in ks
            }
            for variant, ks in plan.items()
        }
        settings[name] = conjecture._summary([base] * FOLDS, cells)
    return {"splits": FOLDS, "settings": settings}


@pytest.mark.parametrize(
    ("by_reading", "said"),
    [
        ((0.9, 0.9, 0.9, 0.9), "by accuracy and by balanced accuracy and by auc PMI is better"),
        ((0.5, 0.5, 0.5, 0.5), "PMI is worse in general"),
        ((0.5, 0.5, 0.9, 0.9), "turns with the reading of a cell"),
        ((0.5, 0.5, 0.5, 0.9), "by AUC it is worse and turns with the reading of a cell"),
    ],
)
def test_the_answer_says_what_is_general_and_what_the_protocol_decides(by_reading, said):
    found = results_of(dict(zip(READINGS, by_reading, strict=True)))
    answer = conjecture_page.answer(found)
    assert said in answer
    page = "\n".join(conjecture.section(found))
    assert f"**{answer}**" in page
    assert page.count("wMI, w = 0.25") > 0


def test_a_turn_is_named_with_what_each_choice_gives():
    found = results_of(dict(zip(READINGS, (0.5, 0.5, 0.5, 0.9), strict=True)))
    why = conjecture_compare.depends(conjecture_compare.cases(found, "auc"))
    assert why.startswith("Depends on the protocol (in most comparisons PMI is worse")
    assert "by reading of a cell mean worse, middle worse, draw worse, set better" in why
    assert "worse for every model and k and other measure and kind of recoding" in why


def test_the_plan_has_every_measure_at_three_k_and_weights_between_pmi_and_mi():
    assert conjecture.PLAN["taxonomies"]["pmi"] == (10, 50, 100)
    weights = [name for name in conjecture.PLAN["taxonomies"] if name.startswith("wmi")]
    assert weights == ["wmi 0.25", "wmi 0.5", "wmi 0.75"]
    # cells that are kept or suppressed cost the same under both
    assert "ncp" not in conjecture.PLAN["suppression"]
