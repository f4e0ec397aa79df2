"""Hierarchies as rules: how a tree grows, without a value of the data in the rule.

A rule can be written into a job file and kept under version control, and covers values that come
next week. Labels above the leaves depend on single values and on the rule alone, never on which
other values there are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from shoal.errors import OptionError, did_you_mean, refuse_unknown
from shoal.hierarchy.builders import date_hierarchy, grow, interval_hierarchy
from shoal.hierarchy.taxonomy import Taxonomy, canonical_label, require_all
from shoal.messages import Message

_ROOT = "*"
RULES: dict[str, dict[str, Any]] = {
    "prefix": {"keep": None, "length": None, "mask": "*"},
    "intervals": {"widths": (5, 10, 20), "origin": 0},
    "dates": {"levels": ("month", "year", "decade"), "form": None},
    "grid": {"step": None, "factor": 10, "levels": 3},
    "icd10": {"language": "en"},
    "atc": {"language": "en"},
    "nuts": {"language": "en"},
    "country": {"language": "en"},
    "postcode": {"country": None},
}
"""The rules, and the options of each with what holds unless they are given; None is nothing."""

_NEEDED = {"prefix": "keep", "grid": "step", "postcode": "country"}
CLASSIFICATIONS = ("icd10", "atc", "nuts", "country", "postcode")
"""Rules that know codes of a classification (`shoal.hierarchy.classifications`)."""


@dataclass(frozen=True)
class HierarchyRule:
    """How the hierarchy of a column grows from its values.

    Attributes:
        name: ``prefix`` masks codes from the right, ``intervals`` nests intervals of growing
            width, ``dates`` goes to months and years, ``grid`` nests cells that are a factor
            wider from level to level; ``icd10``, ``atc``, ``nuts``, ``country`` and ``postcode``
            go by what a code says.
        options: what was given, by name; lists are tuples.
    """

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        """Check the rule, with values that no table holds.

        Raises:
            OptionError: there is no such rule or option, or a value is out of range.
        """
        if self.name not in RULES:
            hint = did_you_mean(str(self.name), RULES)
            known = ", ".join(RULES)
            raise OptionError(
                "A hierarchy's rule must be one of {known}, got {name!r}.{hint}",
                known=known,
                name=self.name,
                hint=hint,
            )
        known_options = RULES[self.name]
        refuse_unknown(
            [option for option, _ in self.options],
            known_options,
            OptionError,
            Message("The rule {rule!r} takes {known_options}, got {name!r}.{hint}"),
            rule=self.name,
            known_options=", ".join(known_options),
        )
        needed = _NEEDED.get(self.name)
        if needed is not None and self._option(needed) is None:
            raise OptionError(
                "The rule {name!r} needs {needed}; see docs/hierarchies.md.",
                name=self.name,
                needed=needed,
            )
        if self.name in CLASSIFICATIONS:
            from shoal.hierarchy.classifications import check_options

            check_options(self.name, {**RULES[self.name], **dict(self.options)})
            return
        self.build(
            ["2024-05-17" if self.name == "dates" and not self._option("form") else "1"], trial=True
        )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> HierarchyRule:
        """Return the rule that a table of a job file or a dictionary says."""
        name = given.get("rule")
        options = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in given.items()
            if key != "rule"
        }
        return cls(cast("str", name), tuple(sorted(options.items())))

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a job file writes it."""
        plain = {
            key: list(value) if isinstance(value, tuple) else value for key, value in self.options
        }
        return {"rule": self.name, **plain}

    def build(
        self,
        values: Iterable[object],
        *,
        decimals: bool = False,
        trial: bool = False,
        unknown_values: str = "error",
    ) -> Taxonomy:
        """Return the tree over these values.

        Args:
            values: distinct values of a column.
            decimals: whether the column is one of numbers with decimals, whatever these are.
            trial: whether only the options matter.
            unknown_values: ``root`` puts what is no code of a classification below the root.

        Raises:
            HierarchyError: the values do not fit the rule; the message shows none of them.
            OptionError: an option is out of range.
        """
        if self.name in CLASSIFICATIONS:
            from shoal.hierarchy.classifications import classified

            options = {**RULES[self.name], **dict(self.options)}
            return classified(self.name, values, options, unknown_values)
        match self.name:
            case "prefix":
                return self._prefixes(values)
            case "dates":
                return self._dates(values, trial=trial)
            case "grid":
                return interval_hierarchy(values, self._cells(), decimals=decimals)
        return interval_hierarchy(
            values, self._option("widths"), self._option("origin"), decimals=decimals
        )

    @property
    def knows_codes(self) -> bool:
        """Whether values have to be codes of a classification."""
        return self.name in CLASSIFICATIONS

    def _option(self, name: str) -> Any:
        return dict(self.options).get(name, RULES[self.name][name])

    def _prefixes(self, values: Iterable[object]) -> Taxonomy:
        keep, length, mask = (self._option(name) for name in ("keep", "length", "mask"))
        kept = (keep,) if _is_whole(keep) else keep
        whole = isinstance(kept, tuple) and bool(kept) and all(map(_is_whole, kept))
        if not whole or min(kept) < 1 or any(b >= a for a, b in pairwise(kept)):
            raise OptionError(
                "keep must be whole numbers that fall, as in [3, 1], got {keep!r}.", keep=keep
            )
        if length is not None and (not _is_whole(length) or length <= max(kept)):
            raise OptionError(
                "length must be a whole number above those of keep, got {length!r}.", length=length
            )
        if not isinstance(mask, str) or len(mask) != 1 or not mask.strip():
            raise OptionError(
                "mask must be one visible character such as '*', got {mask!r}.", mask=mask
            )

        def masked(label: str, count: int) -> str:
            start = label[:count]
            return start + mask if length is None else start.ljust(length, mask)

        labels = sorted(dict.fromkeys(map(canonical_label, values)))
        paths = [[label, *(masked(label, count) for count in kept), _ROOT] for label in labels]
        return grow(paths, advice=Message(", which a mask other than {mask!r} avoids", mask=mask))

    def _dates(self, values: Iterable[object], *, trial: bool) -> Taxonomy:
        levels, form = self._option("levels"), self._option("form")
        if form is None:
            return date_hierarchy(values, levels)
        if not isinstance(form, str) or "%" not in form:
            raise OptionError(
                "form must say how dates are written, as in '%d.%m.%Y', got {form!r}.", form=form
            )
        labels = list(dict.fromkeys(map(canonical_label, values)))
        if trial:
            date_hierarchy(["2024-05-17"], levels)
            return Taxonomy.flat(["1"])
        days = {}
        for label in labels:
            try:
                days[label] = dt.datetime.strptime(label, form)  # noqa: DTZ007 - of a day
            except ValueError:
                continue
        require_all(
            len(days),
            labels,
            Message(
                "{n} of {n2} values are no dates of the form {form!r}; make them missing, or "
                "change the rule."
            ),
            form=form,
        )
        # Two ways to write one day are two leaves below the same month.
        tree = date_hierarchy([day.date() for day in days.values()], levels)
        above = {path[0]: list(path[1:]) for path in tree.to_paths()}
        order = sorted(days, key=lambda label: (days[label], label))
        return grow([[label, *above[days[label].date().isoformat()]] for label in order])

    def _cells(self) -> list[Any]:
        step, factor, levels = (self._option(name) for name in ("step", "factor", "levels"))
        if not _is_whole(factor) or factor < 2:
            raise OptionError(
                "factor must be a whole number of at least 2, got {factor!r}.", factor=factor
            )
        if not _is_whole(levels) or not 1 <= levels <= 20:
            raise OptionError(
                "levels must be a whole number from 1 to 20, got {levels!r}.", levels=levels
            )
        from decimal import Decimal, InvalidOperation

        try:
            width = Decimal(str(step))
        except InvalidOperation:
            raise OptionError("step must be a number above 0, got {step!r}.", step=step) from None
        return [width * factor**level for level in range(levels)]


def as_rule(given: object) -> HierarchyRule | None:
    """Return the rule that a user meant; None if it is a hierarchy of another form.

    Raises:
        OptionError: it is a rule, and wrong.
    """
    if isinstance(given, HierarchyRule):
        return given
    if isinstance(given, str) and given in CLASSIFICATIONS and given not in _NEEDED:
        return HierarchyRule(given)
    if isinstance(given, Mapping) and isinstance(given.get("rule"), str):
        return HierarchyRule.of(given)
    return None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
