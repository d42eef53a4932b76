"""Indexes for the data tools: values in any case, the worst conversations, parts of names.

Parts of names are found by trigrams, on PostgreSQL and where its extension pg_trgm is available.
Without it the search reads all customers of the organization.
"""

import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.functions.text
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

NAMES = "workspace_customer_name_parts"
IS_AVAILABLE = """
    SELECT has_database_privilege(current_database(), 'CREATE')
    FROM pg_available_extensions WHERE name = 'pg_trgm' AND installed_version IS NULL
    UNION ALL
    SELECT true FROM pg_extension WHERE extname = 'pg_trgm'
"""


def add_trigrams(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(IS_AVAILABLE)
        row = cursor.fetchone()
        if row is None or not row[0]:
            return
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        cursor.execute(
            f"CREATE INDEX {NAMES} ON workspace_customer "
            "USING gin (name_key gin_trgm_ops, email_key gin_trgm_ops)"
        )


def remove_trigrams(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX IF EXISTS {NAMES}")


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', '0010_erasures'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(models.F('organization'), django.db.models.expressions.CombinedExpression(models.Case(models.When(mood='angry', then=models.Value(0)), models.When(mood='frustrated', then=models.Value(101)), models.When(mood='confused', then=models.Value(202)), output_field=models.IntegerField()), '+', django.db.models.functions.comparison.Coalesce('score', 100)), models.F('id'), condition=models.Q(('mood__in', ('angry', 'frustrated', 'confused'))), name='workspace_conv_worst'),
        ),
        migrations.AddIndex(
            model_name='customer',
            index=models.Index(models.F('organization'), django.db.models.functions.text.Upper('plan'), models.OrderBy(models.F('last_seen'), descending=True), models.F('id'), name='workspace_cust_plan'),
        ),
        migrations.AddIndex(
            model_name='customer',
            index=models.Index(models.F('organization'), django.db.models.functions.text.Upper('role'), models.OrderBy(models.F('last_seen'), descending=True), models.F('id'), name='workspace_cust_role'),
        ),
        migrations.AddIndex(
            model_name='ticket',
            index=models.Index(models.F('organization'), django.db.models.functions.text.Upper('category'), models.OrderBy(models.F('created_at'), descending=True), models.F('id'), name='workspace_tkt_category'),
        ),
        migrations.RunPython(add_trigrams, remove_trigrams),
    ]
