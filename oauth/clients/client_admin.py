"""The admin pages of clients: adding and editing one, its secret, and disabling it.

Only clients that an admin registered can be edited; the others provide their own metadata.
"""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from audit import record, usage
from oauth.clients import clients
from oauth.clients.client_form import ClientForm
from oauth.endpoints import replies
from oauth.grants import grant_conditions
from oauth.last_used import LastUsedFilter
from oauth.models import AuthMethod, Authorization, Client
from workspace import changes
from workspace.administration.scoped import ScopedAdmin
from workspace.administration.times import time_tag

MANUAL: Final = Client.RegistrationSource.MANUAL
READ_ONLY: Final = (
    "client_id",
    "scope",
    "registration_source",
    "registered_from",
    "created",
    "first_token_at",
    "disabled_at",
)


class LastUseOfAllFilter(LastUsedFilter):
    """Nothing to choose, and so nothing to see, for who may not see when a client was used."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return super().lookups(request, model_admin) if model_admin.sees_last_use(request) else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return super().queryset(request, queryset) if self.lookup_choices else queryset


class ClientAdmin(ScopedAdmin):
    organization_lookup = "authorizations__organization"
    view_on_site = False
    form = ClientForm
    list_display = ("name", "registration_source", "auth_method", "created", "disabled_at")
    list_filter = (
        "registration_source",
        "auth_method",
        ("disabled_at", admin.EmptyFieldListFilter),
        *(LastUseOfAllFilter, "created"),
    )
    search_fields = ("name", "=client_id")
    fields = ("name", "redirect_uris", "is_native", "auth_method", *READ_ONLY)
    actions = ("disable", "enable")
    change_form_template = "admin/oauth/client/change_form.html"

    def sees_last_use(self, request: HttpRequest) -> bool:
        """Whether the visitor sees all organizations: a client may be of several."""
        return self.reach(request, "view", "change").everywhere

    def add_columns(self, request: HttpRequest, rows: QuerySet[Client]) -> QuerySet[Client]:
        if not self.sees_last_use(request):
            return rows
        last = usage.last_request("client_id", OuterRef("client_id"))
        return rows.annotate(last_used_at=last)

    def get_list_display(self, request: HttpRequest) -> Any:
        shown = super().get_list_display(request)
        return [*shown, self.last_used] if self.sees_last_use(request) else shown

    @admin.display(description=gettext_lazy("last used"), empty_value="-")
    def last_used(self, row: Any) -> str:
        return time_tag(row.last_used_at)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A service client is changed on its own page, by the admins of its organization.
        is_editable = obj is None or (
            obj.registration_source == MANUAL and not hasattr(obj, "service")
        )
        return is_editable and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  Django's signature
        return False

    def event_filters(self, row: Any) -> dict[str, str]:
        return {"subject": str(row.pk)}

    # An action without a permission is available to all who may view.
    def has_switch_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, "change"))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_fields(request, obj)
        return fields if obj else [name for name in fields if name not in READ_ONLY]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return (*READ_ONLY, "auth_method") if obj else READ_ONLY

    def get_urls(self) -> list[URLPattern]:
        page = path(
            "<uuid:client_pk>/rotate-secret/",
            self.admin_site.admin_view(self.rotate_view),
            name="oauth_client_rotate_secret",
        )
        return [page, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        client = self.get_object(request, object_id)
        can_rotate = client is not None and self._may_rotate(request, client)
        context = {**(extra_context or {}), "can_rotate_secret": can_rotate}
        return super().change_view(request, object_id, form_url, context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        # The response to a new client is the page with its credentials, so there is one submit
        # button.
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().render_change_form(request, context, *args, **options)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        clients.preregister(obj, form.metadata)
        kind = "client_changed" if change else "client_created"
        self._record(request, kind, obj)

    def response_add(
        self,
        request: HttpRequest,
        obj: Client,
        post_url_continue: str | None = None,  # noqa: ARG002  Django's signature
    ) -> HttpResponse:
        """Shows the credentials in the response to the form: the secret is not stored."""
        secret = None if obj.auth_method == AuthMethod.NONE else clients.rotate_secret(obj)
        return self._credentials(request, obj, secret, _("Client added"))

    @method_decorator(never_cache)
    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def rotate_view(self, request: HttpRequest, client_pk: UUID) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        client = self.get_object(request, str(client_pk))
        if client is None:
            raise Http404
        if not self._may_rotate(request, client):
            raise PermissionDenied
        if request.method != "POST":
            context = self._context(request, client, _("Rotate secret"))
            return TemplateResponse(request, "admin/oauth/client/rotate.html", context)
        with transaction.atomic():
            secret = clients.rotate_secret(client)
            self._record(request, "client_secret_rotated", client)
            self.log_change(request, client, "Secret rotated.")
        return self._credentials(request, client, secret, _("Secret rotated"))

    @admin.action(
        description=gettext_lazy("Disable: refuse every token of these clients"),
        permissions=["switch"],
    )
    def disable(self, request: HttpRequest, rows: QuerySet[Client]) -> None:
        enabled = rows.filter(disabled_at__isnull=True)
        count = self._switch(request, "client_disabled", enabled, timezone.now())
        text = ngettext("%(n)d client disabled.", "%(n)d clients disabled.", count)
        messages.success(request, text % {"n": count})

    @admin.action(description=gettext_lazy("Enable"), permissions=["switch"])
    def enable(self, request: HttpRequest, rows: QuerySet[Client]) -> None:
        disabled = rows.filter(disabled_at__isnull=False)
        count = self._switch(request, "client_enabled", disabled, None)
        text = ngettext("%(n)d client enabled.", "%(n)d clients enabled.", count)
        messages.success(request, text % {"n": count})

    def _switch(
        self,
        request: HttpRequest,
        kind: str,
        rows: QuerySet[Client],
        disabled_at: datetime | None,
    ) -> int:
        using = Authorization.objects.filter(grant_conditions.not_ended(), client__in=rows)
        concerned = set(using.values_list("organization", flat=True))
        for client in rows:
            self._record(request, kind, client)
            self.log_change(request, client, kind)
        count = rows.update(disabled_at=disabled_at)
        changes.publish(concerned)
        return count

    def _may_rotate(self, request: HttpRequest, client: Client) -> bool:
        has_secret = client.auth_method != AuthMethod.NONE
        return has_secret and self.has_change_permission(request, client)

    def _credentials(
        self, request: HttpRequest, client: Client, secret: str | None, title: str
    ) -> HttpResponse:
        context = {**self._context(request, client, title), "secret": secret}
        page = TemplateResponse(request, "admin/oauth/client/secret.html", context)
        return replies.private(page)

    def _context(self, request: HttpRequest, client: Client, title: str) -> dict[str, Any]:
        site = self.admin_site.each_context(request)
        return {**site, "opts": self.opts, "client": client, "title": title}

    def _record(self, request: HttpRequest, kind: str, client: Client) -> None:
        record.security_event(
            kind,
            address=replies.address_of(request),
            subject=str(client.pk),
            client_id=client.client_id,
            detail=f"by {request.user}",
        )
