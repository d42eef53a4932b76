"""Who there is: people, organizations, who belongs where, and what is switched on for whom."""

import uuid
from collections.abc import Iterator
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import connection, models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from foundation.ids import uuid7
from workspace import caps


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        """A person who signs in with an address; without a password they cannot sign in yet."""
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person. The address is stored in lower case and is unique whatever its case."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField(_("email address"), unique=True)
    name = models.CharField(_("name"), max_length=150, blank=True)
    is_staff = models.BooleanField(_("may open the admin"), default=False)
    is_active = models.BooleanField(
        _("active"),
        default=True,
        help_text=_("Switching this off stops every token of this person on the next request."),
    )
    date_joined = models.DateTimeField(_("joined"), default=timezone.now, editable=False)
    session_generation = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text=_("Raised to end every session of this person that is open."),
    )

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [
            models.UniqueConstraint(Lower("email"), name="workspace_user_email_any_case"),
        ]

    def __str__(self) -> str:
        return self.email

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return self.get_full_name()

    def get_session_auth_hash(self) -> str:
        """What a session must have begun with to hold: this password, in this generation."""
        return self._in_this_generation(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return map(self._in_this_generation, super().get_session_auth_fallback_hash())

    def _in_this_generation(self, password_hash: str) -> str:
        return f"{password_hash}.{self.session_generation}"


class Organization(models.Model):
    """A tenant: everything that is not a person or a client belongs to exactly one."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=150)
    slug = models.SlugField(_("short name"), max_length=63, unique=True)
    widget_key = models.CharField(
        _("widget key"),
        max_length=80,
        unique=True,
        help_text=_("Publishable: it names the organization in the chat widget, ab_live_..."),
    )
    identity_secret = models.BinaryField(
        _("identity secret, sealed"),
        null=True,
        editable=False,
        help_text=_("Signs the identity tokens of the widget. Sealed; never shown, never listed."),
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    suspended_at = models.DateTimeField(
        _("suspended"),
        null=True,
        blank=True,
        help_text=_("Set: every token of this organization is refused on the next request."),
    )
    calls_per_minute = caps.field(
        _("Calls of tools over MCP, of all its connections together. Empty: no cap of its own.")
    )

    class Meta:
        verbose_name = _("organization")
        verbose_name_plural = _("organizations")
        ordering = ("name",)
        constraints = [caps.constraint("workspace_cap_is_a_limit")]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    SUPER_ADMIN = "super_admin", _("Super admin")
    ADMIN = "admin", _("Admin")
    MEMBER = "member", _("Member")


class Membership(models.Model):
    """A person's place in an organization.

    Leaving deletes the row and joining again makes another: authorizations name the row itself,
    so a token from before the gap does not come back to life.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="memberships")
    role = models.CharField(_("role"), max_length=20, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField(_("since"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [
            models.UniqueConstraint(
                fields=("user", "organization"), name="workspace_one_membership"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.organization}"


class FeatureFlag(models.Model):
    """An organization's choice that differs from the flag's default (`workspace/flags.py`)."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="flags")
    name = models.CharField(_("flag"), max_length=60)
    enabled = models.BooleanField(_("on"))
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("feature flag")
        verbose_name_plural = _("feature flags")
        constraints = [
            models.UniqueConstraint(fields=("organization", "name"), name="workspace_one_flag"),
        ]

    def __str__(self) -> str:
        return self.name


class AgentKind(models.TextChoices):
    ASK_AI = "ask_ai", _("Ask AI")
    CUSTOMER_FACING = "customer_facing", _("Customer-facing")
    INTERNAL = "internal", _("Internal")


class Agent(models.Model):
    """An assistant of an organization. Every organization has exactly one Ask AI agent."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="agents")
    kind = models.CharField(_("kind"), max_length=30, choices=AgentKind.choices)
    name = models.CharField(_("name"), max_length=150)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("agent")
        verbose_name_plural = _("agents")
        constraints = [
            models.UniqueConstraint(
                fields=("organization",),
                condition=models.Q(kind=AgentKind.ASK_AI),
                name="workspace_one_ask_ai",
            ),
        ]

    def __str__(self) -> str:
        return self.name


def new_customer_id() -> str:
    return ids.opaque("u_")


class Customer(models.Model):
    """Whom an organization serves. A call is bound to one by `id` or by `email`.

    `id` cannot be guessed. `external_id` is the customer's id in the organization's own app.
    Two customers may have one `email`. Rows are written by `workspace.customers` only, which
    fills `email_key`, by which they are looked up.
    """

    id = models.CharField(
        _("customer id"),
        primary_key=True,
        max_length=64,
        default=new_customer_id,
        editable=False,
        help_text=_("What a client sends as bound_end_user_id."),
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="customers")
    external_id = models.CharField(
        _("external id"),
        max_length=200,
        blank=True,
        help_text=_("The customer's id in your own app. No two customers have the same."),
    )
    email = models.EmailField(_("email address"), blank=True)
    email_key = models.CharField(max_length=254, blank=True, editable=False)
    name = models.CharField(_("name"), max_length=200, blank=True)
    vendor_ids = models.JSONField(_("ids at vendors"), default=dict, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("customer")
        verbose_name_plural = _("customers")
        indexes = [models.Index(fields=("organization", "email_key"), name="workspace_cust_email")]
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "external_id"),
                condition=~models.Q(external_id=""),
                name="workspace_one_external_id",
                violation_error_message=_("Another customer has this external id."),
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.email or self.external_id or self.id


def row_id(value: object) -> uuid.UUID:
    """A primary key as raw SQL returns it: a UUID from PostgreSQL, 32 hex digits from SQLite."""
    return value if isinstance(value, uuid.UUID) else ids.stored(str(value))


def row_key(value: uuid.UUID) -> uuid.UUID | str:
    """The other way round: a primary key as a parameter of raw SQL."""
    return value if connection.features.has_native_uuid_field else value.hex
