"""Projects of the gateway: an API as tools, who may call what, and the calls of a month."""

from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from gateway.openapi import names
from workspace.models import Organization

PROJECT_PREFIX: Final = "prj_"


def project_id() -> str:
    return ids.reference(PROJECT_PREFIX)


class Authentication(models.TextChoices):
    """How calls to the API of a project are authenticated."""

    NONE = "none", _("None")
    PROJECT = "project", _("One credential for the project")
    PERSON = "person", _("A credential of each person")


class Effect(models.TextChoices):
    ALLOW = "allow", _("Allow")
    REQUIRE_APPROVAL = "require_approval", _("Require approval")
    DENY = "deny", _("Deny")


class Project(models.Model):
    """An API that an organization offers to its people as tools, at an MCP endpoint of its own.

    `target_url` is the address that calls go to; an admin confirmed it. `servers` are those that
    operations declare for themselves, with the URLs that an admin confirmed for them. The owner
    approves what no rule names an approver for.
    """

    id = models.CharField(primary_key=True, max_length=26, default=project_id, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="projects")
    name = models.CharField(_("name"), max_length=150)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("owner"),
    )
    target_url = models.CharField(_("target URL"), max_length=500)
    # NULL in rows that an earlier version has made.
    servers = models.JSONField(
        _("servers of operations"), default=dict, null=True, blank=True, editable=False
    )
    # Where the document was fetched from; empty for one that was uploaded or pasted.
    document_url = models.CharField(_("address of the document"), max_length=500, blank=True)
    authentication = models.CharField(
        _("authentication"),
        max_length=20,
        choices=Authentication.choices,
        default=Authentication.NONE,
    )
    # What happens to calls that no rule matches, by method: reads, and everything else.
    reads = models.CharField(
        _("reads (GET and HEAD)"), max_length=20, choices=Effect.choices, default=Effect.ALLOW
    )
    writes = models.CharField(
        _("everything else"),
        max_length=20,
        choices=Effect.choices,
        default=Effect.REQUIRE_APPROVAL,
    )
    self_approval = models.BooleanField(
        _("requesters may approve their own requests"), default=False
    )
    approval_minutes = models.PositiveIntegerField(_("minutes to approve"), default=1_440)
    # Counts imports; a request for approval is bound to the version that it was made with.
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("project")
        verbose_name_plural = _("projects")
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(fields=("organization", "name"), name="gateway_project_name"),
        ]

    def __str__(self) -> str:
        return self.name


class ProjectDocument(models.Model):
    """The text of an imported OpenAPI document; the newest is the one in use."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="documents")
    version = models.PositiveIntegerField(editable=False)
    text = models.TextField(editable=False)
    sha256 = models.CharField(max_length=64, editable=False)
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(_("imported"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("OpenAPI document")
        verbose_name_plural = _("OpenAPI documents")
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=("project", "version"), name="gateway_document_version"),
        ]

    def __str__(self) -> str:
        return f"{self.project_id} {self.version}"


class ImportDraft(models.Model):
    """An import that an admin looks at before it is saved: of a new project, or of a known one.

    `fields` have what the admin entered for a new project, and what the document came to when it
    was read (`gateway.projects.keep_import`). For a known project, they keep what its document in
    use comes to if a preview has mapped that again.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    fields = models.JSONField(default=dict)
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"draft {self.pk}"


