"""A migration operation that adds an index while rows are written."""

from typing import TYPE_CHECKING, cast

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddIndex
from django.db.migrations.state import ProjectState

if TYPE_CHECKING:
    from django.db.backends.postgresql.schema import DatabaseSchemaEditor


class AddIndexOnline(AddIndex):
    """Adds an index; on PostgreSQL, rows are read and written meanwhile.

    For migrations with `atomic = False`. One that was interrupted can be repeated.
    """

    atomic = False

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            name = schema_editor.quote_name(self.index.name)
            schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        editor = cast("DatabaseSchemaEditor", schema_editor)
        # An interrupted one has left an index that is not used.
        editor.remove_index(model, self.index, concurrently=True)
        editor.add_index(model, self.index, concurrently=True)
