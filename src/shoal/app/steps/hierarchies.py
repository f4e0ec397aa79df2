"""Step 3: how values become coarser, as a tree or a grid; built, seen, edited by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from shoal.app.hierarchy_preview import (
    METHODS,
    MOST_VALUES,
    Built,
    Draft,
    Edit,
    EditTree,
    TreeState,
    Values,
    build,
    columns_with_trees,
    export_csv,
    grid_choices,
    hold_at,
    import_csv,
    natural_kind,
    natural_method,
    preview,
    preview_grid,
    save_tree,
    tree_of,
    use_grid,
    values_of,
)
from shoal.app.views import answer, flash, page, part, problem, texts_of, to, words_of, work_of
from shoal.errors import HierarchyError, OptionError, ShoalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from shoal.app.workspace import Workspace
    from shoal.messages.language import Language
    from shoal.table.schema import JobColumn


_MOST_SHOWN = 100
"""Children of a node that a page shows; the others are found by searching."""
_MOST_PARTS = 12
_MOST_WORDS = 12
"""Neighbouring words that a page offers to publish together."""
_MOST_BYTES = 20_000_000
_PATH = "/hierarchies"


def show(request: Request) -> Response:
    """Show the hierarchy of one column, and which columns have one."""
    work = work_of(request)
    if work.table is None:
        return to("/open")
    listed = columns_with_trees(work)
    if not listed:
        return page(request, "hierarchies.html", listed=[], shown=None, how_of=lambda _: "")
    chosen = request.path_params.get("number", listed[0][0])
    name = dict(listed).get(chosen)
    if name is None:
        raise OptionError("This column is not generalised; choose its role first.")
    words = words_of(request)
    return page(
        request,
        "hierarchies.html",
        listed=listed,
        how_of=lambda each: _how(words, work.job.columns[each]),
        shown=_shown(request, work, chosen, name),
    )


def _how(words: Language, column: JobColumn) -> str:
    """Return how a column is generalised, in words."""
    from shoal.hierarchy.rules import HierarchyRule

    if column.hierarchy is not None:
        is_rule = isinstance(column.hierarchy, HierarchyRule)
        tree = words("a tree of listed values")
        if is_rule:
            tree = words("a tree by a rule: %(rule)s", rule=words(column.hierarchy.name))
        held = _held(words, column)
        return tree if held is None else f"{tree}, {held}"
    if column.order is not None:
        held = _held(words, column)
        return words("intervals") if held is None else held
    if column.grid not in (None, "none"):
        return words("intervals on lines: %(step)s", step=str(column.grid))
    if column.kind is not None and column.kind.algebra == "interval":
        return words("intervals")
    return words("the value, or nothing")


def _held(words: Language, column: JobColumn) -> str | None:
    """Return how fine a column with a hierarchy or an order may be published, in words."""
    if column.grid in (None, "none"):
        return None
    number = str(column.grid).removeprefix("level").strip(" -")
    if column.hierarchy is not None:
        return words("no finer than level %(n)s", n=number)
    return words("%(n)s neighbours together", n=number)


def _holds(work: Workspace, name: str, values: Values) -> list[str]:
    """Return the levels that a column may be held at, or how many words may stand together."""
    column = work.job.columns[name]
    if column.hierarchy is not None:
        try:
            state = tree_of(work, name, values)
        except ShoalError:
            return []
        height = 0 if state is None else state.draft.tree.taxonomy().tree_height
        return [f"level {number}" for number in range(1, height)]
    n_words = 0 if column.order is None else len(column.order)
    return [str(number) for number in range(2, min(n_words, _MOST_WORDS + 1))]


def _shown(request: Request, work: Workspace, number: int, name: str) -> dict[str, Any]:
    values = values_of(work, name)
    kind = natural_kind(values)
    column = work.job.columns[name]
    grids = [] if kind is None else grid_choices(values, kind)
    said = "none" if column.grid is None else str(column.grid)
    return {
        "number": number,
        "name": name,
        "values": values,
        "kind": kind,
        "column": column,
        "grids": grids if said in grids else [*grids, said],
        "grid": said,
        "holds": _holds(work, name, values),
        "ordered": column.hierarchy is None and column.order is not None,
        "lines": _lines(values, column.grid) if kind and column.hierarchy is None else None,
        "methods": METHODS,
        "method": natural_method(values),
        "most": MOST_VALUES,
        "editor": _editor(request, work, number, name, values),
    }


def _lines(values: Values, grid: Any) -> dict[str, Any] | None:
    try:
        parts = preview_grid(values, "none" if grid is None else grid)
    except ShoalError:
        return None
    return {"parts": parts[:_MOST_PARTS], "more": max(len(parts) - _MOST_PARTS, 0)}


# -- the editor ----------------------------------------------------------------------------------


def _editor(
    request: Request, work: Workspace, number: int, name: str, values: Values
) -> dict[str, Any] | None:
    try:
        state = tree_of(work, name, values)
    except ShoalError:
        return None
    if state is None:
        return None
    find = request.query_params.get("find", "").strip()[:100]
    tree, counts = state.draft.tree, values.by_label
    return {
        "number": number,
        "name": name,
        "root": _node(tree, tree.root, counts),
        "nodes": _nodes(tree),
        "levels": sorted({depth for depth in tree.depths.values() if depth > 0}),
        "can_undo": state.draft.can_undo,
        "can_redo": state.draft.can_redo,
        "find": find,
        "found": _found(tree, find, counts),
        "preview": _levels(state.draft.tree, values),
        "is_rule": state.as_rule is not None,
    }


def _nodes(tree: EditTree) -> list[tuple[str, int]]:
    """Return the nodes that something can be moved to, as they lie in the tree."""
    return [(each, tree.depths[each]) for each in tree.walk() if each in tree.inner]


def _node(tree: EditTree, label: str, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return a node with what is below it; a page shows some children of each."""
    children = [_node(tree, each, counts) for each in tree.inner[label] if each in tree.inner]
    leaves = [each for each in tree.inner[label] if each not in tree.inner]
    n_values = len(leaves) + sum(child["n_values"] for child in children)
    n_rows = sum(counts.get(leaf, 0) for leaf in leaves)
    return {
        "label": label,
        "children": children,
        "leaves": [(leaf, counts.get(leaf, 0)) for leaf in leaves[:_MOST_SHOWN]],
        "more": max(len(leaves) - _MOST_SHOWN, 0),
        "n_values": n_values,
        "n_rows": n_rows + sum(child["n_rows"] for child in children),
    }


