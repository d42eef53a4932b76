"""What search needs in addition to the tables: full-text indexes and parts of names.

On PostgreSQL the words of a row are a stored column: the newest tickets with a common word are found
by reading messages in the order of their tickets, and computing the words of each would take longer
than all the rest. Ranking reads the words of every passage that matches.

On SQLite the indexes are kept by triggers. Django copies a table to alter it on SQLite, which drops
its triggers: a migration that alters one of these tables runs `create_full_text` afterwards.

Parts of names are found by trigrams, on PostgreSQL and where its extension pg_trgm is available.
Without it the search reads all customers of the organization.
"""

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

# The searched columns of each table.
TABLES = {
    "workspace_ticketmessage": ("heading", "text"),
    "workspace_conversationmessage": ("text",),
    "workspace_knowledgechunk": ("title", "heading", "text"),
}
# The weight of each column; without one, the columns weigh the same and are joined.
WEIGHTS = {"workspace_knowledgechunk": {"title": "C", "heading": "A", "text": "D"}}
POSTGRESQL = (
    """
    ALTER TABLE {table} ADD COLUMN words tsvector GENERATED ALWAYS AS ({vector}) STORED
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
NAMES = "workspace_customer_name_parts"
HAS_TRIGRAMS = """
    SELECT has_database_privilege(current_database(), 'CREATE')
    FROM pg_available_extensions WHERE name = 'pg_trgm' AND installed_version IS NULL
    UNION ALL
    SELECT true FROM pg_extension WHERE extname = 'pg_trgm'
"""


def create_full_text(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    own = {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]
    for table, columns in TABLES.items():
        names = {
            "table": table,
            "columns": ", ".join(columns),
            "new": ", ".join(f"new.{column}" for column in columns),
            "old": ", ".join(f"old.{column}" for column in columns),
            "vector": _vector(table, columns),
        }
        for statement in own:
            schema_editor.execute(statement.format(**names))


def _vector(table: str, columns: tuple[str, ...]) -> str:
    if weights := WEIGHTS.get(table):
        return " || ".join(
            f"setweight(to_tsvector('english', {column}), '{weights[column]}')"
            for column in columns
        )
    joined = " || ' ' || ".join(columns)
    return f"to_tsvector('english', {joined})"


def drop_full_text(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in TABLES:
        if schema_editor.connection.vendor == "sqlite":
            for event in ("insert", "delete", "update"):
                schema_editor.execute(f"DROP TRIGGER {table}_words_{event}")
            schema_editor.execute(f"DROP TABLE {table}_words")
        else:
            schema_editor.execute(f"ALTER TABLE {table} DROP COLUMN words")


def create_trigrams(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(HAS_TRIGRAMS)
        row = cursor.fetchone()
        if row is None or not row[0]:
            return
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        cursor.execute(
            f"CREATE INDEX {NAMES} ON workspace_customer "
            "USING gin (name_key gin_trgm_ops, email_key gin_trgm_ops)"
        )


def drop_trigrams(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX IF EXISTS {NAMES}")
