"""The switches in an admin's hands: the rows behind them, and the pages that turn them.

Rows can be edited here one by one; the switchboard is where they are turned day by day. Whatever
is done on any of these pages happens in `switches.on_record`.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from tools_registry.admin import switchboard_page, switches, why_page
from tools_registry.admin.connections import ConnectionPages
from tools_registry.models import ActionToggle, IntegrationMode
from tools_registry.vendors import connection_status, credentials
from workspace.admin import OrganizationAdmin
from workspace.administration.publishing import PublishingAdmin
from workspace.administration.stale import lock_row
from workspace.models import Organization


class SwitchAdmin(PublishingAdmin):
    """A page whose rows are switches; `belongs_to` is the organization that a form puts one in."""

    def belongs_to(self, row: Any) -> UUID:
        raise NotImplementedError

    def lock(self, row: Any) -> None:
        # The organization first, as the page with all switches does.
        lock_row(Organization(pk=self.belongs_to(row)))
        super().lock(row)

    def history_rows(self, row: Any) -> list[Model]:
        """Changes of switches are in the history of their organization."""
        return [row, Organization(pk=self.belongs_to(row))]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        concerned = self._affected_organizations(obj) | {self.belongs_to(obj)}
        with switches.on_record(concerned, switches.operator_of(request)):
            super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with switches.on_record(self._affected_organizations(obj), switches.operator_of(request)):
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        with switches.on_record(self._organizations(queryset), switches.operator_of(request)):
            super().delete_queryset(request, queryset)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Leave no entry of a form that was sent as it was."""
        return super().log_change(request, obj, message) if message else None


@admin.register(IntegrationMode)
class IntegrationModeAdmin(ConnectionPages, SwitchAdmin):
    organization_lookup = "organization"
    list_display = ("integration", "organization", "actions_on", "state", "last_error_at")
    list_filter = ("integration", "actions_on", "connection", "organization")
    list_select_related = ("organization", "credential")
    exclude = ("settings", "connection")
    readonly_fields = ("state", "connected_at", "last_error", "last_error_at", "updated_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        # A credential hangs on the row: no other organization calls with it, and no other vendor
        # is shown it.
        fixed = () if obj is None else ("organization", "integration")
        return (*super().get_readonly_fields(request, obj), *fixed)

    def belongs_to(self, row: IntegrationMode) -> UUID:
        return row.organization_id

    @admin.display(description=_("connection"), ordering="connection")
    def state(self, row: IntegrationMode) -> str:
        credential = getattr(row, "credential", None)
        is_readable = credential is None or credentials.is_readable(credential)
        return str(row.get_connection_display() if is_readable else connection_status.UNREADABLE)

    def get_urls(self) -> list[URLPattern]:
        named: list[tuple[str, Callable[..., Any], str]] = [
            ("switches/", switchboard_page.index, "switchboards"),
            ("switches/<uuid:organization_id>/", switchboard_page.page, "switchboard"),
            ("why/", why_page.page, "why"),
        ]
        ours = [path(route, view, name=f"tools_registry_{name}") for route, view, name in named]
        return [*ours, *super().get_urls()]


@admin.register(ActionToggle)
class ActionToggleAdmin(SwitchAdmin):
    organization_lookup = "agent__organization"
    list_display = (
        *("action", "integration", "agent", "enabled", "calls_per_minute"),
        *("updated_at", "updated_by"),
    )
    list_filter = ("enabled", "integration", "agent__organization")
    list_select_related = ("agent", "updated_by")
    search_fields = ("action", "integration")
    readonly_fields = ("updated_at", "updated_by")

    def belongs_to(self, row: ActionToggle) -> UUID:
        return row.agent.organization_id

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        obj.updated_by = request.user
        super().save_model(request, obj, form, change)


admin.site.unregister(Organization)


@admin.register(Organization)
class SwitchedOrganizationAdmin(OrganizationAdmin):
    """Organizations, with what is done to their flags on record and a way to their switches."""

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        with switches.on_record([form.instance.pk], switches.operator_of(request)):
            super().save_formset(request, form, formset, change)