def _found(tree: EditTree, find: str, counts: Mapping[str, int]) -> list[tuple[str, int, str]]:
    if not find:
        return []
    wanted = find.casefold()
    hits = [leaf for leaf in tree.values if wanted in leaf.casefold()][:_MOST_SHOWN]
    return [(leaf, counts.get(leaf, 0), " → ".join(reversed(tree.above(leaf)))) for leaf in hits]


def _levels(tree: EditTree, values: Values) -> list[dict[str, Any]]:
    return _told_levels(Built(tree.taxonomy()), values)


def _told_levels(built: Built, values: Values) -> list[dict[str, Any]]:
    return [
        {
            "number": level.number,
            "parts": level.parts[:_MOST_PARTS],
            "n_parts": len(level.parts),
            "smallest": level.smallest,
        }
        for level in preview(built.tree, values)
    ]


def _column(request: Request) -> tuple[Workspace, int, str, Values]:
    work, number = work_of(request), request.path_params["number"]
    name = dict(columns_with_trees(work)).get(number)
    if name is None:
        raise OptionError("This column is not generalised; choose its role first.")
    return work, number, name, values_of(work, name)


async def edit(request: Request) -> Response:
    """Change the tree by hand."""
    from anyio.to_thread import run_sync

    form = await request.form()
    given = {key: str(form.get(key, "")) for key in ("edit", "to", "name", "level")}
    labels = [str(each) for each in form.getlist("labels")]
    return await run_sync(_edit, request, given, labels)


def _edit(request: Request, given: Mapping[str, str], labels: list[str]) -> Response:
    work, number, name, values = _column(request)
    back = f"{_PATH}/{number}#editor"
    with work.lock:
        try:
            state = tree_of(work, name, values)
            if state is None:
                raise HierarchyError("This column has no hierarchy yet; build one first.")
            after = _edited(state, given, labels)
            if after.draft is not state.draft:
                save_tree(work, name, after)
        except ShoalError as error:
            return problem(request, error, back)
    if "application/json" not in request.headers.get("accept", ""):
        return to(back)
    shown = _shown(request, work, number, name)
    return answer(
        html=part(request, "editor.html", editor=shown["editor"], shown=shown),
        said=words_of(request)("Done."),
    )


def _edited(state: TreeState, given: Mapping[str, str], labels: list[str]) -> TreeState:
    draft, what = state.draft, given["edit"]
    if what in ("undo", "redo"):
        return replace(state, draft=draft.undo() if what == "undo" else draft.redo())
    arguments: dict[str, tuple[Any, ...]] = {
        "move": (tuple(labels), given["to"]),
        "merge": (tuple(labels), given["name"]),
        "rename": (_only(labels), given["name"]),
        "add": (given["name"], given["to"]),
        "remove": (_only(labels),),
        "remove-level": (int(given["level"]) if given["level"].isdecimal() else 0,),
    }
    if what in ("rename", "remove") and not arguments[what][0]:
        raise HierarchyError("Choose one node of the tree first.")
    return replace(state, draft=draft.do(Edit(what, arguments.get(what, ()))))


