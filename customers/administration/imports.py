"""The admin pages of imports: the upload, the preview, the progress and the report."""

import csv
from dataclasses import replace
from typing import Any, Final, cast

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _

from customers.imports import columns, reading, uploads
from customers.imports.choices import OPTIONS, Choices, Guess
from customers.imports.columns import Unusable
from customers.imports.passes import KINDS, MAX_PROBLEMS
from foundation import admin_urls
from foundation.spreadsheets import escape_cell
from workspace.administration.scoped import ScopedAdmin
from workspace.models import DataImport, ImportStatus, User
from workspace.models.people import available_time_zones

SHOWN_PROBLEMS: Final = 50
MEGABYTES: Final = reading.MAX_BYTES // 1_048_576


class UploadForm(forms.ModelForm):  # type: ignore[type-arg]
    """A file, what it contains, and the organization that it is for."""

    file = forms.FileField(
        label=_("File"),
        max_length=255,
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text=_("CSV of a spreadsheet or another product, at most %(rows)s rows and %(mb)s MB.")
        % {"rows": f"{reading.MAX_ROWS:,}", "mb": MEGABYTES},
    )

    class Meta:
        model = DataImport
        fields = ("organization", "kind")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if self.errors:
            return given
        given["content"] = given["file"].read(reading.MAX_BYTES + 1)
        try:
            reading.check_content(given["content"])
        except Unusable as unusable:
            for problem in unusable.problems[:SHOWN_PROBLEMS]:
                self.add_error("file", str(problem))
        return given


