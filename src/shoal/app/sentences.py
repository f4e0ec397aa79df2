"""What each setting means, in one plain sentence that changes with its value.

The texts are keys of the message files. A promise of another package, which no message file knows,
says its own sentence.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.messages.language import Language


def of_k(words: Language, k: int, quasi: Sequence[str], *, people: bool = False) -> str:
    """Return what k promises to somebody who knows the quasi-identifiers."""
    known = ", ".join(quasi[:6]) + (" …" if len(quasi) > 6 else "")
    if people:
        return words(
            "Whoever knows all of these about a person (%(columns)s) finds rows of at least %(k)s "
            "different people that fit; picking one of them is right with a chance of at most "
            "%(share)s.",
            columns=known,
            k=words.number(k),
            share=words.share(1 / k),
        )
    return words(
        "Whoever knows all of these about a person (%(columns)s) finds at least %(k)s rows that "
        "fit; picking one of them is right with a chance of at most %(share)s.",
        columns=known,
        k=words.number(k),
        share=words.share(1 / k),
    )


def of_suppression(words: Language, share: float, n_rows: int) -> str:
    """Return what leaving rows out means."""
    if not share:
        return words("Every row is published.")
    return words(
        "Up to %(n)s of the %(rows)s rows may be left out, those that cost the others most.",
        n=words.number(int(share * n_rows)),
        rows=words.number(n_rows),
    )


def of_model(words: Language, table: Mapping[str, Any], *, people: bool = False) -> tuple[str, str]:
    """Return the sentence of a promise, and its language; both empty while it is not complete.

    Args:
        words: the language.
        table: model and options.
        people: whether people are counted, each with a value once, and not rows.
    """
    from shoal.privacy import PrivacyModel

    try:
        model = PrivacyModel.from_dict({k: v for k, v in table.items() if k != "population"})
    except ShoalError:
        return "", words.language
    made = _alpha_of_people if people and table["model"] == "alpha-k" else None
    made = made or _SENTENCES.get(str(table["model"]))
    if made is None:
        return model.describe(), "en"
    return made(words, model), words.language


def _of_column(words: Language, model: Any) -> str:
    return words("the sensitive columns") if model.column is None else f"“{model.column}”"


def _diversity(words: Language, model: Any) -> str:
    texts = {
        "distinct": words(
            "In every group there are at least %(l)s different values of %(column)s.",
            l=f"{model.l:g}", column=_of_column(words, model),
        ),
        "frequency": words(
            "Whoever knows somebody's group guesses the value of %(column)s with a chance of at "
            "most 1 in %(l)s.",
            l=f"{model.l:g}", column=_of_column(words, model),
        ),
        "entropy": words(
            "In every group the values of %(column)s are as mixed as %(l)s equally frequent ones.",
            l=f"{model.l:g}", column=_of_column(words, model),
        ),
        "recursive": words(
            "In every group the most frequent value of %(column)s does not dominate, even for "
            "somebody who rules out %(n)s other values.",
            n=f"{max(model.l - 2, 0):g}", column=_of_column(words, model),
        ),
    }  # fmt: skip
    return texts[model.kind]


def _closeness(words: Language, model: Any) -> str:
    return words(
        "Knowing somebody's group tells little about %(column)s: its values are spread there as in "
        "the whole table, up to a distance of %(t)s (0 is alike, 1 is nothing in common).",
        t=words.number(model.t, 2), column=_of_column(words, model),
    )  # fmt: skip


def _alpha(words: Language, model: Any) -> str:
    return words(
        "In every group no value of %(column)s belongs to more than %(share)s of the rows.",
        share=words.share(model.alpha), column=_of_column(words, model),
    )  # fmt: skip


def _alpha_of_people(words: Language, model: Any) -> str:
    return words(
        "In every group no value of %(column)s belongs to more than %(share)s of the people.",
        share=words.share(model.alpha), column=_of_column(words, model),
    )  # fmt: skip


def _beta(words: Language, model: Any) -> str:
    return words(
        "In every group each value of %(column)s is at most %(n)s times as frequent as in the "
        "whole table.",
        n=f"{1 + model.beta:g}", column=_of_column(words, model),
    )  # fmt: skip


def _delta(words: Language, model: Any) -> str:
    return words(
        "In every group each value of %(column)s occurs, and at most %(n)s times as often or as "
        "rarely as in the whole table.",
        n=f"{math.exp(min(model.delta, 50)):.3g}", column=_of_column(words, model),
    )  # fmt: skip


def _ke(words: Language, model: Any) -> str:
    return words(
        "In every group there are at least %(k)s different numbers of %(column)s, the largest at "
        "least %(e)s above the smallest.",
        k=model.k, e=f"{model.e:g}", column=_of_column(words, model),
    )  # fmt: skip


def _k_map(words: Language, model: Any) -> str:
    return words(
        "Every published row fits at least %(k)s people of the population.", k=words.number(model.k)
    )


def _presence(words: Language, model: Any) -> str:
    return words(
        "The chance that somebody of the population is in the table is between %(low)s and "
        "%(high)s, for everybody.",
        low=words.share(model.delta_min), high=words.share(model.delta_max),
    )  # fmt: skip


def _risk(words: Language, model: Any) -> str:
    texts = {
        "average": words(
            "Whoever links every row with a person is right in at most %(share)s of the rows.",
            share=words.share(model.limit),
        ),
        "highest": words(
            "Nobody is found with a chance of more than %(share)s.", share=words.share(model.limit)
        ),
        "uniques": words(
            "At most %(share)s of the rows are estimated to belong to people who are unique in the "
            "population.",
            share=words.share(model.limit),
        ),
    }
    return texts[model.kind]


_SENTENCES = {
    "l-diversity": _diversity,
    "t-closeness": _closeness,
    "alpha-k": _alpha,
    "beta-likeness": _beta,
    "delta-disclosure": _delta,
    "ke-anonymity": _ke,
    "k-map": _k_map,
    "delta-presence": _presence,
    "population-risk": _risk,
}
