"""Calls that differ in their idempotency key alone have requests of their own."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0008_indexes_of_requests")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="approvalrequest",
            name="caller_key",
            field=models.CharField(
                blank=True, db_default="", default="", editable=False, max_length=64
            ),
        ),
    ]
