"""Projects in the admin: the same functions as on the console pages, and the plans of operators."""

from contextlib import ExitStack
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from foundation.links import link
from gateway import credentials, importing, outbound_policy, projects
from gateway.importing import AnotherIsRead, UnusableDocument
from gateway.models import MonthlyUsage, Plan, Project, ProjectTool, UpstreamCredential
from gateway.openapi.shapes import Import
from gateway.outbound_policy import InvalidTargetUrl
from oauth.endpoints import replies
from workspace.administration.scoped import ReadOnlyAdmin, ScopedAdmin, offered_rows
from workspace.models import Organization, User

POLICY = ("policy", "reads", "writes", "self_approval", "approval_minutes")
SHOWN = (*POLICY, "version", "created_at", "updated_at")


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]
    """A project; a new one is made of the document that is pasted."""

    document = forms.CharField(
        label=_("OpenAPI document"), widget=forms.Textarea, required=False, strip=False
    )

    # What the document comes to, once it was read.
    imported: Import | None = None

    class Meta:
        model = Project
        fields = ("organization", "name", "owner", "target_url", "authentication")

    def clean_target_url(self) -> str:
        try:
            return outbound_policy.base_url(self.cleaned_data["target_url"])
        except InvalidTargetUrl as invalid:
            raise forms.ValidationError(str(invalid)) from None

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        # Absent where the form has an error of its own for it.
        owner = given.get("organization") or self.instance.organization_id
        others = Project.objects.filter(organization=owner, name=str(given.get("name", "")))
        if others.exclude(pk=self.instance.pk).exists():
            self.add_error("name", _("The organization has a project of this name."))
        return given

    def clean_document(self) -> str:
        text = str(self.cleaned_data["document"])
        is_new = not Project.objects.filter(pk=self.instance.pk).exists()
        # Without an organization nothing is saved, and it is not known whose document it is.
        if is_new and "organization" in self.cleaned_data:
            try:
                # In the transaction of the page, before which it was charged.
                self.imported = importing.read_uncharged(text).imported
            except UnusableDocument as unusable:
                raise forms.ValidationError(str(unusable)) from None
        return text


@admin.register(Project)
class ProjectAdmin(ScopedAdmin):
    organization_lookup = "organization"
    form = ProjectForm
    list_display = ("name", "organization", "target_url", "authentication", "owner", "created_at")
    list_filter = ("authentication", "organization", "created_at")
    list_select_related = ("organization", "owner")
    search_fields = ("name", "=id")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002  Django's signature
        shared = ("organization", "name", "owner", "target_url", "authentication")
        return (*shared, *SHOWN) if obj else (*shared, "document")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return ("organization", *SHOWN) if obj else ()

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Reads a document on the page, charged before its transaction begins."""
        if request.method != "POST":
            return super().add_view(request, form_url, extra_context)
        person, organizations = cast("User", request.user).pk, self._posted_organizations(request)
        try:
            with importing.hold_page(person, organizations), ExitStack() as charged:
                for organization in organizations:
                    charged.enter_context(importing.spend_time(organization))
                return super().add_view(request, form_url, extra_context)
        except (AnotherIsRead, UnusableDocument) as refused:
            messages.error(request, str(refused))
            return HttpResponseRedirect(request.path)

    def _posted_organizations(self, request: HttpRequest) -> frozenset[UUID]:
        """Returns the organization of the form, if the visitor may choose it."""
        try:
            # As the field reads it.
            posted = UUID(hex=request.POST.get("organization", ""))
        except ValueError:
            return frozenset()
        own = offered_rows(Organization, self.reach(request, "add")).filter(pk=posted)
        return frozenset(own.values_list("pk", flat=True))

    def event_filters(self, row: Any) -> dict[str, str]:
        return {"subject": str(row.pk)}

    @admin.display(description=_("policy"))
    def policy(self, project: Project) -> SafeString:
        """Where the policy is changed: the only page that shows what a change of it does."""
        address = reverse("project_policy", args=[project.pk])
        return link(address, _("Rules and defaults"))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        """Saves a changed project, or makes a new one with the tools of its document."""
        user, address = cast("User", request.user), replies.address_of(request)
        given = form.cleaned_data
        if change:
            changed = {name: given[name] for name in form.changed_data if name != "document"}
            projects.change(obj, user, address=address, **changed)
            return
        obj.pk = projects.create(
            obj.organization,
            name=obj.name,
            target_url=obj.target_url,
            document_text=given["document"],
            imported=form.imported,
            owner=obj.owner,
            authentication=obj.authentication,
            address=address,
        ).project.pk

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """The permission for a project includes what belongs to it, which no page deletes."""
        listed, counts, _needed, protected = super().get_deleted_objects(objs, request)
        return listed, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Project) -> None:
        projects.delete(obj, cast("User", request.user), address=replies.address_of(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Project]) -> None:
        for project in queryset:
            self.delete_model(request, project)


@admin.register(ProjectTool)
class ProjectToolAdmin(ReadOnlyAdmin):
    organization_lookup = "project__organization"
    deferred = ("operation",)
    list_display = (
        *("name", "project", "key", "destructive"),
        *("is_enabled", "is_read", "needs_review", "is_present"),
    )
    list_filter = ("is_enabled", "is_read", "needs_review", "is_present", "project__organization")
    list_select_related = ("project",)
    search_fields = ("name", "key", "=project__id")
    fields = (
        *("project", "switches", "name", "key"),
        *("is_enabled", "is_read", "needs_review", "is_present"),
    )
    readonly_fields = ("switches",)

    @admin.display(description=_("destructive"), boolean=True)
    def destructive(self, tool: ProjectTool) -> bool:
        return tool.is_destructive

    @admin.display(description=_("switches and review"))
    def switches(self, tool: ProjectTool) -> SafeString:
        """Where they are changed: the only page that confirms what a change of them opens."""
        address = reverse("project", args=[tool.project_id])
        return link(address, _("The page of the project"))


@admin.register(UpstreamCredential)
class UpstreamCredentialAdmin(ReadOnlyAdmin):
    """Who has a credential for which API; the credentials themselves have no page."""

    organization_lookup = "project__organization"
    list_display = ("project", "user", "scheme", "present_state", "updated_at")
    list_filter = ("state", "project__organization")
    list_select_related = ("project", "user")
    search_fields = ("scheme", "=user__email", "=project__id")
    fields = ("project", "user", "scheme", "present_state", "updated_at")

    @admin.display(description=_("state"), ordering="state")
    def present_state(self, row: UpstreamCredential) -> str:
        is_readable = credentials.is_readable(row)
        return str(row.get_state_display()) if is_readable else gettext("Cannot be decrypted")


@admin.register(Plan)
class PlanAdmin(ScopedAdmin):
    organization_lookup = "organization"
    list_display = ("organization", "monthly_calls")
    list_filter = ("organization",)
    list_select_related = ("organization",)
    search_fields = ("organization__name",)
    fields = ("organization", "monthly_calls")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return ("organization",) if obj else ()


@admin.register(MonthlyUsage)
class MonthlyUsageAdmin(ReadOnlyAdmin):
    organization_lookup = "organization"
    list_display = ("organization", "month", "calls")
    list_filter = ("month", "organization")
    list_select_related = ("organization",)
    search_fields = ("organization__name",)
    fields = ("organization", "month", "calls")
