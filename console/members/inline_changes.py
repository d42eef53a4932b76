"""Records what superusers change in the tables of memberships on other pages of the admin."""

from typing import Any, cast

from django.contrib import admin
from django.http import HttpRequest

from console.members import changes
from workspace.models import Membership, User


class RecordedMemberships(admin.ModelAdmin):  # type: ignore[type-arg]  # as Django has it at run time
    """A page with a table of memberships; new roles and removals are security events."""

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: Any) -> None:
        super().save_formset(request, form, formset, change)
        if formset.model is not Membership:
            return
        by = cast("User", request.user)
        before = {one.instance.pk: one.initial.get("role", "") for one in formset.initial_forms}
        for row, names in formset.changed_objects:
            if "role" in names:
                said = f"{before[row.pk]} to {row.role}"
                changes.record(request, "role_changed", by, row, detail=said)
        for row in formset.deleted_objects:
            changes.record(request, "member_removed", by, row)