def _only(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else ""


# -- built from the values -----------------------------------------------------------------------


def _options(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a method as they were typed: lists have commas between."""

    def numbers(name: str) -> list[float] | None:
        parts = [each.strip() for each in given.get(name, "").split(",") if each.strip()]
        try:
            found = [float(each) for each in parts]
        except ValueError:
            raise OptionError(
                "{name} must be numbers with commas between, as in 5, 10.", name=name
            ) from None
        return [int(each) if each.is_integer() else each for each in found] or None

    origin, fanout = numbers("origin"), numbers("fanout")
    made: dict[str, Any] = {
        "widths": numbers("widths"),
        "origin": origin and origin[0],
        "keep": numbers("keep"),
        "mask": given.get("mask", "").strip() or None,
        "levels": [each.strip() for each in given.get("levels", "").split(",") if each.strip()],
        "form": given.get("form", "").strip() or None,
        "fanout": None if fanout is None else int(fanout[0]),
        "country": given.get("country", "").strip() or None,
    }
    takes = {
        "intervals": ("widths", "origin"),
        "prefix": ("keep", "mask"),
        "dates": ("levels", "form"),
        "frequency": ("fanout",),
        "postcode": ("country",),
    }.get(given.get("method", ""), ())
    return {name: made[name] for name in takes if made[name] is not None}


def attempt(request: Request) -> Response:
    """Show what a method would make of the values, before it is used."""
    _, number, _, values = _column(request)
    given = dict(request.query_params)
    if given.get("method") == "grid":
        parts = preview_grid(values, given.get("grid", "").strip() or "none")
        lines = {"parts": parts[:_MOST_PARTS], "more": max(len(parts) - _MOST_PARTS, 0)}
        html = part(request, "lines.html", lines=lines, shown={"number": number})
    else:
        built = build(values, given.get("method", ""), _options(given))
        html = part(request, "levels.html", levels=_told_levels(built, values))
    return answer(html=html)


async def use(request: Request) -> Response:
    """Use what a method makes of the values, a grid, or neither."""
    from anyio.to_thread import run_sync

    given = await texts_of(request)
    return await run_sync(_use, request, given)


def _use(request: Request, given: Mapping[str, str]) -> Response:
    work, number, name, values = _column(request)
    back, words = f"{_PATH}/{number}", words_of(request)
    try:
        if given.get("method") == "grid":
            step = given.get("step", "").strip() or given.get("grid", "").strip() or "none"
            preview_grid(values, step)  # says what is wrong with it
            use_grid(work, name, step, natural_kind(values))
        elif given.get("method") == "hold":
            said = given.get("hold", "none")
            hold_at(work, name, None if said == "none" else said)
        elif given.get("method") == "none":
            use_grid(work, name, None, natural_kind(values))
        else:
            built = build(values, given.get("method", ""), _options(given))
            save_tree(work, name, TreeState(Draft(EditTree.of(built.tree)), built.rule))
    except ShoalError as error:
        return problem(request, error, back)
    flash(request, words("Saved."))
    return to(back)


# -- files ---------------------------------------------------------------------------------------


async def take_file(request: Request) -> Response:
    """Read an ARX-style file."""
    from anyio.to_thread import run_sync

    async with request.form() as form:
        file, unknown = form.get("file"), str(form.get("unknown", "error"))
        data = b"" if file is None or isinstance(file, str) else await file.read(_MOST_BYTES + 1)
    return await run_sync(_take, request, data, unknown)


def _take(request: Request, data: bytes, unknown: str) -> Response:
    from shoal.io.source import to_utf8

    work, number, name, values = _column(request)
    back, words = f"{_PATH}/{number}", words_of(request)
    try:
        if not data:
            raise HierarchyError("Choose a hierarchy file first.")
        if len(data) > _MOST_BYTES:
            raise HierarchyError("This file is too large to be a hierarchy.")
        text = to_utf8(data, None, name="The hierarchy file", table=False).decode("utf-8-sig")
        draft = import_csv(text, values, unknown="root" if unknown == "root" else "error")
        save_tree(work, name, TreeState(draft))
    except UnicodeDecodeError:
        return problem(request, HierarchyError("The file is not text in UTF-8."), back)
    except ShoalError as error:
        return problem(request, error, back)
    flash(request, words("The hierarchy is taken over."))
    return to(f"{back}#editor")


def give_file(request: Request) -> Response:
    """Give the hierarchy as an ARX-style file."""
    work, _, name, values = _column(request)
    state = tree_of(work, name, values)
    if state is None:
        raise OptionError("This column has no hierarchy yet; build one first.")
    return Response(
        export_csv(state.draft.tree.taxonomy()),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": 'attachment; filename="hierarchy.csv"'},
    )


routes = [
    Route(_PATH, show),
    Route(_PATH + "/{number:int}", show),
    Route(_PATH + "/{number:int}/try", attempt),
    Route(_PATH + "/{number:int}/use", use, methods=["POST"]),
    Route(_PATH + "/{number:int}/edit", edit, methods=["POST"]),
    Route(_PATH + "/{number:int}/import", take_file, methods=["POST"]),
    Route(_PATH + "/{number:int}/hierarchy.csv", give_file),
]
