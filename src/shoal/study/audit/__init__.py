"""Attacks on a release, so that its holder learns first what others could: `audit` runs all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.messages import Message
from shoal.options import whole
from shoal.publish.limited import limited_of
from shoal.publish.recode import with_coded
from shoal.release_reader.classes import open_classes, values_of
from shoal.study.audit.attack_context import Audit, Scene, fits_nobody, read_secrets
from shoal.study.audit.disclosure import disclose, intersect, link, link_population
from shoal.study.audit.limited import attack_limited
from shoal.study.audit.minimality import pin_down
from shoal.study.audit.regulators import ask
from shoal.study.audit.sites import attack_from_sites
from shoal.study.read_release import Described, schema_and_style
from shoal.table.date_offsets import SINCE_FIRST
from shoal.table.dates import move_dates
from shoal.table.frames import to_polars
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.publish.limited import Limited
    from shoal.publish.recode import Style
    from shoal.table.schema import Schema


_ROOM = 400_000_000
TARGETS = 1000
"""How many people are attacked unless said otherwise."""


def audit(
    original: Any,
    published: Any,
    *,
    population: Any = None,
    control: Any = None,
    second: Any = None,
    sites: Sequence[Any] = (),
    targets: int = TARGETS,
    seed: int = 0,
    **described: Unpack[Described],
) -> Audit:
    """Attack a release, and say how far each attacker gets.

    Works for releases of any software that publishes exact values, intervals, sets, masks such
    as ``479**``, or labels of hierarchies that are given. The result holds counts and shares only.

    Args:
        original: the table before (pandas, polars or pyarrow).
        published: the release.
        population: a table of everybody who could be in the original; for the journalist.
        control: a table of people who are not in the original, with the same columns.
        second: another release of these people.
        sites: the rows of each site that took part in the release, all rows of the original
            together; then each site attacks the others, and two of three or more together.
        targets: how many people of the original are attacked; all if there are no more.
        seed: makes the choice of people and guesses repeatable.
        described: how the release was made (`shoal.study.read_release.Described`):
            ``quasi_identifiers``, which have to be said, ``sensitive``, ``hierarchies``,
            ``kinds``, ``orders``, ``grid``, ``top``, ``bottom``, ``dates``, ``person``,
            ``default_grid``, ``unknown_values``, ``style``, ``knows`` and ``combinations``.

    Raises:
        OptionError: an option is wrong, or a table lacks a column.
        DataError: the release cannot have been made from the original.
    """
    frame = to_polars(original)
    schema, style = schema_and_style(frame, **described)
    return audit_of_release(
        frame,
        published,
        schema,
        style,
        population=population,
        control=control,
        second=second,
        sites=sites,
        targets=targets,
        seed=seed,
        limited=limited_of(described.get("knows"), described.get("combinations") or ()),
    )


def audit_of_release(
    original_table: Any,
    published_table: Any,
    schema: Schema,
    style: Style,
    *,
    population: Any = None,
    control: Any = None,
    second: Any = None,
    sites: Sequence[Any] = (),
    targets: int = TARGETS,
    seed: int = 0,
    limited: Limited | None = None,
) -> Audit:
    """Attack a release whose schema is known; the arguments are those of `audit`.

    ``limited`` is what the attacker may know who is meant; None means all quasi-identifiers.
    """
    targets, seed = whole(1)("targets", targets), whole(0)("seed", seed)
    true, published = to_polars(original_table), to_polars(published_table)
    full, schema = schema, _as_known(schema)
    original = move_dates(true, schema)  # who knows all dates of a person knows the days between
    population, control, second = (
        None if table is None else to_polars(table) for table in (population, control, second)
    )
    control = None if control is None else move_dates(control, schema)
    original = with_coded(original, schema)
    control = None if control is None else with_coded(control, schema)
    if not published.height or not original.height:
        raise DataError("A table has no rows, so there is nobody to attack.")
    _check_style(schema, style)
    chance = np.random.default_rng([seed, 0])
    releases = [published, *([] if second is None else [second])]
    opened = [open_classes(each, schema, style) for each in releases]
    # what is known of everybody who is attacked is kept: fewer, where groups are very many
    size = max(len(each.sizes) for each in opened) * len(schema.quasi_identifiers)
    most = min(targets, max(_ROOM // size, 50))
    chosen = np.arange(original.height)
    if most < len(chosen):
        chosen = np.sort(chance.choice(chosen, most, replace=False))
    numbered = [(each.of_row, frame) for each, frame in zip(opened, releases, strict=True)]
    secrets = [read_secrets(name, numbered, original, control) for name in schema.sensitive]
    scenes = [
        Scene(
            classes,
            values_of(original, classes),
            original,
            frame,
            schema,
            tuple(each[number] for each in secrets),
            chosen,
            None if control is None else values_of(control, classes, known=False),
            control,
            seed,
        )
        for number, (classes, frame) in enumerate(zip(opened, releases, strict=True))
    ]
    scene = scenes[0]
    nobody = sum(not each.rows for each in scene.seen)
    if nobody == len(scene.seen):
        raise DataError(
            "No published row fits any person of the original; are the two files from the same "
            "data, and are style, kinds and hierarchies those that were used?"
        )
    findings = link(scene)
    notes: list[str] = []
    if limited:
        found, notes = attack_limited(scene, limited, full.quasi_identifiers)
        findings += found
    if population is not None:
        findings.append(link_population(scene, values_of(population, scene.classes, known=False)))
    if sites:
        tables = [with_coded(move_dates(to_polars(each), schema), schema) for each in sites]
        findings += attack_from_sites(scene, tables)
    findings += [*ask(scene), *disclose(scene), *pin_down(scene)]
    if full.moved_dates:
        from shoal.study.audit.moved_dates import follow_dates

        findings += follow_dates(scene, true, full, style)
    if second is not None:
        findings += intersect(*scenes)
    notes += _notes(scene, nobody, population, second)
    if full.is_shifted:
        notes.append(
            Message(
                "Dates are moved by offsets that nobody knows, so those who know the other "
                "quasi-identifiers were given no moved dates; attackers of their own were."
            )
        )
    return Audit(findings, notes, original.height, published.height)


def _as_known(schema: Schema) -> Schema:
    """Return the schema of what attackers know: without columns that were moved by offsets.

    Raises:
        OptionError: no quasi-identifier would be left.
    """
    if not schema.is_shifted:
        return schema
    moved = schema.moved_dates
    columns = tuple(
        replace(column, role=Role.DROP, dates=None)
        if moved.get(column.name, SINCE_FIRST) != SINCE_FIRST
        else column
        for column in schema.columns
    )
    known = replace(schema, columns=columns)
    if not known.quasi_identifiers:
        raise OptionError(
            "Every quasi-identifier is a date that was moved, which no attacker knows, so there is "
            "nothing to attack with; give another one."
        )
    return known


def _check_style(schema: Schema, style: Style) -> None:
    if style.shuffles:
        raise DataError(
            "Shuffled cells are exact values of several people in one row, so that such a release "
            "cannot be audited; no attack on it is tried."
        )
    if style.numeric in ("mean", "median") and schema.has_means:
        raise DataError(
            "Numbers published as {numeric} do not tell whom they cover, so that such a "
            "release cannot be audited; publish intervals or bounds.",
            numeric=style.numeric,
        )


def _notes(scene: Scene, nobody: int, population: object, second: object) -> list[str]:
    """Return what was not tried, and what that means."""
    notes: list[str] = []
    if nobody:
        notes.append(fits_nobody(nobody, len(scene.seen)))
    if population is None:
        notes.append(Message("No population table was given, so the journalist did not come."))
    if scene.control is None:
        notes.append(
            Message(
                "No control table was given: linkability and inference were compared with the same "
                "people without their own row, singling out with blind guesses only."
            )
        )
    if scene.schema.person is not None:
        notes.append(Message("People have several rows here; attackers were counted by rows."))
    if not scene.secrets:
        notes.append(Message("No sensitive column was named, so nobody asked for secrets."))
    elif second is None:
        notes.append(Message("No second release was given, so none was intersected."))
    return notes
