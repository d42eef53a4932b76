"""What the worker needs to execute an approved request from its row."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0006_mails_of_requests")]
    operations = [
        migrations.AddField(
            model_name="approvalrequest",
            name="decider_address",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="execution_state",
            field=models.CharField(
                blank=True,
                choices=[
                    ("queued", "Waits for the background worker"),
                    ("begun", "Is being executed"),
                ],
                db_default="",
                default="",
                editable=False,
                max_length=10,
                verbose_name="execution",
            ),
        ),
        migrations.AddField(
            model_name="approvalrequest",
            name="status_before",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                max_length=20,
            ),
        ),
    ]
