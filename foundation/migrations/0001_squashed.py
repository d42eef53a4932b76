"""The counters of rate limits and the function that charges them, on PostgreSQL only."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# UNLOGGED: counters need not survive a crash, and unlogged they cost half as much.
# Half-empty pages and no index but the key: every update stays on its page (HOT), where the
# next one prunes what it left.
TABLE = """
CREATE UNLOGGED TABLE foundation_rate_counter (
    key text PRIMARY KEY,
    started_ms bigint NOT NULL,
    previous bigint NOT NULL,
    current bigint NOT NULL,
    expires_ms bigint NOT NULL
) WITH (fillfactor = 50)
"""

# foundation/limits/window.py in PL/pgSQL. The caller sorts the keys: locks are taken in that order.
# A plain statement could not decide all-or-none: under READ COMMITTED it would see the rows as
# they were before it waited for their locks.
# `expires_ms` is the time of the last charge and the span, after which a counter weighs nothing.
FUNCTION = """
CREATE FUNCTION foundation_charge(
    keys text[], counts bigint[], spans bigint[], costs bigint[],
    OUT allowed boolean, OUT now_ms bigint,
    OUT started_ms bigint[], OUT previous bigint[], OUT current bigint[], OUT last_ms bigint[]
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    counter foundation_rate_counter;
    elapsed bigint;
BEGIN
    FOR i IN 1 .. cardinality(keys) LOOP
        LOOP
            SELECT * INTO counter FROM foundation_rate_counter AS c WHERE c.key = keys[i] FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO foundation_rate_counter VALUES (keys[i], 0, 0, 0, 0) ON CONFLICT DO NOTHING;
        END LOOP;
        started_ms[i] := counter.started_ms;
        previous[i] := counter.previous;
        current[i] := counter.current;
        last_ms[i] := counter.expires_ms - spans[i];
    END LOOP;

    -- Read once every lock is held: a clock read before the wait would be late.
    now_ms := floor(extract(epoch FROM clock_timestamp()) * 1000);
    allowed := true;
    FOR i IN 1 .. cardinality(keys) LOOP
        IF now_ms - last_ms[i] >= spans[i] THEN
            started_ms[i] := now_ms;
            previous[i] := 0;
            current[i] := 0;
            last_ms[i] := now_ms;
        ELSIF now_ms - started_ms[i] >= spans[i] THEN
            started_ms[i] := started_ms[i] + spans[i];
            previous[i] := current[i];
            current[i] := 0;
        END IF;
        elapsed := greatest(0, now_ms - started_ms[i]);
        IF previous[i] * (spans[i] - elapsed) + (current[i] + costs[i]) * spans[i]
                > counts[i] * spans[i] THEN
            allowed := false;
        END IF;
    END LOOP;
    IF NOT allowed THEN
        RETURN;
    END IF;

    FOR i IN 1 .. cardinality(keys) LOOP
        current[i] := current[i] + costs[i];
        last_ms[i] := now_ms;
        UPDATE foundation_rate_counter AS c
        SET started_ms = foundation_charge.started_ms[i],
            previous = foundation_charge.previous[i],
            current = foundation_charge.current[i],
            expires_ms = now_ms + spans[i]
        WHERE c.key = keys[i];
    END LOOP;
END
$$
"""


def create(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(TABLE, params=None)
        schema_editor.execute(FUNCTION, params=None)


def drop(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION foundation_charge(text[], bigint[], bigint[], bigint[])")
        schema_editor.execute("DROP TABLE foundation_rate_counter")


class Migration(migrations.Migration):
    replaces = [
        ("foundation", "0001_rate_counter"),
        ("foundation", "0002_time_of_the_last_charge"),
    ]
    initial = True
    dependencies = []
    operations = [migrations.RunPython(create, drop)]
