"""Several tables of PostgreSQL become several tables of PostgreSQL, together or not at all."""

import pytest
from tests.db.conftest import Server

import shoal
from shoal.datasets import make_hospital

ROLES = {
    "patients": {"quasi_identifiers": ["sex", "born"], "drop": ["name", "postcode"]},
    "stays": {
        "quasi_identifiers": ["ward", "days"],
        "drop": ["stay_id", "admitted"],
        "insensitive": "outcome",
    },
}


def test_tables_of_postgres_are_of_one_transaction(server: Server):
    tables = {name: make_hospital(60, 1)[name] for name in ("patients", "stays")}
    for name, frame in tables.items():
        shoal.write_table(frame, server.url(f"together_{name}"), if_exists="replace")
    read = {name: shoal.read_table(server.url(f"together_{name}")) for name in tables}
    links = {"stays.patient_id": "patients.patient_id"}
    release = shoal.anonymize_tables(read, 4, links=links, roles=ROLES, seed=1)
    url = server.url("x").partition("?")[0]
    release.write(url, if_exists="replace")
    back = {name: shoal.read_table(server.url(name)) for name in tables}
    assert set(back["stays"]["patient_id"]) <= set(back["patients"]["patient_id"])
    with pytest.raises(shoal.ShoalError, match=r"stays|patients"):
        release.write(url)
    with server.connect() as connection:
        connection.execute("DROP TABLE patients")
        connection.commit()
        with pytest.raises(shoal.ShoalError):  # the second table is there, so the first is not made
            release.write(url)
        found = connection.execute("SELECT to_regclass('patients')").fetchone()
        connection.execute("DROP TABLE stays")
        connection.commit()
    assert found == (None,)
