"""The account at its vendor that an integration is connected to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools_registry", "0002_calls_with_an_idempotency_key")]
    operations = [
        migrations.AddField(
            model_name="integrationmode",
            name="account",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                max_length=100,
                verbose_name="account",
            ),
        ),
    ]
