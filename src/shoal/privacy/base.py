"""What a privacy model is: a predicate on the sensitive values of a group."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_type_hints

import numpy as np

from shoal.errors import OptionError, PromiseError, did_you_mean, refuse_unknown
from shoal.messages import Message
from shoal.options import (
    REQUIRED,
    Check,
    Flag,
    Option,
    anything,
    check_all,
    one_of,
    option,
    or_none,
    rows_of,
)
from shoal.registry import built_in, load, privacy_models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition
    from shoal.table.sensitive import Sensitive


About = Literal["groups", "people", "whole"]
Reading = Literal["written", "cleaned"]
KernelRule = tuple[str, float, float]
TOLERANCE = 1e-9
"""Slack of every comparison with a real parameter, so that 1/3 of three rows is no more than 1/3
whatever the rounding; whole parameters are compared exactly."""


class PrivacyModel(ABC):
    """A promise about the sensitive values of every group, beyond the group's size.

    A model is a frozen dataclass whose fields are its options, each declared by `parameter`:
    flags, keys of job files, fields of pages, the certificate's entry and the table of the docs
    are made from them. ``column`` is one of them. A model looks at histograms: how many rows of
    each group have each value of one sensitive column. Where a person has several rows, a
    histogram counts people: a value counts once for a person. A missing value is a value like any
    other. A group without rows keeps every promise.

    Class attributes:
        name: what users type.
        title: one line for lists.
        citation: paper and section.
        monotone: whether the union of two groups that keep the promise keeps it. Of one that is
            not, nobody can say in advance that it is out of reach.
        at_least: whether the promised number is a lower bound (otherwise an upper bound).
        order_free: whether the verdict depends on the counts of a group alone, neither on
            which value each belongs to nor on the whole table.
        about: whether the promise is about the sensitive values of ``"groups"``, about which
            ``"people"`` of a population cells cover, or about the ``"whole"`` release
            (`shoal.privacy.release_wide` for both).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    monotone: ClassVar[bool] = True
    at_least: ClassVar[bool] = False
    order_free: ClassVar[bool] = False
    about: ClassVar[About] = "groups"

    column: str | None

    def __post_init__(self) -> None:
        check_all(self)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """How sensitive values are to be read: as written, cleaned, or each in turn.

        A promise must hold for the values as written and for those that a person would tell
        apart. A model for which one of the two is always the stricter one names only that.
        """
        return ("written", "cleaned")

    @property
    def promised(self) -> float:
        """The number that is promised: the first option."""
        number: float = getattr(self, fields(self)[0].name)  # type: ignore[arg-type]  # every model is a dataclass, the base is not
        return number

    @property
    def label(self) -> str:
        """The model with its numbers, as in "distinct l-diversity with l = 2"."""
        return Message("{name} of {promised:g}", name=self.name, promised=self.promised)

    @abstractmethod
    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return what each group reaches, in the number that is promised.

        Args:
            histograms: rows of each group (first axis) with each value (second axis); no group
                is empty.
            whole: rows of the whole published table with each value.
        """

    @abstractmethod
    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""

    def _of(self, column: str | None) -> str:
        """Return the column that a promise names, as part of a sentence; nothing for all."""
        column = column or self.column
        return "" if column is None else Message(" of {column!r}", column=column)

    def holds(self, histograms: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which groups keep the promise (the arguments are those of `per_group`)."""
        filled = n_rows(histograms) > 0
        result = np.ones(histograms.shape[0], dtype=np.bool_)
        if filled.any():
            result[filled] = self._holds(histograms[filled], whole)
        return result

    def _holds(self, histograms: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.bool_]:
        reached = self.per_group(histograms, whole)
        if self.at_least:
            return reached >= self.promised - TOLERANCE
        return reached <= self.promised + TOLERANCE

    def measured(self, histograms: NDArray[np.int64], whole: NDArray[np.int64]) -> float:
        """Return the worst that any group reaches, in the number that is promised.

        Without any group that is the best there is: infinity for a lower bound, else 0.
        """
        filled = histograms[n_rows(histograms) > 0]
        if not filled.shape[0]:
            return math.inf if self.at_least else 0.0
        reached = self.per_group(filled, whole)
        return float(reached.min() if self.at_least else reached.max())

    def check_possible(self, sensitive: Sensitive) -> None:
        """Raise if not even the whole table as one group keeps the promise.

        Every release is made of parts of the table, and a monotone promise that all parts keep
        is kept by their union. So this is exact as long as no row is suppressed.

        Raises:
            PromiseError: says which number would be possible.
        """
        if sensitive.people is not None:
            self._check_people(sensitive)
            return
        whole, model = sensitive.counts, self.on(sensitive)
        if self.monotone and not model.holds(whole[np.newaxis], whole)[0]:
            raise PromiseError(
                "No release of all rows can keep the promise of {label} in column {name!r}: "
                "{possible}.",
                label=self.label,
                name=sensitive.name,
                possible=model.possible(whole),
            )

    def _check_people(self, sensitive: Sensitive) -> None:
        """Raise if one group of everybody does not keep the promise, where it counts people.

        Groups may share people, so that their union need not keep what they keep. But it is what
        repairs end with.
        """
        codes, people = sensitive.codes, sensitive.people
        together = np.zeros(len(codes), np.int64)
        verdict = judge(self.on(sensitive), together, 1, codes, sensitive.size, people=people)
        if self.monotone and not verdict.holds[0]:
            bound = round_down if self.at_least else round_up
            raise PromiseError(
                "The promise of {label} in column {name!r} cannot be kept, counted in people: "
                "one group of everybody reaches {bound}, so ask for no more than that.",
                label=self.label,
                name=sensitive.name,
                bound=bound(verdict.measured),
            )

    def possible(self, whole: NDArray[np.int64]) -> str:
        """Return the number that one group of all rows reaches, as part of a sentence."""
        best = self.measured(whole[np.newaxis], whole)
        if self.at_least:
            return Message("it can be at most {number}", number=round_down(best))
        return Message("it can be no less than {number}", number=round_up(best))

    def columns(self, table: EncodedTable) -> tuple[Sensitive, ...]:
        """Return the sensitive columns the promise is about: all, or the one it names.

        A column comes in each of the `readings`, twice only if the two differ.

        Raises:
            OptionError: there is no such column, or the model cannot work on it.
        """
        if not table.sensitive:
            raise OptionError(
                "The privacy model {name!r} looks at a sensitive column and none was given; "
                "name one with sensitive=[...] (--sensitive on the command line).",
                name=self.name,
            )
        chosen = tuple(s for s in table.sensitive if self.column in (None, s.name))
        if not chosen:
            known = [s.name for s in table.sensitive]
            hint = did_you_mean(str(self.column), known) or Message(
                " Sensitive: {names}.", names=", ".join(known)
            )
            raise OptionError(
                "The privacy model {name!r} names column {column!r}, which is not a sensitive "
                "column.{hint}",
                name=self.name,
                column=self.column,
                hint=hint,
            )
        for sensitive in chosen:
            self.check_column(sensitive)
        # a person who has a value in two spellings counts once for it after cleaning: then
        # neither reading need be the stricter one
        readings: tuple[Reading, ...] = ("written", "cleaned")
        read = [
            sensitive if reading == "written" else sensitive.cleaned
            for sensitive in chosen
            for reading in (self.readings if table.person is None else readings)
        ]
        return tuple({id(each): each for each in read}.values())

    def broken(self, table: EncodedTable, partition: Partition) -> NDArray[np.bool_]:
        """Return which groups a promise about a release as a whole wants to be merged."""
        del table
        return np.zeros(partition.n_groups, np.bool_)

    def too_many(self, table: EncodedTable, partition: Partition) -> float:
        """Return how many times more groups there are than the promise allows, if it limits them.

        A search then looks for fewer groups by itself, instead of merging those that break it.
        """
        del table, partition
        return 0.0

    def check_release(self, table: EncodedTable) -> None:
        """Raise if one group of all rows does not keep a promise about a release as a whole."""
        del table

    def on(self, sensitive: Sensitive) -> PrivacyModel:
        """Return the model as it judges this column: itself, unless it looks beyond the counts."""
        del sensitive
        return self

    def details(self) -> NDArray[np.float64] | None:
        """Return what a built-in model that looks beyond the counts hands to kernels."""
        return None

    def kernel_rule(self) -> KernelRule | None:
        """Return the rule of `shoal.kernels.private` that is this promise; None asks the model.

        It is the rule's name there and two numbers that it reads: the one that is promised, and
        another one.
        """
        return None

    def rule_address(self) -> int | None:
        """Return the address of a compiled predicate, for a search at full speed.

        A function of C, ``int64 rule(int64 *histogram, int64 n_values, int64 *whole)``, that is not
        zero if a group with this histogram keeps the promise (numba's ``cfunc`` makes one; whoever
        returns its address keeps it alive). None has the search call `holds`: the groups are the
        same, the way is longer.
        """
        return None

    def check_column(self, sensitive: Sensitive) -> None:
        """Raise an OptionError if the model cannot work on this column."""
        del sensitive

    def to_dict(self) -> dict[str, Any]:
        """Return the table of a job file for this model."""
        names = [row.name for row in options_of(type(self)) if row.certificate]
        options = {name: getattr(self, name) for name in names}
        return {"model": self.name, **{k: v for k, v in options.items() if v is not None}}

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> PrivacyModel:
        """Build a model from the table of a job file, as ``{"model": "t-closeness", "t": 0.2}``.

        Raises:
            OptionError: the model is unknown, or an option is unknown, missing or wrong.
        """
        options = dict(table)
        name = options.pop("model", None)
        if not isinstance(name, str):
            raise OptionError(
                "A privacy model needs its name, for example model = 'l-diversity', but {name} was "
                "given.",
                name=Message("none") if name is None else repr(name),
            )
        model: type[PrivacyModel] = load("privacy", name)
        known = {row.name: row for row in options_of(model)}
        missing = Message(
            "The privacy model {model!r} has no option {name!r}.{hint} It has {known}."
        )
        refuse_unknown(options, known, OptionError, missing, model=name, known=", ".join(known))
        for row in known.values():
            if row.default is REQUIRED and row.name not in options:
                raise OptionError(
                    "The privacy model {name!r} needs the option {option!r}.",
                    name=name,
                    option=row.name,
                )
        return model(**options)