class ProjectTool(models.Model):
    """One operation of a project's document as a tool.

    `operation` is a `gateway.openapi.shapes.OpenApiOperation` as JSON. A tool whose operation
    left the document is kept, absent; its policy applies again when the operation returns. A tool
    whose meaning changed waits for a review, and calls of it are refused until then.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="tools")
    name = models.CharField(_("tool"), max_length=64)
    key = models.CharField(_("operation"), max_length=500)
    operation = models.JSONField(editable=False)
    fingerprint = models.CharField(max_length=64, editable=False)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    is_present = models.BooleanField(_("in the document"), default=True, editable=False)
    is_read = models.BooleanField(
        _("only reads"),
        default=False,
        help_text=_("Has the policy of reads, whatever its method is."),
    )
    needs_review = models.BooleanField(_("changed, waits for review"), default=False)
    # What changed, as `gateway.differences.Note` for the admin who reviews it.
    review_notes = models.JSONField(default=list, editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("project tool")
        verbose_name_plural = _("project tools")
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(fields=("project", "name"), name="gateway_tool_name"),
            models.UniqueConstraint(fields=("project", "key"), name="gateway_tool_key"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_destructive(self) -> bool:
        """Whether lists mark it: what it does cannot be undone."""
        method, _space, _path = self.key.partition(" ")
        return names.is_destructive(method, self.name, is_read=self.is_read)


class ApproverGroup(models.Model):
    """People of an organization who may decide requests that name the group."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="approver_groups")
    name = models.CharField(_("name"), max_length=150)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="+", verbose_name=_("members"), blank=True
    )

    class Meta:
        verbose_name = _("approver group")
        verbose_name_plural = _("approver groups")
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(fields=("organization", "name"), name="gateway_group_name"),
        ]

    def __str__(self) -> str:
        return self.name


class PolicyRule(models.Model):
    """One line of a project's policy: the first that matches a call decides about it.

    `pattern` is a tool's name in which `*` matches any characters. `conditions` are a list of
    `{"pointer", "operator", "value"}` about the arguments, all of which have to hold.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="rules")
    position = models.PositiveIntegerField(_("position"))
    pattern = models.CharField(_("tools"), max_length=100)
    conditions = models.JSONField(_("conditions"), default=list, blank=True)
    effect = models.CharField(_("effect"), max_length=20, choices=Effect.choices)
    approvers = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="+", verbose_name=_("approvers"), blank=True
    )
    approver_groups = models.ManyToManyField(
        ApproverGroup, related_name="+", verbose_name=_("groups of approvers"), blank=True
    )
    # Roles of `workspace.models.Role` whose members may decide.
    approver_roles = models.JSONField(_("roles of approvers"), default=list, blank=True)

    class Meta:
        verbose_name = _("policy rule")
        verbose_name_plural = _("policy rules")
        ordering = ("position", "id")
        indexes = [models.Index(fields=("project", "position"), name="gateway_rule_order")]

    def __str__(self) -> str:
        return f"{self.pattern}: {self.effect}"


class UpstreamCredential(models.Model):
    """What calls to a project's API are authenticated with: sealed for this row, never shown.

    Without a user it belongs to the project.
    """

    class State(models.TextChoices):
        UNTESTED = "untested", _("Not tested")
        WORKS = "works", _("Works")
        REFUSED = "refused", _("Refused by the API")

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="credentials")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    # The name of the security scheme in the document.
    scheme = models.CharField(_("security scheme"), max_length=200)
    sealed = models.BinaryField(editable=False)
    state = models.CharField(
        _("state"), max_length=20, choices=State.choices, default=State.UNTESTED
    )
    expires_at = models.DateTimeField(_("expires"), null=True, editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("upstream credential")
        verbose_name_plural = _("upstream credentials")
        constraints = [
            models.UniqueConstraint(
                fields=("project", "user", "scheme"), name="gateway_credential_of_user"
            ),
            models.UniqueConstraint(
                fields=("project", "scheme"),
                condition=models.Q(user__isnull=True),
                name="gateway_credential_of_project",
            ),
        ]

    def __str__(self) -> str:
        return f"credential {self.pk}"


class Plan(models.Model):
    """How many calls an organization may make in a calendar month (UTC). No row: the default."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.OneToOneField(Organization, models.CASCADE, related_name="gateway_plan")
    monthly_calls = models.PositiveBigIntegerField(
        _("calls a month"), null=True, blank=True, help_text=_("Empty: no limit.")
    )

    class Meta:
        verbose_name = _("plan")
        verbose_name_plural = _("plans")

    def __str__(self) -> str:
        return str(self.organization)


class MonthlyUsage(models.Model):
    """How many calls an organization has made in one month; `month` is its first day."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    month = models.DateField(_("month"))
    calls = models.PositiveBigIntegerField(_("calls"), default=0)
    # The highest threshold in per cent that a warning was sent for.
    warned_at = models.PositiveSmallIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = _("monthly usage")
        verbose_name_plural = _("monthly usage")
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "month"), name="gateway_usage_of_month"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.organization_id} {self.month}"
