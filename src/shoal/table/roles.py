"""The words for what a column is: its role on the way to the release, and its kind."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from shoal.errors import OptionError, RoleError, did_you_mean

__all__ = ["Kind", "Role", "parse_kind", "parse_role"]


class Role(StrEnum):
    """What happens to a column on the way to the release.

    Attributes:
        option: the option of ``shoal.anonymize`` that lists the columns of this role.
    """

    option: str

    def __new__(cls, value: str, option: str = "") -> Self:
        """Make a role from its name and the name of its option."""
        role = str.__new__(cls, value)
        role._value_ = value
        role.option = option
        return role

    IDENTIFIER = "identifier", "identifiers"
    """Names a person; removed from the release."""
    QUASI_IDENTIFIER = "quasi-identifier", "quasi_identifiers"
    """Could single a person out together with others; generalised."""
    SENSITIVE = "sensitive", "sensitive"
    """Kept as it is; privacy models look at it."""
    INSENSITIVE = "insensitive", "insensitive"
    """Kept as it is; no model looks at it."""
    DROP = "drop", "drop"
    """Removed from the release although it identifies nobody."""
    PERSON = "person", "person"
    """Says whose row it is, where a person may have several; removed, or made a pseudonym."""


class Kind(StrEnum):
    """How the values of a quasi-identifier are generalised."""

    NUMERIC = "numeric"
    """Numbers, generalised to intervals."""
    ORDINAL = "ordinal"
    """Values in a known order, generalised to intervals of that order."""
    CATEGORICAL = "categorical"
    """Values of a hierarchy, generalised to a common ancestor."""
    FLAT = "flat"
    """Kept or suppressed: a tree of height 1."""
    SET = "set"
    """Generalised to the set of the values seen."""
    DATE = "date"
    """Calendar days, generalised to intervals."""
    DATETIME = "datetime"
    """Points in time, generalised to intervals."""


def parse_role(text: str, *, column: str) -> Role:
    """Return the role called ``text``, or raise a RoleError that lists the roles."""
    try:
        return Role(text)
    except ValueError:
        known = [role.value for role in Role]
        message = (
            f"The role of column {column!r} must be one of {', '.join(known)}, not {text!r}."
            f"{did_you_mean(str(text), known)}"
        )
        raise RoleError(message) from None


def parse_kind(text: str, *, column: str) -> Kind | None:
    """Return the kind called ``text`` (None for ``"infer"``), or raise an OptionError."""
    if text == "infer":
        return None
    try:
        return Kind(text)
    except ValueError:
        known = [*(kind.value for kind in Kind), "infer"]
        message = (
            f"The kind of column {column!r} must be one of {', '.join(known)}, not {text!r}."
            f"{did_you_mean(str(text), known)}"
        )
        raise OptionError(message) from None
