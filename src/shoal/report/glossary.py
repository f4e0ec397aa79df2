"""The words of the report in everyday language."""

from __future__ import annotations

__all__ = ["GLOSSARY"]

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Quasi-identifier",
        (
            "A column that names nobody by itself but may single a person out together with "
            "others, such as age, postcode and sex. Only these columns were changed."
        ),
    ),
    (
        "Group",
        (
            "All rows that show the same in every quasi-identifier. Nobody can tell the people of "
            "a group apart by these columns."
        ),
    ),
    (
        "k-anonymity",
        (
            "The promise that every group has at least k rows. Whoever knows all quasi- "
            "identifiers of a person is left with at least k rows that fit."
        ),
    ),
    (
        "Sensitive column",
        (
            "What a person would not want others to learn, such as a diagnosis or an income. It "
            "is published as it is."
        ),
    ),
    (
        "l-diversity",
        (
            "The promise that the sensitive values in every group are varied enough, so that "
            "knowing somebody's group does not give the value away."
        ),
    ),
    (
        "t-closeness",
        (
            "The promise that every group has nearly the same mix of sensitive values as the "
            "whole table, so that the group tells little that the table does not."
        ),
    ),
    (
        "(alpha, k)-anonymity",
        "The promise that no sensitive value has more than a share of alpha in any group.",
    ),
    (
        "Generalised",
        "Made coarser but still true: 34 becomes 30 to 39, a village becomes its district.",
    ),
    (
        "Suppressed",
        (
            "Left out. A suppressed cell tells nothing any more (often shown as *), a suppressed "
            "row is not in the release at all."
        ),
    ),
    (
        "Loss",
        (
            "How much coarser a cell became: 0 % is the exact value, 100 % tells nothing any "
            "more. The measure is called ncp."
        ),
    ),
    (
        "Prosecutor risk",
        (
            "The chance of somebody who knows that a person is in the table to pick that person's "
            "row: one divided by the size of the group."
        ),
    ),
    (
        "Journalist risk",
        (
            "The same for somebody who does not know whether the person is in the table and "
            "therefore has to consider everybody in the population."
        ),
    ),
    (
        "Marketer risk",
        (
            "The share of rows that somebody who matches the whole table to a list of names gets "
            "right on average."
        ),
    ),
    (
        "Population unique",
        (
            "Somebody whose quasi-identifiers nobody else in the whole population has. Such a "
            "person is found wherever the row turns up."
        ),
    ),
    (
        "Effective number of values",
        (
            "How varied a group is, as the number of equally frequent values that would be just "
            "as varied: 1 if everybody has the same value."
        ),
    ),
    (
        "Distance to the whole",
        (
            "The share of a group whose sensitive value would have to change for the group to "
            "have the same mix as the whole table."
        ),
    ),
    (
        "Hash",
        (
            "A fingerprint of a file (SHA-256). If the file changes by a single letter, so does "
            "its hash."
        ),
    ),
)
