"""Requests for approval: the call to run, its requester, and the outcome."""

from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from workspace.models import Organization, OutgoingMail


class ApprovalStatus(models.TextChoices):
    PENDING = "pending", _("Waiting for approval")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    UNKNOWN = "unknown", _("Unknown: check with the vendor")
    DECLINED = "declined", _("Rejected")
    EXPIRED = "expired", _("Expired")


class ExecutionState(models.TextChoices):
    """What became of an approved request in the background worker."""

    QUEUED = "queued", _("Waits for the background worker")
    BEGUN = "begun", _("Is being executed")


def default_expiry() -> datetime:
    return timezone.now() + timedelta(days=settings.HALO_BILLING_REQUEST_DAYS)


class ApprovalRequest(models.Model):
    """A call that was requested, and that a person has to approve before it runs.

    Who may decide depends on the surface (`approvals.surface_rules`): for a project the approvers
    of the rule that demanded the approval, or the owner if it names none; otherwise an admin. The
    requested call never changes: what is written here is what is approved. The requester is text,
    as in the audit log, so that the row outlives the user. `tool` is what an approval runs, on
    `surface`; `requested_with` is the tool that made the request.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(
        Organization,
        models.CASCADE,
        related_name="approval_requests",
        verbose_name=_("organization"),
    )
    surface = models.CharField(max_length=80, default="workspace", editable=False)
    integration = models.CharField(_("integration"), max_length=80, blank=True)
    requested_with = models.CharField(_("requested with"), max_length=255)
    tool = models.CharField(_("action to perform"), max_length=255)
    # Of what describes the tool, on surfaces whose tools come from a document.
    version = models.PositiveIntegerField(_("version of the document"), null=True, editable=False)
    arguments = models.JSONField(_("arguments"), default=dict)
    # Of a call that waits in a session of an agent: where, so that it is requested once.
    call = models.CharField(max_length=300, blank=True, editable=False)
    # SHA-256 of the idempotency key of the call, empty without one: calls that differ in their key
    # alone have requests of their own.
    caller_key = models.CharField(
        max_length=64, blank=True, default="", db_default="", editable=False
    )
    # SHA-256 of all of the above, the requester and what the tool would send: requests with the
    # same digest are identical, and it is compared again before an approved one is executed.
    digest = models.CharField(max_length=64, editable=False)
    # What demanded the approval, as it was then (`gateway.policies.kept_rule`). None where the
    # surface has no rules, and for requests that are older than this column.
    rule = models.JSONField(_("rule"), null=True, editable=False)
    summary = models.CharField(_("summary"), max_length=300)
    why = models.TextField(_("reason given"), blank=True)
    customer_id = models.CharField(_("bound customer"), max_length=64, blank=True)

    user_id = models.CharField(_("requested by"), max_length=64)
    user_email = models.CharField(_("requested by (email)"), max_length=254)
    client_id = models.CharField(_("client"), max_length=255)
    client_name = models.CharField(_("client name"), max_length=255, blank=True)
    # As in `oauth.principal.Principal`: the kind and id of the requester's credential, and what it
    # was issued under, which is checked again (`oauth.credentials.recheck_grant`).
    credential = models.CharField(_("kind of credential"), max_length=40)
    credential_id = models.CharField(_("credential"), max_length=64)
    authorization_id = models.CharField(_("authorization"), max_length=64)

    status = models.CharField(
        _("status"), max_length=20, choices=ApprovalStatus.choices, default=ApprovalStatus.PENDING
    )
    created_at = models.DateTimeField(_("requested"), default=timezone.now)
    expires_at = models.DateTimeField(_("expires"), default=default_expiry)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("decided by"),
    )
    decided_at = models.DateTimeField(_("decided"), null=True)
    note = models.CharField(_("note"), max_length=500, blank=True)
    # When mails to its approvers were written, and these mails.
    announced_at = models.DateTimeField(null=True, editable=False)
    mails = models.ManyToManyField(OutgoingMail, related_name="approval_requests", editable=False)
    ended_at = models.DateTimeField(_("ended"), null=True, editable=False)

    # The idempotency key, fixed for all attempts.
    idempotency_key = models.CharField(
        max_length=64, default=partial(ids.opaque, "halo_br_"), editable=False
    )
    # Only the process that holds the claim writes the outcome.
    claim = models.UUIDField(null=True, editable=False)
    claimed_at = models.DateTimeField(null=True, editable=False)
    # While it is running: how far the worker is, what the status was before the approval, and the
    # address of the person who approved it, for the audit row.
    execution_state = models.CharField(
        _("execution"),
        max_length=10,
        choices=ExecutionState.choices,
        blank=True,
        default="",
        db_default="",
        editable=False,
    )
    status_before = models.CharField(
        max_length=20, blank=True, default="", db_default="", editable=False
    )
    decider_address = models.CharField(
        max_length=64, blank=True, default="", db_default="", editable=False
    )
    sent_at = models.DateTimeField(_("first sent to the vendor"), null=True)
    result = models.JSONField(_("result"), null=True)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    execution_id = models.CharField(_("audit row"), max_length=64, blank=True)

    class Meta:
        verbose_name = _("approval request")
        verbose_name_plural = _("approval requests")
        ordering = ("-id",)
        default_permissions = ("view",)
        permissions = [("decide_approvalrequest", "Can approve or reject approval requests")]
        indexes = [
            models.Index(fields=("organization", "status"), name="approvals_by_status"),
            # What a call asks for: an identical request, the newest first.
            models.Index(fields=("authorization_id", "digest", "-id"), name="approvals_by_digest"),
            # What the schedule asks for: those that expired or stopped, and those of a mail.
            models.Index(fields=("status", "expires_at"), name="approvals_by_expiry"),
            # What is deleted after its period.
            models.Index(fields=("organization", "ended_at"), name="approvals_by_end"),
            # The list of a person's own requests.
            models.Index(fields=("user_id", "-id"), name="approvals_by_user"),
            models.Index(
                fields=("organization",),
                condition=models.Q(status=ApprovalStatus.PENDING, announced_at=None),
                name="approvals_unannounced",
            ),
            # Not partial: SQLite uses a partial index only for conditions without parameters.
            models.Index(fields=("call",), name="approvals_by_call"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("authorization_id", "digest"),
                condition=models.Q(status__in=(ApprovalStatus.PENDING, ApprovalStatus.RUNNING)),
                name="approvals_one_open",
            ),
        ]

    def __str__(self) -> str:
        return self.summary

    @staticmethod
    def with_current_status(status: ApprovalStatus) -> models.Q:
        """Returns the condition for rows with this `current_status`."""
        now = timezone.now()
        match status:
            case ApprovalStatus.PENDING:
                return models.Q(status=status, expires_at__gt=now)
            case ApprovalStatus.EXPIRED:
                overdue = models.Q(status=ApprovalStatus.PENDING, expires_at__lte=now)
                return models.Q(status=status) | overdue
        return models.Q(status=status)

    @property
    def current_status(self) -> ApprovalStatus:
        """Returns the status now: a request expires at its time, before its row says so."""
        is_expired = self.status == ApprovalStatus.PENDING and self.expires_at <= timezone.now()
        return ApprovalStatus.EXPIRED if is_expired else ApprovalStatus(self.status)
