"""What a power cut or a kill must not take back."""

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from foundation.db.add_index import AddIndexOnline

OURS = {config.label for config in apps.get_app_configs() if "site-packages" not in config.path}


@pytest.mark.django_db
@pytest.mark.parametrize("level", [pytest.param("full", id="W10")])
def test_what_was_committed_is_on_the_disk(level: str) -> None:
    asked = {"sqlite": "PRAGMA synchronous", "postgresql": "SHOW synchronous_commit"}
    durable: dict[str, object] = {"sqlite": {"full": 2}[level], "postgresql": "on"}
    with connection.cursor() as cursor:
        cursor.execute(asked[connection.vendor])
        assert cursor.fetchone() == (durable[connection.vendor],)


@pytest.mark.django_db
@pytest.mark.parametrize("whole", [pytest.param(True, id="W08")])
def test_a_migration_that_is_cut_short_has_not_happened(whole: object) -> None:
    loader = MigrationLoader(connection)
    ours = {key: one for key, one in loader.disk_migrations.items() if key[0] in OURS}
    assert {"oauth", "audit", "workspace"} <= {label for label, _ in ours}
    parts = {key: one for key, one in ours.items() if one.atomic is not whole}
    # An index that is built while rows are written is built again when its migration is repeated.
    repeated = {
        key
        for key, one in parts.items()
        if all(isinstance(operation, AddIndexOnline) for operation in one.operations)
    }
    assert parts.keys() - repeated == set()
    # Where the schema cannot be rolled back, `bootstrap` copies the file first.
    assert connection.features.can_rollback_ddl or connection.vendor == "sqlite"
