"""What full-text search over the documentation needs in addition to its table.

SQLite: an FTS5 index with the sections as its content, rebuilt whenever they change; no triggers,
because Django remakes a table to alter it and would lose them. PostgreSQL: a generated column,
which keeps itself. Both: the words of all sections, so that the beginning of one finds it.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

# Sections are a copy of the pages. Without them the next run of index_docs fills the table again.
FORGET_SECTIONS = "DELETE FROM tools_registry_documentationsection"

SQLITE = (
    """
    CREATE VIRTUAL TABLE tools_registry_documentationsearch USING fts5(
        page_title, heading, text,
        content='tools_registry_documentationsection', content_rowid='id',
        tokenize='porter unicode61'
    )
    """,
)
SQLITE_UNDO = ("DROP TABLE tools_registry_documentationsearch",)

POSTGRESQL = (
    # PostgreSQL's parser takes "tools/list" for a path and "hubspot.create_deal" for a host, and
    # swallows "<url>". Punctuation becomes spaces, one for one: words are words, places stay.
    r"""
    CREATE FUNCTION tools_registry_plain_words(body text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(body, '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))
    """,
    """
    CREATE FUNCTION tools_registry_documentation_vector(title text, heading text, body text)
    RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN setweight(to_tsvector('english', tools_registry_plain_words(title)), 'A')
        || setweight(to_tsvector('english', tools_registry_plain_words(heading)), 'B')
        || setweight(to_tsvector('english', tools_registry_plain_words(body)), 'D')
    """,
    # Stored: an index on the expression alone has every section parsed again to be ranked, which
    # made a question of four common words a hundred times slower (84 ms against 0.9).
    """
    ALTER TABLE tools_registry_documentationsection ADD COLUMN search_vector tsvector
    GENERATED ALWAYS AS (tools_registry_documentation_vector(page_title, heading, text)) STORED
    """,
    """
    CREATE INDEX tools_documentation_search ON tools_registry_documentationsection
    USING gin (search_vector)
    """,
)
POSTGRESQL_UNDO = (
    "ALTER TABLE tools_registry_documentationsection DROP COLUMN search_vector",
    "DROP FUNCTION tools_registry_documentation_vector",
    "DROP FUNCTION tools_registry_plain_words",
)

BOTH = ("CREATE TABLE tools_registry_documentationword (word varchar(64) PRIMARY KEY)",)
BOTH_UNDO = ("DROP TABLE tools_registry_documentationword",)


def create(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    own = {"sqlite": SQLITE, "postgresql": POSTGRESQL}[editor.connection.vendor]
    for statement in (FORGET_SECTIONS, *BOTH, *own):
        editor.execute(statement, params=None)


def drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    own = {"sqlite": SQLITE_UNDO, "postgresql": POSTGRESQL_UNDO}[editor.connection.vendor]
    for statement in (*own, *BOTH_UNDO):
        editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("tools_registry", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]