class DataImportAdmin(ScopedAdmin):
    organization_lookup = "organization"
    form = UploadForm
    fields = ("organization", "kind", "file")
    list_display = (
        "__str__",
        "kind",
        "organization",
        "status",
        "added",
        "changed",
        "refused",
        "created_at",
    )
    list_filter = ("kind", "status", "organization")
    list_select_related = ("organization",)
    search_fields = ("=id", "file_name")
    ordering = ("-created_at", "id")
    actions = None
    show_full_result_count = False
    deferred = ("content", "problems", "preview", "choices", "refused_rows")
    add_form_template = "admin/workspace/dataimport/upload.html"
    change_form_template = "admin/workspace/dataimport/import.html"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        # An import is confirmed or deleted, never edited.
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_running = obj is not None and obj.status in uploads.RUNNING
        return super().has_delete_permission(request, obj) and not is_running

    def get_urls(self) -> list[URLPattern]:
        pages = {
            "template/<slug:kind>/": (self.template_file, "template"),
            "<path:object_id>/confirm/": (self.confirm, "confirm"),
            "<path:object_id>/choices/": (self.choose, "choices"),
            "<path:object_id>/refused/": (self.refused_cells, "refused"),
            "<path:object_id>/refused-rows/": (self.refused_rows, "refused_rows"),
        }
        own = [
            path(route, self.admin_site.admin_view(page), name=f"workspace_dataimport_{name}")
            for route, (page, name) in pages.items()
        ]
        return [*own, *super().get_urls()]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        described = [(one.kind, one.kind.label, one) for one in KINDS.values()]
        more = {
            "title": _("Import a file"),
            "kinds": described,
            "max_rows": reading.MAX_ROWS,
            **(extra_context or {}),
        }
        try:
            return super().add_view(request, form_url, more)
        except uploads.TooMany:
            text = _("Confirm or delete some of the files below first: %(count)s are waiting.")
            messages.error(request, text % {"count": uploads.MAX_OPEN})
            return HttpResponseRedirect(admin_urls.model_url(DataImport))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001  Django's signature
        given = form.cleaned_data
        stored = uploads.upload(
            given["organization"],
            kind=given["kind"],
            file_name=given["file"].name,
            content=given["content"],
            by=cast("User", request.user),
        )
        obj.pk, obj.file_name = stored.pk, stored.file_name

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> Any:  # noqa: ARG002
        return _to_page(obj.pk)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        found = self.get_queryset(request).defer("content").filter(pk=unquote(object_id)).first()
        shown = self._page_context(request, found) if found else {}
        return super().change_view(request, object_id, form_url, {**shown, **(extra_context or {})})

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        # The page of an import has no form.
        return super().get_fieldsets(request, obj) if obj is None else ()

    def confirm(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Confirms an import; the second of two clicks changes nothing."""
        found = self._found_for_change(request, object_id)
        if request.method == "POST":
            by, others = cast("User", request.user), "without_refused" in request.POST
            uploads.confirm(found.pk, by=by, without_refused=others)
        return _to_page(found.pk)

    def choose(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Has a file checked again with what a person chose about it."""
        found = self._found_for_change(request, object_id)
        if request.method == "POST" and _may_change(found):
            try:
                uploads.choose(found.pk, _read_choices(found, request.POST))
            except ValueError as error:
                messages.error(request, str(error))
        return _to_page(found.pk)

    def refused_cells(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Serves the report of refused cells as CSV."""
        found = self._get_import(request, object_id)
        response = _csv_file(f"refused-{found.kind}.csv")
        rows = csv.writer(response)
        rows.writerow(("line", "column", "reason"))
        rows.writerows(
            (line or "", escape_cell(column), escape_cell(reason))
            for line, column, reason in found.problems
        )
        return response

    def refused_rows(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Serves the refused rows as they were in the file, so that they can be corrected."""
        found = self._get_import(request, object_id)
        if found.refused_rows is None:
            raise Http404
        response = _csv_file(f"refused-rows-{found.kind}.csv")
        response.write(bytes(found.refused_rows))
        return response

    def template_file(self, request: HttpRequest, kind: str) -> HttpResponse:
        """Serves a file with the columns of a kind and one example row."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        if kind not in KINDS:
            raise Http404
        response = _csv_file(f"{kind}.csv")
        csv.writer(response).writerows(columns.template_cells(KINDS[kind]))
        return response

    def _get_import(self, request: HttpRequest, object_id: str) -> DataImport:
        key = unquote(object_id)
        found = None if "\0" in key else self.get_queryset(request).filter(pk=key).first()
        if found is None:
            raise Http404
        return cast("DataImport", found)

    def _found_for_change(self, request: HttpRequest, object_id: str) -> DataImport:
        found = self._get_import(request, object_id)
        if not self.reach(request, "add").includes(found.organization_id):
            raise PermissionDenied
        return found

    def _page_context(self, request: HttpRequest, found: DataImport) -> dict[str, Any]:
        has_failed = found.status == ImportStatus.FAILED
        may_change = self.reach(request, "add").includes(found.organization_id)
        guesses = [Guess.from_json(each) for each in found.preview.get("guesses", ())]
        return {
            "title": f"{_('Import')}: {found}",
            # Not as Django reads it later: the worker may have changed it meanwhile.
            "original": found,
            "subtitle": None,
            "is_running": found.status in uploads.RUNNING,
            "is_ready": found.status == ImportStatus.READY,
            "is_done": found.status == ImportStatus.DONE,
            "is_unclear": found.status == ImportStatus.UNCLEAR,
            "may_confirm": may_change and found.status == ImportStatus.READY,
            "may_change": may_change and _may_change(found),
            "whole": [_with_zones(each) for each in guesses if each.name in OPTIONS],
            "headers": [each for each in guesses if each.name not in OPTIONS],
            "product": found.preview.get("product", ""),
            "has_refused_rows": uploads.has_refused_rows(found.pk),
            "others": _count_others(found) if may_change else 0,
            "counts": _counts(found),
            "failure": found.problems[0][-1] if has_failed and found.problems else "",
            "problems": None if has_failed else _problems(found),
            "previewed": _preview_table(found),
            "more_problems": max(0, found.problem_count - SHOWN_PROBLEMS),
            "max_problems": MAX_PROBLEMS,
            "expires_at": uploads.expires_at(found),
        }


def _may_change(found: DataImport) -> bool:
    # The preview is deleted with the file.
    return found.status in uploads.CHANGEABLE and bool(found.preview)


def _count_others(found: DataImport) -> int:
    """Returns how many rows can be imported without those that are refused."""
    if found.status != ImportStatus.REFUSED or not _may_change(found):
        return 0
    is_known = uploads.has_refused_rows(found.pk)
    return found.added + found.changed + found.unchanged if is_known else 0


def _with_zones(guess: Guess) -> Guess:
    if guess.name != "zone":
        return guess
    return replace(guess, options=[(name, name) for name in sorted(available_time_zones())])


def _read_choices(found: DataImport, posted: QueryDict) -> Choices:
    """Returns what is chosen with the form of a file. Raises ValueError for others.

    A certain guess that is left as it is stays a guess: another choice may change it.
    """
    stored = found.choices
    whole, columns = dict[str, str](), {**stored.get("columns", {})}
    for guess in map(Guess.from_json, found.preview.get("guesses", ())):
        value = posted.get(guess.name)
        is_whole = guess.name in OPTIONS
        if value is None or (is_whole and not value):
            continue
        if value not in dict(_with_zones(guess).options):
            raise ValueError(_("Choose one of the values for %(name)s.") % {"name": guess.label})
        if guess.is_certain and value == guess.value:
            continue
        if is_whole:
            whole[guess.name] = value
        else:
            columns[guess.header] = value
    return Choices.from_json({**stored, **whole, "columns": columns})


def _preview_table(found: DataImport) -> dict[str, Any]:
    """Returns the first rows as the table of the page shows them."""
    return {
        "columns": [_("Line"), _("Result"), *found.preview.get("columns", ())],
        "cells": [
            [row["line"], row["result"], *row["cells"]] for row in found.preview.get("rows", ())
        ],
    }


def _problems(found: DataImport) -> dict[str, Any] | None:
    """Returns the first refused cells in the same form; None without any."""
    shown = [(line or "", *rest) for line, *rest in found.problems[:SHOWN_PROBLEMS]]
    return {"columns": (_("Line"), _("Column"), _("Reason")), "cells": shown} if shown else None


def _counts(found: DataImport) -> Any:
    named = (
        (_("rows"), found.rows),
        (_("new"), found.added),
        (_("changed"), found.changed),
        (_("unchanged"), found.unchanged),
        (_("refused"), found.refused),
    )
    each = format_html_join(
        "", "<li><strong>{}</strong> {}</li>", ((f"{n:,}", t) for t, n in named)
    )
    return format_html('<ul class="halo-counts">{}</ul>', each)


def _csv_file(name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    # With a byte order mark, spreadsheets read the file as UTF-8.
    return HttpResponse("\ufeff", content_type="text/csv; charset=utf-8", headers=headers)


def _to_page(import_id: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(admin_urls.page_url("workspace_dataimport_change", import_id))
