from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def keep_all_tools(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Agents without chosen tools had all of them before there was a choice for that."""
    agents = apps.get_model("agents", "AgentDefinition").objects
    agents.using(schema_editor.connection.alias).filter(tools=[]).update(has_all_tools=True)


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_squashed")]
    operations = [
        migrations.AddField(
            model_name="agentdefinition",
            name="has_all_tools",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Every tool that a key may use, also those that are added later.",
                verbose_name="all tools",
            ),
        ),
        migrations.AlterField(
            model_name="agentdefinition",
            name="tools",
            field=models.JSONField(blank=True, default=list, verbose_name="tools"),
        ),
        migrations.RunPython(keep_all_tools, migrations.RunPython.noop),
    ]
