"""Users, organizations, memberships, feature flags and agents."""

import uuid
from collections.abc import Iterator
from functools import cache
from typing import ClassVar, Final
from zoneinfo import available_timezones

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import connection, models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from foundation.ids import uuid7
from workspace import caps


def validate_time_zone(name: str) -> None:
    """Raises ValidationError unless this is a name of the IANA time zone database."""
    if name not in available_time_zones():
        raise ValidationError(_("This is no time zone. Enter a name such as Europe/Berlin."))


@cache
def available_time_zones() -> frozenset[str]:
    return frozenset(available_timezones())


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        """Creates a user who signs in with an address; without a password they cannot sign in."""
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
    # The member of a service client: it cannot sign in, administers nothing and approves nothing. A
    # default of the database: an older process may still create users.
    is_program = models.BooleanField(
        _("is a program"), default=False, db_default=False, editable=False
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

    @cached_property
    def active_roles(self) -> dict[uuid.UUID, str]:
        """The role by organization, of active memberships; read once per instance."""
        active = self.memberships.filter(ACTIVE_MEMBERSHIP)
        return dict(active.values_list("organization_id", "role"))

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return self.get_full_name()

    def get_session_auth_hash(self) -> str:
        """The hash that a session must hold: of this password, in this session generation."""
        return self._append_generation(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return map(self._append_generation, super().get_session_auth_fallback_hash())

    def _append_generation(self, password_hash: str) -> str:
        return f"{password_hash}.{self.session_generation}"


class OrganizationManager(models.Manager["Organization"]):
    """Organizations that people work with; sandboxes are found by their organization only."""

    def get_queryset(self) -> "models.QuerySet[Organization]":
        return super().get_queryset().filter(sandbox_of=None)


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
    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        default="UTC",
        db_default="UTC",
        validators=[validate_time_zone],
        help_text=_("Days, weeks and months of the data tools begin at midnight here."),
    )
    currency = models.CharField(
        _("currency"),
        max_length=3,
        default="USD",
        db_default="USD",
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", _("Three capital letters (ISO 4217)."))],
        help_text=_("The currency of every amount, such as MRR."),
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

    # Set for the sandbox of another organization: it has made-up HR records and no members.
    sandbox_of = models.OneToOneField(
        "self", models.CASCADE, related_name="sandbox", null=True, editable=False
    )

    objects = OrganizationManager()
    with_sandboxes: models.Manager["Organization"] = models.Manager()

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
    """The membership of a user in an organization; `ACTIVE_MEMBERSHIP` is when it gives rights.

    Leaving deletes the row and joining again creates another. Authorizations refer to the row, so a
    token of an earlier membership does not become valid again.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="memberships")
    role = models.CharField(_("role"), max_length=20, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField(_("since"), default=timezone.now, editable=False)
    # Connections and roles pause while it is set, and continue when an admin clears it.
    suspended_at = models.DateTimeField(_("suspended"), null=True, editable=False)

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


# Which memberships give their role, and let connections and tokens work.
ACTIVE_MEMBERSHIP: Final = models.Q(suspended_at=None, organization__suspended_at=None)


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
    SALES = "sales", _("Sales")
    HELP_CENTER = "help_center", _("Help center")


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


def row_key(value: uuid.UUID) -> uuid.UUID | str:
    """Returns a primary key as a parameter of raw SQL; `ids.from_row` reads one back."""
    return value if connection.features.has_native_uuid_field else value.hex
