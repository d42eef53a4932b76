"""Clients, authorizations and their credentials.

The five models of django-oauth-toolkit, swapped, without the columns that would hold a secret in
clear text or redundant data. `Authorization` is the root of a token family: one row for each
consent, and one UPDATE of it revokes everything that was issued under it.
"""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractApplication,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)

from foundation import admin_urls
from foundation.ids import uuid7
from oauth.principal import KeyKind
from workspace.models import Membership, Organization


class AuthMethod(models.TextChoices):
    """How a client authenticates at the token endpoint (RFC 7591 section 2)."""

    NONE = "none", _("public, no secret")
    BASIC = "client_secret_basic", _("secret in the Authorization header")
    POST = "client_secret_post", _("secret in the form")
    KEY = "private_key_jwt", _("assertion signed with a private key")


class Client(AbstractApplication):
    """A program that requests access, however it was registered."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # A JSON list: in a space-separated string, a second URI could be smuggled in.
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

    # Columns of the toolkit that are not used: a secret that may be in clear text, grants and
    # algorithms that this server does not support, a switch that skips consent.
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

    def clean(self) -> None:
        """Checks nothing: the toolkit expects URIs as text, and `ClientMetadata` validates them."""

    def get_absolute_url(self) -> str:
        """Returns the URL of the admin page: the toolkit's own page is not served here."""
        return admin_urls.row_url(self)


class Authorization(models.Model):
    """One consent of a user: the client, the organization and the scope."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(Client, models.CASCADE, related_name="authorizations")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="authorizations"
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="authorizations")
    # Null once the user has left: a later membership is another row and does not restore it.
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


class ServiceClient(models.Model):
    """A client that acts for no person, with a member of its own: the client credentials grant.

    `oauth.clients.service_clients` creates, changes and ends them.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="service_clients")
    client = models.OneToOneField(Client, models.CASCADE, related_name="service")
    # What its access tokens are issued under. It does not expire: it ends when an admin ends it.
    authorization = models.OneToOneField(Authorization, models.CASCADE, related_name="service")
    # The public keys of a client with `private_key_jwt` (RFC 7517 section 5), else null.
    jwks = models.JSONField(null=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, editable=False)

    class Meta:
        verbose_name = _("service client")
        verbose_name_plural = _("service clients")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.client.name


class UsedAssertion(models.Model):
    """A client assertion that was accepted, until it expires: it is accepted once.

    Source: RFC 7523 section 3, item 7.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(Client, models.CASCADE, related_name="+")
    jti_sha256 = models.CharField(max_length=64, editable=False)
    expires_at = models.DateTimeField(editable=False)

    class Meta:
        verbose_name = _("used assertion")
        verbose_name_plural = _("used assertions")
        constraints = [
            models.UniqueConstraint(fields=("client", "jti_sha256"), name="oauth_assertion_once"),
        ]
        indexes = [models.Index(fields=("expires_at",), name="oauth_assertion_expiry")]

    def __str__(self) -> str:
        return f"assertion {self.pk}"


class RememberedConsent(models.Model):
    """“Don't ask again for exactly this”, chosen when an authorization was created."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    authorization = models.OneToOneField(
        Authorization, models.CASCADE, related_name="remembered", editable=False
    )
    # The requested scope, not the selected one: the next request has to be the same.
    redirect_uri = models.TextField(editable=False)
    scope = models.TextField(editable=False)
    # SHA-256 of all that must not change: the client, the user's password, the scope.
    circumstances_sha256 = models.CharField(max_length=64, editable=False)
    expires_at = models.DateTimeField(editable=False)

    class Meta:
        verbose_name = _("remembered consent")
        verbose_name_plural = _("remembered consents")
        indexes = [models.Index(fields=("expires_at",), name="oauth_remembered_expiry")]

    def __str__(self) -> str:
        return f"remembered under {self.authorization_id}"


