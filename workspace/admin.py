"""People, organizations and what is switched on for them."""

from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workspace import flags, organizations
from workspace.customer_admin import CustomerAdmin
from workspace.models import Agent, Customer, FeatureFlag, Membership, Organization, User
from workspace.publishing_admin import PublishingAdmin

# Only superusers hand out rights: whoever may change people could else give them to themselves.
GRANTS: Final = ("is_staff", "is_superuser", "groups", "user_permissions")


class LowerCaseEmail:
    """Addresses are stored in lower case, whatever an admin types: sign-in looks them up so."""

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
    """Whether somebody may change how this person signs in, beside the permission for it.

    Else staff with few permissions could take over an account that has more.
    """
    return bool(request.user.is_superuser) or not (person.is_staff or person.is_superuser)


class MembershipInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Membership
    extra = 0
    autocomplete_fields = ("user", "organization")


@admin.register(User)
class UserAdmin(PublishingAdmin, DjangoUserAdmin):  # type: ignore[type-arg]
    organization_lookup = "memberships__organization"
    form = UserForm
    add_form = NewUserForm
    ordering = ("email",)
    list_display = ("email", "name", "is_active", "is_staff", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("email", "name")
    readonly_fields = ("last_login", "date_joined")
    inlines: ClassVar[Any] = [MembershipInline]
    fieldsets = (
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


def _is_open(request: HttpRequest, person: User | None) -> bool:
    return person is None or may_touch(request, person)


class FlagForm(forms.ModelForm):  # type: ignore[type-arg]
    name = forms.ChoiceField(choices=flags.CHOICES, label=_("Flag"))


class FlagInline(admin.TabularInline):  # type: ignore[type-arg]
    model = FeatureFlag
    form = FlagForm
    extra = 0
    max_num = len(flags.CHOICES)


class AgentInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Agent
    extra = 0
    can_delete = False
    readonly_fields = ("kind", "created_at")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False


class SuspendedWidget(AdminSplitDateTime):
    """Django's two boxes, each with a name of its own for those who cannot see the words beside."""

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
    fields = ("name", "slug", "widget_key", "calls_per_minute", "suspended_at", "created_at")
    readonly_fields = ("widget_key", "created_at")
    inlines: ClassVar[Any] = [FlagInline, AgentInline, MembershipInline]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        if change:
            super().save_model(request, obj, form, change)
        else:
            organizations.establish(obj)


@admin.register(Membership)
class MembershipAdmin(PublishingAdmin):
    organization_lookup = "organization"
    list_display = ("user", "organization", "role", "created_at")
    list_filter = ("role", "organization")
    list_select_related = ("user", "organization")
    search_fields = ("user__email", "organization__name")
    autocomplete_fields = ("user", "organization")


admin.site.register(Customer, CustomerAdmin)
admin.site.site_header = "Halo MCP"
admin.site.site_title = "Halo MCP"
admin.site.index_title = _("Administration")
