"""Clients, authorizations and the credentials under them.

The five models of django-oauth-toolkit, swapped, with everything removed that would hold a
secret in clear text or say a fact twice; and `Authorization`, the root of every chain: one row a
consent, and one UPDATE of it kills all that was ever issued under it.
"""

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractApplication,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)

from foundation.ids import uuid7
from workspace.models import Membership, Organization


class AuthMethod(models.TextChoices):
    """How a client proves itself at the token endpoint (RFC 7591 section 2)."""

    NONE = "none", _("public, no secret")
    BASIC = "client_secret_basic", _("secret in the Authorization header")
    POST = "client_secret_post", _("secret in the form")


class Client(AbstractApplication):
    """A program that asks for access, however it came to be known here."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # One space-separated string of URIs lets a second one be smuggled in: a JSON list cannot.
    redirect_uris = models.JSONField(_("redirect URIs"), default=list)
    auth_method = models.CharField(
        _("authentication"), max_length=30, choices=AuthMethod.choices, default=AuthMethod.NONE
    )
    # 256 random bits need one SHA-256; a slow password hash would only slow every refresh down.
    secret_sha256 = models.CharField(max_length=64, blank=True, editable=False)
    is_native = models.BooleanField(_("runs on the person's device"), default=False)
    scope = models.TextField(_("registered scope"), blank=True)
    metadata = models.JSONField(_("what it says of itself"), default=dict, editable=False)
    registered_from = models.CharField(_("registered from"), max_length=64, blank=True)
    disabled_at = models.DateTimeField(
        _("disabled"),
        null=True,
        blank=True,
        help_text=_("Set: every token of this client is refused on the next request."),
    )
    first_token_at = models.DateTimeField(_("first token"), null=True, editable=False)

    # The toolkit's columns that nothing here may read: a plaintext-capable secret, grants and
    # algorithms this server does not speak, a switch that skips consent.
    client_secret = None
    hash_client_secret = None
    post_logout_redirect_uris = None
    allowed_origins = None
    algorithm = None
    client_type = None
    authorization_grant_type = None
    skip_authorization = None

    class Meta(AbstractApplication.Meta):
        verbose_name = _("client")
        verbose_name_plural = _("clients")
        indexes = [
            # For the nightly clean-up: clients that never got a token, oldest first.
            models.Index(
                fields=("created",),
                condition=models.Q(first_token_at__isnull=True),
                name="oauth_client_unused",
            ),
        ]

    def get_absolute_url(self) -> str:
        """Where an admin reads of it: the toolkit's own page is not mounted here."""
        return reverse("admin:oauth_client_change", args=[self.pk])


class Authorization(models.Model):
    """One consent: who lets which client do what in which organization."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(Client, models.CASCADE, related_name="authorizations")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="authorizations"
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="authorizations")
    # Null once the person has left: a later membership is another row and revives nothing.
    membership = models.ForeignKey(
        Membership, models.SET_NULL, null=True, related_name="authorizations"
    )
    scope = models.TextField(_("scope"))
    resource = models.CharField(_("resource"), max_length=500)
    created_at = models.DateTimeField(_("given"), default=timezone.now, editable=False)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    revoke_reason = models.CharField(_("why"), max_length=60, blank=True, editable=False)

    class Meta:
        verbose_name = _("authorization")
        verbose_name_plural = _("authorizations")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.client} for {self.user}"


class RememberedConsent(models.Model):
    """“Don't ask again for exactly this”, said when an authorization was given."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    authorization = models.OneToOneField(
        Authorization, models.CASCADE, related_name="remembered", editable=False
    )
    # What was asked, not what was left ticked: the next request has to ask for the same again.
    redirect_uri = models.TextField(editable=False)
    scope = models.TextField(editable=False)
    # SHA-256 of all that must be as it was then: the client, the person's password, the scope.
    circumstances_sha256 = models.CharField(max_length=64, editable=False)
    expires_at = models.DateTimeField(editable=False)

    class Meta:
        verbose_name = _("remembered consent")
        verbose_name_plural = _("remembered consents")
        indexes = [models.Index(fields=("expires_at",), name="oauth_remembered_expiry")]

    def __str__(self) -> str:
        return f"remembered under {self.authorization_id}"


class AuthorizationRequest(models.Model):
    """What a client asked for, kept here while the person decides: the form can only narrow it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(Client, models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    # SHA-256 of the session's key: the decision must come from the browser that was asked.
    session_sha256 = models.CharField(max_length=64)
    redirect_uri = models.TextField()
    state = models.TextField(null=True)  # noqa: DJ001  absent and empty differ: it is echoed
    scope = models.TextField()
    resource = models.CharField(max_length=500)
    code_challenge = models.CharField(max_length=43)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("authorization request")
        verbose_name_plural = _("authorization requests")
        indexes = [models.Index(fields=("expires_at",), name="oauth_request_expiry")]

    def __str__(self) -> str:
        return f"request {self.pk}"


class Grant(AbstractGrant):
    """An authorization code: its SHA-256 only. Spent rows stay a day, to recognise a replay."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    code = models.CharField(max_length=64, unique=True, editable=False)
    authorization = models.ForeignKey(Authorization, models.CASCADE, related_name="grants")
    code_challenge = models.CharField(max_length=43, editable=False)
    consumed_at = models.DateTimeField(_("consumed"), null=True, editable=False)

    user = None
    application = None
    scope = None
    resource = None
    code_challenge_method = None
    nonce = None
    claims = None
    updated = None

    class Meta(AbstractGrant.Meta):
        verbose_name = _("authorization code")
        verbose_name_plural = _("authorization codes")
        indexes = [models.Index(fields=("expires",), name="oauth_grant_expiry")]


class AccessToken(AbstractAccessToken):
    """A bearer token: its SHA-256, its own scope and its hour. It is revoked with its chain."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    token_checksum = models.CharField(max_length=64, unique=True, editable=False)
    authorization = models.ForeignKey(Authorization, models.CASCADE, related_name="access_tokens")

    token = None
    user = None
    application = None
    id_token = None
    source_refresh_token = None
    resource = None
    updated = None

    class Meta(AbstractAccessToken.Meta):
        verbose_name = _("access token")
        verbose_name_plural = _("access tokens")
        indexes = [models.Index(fields=("expires",), name="oauth_access_expiry")]


class RefreshToken(AbstractRefreshToken):
    """A refresh token: its SHA-256. Used rows stay: deleted, a replay would not be recognised."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    token_checksum = models.CharField(max_length=64, unique=True, editable=False)
    authorization = models.ForeignKey(Authorization, models.CASCADE, related_name="refresh_tokens")
    scope = models.TextField(_("scope"))
    used_at = models.DateTimeField(_("used"), null=True, editable=False)
    # The pair it was spent for, while the replay window keeps it (`oauth/replay_window.py`).
    sealed_reply = models.BinaryField(null=True, editable=False)

    token = None
    user = None
    application = None
    access_token = None
    token_family = None
    resource = None
    revoked = None
    updated = None

    class Meta:
        verbose_name = _("refresh token")
        verbose_name_plural = _("refresh tokens")
        indexes = [
            models.Index(
                fields=("used_at",),
                condition=models.Q(sealed_reply__isnull=False),
                name="oauth_refresh_sealed",
            )
        ]


class IDToken(AbstractIDToken):
    """Swapped with the rest so that the toolkit owns no table; this server issues none."""

    class Meta(AbstractIDToken.Meta):
        verbose_name = _("ID token")
        verbose_name_plural = _("ID tokens")
