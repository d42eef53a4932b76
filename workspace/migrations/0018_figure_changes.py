"""Snapshots of key figures say their zone and time; changes of past days are noted."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

from workspace.migrations import _changes


class Migration(migrations.Migration):
    dependencies: ClassVar = [("workspace", "0017_indexes_of_lists")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="kpisnapshot",
            name="time_zone",
            field=models.CharField(
                db_default="", default="", max_length=64, verbose_name="time zone"
            ),
        ),
        migrations.AddField(
            model_name="kpisnapshot",
            name="taken_at",
            field=models.DateTimeField(null=True, verbose_name="taken"),
        ),
        migrations.CreateModel(
            name="KpiChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=20)),
                ("hour", models.DateTimeField()),
                (
                    "organization",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workspace.organization",
                    ),
                ),
            ],
            options={
                "verbose_name": "change of past days",
                "verbose_name_plural": "changes of past days",
                "indexes": [
                    models.Index(
                        fields=["organization", "kind", "hour"], name="workspace_kpi_change"
                    )
                ],
            },
        ),
        migrations.RunPython(_changes.create_change_triggers, _changes.drop_change_triggers),
        # The version before counts by those of 0017, which begin with the same columns.
        migrations.RemoveIndex(model_name="customer", name="workspace_cust_by_plan"),
        migrations.RemoveIndex(model_name="customer", name="workspace_cust_by_company"),
    ]