def parse_privacy(models: object) -> tuple[PrivacyModel, ...]:
    """Return the models of a ``privacy=`` argument: models or their tables, one or several.

    Raises:
        OptionError: something is neither, or a table is wrong.
    """
    if models is None:
        return ()
    if isinstance(models, PrivacyModel | Mapping):
        models = [models]
    if not isinstance(models, Iterable) or isinstance(models, str):
        raise _no_model(models)
    result = []
    for model in models:
        if isinstance(model, Mapping):
            result.append(PrivacyModel.from_dict(model))
        elif isinstance(model, PrivacyModel):
            result.append(model)
        else:
            raise _no_model(model)
    return tuple(result)


def _no_model(model: object) -> OptionError:
    return OptionError(
        "privacy must be a list of privacy models, as in privacy=[shoal.LDiversity(2)], but "
        "{given!r} was given.",
        given=model,
    )


# -- options of models ---------------------------------------------------------------------------


def parameter(
    check: Check,
    *,
    default: Any = REQUIRED,
    flag: tuple[str, ...] = (),
    kinds: Mapping[str, tuple[str, ...]] | None = None,
    **more: Any,
) -> Any:
    """Return a field of a model: an option of the promise, which the certificate tells.

    Args:
        check: what it may be, as `shoal.options` has checks.
        default: what holds unless it is given.
        flag: its name on the command line, what stands for the value in ``--help``, and the line
            of help there, where it differs. The flag of the first option makes the promise.
        kinds: such flags by the kind of promise that they make, where the first option has several.
        more: what else `shoal.options.Option` says, ``help`` above all.
    """
    flags = {
        kind: Flag(
            names=words[:1],
            on=("anonymize", "refine", "verify"),
            panel="Promises",
            metavar=words[1],
            help="".join(words[2:]) or None,
        )
        for kind, words in {"": flag, **(kinds or {})}.items()
        if words
    }
    more = {"certificate": True, "flag": flags.pop("", None), "parts": flags, **more}
    return option(default=default, check=check, **more)


