"""The documentation has an app of its own; its table keeps its name."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tools_registry", "0008_request_wording"), ("documentation", "0001_initial")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("DocumentationSection")]
        )
    ]
