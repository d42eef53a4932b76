"""What existing databases of PostgreSQL have: names from the time when the table had another one.

A later migration may name them. They have a column too that is no longer read or written.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLE = "approvals_approvalrequest"
UNUSED_COLUMN = "announcing_until"
# As Django names them for the present table and for the former one.
CONSTRAINTS = {
    "approvals_approvalrequest_pkey": "tools_registry_billingrequest_pkey",
    "approvals_approvalre_decided_by_id_ef07eeb2_fk_workspace": (
        "tools_registry_billi_decided_by_id_47ead356_fk_workspace"
    ),
    "approvals_approvalre_organization_id_cce59a15_fk_workspace": (
        "tools_registry_billi_organization_id_4ee89fed_fk_workspace"
    ),
}
INDEXES = {
    "approvals_approvalrequest_decided_by_id_ef07eeb2": (
        "tools_registry_billingrequest_decided_by_id_47ead356"
    ),
    "approvals_approvalrequest_organization_id_cce59a15": (
        "tools_registry_billingrequest_organization_id_4ee89fed"
    ),
}


def rename(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    schema_editor.execute(f"ALTER TABLE {TABLE} ADD COLUMN {UNUSED_COLUMN} timestamptz NULL")
    for present, former in CONSTRAINTS.items():
        schema_editor.execute(f"ALTER TABLE {TABLE} RENAME CONSTRAINT {present} TO {former}")
    for present, former in INDEXES.items():
        schema_editor.execute(f"ALTER INDEX {present} RENAME TO {former}")


def rename_back(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    schema_editor.execute(f"ALTER TABLE {TABLE} DROP COLUMN {UNUSED_COLUMN}")
    for present, former in CONSTRAINTS.items():
        schema_editor.execute(f"ALTER TABLE {TABLE} RENAME CONSTRAINT {former} TO {present}")
    for present, former in INDEXES.items():
        schema_editor.execute(f"ALTER INDEX {former} RENAME TO {present}")


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_squashed_requests")]
    operations = [migrations.RunPython(rename, rename_back)]