def check_column_name(name: str, column: Any) -> Any:
    """Raise an OptionError unless ``column`` is a column name."""
    if not isinstance(column, str) or not column:
        raise OptionError(
            "{name} must be the name of one column, but {given!r} was given.",
            name=name,
            given=column,
        )
    return column


COLUMN: dict[str, Any] = {
    "check": or_none(check_column_name),
    "default": None,
    "help": "The sensitive column it is about; all unless given.",
    "flag": (
        "--privacy-column",
        "COLUMN",
        "The sensitive column these promises are about; all unless given.",
    ),
}
"""The option that names the sensitive column of a promise."""

POPULATION: dict[str, Any] = {
    "check": anything,
    "default": None,
    "hidden": True,
    "certificate": False,  # it is about people
    "path": True,
    "help": "The table of everybody who could be in the data.",
    "flag": (
        "--population",
        "FILE",
        "The table of everybody who could be in the data, for --k-map and --presence-max.",
    ),
}
"""The option with the population of a promise."""

COUNTS: dict[str, Any] = {
    "check": or_none(check_column_name),
    "default": None,
    "help": "The column of the population that says how many people a row stands for.",
    "flag": (
        "--population-counts",
        "COLUMN",
        "The column of --population that says how many people a row stands for.",
    ),
}
"""The option that names the column of the population with numbers of people."""


