"""Admin pages that notify open streams of every save and deletion."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from workspace import changes
from workspace.administration.scoped import ScopedAdmin


class PublishingAdmin(ScopedAdmin):
    """An admin page whose rows belong to organizations, given by a lookup from the row.

    The organizations are read before and after a change: a row may have moved or be deleted.
    """

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        before = self._affected_organizations(obj)
        super().save_model(request, obj, form, change)
        changes.publish(before | self._affected_organizations(obj))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        before = self._affected_organizations(form.instance)
        super().save_formset(request, form, formset, change)
        changes.publish(before | self._affected_organizations(form.instance))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        before = self._affected_organizations(obj)
        super().delete_model(request, obj)
        changes.publish(before)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        before = self._organizations(queryset)
        super().delete_queryset(request, queryset)
        changes.publish(before)

    def _affected_organizations(self, obj: Any) -> set[UUID]:
        return self._organizations(self.model.objects.filter(pk=obj.pk))

    def _organizations(self, rows: QuerySet[Any]) -> set[UUID]:
        found = rows.order_by().values_list(self.organization_lookup, flat=True)
        return {organization_id for organization_id in found if organization_id is not None}
