"""Memberships in the admin: suspending, restoring and removing a member, and giving up a role."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from console.members import changes, undo
from console.members.changes import MemberChange
from console.members.effects import list_effects
from workspace import organizations
from workspace.admin import MembershipAdmin, keeping_a_super_admin, may_regrade
from workspace.administration.access import ADMINS, list_admins, may_enter
from workspace.models import Membership, Role, User

SUSPEND_PAGE: Final = "admin/workspace/membership/suspend.html"
# By how much a role may do.
RANKS: Final = [Role.MEMBER, Role.ADMIN, Role.SUPER_ADMIN]

admin.site.unregister(Membership)


class MembershipForm(forms.ModelForm):  # type: ignore[type-arg]
    """A membership; who lowers their own role confirms it."""

    gives_up = forms.BooleanField(label=_("Give up my role"), required=False)

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        role = self.cleaned_data.get("role")
        if "gives_up" not in self.fields or role is None:
            return cleaned
        if _is_lower(role, self.initial["role"]) and not self.cleaned_data["gives_up"]:
            message = _("You chose a lower role for yourself. Tick this to confirm it.")
            raise ValidationError({"gives_up": message})
        return cleaned


@admin.register(Membership)
class MemberAdmin(MembershipAdmin):
    form = MembershipForm
    list_display = ("user", "organization", "role", "status", "created_at")
    list_filter = ("role", ("suspended_at", admin.EmptyFieldListFilter), "organization")
    fields = ("user", "organization", "role", "gives_up", "suspended_at", "what_it_has")
    readonly_fields = ("suspended_at", "what_it_has")
    actions = ("suspend", "restore")

    def has_regrade_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, "change"))

    def event_filters(self, row: Membership) -> dict[str, str]:
        place = str(row.organization_id)
        return {"subject": str(row.user_id), "topic": "members", "organization": place}

    @admin.display(description=_("status"), ordering="suspended_at")
    def status(self, row: Membership) -> str:
        return gettext("Suspended") if row.suspended_at else gettext("Active")

    @admin.display(description=_("in the organization"))
    def what_it_has(self, row: Membership) -> str:
        return "\n".join(list_effects(row)) if row.pk else ""

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leaves out what has no use: for a new member, and for another person's role."""
        unused = {"suspended_at", "what_it_has", "gives_up"} if obj is None else set()
        if obj is not None and not self._may_give_up(request, obj):
            unused = {"gives_up"}
        return [name for name in super().get_fields(request, obj) if name not in unused]

    def get_form(
        self,
        request: HttpRequest,
        obj: Any = None,
        change: bool = False,  # noqa: FBT001, FBT002  Django's signature
        **kwargs: Any,
    ) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if obj is None or not self._may_give_up(request, obj):
            form.base_fields.pop("gives_up", None)
        else:
            # A field of its own: the declared one is shared by all requests.
            form.base_fields["gives_up"] = forms.BooleanField(
                label=_("Give up my role"), required=False, help_text=_explain_giving_up(obj)
            )
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        before = form.initial.get("role", "") if change else ""
        super().save_model(request, obj, form, change)
        if before and before != obj.role:
            by = cast("User", request.user)
            said = f"{before} to {obj.role}"
            changes.record(request, "role_changed", by, obj, detail=said)
            if obj.user_id == by.pk and _is_lower(obj.role, before):
                text = gettext("You gave up the role %(role)s in %(organization)s.") % {
                    "role": Role(before).label,
                    "organization": obj.organization,
                }
                given_up = MemberChange.from_row(
                    changes.ROLE_GIVEN_UP, by, obj, role=before, now=obj.role
                )
                messages.success(request, undo.offer(text, given_up))

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        answer = super().response_change(request, obj)
        return answer if _may_still_enter(request) else redirect("home")

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        answer = super().response_delete(request, obj_display, obj_id)
        return answer if _may_still_enter(request) else redirect("home")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Lists what ends with each membership, in place of the row alone."""
        _listed, counts, needed, protected = super().get_deleted_objects(objs, request)
        warning = gettext(
            "Its connections and tokens end for good. To keep them, suspend the member instead."
        )
        listed: list[Any] = []
        for row in objs:
            listed += [str(row), [*list_effects(row), warning]]
        return listed, counts, needed, protected

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        removed = self._describe_removal(request, obj)
        super().delete_model(request, obj)
        self._say_removed(request, [(obj, removed)])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        rows = list(queryset.select_related("user", "organization"))
        removed = [(row, self._describe_removal(request, row)) for row in rows]
        super().delete_queryset(request, queryset)
        self._say_removed(request, removed)

    def _describe_removal(self, request: HttpRequest, row: Membership) -> MemberChange:
        # Before it: deleting a row takes its key away.
        return MemberChange.from_row(changes.REMOVED, cast("User", request.user), row)

    def _say_removed(
        self, request: HttpRequest, removed: Iterable[tuple[Membership, MemberChange]]
    ) -> None:
        by = cast("User", request.user)
        for row, change in removed:
            changes.record(request, "member_removed", by, row)
            said = gettext("Removed %(name)s from %(organization)s.") % {
                "name": row.user,
                "organization": row.organization,
            }
            # Who removes themselves has no right left to come back with.
            is_own = change.user_id == by.pk
            messages.success(request, said if is_own else undo.offer(said, change))

    @admin.action(
        description=_("Suspend: pause roles, connections and tokens until they are restored"),
        permissions=["regrade"],
    )
    def suspend(self, request: HttpRequest, rows: QuerySet[Membership]) -> HttpResponse | None:
        chosen = self._regradable(request, rows.filter(suspended_at=None))
        if not chosen:
            messages.info(request, gettext("No member was suspended."))
            return None
        if "confirmed" not in request.POST:
            context = {
                **self.admin_site.each_context(request),
                "title": gettext("Suspend these members?"),
                "opts": self.opts,
                "members": [(row, list_effects(row)) for row in chosen],
            }
            return TemplateResponse(request, SUSPEND_PAGE, context)
        places = {row.organization_id for row in chosen}
        with keeping_a_super_admin(request, places):
            times = [(row, organizations.suspend_member(row)) for row in chosen]
        # After the block: it may roll back.
        for row, since in times:
            if since is not None:
                self._say_suspended(request, row, since)
        return None

    def _say_suspended(self, request: HttpRequest, row: Membership, since: datetime) -> None:
        by = cast("User", request.user)
        self.log_change(request, row, "Suspended.")
        changes.record(request, "member_suspended", by, row)
        change = MemberChange.from_row(changes.SUSPENDED, by, row, now=since.isoformat())
        said = gettext("Suspended %(name)s in %(organization)s.") % {
            "name": row.user,
            "organization": row.organization,
        }
        messages.success(request, undo.offer(said, change))

    @admin.action(
        description=_("Restore: give suspended members everything back"), permissions=["regrade"]
    )
    def restore(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        chosen = self._regradable(request, rows.filter(suspended_at__isnull=False))
        restored = [row for row in chosen if organizations.restore_member(row)]
        for row in restored:
            self.log_change(request, row, "Restored.")
            changes.record(request, "member_restored", cast("User", request.user), row)
        text = ngettext("%(n)d member restored.", "%(n)d members restored.", len(restored))
        messages.success(request, text % {"n": len(restored)})

    def _may_give_up(self, request: HttpRequest, row: Membership) -> bool:
        is_own = row.user_id == request.user.pk and row.role in ADMINS
        return is_own and self.has_change_permission(request, row)

    def _regradable(self, request: HttpRequest, rows: QuerySet[Membership]) -> list[Membership]:
        """Those that the visitor may change; says which of the others are left out, and why."""
        own = self.limit_rows(request, rows, "change").select_related("user", "organization")
        chosen: list[Membership] = []
        for row in own:
            if row.user_id == request.user.pk:
                messages.error(request, gettext("You cannot suspend or restore yourself."))
            elif row.user.is_program:
                said = gettext("%(name)s is a service client: disable it in its list.")
                messages.error(request, said % {"name": row.user})
            elif not may_regrade(request, row):
                said = gettext("Your role may not change %(name)s, %(role)s.")
                messages.error(request, said % {"name": row.user, "role": row.get_role_display()})
            else:
                chosen.append(row)
        return chosen


def _may_still_enter(request: HttpRequest) -> bool:
    """Returns whether the visitor may open the admin after a change of their own membership."""
    return may_enter(User.objects.get(email=request.user.get_username()))


def _is_lower(role: str, before: str) -> bool:
    return RANKS.index(Role(role)) < RANKS.index(Role(before))


def _explain_giving_up(row: Membership) -> str:
    """Says what ends with an own role, and who can give it back."""
    others = [one.email for one in list_admins([row.organization_id]) if one != row.user]
    who = ", ".join(others) or gettext("only a superuser of this server")
    return gettext(
        "Tick this to take a lower role. You lose the pages of %(organization)s that need the role "
        "%(role)s, and your right to decide as such. Who can give it back: %(who)s. For an hour, "
        "you can undo it."
    ) % {"organization": row.organization, "role": row.get_role_display(), "who": who}
