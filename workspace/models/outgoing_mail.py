"""Mails that are to be sent, and what became of them."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from workspace.models.people import Organization


class MailKind(models.TextChoices):
    APPROVAL = "approval", _("Request for approval")
    TIME_OFF = "time_off", _("Request for time off")
    CREDENTIAL = "credential", _("Missing credential")
    SECOND_STEP = "second_step", _("Two-step verification was reset")


class MailState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    SENT = "sent", _("Sent")
    FAILED = "failed", _("Failed")


class OutgoingMail(models.Model):
    """A mail to a person of an organization. `workspace/outbox.py` is its only writer.

    `content` is its subject and text, sealed, until it has been sent. `claim` is of the process
    that sends it now, and `next_attempt_at` then the time at which the claim ends.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(
        Organization, models.CASCADE, related_name="+", verbose_name=_("organization")
    )
    kind = models.CharField(_("kind"), max_length=20, choices=MailKind.choices)
    recipient = models.EmailField(_("recipient"))
    content = models.BinaryField(null=True, editable=False)
    state = models.CharField(
        _("state"), max_length=10, choices=MailState.choices, default=MailState.WAITING
    )
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    next_attempt_at = models.DateTimeField(_("next attempt"), default=timezone.now)
    # Not sent after this time, at which it would be of no use any more.
    expires_at = models.DateTimeField(_("expires"))
    sent_at = models.DateTimeField(_("sent"), null=True)
    claim = models.UUIDField(null=True, editable=False)
    error = models.CharField(_("last error"), max_length=300, blank=True)

    class Meta:
        verbose_name = _("outgoing mail")
        verbose_name_plural = _("outgoing mails")
        ordering = ("-id",)
        default_permissions = ("view",)
        permissions = [("resend_outgoingmail", "Can send outgoing mails again")]
        indexes = [
            models.Index(
                fields=("next_attempt_at",),
                condition=models.Q(state=MailState.WAITING),
                name="workspace_mails_due",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} for {self.recipient}"
