"""Takes over the table that tools_registry made."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools_registry", "0008_request_wording")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    "DocumentationSection",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("page", models.CharField(max_length=120, verbose_name="page")),
                        ("page_title", models.CharField(max_length=200, verbose_name="page title")),
                        ("position", models.PositiveIntegerField(verbose_name="position")),
                        (
                            "anchor",
                            models.CharField(blank=True, max_length=200, verbose_name="anchor"),
                        ),
                        ("heading", models.CharField(max_length=200, verbose_name="heading")),
                        ("text", models.TextField(verbose_name="text")),
                        ("digest", models.CharField(max_length=64)),
                        ("indexed_at", models.DateTimeField(default=django.utils.timezone.now)),
                    ],
                    options={
                        "verbose_name": "documentation section",
                        "verbose_name_plural": "documentation sections",
                        "db_table": "tools_registry_documentationsection",
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("page", "position"), name="tools_one_section_a_place"
                            )
                        ],
                    },
                )
            ]
        )
    ]
