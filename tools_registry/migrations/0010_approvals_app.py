"""Requests for approval have an app of their own, which takes over the table and its rows."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tools_registry", "0009_documentation_app")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.AlterModelTable("BillingRequest", "approvals_approvalrequest")
            ],
            state_operations=[migrations.DeleteModel("BillingRequest")],
        )
    ]
