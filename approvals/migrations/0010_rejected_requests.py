"""One word for a decision against a request: rejected. The values of the column stay."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0009_idempotency_keys_of_calls")]

    operations: ClassVar = [
        migrations.AlterModelOptions(
            name="approvalrequest",
            options={
                "default_permissions": ("view",),
                "ordering": ("-id",),
                "permissions": [
                    ("decide_approvalrequest", "Can approve or reject approval requests")
                ],
                "verbose_name": "approval request",
                "verbose_name_plural": "approval requests",
            },
        ),
        migrations.AlterField(
            model_name="approvalrequest",
            name="status",
            field=models.CharField(
                choices=[
                    ("pending", "Waiting for approval"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("failed", "Failed"),
                    ("unknown", "Unknown: check with the vendor"),
                    ("declined", "Rejected"),
                    ("expired", "Expired"),
                ],
                default="pending",
                max_length=20,
                verbose_name="status",
            ),
        ),
    ]
