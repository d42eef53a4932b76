"""The admin pages of users, organizations, memberships and feature flags."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workspace import flags, organizations
from workspace.administration.access import grantable_roles
from workspace.administration.outgoing_mail import OutgoingMailAdmin
from workspace.administration.publishing import PublishingAdmin
from workspace.administration.scoped import ScopedAdmin, ScopedInline
from workspace.administration.stale import lock_row
from workspace.models import (
    Agent,
    FeatureFlag,
    Membership,
    Organization,
    OutgoingMail,
    Role,
    User,
)
from workspace.models.people import available_time_zones

# Only superusers change rights; otherwise a permission to change users would grant every other.
GRANTS: Final = ("is_staff", "is_superuser", "groups", "user_permissions")
PLATFORM_FIELDS: Final = ("slug", "calls_per_minute", "suspended_at")


class LowerCaseEmail:
    """Stores addresses in lower case, as sign-in looks them up."""

    cleaned_data: dict[str, Any]

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"]).strip().lower()


class UserForm(LowerCaseEmail, UserChangeForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = "__all__"


class NewUserForm(LowerCaseEmail, AdminUserCreationForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ("email",)


def may_touch(request: HttpRequest, person: User) -> bool:
    """Returns whether the visitor may change how this user signs in, in addition to the permission.

    Without it, staff with few permissions could take over an account that has more.
    """
    return bool(request.user.is_superuser) or not (person.is_staff or person.is_superuser)


class MembershipInline(ScopedInline):
    """Memberships on the page of a person or an organization; superusers change them here.

    Others change a role on the membership's own page, which knows the roles that they may give.
    """

    model = Membership
    extra = 0
    autocomplete_fields = ("user", "organization")

    def _may(self, request: HttpRequest, obj: Any, *verbs: str) -> bool:
        if not request.user.is_superuser and "view" not in verbs:
            return False
        return super()._may(request, obj, *verbs)


@admin.register(User)
class UserAdmin(PublishingAdmin, DjangoUserAdmin):  # type: ignore[type-arg]
    organization_lookup = "memberships__organization"
    form = UserForm
    add_form = NewUserForm
    ordering = ("email",)
    list_display = ("email", "name", "is_active", "is_staff", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("email", "name")
    readonly_fields: ClassVar[Any] = ("last_login", "date_joined")
    inlines: ClassVar[Any] = [MembershipInline]
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("email", "name", "password")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "usable_password", "password1", "password2")}),)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _is_open(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _is_open(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = tuple(super().get_readonly_fields(request, obj))
        return fields if request.user.is_superuser else (*fields, *GRANTS)


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(ScopedAdmin, DjangoGroupAdmin):  # type: ignore[misc]  # signatures as Django has them
    """Groups grant permissions, so they are open to superusers only."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  Django's signature
        return bool(request.user.is_superuser)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return bool(request.user.is_superuser)


def _is_open(request: HttpRequest, person: User | None) -> bool:
    return person is None or may_touch(request, person)


class FlagForm(forms.ModelForm):  # type: ignore[type-arg]
    name = forms.ChoiceField(choices=flags.CHOICES, label=_("Flag"))


class FlagInline(ScopedInline):
    model = FeatureFlag
    form = FlagForm
    extra = 0
    max_num = len(flags.CHOICES)


class AgentInline(ScopedInline):
    model = Agent
    extra = 0
    can_delete = False
    readonly_fields = ("kind", "created_at")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False


class SuspendedWidget(AdminSplitDateTime):
    """Django's two inputs, each with a label for screen readers."""

    def __init__(self) -> None:
        super().__init__()
        for box, name in zip(
            self.widgets, (_("Suspended, date"), _("Suspended, time")), strict=True
        ):
            box.attrs["aria-label"] = name


class OrganizationForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        widgets = {"suspended_at": SuspendedWidget()}


