"""What is not done on Spark, said before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.algorithm.base import create_algorithm
from shoal.algorithm.incognito import Incognito
from shoal.engine.spark.carried import packed_models
from shoal.errors import DataError, OptionError
from shoal.measure.base import CostMeasure
from shoal.measure.scores import create_measure
from shoal.measure.sse import SquaredError
from shoal.privacy import DeltaPresence, KMap, PopulationRisk
from shoal.settings.request import OPTIONS
from shoal.table.encode import EncodedTable
from shoal.table.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.engine.spark.plan import Plan
    from shoal.privacy import PrivacyModel
    from shoal.settings.request import Request
    from shoal.table.schema import Schema

__all__ = ["full_domain", "may_leave_out", "needs_target", "refuse", "refuse_columns"]

LOCAL = "use the engine of one machine for that"
DONE = (
    *("quasi_identifiers", "sensitive", "identifiers", "insensitive", "drop", "person"),
    *("rows_are_people", "hierarchies", "kinds", "orders", "weights", "grid", "scale"),
    *("unknown_values", "default_grid", "k", "privacy", "max_suppression", "suppress_for"),
    *("missing", "algorithm", "algorithm_options", "measure", "measure_options", "seed"),
    *("block_rows", "refine", "strict", "style", "pseudonyms"),
)
"""Options that are heeded; others are refused unless nothing is asked with them."""


def may_leave_out(request: Request) -> bool:
    """Return whether the algorithm leaves out rows by itself."""
    return create_algorithm(request.algorithm, request.algorithm_options).suppresses


def full_domain(request: Request) -> bool:
    """Return whether whole columns are raised to a level: that is chosen from counts alone."""
    return isinstance(create_algorithm(request.algorithm, request.algorithm_options), Incognito)


def needs_target(request: Request) -> bool:
    """Return whether the measure that is minimised looks at a sensitive column."""
    return create_measure(request.measure, request.measure_options).needs_sensitive


def refuse(request: Request, schema: Schema, frame: Any) -> None:
    """Raise if something is asked that cannot be done on Spark, or not yet.

    Raises:
        OptionError: says what.
        DataError: a column is of a type whose values cannot be compared.
    """
    measure = create_measure(request.measure, request.measure_options)
    if not isinstance(measure, CostMeasure):
        raise OptionError(
            f"Measure {request.measure!r} is a score and cannot be minimised; choose one such as "
            "'ncp', 'lm' or 'mi'."
        )
    measure.check_target(any_given=bool(schema.sensitive))
    algorithm = create_algorithm(request.algorithm, request.algorithm_options)
    asked = (
        (
            measure.needs_sensitive and not measure.by_counts,
            f"measure {request.measure!r}, which looks at the sensitive column of all rows",
        ),
        (
            measure.of_means and not isinstance(measure, SquaredError),
            f"measure {request.measure!r}, which is of the means of all rows",
        ),
        (
            measure.rounds and type(measure).follow_columns is CostMeasure.follow_columns,
            f"measure {request.measure!r}, whose rounds look at all groups",
        ),
        (
            not (algorithm.works_in_blocks or full_domain(request)),
            f"algorithm {algorithm.name!r}, which needs all rows",
        ),
        (
            full_domain(request) and request.style.categories == "values",
            f"style categories 'values' with algorithm {algorithm.name!r}",
        ),
        (
            request.suppress_for != "all" and not request.max_suppression > 0,
            f"suppress_for={request.suppress_for!r} without a max_suppression above 0",
        ),
        (
            request.suppress_for != "all" and algorithm.suppresses,
            f"suppress_for={request.suppress_for!r} with algorithm {algorithm.name!r}",
        ),
    )
    for model in request.privacy:
        ours = isinstance(model, KMap | DeltaPresence | PopulationRisk)
        if not (model.looks_at_values or ours):
            raise OptionError(
                f"Spark does not do this: {model.name}, a plug-in's promise about a release as a "
                f"whole; {LOCAL}."
            )
    packed_models([model for model in request.privacy if model.looks_at_values])
    for name, row in OPTIONS.items():
        if name not in DONE and getattr(request, name) not in (row.default, None, ()):
            raise OptionError(f"Spark does not do this: {name}; {LOCAL}.")
    for refused, what in asked:
        if refused:
            raise OptionError(f"Spark does not do this: {what}; {LOCAL}.")
    _check_types(schema, frame)


def refuse_columns(plan: Plan, privacy: Sequence[PrivacyModel]) -> None:
    """Raise if columns are of a kind that the measure or a promise cannot do with."""
    form = plan.request.style.numeric
    if form in ("mean", "median") and any(each.kind is Kind.NUMERIC for each in plan.attributes):
        for model in privacy:
            if isinstance(model, KMap | DeltaPresence):
                raise DataError(
                    f"Numbers published as {form} do not tell whom they cover, so that "
                    f"{model.name} cannot be judged; publish intervals or bounds."
                )
    measure = create_measure(plan.request.measure, plan.request.measure_options)
    if isinstance(measure, SquaredError):
        for attribute in plan.searched:
            measure.form(attribute, None, EncodedTable(0, plan.searched, ()))


def _check_types(schema: Schema, frame: Any) -> None:
    names = [name.lower() for name in frame.columns]
    if len(set(names)) < len(names):
        raise DataError("Two columns have the same name, but for its letters' case; rename one.")
    for name in schema.used:
        kind = frame.schema[name].dataType.simpleString()
        if "map<" in kind or "variant" in kind or "interval" in kind:
            raise DataError(
                f"Column {name!r} is of type {kind.split('<')[0]}, whose values cannot be compared "
                "on Spark; drop it or turn it into text first."
            )
