"""How people sign in, as admins see it: who has which factor, and what was done about it.

allauth registers a page that shows and edits what a factor holds; ours takes its place, shows
nothing of it, and takes factors off in need.
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

from audit.admin import ReadOnlyAdmin
from console import second_factors
from workspace.admin import UserAdmin, may_touch
from workspace.models import User

admin.site.unregister(Authenticator)
# A second list of addresses, which sign-in would go by as well: nobody needs to write in it.
admin.site.unregister(EmailAddress)
admin.site.unregister(User)


@admin.register(User)
class PeopleAdmin(UserAdmin):
    """People, with every password that staff set for somebody on record."""

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:  # noqa: A002  Django's signature
        before = self.get_object(request, unquote(id))
        response = super().user_change_password(request, id, form_url)
        after = self.get_object(request, unquote(id))
        if before and after and before.password != after.password:
            by = f"by {request.user}"
            second_factors.changed(request, "password_set", after, detail=by)
        return response


@admin.register(Authenticator)
class SecondFactorAdmin(ReadOnlyAdmin):
    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__email",)
    fields = list_display
    actions = ("take_off",)

    # An action that names no permission is open to all who may look.
    def has_take_off_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("mfa.delete_authenticator")

    @admin.action(
        description=_("Take the second step off these accounts: app, passkeys and recovery codes"),
        permissions=["take_off"],
    )
    def take_off(self, request: HttpRequest, rows: QuerySet[Authenticator]) -> None:
        people = list(User.objects.filter(pk__in=rows.values("user_id")).order_by("email"))
        spared = [person for person in people if not may_touch(request, person)]
        for person in (one for one in people if one not in spared):
            self._take_off(request, person)
        if spared:
            names = ", ".join(map(str, spared))
            text = _("Only a superuser can do this for staff: %(names)s.")
            messages.error(request, text % {"names": names})
        _say(request, len(people) - len(spared))

    @transaction.atomic
    def _take_off(self, request: HttpRequest, person: User) -> None:
        second_factors.remove_all(person)
        by = f"by {request.user}"
        second_factors.changed(request, "second_step_removed", person, detail=by)
        self.log_change(request, person, "The second step was taken off.")


def _say(request: HttpRequest, count: int) -> None:
    text = ngettext(
        "The second step is off for %(n)d account.",
        "The second step is off for %(n)d accounts.",
        count,
    )
    if count:
        messages.success(request, text % {"n": count})
