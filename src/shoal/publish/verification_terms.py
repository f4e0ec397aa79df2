"""Privacy models and grids as the data that verification takes: it shall know no model's code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.hierarchy import canonical_label, load_hierarchy
from shoal.hierarchy.rules import as_rule
from shoal.privacy.base import is_built_in, judge_pairs
from shoal.publish.grid_check import GridPromise
from shoal.publish.label_check import LabelPromise
from shoal.publish.predicates import Outcome
from shoal.publish.verify import Promise
from shoal.table.grid import parse_grid
from shoal.table.schema import Kind, Role
from shoal.table.sensitive import Sensitive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.privacy import PrivacyModel
    from shoal.publish.predicates import Histograms
    from shoal.publish.recode import Style
    from shoal.publish.verify import OwnRule
    from shoal.table.grid import Grid
    from shoal.table.schema import Schema


def grids_of(schema: Schema, style: Style) -> tuple[GridPromise, ...]:
    """Return what grids, tops and bottoms promise about how their columns are written.

    A mean or a median is no end of an interval, so nothing is promised about it.
    """
    columns = [schema[name] for name in schema.published if schema[name].role is not Role.PERSON]
    found: list[GridPromise | None] = []
    for column in columns:
        tree, both = column.hierarchy, {"top": column.top, "bottom": column.bottom}
        ends = {side: canonical_label(end) for side, end in both.items() if end is not None}
        if column.grid:
            paths = None if tree is None else tree.to_paths()
            found.append(_promise_of(column.name, column.grid, style, paths, column.order, ends))
        if ends:
            from shoal.publish.coding_check import CodingPromise

            kind = column.kind
            promise = CodingPromise(
                column.name,
                (style.interval_format, style.wide_interval_format),
                style.suppressed,
                numbers=kind is not None and kind.has_mean and style.numeric in _CENTRES,
                half_open=bool(column.grid) and not _is_closed(column.grid, kind),
                **ends,
            )
            found.append(promise)
    return tuple(each for each in found if each is not None)


_CENTRES = ("mean", "median")


def _is_closed(grid: Grid | None, kind: Kind | None) -> bool:
    return grid is None or grid.whole or kind is Kind.DATE


def read_grids(
    grid: Mapping[str, Any] | None,
    style: Style,
    hierarchies: Mapping[str, object] | None = None,
    orders: Mapping[str, Sequence[object]] | None = None,
    top: Mapping[str, Any] | None = None,
    bottom: Mapping[str, Any] | None = None,
) -> tuple[GridPromise, ...]:
    """Return grids, tops and bottoms as they are given to `shoal.verify`, for verification.

    Raises:
        OptionError: a grid or an end cannot be read, or the hierarchy of a level is missing.
        HierarchyError: a hierarchy is no tree.
    """
    found: list[GridPromise | None] = []
    from shoal.publish.coding_check import CodingPromise
    from shoal.table.coding import parse_end

    ends: dict[str, dict[str, str]] = {}
    for side, said_of in (("top", top), ("bottom", bottom)):
        for name, end in (said_of or {}).items():
            ends.setdefault(name, {})[side] = canonical_label(parse_end(end, column=name))
    formats = (style.interval_format, style.wide_interval_format)
    for name, both in ends.items():
        found.append(
            CodingPromise(
                name,
                formats,
                style.suppressed,
                numbers=style.numeric in _CENTRES,
                half_open=name in (grid or {}),
                **both,
            )
        )
    for name, spec in (grid or {}).items():
        step = parse_grid(spec, column=name)
        order = (orders or {}).get(name)
        words = None if order is None else [canonical_label(each) for each in order]
        paths = None
        if step.level:
            hierarchy = (hierarchies or {}).get(name)
            if hierarchy is None:
                raise OptionError(
                    "The grid {step!r} of column {name!r} can be verified only with its "
                    "hierarchy; give it, as in --hierarchy {name}={name}.csv.",
                    step=str(step),
                    name=name,
                )
            paths = read_trees({name: hierarchy})[name]
        if step:
            found.append(_promise_of(name, step, style, paths, words, ends.get(name, {})))
    return tuple(each for each in found if each is not None)


def _promise_of(
    name: str,
    grid: Grid,
    style: Style,
    paths: Sequence[Sequence[str]] | None,
    order: Sequence[str] | None,
    ends: Mapping[str, str],
) -> GridPromise | None:
    formats = (style.interval_format, style.wide_interval_format)
    if grid.level and paths is not None:
        before, _, after = style.set_format.partition("{values}")
        sets = (before, style.set_separator, after)
        return LabelPromise.of_level(name, paths, grid.level, style.suppressed, sets)
    if order is not None and grid.step is not None:
        return LabelPromise.of_words(name, order, int(grid.step), formats, style.suppressed)
    if grid.unit or style.numeric not in ("mean", "median"):
        return GridPromise(name, str(grid), formats, style.suppressed, **ends)
    return None


def trees_of(schema: Schema) -> dict[str, Sequence[Sequence[str]]]:
    """Return the trees of the sensitive columns, as paths from each leaf to the root."""
    found = {name: schema[name].hierarchy for name in schema.sensitive}
    return {name: tree.to_paths() for name, tree in found.items() if tree is not None}


def read_trees(hierarchies: Mapping[str, object] | None) -> dict[str, Sequence[Sequence[str]]]:
    """Return hierarchies as they are given to `shoal.verify`, as paths.

    Raises:
        OptionError: one is a rule, which grows with the original values.
        HierarchyError: one is no tree.
    """
    trees: dict[str, Sequence[Sequence[str]]] = {}
    for name, hierarchy in (hierarchies or {}).items():
        if as_rule(hierarchy) is not None:
            raise OptionError(
                "The hierarchy of column {name!r} is a rule, which grows with the original "
                "values; to verify a release, give the tree itself.",
                name=name,
            )
        trees[name] = load_hierarchy(hierarchy).to_paths()
    return trees


def promises_of(
    models: Sequence[PrivacyModel],
    trees: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> tuple[Promise, ...]:
    """Return what models promise; the rule of a plug-in's model goes along, no other does.

    Promises about a release as a whole are those of `shoal.release_reader.classes`.

    Args:
        models: the promises.
        trees: of each sensitive column that has a hierarchy its paths (`trees_of`).
    """
    return tuple(
        Promise(
            table=model.to_dict(),
            promised=model.promised,
            at_least=model.at_least,
            describe=model.describe,
            own_rule=None if is_built_in(model) else _rule_of(model),
            trees=trees or {},
        )
        for model in models
        if model.about == "groups"
    )


def _rule_of(model: PrivacyModel) -> OwnRule:
    def rule(counted: Histograms, name: str, ordered: bool) -> Outcome:  # noqa: FBT001 - a rule
        n_codes, codes = len(counted.whole), counted.value.astype(np.int32)
        model.check_column(Sensitive(name, codes, n_codes, ordered, counted.whole))
        pairs = counted.group * n_codes + counted.value
        found = judge_pairs(model, len(counted.starts), pairs, counted.count, counted.whole)
        return Outcome(found.holds, found.measured)

    return rule
