"""Agents, language models, sessions and turns in the admin.

A key is entered, checked and replaced; no page shows it, nor what was said in a session.
"""

import asyncio
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents import definitions, language_models
from agents.language_models import InvalidAddress
from agents.models import AgentDefinition, LanguageModel, Session, SessionTurn
from agents.models_port import ModelFailed
from foundation.sealing import SealBroken
from oauth.endpoints import replies
from workspace.administration.scoped import ReadOnlyAdmin, ScopedAdmin
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
            language_models.recorded(names, obj, *_by(request))

    def delete_model(self, request: HttpRequest, obj: LanguageModel) -> None:
        with transaction.atomic():
            language_models.recorded("deleted", obj, *_by(request))
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


class AgentDefinitionForm(forms.ModelForm):  # type: ignore[type-arg]
    """An agent, with its tools as boxes to tick."""

    tools = forms.MultipleChoiceField(
        label=_("Tools"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None for every tool that a key may use."),
    )

    class Meta:
        model = AgentDefinition
        fields = (
            *("organization", "name", "title", "version", "description", "instructions"),
            *("tools", "is_enabled", "max_steps", "max_tool_calls", "max_tokens", "max_seconds"),
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = definitions.tool_names(self.instance.organization_id)
        # A tool that is gone stays ticked, and can be unticked.
        names = sorted({*known, *self.instance.tools})
        field = cast("forms.MultipleChoiceField", self.fields["tools"])
        field.choices = [(name, name) for name in names]

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if name in definitions.ALL:
            raise forms.ValidationError(_("An agent of the product has this name."))
        return name


@admin.register(AgentDefinition)
class AgentDefinitionAdmin(ScopedAdmin):
    organization_lookup = "organization"
    deferred = ("instructions",)
    form = AgentDefinitionForm
    list_display = ("name", "title", "organization", "version", "is_enabled", "updated_at")
    list_filter = ("is_enabled", "organization")
    list_select_related = ("organization",)
    search_fields = ("name", "title")
    fieldsets = (
        (None, {"fields": ("organization", "name", "title", "version", "description")}),
        (_("What it does"), {"fields": ("instructions", "tools", "is_enabled")}),
        (
            _("Limits"),
            {"fields": ("max_steps", "max_tool_calls", "max_tokens", "max_seconds")},
        ),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002  Django's signature
        return ("organization",) if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        with transaction.atomic():
            obj.save()
            names = ", ".join(form.changed_data) if change else "added"
            definitions.recorded(names, obj, *_by(request))

    def delete_model(self, request: HttpRequest, obj: AgentDefinition) -> None:
        with transaction.atomic():
            definitions.recorded("deleted", obj, *_by(request))
            obj.delete()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[AgentDefinition]) -> None:
        for row in queryset:
            self.delete_model(request, row)


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    """Sessions without what was said in them."""

    organization_lookup = "organization"
    deferred = ("options", "client_tools")
    list_display = ("id", "organization", "agent", "created_at", "updated_at")
    list_filter = ("agent", "organization", "updated_at")
    list_select_related = ("organization",)
    search_fields = ("=id",)
    fields = ("id", "organization", "agent", "key_id", "tools", "created_at", "updated_at")


@admin.register(SessionTurn)
class SessionTurnAdmin(ReadOnlyAdmin):
    """What each turn cost, and why it ended."""

    organization_lookup = "session__organization"
    list_display = (
        *("started_at", "session", "model", "stop_reason"),
        *("input_tokens", "output_tokens", "cost"),
    )
    list_filter = ("stop_reason", "model", "session__organization", "started_at")
    # By the key, which is in the order of time.
    ordering = ("-id",)
    list_select_related = ("session",)
    search_fields = ("=session__id",)
    fields = (
        *("session", "model", "started_at", "ended_at", "stop_reason", "error"),
        *("input_tokens", "output_tokens", "is_measured", "cost"),
    )

    @admin.display(description=_("cost, USD"), ordering="cost_micros")
    def cost(self, turn: SessionTurn) -> str:
        return f"{turn.cost_micros / language_models.MICROS:.4f}"


def _by(request: HttpRequest) -> tuple[User, str]:
    """Who changes something, and from which address."""
    return cast("User", request.user), replies.address_of(request)
