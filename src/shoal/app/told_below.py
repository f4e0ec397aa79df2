"""Texts of the rooms below that pages show, marked for the message files.

The rooms below speak English. What they say about settings and stages of a run is shown again and
again, so it has its place in every language; a text that is not listed here stays English.
"""

from __future__ import annotations


def _(text: str) -> str:
    """Mark a text for the message files."""
    return text


PREVIOUS = _(
    "Releases of these people that are out: the .shoal file of each, one on each line. A column "
    "has to say whose row it is."
)

TEXTS = (
    PREVIOUS,
    # what attackers ask
    _("Who finds a person's row?"),
    _("Singling out, linkability, inference"),
    _("What becomes known about sensitive values?"),
    _("What follows from how tight cells are?"),
    _("What do two releases tell together?"),
    # panels of settings
    _("Promises"),
    _("Search"),
    # what settings mean
    _(
        "Groups of people who are new are so many times k large, so that some may leave before the "
        "others have to wait; for releases that others follow."
    ),
    _(
        "Promise less than the releases that are out, or what does not hold over all of them; what "
        "is given up is named in the certificate."
    ),
    _("Whose loss leaving rows out lowers: all rows', or the kept rows'."),
    _("How groups are formed; 'shoal algorithms' lists the ways."),
    _("How hard the algorithm auto searches: fast, balanced or best."),
    _("The loss that is kept small; 'shoal measures' lists them."),
    _("A number that repeats a run exactly; keep it secret."),
    _("How many threads work; one per core unless given."),
    _("Larger tables are cut into blocks of so many rows; chosen unless given."),
    _("Also improve what the algorithm found: fast, balanced or best."),
    _("Also say how far from the best possible release this one can be at most."),
    _("Make no release that comes with a warning."),
    # rules of hierarchies
    _("prefix"),
    _("intervals"),
    _("dates"),
    _("grid"),
    # stages of a run
    _("reading"),
    _("compiling"),
    _("encoding"),
    _("clustering"),
    _("growing groups"),
    _("enforcing privacy"),
    _("searching"),
    _("publishing"),
    _("verifying"),
    _("scoring"),
    _("writing"),
    _("done"),
    _("measuring"),
    _("trying changes"),
    _("trying sizes"),
)
