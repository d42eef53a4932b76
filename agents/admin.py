"""Agents, language models, sessions and turns in the admin.

A key is entered, checked and replaced; no page shows it, nor what was said in a session.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents import definitions, language_models
from agents.language_models import InvalidAddress
from agents.models import AgentDefinition, AgentOption, LanguageModel, Session, SessionTurn
from agents.models_port import MICROS, ModelFailed
from audit import record
from foundation.concurrency.job_threads import NoJobThread
from foundation.sealing import SealBroken
from oauth.endpoints import replies
from workspace import page_jobs
from workspace.administration.scoped import (
    LabelledFormSet,
    ReadOnlyAdmin,
    ScopedAdmin,
    ScopedInline,
)
from workspace.models import User
from workspace.page_jobs import JobFailed, JobResult

MAX_KEY_LENGTH = 1_000
# Of one test: all of them together end before `workspace.models.page_jobs.MAX_DURATION`.
MAX_TESTED = 3
TEST_SECONDS = 60


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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.has_key = language_models.has_readable_key(self.instance)
        if self.instance.sealed and not self.has_key:
            self.fields["key"].help_text = _(
                "The stored key cannot be decrypted: the key that it was encrypted with is missing "
                "on this server. Enter it again."
            )

    def clean_base_url(self) -> str:
        try:
            return language_models.base_url(self.cleaned_data["base_url"])
        except InvalidAddress as invalid:
            raise forms.ValidationError(str(invalid)) from None

    def clean_key(self) -> str:
        key = str(self.cleaned_data["key"])
        if not language_models.is_key(key):
            raise forms.ValidationError(_("Enter a key of visible ASCII characters."))
        return key

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("key"):
            return given
        # A key must not reach a server that it was not entered for.
        if self.has_key and {"provider", "base_url"} & {*self.changed_data}:
            self.add_error("key", _("Enter the key again: it was entered for another address."))
        elif not self.has_key and not given.get("base_url"):
            self.add_error("key", _("Enter the key of the provider."))
        return given


class RecordedAdmin(ScopedAdmin):
    """Pages of an organization's rows, whose changes are security events."""

    organization_lookup = "organization"

    def event_filters(self, row: Any) -> dict[str, str]:
        return {"subject": str(row.pk)}

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        super().save_related(request, form, formsets, change)
        names = [*form.changed_data, *(one.prefix for one in formsets if one.has_changed())]
        self._record(request, form.instance, ", ".join(names) if change else "added")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with transaction.atomic():
            self._record(request, obj, "deleted")
            obj.delete()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    def _record(self, request: HttpRequest, row: Any, change: str) -> None:
        kind = {
            LanguageModel: "language_model_changed",
            AgentDefinition: "agent_definition_changed",
        }[type(row)]
        record.security_event(
            kind,
            address=replies.address_of(request),
            subject=str(row.pk),
            organization_id=str(row.organization_id),
            user_id=str(cast("User", request.user).pk),
            detail=f"{row}: {change}"[:500],
        )


@admin.register(LanguageModel)
class LanguageModelAdmin(RecordedAdmin):
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
        if key := form.cleaned_data["key"]:
            language_models.seal_key(obj, key)
        super().save_model(request, obj, form, change)

    @admin.action(description=_("Send a test request"), permissions=["change"])
    def send_test_request(
        self, request: HttpRequest, queryset: QuerySet[LanguageModel]
    ) -> HttpResponse | None:
        """Starts to ask each selected model for one word, with its key."""
        rows = [*queryset[: MAX_TESTED + 1]]
        if not 0 < len(rows) <= MAX_TESTED:
            text = gettext("Select one to %d models.") % MAX_TESTED
            self.message_user(request, text, messages.ERROR)
            return None
        user, title = cast("User", request.user), gettext("Test of language models")
        test = partial(_test, rows)
        try:
            job = page_jobs.start(user, rows[0].organization_id, title, test, back=request.path)
        except NoJobThread as busy:
            self.message_user(request, str(busy), messages.ERROR)
            return None
        return redirect("page_job", job.pk)


def _test(rows: Sequence[LanguageModel]) -> JobResult:
    """Sends a request to each model. Raises JobFailed if one of them does not answer."""
    # The clients of providers take seconds to load, which only their users are to wait for.
    from agents import providers  # noqa: PLC0415

    lines, has_failed = [], False
    for row in rows:
        try:
            model = providers.build_model(row, language_models.key_of(row))
            test = asyncio.wait_for(providers.test_request(model), TEST_SECONDS)
            tokens = asyncio.run(test).tokens
        except (ModelFailed, SealBroken, TimeoutError) as failure:
            has_failed = True
            lines.append(f"“{row.model}”: {_reason(failure)}")
        else:
            text = ngettext("It answered with %d token.", "It answered with %d tokens.", tokens)
            lines.append(f"“{row.model}”: {text % tokens}")
    if has_failed:
        raise JobFailed(" ".join(lines))
    return JobResult(" ".join(lines))


def _reason(failure: ModelFailed | SealBroken | TimeoutError) -> str:
    match failure:
        case SealBroken():
            return gettext("The stored key cannot be read. Enter it again.")
        case TimeoutError():
            return gettext("It did not answer in %d seconds.") % TEST_SECONDS
    return str(failure)


