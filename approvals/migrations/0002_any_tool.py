"""Requests name the surface and the tools instead of actions of an integration.

Permissions and the admin's own log follow the model to its new app.
"""

import hashlib
import json

from django.db import migrations, models

import approvals.models


def name_tools(apps, schema_editor):
    rows = apps.get_model("approvals", "ApprovalRequest").objects.all()
    for row in rows.iterator():
        row.tool = f"{row.integration}.{row.perform}"
        row.requested_with = f"{row.integration}.{row.filed_as}"
        facts = {
            "surface": row.surface,
            "tool": row.tool,
            "requested_with": row.requested_with,
            "arguments": row.arguments,
            "customer_id": row.customer_id,
            "authorization_id": row.authorization_id,
        }
        row.digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        row.save(update_fields=["tool", "requested_with", "digest"])


def move_permissions(apps, schema_editor):
    kinds = apps.get_model("contenttypes", "ContentType").objects
    before = kinds.filter(app_label="tools_registry", model="billingrequest").first()
    if before is None:
        return
    kinds.filter(app_label="approvals", model="approvalrequest").delete()
    kinds.filter(pk=before.pk).update(app_label="approvals", model="approvalrequest")
    rights = apps.get_model("auth", "Permission").objects.filter(content_type=before.pk)
    for verb in ("view", "decide"):
        rights.filter(codename=f"{verb}_billingrequest").update(codename=f"{verb}_approvalrequest")


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [
        migrations.AddField(
            "ApprovalRequest",
            "surface",
            models.CharField(default="workspace", editable=False, max_length=80),
        ),
        migrations.AddField(
            "ApprovalRequest",
            "tool",
            models.CharField(default="", max_length=255, verbose_name="action to perform"),
            preserve_default=False,
        ),
        migrations.AddField(
            "ApprovalRequest",
            "requested_with",
            models.CharField(default="", max_length=255, verbose_name="requested with"),
            preserve_default=False,
        ),
        migrations.RunPython(name_tools),
        migrations.RemoveField("ApprovalRequest", "perform"),
        migrations.RemoveField("ApprovalRequest", "filed_as"),
        migrations.AlterField(
            "ApprovalRequest",
            "integration",
            models.CharField(blank=True, max_length=80, verbose_name="integration"),
        ),
        migrations.AlterField(
            "ApprovalRequest",
            "expires_at",
            models.DateTimeField(default=approvals.models.default_expiry, verbose_name="expires"),
        ),
        migrations.RenameIndex(
            "ApprovalRequest", new_name="approvals_by_status", old_name="tools_billing_by_status"
        ),
        migrations.RemoveConstraint("ApprovalRequest", "tools_one_open_request"),
        migrations.AddConstraint(
            "ApprovalRequest",
            models.UniqueConstraint(
                condition=models.Q(("status__in", ("pending", "running"))),
                fields=("authorization_id", "digest"),
                name="approvals_one_open",
            ),
        ),
        migrations.RunPython(move_permissions),
    ]
