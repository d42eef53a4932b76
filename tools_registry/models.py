"""The switches that an admin turns: one row for each integration, one for each agent action."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation.ids import uuid7
from workspace import caps
from workspace.models import Agent, Organization


class ConnectionState(models.TextChoices):
    NOT_CONNECTED = "not_connected", _("Not connected")
    CONNECTED = "connected", _("Connected")
    FAILING = "failing", _("Failing")


class IntegrationMode(models.Model):
    """An organization's integration: its Actions mode and its connection.

    No row means: mode on by default, not connected, hence hidden and refused.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="integrations")
    integration = models.CharField(_("integration"), max_length=80)
    actions_on = models.BooleanField(
        _("Actions mode"),
        default=True,
        help_text=_("Off: every tool of this integration is gone on the next request."),
    )
    connection = models.CharField(
        _("connection"),
        max_length=20,
        choices=ConnectionState.choices,
        default=ConnectionState.NOT_CONNECTED,
    )
    connected_at = models.DateTimeField(_("connected"), null=True, blank=True)
    # The vendor's own id of the account; stays when the credential is deleted. Empty: not known.
    account = models.CharField(
        _("account"), max_length=100, blank=True, default="", db_default="", editable=False
    )
    settings = models.JSONField(_("settings"), default=dict, blank=True)
    # What the last check found missing at the vendor, one sentence a line. Calls go on.
    missing = models.TextField(_("missing"), blank=True, default="", db_default="", editable=False)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)
    last_error_at = models.DateTimeField(_("last error at"), null=True, blank=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("integration mode")
        verbose_name_plural = _("integration modes")
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "integration"), name="tools_one_mode_an_integration"
            ),
        ]

    def __str__(self) -> str:
        return self.integration


class Credential(models.Model):
    """What an integration shows its vendor: sealed for this row, never shown, never listed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    mode = models.OneToOneField(IntegrationMode, models.CASCADE, related_name="credential")
    sealed = models.BinaryField(editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("credential")
        verbose_name_plural = _("credentials")

    def __str__(self) -> str:
        return f"credential {self.pk}"


class ActionToggle(models.Model):
    """Whether an agent may use an action. No row means off."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="toggles")
    integration = models.CharField(_("integration"), max_length=80)
    action = models.CharField(_("action"), max_length=120)
    enabled = models.BooleanField(_("on"), default=False)
    calls_per_minute = caps.field(
        _("Calls of this action, of all connections together. Empty: no cap of its own.")
    )
    updated_at = models.DateTimeField(_("changed"), auto_now=True)
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("action toggle")
        verbose_name_plural = _("action toggles")
        constraints = [
            models.UniqueConstraint(
                fields=("agent", "integration", "action"), name="tools_one_toggle_an_action"
            ),
            caps.constraint("tools_cap_is_a_limit"),
        ]

    def __str__(self) -> str:
        return f"{self.integration}.{self.action}"


class Question(models.Model):
    """A request of ours that went out on a call's stream, until its call has taken the answer.

    Any process may be given the answer: it writes it here and posts a notice.
    """

    # Unguessable, and looked up only together with the authorization.
    id = models.CharField(primary_key=True, max_length=64)
    authorization_id = models.CharField(max_length=64)
    # Sealed: what a person typed may be anything.
    sealed_answer = models.BinaryField(null=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return "answered" if self.sealed_answer else "open"


class PushedMessage(models.Model):
    """A notification for the open WebSockets of an authorization, kept for a minute."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    authorization_id = models.CharField(max_length=64, db_index=True)
    # Sealed: it may hold the result of a call.
    sealed = models.BinaryField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"for {self.authorization_id}"


class SpentState(models.Model):
    """A `requestState` that a change was made under: no other change may be."""

    # SHA-256 of the name that is sealed in it.
    name = models.CharField(primary_key=True, max_length=64)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.name


class SessionLevel(models.Model):
    """The log level of a session whose client goes on with the id it was first given."""

    session = models.CharField(primary_key=True, max_length=64)
    authorization_id = models.CharField(max_length=64, db_index=True, default="")
    level = models.CharField(max_length=20)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.level


class RepeatableCall(models.Model):
    """A call with an idempotency key, and its first outcome (`pipeline/idempotency.py`).

    `key` is the digest of the key, its caller and the tool; `fingerprint` that of what was sent.
    Without an outcome the call runs, or its process was killed.
    """

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64)
    fingerprint = models.CharField(max_length=64)
    # Sealed: it may hold the result of a call.
    sealed_outcome = models.BinaryField(null=True)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "key"), name="tools_one_call_for_each_key"
            ),
        ]

    def __str__(self) -> str:
        return self.key
