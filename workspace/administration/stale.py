"""Change forms of the admin that are refused once what they showed has changed."""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from foundation import stale_forms
from foundation.stale_forms import FormValue, StaleForm

MAX_ENTRIES: Final = 10


class ComparedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # as Django has it at run time
    """Compares what a change form showed with the row, under its lock, before it is saved.

    With the row of the form, the rows of its inlines are compared.
    """

    def lock(self, row: Any) -> None:
        """Locks what other writers of the row lock first; the same order prevents deadlocks."""
        lock_row(row)

    def history_rows(self, row: Any) -> list[Model]:
        """Returns the rows whose histories have the changes of this one."""
        return [row]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if request.method != "POST" or object_id is None or "_saveasnew" in request.POST:
            return super().changeform_view(request, object_id, form_url, extra_context)
        with transaction.atomic():
            row = self._get_locked_object(request, object_id)
            try:
                # Without a row or the permission, Django's own view refuses.
                if row is not None and self.has_change_permission(request, row):
                    self._compare(request, row)
            except StaleForm as stale:
                return self._stale_page(request, row, stale)
            return super().changeform_view(request, object_id, form_url, extra_context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        row = more.get("obj")
        if row is not None and more.get("change") and self.has_change_permission(request, row):
            shown = request.POST.get(stale_forms.FIELD)
            if shown is None:
                main, inlines = self._values(request, row)
                shown = stale_forms.serialize(main | inlines)
            context["shown_values"] = stale_forms.hidden_field(shown)
        answer: HttpResponse = super().render_change_form(request, context, *args, **more)
        return answer

    def _get_locked_object(self, request: HttpRequest, object_id: str) -> Any:
        to_field = request.POST.get(TO_FIELD_VAR, request.GET.get(TO_FIELD_VAR))
        if to_field and not self.to_field_allowed(request, to_field):
            return None
        row = self.get_object(request, unquote(object_id), to_field)
        if row is None:
            return None
        self.lock(row)
        # Again: it may have changed before the lock was there.
        return self.get_object(request, unquote(object_id), to_field)

    def _compare(self, request: HttpRequest, row: Any) -> None:
        main, inlines = self._values(request, row)
        sent = self._sent_forms(request, row)
        now = {
            name: replace(each, form=sent.get(name.removesuffix(each.name)))
            for name, each in (main | inlines).items()
        }
        shown = request.POST.get(stale_forms.FIELD, "")
        stale_forms.compare(shown, now, optional=inlines)

    def _values(
        self, request: HttpRequest, row: Any
    ) -> tuple[dict[str, FormValue], dict[str, FormValue]]:
        """The values of the form and of its inlines, as the page shows them now."""
        request = copy.copy(request)
        request.method = "GET"
        main = stale_forms.read_values(self._form_class(request, row)(instance=row))
        inlines: dict[str, FormValue] = {}
        for prefix, form in self._inline_forms(request, row):
            inlines |= stale_forms.read_values(form, prefix)
        return main, inlines

    def _sent_forms(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """The form and those of the inlines with what was sent, which are not saved, by prefix."""
        # A copy: validating a form changes its instance.
        row = copy.copy(row)
        main = self._form_class(request, row)(request.POST, request.FILES, instance=row)
        found = {"": main, **dict(self._inline_forms(request, row))}
        for each in found.values():
            each.is_valid()
        return found

    def _inline_forms(self, request: HttpRequest, row: Any) -> Iterator[tuple[str, Any]]:
        """The forms of the rows of inlines, with a prefix for the names of their values."""
        # Django has no public name for it, and its own view makes the formsets with it.
        formsets, pages = self._create_formsets(request, row, change=True)  # type: ignore[attr-defined]
        for formset, page in zip(formsets, pages, strict=True):
            if page.has_change_permission(request, row):
                for form in formset.initial_forms:
                    yield f"{formset.prefix}-{form.instance.pk}-", form

    def _form_class(self, request: HttpRequest, row: Any) -> Any:
        fields = flatten_fieldsets(self.get_fieldsets(request, row))
        return self.get_form(request, row, change=True, fields=fields)

    def _stale_page(self, request: HttpRequest, row: Any, stale: StaleForm) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Changed meanwhile"),
            "opts": self.opts,
            "changes": stale.changes,
            "history": history(self.history_rows(row), stale.shown_at),
            "page": request.get_full_path(),
        }
        return TemplateResponse(
            request, "admin/stale_form.html", context, status=HTTPStatus.CONFLICT
        )


def lock_row(row: Model) -> None:
    """Makes others who lock the row wait for the end of the transaction."""
    rows: QuerySet[Any] = QuerySet(type(row)).filter(pk=row.pk)
    list(rows.select_for_update(no_key=True).values_list("pk", flat=True))


def history(rows: Iterable[Model], since: datetime | None) -> list[LogEntry]:
    """Returns the newest entries in the histories of rows, since a moment."""
    of_rows = Q(pk__in=[])
    for row in rows:
        kind = ContentType.objects.get_for_model(row)
        of_rows |= Q(content_type=kind, object_id=str(row.pk))
    entries = LogEntry.objects.select_related("user").filter(of_rows)
    if since is not None:
        entries = entries.filter(action_time__gte=since)
    return [*entries.order_by("-action_time", "-pk")[:MAX_ENTRIES]]
