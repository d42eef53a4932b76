"""Migrations that processes of the version before can work with, while both versions run.

`docs/develop/migrations.md` has the rules, and the two steps for what they refuse.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from django.apps import apps
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration
from django.db.migrations.operations import SeparateDatabaseAndState
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED

from foundation.db.add_index import AddIndexOnline

ROOT = Path(__file__).resolve().parents[2]
# Second steps, as `app.name`: what makes each one safe for the version before it, which no longer
# reads or writes what it removes. Each has a line in the notes of docs/operate/upgrading.md.
SECOND_STEPS: Final[dict[str, str]] = {}
REMOVING: Final = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.DeleteModel,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def find_problems(migration: Migration, before: ProjectState) -> Iterator[str]:
    """Yields what a process of the version before could not work with."""
    for operation in _database_operations(migration.operations):
        if isinstance(operation, REMOVING):
            yield f"{operation.describe()}: the version before still uses it"
        elif isinstance(operation, migrations.AddField) and not _may_be_left_out(operation.field):
            yield f"{operation.describe()}: the version before inserts rows without it"
        elif isinstance(operation, migrations.AlterField) and _becomes_mandatory(
            migration.app_label, operation, before
        ):
            yield f"{operation.describe()}: the version before still writes NULL"
        operation.state_forwards(migration.app_label, before)


def find_blocking_indexes(migration: Migration) -> Iterator[str]:
    """Yields the indexes of tables that are not new whose building blocks writes."""
    new: set[str] = set()
    for operation in _database_operations(migration.operations):
        if isinstance(operation, migrations.CreateModel):
            new.add(operation.name_lower)
        elif isinstance(operation, migrations.AddIndex):
            is_online = isinstance(operation, AddIndexOnline) and not migration.atomic
            if not is_online and operation.model_name.lower() not in new:
                yield operation.describe()


def _database_operations(operations: Sequence[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, SeparateDatabaseAndState):
            yield from _database_operations(operation.database_operations)
        else:
            yield operation


def _may_be_left_out(field: "models.Field[Any, Any]") -> bool:
    return field.null or field.many_to_many or field.db_default is not NOT_PROVIDED


def _becomes_mandatory(
    app_label: str, operation: migrations.AlterField, before: ProjectState
) -> bool:
    fields = before.models[app_label, operation.model_name_lower].fields
    was = fields[operation.name]
    return was.null and not _may_be_left_out(operation.field)


def find_later_migrations() -> list[Migration]:
    """Returns the migrations of our applications after the squashed ones."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    paths = {config.label: Path(config.path).parent for config in apps.get_app_configs()}
    return [
        migration
        for migration in loader.disk_migrations.values()
        if paths[migration.app_label] == ROOT and "_squashed" not in migration.name
    ]


def state_before(migration: Migration) -> ProjectState:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return loader.project_state((migration.app_label, migration.name), at_end=False)


@pytest.mark.once
def test_the_version_before_can_work_with_a_migrated_database() -> None:
    found = {
        f"{migration.app_label}.{migration.name}": [
            *find_problems(migration, state_before(migration))
        ]
        for migration in find_later_migrations()
    }
    refused = {name: problems for name, problems in found.items() if problems}

    assert found
    assert {name: refused[name] for name in refused.keys() - SECOND_STEPS.keys()} == {}
    assert [name for name in SECOND_STEPS if name not in refused] == []


@pytest.mark.once
def test_an_index_of_a_large_table_is_added_while_rows_are_written() -> None:
    blocking = {
        f"{migration.app_label}.{migration.name}"
        for migration in find_later_migrations()
        if [*find_blocking_indexes(migration)]
    }

    assert blocking == set()


@pytest.mark.once
def test_every_second_step_is_in_the_notes_for_operators() -> None:
    notes = (ROOT / "docs" / "operate" / "upgrading.md").read_text()

    assert [name for name in SECOND_STEPS if name not in notes] == []


def project() -> ProjectState:
    state = ProjectState()
    fields = [("id", models.BigAutoField(primary_key=True)), ("note", models.TextField(null=True))]
    migrations.CreateModel("Thing", fields).state_forwards("shop", state)
    return state


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        (migrations.AddField("thing", "size", models.TextField(default="")), "without it"),
        (migrations.AddField("thing", "size", models.TextField(db_default="")), ""),
        (migrations.AddField("thing", "size", models.TextField(null=True)), ""),
        (migrations.AlterField("thing", "note", models.TextField()), "writes NULL"),
        (migrations.AlterField("thing", "note", models.TextField(db_default="")), ""),
        (migrations.AlterField("thing", "note", models.TextField(null=True, blank=True)), ""),
        (migrations.RemoveField("thing", "note"), "still uses it"),
        (migrations.RenameField("thing", "note", "text"), "still uses it"),
        (migrations.DeleteModel("thing"), "still uses it"),
    ],
)
def test_what_the_version_before_cannot_work_with_is_found(
    operation: Operation, problem: str
) -> None:
    for written in (operation, SeparateDatabaseAndState(database_operations=[operation])):
        migration = Migration("0002_next", "shop")
        migration.operations = [written]

        found = [*find_problems(migration, project())]

        assert len(found) == bool(problem)
        assert problem in "".join(found)
