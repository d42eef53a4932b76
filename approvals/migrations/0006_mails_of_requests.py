"""Mails about requests are rows of the outbox, which holds the claims of those who send them.

The column of the former claims stays in the database: web processes and workers of the version
before write it while they still run.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0005_end_requests_without_rules"),
        ("workspace", "0004_outgoing_mails"),
    ]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(model_name="approvalrequest", name="announcing_until"),
            ],
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="mails",
            field=models.ManyToManyField(
                editable=False, related_name="approval_requests", to="workspace.outgoingmail"
            ),
        ),
    ]
