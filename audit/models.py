"""What happened: one row a tool call, and counted rows for refusals without a name.

Rows outlive what they describe, so every reference is a text id and no foreign key leaves this
app. `audit/record.py` is the only writer.
"""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.outcomes import ActorKind, Outcome
from foundation.ids import uuid7


class ActionExecution(models.Model):
    """One tool call, allowed or refused, or one refused request of an identified token.

    The key is time-ordered (UUIDv7), so that monthly partitions can later be ranges of it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    started_at = models.DateTimeField(_("started"), default=timezone.now)
    duration_us = models.BigIntegerField(_("duration, microseconds"), null=True)
    organization_id = models.CharField(_("organization"), max_length=64, blank=True)
    actor_kind = models.CharField(_("actor"), max_length=20, choices=ActorKind.choices)
    client_id = models.CharField(_("client"), max_length=255, blank=True)
    client_name = models.CharField(_("client name"), max_length=255, blank=True)
    user_id = models.CharField(_("granted by"), max_length=64, blank=True)
    user_email = models.CharField(_("granted by (address then)"), max_length=254, blank=True)
    authorization_id = models.CharField(_("authorization"), max_length=64, blank=True)
    token_id = models.CharField(_("token"), max_length=64, blank=True)
    bound_customer_id = models.CharField(_("bound customer"), max_length=64, blank=True)
    method = models.CharField(_("method"), max_length=100, blank=True)
    tool = models.CharField(_("tool"), max_length=200, blank=True)
    integration = models.CharField(_("integration"), max_length=80, blank=True)
    action = models.CharField(_("action"), max_length=120, blank=True)
    arguments = models.JSONField(_("arguments"), default=dict)
    outcome = models.CharField(_("outcome"), max_length=30, choices=Outcome.choices)
    reason = models.CharField(_("reason"), max_length=60, blank=True)
    layer = models.CharField(_("layer"), max_length=30, blank=True)
    detail = models.CharField(_("detail"), max_length=500, blank=True)
    upstream_status = models.SmallIntegerField(_("upstream status"), null=True)
    row_count = models.IntegerField(_("rows returned"), null=True)
    request_id = models.CharField(_("request"), max_length=64, blank=True)
    revision = models.CharField(_("revision"), max_length=20, blank=True)
    address = models.CharField(_("address"), max_length=64, blank=True)

    class Meta:
        verbose_name = _("action execution")
        verbose_name_plural = _("action executions")
        db_table = "action_executions"
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("organization_id", "-id"), name="audit_by_organization"),
            models.Index(fields=("authorization_id", "-id"), name="audit_by_authorization"),
            # For the sweeper: the few rows that are not finished.
            models.Index(
                fields=("started_at",),
                condition=models.Q(outcome="started"),
                name="audit_unfinished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool or self.method} {self.outcome}"


class SecurityEvent(models.Model):
    """Refusals and alarms, counted per kind, address prefix, subject and minute.

    A stranger can raise a count, never the number of rows: `subject` is an id of ours that the
    request proved (an authorization, a client that authenticated), and empty for strangers.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(_("kind"), max_length=60)
    minute = models.DateTimeField(_("minute"))
    address_prefix = models.CharField(_("address prefix"), max_length=64)
    subject = models.CharField(_("subject"), max_length=64, blank=True)
    organization_id = models.CharField(_("organization"), max_length=64, blank=True)
    client_id = models.CharField(_("client"), max_length=255, blank=True)
    user_id = models.CharField(_("user"), max_length=64, blank=True)
    count = models.PositiveBigIntegerField(_("count"), default=1)
    detail = models.CharField(_("first seen as"), max_length=500, blank=True)
    first_at = models.DateTimeField(_("first"), default=timezone.now)
    last_at = models.DateTimeField(_("last"), default=timezone.now)

    class Meta:
        verbose_name = _("security event")
        verbose_name_plural = _("security events")
        db_table = "security_events"
        ordering = ("-last_at",)
        constraints = [
            models.UniqueConstraint(
                fields=("kind", "minute", "address_prefix", "subject"),
                name="audit_one_event_a_minute",
            ),
        ]
        indexes = [models.Index(fields=("-last_at",), name="audit_event_by_time")]

    def __str__(self) -> str:
        return f"{self.kind} x{self.count}"