@admin.register(Organization)
class OrganizationAdmin(PublishingAdmin):
    form = OrganizationForm
    organization_lookup = "pk"
    list_display = ("name", "slug", "created_at", "suspended_at")
    list_filter = (("suspended_at", admin.EmptyFieldListFilter),)
    search_fields = ("name", "slug")
    fields = (
        *("name", "slug", "time_zone", "currency", "widget_key"),
        *("calls_per_minute", "suspended_at", "created_at"),
    )
    readonly_fields = ("widget_key", "created_at")
    inlines: ClassVar[Any] = [FlagInline, AgentInline, MembershipInline]

    def event_filters(self, row: Organization) -> dict[str, str]:
        return {"organization": str(row.pk)}

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "time_zone":
            zones = sorted(available_time_zones())
            kwargs["widget"] = forms.Select(choices=[(name, name) for name in zones])
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Makes fields that only the platform sets read-only for an organization's own admins."""
        fields = tuple(super().get_readonly_fields(request, obj))
        is_platform = self.reach(request, "add", "change").everywhere
        return fields if is_platform else (*fields, *PLATFORM_FIELDS)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        if change:
            super().save_model(request, obj, form, change)
        else:
            organizations.establish(obj)


@admin.register(Membership)
class MembershipAdmin(PublishingAdmin):
    organization_lookup = "organization"
    list_display: Any = ("user", "organization", "role", "created_at")
    list_filter: ClassVar[Any] = ("role", "organization")
    list_select_related = ("user", "organization")
    search_fields = ("user__email", "organization__name")
    autocomplete_fields = ("user", "organization")

    def lock(self, row: Any) -> None:
        # The organization first, as whoever removes a super admin does.
        lock_row(row.organization)
        super().lock(row)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        # With another user, an old membership would keep its authorizations.
        fixed = () if obj is None or request.user.is_superuser else ("user", "organization")
        return (*super().get_readonly_fields(request, obj), *fixed)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and may_regrade(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and may_regrade(request, obj)

    def get_form(
        self,
        request: HttpRequest,
        obj: Any = None,
        change: bool = False,  # noqa: FBT001, FBT002  Django's signature
        **kwargs: Any,
    ) -> Any:
        """Offers the roles that the visitor may give: only superusers may give all."""
        form = super().get_form(request, obj, change, **kwargs)
        if "role" in form.base_fields and not request.user.is_superuser:
            place = obj.organization_id if obj else None
            roles = grantable_roles(request.user, place) if place else (Role.MEMBER,)
            chosen = cast("forms.ChoiceField", form.base_fields["role"])
            chosen.choices = [(role.value, role.label) for role in roles]
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        with keeping_a_super_admin(request, {obj.organization_id}):
            super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with keeping_a_super_admin(request, {obj.organization_id}):
            super().delete_model(request, obj)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        # Django logs the deletions of an action before it makes them.
        with transaction.atomic():
            return super().changelist_view(request, extra_context)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        with keeping_a_super_admin(request, self._organizations(queryset)):
            super().delete_queryset(request, queryset)


@contextmanager
def keeping_a_super_admin(request: HttpRequest, organization_ids: set[UUID]) -> Iterator[None]:
    """Raises PermissionDenied, and rolls back, if the block removes the last super admin.

    Each visitor may remove one super admin of two, so both together, or one of them who selects
    both, could remove all. Superusers may.
    """
    if request.user.is_superuser:
        yield
        return
    rows = _super_admins().filter(organization__in=organization_ids)
    with transaction.atomic():
        # Concurrent changes of the same organization's memberships wait here until this commits.
        # Not those who refer to the organization with a new row, and have locked a membership.
        rows_to_lock = Organization.objects.select_for_update(no_key=True).order_by("pk")
        list(rows_to_lock.filter(pk__in=organization_ids))
        before = set(rows.values_list("organization", flat=True))
        yield
        if before - set(rows.values_list("organization", flat=True)):
            raise PermissionDenied(_("An organization keeps at least one super admin."))


def may_regrade(request: HttpRequest, membership: Membership | None) -> bool:
    """Returns whether the visitor may change or end a membership, given its role.

    Only a superuser may change the last super admin of an organization.
    """
    if membership is None or request.user.is_superuser:
        return True
    if membership.role not in grantable_roles(request.user, membership.organization_id):
        return False
    rest = _super_admins().filter(organization=membership.organization_id)
    return membership.role != Role.SUPER_ADMIN or rest.exclude(pk=membership.pk).exists()


def _super_admins() -> QuerySet[Membership]:
    """Returns the memberships of people who can administer; a program cannot sign in."""
    return Membership.objects.filter(
        role=Role.SUPER_ADMIN, suspended_at=None, user__is_program=False
    )


admin.site.register(OutgoingMail, OutgoingMailAdmin)
admin.site.index_title = _("Administration")
