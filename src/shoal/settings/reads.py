"""Reads what users give for some options of a run: names, models, a style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from shoal.settings.options import mapping

if TYPE_CHECKING:
    from shoal.privacy import PrivacyModel
    from shoal.publish.recode import Style

__all__ = [
    "read_models",
    "read_names",
    "read_one_name",
    "read_several",
    "read_style",
    "request_style",
]


def read_names(name: str, value: Any) -> Any:
    """Keep what can be read only once; what is no list of names is found with the table."""
    del name
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if is_list else value


def read_one_name(name: str, value: Any) -> Any:
    """Read one name, or a list of at most one, as jobs have it."""
    del name
    if value is None or isinstance(value, str) or not isinstance(value, Iterable):
        return value
    listed = tuple(value)
    if len(listed) > 1:  # said with the table, as everything about roles
        return listed
    return listed[0] if listed else None


def read_several(name: str, value: Any) -> tuple[Any, ...]:
    """Read one thing or several; a bare text or path is one."""
    del name
    if value is None:
        return ()
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if is_list else (value,)


def read_models(name: str, value: Any) -> tuple[PrivacyModel, ...]:
    """Read privacy models, or their tables."""
    del name
    from shoal.privacy import parse_privacy

    return parse_privacy(value)


def read_style(name: str, value: Any) -> Style:
    """Read a style, or its options."""
    from shoal.publish.recode import Style

    if isinstance(value, Style):
        return value
    return Style.from_dict(mapping(name, value))


def request_style(value: Style | Mapping[str, Any] | None) -> Style:
    """Return a style that is given as one, as its options, or not at all.

    Raises:
        OptionError: it is none.
    """
    return read_style("style", value)
