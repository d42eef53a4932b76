"""The requester's credential may be of any kind; those of before are OAuth access tokens."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_any_tool")]
    operations = [
        migrations.AddField(
            "ApprovalRequest",
            "credential",
            models.CharField(default="halo_at_", max_length=40, verbose_name="kind of credential"),
            preserve_default=False,
        ),
        migrations.RenameField("ApprovalRequest", "token_id", "credential_id"),
        migrations.AlterField(
            "ApprovalRequest",
            "credential_id",
            models.CharField(max_length=64, verbose_name="credential"),
        ),
    ]
