"""Triggers that note which hours of the past have other rows than when figures were computed.

A row is noted in the hour of each moment at which figures count it, if that is longer ago than
CHANGES_NOTED_AFTER: the snapshots of `customers.kpis` are taken an hour later than that after the
end of their day, so that no change is missed by a transaction that was open meanwhile.

Django copies a table to alter it on SQLite, which drops its triggers: a migration that alters one
of these tables runs `drop_change_triggers` and `create_change_triggers` afterwards.
"""

from collections.abc import Iterator
from typing import NamedTuple

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from workspace.migrations._words import limit_waits

CHANGES_NOTED_AFTER = "11 hours"


class Counted(NamedTuple):
    """The moments at which a row is counted, what counts of it, and whether it counts at all."""

    kind: str
    moments: tuple[str, ...]
    facts: tuple[str, ...]
    condition: str = ""


# The names of columns are preceded by those of rows: {row}.
TABLES = {
    "workspace_customer": Counted(
        "customers",
        (
            "coalesce({row}.signed_up_at, {row}.first_seen, {row}.created_at)",
            "{row}.churned_at",
        ),
        (
            "coalesce({row}.signed_up_at, {row}.first_seen, {row}.created_at)",
            *("{row}.churned_at", "{row}.erased_at"),
        ),
    ),
    "workspace_ticket": Counted(
        "tickets",
        ("{row}.created_at", "{row}.resolved_at"),
        (
            *("{row}.created_at", "{row}.resolved_at", "{row}.first_response_at"),
            "({row}.status = 'spam')",
        ),
    ),
    "workspace_conversation": Counted(
        "conversations", ("{row}.started_at",), ("{row}.started_at", "{row}.outcome")
    ),
    "workspace_event": Counted(
        "events",
        ("{row}.at",),
        ("{row}.at", "{row}.customer_id"),
        "{row}.customer_id IS NOT NULL",
    ),
}
EVENTS = ("insert", "update", "delete")
SQLITE = """
    CREATE TRIGGER {table}_kpi_{event} AFTER {event} ON {table} {when} BEGIN
        {inserts}
    END
"""
SQLITE_INSERT = """
    INSERT INTO workspace_kpichange (organization_id, kind, hour)
    SELECT {row}.organization_id, '{kind}', substr({moment}, 1, 13) || ':00:00'
    WHERE {moment} < strftime('%Y-%m-%d %H:%M:%S', 'now', '-{after}'){condition};
"""
# One statement of PostgreSQL may change many rows: an hour is noted once for each.
POSTGRESQL = """
    CREATE FUNCTION {table}_kpi_{event}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO workspace_kpichange (organization_id, kind, hour)
        SELECT DISTINCT organization_id, '{kind}', date_trunc('hour', moment, 'UTC')
        FROM ({rows}) AS changed WHERE moment < clock_timestamp() - interval '{after}';
        RETURN NULL;
    END $$;
    CREATE TRIGGER {table}_kpi_{event} AFTER {event} ON {table} REFERENCING {tables}
    FOR EACH STATEMENT EXECUTE FUNCTION {table}_kpi_{event}()
"""
TRANSITIONS = {
    "insert": "NEW TABLE AS new_rows",
    "update": "OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "delete": "OLD TABLE AS old_rows",
}
# In a function, `old` and `new` are variables.
ALIASES = {"old": "row_before", "new": "row_after"}
ROWS = {"insert": ("new",), "update": ("old", "new"), "delete": ("old",)}


def create_change_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    make = _make_sqlite_trigger if is_sqlite else _make_postgresql_trigger
    limit_waits(apps, schema_editor)
    for table, counted in TABLES.items():
        for event in EVENTS:
            schema_editor.execute(make(table, counted, event))


def drop_change_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    limit_waits(apps, schema_editor)
    for table in TABLES:
        for event in EVENTS:
            if schema_editor.connection.vendor == "sqlite":
                schema_editor.execute(f"DROP TRIGGER IF EXISTS {table}_kpi_{event}")
            else:
                schema_editor.execute(f"DROP FUNCTION IF EXISTS {table}_kpi_{event}() CASCADE")


def _make_sqlite_trigger(table: str, counted: Counted, event: str) -> str:
    condition = f" AND {counted.condition}" if counted.condition else ""
    inserts = (
        SQLITE_INSERT.format(
            row=row,
            kind=counted.kind,
            moment=moment.format(row=row),
            after=CHANGES_NOTED_AFTER,
            condition=condition.format(row=row),
        )
        for row in ROWS[event]
        for moment in counted.moments
    )
    differs = " OR ".join(
        f"{fact.format(row='old')} IS NOT {fact.format(row='new')}" for fact in counted.facts
    )
    when = f"WHEN {differs}" if event == "update" else ""
    return SQLITE.format(table=table, event=event, when=when, inserts="".join(inserts))


def _make_postgresql_trigger(table: str, counted: Counted, event: str) -> str:
    rows = " UNION ALL ".join(_postgresql_moments(counted, event))
    return POSTGRESQL.format(
        table=table,
        event=event,
        kind=counted.kind,
        rows=rows,
        after=CHANGES_NOTED_AFTER,
        tables=TRANSITIONS[event],
    )


def _postgresql_moments(counted: Counted, event: str) -> Iterator[str]:
    """The moments of rows; of an update, of those that are other than before."""
    facts = ", ".join(counted.facts)
    old, new = (ALIASES[row] for row in ("old", "new"))
    differs = f" AND ({facts.format(row=old)}) IS DISTINCT FROM ({facts.format(row=new)})"
    both = f"old_rows AS {old} JOIN new_rows AS {new} ON {old}.id = {new}.id"
    for row in ROWS[event]:
        alias = ALIASES[row]
        condition = counted.condition.format(row=alias) or "true"
        source = f"{row}_rows AS {alias}"
        if event == "update":
            condition, source = condition + differs, both
        for moment in counted.moments:
            yield (
                f"SELECT {alias}.organization_id, {moment.format(row=alias)} AS moment "
                f"FROM {source} WHERE {condition}"
            )
