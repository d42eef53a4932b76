"""The admin page of service clients: an admin sees those of their organization, and ends them.

They are created, and get other credentials, at `/service-clients`, where a secret is shown once.
"""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from oauth.clients import service_clients
from oauth.endpoints import replies
from oauth.last_used import LastUsedFilter
from oauth.models import ServiceClient
from workspace.administration.scoped import ReadOnlyAdmin
from workspace.models import User

STATUSES = {"active": _("active"), "disabled": _("disabled"), "ended": _("deleted")}


class ServiceClientAdmin(ReadOnlyAdmin):
    """Rows can be disabled, enabled and ended; no page shows a secret, its hash or a key."""

    organization_lookup = "organization"
    list_display = (
        *("name", "organization", "client_id", "auth_method", "scope", "status"),
        *("created_by", "created_at", "last_used_at"),
    )
    fields = list_display
    list_filter = (
        ("client__disabled_at", admin.EmptyFieldListFilter),
        ("authorization__revoked_at", admin.EmptyFieldListFilter),
        *(LastUsedFilter, "client__auth_method", "organization", "created_at"),
    )
    list_select_related = ("organization", "client", "authorization", "created_by")
    search_fields = ("client__name", "=client__client_id", "=id")
    actions = ("disable", "enable", "end")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return self.fields

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, "change"))

    @admin.display(description=_("name"), ordering="client__name")
    def name(self, row: ServiceClient) -> str:
        return row.client.name

    @admin.display(description=_("client id"), ordering="client__client_id")
    def client_id(self, row: ServiceClient) -> str:
        return row.client.client_id

    @admin.display(description=_("authentication"), ordering="client__auth_method")
    def auth_method(self, row: ServiceClient) -> str:
        return row.client.auth_method

    @admin.display(description=_("scope"), ordering="authorization__scope")
    def scope(self, row: ServiceClient) -> str:
        return row.authorization.scope

    @admin.display(description=_("status"))
    def status(self, row: ServiceClient) -> str:
        found = getattr(row, "listed_status", None) or _status(row)
        return str(STATUSES[found])

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        # One statement for the statuses of all rows of the page.
        page = super().get_changelist_instance(request)
        for listed in service_clients.list_with_status(page.result_list):
            listed.row.listed_status = listed.status  # type: ignore[attr-defined]  # for `status`
        return page

    @admin.action(
        description=_("Disable: refuse these programs until they are enabled"),
        permissions=["switch"],
    )
    def disable(self, request: HttpRequest, rows: QuerySet[ServiceClient]) -> None:
        count = self._change(request, rows, "Disabled.", _switch(is_on=False))
        text = ngettext("%(n)d service client disabled.", "%(n)d service clients disabled.", count)
        messages.success(request, text % {"n": count})

    @admin.action(description=_("Enable"), permissions=["switch"])
    def enable(self, request: HttpRequest, rows: QuerySet[ServiceClient]) -> None:
        count = self._change(request, rows, "Enabled.", _switch(is_on=True))
        text = ngettext("%(n)d service client enabled.", "%(n)d service clients enabled.", count)
        messages.success(request, text % {"n": count})

    @admin.action(
        description=_("Delete: refuse these programs for good, and end their members"),
        permissions=["switch"],
    )
    def end(self, request: HttpRequest, rows: QuerySet[ServiceClient]) -> None:
        count = self._change(request, rows, "Deleted.", service_clients.end)
        text = ngettext("%(n)d service client deleted.", "%(n)d service clients deleted.", count)
        messages.success(request, text % {"n": count})

    def _change(
        self,
        request: HttpRequest,
        rows: QuerySet[ServiceClient],
        said: str,
        change: Callable[..., bool],
    ) -> int:
        """Changes those rows that the visitor may change; returns how many were changed."""
        user, address = cast("User", request.user), replies.address_of(request)
        own = self.limit_rows(request, rows, "change")
        changed = [row for row in own if change(row, user=user, address=address)]
        for row in changed:
            self.log_change(request, row, said)
        return len(changed)


def _switch(*, is_on: bool) -> Callable[..., bool]:
    def switch(row: ServiceClient, *, user: User, address: str) -> bool:
        if _status(row) == "ended":
            return False
        return service_clients.switch(row, is_on=is_on, user=user, address=address)

    return switch


def _status(row: ServiceClient) -> str:
    (listed,) = service_clients.list_with_status([row])
    return listed.status
