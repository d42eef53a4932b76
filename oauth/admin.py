"""Clients, authorizations and tokens as admins see them: revocable, and without any hash.

The toolkit registers its five models with the classes named in `OAUTH2_PROVIDER`.
"""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from audit import record
from audit.admin import ReadOnlyAdmin
from oauth import authorizations, replies
from oauth.models import AccessToken, Authorization, Client, Grant, RefreshToken
from workspace import changes


class ClientAdmin(ReadOnlyAdmin):
    view_on_site = False
    list_display = ("name", "registration_source", "auth_method", "created", "disabled_at")
    list_filter = (
        "registration_source",
        "auth_method",
        ("disabled_at", admin.EmptyFieldListFilter),
        "created",
    )
    search_fields = ("name", "=client_id")
    fields = (
        "name",
        "client_id",
        "redirect_uris",
        "auth_method",
        "scope",
        "registration_source",
        "registered_from",
        "created",
        "first_token_at",
        "disabled_at",
    )
    actions = ("disable", "enable")

    # An action that names no permission is open to all who may look.
    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("oauth.change_client")

    @admin.action(
        description=_("Disable: refuse every token of these clients"), permissions=["switch"]
    )
    def disable(self, request: HttpRequest, clients: QuerySet[Client]) -> None:
        enabled = clients.filter(disabled_at__isnull=True)
        count = self._switch(request, "client_disabled", enabled, timezone.now())
        _say(request, ngettext("%(n)d client disabled.", "%(n)d clients disabled.", count), count)

    @admin.action(description=_("Enable again"), permissions=["switch"])
    def enable(self, request: HttpRequest, clients: QuerySet[Client]) -> None:
        count = self._switch(
            request, "client_enabled", clients.filter(disabled_at__isnull=False), None
        )
        _say(request, ngettext("%(n)d client enabled.", "%(n)d clients enabled.", count), count)

    def _switch(
        self,
        request: HttpRequest,
        kind: str,
        clients: QuerySet[Client],
        disabled_at: datetime | None,
    ) -> int:
        using = Authorization.objects.filter(client__in=clients, revoked_at__isnull=True)
        concerned = set(using.values_list("organization", flat=True))
        for client in clients:
            record.security_event(
                kind,
                address=replies.address_of(request),
                subject=str(client.pk),
                client_id=client.client_id,
            )
            self.log_change(request, client, kind)
        count = clients.update(disabled_at=disabled_at)
        changes.publish(concerned)
        return count


@admin.register(Authorization)
class AuthorizationAdmin(ReadOnlyAdmin):
    list_display = ("client", "user", "organization", "scope", "created_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "organization", "created_at")
    list_select_related = ("client", "user", "organization")
    search_fields = ("user__email", "client__name", "=id")
    actions = ("revoke",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("oauth.change_authorization")

    @admin.action(
        description=_("Revoke: end every token under these authorizations"),
        permissions=["revoke"],
    )
    def revoke(self, request: HttpRequest, rows: QuerySet[Authorization]) -> None:
        ended = [row for row in rows if authorizations.revoke(row.pk, reason="revoked_by_admin")]
        for row in ended:
            authorizations.report("revoked_by_admin", row, address=replies.address_of(request))
            self.log_change(request, row, "Revoked.")
        count = len(ended)
        text = ngettext("%(n)d authorization revoked.", "%(n)d authorizations revoked.", count)
        _say(request, text, count)


class ChainAdmin(ReadOnlyAdmin):
    """What hangs on an authorization: it ends with it, and never by itself."""

    list_select_related = ("authorization__client", "authorization__user")
    readonly_fields = ("chain_revoked_at",)

    @admin.display(description=_("chain revoked"), ordering="authorization__revoked_at")
    def chain_revoked_at(self, row: AccessToken | RefreshToken | Grant) -> str:
        revoked_at = row.authorization.revoked_at
        # As text: the page of one row shows what is worked out as Python would print it.
        if revoked_at is None:
            return self.get_empty_value_display()
        return date_format(timezone.localtime(revoked_at), "DATETIME_FORMAT")


class AccessTokenAdmin(ChainAdmin):
    list_display = ("id", "authorization", "scope", "created", "expires", "chain_revoked_at")
    list_filter = ("created", "expires")
    search_fields = ("=id", "=authorization__id", "authorization__user__email")
    fields = list_display


class RefreshTokenAdmin(ChainAdmin):
    list_display = ("id", "authorization", "scope", "created", "used_at", "chain_revoked_at")
    list_filter = ("created", ("used_at", admin.EmptyFieldListFilter))
    search_fields = ("=id", "=authorization__id", "authorization__user__email")
    fields = list_display


class GrantAdmin(ChainAdmin):
    list_display = (
        "id",
        "authorization",
        "created",
        "expires",
        "consumed_at",
        "chain_revoked_at",
    )
    fields = (*list_display, "redirect_uri")


class HiddenAdmin(ReadOnlyAdmin):
    """For models that exist and hold nothing."""

    def has_module_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  Django's signature
        return False


def _say(request: HttpRequest, text: str, count: int) -> None:
    messages.success(request, text % {"n": count})
