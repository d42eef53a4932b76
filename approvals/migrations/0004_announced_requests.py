from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_rule_of_a_request")]
    operations = [
        migrations.AddField(
            model_name="approvalrequest",
            name="announced_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="announcing_until",
            field=models.DateTimeField(editable=False, null=True),
        ),
        # The version before has sent a mail about each of them.
        migrations.RunSQL(
            "UPDATE approvals_approvalrequest SET announced_at = created_at",
            migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(
                condition=models.Q(("announced_at", None), ("status", "pending")),
                fields=["organization"],
                name="approvals_unannounced",
            ),
        ),
    ]
