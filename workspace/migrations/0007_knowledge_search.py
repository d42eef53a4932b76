"""The version of each organization's passages, and on PostgreSQL their words as a stored column.

Ranking reads the words of every passage that matches; from an index over an expression they would
be computed again for each.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLE = "workspace_knowledgechunk"
# The weights are those of the title, the heading and the text.
ADD = (
    f"DROP INDEX {TABLE}_words",
    f"""
    ALTER TABLE {TABLE} ADD COLUMN words tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector('english', title), 'C')
        || setweight(to_tsvector('english', heading), 'A')
        || setweight(to_tsvector('english', text), 'D')
    ) STORED
    """,
    f"CREATE INDEX {TABLE}_words ON {TABLE} USING gin (words)",
)
REMOVE = (
    f"DROP INDEX {TABLE}_words",
    f"ALTER TABLE {TABLE} DROP COLUMN words",
    f"""
    CREATE INDEX {TABLE}_words ON {TABLE}
    USING gin (to_tsvector('english', title || ' ' || heading || ' ' || text))
    """,
)


def add_words(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for statement in ADD:
            schema_editor.execute(statement)


def remove_words(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for statement in REMOVE:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("workspace", "0006_full_text")]
    operations = [
        migrations.CreateModel(
            name="KnowledgeIndex",
            fields=[
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="workspace.organization",
                    ),
                ),
                ("version", models.UUIDField()),
            ],
        ),
        migrations.RunPython(add_words, remove_words),
    ]
