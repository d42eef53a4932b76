"""The table of calls with an idempotency key."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools_registry", "0001_squashed"), ("workspace", "0002_squashed_tables")]
    operations = [
        migrations.CreateModel(
            name="RepeatableCall",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("fingerprint", models.CharField(max_length=64)),
                ("sealed_outcome", models.BinaryField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_index=True, default=django.utils.timezone.now),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workspace.organization",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organization", "key"), name="tools_one_call_for_each_key"
                    )
                ],
            },
        ),
    ]