class AgentDefinitionForm(forms.ModelForm):  # type: ignore[type-arg]
    """An agent, with its tools as boxes to tick."""

    tools = forms.MultipleChoiceField(
        label=_("Tools"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Of the workspace. Tools of projects are not among them."),
    )
    approval_tools = forms.MultipleChoiceField(
        label=_("Tools that need an approval"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Each of their calls waits until an admin approves it."),
    )

    class Meta:
        model = AgentDefinition
        fields = (
            *("organization", "name", "title", "version", "description", "instructions"),
            *(
                "language_model",
                "has_all_tools",
                "tools",
                "approval_tools",
                "reads_images",
                "is_enabled",
                "max_steps",
                "max_tool_calls",
                "max_tokens",
                "max_seconds",
                "daily_budget",
            ),
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = definitions.tool_names(self.instance.organization_id)
        for column in ("tools", "approval_tools"):
            # A tool that is gone stays ticked, and can be unticked.
            names = sorted({*known, *getattr(self.instance, column)})
            field = cast("forms.MultipleChoiceField", self.fields[column])
            field.choices = [(name, name) for name in names]

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if name in definitions.ALL:
            raise forms.ValidationError(_("An agent of the product has this name."))
        return name

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("has_all_tools") and given.get("tools"):
            self.add_error("tools", _("Choose all tools, or some of them."))
        model, place = given.get("language_model"), given.get("organization")
        own = self.instance.organization_id or (place.pk if place else None)
        if model is not None and own is not None and model.organization_id != own:
            self.add_error("language_model", _("This model is of another organization."))
        return given


class AgentOptionForm(forms.ModelForm):  # type: ignore[type-arg]
    """An option. What sessions hold of it depends on its name and its type, which are fixed."""

    class Meta:
        model = AgentOption
        fields = ("name", "title", "description", "type", "choices", "default")
        widgets: ClassVar[dict[str, Any]] = {"choices": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if kwargs.get("instance") is not None:
            self.fields["name"].disabled = self.fields["type"].disabled = True

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if name == definitions.QUOTES.name:
            raise forms.ValidationError(_("Every agent has an option of this name."))
        return name

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        kind, default = given.get("type"), given.get("default", "")
        listed = AgentOption(choices=given.get("choices", "")).choice_list
        if kind == AgentOption.Type.SELECT:
            if not listed:
                self.add_error("choices", _("Enter the choices, one in each line."))
            elif default not in listed:
                self.add_error("default", _("Enter one of the choices."))
        elif listed:
            self.add_error("choices", _("Only a list has choices."))
        if kind == AgentOption.Type.SECRET and default:
            self.add_error("default", _("A key has no default."))
        return given


class AgentOptionFormSet(LabelledFormSet):
    """The options of one agent; the database takes one key among them."""

    def clean(self) -> None:
        super().clean()
        kept = [form for form in self.forms if form not in self.deleted_forms]
        secret = AgentOption.Type.SECRET
        keys = [form for form in kept if form.cleaned_data.get("type") == secret]
        for form in keys[1:]:
            form.add_error("type", _("The agent has another option for a key."))


class AgentOptionInline(ScopedInline):
    model = AgentOption
    form = AgentOptionForm
    formset = AgentOptionFormSet
    # Six fields are too wide for a table.
    template = "admin/edit_inline/stacked.html"
    organization_lookup = "agent__organization"
    extra = 0


@admin.register(AgentDefinition)
class AgentDefinitionAdmin(RecordedAdmin):
    inlines = (AgentOptionInline,)
    deferred = ("instructions",)
    form = AgentDefinitionForm
    list_display = ("name", "title", "organization", "version", "is_enabled", "updated_at")
    list_filter = ("is_enabled", "organization")
    list_select_related = ("organization",)
    search_fields = ("name", "title")
    fieldsets = (
        (None, {"fields": ("organization", "name", "title", "version", "description")}),
        (
            _("What it does"),
            {
                "fields": (
                    *("instructions", "language_model", "has_all_tools", "tools"),
                    *("approval_tools", "reads_images", "is_enabled"),
                )
            },
        ),
        (
            _("Limits"),
            {
                "fields": (
                    "max_steps",
                    "max_tool_calls",
                    "max_tokens",
                    "max_seconds",
                    "daily_budget",
                )
            },
        ),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002  Django's signature
        return ("organization",) if obj else ()


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    """Sessions without what was said in them."""

    organization_lookup = "organization"
    deferred = ("options", "sealed_options", "client_tools")
    list_display = ("id", "organization", "agent", "created_at", "updated_at")
    list_filter = ("agent", "organization", "updated_at")
    list_select_related = ("organization",)
    search_fields = ("=id",)
    fields = ("id", "organization", "agent", "key_id", "tools", "created_at", "updated_at")


@admin.register(SessionTurn)
class SessionTurnAdmin(ReadOnlyAdmin):
    """What each turn cost, and why it ended."""

    organization_lookup = "organization"
    list_display = (
        *("started_at", "organization", "agent", "session", "model", "stop_reason"),
        *("input_tokens", "output_tokens", "cost"),
    )
    list_filter = ("stop_reason", "agent", "model", "organization", "started_at")
    # By the key, which is in the order of time.
    ordering = ("-id",)
    list_select_related = ("organization", "session")
    search_fields = ("=session__id",)
    fields = (
        *(
            "organization",
            "agent",
            "key_id",
            "session",
            "model",
            "started_at",
            "ended_at",
            "stop_reason",
            "error",
        ),
        *("input_tokens", "output_tokens", "is_measured", "cost", "has_own_key"),
    )

    @admin.display(description=_("cost, USD"), ordering="cost_micros")
    def cost(self, turn: SessionTurn) -> str:
        return f"{turn.cost_micros / MICROS:.4f}"
