"""The sections of the documentation, and what full-text search needs in addition to their table.

SQLite: an FTS5 index with the sections as its content, rebuilt whenever they change; no triggers,
because Django remakes a table to alter it and would lose them. PostgreSQL: a generated column,
which keeps itself. Both: the words of all sections, so that the beginning of one finds it.
"""

import django.utils.timezone
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

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
    for statement in (*BOTH, *own):
        editor.execute(statement, params=None)


def drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    own = {"sqlite": SQLITE_UNDO, "postgresql": POSTGRESQL_UNDO}[editor.connection.vendor]
    for statement in (*own, *BOTH_UNDO):
        editor.execute(statement, params=None)


class Migration(migrations.Migration):

    replaces = [('documentation', '0001_initial')]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='DocumentationSection',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('page', models.CharField(max_length=120, verbose_name='page')),
                ('page_title', models.CharField(max_length=200, verbose_name='page title')),
                ('position', models.PositiveIntegerField(verbose_name='position')),
                ('anchor', models.CharField(blank=True, max_length=200, verbose_name='anchor')),
                ('heading', models.CharField(max_length=200, verbose_name='heading')),
                ('text', models.TextField(verbose_name='text')),
                ('digest', models.CharField(max_length=64)),
                ('indexed_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'verbose_name': 'documentation section',
                'verbose_name_plural': 'documentation sections',
                'db_table': 'tools_registry_documentationsection',
                'constraints': [models.UniqueConstraint(fields=('page', 'position'), name='tools_one_section_a_place')],
            },
        ),
        migrations.RunPython(create, drop),
    ]