@cache
def options_of(model: type[PrivacyModel]) -> tuple[Option, ...]:
    """Return the options of a model; those of a plug-in need not be declared by `parameter`."""
    declared = {row.name: row for row in rows_of(model)}
    undeclared = [each for each in fields(model) if each.name not in declared]  # type: ignore[arg-type]  # every model is a dataclass, the base is not
    for each in undeclared:
        kinds, words = _types_of(each, model)
        is_population = each.name == "population" and model.about == "people"
        declared[each.name] = Option(
            help="",
            certificate=not is_population,  # it is about people
            path=is_population,
            check=one_of(*words) if words else None,
            name=each.name,
            type=next((kind for kind in ("float", "int") if kind in kinds), "str"),
            default=REQUIRED
            if each.default is MISSING and each.default_factory is MISSING
            else each.default,
        )
    return tuple(declared[each.name] for each in fields(model))  # type: ignore[arg-type]


def _types_of(each: Any, model: type) -> tuple[set[str], tuple[str, ...]]:
    """Return what a field may hold: names of types, and the words that it is one of."""
    asked = type("Asked", (), {"__annotations__": {each.name: each.type}})
    try:  # its own module says what the words in it mean
        known = get_type_hints(asked, vars(sys.modules[model.__module__]))[each.name]
    except (AttributeError, KeyError, NameError, SyntaxError, TypeError):
        return set(), ()
    inside = [kind for kind in get_args(known) if kind is not type(None)]
    words = tuple(kind for kind in inside if isinstance(kind, str))
    return {getattr(kind, "__name__", "") for kind in (known, *inside)}, words


def is_built_in(model: PrivacyModel) -> bool:
    """Return whether a model comes with this package: verification has a predicate for it."""
    return model.name in built_in("privacy") and type(model) is load("privacy", model.name)


def file_options(model: object) -> tuple[str, ...]:
    """Return the options of a model that name a file; none of a model that nobody knows."""
    if model not in privacy_models():
        return ()
    return tuple(row.name for row in options_of(load("privacy", str(model))) if row.path)


# -- counts --------------------------------------------------------------------------------------


