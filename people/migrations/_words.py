"""What keeps the words that people are found by true to their columns.

`people_person.search_text` has the words, as `people.search_words` makes them; triggers copy each to
a row of `people_personword`, whose index finds beginnings of words. It is NULL where it
has not been computed: in rows of earlier versions, and after an update of a column that does not write it too.
What is written ends with a checksum of the columns, so that words which are equal to those before
are known to be written. `people.search_backfill` fills it. Until then the person is found by their
columns.

Django copies a table to alter it on SQLite, which drops its triggers: a migration that alters
`people_person` so runs `create_triggers` afterwards.
"""

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

COLUMNS = ("first_name", "last_name", "preferred_name", "work_email", "job_title")
POSTGRESQL = (
    # Beginnings of words are ranges in the order of bytes, which SQLite has by itself.
    """
    ALTER TABLE people_personword ALTER COLUMN word TYPE varchar(60) COLLATE "C"
    """,
    """
    CREATE FUNCTION people_person_reset_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.search_text IS NOT DISTINCT FROM OLD.search_text THEN
            NEW.search_text := NULL;
        END IF;
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER people_person_reset BEFORE UPDATE OF {columns} ON people_person
    FOR EACH ROW WHEN (({old}) IS DISTINCT FROM ({new}))
    EXECUTE FUNCTION people_person_reset_search_text()
    """,
    """
    CREATE FUNCTION people_person_set_words() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM people_personword WHERE person_id = OLD.id;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO people_personword (organization_id, word, person_id)
            SELECT DISTINCT NEW.organization_id, word, NEW.id
            FROM unnest(string_to_array(split_part(NEW.search_text, '|', 1), ' ')) AS word
            WHERE word <> '';
        END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER people_person_words_insert AFTER INSERT ON people_person
    FOR EACH ROW WHEN (NEW.search_text IS NOT NULL) EXECUTE FUNCTION people_person_set_words()
    """,
    """
    CREATE TRIGGER people_person_words_update AFTER UPDATE ON people_person
    FOR EACH ROW WHEN (OLD.search_text IS DISTINCT FROM NEW.search_text)
    EXECUTE FUNCTION people_person_set_words()
    """,
    """
    CREATE TRIGGER people_person_words_delete AFTER DELETE ON people_person
    FOR EACH ROW EXECUTE FUNCTION people_person_set_words()
    """,
)
# Words have no quotes, so that the text of a JSON array is made by putting some between them.
SQLITE_INSERT = """
    INSERT INTO people_personword (organization_id, word, person_id)
    SELECT DISTINCT new.organization_id, value, new.id
    FROM json_each('["' || replace(
        trim(substr(new.search_text, 1, instr(new.search_text, '|') - 1)), ' ', '","'
    ) || '"]')
    WHERE value <> '' AND new.search_text IS NOT NULL;
"""
SQLITE = (
    """
    CREATE TRIGGER people_person_reset AFTER UPDATE OF {columns} ON people_person
    WHEN old.search_text IS new.search_text AND new.search_text IS NOT NULL AND ({changed}) BEGIN
        UPDATE people_person SET search_text = NULL WHERE id = new.id;
    END
    """,
    f"""
    CREATE TRIGGER people_person_words_insert AFTER INSERT ON people_person
    WHEN new.search_text IS NOT NULL BEGIN
        {SQLITE_INSERT}
    END
    """,
    f"""
    CREATE TRIGGER people_person_words_update AFTER UPDATE ON people_person
    WHEN old.search_text IS NOT new.search_text BEGIN
        DELETE FROM people_personword WHERE person_id = old.id;
        {SQLITE_INSERT}
    END
    """,
    """
    CREATE TRIGGER people_person_words_delete AFTER DELETE ON people_person BEGIN
        DELETE FROM people_personword WHERE person_id = old.id;
    END
    """,
)
TRIGGERS = (
    *("people_person_reset", "people_person_words_insert"),
    *("people_person_words_update", "people_person_words_delete"),
)
FUNCTIONS = ("people_person_reset_search_text", "people_person_set_words")


def create_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    names = {
        "columns": ", ".join(COLUMNS),
        "old": ", ".join(f"OLD.{column}" for column in COLUMNS),
        "new": ", ".join(f"NEW.{column}" for column in COLUMNS),
        "changed": " OR ".join(f"old.{column} IS NOT new.{column}" for column in COLUMNS),
    }
    for statement in SQLITE if is_sqlite else POSTGRESQL:
        schema_editor.execute(statement.format(**names))


def drop_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "sqlite":
        for trigger in TRIGGERS:
            schema_editor.execute(f"DROP TRIGGER {trigger}")
    else:
        for function in FUNCTIONS:
            schema_editor.execute(f"DROP FUNCTION {function}() CASCADE")
