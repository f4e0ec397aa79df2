"""What the owner of a release says about it: title, owner, purpose."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import OptionError

_LONGEST = 500


@dataclass(frozen=True, kw_only=True)
class About:
    """What the owner of a release says about it; stands in report and certificate as it is said.

    Attributes:
        title: what the release is called.
        owner: who answers for it.
        purpose: what it is published for.

    Raises:
        OptionError: something is no text, too long, or holds what cannot be printed.
    """

    title: str | None = None
    owner: str | None = None
    purpose: str | None = None

    def __post_init__(self) -> None:
        """Check and trim what is said."""
        for name, value in vars(self).copy().items():
            object.__setattr__(self, name, check_said(name, value))


def check_said(name: str, value: object) -> str | None:
    """Return a text as it is printed, without white space around it; None if it says nothing.

    Raises:
        OptionError: it is no text, too long, or holds what cannot be printed.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise OptionError(f"{name} must be text, got {value!r}.")
    text = " ".join(value.split())
    if len(text) > _LONGEST:
        raise OptionError(
            f"{name} has {len(text):,} characters; say it in at most {_LONGEST}, it is printed on "
            "the first page of the report."
        )
    if not text.isprintable():
        raise OptionError(f"{name} holds characters that cannot be printed; leave them out.")
    return text or None
