"""An option is said once: the table, the signatures and the readers of options agree."""

import ast
from dataclasses import fields
from inspect import Parameter, signature
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import shoal
from shoal import api
from shoal.errors import OptionError
from shoal.options import REQUIRED
from shoal.search.refine import EFFORTS as SEARCH_EFFORTS
from shoal.settings.request import COLUMN_OPTIONS, EFFORTS, OPTIONS, Request, build_request
from shoal.table.schema import COLUMN_ROWS, Column, Role, build_schema

SOURCE = Path(shoal.__file__).parent
NOT_OPTIONS = {"frame", "groups", "progress"}  # the data, and who watches
ROLES = {"quasi_identifiers": ["age"]}


def parameters(function):
    """The options of a function: name -> (type, default)."""
    return {
        name: (each.annotation, REQUIRED if each.default is Parameter.empty else each.default)
        for name, each in signature(function).parameters.items()
        if name not in NOT_OPTIONS
    }


@pytest.mark.parametrize("function", [api.anonymize, api.refine])
def test_a_function_has_the_options_of_the_table_with_their_types_and_defaults(function):
    rows = {
        row.name: (row.type, row.default)
        for row in OPTIONS.values()
        if function.__name__ in row.functions
    }
    assert parameters(function) == rows


@pytest.mark.parametrize("function", [api.anonymize, api.refine])
def test_a_function_describes_each_of_its_parameters(function):
    described = function.__doc__.partition("Args:")[2].partition("Raises:")[0]
    assert [n for n in signature(function).parameters if f"        {n}: " not in described] == []


@pytest.mark.parametrize(
    ("function", "data"), [(api.anonymize, ("frame",)), (api.refine, ("frame", "groups"))]
)
def test_every_argument_reaches_the_run_under_its_own_name(function, data, monkeypatch):
    reached = {}
    monkeypatch.setattr(api, "build_request", reached.update)
    monkeypatch.setattr(api, "run", lambda *_, **__: SimpleNamespace(warnings=()))
    arguments = {name: object() for name in parameters(function)}
    function(*data, **arguments)
    assert reached == arguments


def test_every_option_is_read_by_somebody():
    own = {SOURCE / "settings" / "request.py", SOURCE / "api.py"}
    read = {
        node.attr
        for path in SOURCE.rglob("*.py")
        if path not in own
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name | ast.Attribute)
        and (node.value.id if isinstance(node.value, ast.Name) else node.value.attr)
        in {"request", "asked"}
    }
    assert set(OPTIONS) - set(COLUMN_OPTIONS) - read == set()


def test_the_options_about_columns_are_those_of_the_schema():
    roles = {role.option for role in Role}
    known = signature(build_schema).parameters
    assert {name for name in known if name not in ("columns", "details")} == roles
    assert set(COLUMN_OPTIONS) == roles | {row.option for row in COLUMN_ROWS.values()}
    assert set(COLUMN_ROWS) < {each.name for each in fields(Column)}


def test_the_efforts_of_the_table_are_those_of_the_search():
    assert tuple(SEARCH_EFFORTS) == EFFORTS


def test_every_option_says_what_it_is_for():
    assert [row.name for row in OPTIONS.values() if not row.help.endswith(".")] == []


def test_flags_are_spelled_once():
    for command in {on for row in OPTIONS.values() if row.flag for on in row.flag.on}:
        flags = [
            name
            for row in OPTIONS.values()
            for flag in (row.flag, *row.parts.values())
            if flag is not None and command in flag.on
            for name in flag.names
        ]
        assert len(flags) == len(set(flags))


@pytest.mark.parametrize("name", ["seed", "threads", "hierarchies", "orders", "style"])
def test_what_could_undo_a_release_or_holds_values_is_not_for_the_certificate(name):
    assert not OPTIONS[name].certificate
    assert name not in Request(k=2, **ROLES).parameters()


def test_a_request_holds_plain_numbers_whatever_they_came_as():
    request = Request(
        k=np.int64(3), max_suppression=np.float32(0.5), bound=np.True_, seed=np.uint8(7), **ROLES
    )
    kinds = [type(getattr(request, n)) for n in ("k", "max_suppression", "bound", "seed")]
    assert kinds == [int, float, bool, int]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": np.True_}, "k must be a whole number"),
        ({"threads": 1.5}, "threads must be a whole number of at least 1"),
        ({"seconds": 0}, "seconds must be a number above 0"),
        ({"effort": "bset"}, "effort must be one of fast, balanced, best.*Did you mean 'best'"),
        ({"missing": np.zeros(2)}, "missing must be one of"),
        ({"shuffle": "no"}, "shuffle must be True or False"),
        ({"measure_options": 3}, "measure_options must be a mapping"),
        ({"sed": 3}, "There is no option 'sed'. Did you mean 'seed'"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(options, message):
    with pytest.raises(OptionError, match=message):
        build_request({"k": 3, **ROLES, **options})


def test_names_that_can_be_read_only_once_are_kept():
    request = Request(k=2, quasi_identifiers=(name for name in ["age", "sex"]))
    schemas = [request.schema(["age", "sex"]) for _ in range(2)]
    assert schemas[0].quasi_identifiers == schemas[1].quasi_identifiers == ("age", "sex")
