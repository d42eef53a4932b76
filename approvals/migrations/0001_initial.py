"""Takes over the table that tools_registry made for billing requests, with its rows."""

import functools

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import foundation.ids

STATUSES = [
    ("pending", "Waiting for approval"),
    ("running", "Running"),
    ("done", "Done"),
    ("failed", "Failed"),
    ("unknown", "Unknown: check with the vendor"),
    ("declined", "Declined"),
    ("expired", "Expired"),
]
TEXT = models.CharField


class Migration(migrations.Migration):
    initial = True
    dependencies = [
        ("tools_registry", "0010_approvals_app"),
        ("workspace", "0002_user_session_generation"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    "ApprovalRequest",
                    fields=[
                        (
                            "id",
                            models.UUIDField(
                                default=foundation.ids.uuid7,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("integration", TEXT(max_length=80, verbose_name="integration")),
                        ("filed_as", TEXT(max_length=120, verbose_name="requested with")),
                        ("perform", TEXT(max_length=120, verbose_name="action to perform")),
                        ("arguments", models.JSONField(default=dict, verbose_name="arguments")),
                        ("digest", TEXT(editable=False, max_length=64)),
                        ("summary", TEXT(max_length=300, verbose_name="summary")),
                        ("why", models.TextField(blank=True, verbose_name="reason given")),
                        (
                            "customer_id",
                            TEXT(blank=True, max_length=64, verbose_name="bound customer"),
                        ),
                        ("user_id", TEXT(max_length=64, verbose_name="requested by")),
                        ("user_email", TEXT(max_length=254, verbose_name="requested by (email)")),
                        ("client_id", TEXT(max_length=255, verbose_name="client")),
                        (
                            "client_name",
                            TEXT(blank=True, max_length=255, verbose_name="client name"),
                        ),
                        ("authorization_id", TEXT(max_length=64, verbose_name="authorization")),
                        ("token_id", TEXT(max_length=64, verbose_name="token")),
                        (
                            "status",
                            TEXT(
                                choices=STATUSES,
                                default="pending",
                                max_length=20,
                                verbose_name="status",
                            ),
                        ),
                        (
                            "created_at",
                            models.DateTimeField(
                                default=django.utils.timezone.now, verbose_name="requested"
                            ),
                        ),
                        (
                            "expires_at",
                            models.DateTimeField(
                                default=django.utils.timezone.now, verbose_name="expires"
                            ),
                        ),
                        ("decided_at", models.DateTimeField(null=True, verbose_name="decided")),
                        ("note", TEXT(blank=True, max_length=500, verbose_name="note")),
                        (
                            "idempotency_key",
                            TEXT(
                                default=functools.partial(foundation.ids.opaque, "halo_br_"),
                                editable=False,
                                max_length=64,
                            ),
                        ),
                        ("claim", models.UUIDField(editable=False, null=True)),
                        ("claimed_at", models.DateTimeField(editable=False, null=True)),
                        (
                            "sent_at",
                            models.DateTimeField(null=True, verbose_name="first sent to the vendor"),
                        ),
                        ("result", models.JSONField(null=True, verbose_name="result")),
                        ("problem", TEXT(blank=True, max_length=500, verbose_name="problem")),
                        (
                            "execution_id",
                            TEXT(blank=True, max_length=64, verbose_name="audit row"),
                        ),
                        (
                            "decided_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                                verbose_name="decided by",
                            ),
                        ),
                        (
                            "organization",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="approval_requests",
                                to="workspace.organization",
                                verbose_name="organization",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name": "billing request",
                        "verbose_name_plural": "billing requests",
                        "ordering": ("-id",),
                        "permissions": [
                            ("decide_approvalrequest", "Can approve or decline billing requests")
                        ],
                        "default_permissions": ("view",),
                        "indexes": [
                            models.Index(
                                fields=["organization", "status"], name="tools_billing_by_status"
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("status__in", ("pending", "running"))),
                                fields=("authorization_id", "digest"),
                                name="tools_one_open_request",
                            )
                        ],
                    },
                )
            ]
        )
    ]
