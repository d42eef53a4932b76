"""Language models in the admin. A key is entered, checked and replaced; no page shows it."""

import asyncio
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents import language_models
from agents.language_models import InvalidAddress
from agents.models import LanguageModel
from agents.models_port import ModelFailed
from foundation.sealing import SealBroken
from oauth.endpoints import replies
from workspace.administration.scoped import ScopedAdmin
from workspace.models import User

MAX_KEY_LENGTH = 1_000


class LanguageModelForm(forms.ModelForm):  # type: ignore[type-arg]
    """A model with a field for its key, which stays empty to keep the one that is there."""

    key = forms.CharField(
        label=_("API key"),
        required=False,
        max_length=MAX_KEY_LENGTH,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "vTextField"}),
        help_text=_("Stored encrypted and never shown. Leave it empty to keep the stored key."),
    )

    class Meta:
        model = LanguageModel
        fields = (
            *("organization", "provider", "model", "base_url", "is_used", "max_output_tokens"),
            *("input_price", "output_price", "daily_budget"),
        )

    def clean_base_url(self) -> str:
        try:
            return language_models.base_url(self.cleaned_data["base_url"])
        except InvalidAddress as invalid:
            raise forms.ValidationError(str(invalid)) from None

    def clean_key(self) -> str:
        key = str(self.cleaned_data["key"])
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise forms.ValidationError(_("Enter a key of visible ASCII characters."))
        return key

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("key"):
            return given
        # A key must not reach a server that it was not entered for.
        if self.instance.sealed and {"provider", "base_url"} & {*self.changed_data}:
            self.add_error("key", _("Enter the key again: it was entered for another address."))
        elif not self.instance.sealed and not given.get("base_url"):
            self.add_error("key", _("Enter the key of the provider."))
        return given


@admin.register(LanguageModel)
class LanguageModelAdmin(ScopedAdmin):
    organization_lookup = "organization"
    deferred = ("sealed",)
    form = LanguageModelForm
    list_display = ("model", "organization", "provider", "is_used", "daily_budget", "updated_at")
    list_filter = ("provider", "is_used", "organization")
    list_select_related = ("organization",)
    search_fields = ("model", "base_url")
    fields = (
        *("organization", "provider", "model", "key", "base_url", "is_used"),
        *("max_output_tokens", "input_price", "output_price", "daily_budget", "updated_at"),
    )
    actions = ("send_test_request",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002  Django's signature
        return ("organization", "updated_at") if obj else ("updated_at",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        with transaction.atomic():
            if key := form.cleaned_data["key"]:
                language_models.seal_key(obj, key)
            obj.save()
            names = ", ".join(form.changed_data) if change else "added"
            _record(names, obj, request)

    def delete_model(self, request: HttpRequest, obj: LanguageModel) -> None:
        with transaction.atomic():
            _record("deleted", obj, request)
            obj.delete()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[LanguageModel]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    @admin.action(description=_("Send a test request"), permissions=["change"])
    def send_test_request(self, request: HttpRequest, queryset: QuerySet[LanguageModel]) -> None:
        """Asks each selected model for one word, with its key."""
        # The clients of providers take seconds to load, which only their users are to wait for.
        from agents import providers  # noqa: PLC0415

        for row in queryset:
            try:
                tokens = asyncio.run(providers.test_request(providers.of_row(row))).tokens
            except ModelFailed as failed:
                self.message_user(request, f"“{row.model}”: {failed}", messages.ERROR)
            except SealBroken:
                text = gettext("The stored key cannot be read. Enter it again.")
                self.message_user(request, f"“{row.model}”: {text}", messages.ERROR)
            else:
                text = ngettext("It answered with %d token.", "It answered with %d tokens.", tokens)
                self.message_user(request, f"“{row.model}”: {text % tokens}", messages.SUCCESS)


def _record(change: str, row: LanguageModel, request: HttpRequest) -> None:
    user, address = cast("User", request.user), replies.address_of(request)
    language_models.recorded(change, row, user, address)
