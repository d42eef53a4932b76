"""The admin page of server keys: an admin creates one, sees its secret once, and revokes it."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from oauth import expiry, server_keys
from oauth.endpoints import replies
from oauth.last_used import LastUsedFilter
from oauth.models import ServerKey
from oauth.principal import KeyKind
from workspace.administration.scoped import ScopedAdmin
from workspace.models import User

SHOWN = (
    *("ending", "scope", "record_limit", "created_by", "created_at", "expires_at", "last_used_at"),
    "revoked_at",
)


class ServerKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"),
        choices=[*server_keys.SDK_SCOPES.items(), *server_keys.HR_SCOPES.items()],
        initial=[server_keys.SDK_WRITE],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("The permissions of one API."),
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expiry"),
        choices=list(expiry.LIFETIMES.items()),
        initial=365,
        coerce=int,
    )

    class Meta:
        model = ServerKey
        fields = ("organization", "name", "kind")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        offered = server_keys.SCOPES[KeyKind(given.get("kind", KeyKind.SDK))]
        if others := [one for one in given.get("scopes", ()) if one not in offered]:
            text = _("Not a permission of this API: %s.") % ", ".join(others)
            self.add_error("scopes", text)
        return given


class ServerKeyAdmin(ScopedAdmin):
    organization_lookup = "organization"
    form = ServerKeyForm
    list_display = ("name", "organization", "kind", *SHOWN)
    list_filter = (
        ("revoked_at", admin.EmptyFieldListFilter),
        *(LastUsedFilter, "kind", "organization", "created_at"),
    )
    list_select_related = ("organization", "created_by")
    search_fields = ("name", "=ending", "=id")
    actions = ("revoke",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A key is never edited; the permission lets an admin revoke it.
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, "change"))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return ("organization", "name", "kind", *(SHOWN if obj else ("scopes", "days")))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return ("organization", "name", "kind", *SHOWN) if obj else ()

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        # The response to a new key is the page with its secret, so there is one submit button.
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().render_change_form(request, context, *args, **options)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001, ARG002  Django's signature
        """Completes the row; `response_add` saves it, together with its secret."""
        given = form.cleaned_data
        made = server_keys.build_row(
            obj.organization, obj.name, given["scopes"], given["days"], obj.kind
        )
        obj.scope, obj.expires_at = made.scope, made.expires_at

    def response_add(
        self,
        request: HttpRequest,
        obj: ServerKey,
        post_url_continue: str | None = None,  # noqa: ARG002  Django's signature
    ) -> HttpResponse:
        """Shows the secret in the response to the form: it is not stored."""
        user = cast("User", request.user)
        key = server_keys.issue(obj, user=user, address=replies.address_of(request))
        site = self.admin_site.each_context(request)
        context = {**site, "opts": self.opts, "key": key, "title": _("Server key added")}
        page = TemplateResponse(request, "admin/oauth/serverkey/secret.html", context)
        return replies.private(page)

    @admin.action(
        description=gettext_lazy("Revoke: refuse requests with these keys"), permissions=["revoke"]
    )
    def revoke(self, request: HttpRequest, rows: QuerySet[ServerKey]) -> None:
        user, address = cast("User", request.user), replies.address_of(request)
        own = self.limit_rows(request, rows, "change")
        ended = [row for row in own if server_keys.revoke(row, user=user, address=address)]
        for row in ended:
            self.log_change(request, row, "Revoked.")
        count = len(ended)
        text = ngettext("%(n)d server key revoked.", "%(n)d server keys revoked.", count)
        messages.success(request, text % {"n": count})
