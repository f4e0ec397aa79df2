"""What each setting means, in one plain sentence that changes with its value.

A promise says its own sentence, in the language of the page where the catalogue has it.
"""

from __future__ import annotations

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
    from shoal.publish.verify import in_people

    try:
        model = PrivacyModel.from_dict({k: v for k, v in table.items() if k != "population"})
    except ShoalError:
        return "", words.language
    said = model.describe()
    if people:
        said = in_people(said)
    return words.translate(said), words.language if words.knows(said) else "en"
