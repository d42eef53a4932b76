"""The admin page of MCP tokens: an admin sees and revokes the tokens of their organization."""

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, ngettext

from oauth import mcp_tokens
from oauth.endpoints import replies
from oauth.last_used import LastUsedFilter
from oauth.models import McpToken
from workspace.administration.scoped import ScopedAdmin
from workspace.models import User

SHOWN = (
    *("name", "organization", "user", "resource_path", "scope", "ending"),
    *("created_at", "expires_at", "last_used_at", "revoked_at"),
)


class McpTokenAdmin(ScopedAdmin):
    """Tokens are created by their users and never edited."""

    organization_lookup = "organization"
    list_display = SHOWN
    fields = readonly_fields = SHOWN
    list_filter = (
        ("revoked_at", admin.EmptyFieldListFilter),
        *(LastUsedFilter, "organization", "created_at"),
    )
    list_select_related = ("organization", "user")
    search_fields = ("name", "=ending", "=id", "user__email", "=resource_path")
    actions = ("revoke",)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # The permission lets an admin revoke a token.
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, "change"))

    @admin.action(
        description=gettext_lazy("Revoke: refuse requests with these tokens"),
        permissions=["revoke"],
    )
    def revoke(self, request: HttpRequest, rows: QuerySet[McpToken]) -> None:
        user, address = cast("User", request.user), replies.address_of(request)
        own = self.limit_rows(request, rows, "change")
        ended = [row for row in own if mcp_tokens.revoke(row, user=user, address=address)]
        for row in ended:
            self.log_change(request, row, "Revoked.")
        count = len(ended)
        text = ngettext("%(n)d MCP token revoked.", "%(n)d MCP tokens revoked.", count)
        messages.success(request, text % {"n": count})
