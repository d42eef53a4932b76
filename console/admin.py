"""The second factors of users in the admin: which exist, and removing them.

allauth registers a page that shows and edits the data of a factor. This one replaces it, does not
show the data, and lets admins remove factors.
"""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from console.account import second_factors
from workspace.admin import UserAdmin, may_touch
from workspace.administration.scoped import ReadOnlyAdmin
from workspace.models import User

admin.site.unregister(Authenticator)
# allauth's list of addresses, which sign-in would use as well. It has no use in the admin.
admin.site.unregister(EmailAddress)
admin.site.unregister(User)


@admin.register(User)
class PeopleAdmin(UserAdmin):
    """Users; every password that staff set for another user is recorded."""

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
    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__email",)
    fields = list_display
    actions = ("reset",)

    # An action without a permission is available to all who may view.
    def has_reset_permission(self, request: HttpRequest) -> bool:
        return self.reach(request, "delete").everywhere

    @admin.action(
        description=_("Reset two-step verification for these accounts"),
        permissions=["reset"],
    )
    def reset(self, request: HttpRequest, rows: QuerySet[Authenticator]) -> None:
        people = list(User.objects.filter(pk__in=rows.values("user_id")).order_by("email"))
        spared = [person for person in people if not may_touch(request, person)]
        for person in (one for one in people if one not in spared):
            self._reset(request, person)
        if spared:
            names = ", ".join(map(str, spared))
            text = _("Only a superuser can reset staff accounts: %(names)s.")
            messages.error(request, text % {"names": names})
        _say(request, len(people) - len(spared))

    @transaction.atomic
    def _reset(self, request: HttpRequest, person: User) -> None:
        second_factors.remove_all(person)
        by = f"by {request.user}"
        second_factors.record_change(request, "second_step_removed", person, detail=by)
        self.log_change(request, person, "Two-step verification was reset.")


def _say(request: HttpRequest, count: int) -> None:
    text = ngettext(
        "Two-step verification was reset for %(n)d account.",
        "Two-step verification was reset for %(n)d accounts.",
        count,
    )
    if count:
        messages.success(request, text % {"n": count})
