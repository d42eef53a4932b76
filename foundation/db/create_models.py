"""A migration operation that creates many models in the time of one."""

from collections.abc import Sequence

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class CreateModels(Operation):
    """Creates models and renders the state once, for migrations with more than a few of them.

    After each `CreateModel`, Django renders every model again that is related to the new one.
    Nearly all are related through the organization and the user, so that creating a hundred models
    renders thousands.
    """

    serialization_expand_args = ["models"]

    def __init__(self, models: Sequence[CreateModel]) -> None:
        self.models = models

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        # Without the rendered models nothing is rendered here; the first table renders all.
        state.__dict__.pop("apps", None)
        for model in self.models:
            model.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for model in self.models:
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def references_model(self, name: str, app_label: str) -> bool:
        return any(model.references_model(name, app_label) for model in self.models)

    def describe(self) -> str:
        return f"Create models {', '.join(model.name for model in self.models)}"

    def __repr__(self) -> str:
        return f"<CreateModels {[model.name for model in self.models]}>"
