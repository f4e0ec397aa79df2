"""Options of a run about releases that are already out; a part of the table of `Request`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.settings.commands import promise_flag
from shoal.settings.options import factor, option, truth
from shoal.settings.reads import read_several

__all__ = ["Beside"]


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What a run is told about other releases of the same people."""

    previous: tuple[Any, ...] = option(
        default=(),
        check=read_several,
        given="PreviousLike",
        toml="list[str]",
        help="A release of these people that is out, as --save kept it; may be repeated, and all "
        "of them are needed. Needs --person.",
        functions=("anonymize",),
        path=True,
        flag=promise_flag("--previous", on=("anonymize",), metavar="FILE"),
    )
    reserve: float = option(
        default=1.0,
        check=factor,
        help="Groups of people who are new are so many times k large, so that some may leave "
        "before the others have to wait; for releases that others follow.",
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--reserve", on=("anonymize",), metavar="TIMES"),
    )
    weaken: bool = option(
        default=False,
        check=truth,
        help="Promise less than the releases that are out, or what does not hold over all of them; "
        "what is given up is named in the certificate.",
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--weaken", on=("anonymize",)),
    )