def n_rows(histograms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of rows of each group."""
    total: NDArray[np.int64] = histograms.sum(axis=1)
    return total


def most_frequent(histograms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of rows with the most frequent value of each group."""
    most: NDArray[np.int64] = histograms.max(axis=1)
    return most


def people_in_groups(table: EncodedTable, partition: Partition) -> NDArray[np.int64]:
    """Return how many different people each group has."""
    if table.person is None:
        return partition.sizes.astype(np.int64)
    kept = partition.labels >= 0
    several = int(table.person.max(initial=0)) + 1
    pairs = np.unique(partition.labels[kept].astype(np.int64) * several + table.person[kept])
    return np.bincount(pairs // several, minlength=partition.n_groups).astype(np.int64)


def round_down(number: float) -> str:
    """Return a number to four decimals, never above itself: a bound that can be asked for."""
    return f"{math.floor(number * 1e4 + TOLERANCE) / 1e4:g}"


def round_up(number: float) -> str:
    """Return a number to four decimals, never below itself."""
    return f"{math.ceil(number * 1e4 - TOLERANCE) / 1e4:g}"


# -- histograms of all groups --------------------------------------------------------------------
#
# A column with many values times many groups would be a table of billions of cells. Models whose
# verdict depends on the counts alone get histograms without the zeros; others get full ones, a
# block of groups at a time.

_BLOCK_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a model says about one column: which groups keep the promise, and the worst number."""

    holds: NDArray[np.bool_]
    measured: float


def judge(
    model: PrivacyModel,
    groups: NDArray[np.integer[Any]],
    n_groups: int,
    codes: NDArray[np.integer[Any]],
    n_codes: int,
    *,
    people: NDArray[np.integer[Any]] | None = None,
    whole: NDArray[np.int64] | None = None,
    times: NDArray[np.int64] | None = None,
) -> Verdict:
    """Return what a model says about the groups of a published table.

    Where a person has several rows, a value counts once for each person of a group.

    Args:
        model: the promise.
        groups: group of each published row, 0 … n_groups-1.
        n_groups: number of groups.
        codes: code of each row's sensitive value, in the order of the values.
        n_codes: number of codes.
        people: person of each row; None if every row is a person of its own.
        whole: histogram to compare with; that of these rows unless given.
        times: how many rows each of these stands for, one unless given; people are counted as
            they are.

    Cost: one sort of the rows (two where people count), and one pass over the histograms.
    """
    pairs, count = _count(groups.astype(np.int64) * n_codes + codes, people, times)
    if whole is None:
        whole = _histogram_of_all(codes, n_codes, people, times)
    return judge_pairs(model, n_groups, pairs, count, whole)


def judge_pairs(
    model: PrivacyModel,
    n_groups: int,
    pairs: NDArray[np.int64],
    count: NDArray[np.int64],
    whole: NDArray[np.int64],
) -> Verdict:
    """Return what a model says about groups that were counted.

    Args:
        model: the promise.
        n_groups: number of groups.
        pairs: group times number of codes, plus code; rising, those that occur.
        count: how many rows (or people) have each.
        whole: histogram to compare with.
    """
    n_codes = len(whole)
    group, code = np.divmod(pairs, n_codes)
    distinct = np.bincount(group, minlength=n_groups)
    starts = np.cumsum(distinct) - distinct
    if model.order_free:
        # Groups with equally many values side by side: blocks without padding to speak of.
        code = np.arange(len(pairs)) - starts[group]
        turn = np.argsort(distinct, kind="stable")
        widths = np.maximum(distinct[turn], 1)
    else:
        turn = np.arange(n_groups)
        widths = np.full(n_groups, n_codes)
    holds = np.empty(n_groups, dtype=np.bool_)
    worst = [model.measured(np.zeros((0, 1), dtype=np.int64), whole)]
    for first, last in _blocks(widths):
        members = turn[first:last]
        width = int(widths[last - 1])
        at = np.repeat(starts[members], distinct[members]) + _within(distinct[members])
        histograms = np.zeros((last - first, width), dtype=np.int64)
        histograms[np.repeat(np.arange(last - first), distinct[members]), code[at]] = count[at]
        holds[members] = model.holds(histograms, whole)
        worst.append(model.measured(histograms, whole))
    return Verdict(holds, min(worst) if model.at_least else max(worst))


def _count(
    pair: NDArray[np.int64],
    people: NDArray[np.integer[Any]] | None,
    times: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of group and value that occur, and how many people have each."""
    if people is None and times is None:
        return np.unique(pair, return_counts=True)
    pairs, place = np.unique(pair, return_inverse=True)
    if people is None:
        return pairs, np.bincount(place, times, len(pairs)).astype(np.int64)
    several = int(people.max(initial=0)) + 1
    once = np.unique(place.astype(np.int64) * several + people) // several
    return pairs, np.bincount(once, minlength=len(pairs))


def _histogram_of_all(
    codes: NDArray[np.integer[Any]],
    n_codes: int,
    people: NDArray[np.integer[Any]] | None,
    times: NDArray[np.int64] | None,
) -> NDArray[np.int64]:
    if people is not None:
        codes, times = np.unique(people.astype(np.int64) * n_codes + codes) % n_codes, None
    return np.bincount(codes, times, minlength=n_codes).astype(np.int64)


def _within(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, …, length-1 for each length, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def _blocks(widths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups whose histograms, as wide as the last, fit into a block."""
    first, n_groups = 0, len(widths)
    while first < n_groups:
        # Widths ascend, so a block holds no more groups than of the first one's width, and the
        # cells of the groups first … last grow with last.
        ahead = widths[first : first + max(1, _BLOCK_CELLS // int(widths[first]))]
        cells = np.arange(1, len(ahead) + 1) * ahead
        last = first + max(1, int(np.searchsorted(cells, _BLOCK_CELLS, side="right")))
        yield first, last
        first = last
