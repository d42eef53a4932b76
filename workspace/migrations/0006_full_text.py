"""Full-text indexes over messages and passages, and the names of customers for lookups.

On PostgreSQL the words of a message are a stored column: the newest tickets with a common word are
found by reading messages in the order of their tickets, and computing the words of each would take
longer than all the rest. On SQLite the indexes are kept by triggers. Django copies a table to alter it on SQLite, which drops its
triggers: a later migration that alters one of these tables runs `create` of this one again.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

# The searched columns of each table.
TABLES = {
    "workspace_ticketmessage": ("heading", "text"),
    "workspace_conversationmessage": ("text",),
    "workspace_knowledgechunk": ("title", "heading", "text"),
}
MESSAGES = ("workspace_ticketmessage", "workspace_conversationmessage")
POSTGRESQL = """
    CREATE INDEX {table}_words ON {table} USING gin (to_tsvector('english', {joined}))
"""
STORED = (
    """
    ALTER TABLE {table} ADD COLUMN words tsvector
        GENERATED ALWAYS AS (to_tsvector('english', {joined})) STORED
    """,
    "CREATE INDEX {table}_words ON {table} USING gin (words)",
)
SQLITE = (
    """
    CREATE VIRTUAL TABLE {table}_words USING fts5(
        {columns}, content='{table}', content_rowid='id', tokenize='porter unicode61'
    )
    """,
    """
    CREATE TRIGGER {table}_words_insert AFTER INSERT ON {table} BEGIN
        INSERT INTO {table}_words (rowid, {columns}) VALUES (new.id, {new});
    END
    """,
    """
    CREATE TRIGGER {table}_words_delete AFTER DELETE ON {table} BEGIN
        INSERT INTO {table}_words ({table}_words, rowid, {columns})
        VALUES ('delete', old.id, {old});
    END
    """,
    """
    CREATE TRIGGER {table}_words_update AFTER UPDATE OF {columns} ON {table} BEGIN
        INSERT INTO {table}_words ({table}_words, rowid, {columns})
        VALUES ('delete', old.id, {old});
        INSERT INTO {table}_words (rowid, {columns}) VALUES (new.id, {new});
    END
    """,
)


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table, columns in TABLES.items():
        names = {
            "table": table,
            "columns": ", ".join(columns),
            "new": ", ".join(f"new.{column}" for column in columns),
            "old": ", ".join(f"old.{column}" for column in columns),
            "joined": " || ' ' || ".join(columns),
        }
        for statement in _statements(table, schema_editor.connection.vendor):
            schema_editor.execute(statement.format(**names))


def _statements(table: str, vendor: str) -> tuple[str, ...]:
    if vendor == "sqlite":
        return SQLITE
    return STORED if table in MESSAGES else (POSTGRESQL,)


def drop(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in TABLES:
        if schema_editor.connection.vendor == "sqlite":
            for event in ("insert", "delete", "update"):
                schema_editor.execute(f"DROP TRIGGER {table}_words_{event}")
            schema_editor.execute(f"DROP TABLE {table}_words")
        else:
            schema_editor.execute(f"DROP INDEX {table}_words")
            if table in MESSAGES:
                schema_editor.execute(f"ALTER TABLE {table} DROP COLUMN words")


def fill_name_keys(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    customers = apps.get_model("workspace", "Customer").objects
    for customer in customers.exclude(name="").filter(name_key="").iterator(chunk_size=1000):
        # `workspace.lookup_keys.name_key`, as it was when this was written.
        customer.name_key = " ".join(customer.name.split()).casefold()[:200]
        customer.save(update_fields=["name_key"])


class Migration(migrations.Migration):
    dependencies = [("workspace", "0005_data")]
    operations = [
        migrations.RunPython(fill_name_keys, migrations.RunPython.noop),
        migrations.RunPython(create, drop),
    ]
