"""What was asked for, by whom, and what became of it."""

from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from workspace.models import Organization


class Status(models.TextChoices):
    PENDING = "pending", _("Waiting for a decision")
    RUNNING = "running", _("Being carried out")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    UNKNOWN = "unknown", _("Unknown: look at the vendor")
    DECLINED = "declined", _("Declined")
    EXPIRED = "expired", _("Expired")


def _lapses() -> datetime:
    return timezone.now() + timedelta(days=settings.HALO_BILLING_REQUEST_DAYS)


class BillingRequest(models.Model):
    """One irreversible action that somebody asked for through a client.

    What it asks for never changes after filing: an admin approves what is written here. Who asked
    is text, as in the audit log, for it outlives them.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(
        Organization,
        models.CASCADE,
        related_name="billing_requests",
        verbose_name=_("organization"),
    )
    integration = models.CharField(_("integration"), max_length=80)
    filed_as = models.CharField(_("asked for with"), max_length=120)
    perform = models.CharField(_("action to perform"), max_length=120)
    arguments = models.JSONField(_("arguments"), default=dict)
    # SHA-256 of all of the above, by which the same request is known again.
    digest = models.CharField(max_length=64, editable=False)
    summary = models.CharField(_("summary"), max_length=300)
    why = models.TextField(_("why, in the asker's words"), blank=True)
    customer_id = models.CharField(_("bound customer"), max_length=64, blank=True)

    user_id = models.CharField(_("asked by"), max_length=64)
    user_email = models.CharField(_("asked by (address then)"), max_length=254)
    client_id = models.CharField(_("client"), max_length=255)
    client_name = models.CharField(_("client name"), max_length=255, blank=True)
    authorization_id = models.CharField(_("authorization"), max_length=64)
    token_id = models.CharField(_("token"), max_length=64)

    status = models.CharField(
        _("status"), max_length=20, choices=Status.choices, default=Status.PENDING
    )
    created_at = models.DateTimeField(_("asked"), default=timezone.now)
    expires_at = models.DateTimeField(_("expires"), default=_lapses)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("decided by"),
    )
    decided_at = models.DateTimeField(_("decided"), null=True)
    note = models.CharField(_("note"), max_length=500, blank=True)

    # Fixed at filing: however often it is tried, the vendor knows it for the same request.
    idempotency_key = models.CharField(
        max_length=64, default=partial(ids.opaque, "halo_br_"), editable=False
    )
    # Whoever carries it out holds the claim, and nobody else writes how it ended.
    claim = models.UUIDField(null=True, editable=False)
    claimed_at = models.DateTimeField(null=True, editable=False)
    sent_at = models.DateTimeField(_("first sent to the vendor"), null=True)
    result = models.JSONField(_("result"), null=True)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    execution_id = models.CharField(_("audit row"), max_length=64, blank=True)

    class Meta:
        verbose_name = _("billing request")
        verbose_name_plural = _("billing requests")
        ordering = ("-id",)
        default_permissions = ("view",)
        permissions = [("decide_billingrequest", "Can approve or decline billing requests")]
        indexes = [
            models.Index(fields=("organization", "status"), name="tools_billing_by_status"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("authorization_id", "digest"),
                condition=models.Q(status__in=(Status.PENDING, Status.RUNNING)),
                name="tools_one_open_request",
            ),
        ]

    def __str__(self) -> str:
        return self.summary
