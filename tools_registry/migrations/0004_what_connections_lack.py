"""What a connection lacks at its vendor."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools_registry", "0003_accounts_of_connections")]
    operations = [
        migrations.AddField(
            model_name="integrationmode",
            name="missing",
            field=models.TextField(
                blank=True, db_default="", default="", editable=False, verbose_name="missing"
            ),
        ),
    ]
