"""One migration replaces those of django-oauth-toolkit, and results in the same models."""

from typing import Any

from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader

TOOLKIT = "oauth2_provider"
HINT = (
    "The toolkit has migrations that ours does not stand for. Add a migration with their changes "
    "to oauth/migrations/toolkit, with their names in `replaces`."
)


def test_every_migration_of_the_toolkit_is_replaced_by_ours(settings: Any) -> None:
    ours = MigrationLoader(None).disk_migrations
    settings.MIGRATION_MODULES = {}
    theirs = {key for key in MigrationLoader(None).disk_migrations if key[0] == TOOLKIT}
    replaced = {
        tuple(replaced)
        for (app, _name), migration in ours.items()
        if app == TOOLKIT
        for replaced in migration.replaces
    }
    assert replaced == theirs, HINT


def test_our_migration_ends_with_the_models_that_the_toolkit_s_end_with(settings: Any) -> None:
    ours = MigrationLoader(None)
    settings.MIGRATION_MODULES = {}
    theirs = MigrationLoader(None)
    found = MigrationAutodetector(ours.project_state(), theirs.project_state())
    assert found.changes(ours.graph) == {}, HINT
