"""Facts about roles, kinds and everything else a schema holds."""

import math
import subprocess
import sys

import pytest

from shoal.errors import OptionError, RoleError
from shoal.hierarchy import Taxonomy
from shoal.table.schema import Kind, Role, build_schema

TABLE = ["name", "age", "zip", "sex", "ward", "diagnosis"]
ROLES = {
    "quasi_identifiers": ["zip", "age", "sex"],
    "sensitive": ["diagnosis"],
    "identifiers": ["name"],
    "insensitive": ["ward"],
}


def build(**options):
    return build_schema(TABLE, **(ROLES | options))


def test_columns_are_listed_by_role_in_table_order():
    schema = build(insensitive=[], drop=["ward"])
    assert schema.quasi_identifiers == ("age", "zip", "sex")
    assert schema.sensitive == ("diagnosis",)
    assert schema.identifiers == ("name",)
    assert schema.insensitive == ()
    assert schema.dropped == ("ward",)


def test_identifiers_and_dropped_columns_are_not_published():
    assert build().published == ("age", "zip", "sex", "ward", "diagnosis")
    assert build(insensitive=[], drop="ward").published == ("age", "zip", "sex", "diagnosis")


def test_a_column_is_found_by_name():
    assert build()["ward"].role is Role.INSENSITIVE
    with pytest.raises(RoleError, match="Did you mean 'ward'"):
        build()["wrad"]


def test_a_bare_string_is_a_list_of_one_name():
    schema = build_schema(["age", "dx"], quasi_identifiers="age", sensitive="dx")
    assert (schema.quasi_identifiers, schema.sensitive) == (("age",), ("dx",))


def test_kinds_are_left_open_until_the_data_is_seen():
    schema = build(kinds={"zip": "set", "age": "infer"})
    assert schema["zip"].kind is Kind.SET
    assert schema["age"].kind is None
    assert schema["diagnosis"].kind is None


def test_an_unknown_column_is_an_error_with_a_suggestion():
    with pytest.raises(RoleError, match=r"no column 'aeg' .*Did you mean 'age'\?"):
        build(quasi_identifiers=["aeg", "zip", "sex"])


def test_an_unknown_column_like_no_other_lists_the_table():
    with pytest.raises(RoleError, match="It has 'name', 'age'"):
        build(drop=["xyzzy"])


def test_two_columns_of_one_name_are_an_error():
    with pytest.raises(RoleError, match="more than one column called 'age'"):
        build_schema(["age", "age"], quasi_identifiers="age")


def test_column_names_that_are_not_text_are_an_error():
    with pytest.raises(RoleError, match="must be text"):
        build_schema([0, 1], quasi_identifiers="age")
    with pytest.raises(RoleError, match="as text only"):
        build_schema(["age"], quasi_identifiers=[0])
    with pytest.raises(RoleError, match="list of column names, not int"):
        build_schema(["age"], quasi_identifiers=3)


def test_a_column_with_two_roles_is_an_error_that_names_both():
    with pytest.raises(RoleError, match="'sex' is given two roles, quasi-identifier and sensitive"):
        build(sensitive=["diagnosis", "sex"])


def test_a_column_named_twice_in_one_role_is_an_error():
    with pytest.raises(RoleError, match="'zip' is given twice as quasi-identifier"):
        build(quasi_identifiers=["zip", "age", "sex", "zip"])


def test_a_table_without_quasi_identifier_is_an_error():
    with pytest.raises(RoleError, match="no quasi-identifier"):
        build_schema(["age"], quasi_identifiers=[], insensitive="age")


def test_columns_without_a_role_are_listed_with_the_way_to_give_one():
    with pytest.raises(RoleError) as caught:
        build(identifiers=[], insensitive=[])
    message = str(caught.value)
    assert "'name' and 'ward' have no role" in message
    assert "insensitive=['name', 'ward']" in message
    assert "drop=['name', 'ward']" in message
    assert "--insensitive or --drop" in message


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, "heavy", True, None])
def test_a_weight_is_a_finite_number_above_zero(weight):
    with pytest.raises(OptionError, match="weight of column 'zip'"):
        build(weights={"zip": weight})


def test_a_weight_reaches_its_column_and_the_others_weigh_one():
    schema = build(weights={"zip": 2})
    assert (schema["zip"].weight, schema["age"].weight) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("option", "value"),
    [("weights", 2.0), ("kinds", "flat"), ("hierarchies", {"*": ["a"]}), ("orders", ["a"])],
)
def test_options_are_for_quasi_identifiers_only(option, value):
    with pytest.raises(OptionError, match=f"{option} names column 'ward', which is not a quasi"):
        build(**{option: {"ward": value}})
    with pytest.raises(OptionError, match=f"{option} names column 'zpi'.*Did you mean 'zip'"):
        build(**{option: {"zpi": value}})
    with pytest.raises(OptionError, match=f"{option} must map column names"):
        build(**{option: ["zip"]})


def test_a_hierarchy_makes_its_column_categorical(tmp_path):
    file = tmp_path / "sex.csv"
    file.write_text("f;*\nm;*\n")
    taxonomy = Taxonomy.from_csv(file)
    for source in (taxonomy, file, str(file), {"*": ["f", "m"]}):
        column = build(hierarchies={"sex": source})["sex"]
        assert column.kind is Kind.CATEGORICAL
        assert isinstance(column.hierarchy, Taxonomy)
    assert build(hierarchies={"sex": taxonomy})["sex"].hierarchy is taxonomy


@pytest.mark.parametrize("kind", ["numeric", "ordinal", "flat", "set", "date", "datetime"])
def test_a_hierarchy_beside_another_kind_is_an_error(kind):
    with pytest.raises(OptionError, match=f"hierarchy, which makes it categorical.*'{kind}'"):
        build(hierarchies={"sex": {"*": ["f", "m"]}}, kinds={"sex": kind})


def test_a_hierarchy_beside_an_order_is_an_error():
    with pytest.raises(OptionError, match="both a hierarchy and an order"):
        build(hierarchies={"sex": {"*": ["f", "m"]}}, orders={"sex": ["f", "m"]})


def test_categorical_without_hierarchy_is_an_error():
    with pytest.raises(OptionError, match="has no hierarchy"):
        build(kinds={"zip": "categorical"})


def test_an_unknown_kind_is_an_error_with_a_suggestion():
    with pytest.raises(OptionError, match=r"not 'numerc'\. Did you mean 'numeric'"):
        build(kinds={"age": "numerc"})


def test_an_order_makes_its_column_ordinal_and_is_kept_as_canonical_labels():
    column = build(orders={"age": [1, 2.0, "3+"]})["age"]
    assert column.kind is Kind.ORDINAL
    assert column.order == ("1", "2", "3+")


@pytest.mark.parametrize(
    ("order", "message"),
    [("abc", "must be a list"), ([], "is empty"), ([1, 1.0], "more than once")],
)
def test_an_order_lists_every_value_once(order, message):
    with pytest.raises(OptionError, match=message):
        build(orders={"age": order})


def test_an_order_beside_another_kind_is_an_error():
    with pytest.raises(OptionError, match="order, which makes it ordinal"):
        build(orders={"age": ["1", "2"]}, kinds={"age": "numeric"})


def test_importing_schema_and_job_loads_no_heavy_package():
    code = (
        "import sys, shoal.table.schema, shoal.settings.job, shoal.table.infer, shoal.io;"
        "heavy = {'polars', 'numpy', 'numba', 'narwhals', 'pandas'} & set(sys.modules);"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
