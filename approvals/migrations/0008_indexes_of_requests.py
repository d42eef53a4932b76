"""Indexes for what calls, the schedule, lists and the retention period ask for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0007_execution_by_the_worker")]
    operations = [
        # Requests that ended in versions without this column are deleted after their period too.
        migrations.RunSQL(
            """
            UPDATE approvals_approvalrequest
               SET ended_at = COALESCE(decided_at, expires_at)
             WHERE ended_at IS NULL AND status NOT IN ('pending', 'running')
            """,
            migrations.RunSQL.noop,
        ),
        migrations.RemoveIndex(model_name="approvalrequest", name="approvals_by_call"),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(
                fields=["authorization_id", "digest", "-id"], name="approvals_by_digest"
            ),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["status", "expires_at"], name="approvals_by_expiry"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["organization", "ended_at"], name="approvals_by_end"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["user_id", "-id"], name="approvals_by_user"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["call"], name="approvals_by_call"),
        ),
    ]
