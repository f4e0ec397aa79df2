"""`Scores`: what a grouping costs, under as many measures as one asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, did_you_mean
from shoal.messages import Message
from shoal.registry import load, names

if TYPE_CHECKING:
    from shoal.measure.base import CostMeasure, Measure
    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition
    from shoal.table.sensitive import Sensitive


_COMMON = "column"
"""The option that belongs to no measure: which sensitive column class-aware measures look at."""


class Scores(Mapping[str, float]):
    """Measure name → value, in the order asked for; immutable.

    >>> scores = Scores({"ncp": 0.25, "dm": 50.0}, {"ncp": {"age": 0.5, "sex": 0.0}})
    >>> scores["ncp"], scores.by_column["ncp"]["age"]
    (0.25, 0.5)
    """

    __slots__ = ("_by_column", "_values")

    def __init__(
        self,
        values: Mapping[str, float],
        by_column: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self._values = {name: float(value) for name, value in values.items()}
        self._by_column = {name: dict(columns) for name, columns in (by_column or {}).items()}

    @property
    def by_column(self) -> Mapping[str, Mapping[str, float]]:
        """Value of each column, before weights, for the measures that are sums over columns."""
        return MappingProxyType(
            {name: MappingProxyType(columns) for name, columns in self._by_column.items()}
        )

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return plain dicts, ready for JSON: ``{"scores": {...}, "by_column": {...}}``."""
        columns = {name: dict(values) for name, values in self._by_column.items()}
        return {"scores": dict(self._values), "by_column": columns}

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        """Show each measure with six significant digits."""
        shown = ", ".join(f"{name!r}: {value:.6g}" for name, value in self._values.items())
        return f"Scores({{{shown}}})"

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import shown, table

        return shown(table(("measure", "value"), ((n, f"{v:.6g}") for n, v in self.items())))


def create_measure(name: str, options: Mapping[str, object] | None = None) -> Measure:
    """Return the measure called ``name``, with its options set.

    ``column``, which names the sensitive column that class-aware measures look at, is accepted
    and left to whoever picks that column.

    Raises:
        OptionError: no such measure, or an option it does not have or does not allow.
    """
    return _build(load("measures", name), name, _check_mapping(options), strict=True)


def create_cost_measure(name: str, options: Mapping[str, object] | None = None) -> CostMeasure:
    """Return the measure called ``name``, as `create_measure` does, to be minimised.

    Raises:
        OptionError: as `create_measure`; or it is a score of finished groups.
    """
    from shoal.measure.base import CostMeasure

    measure = create_measure(name, options)
    if not isinstance(measure, CostMeasure):
        raise OptionError(
            "Measure {measure!r} is a score and cannot be minimised; choose one such as "
            "'ncp', 'lm' or 'mi'.",
            measure=name,
        )
    return measure


def default_measures(table: EncodedTable) -> tuple[str, ...]:
    """Return the measures that are always worth showing and cost next to nothing."""
    always = ("ncp", "lm", "dm", "average-class-size", "suppression", "mi")
    return (*always, "pmi", "cm", "entropy-diversity") if table.sensitive else always


def score_table(
    table: EncodedTable,
    partition: Partition,
    measures: Sequence[str],
    *,
    measure_options: Mapping[str, object] | None = None,
    target: Sensitive | None = None,
) -> Scores:
    """Score a grouping of a table; suppressed rows count as fully generalised.

    Args:
        table: the original rows, encoded.
        partition: the group of every row.
        measures: names of `shoal.measures()`; a name given twice counts once.
        measure_options: options of the measures, all in one mapping: each measure takes those
            it has. ``column`` names the sensitive column of class-aware measures.
        target: that column itself, if it is at hand; otherwise ``column``, or the first
            sensitive column of the table.

    Raises:
        OptionError: an unknown measure or option, an option that none of the measures takes, a
            measure that needs a sensitive column where there is none, or a grouping of another
            number of rows.
    """
    from shoal.measure.base import Grouped, pick_target

    if partition.n_rows != table.n_rows:
        raise OptionError(
            "The grouping has {n_rows} rows but the table has {n_rows2}; give one group label "
            "per row of the table.",
            n_rows=partition.n_rows,
            n_rows2=table.n_rows,
        )
    asked = dict.fromkeys([measures] if isinstance(measures, str) else measures)
    options = _check_mapping(measure_options)
    classes = {name: load("measures", name) for name in asked}
    _check_options(options, classes)
    if target is None:
        target = pick_target(table, options)
    grouped = Grouped(table, partition, target)
    values: dict[str, float] = {}
    by_column: dict[str, Mapping[str, float]] = {}
    for name, cls in classes.items():
        measure = _build(cls, name, options, strict=False)
        if measure.needs_sensitive and target is None:
            raise OptionError(
                "Measure {name!r} looks at a sensitive column and none was given; name one "
                "with sensitive=[...].",
                name=name,
            )
        values[name] = measure.score(grouped)
        columns = measure.by_column(grouped)
        if columns is not None:
            by_column[name] = columns
    return Scores(values, by_column)


def _check_mapping(options: Mapping[str, object] | None) -> Mapping[str, object]:
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise OptionError(
            "measure_options must map option names to values, as in {{'w': 0.5}}, not {name}.",
            name=type(options).__name__,
        )
    return options


def _build(cls: Any, name: str, options: Mapping[str, object], *, strict: bool) -> Measure:
    known = tuple(cls.options)
    if strict:
        for option in options:
            if option != _COMMON and option not in known:
                _raise_unknown(option, Message("Measure {name!r} does not have", name=name), known)
    measure: Measure = cls(**{option: options[option] for option in known if option in options})
    return measure


def _check_options(options: Mapping[str, object], classes: Mapping[str, Any]) -> None:
    """Refuse an option without effect: it is a mistake that nobody would notice."""
    known = {option for cls in classes.values() for option in cls.options}
    for option in options:
        if option == _COMMON or option in known:
            continue
        owner = next((m for m in names("measures") if option in load("measures", m).options), None)
        if owner is not None:
            raise OptionError(
                "Option {option!r} goes with measure {owner!r}, which is not asked for; add "
                "{owner!r} to the measures or leave the option out.",
                option=option,
                owner=owner,
            )
        every = {option for m in names("measures") for option in load("measures", m).options}
        _raise_unknown(option, Message("No measure has"), sorted(every))


def _raise_unknown(option: object, subject: Message, known: Sequence[str]) -> None:
    listed = ", ".join((*known, _COMMON))
    raise OptionError(
        "{subject} the option {option!r}.{hint} Known: {listed}.",
        subject=subject,
        option=option,
        hint=did_you_mean(str(option), (*known, _COMMON)),
        listed=listed,
    )