class AuthorizationRequest(models.Model):
    """What a client requested, stored while the user decides: the form can only narrow it."""

    class Outcome(models.TextChoices):
        """What the user decided; empty while the request is open or if the client changed."""

        APPROVED = "approved", _("approved")
        CANCELLED = "cancelled", _("cancelled")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(Client, models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    # SHA-256 of the session's key: the decision must come from the same browser.
    session_sha256 = models.CharField(max_length=64)
    redirect_uri = models.TextField()
    state = models.TextField(null=True)  # noqa: DJ001  absent and empty differ: it is echoed
    scope = models.TextField()
    resource = models.CharField(max_length=500)
    code_challenge = models.CharField(max_length=43)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    # The approval, and its code for a minute, to repeat the redirect (oauth/consent/decisions.py).
    authorization = models.ForeignKey(Authorization, models.SET_NULL, null=True, related_name="+")
    sealed_code = models.BinaryField(null=True, editable=False)

    class Meta:
        verbose_name = _("authorization request")
        verbose_name_plural = _("authorization requests")
        indexes = [
            models.Index(fields=("expires_at",), name="oauth_request_expiry"),
            models.Index(
                fields=("decided_at",),
                condition=models.Q(sealed_code__isnull=False),
                name="oauth_request_sealed",
            ),
        ]

    def __str__(self) -> str:
        return f"request {self.pk}"


class Grant(AbstractGrant):
    """An authorization code: its SHA-256. Used rows are kept a day, to recognise a replay."""

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
    """A bearer token: its SHA-256, its own scope and its expiry. It is revoked with its family."""

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
    """A refresh token: its SHA-256. Used rows are kept: without them a replay is not recognised."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    token_checksum = models.CharField(max_length=64, unique=True, editable=False)
    authorization = models.ForeignKey(Authorization, models.CASCADE, related_name="refresh_tokens")
    scope = models.TextField(_("scope"))
    used_at = models.DateTimeField(_("used"), null=True, editable=False)
    # The pair that replaced it, stored during the replay window (`oauth/grants/replay_window.py`).
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


class ServerKey(models.Model):
    """A key with which an organization's own programs call an API: its SHA-256.

    `oauth.server_keys` creates, verifies and revokes keys.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="server_keys")
    name = models.CharField(_("name"), max_length=100)
    # A default of the database: an older process may still create keys.
    kind = models.CharField(
        _("API"), max_length=10, choices=KeyKind.choices, default=KeyKind.SDK, db_default="sdk"
    )
    checksum = models.CharField(max_length=64, unique=True, editable=False)
    # The last characters of the secret, by which people recognize a key.
    ending = models.CharField(_("ends with"), max_length=4, editable=False)
    scope = models.CharField(_("scope"), max_length=500)
    # Which records it sees, in the form that its API reads; empty for all.
    record_limit = models.CharField(
        _("limited to"), max_length=80, default="", db_default="", blank=True, editable=False
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        related_name="+",
        null=True,
        verbose_name=_("created by"),
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    # Written at most once in `expiry.USE_SECONDS`.
    last_used_at = models.DateTimeField(_("last used"), null=True, editable=False)
    revoked_at = models.DateTimeField(_("revoked"), null=True, editable=False)

    class Meta:
        verbose_name = _("server key")
        verbose_name_plural = _("server keys")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name


class McpToken(models.Model):
    """A token of a user for the workspace or for one project of the gateway: its SHA-256.

    `oauth.mcp_tokens` creates, verifies and revokes tokens.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mcp_tokens")
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="mcp_tokens")
    # Null once the user has left: a later membership is another row and does not restore it.
    membership = models.ForeignKey(Membership, models.SET_NULL, null=True, related_name="+")
    # The path of the resource under HALO_PUBLIC_URL: `/api/mcp`, or a project's, as `/prj_...`.
    resource_path = models.CharField(_("resource"), max_length=100, editable=False)
    # Empty for a project, of which a token may call every tool. A default of the database: an older
    # process may still create tokens.
    scope = models.TextField(_("scope"), default="", db_default="", editable=False)
    name = models.CharField(_("name"), max_length=100)
    checksum = models.CharField(max_length=64, unique=True, editable=False)
    # The last characters of the secret, by which people recognize a token.
    ending = models.CharField(_("ends with"), max_length=4, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    # Written at most once in `expiry.USE_SECONDS`.
    last_used_at = models.DateTimeField(_("last used"), null=True, editable=False)
    revoked_at = models.DateTimeField(_("revoked"), null=True, editable=False)

    class Meta:
        verbose_name = _("MCP token")
        verbose_name_plural = _("MCP tokens")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name


class IDToken(AbstractIDToken):
    """Swapped like the others, so that the toolkit creates no table; this server issues none."""

    class Meta(AbstractIDToken.Meta):
        verbose_name = _("ID token")
        verbose_name_plural = _("ID tokens")
