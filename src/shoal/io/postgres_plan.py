"""What PostgreSQL says about itself: which tables a query reads, and why nobody gets in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg
    from psycopg.sql import Composable

__all__ = ["PARENTS", "tables_in_plan", "why_not_connected"]

# Tables by their names, and the tables that they are parts of.
PARENTS = """
WITH RECURSIVE reads(oid) AS (
    SELECT oid FROM (SELECT to_regclass(name)::oid AS oid FROM unnest(%s::text[]) AS name) AS named
    WHERE oid IS NOT NULL
    UNION
    SELECT inhparent FROM reads JOIN pg_catalog.pg_inherits ON inhrelid = reads.oid
)
"""


def tables_in_plan(connection: psycopg.Connection[Any], rows: Composable) -> list[str]:
    """Return the names of the tables that reading these rows takes; views are seen through."""
    from psycopg import sql

    explain = sql.SQL("EXPLAIN (VERBOSE, FORMAT JSON) SELECT * FROM {}").format(rows)
    found = connection.execute(explain).fetchone()
    plans: list[Any] = list(found or ())
    names = []
    while plans:
        plan = plans.pop()
        if isinstance(plan, list):
            plans.extend(plan)
        elif isinstance(plan, dict):
            plans.extend(plan.values())
            if "Relation Name" in plan:
                name = sql.Identifier(plan.get("Schema", "public"), plan["Relation Name"])
                names.append(name.as_string(connection))
    return names


def why_not_connected(message: str) -> str:
    """Return the reason in our own words: the driver's may repeat parts of the URL."""
    known = {
        "password authentication failed": "the server does not accept this user and password",
        "no password supplied": "the server asks for a password and the URL has none",
        "no pg_hba.conf entry": "the server does not let this user in from here",
        "authentication failed": "the server does not accept this user",
        "Connection refused": "no server answers at this host and port",
        "No such file or directory": "no server answers at this socket",
        "timeout": "the server does not answer in time",
        "timed out": "the server does not answer in time",
        "translate host name": "there is no host of this name",
        "resolve host": "there is no host of this name",
        "Name or service not known": "there is no host of this name",
        "getaddrinfo": "there is no host of this name",
        "role ": "the server does not know this user",
        "database ": "the server has no database of this name",
        "SSL": "the server and the URL do not agree on encryption",
    }
    for text, reason in known.items():
        if text in message:
            return reason
    return "the server refuses; check host, port, database, user and password"
