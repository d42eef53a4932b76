"""Members can be suspended; a mail says that two-step verification was reset."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("workspace", "0010_trait_times")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="membership",
            name="suspended_at",
            field=models.DateTimeField(editable=False, null=True, verbose_name="suspended"),
        ),
        migrations.AlterField(
            model_name="outgoingmail",
            name="kind",
            field=models.CharField(
                choices=[
                    ("approval", "Request for approval"),
                    ("second_step", "Two-step verification was reset"),
                ],
                max_length=20,
                verbose_name="kind",
            ),
        ),
    ]
