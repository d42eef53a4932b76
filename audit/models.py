"""The audit log: one row for each tool call, and counters of anonymous refusals.

Rows outlive what they describe, so every reference is a text id and no foreign key leaves this app.
`audit/record.py` is the only writer.
"""

from typing import TYPE_CHECKING

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.outcomes import ActorKind, Outcome
from foundation.ids import uuid7

if TYPE_CHECKING:
    from workspace.administration.row_names import RowNames


class ActionExecution(models.Model):
    """One tool call, allowed or refused, or one refused request of an identified token.

    The key is time-ordered (UUIDv7), so that monthly partitions can later be ranges of it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    started_at = models.DateTimeField(_("started"), default=timezone.now)
    duration_us = models.BigIntegerField(_("duration, microseconds"), null=True)
    organization_id = models.CharField(_("organization"), max_length=64, blank=True)
    # A default of the database, so that neither adding the column nor an older process that still
    # writes rows without it has to wait for anything.
    surface = models.CharField(_("surface"), max_length=40, blank=True, default="", db_default="")
    actor_kind = models.CharField(_("actor"), max_length=20, choices=ActorKind.choices)
    client_id = models.CharField(_("client"), max_length=255, blank=True)
    client_name = models.CharField(_("client name"), max_length=255, blank=True)
    user_id = models.CharField(_("granted by (id)"), max_length=64, blank=True)
    user_email = models.CharField(_("granted by"), max_length=254, blank=True)
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
        verbose_name = _("call")
        verbose_name_plural = _("audit log")
        db_table = "action_executions"
        ordering = ("-id",)
        indexes = [
            # The columns that the admin's list filters and searches by, with the key as second
            # column: `audit/listing.py` reads them backwards. Each slows the INSERT of a call, so a
            # partial index leaves out the value that most calls have (decision 0034).
            models.Index(fields=("organization_id", "id"), name="audit_by_organization"),
            models.Index(fields=("authorization_id", "id"), name="audit_by_authorization"),
            models.Index(fields=("request_id", "id"), name="audit_by_request"),
            models.Index(fields=("client_id", "id"), name="audit_by_client"),
            models.Index(fields=("user_email", "id"), name="audit_by_user"),
            models.Index(
                fields=("integration", "id"),
                condition=~models.Q(integration=""),
                name="audit_by_integration",
            ),
            models.Index(
                fields=("outcome", "id"),
                condition=~models.Q(outcome="success"),
                name="audit_by_outcome",
            ),
            models.Index(
                fields=("reason", "id"),
                condition=~models.Q(reason=""),
                name="audit_by_reason",
            ),
            models.Index(
                fields=("actor_kind", "id"),
                condition=~models.Q(actor_kind="mcp_client"),
                name="audit_by_actor",
            ),
            # For the sweeper: the few unfinished rows.
            models.Index(
                fields=("started_at",),
                condition=models.Q(outcome="started"),
                name="audit_unfinished",
            ),
        ]

    # Read in a few statements for all rows of a page (`audit/call_list.py`).
    names: "RowNames"

    def __str__(self) -> str:
        return f"{self.tool or self.method} {self.outcome}"

    @property
    def source(self) -> str:
        """By which protocol the request came: `api` for REST, else `mcp`."""
        return "api" if " " in self.method else "mcp"

    @property
    def route(self) -> str:
        """The address of a REST request, or what was called: `mcp:get_person`."""
        return self.method if self.source == "api" else f"mcp:{self.tool or self.method}"


class SecurityEvent(models.Model):
    """Refusals and alarms, counted per kind, address prefix, subject, minute and detail.

    The first SHARED_SLOT different details have a row each, and later ones share one more row. So
    an anonymous caller can raise counts but cannot create an unbounded number of rows: `subject`
    is an id that the request proved (an authorization, an authenticated client), and empty for
    anonymous callers.
    """

    SHARED_SLOT = 8

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(_("kind"), max_length=60)
    minute = models.DateTimeField(_("minute"))
    address_prefix = models.CharField(_("address prefix"), max_length=64)
    subject = models.CharField(_("subject"), max_length=64, blank=True)
    organization_id = models.CharField(_("organization"), max_length=64, blank=True)
    client_id = models.CharField(_("client"), max_length=255, blank=True)
    user_id = models.CharField(_("user"), max_length=64, blank=True)
    count = models.PositiveBigIntegerField(_("count"), default=1)
    detail = models.CharField(_("detail"), max_length=500, blank=True)
    slot = models.PositiveSmallIntegerField(_("slot"), default=0)
    first_at = models.DateTimeField(_("first"), default=timezone.now)
    last_at = models.DateTimeField(_("last"), default=timezone.now)

    class Meta:
        verbose_name = _("security event")
        verbose_name_plural = _("security events")
        db_table = "security_events"
        ordering = ("-last_at",)
        constraints = [
            models.UniqueConstraint(
                fields=("kind", "minute", "address_prefix", "subject", "slot"),
                name="audit_one_event_per_slot_and_minute",
            ),
        ]
        indexes = [
            models.Index(fields=("-last_at",), name="audit_event_by_time"),
            # For the filters of the admin's list: each reads its newest rows.
            models.Index(fields=("kind", "-last_at", "-id"), name="audit_event_by_kind"),
            models.Index(
                fields=("organization_id", "-last_at", "-id"), name="audit_event_by_organization"
            ),
            models.Index(fields=("subject", "-last_at", "-id"), name="audit_event_by_subject"),
        ]

    # Read in a few statements for all rows of a page (`audit/event_list.py`).
    names: "RowNames"

    def __str__(self) -> str:
        return f"{self.kind} x{self.count}"
