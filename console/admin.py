"""Second factors as admins see them: who has which, never what is in them, and taken off in need.

allauth registers a page that shows and edits what a factor holds; this one takes its place.
"""

from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from audit.admin import ReadOnlyAdmin
from console import second_factors
from workspace.models import User

admin.site.unregister(Authenticator)


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
        spared = [person for person in people if not _may_touch(request, person)]
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


def _may_touch(request: HttpRequest, person: User) -> bool:
    # Else a member of staff with few permissions could weaken an account that has more.
    return bool(request.user.is_superuser) or not (person.is_staff or person.is_superuser)


def _say(request: HttpRequest, count: int) -> None:
    text = ngettext(
        "The second step is off for %(n)d account.",
        "The second step is off for %(n)d accounts.",
        count,
    )
    if count:
        messages.success(request, text % {"n": count})
