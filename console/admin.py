"""The second factors of users in the admin: which exist, and removing them.

allauth registers a page that shows and edits the data of a factor. This one replaces it, does not
show the data, and lets admins remove factors.
"""

from datetime import timedelta
from typing import Any, Final, cast

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from console.account import second_factors, sessions
from console.members import sign_in_status
from console.members.inline_changes import RecordedMemberships
from console.members.member_admin import MemberAdmin
from tools_registry.admin import SwitchedOrganizationAdmin
from workspace import outbox
from workspace.admin import UserAdmin, may_touch
from workspace.administration.access import grantable_roles
from workspace.administration.scoped import ReadOnlyAdmin
from workspace.models import MailKind, Organization, User
from workspace.outbox import Draft

__all__ = ["MemberAdmin"]

# How long the notice of a reset is tried to be sent.
NOTICE_FOR: Final = timedelta(days=1)

admin.site.unregister(Authenticator)
# allauth's list of addresses, which sign-in would use as well. It has no use in the admin.
admin.site.unregister(EmailAddress)
admin.site.unregister(User)
admin.site.unregister(Organization)


@admin.register(Organization)
class MembersOfOrganizationAdmin(RecordedMemberships, SwitchedOrganizationAdmin):
    """Organizations; changes of members are recorded, as those of flags are."""


@admin.register(User)
class PeopleAdmin(RecordedMemberships, UserAdmin):
    """Users; every password that staff set for another user is recorded."""

    fieldsets = (*UserAdmin.fieldsets, (_("Sign-in"), {"fields": ("sign_in",)}))
    readonly_fields = (*UserAdmin.readonly_fields, "sign_in")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leaves out the password, which has a button, for those who may not change it."""
        found = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return found
        return [
            (title, {**more, "fields": [name for name in more["fields"] if name != "password"]})
            for title, more in found
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> Any:
        person = more.get("obj")
        if person is not None:
            # What a display method may say depends on the visitor, whom Django does not pass on.
            person.sign_in_facts = sign_in_status.describe(person, self.reach(request, "view"))
        return super().render_change_form(request, context, *args, **more)

    @admin.display(description=_("sign-in"))
    def sign_in(self, person: User) -> SafeString | str:
        return getattr(person, "sign_in_facts", "")

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:  # noqa: A002  Django's signature
        before = self.get_object(request, unquote(id))
        response = super().user_change_password(request, id, form_url)
        after = self.get_object(request, unquote(id))
        if before and after and before.password != after.password:
            by = f"by {request.user}"
            second_factors.record_change(request, "password_set", after, detail=by)
        return response


@admin.register(Authenticator)
class SecondFactorAdmin(ReadOnlyAdmin):
    organization_lookup = "user__memberships__organization"
    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__email",)
    fields = list_display
    actions = ("reset",)

    # An action without a permission is available to all who may view.
    def has_reset_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, "delete"))

    @admin.action(
        description=_("Reset two-step verification for these accounts"),
        permissions=["reset"],
    )
    def reset(self, request: HttpRequest, rows: QuerySet[Authenticator]) -> None:
        own = self.limit_rows(request, rows, "delete")
        people = list(User.objects.filter(pk__in=own.values("user_id")).order_by("email"))
        spared = {person: self._explain_refusal(request, person) for person in people}
        for person in people:
            if spared[person]:
                messages.error(request, f"{person}: {spared[person]}")
            else:
                self._reset(request, person)
        _say(request, sum(not reason for reason in spared.values()))

    def _explain_refusal(self, request: HttpRequest, person: User) -> str:
        """Returns why the visitor may not reset an account, and who may; empty if they may."""
        if not may_touch(request, person):
            return gettext("Only a superuser can reset staff accounts.")
        reach = self.reach(request, "delete")
        if reach.everywhere:
            return ""
        if person == request.user:
            return gettext("Change your own at Sign-in security, or have another admin reset it.")
        # A second factor protects all organizations of a person: one of them does not remove it.
        places = dict(person.memberships.values_list("organization_id", "role"))
        if not all(map(reach.includes, places)):
            return gettext(
                "This person belongs to other organizations too. Only the operator of this server "
                "can reset it."
            )
        if any(role not in grantable_roles(request.user, key) for key, role in places.items()):
            return gettext("Only a super admin can reset it for a super admin.")
        return ""

    @transaction.atomic
    def _reset(self, request: HttpRequest, person: User) -> None:
        organization_id = sign_in_status.find_organization(person)
        second_factors.remove_all(person)
        # Who has the lost device, or another session, would be taken for the person.
        sessions.end_all(person)
        if person == request.user:
            update_session_auth_hash(request, person)
        second_factors.record_change(
            request,
            "second_step_removed",
            person,
            detail=f"by {request.user}",
            organization_id=str(organization_id or ""),
        )
        self.log_change(request, person, "Two-step verification was reset.")
        if organization_id is not None:
            by = cast("User", request.user)
            text = render_to_string("mfa/reset_mail.txt", {"person": person, "by": by})
            subject = gettext("Two-step verification of %(email)s was reset") % {
                "email": person.email
            }
            ends = timezone.now() + NOTICE_FOR
            drafts = [Draft(to, subject, text, ends) for to in (person.email, by.email)]
            outbox.add(organization_id, MailKind.SECOND_STEP, drafts)


def _say(request: HttpRequest, count: int) -> None:
    text = ngettext(
        "Two-step verification was reset for %(n)d account.",
        "Two-step verification was reset for %(n)d accounts.",
        count,
    )
    if count:
        messages.success(request, text % {"n": count})
