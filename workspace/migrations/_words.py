"""Full-text indexes of normalized words, and what keeps `search_text` true to the texts.

`search_text` has the words of a row as `foundation.text.words.make_index_words` makes them, so that
both databases only split it at its spaces. It is NULL until it is computed: in rows of earlier
versions, and after an update of a text that does not write it too, as processes of earlier versions
and erasures do. What is written ends with a checksum of the texts, so that words which are equal to
those before are known to be written. `customers.text_backfill` fills it. Until then the row is
found by the index of `_search.py`.

Django copies a table to alter it on SQLite, which drops its triggers: a migration that alters one
of these tables runs `create_word_indexes` afterwards.
"""

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

# The texts that `search_text` is made of.
TABLES = {
    "workspace_ticketmessage": ("heading", "text"),
    "workspace_conversationmessage": ("text",),
    "workspace_lead": ("name", "email", "fields"),
    "workspace_ticket": ("subject",),
    "workspace_knowledgechunk": ("title", "heading", "text"),
}
# The tables whose words have an index.
INDEXED = (
    "workspace_ticketmessage",
    "workspace_conversationmessage",
    "workspace_knowledgechunk",
)
# Without places, of which a tsvector has 256 for each word, up to 16,383: phrases are looked for in
# `search_text`. What is between words that are not adjacent is no word of an index or query.
END = "\u00a7"
POSTGRESQL_FUNCTION = """
    CREATE FUNCTION workspace_search_words(words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        SELECT array_to_tsvector(array_remove(array_remove(
            string_to_array(split_part(words, '|', 1), ' '), ''), '{end}'))
    $$
"""
POSTGRESQL_RESET = """
    CREATE FUNCTION {table}_reset_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.search_text IS NOT DISTINCT FROM OLD.search_text THEN
            NEW.search_text := NULL;
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER {table}_a_reset BEFORE UPDATE OF {columns} ON {table}
    FOR EACH ROW WHEN (({old}) IS DISTINCT FROM ({new}))
    EXECUTE FUNCTION {table}_reset_search_text()
"""
# Triggers of one event run in the order of their names.
POSTGRESQL_WORDS = """
    ALTER TABLE {table} ADD COLUMN search_words tsvector;
    CREATE FUNCTION {table}_set_search_words() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.search_words := workspace_search_words(NEW.search_text);
        RETURN NEW;
    END $$;
    CREATE TRIGGER {table}_b_insert BEFORE INSERT ON {table} FOR EACH ROW
    WHEN (NEW.search_text IS NOT NULL) EXECUTE FUNCTION {table}_set_search_words();
    CREATE TRIGGER {table}_b_update BEFORE UPDATE ON {table} FOR EACH ROW
    WHEN (OLD.search_text IS DISTINCT FROM NEW.search_text OR OLD.search_words IS NULL)
    EXECUTE FUNCTION {table}_set_search_words()
"""
CREATE_INDEX = "CREATE INDEX {table}_search ON {table} USING gin (search_words)"
# A change of a table waits for those who read it, and all others wait for the change.
LIMIT_WAITS = "SET LOCAL lock_timeout = '5s'"
SQLITE_RESET = (
    """
    CREATE TRIGGER {table}_search_reset AFTER UPDATE OF {columns} ON {table}
    WHEN old.search_text IS new.search_text AND new.search_text IS NOT NULL
        AND ({changed}) BEGIN
        UPDATE {table} SET search_text = NULL WHERE id = new.id;
    END
    """,
)
# This tokenizer takes every character beyond ASCII for a part of a word, of any version of Unicode.
SQLITE_INDEX = (
    """
    CREATE VIRTUAL TABLE {table}_search USING fts5(
        search_text, content='{table}', content_rowid='id',
        tokenize='ascii'
    )
    """,
    """
    CREATE TRIGGER {table}_search_insert AFTER INSERT ON {table}
    WHEN new.search_text IS NOT NULL BEGIN
        INSERT INTO {table}_search (rowid, search_text) VALUES (new.id, new.search_text);
    END
    """,
    """
    CREATE TRIGGER {table}_search_delete AFTER DELETE ON {table}
    WHEN old.search_text IS NOT NULL BEGIN
        INSERT INTO {table}_search ({table}_search, rowid, search_text)
        VALUES ('delete', old.id, old.search_text);
    END
    """,
    # One trigger: of two, the order is not defined, and words that are in both would be removed.
    """
    CREATE TRIGGER {table}_search_update AFTER UPDATE OF search_text ON {table}
    WHEN old.search_text IS NOT new.search_text BEGIN
        INSERT INTO {table}_search ({table}_search, rowid, search_text)
        SELECT 'delete', old.id, old.search_text WHERE old.search_text IS NOT NULL;
        INSERT INTO {table}_search (rowid, search_text)
        SELECT new.id, new.search_text WHERE new.search_text IS NOT NULL;
    END
    """,
)


def limit_waits(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor != "sqlite":
        schema_editor.execute(LIMIT_WAITS)


def create_word_indexes(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor != "sqlite":
        schema_editor.execute(POSTGRESQL_FUNCTION.format(end=END))
    create_triggers(schema_editor, TABLES)
    if schema_editor.connection.vendor != "sqlite":
        for table in INDEXED:
            schema_editor.execute(CREATE_INDEX.format(table=table))


def create_triggers(
    schema_editor: BaseDatabaseSchemaEditor, tables: dict[str, tuple[str, ...]]
) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for table, columns in tables.items():
        names = {
            "table": table,
            "columns": ", ".join(columns),
            "old": ", ".join(f"OLD.{column}" for column in columns),
            "new": ", ".join(f"NEW.{column}" for column in columns),
            "changed": " OR ".join(f"old.{column} IS NOT new.{column}" for column in columns),
        }
        statements = SQLITE_RESET if is_sqlite else (POSTGRESQL_RESET,)
        if table in INDEXED:
            statements += SQLITE_INDEX if is_sqlite else (POSTGRESQL_WORDS,)
        for statement in statements:
            schema_editor.execute(statement.format(**names))


def drop_word_indexes(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    limit_waits(apps, schema_editor)
    drop_triggers(schema_editor, TABLES)
    if schema_editor.connection.vendor != "sqlite":
        schema_editor.execute("DROP FUNCTION workspace_search_words(text)")


def drop_triggers(
    schema_editor: BaseDatabaseSchemaEditor, tables: dict[str, tuple[str, ...]]
) -> None:
    for table in tables:
        is_indexed = table in INDEXED
        if schema_editor.connection.vendor == "sqlite":
            events = ("insert", "delete", "update") if is_indexed else ()
            for event in ("reset", *events):
                schema_editor.execute(f"DROP TRIGGER {table}_search_{event}")
            if is_indexed:
                schema_editor.execute(f"DROP TABLE {table}_search")
            continue
        schema_editor.execute(f"DROP FUNCTION {table}_reset_search_text() CASCADE")
        if is_indexed:
            schema_editor.execute(f"DROP FUNCTION {table}_set_search_words() CASCADE")
            schema_editor.execute(f"ALTER TABLE {table} DROP COLUMN search_words")
