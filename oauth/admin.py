"""The admin pages of clients, authorizations and tokens; none shows a hash.

The toolkit registers its five models with the classes named in `OAUTH2_PROVIDER`.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from audit import usage
from oauth.clients.client_admin import ClientAdmin
from oauth.clients.service_client_admin import ServiceClientAdmin
from oauth.endpoints import replies
from oauth.grants import authorizations
from oauth.last_used import LastUsedFilter
from oauth.mcp_token_admin import McpTokenAdmin
from oauth.models import (
    AccessToken,
    Authorization,
    Grant,
    McpToken,
    RefreshToken,
    ServerKey,
    ServiceClient,
)
from oauth.server_key_admin import ServerKeyAdmin
from workspace.administration.scoped import ReadOnlyAdmin
from workspace.administration.times import time_tag

# The settings of the toolkit name it here.
__all__ = ["ClientAdmin"]


admin.site.register(ServerKey, ServerKeyAdmin)
admin.site.register(McpToken, McpTokenAdmin)
admin.site.register(ServiceClient, ServiceClientAdmin)


@admin.register(Authorization)
class AuthorizationAdmin(ReadOnlyAdmin):
    organization_lookup = "organization"
    list_display = (
        *("client", "user", "organization", "scope", "created_at", "last_used", "revoked_at"),
    )
    list_filter = (
        ("revoked_at", admin.EmptyFieldListFilter),
        *(LastUsedFilter, "organization", "created_at"),
    )
    list_select_related = ("client", "user", "organization")
    search_fields = ("user__email", "client__name", "=id")
    actions = ("revoke",)

    def event_filters(self, row: Any) -> dict[str, str]:
        return {"subject": str(row.pk)}

    def add_columns(
        self,
        request: HttpRequest,  # noqa: ARG002  the signature of the base
        rows: QuerySet[Authorization],
    ) -> QuerySet[Authorization]:
        key = usage.KeyText(OuterRef("pk"))
        return rows.annotate(last_used_at=usage.last_request("authorization_id", key))

    @admin.display(description=_("last used"), empty_value="-")
    def last_used(self, row: Any) -> str:
        return time_tag(row.last_used_at)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, "change"))

    @admin.action(
        description=_("Revoke: end every token under these authorizations"),
        permissions=["revoke"],
    )
    def revoke(self, request: HttpRequest, rows: QuerySet[Authorization]) -> None:
        own = self.limit_rows(request, rows, "change")
        ended = [row for row in own if authorizations.revoke(row.pk, reason="revoked_by_admin")]
        for row in ended:
            authorizations.report("revoked_by_admin", row, address=replies.address_of(request))
            self.log_change(request, row, "Revoked.")
        count = len(ended)
        text = ngettext("%(n)d authorization revoked.", "%(n)d authorizations revoked.", count)
        _say(request, text, count)


class FamilyAdmin(ReadOnlyAdmin):
    """Rows of an authorization, such as its tokens; they are revoked with it and not separately."""

    organization_lookup = "authorization__organization"
    list_select_related = ("authorization__client", "authorization__user")
    readonly_fields = ("family_revoked_at",)

    @admin.display(description=_("token family revoked"), ordering="authorization__revoked_at")
    def family_revoked_at(self, row: AccessToken | RefreshToken | Grant) -> str:
        return time_tag(row.authorization.revoked_at) or self.get_empty_value_display()


class AccessTokenAdmin(FamilyAdmin):
    list_display = ("id", "authorization", "scope", "created", "expires", "family_revoked_at")
    list_filter = ("created", "expires")
    search_fields = ("=id", "=authorization__id", "authorization__user__email")
    fields = list_display


class RefreshTokenAdmin(FamilyAdmin):
    list_display = ("id", "authorization", "scope", "created", "used_at", "family_revoked_at")
    list_filter = ("created", ("used_at", admin.EmptyFieldListFilter))
    search_fields = ("=id", "=authorization__id", "authorization__user__email")
    fields = list_display


class GrantAdmin(FamilyAdmin):
    list_display = (
        "id",
        "authorization",
        "created",
        "expires",
        "consumed_at",
        "family_revoked_at",
    )
    fields = (*list_display, "redirect_uri")


class HiddenAdmin(ReadOnlyAdmin):
    """For models without rows."""

    def has_module_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  Django's signature
        return False


def _say(request: HttpRequest, text: str, count: int) -> None:
    messages.success(request, text % {"n": count})
