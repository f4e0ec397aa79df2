"""What users call: `anonymize`, `refine`, `verify`, `score`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw
import numpy as np

from shoal.errors import OptionError, ShoalWarning
from shoal.measure.scores import default_measures, score_table
from shoal.privacy import parse_privacy
from shoal.publish.cells import listed
from shoal.publish.limited import limited_of
from shoal.publish.recode import Style
from shoal.publish.verification_terms import promises_of, read_grids, read_trees
from shoal.publish.verify import Verification, check_k, verify_table
from shoal.run import FrameSource, labels_of, run
from shoal.settings.request import build_request, open_populations, read_style
from shoal.table.encode import encode
from shoal.table.frames import is_frame, to_polars
from shoal.table.infer import schema_of_used
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from narwhals.typing import IntoDataFrame

    from shoal.measure.scores import Scores
    from shoal.publish.release_data import FrameT
    from shoal.publish.verify_tables import TablesVerification
    from shoal.release import Release
    from shoal.release.tables import TablesRelease
    from shoal.settings.request import HierarchyLike, LabelsLike, PreviousLike, PrivacyLike
    from shoal.table.schema import Kind


def anonymize(
    frame: FrameT,
    k: int,
    *,
    quasi_identifiers: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    identifiers: str | Iterable[str] = (),
    insensitive: str | Iterable[str] = (),
    drop: str | Iterable[str] = (),
    person: str | None = None,
    rows_are_people: bool = False,
    pseudonyms: bool = False,
    person_key: str | PathLike[str] | None = None,
    hierarchies: Mapping[str, HierarchyLike] | None = None,
    kinds: Mapping[str, Kind | str] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    algorithm: str = "auto",
    algorithm_options: Mapping[str, Any] | None = None,
    measure: str = "ncp",
    measure_options: Mapping[str, Any] | None = None,
    privacy: PrivacyLike = (),
    previous: PreviousLike = (),
    reserve: float = 1.0,
    weaken: bool = False,
    weights: Mapping[str, float] | None = None,
    grid: Mapping[str, Any] | str | None = None,
    scale: Mapping[str, str] | None = None,
    top: Mapping[str, Any] | None = None,
    bottom: Mapping[str, Any] | None = None,
    dates: Mapping[str, str] | None = None,
    read_as: Mapping[str, str] | None = None,
    missing_codes: Mapping[str, Sequence[Any]] | None = None,
    default_grid: bool = True,
    unknown_values: str = "error",
    knows: int | None = None,
    combinations: Iterable[Iterable[str]] = (),
    within: str | None = None,
    max_suppression: float = 0.0,
    suppress_for: str = "all",
    missing: str = "category",
    seed: int | None = None,
    threads: int | None = None,
    block_rows: int | None = None,
    refine: str | None = None,
    bound: bool = False,
    progress: bool | Callable[[int, int, str], None] = False,
    shuffle: bool = True,
    strict: bool = False,
    style: Style | Mapping[str, Any] | str | None = None,
) -> Release[FrameT]:
    """Return a release of the table in which nobody stands out from fewer than k.

    Args:
        frame: pandas, polars, pyarrow, Modin, or what hands its columns over as Arrow (a relation
            of DuckDB, an expression of Ibis); the release has the same type, else it is Arrow.
        k: smallest allowed group, at least 2.
        quasi_identifiers: columns that could single a person out together; they are generalised.
        sensitive: columns that are kept as they are and that privacy models look at.
        identifiers: columns that name a person; removed.
        insensitive: columns that are kept as they are.
        drop: columns that are removed.
        person: the column that says whose row it is, where a person may have several rows; k
            then counts people, and the column is removed.
        rows_are_people: True says that every row is a different person; otherwise a warning
            comes where an id repeats or rows are there more than once.
        pseudonyms: True publishes that column, as a random text for each person; rows of one
            person can then be put together.
        person_key: a file of ``shoal secret``: a person then has the same pseudonym, and the same
            shift of dates, in every table that is made with it; rows with pseudonyms can be put
            together across these tables, too.
        hierarchies: per column a `Taxonomy`, the path of an ARX-style CSV, nested dict/list, or a
            rule such as ``{"rule": "prefix", "keep": [3, 1]}``.
        kinds: per column numeric, ordinal, categorical, flat, set, date or datetime, where the
            type of the column does not say it.
        orders: values of ordinal columns, from low to high.
        algorithm: a name of `shoal.algorithms()`.
        algorithm_options: options of that algorithm.
        measure: what is minimised; a cost measure of `shoal.measures()`.
        measure_options: options of that measure, e.g. ``{"w": 0.5}``.
        privacy: promises beyond k, e.g. ``[shoal.LDiversity(2), shoal.TCloseness(0.3)]``.
        previous: releases of these people that are already out: what ``release.save`` kept, or
            the releases themselves, all of them; needs ``person``. Who has all of them is left
            with at least k people for everybody, and with ℓ values under ℓ-diversity.
        reserve: groups of people who are new are so many times k large, so that some may leave
            before the others have to wait; for releases that others follow.
        weaken: True lets a release promise less than those in ``previous``, or what does not hold
            over all of them; its warnings name what is given up. Otherwise it is refused.
        weights: how much the loss of a column counts, 1 by default.
        grid: lines that the intervals of a column end on, so that no end is somebody's exact
            value: a step (``{"age": 5, "lon": 0.01}``), a unit of the calendar (``"month"``) or
            ``"powers of 10"``. Of ordered words, how many neighbours are published together (2);
            of a column with a hierarchy, the lowest level that is published (``"level 1"``).
            ``"none"`` is none, for a column or for all.
        scale: what the search takes a wide interval of numbers or dates to cost: its share of
            the "range" (the default), of the people that it covers ("rank"), or of the range
            without outliers ("trimmed").
        top: per column the number or date from which on no more is published than that:
            ``{"age": 90}`` publishes 90 and more as ``90+``; of a column that is published as it
            is, too.
        bottom: the same downwards: ``{"born": "1934-12-31"}`` publishes that day and all before
            as ``<=1934-12-31``.
        dates: per column what happens to its dates before anything else: "shift" moves all dates of
            a person by one random offset of at most a year, "shift weeks" by whole weeks, so that
            weekdays stay, "shift 90 days" and "shift 26 weeks" say how far at most; "since first"
            publishes days since the person's first date in these columns. Needs ``person`` or
            ``rows_are_people``.
        read_as: how the dates or numbers of a column of text are written, as ``"dd.mm.yyyy"``,
            ``"1.234,5"`` or ``"12 %"``.
        missing_codes: what means a missing value in a column, as ``{"age": [-9, 99]}``.
        default_grid: False leaves the ends of floats, decimals and datetimes as they are where
            ``grid`` says nothing about them; otherwise they get a fine grid.
        unknown_values: what happens to values that a hierarchy does not list: "error", or "root",
            which puts them directly below its root.
        knows: promise k, and what ``privacy`` promises, only against somebody who knows at most so
            many of the quasi-identifiers of a person: in any so many columns of the release at
            least k rows have the same cells. Whoever knows more may find a person.
        combinations: promise that for these combinations of quasi-identifiers alone, as
            ``[["age", "zip"], ["age", "sex"]]``; with ``knows`` for both.
        within: a column whose values are kept apart, as a hospital: no group has rows of two of
            them, and ``release.strata`` tells each one's rows, groups and loss. It is a
            quasi-identifier, named as one or not, and is published exactly.
        max_suppression: share of rows that may be left out as outliers.
        suppress_for: "all" leaves a row out where that lowers the loss of all rows, itself
            counting as lost; "kept" uses the whole allowance so that the kept rows lose least.
        missing: "category" (missing is a value of its own), "suppress" (rows with a missing
            quasi-identifier are left out) or "error".
        seed: makes the run reproducible; keep it secret, with it and the input a run is repeated.
        threads: how many threads may be used (never changes the result); all cores by default.
        block_rows: tables above this size are cut into blocks of similar rows; chosen by itself
            if not given.
        refine: "fast", "balanced" or "best" refines the result of any algorithm (`auto` does so on
            its own, see its option ``effort``).
        bound: True also computes a loss that no release can be below (`shoal.lower_bound`), as
            ``release.bound``; ``release.gap`` is loss ÷ bound.
        progress: True for a bar, or a function of (done, total, what).
        shuffle: False keeps the order of the input, which may tell who is who. Otherwise the
            order depends on the published rows alone.
        strict: True makes no release that comes with a warning; `PromiseError` says which.
        style: how generalised cells are written; a `shoal.Style`, its options, or
            ``"shuffled"`` for exact values shuffled within groups.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do. `PromiseError` if no
            release can keep the promise.
    """
    options = {
        "k": k,
        "quasi_identifiers": quasi_identifiers,
        "sensitive": sensitive,
        "identifiers": identifiers,
        "insensitive": insensitive,
        "drop": drop,
        "person": person,
        "rows_are_people": rows_are_people,
        "pseudonyms": pseudonyms,
        "person_key": person_key,
        "hierarchies": hierarchies,
        "kinds": kinds,
        "orders": orders,
        "algorithm": algorithm,
        "algorithm_options": algorithm_options,
        "measure": measure,
        "measure_options": measure_options,
        "privacy": privacy,
        "previous": previous,
        "reserve": reserve,
        "weaken": weaken,
        "weights": weights,
        "grid": grid,
        "scale": scale,
        "top": top,
        "bottom": bottom,
        "dates": dates,
        "read_as": read_as,
        "missing_codes": missing_codes,
        "default_grid": default_grid,
        "unknown_values": unknown_values,
        "knows": knows,
        "combinations": combinations,
        "within": within,
        "max_suppression": max_suppression,
        "suppress_for": suppress_for,
        "missing": missing,
        "seed": seed,
        "threads": threads,
        "block_rows": block_rows,
        "refine": refine,
        "bound": bound,
        "shuffle": shuffle,
        "strict": strict,
        "style": style,
    }
    return _warned(run(build_request(options), FrameSource(frame), progress=progress))


def anonymize_tables(
    tables: Mapping[str, Any],
    k: int,
    *,
    links: Mapping[str, str],
    roles: Mapping[str, Mapping[str, Any]],
    knows_events: int = 2,
    privacy: PrivacyLike = (),
    person_key: str | PathLike[str] | None = None,
    max_suppression: float = 0.0,
    seed: int | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int, str], None] = False,
    strict: bool = False,
    style: Style | Mapping[str, Any] | None = None,
) -> TablesRelease:
    """Return a release of several tables in which nobody stands out from fewer than k people.

    One table is about people, with one row each; the others hang from it. Whoever knows a person's
    quasi-identifiers in that table and at most ``knows_events`` rows of the other tables finds at
    least k people (`shoal.publish.verify_tables` says this exactly).

    Args:
        tables: by name: pandas, polars or pyarrow; the release has the same types.
        k: how many people an attacker is left with, at least 2.
        links: which column names a row of which table, as
            ``{"stays.patient_id": "patients.patient_id"}``. These columns become pseudonyms.
        roles: for each table what its columns are: options of `anonymize` about columns, as
            ``{"stays": {"quasi_identifiers": ["ward"], "drop": ["note"]}}``, or each column with
            its role, as ``{"stays": {"ward": "quasi-identifier", "note": "drop"}}``; "key" names a
            key that no link names, which becomes pseudonyms, too. The kind "items" is
            that of a quasi-identifier whose cells are sets of codes: each is an event.
        knows_events: how many events of a person an attacker knows: 1, 2 or 3.
        privacy: promises beyond k about sensitive columns of the table about people.
        person_key: as in `anonymize`; pseudonyms are then the same in every release.
        max_suppression: share of people who may be left out as outliers, from all tables.
        seed: makes the run reproducible, but for pseudonyms; keep it secret.
        threads: how many threads may be used (never changes the result).
        progress: as in `anonymize`.
        strict: as in `anonymize`.
        style: as in `anonymize`.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do.
    """
    from shoal.run.tables import run_tables
    from shoal.settings.tables import build_tables_request

    if not isinstance(tables, Mapping):
        raise OptionError("tables must be a mapping from names to tables.")
    options = {
        "k": k,
        "knows_events": knows_events,
        "privacy": privacy,
        "person_key": person_key,
        "max_suppression": max_suppression,
        "seed": seed,
        "threads": threads,
        "strict": strict,
        "style": style,
    }
    request = build_tables_request(list(tables), links, roles, options)
    release = run_tables(request, tables, progress=progress)
    for warning in release.warnings:
        warnings.warn(warning, ShoalWarning, stacklevel=2)
    return release


def verify_tables(
    tables: Mapping[str, Any],
    k: int,
    *,
    links: Mapping[str, str],
    quasi_identifiers: Mapping[str, Sequence[str]],
    items: Mapping[str, Sequence[str]] | None = None,
    knows_events: int = 2,
) -> TablesVerification:
    """Say whether published tables keep what they promise, from the tables alone.

    Args:
        tables: the published tables, by name.
        k: how many people an attacker has to be left with.
        links: as in `anonymize_tables`.
        quasi_identifiers: of each table, as published.
        items: of each table the columns of sets of codes.
        knows_events: how many events of a person an attacker knows: 1, 2 or 3.

    Raises:
        OptionError: the links are wrong.
        DataError: a table or a column is not there.
    """
    from shoal.publish.verify_tables import verify_published_tables
    from shoal.settings.tables import EventOptions, terms_of_links

    events = EventOptions(knows_events=knows_events)
    return verify_published_tables(
        {name: to_polars(each) for name, each in tables.items()},
        terms_of_links(list(tables), links, quasi_identifiers, items or {}),
        k=check_k(k),
        knows_events=events.knows_events,
    )


def refine(
    frame: FrameT,
    groups: LabelsLike,
    k: int,
    *,
    quasi_identifiers: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    identifiers: str | Iterable[str] = (),
    insensitive: str | Iterable[str] = (),
    drop: str | Iterable[str] = (),
    person: str | None = None,
    rows_are_people: bool = False,
    pseudonyms: bool = False,
    person_key: str | PathLike[str] | None = None,
    hierarchies: Mapping[str, HierarchyLike] | None = None,
    kinds: Mapping[str, Kind | str] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    measure: str = "ncp",
    measure_options: Mapping[str, Any] | None = None,
    privacy: PrivacyLike = (),
    weights: Mapping[str, float] | None = None,
    grid: Mapping[str, Any] | str | None = None,
    scale: Mapping[str, str] | None = None,
    top: Mapping[str, Any] | None = None,
    bottom: Mapping[str, Any] | None = None,
    dates: Mapping[str, str] | None = None,
    read_as: Mapping[str, str] | None = None,
    missing_codes: Mapping[str, Sequence[Any]] | None = None,
    default_grid: bool = True,
    unknown_values: str = "error",
    missing: str = "category",
    seed: int | None = None,
    threads: int | None = None,
    effort: str = "balanced",
    sweeps: int | None = None,
    seconds: float | None = None,
    bound: bool = False,
    progress: bool | Callable[[int, int, str], None] = False,
    shuffle: bool = True,
    strict: bool = False,
    style: Style | Mapping[str, Any] | str | None = None,
) -> Release[FrameT]:
    """Return a release made from groups that came from elsewhere, after lowering their loss.

    Groups that break k or a privacy model are merged first; rows with a negative label stay
    suppressed. If nothing had to be merged, the loss is never above that of the given groups.
    Ctrl-C ends the search, not the run: the best groups so far are published.

    Args:
        frame: the *original* table, as in `anonymize`.
        groups: one whole number per row, equal for rows of one group; negative means suppressed.
        k: smallest allowed group, at least 2.
        quasi_identifiers: this and the other columns' roles as in `anonymize`.
        sensitive: as in `anonymize`.
        identifiers: as in `anonymize`.
        insensitive: as in `anonymize`.
        drop: as in `anonymize`.
        person: as in `anonymize`.
        rows_are_people: as in `anonymize`.
        pseudonyms: as in `anonymize`.
        person_key: as in `anonymize`.
        hierarchies: as in `anonymize`.
        kinds: as in `anonymize`.
        orders: as in `anonymize`.
        measure: what is minimised.
        measure_options: options of that measure.
        privacy: promises beyond k.
        weights: as in `anonymize`.
        grid: as in `anonymize`.
        scale: as in `anonymize`.
        top: as in `anonymize`.
        bottom: as in `anonymize`.
        dates: as in `anonymize`.
        read_as: as in `anonymize`.
        missing_codes: as in `anonymize`.
        default_grid: as in `anonymize`.
        unknown_values: as in `anonymize`.
        missing: as in `anonymize`.
        seed: makes the run reproducible; keep it secret.
        threads: how many threads may be used.
        effort: "fast", "balanced" or "best".
        sweeps: how often the search goes over all groups, instead of as often as it pays.
        seconds: search for this long, or until nothing is gained; the result then depends on
            the speed of the machine.
        bound: as in `anonymize`.
        progress: as in `anonymize`.
        shuffle: as in `anonymize`.
        strict: as in `anonymize`.
        style: as in `anonymize`.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do.
    """
    options = {
        "k": k,
        "quasi_identifiers": quasi_identifiers,
        "sensitive": sensitive,
        "identifiers": identifiers,
        "insensitive": insensitive,
        "drop": drop,
        "person": person,
        "rows_are_people": rows_are_people,
        "pseudonyms": pseudonyms,
        "person_key": person_key,
        "hierarchies": hierarchies,
        "kinds": kinds,
        "orders": orders,
        "measure": measure,
        "measure_options": measure_options,
        "privacy": privacy,
        "weights": weights,
        "grid": grid,
        "scale": scale,
        "top": top,
        "bottom": bottom,
        "dates": dates,
        "read_as": read_as,
        "missing_codes": missing_codes,
        "default_grid": default_grid,
        "unknown_values": unknown_values,
        "missing": missing,
        "seed": seed,
        "threads": threads,
        "effort": effort,
        "sweeps": sweeps,
        "seconds": seconds,
        "bound": bound,
        "shuffle": shuffle,
        "strict": strict,
        "style": style,
    }
    request = build_request(options)
    return _warned(run(request, FrameSource(frame, groups=np.asarray(groups)), progress=progress))


def _warned(release: Release[Any]) -> Release[Any]:
    """Issue the warnings of a release; they point at who called the caller."""
    for sentence in release.warnings:
        warnings.warn(sentence, ShoalWarning, stacklevel=3)
    return release


def verify(
    frame: IntoDataFrame,
    k: int,
    *,
    quasi_identifiers: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    privacy: PrivacyLike = (),
    missing_values: str | Iterable[str] = (),
    hierarchies: Mapping[str, HierarchyLike] | None = None,
    kinds: Mapping[str, Kind | str] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    grid: Mapping[str, Any] | None = None,
    top: Mapping[str, Any] | None = None,
    bottom: Mapping[str, Any] | None = None,
    person: str | None = None,
    knows: int | None = None,
    combinations: Iterable[Iterable[str]] = (),
    shuffled: str | Iterable[str] = (),
) -> Verification:
    """Check a published table against its promises, from that table alone.

    Rows are in one group only if nothing tells their quasi-identifiers apart: NaN and null do,
    and so do 0.0 and -0.0. A promise about a sensitive column must hold for its values as written
    and after cleaning (white space, letter case, forms of one number, ways to say missing);
    ``notes`` of the result says where the two differ.

    Args:
        frame: the published table, in any type that `anonymize` takes.
        k: the promised size of the smallest group.
        quasi_identifiers: the columns that could single a person out.
        sensitive: the columns that the privacy models look at.
        privacy: further promises, as in `anonymize`.
        missing_values: texts that stand for a missing sensitive value, beside the usual ones
            (empty, NA, N/A, NaN, null, none, unknown, missing, a question mark, a dash, a
            point or a star).
        hierarchies: of sensitive columns, where t-closeness is measured along them, and of
            quasi-identifiers, where a promise says whom of a population they cover or a grid is
            a level of them.
        kinds: as in `anonymize`, for promises about a population.
        orders: as in `anonymize`, for promises about a population and grids of words.
        grid: per column the lines that its intervals are said to end on, as in `anonymize`.
        top: per column the value from which on no cell may tell more, as in `anonymize`.
        bottom: per column the value down from which no cell may tell more.
        person: the column that says whose row it is, if it is published (as pseudonyms): people
            are counted then. Without it rows are, which is the same only if every row is a
            different person.
        knows: check the promise against somebody who knows at most so many of the
            quasi-identifiers, as in `anonymize`: every combination of so many is counted.
        combinations: check these combinations of quasi-identifiers, as in `anonymize`.
        shuffled: the columns whose exact cells are shuffled within groups
            (``style="shuffled"``); the column of the groups is the quasi-identifier then.

    Returns:
        What was measured, never a cell; true if every promise holds. Its ``judgement`` is the
        headline, counted in this table as that of a release is: columns that are neither
        quasi-identifiers nor sensitive count as published as they are.
    """
    from shoal.release_reader.classes import promises_about_all, schema_of_population
    from shoal.report.headline import judged

    models = open_populations(parse_privacy(privacy))
    private = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    trees = {name: tree for name, tree in (hierarchies or {}).items() if name in private}
    schema = schema_of_population(
        models, quasi_identifiers, hierarchies=hierarchies, kinds=kinds, orders=orders, grid=grid
    )
    table = to_polars(frame)
    said: dict[str, Any] = {
        "quasi_identifiers": listed(quasi_identifiers, "quasi_identifiers"),
        "sensitive": private,
        "missing_values": listed(missing_values, "missing_values"),
    }
    found = verify_table(
        table,
        k=k,
        promises=promises_of(models, read_trees(trees)),
        about_all=promises_about_all(models, schema, Style()),
        grids=read_grids(grid, Style(), hierarchies, orders, top, bottom),
        people=person,
        limited=limited_of(knows, combinations),
        shuffled=bool(shuffled),
        **said,
    )
    unlinked = listed(shuffled, "shuffled")
    return judged(found, table, person=person, shuffled=unlinked, **said)


def score(
    frame: IntoDataFrame,
    groups: IntoDataFrame | LabelsLike,
    *,
    quasi_identifiers: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    hierarchies: Mapping[str, HierarchyLike] | None = None,
    kinds: Mapping[str, Kind | str] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    weights: Mapping[str, float] | None = None,
    grid: Mapping[str, Any] | str | None = None,
    top: Mapping[str, Any] | None = None,
    bottom: Mapping[str, Any] | None = None,
    default_grid: bool = True,
    unknown_values: str = "error",
    measures: str | Sequence[str] | None = None,
    measure_options: Mapping[str, Any] | None = None,
    style: Style | Mapping[str, Any] | None = None,
) -> Scores:
    """Score a published table, or any grouping of a table, also one made elsewhere.

    Args:
        frame: the *original* table.
        groups: the published table, in which rows with the same cells are a group, as
            ``shoal score`` reads it; or the groups: one whole number per row of the original,
            negative for rows that are left out.
        quasi_identifiers: the columns that are generalised.
        sensitive: columns that class-aware measures look at (the first, unless
            ``measure_options={"column": …}``).
        hierarchies: as in `anonymize`.
        kinds: as in `anonymize`.
        orders: as in `anonymize`.
        weights: as in `anonymize`.
        grid: as in `anonymize`.
        top: as in `anonymize`.
        bottom: as in `anonymize`.
        default_grid: as in `anonymize`.
        unknown_values: as in `anonymize`.
        measures: names of `shoal.measures()`; the usual ones if not given.
        measure_options: options of the measures.
        style: how the published table writes its cells, if not as usual.
    """
    table = to_polars(frame)
    schema = schema_of_used(
        nw.from_native(table),
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        hierarchies=hierarchies,
        kinds=kinds,
        orders=orders,
        weights=weights,
        grid=grid,
        top=top,
        bottom=bottom,
        default_grid=default_grid,
        unknown_values=unknown_values,
    )
    names = [measures] if isinstance(measures, str) else measures
    if is_frame(groups):
        from shoal.report.scoring import score_published

        return score_published(
            table,
            to_polars(groups),
            schema,
            measures=names,
            measure_options=measure_options,
            style=read_style("style", style),
        )
    encoded = encode(table, schema)
    labels = labels_of(cast("LabelsLike", groups), table.height)
    return score_table(
        encoded,
        Partition.from_labels(labels),
        default_measures(encoded) if names is None else names,
        measure_options=measure_options,
    )
