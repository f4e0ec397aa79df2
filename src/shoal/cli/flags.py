"""Groups of flags that several commands take, each written once.

A command names a group as one argument and receives it whole; ``takes_flags`` shows typer the
single flags::

    @takes_flags
    def command(source: ..., *, columns: ColumnFlags, reading: InputFlags) -> None: ...
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

from shoal.cli import options as opt

__all__ = ["ColumnFlags", "InputFlags", "PrivacyFlags", "takes_flags"]


@dataclass(frozen=True, kw_only=True)
class ColumnFlags:
    """What the columns are."""

    qi: opt.Qi = None
    sensitive: opt.SensitiveColumns = None
    identifier: opt.Identifier = None
    insensitive: opt.Insensitive = None
    drop: opt.Drop = None
    hierarchy: opt.Hierarchies = None
    kind: opt.Kinds = None
    order: opt.Orders = None
    weight: opt.Weights = None


@dataclass(frozen=True, kw_only=True)
class PrivacyFlags:
    """What is promised beyond k."""

    l_diversity: Annotated[
        float | None,
        opt.in_promises(help="Each group holds L well-represented values.", metavar="L"),
    ] = None
    l_kind: Annotated[
        str | None,
        opt.in_promises(help="frequency, distinct, entropy or recursive.", metavar="KIND"),
    ] = None
    l_c: Annotated[float | None, opt.in_promises(help="c of recursive (c,l).", metavar="C")] = None
    t_closeness: Annotated[
        float | None,
        opt.in_promises(help="No group is further than T from the table.", metavar="T"),
    ] = None
    t_distance: Annotated[
        str | None, opt.in_promises(help="equal or ordered.", metavar="DISTANCE")
    ] = None
    alpha: Annotated[
        float | None,
        opt.in_promises(help="No value is more frequent in a group (alpha,k).", metavar="ALPHA"),
    ] = None
    privacy_column: Annotated[
        str | None,
        opt.in_promises(
            help="The sensitive column of these promises; all unless given.", metavar="COLUMN"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class InputFlags:
    """How the table is read."""

    missing_values: opt.MissingValues = None
    delimiter: opt.Delimiter = None
    file_format: opt.FileFormat = None


def takes_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer: in place of each group of flags it has the flags themselves."""
    declared = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in declared.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{flag.name: given.pop(flag.name) for flag in fields(group)})
        command(**given)

    shown: list[inspect.Parameter] = []
    for name, parameter in declared.parameters.items():
        shown += _flags_of(groups[name]) if name in groups else [parameter]
    run.__signature__ = declared.replace(parameters=shown)  # type: ignore[attr-defined]
    return run


def _flags_of(group: Any) -> list[inspect.Parameter]:
    types = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(flag.name, kind, default=flag.default, annotation=types[flag.name])
        for flag in fields(group)
    ]
