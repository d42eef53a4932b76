"""The admin pages of imports: the upload, the preview, the progress and the report."""

import csv
from typing import Any, Final, cast

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _

from foundation import admin_urls
from workspace.administration.scoped import ScopedAdmin, offered
from workspace.imports import columns, reading, uploads
from workspace.imports.columns import Unusable
from workspace.imports.passes import KINDS, MAX_PROBLEMS
from workspace.models import DataImport, ImportStatus, Organization, User

SHOWN_PROBLEMS: Final = 50
MEGABYTES: Final = reading.MAX_BYTES // 1_048_576


class UploadForm(forms.ModelForm):  # type: ignore[type-arg]
    """A file, what it contains, and the organization that it is for."""

    file = forms.FileField(
        label=_("File"),
        max_length=255,
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text=_("CSV in UTF-8 with commas or semicolons, at most %(rows)s rows and %(mb)s MB.")
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
            reading.open_file(KINDS[given["kind"]], given["content"])
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
    deferred = ("content", "problems", "preview")
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
            "<path:object_id>/refused/": (self.refused_rows, "refused"),
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

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Chooses the organization of a visitor who has only one."""
        own = list(offered(Organization, self.reach(request, "add"))[:2])
        only = {"organization": str(own[0].pk)} if len(own) == 1 else {}
        return {**only, **cast("dict[str, Any]", super().get_changeform_initial_data(request))}

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
        shown = self._shown(request, found) if found else {}
        return super().change_view(request, object_id, form_url, {**shown, **(extra_context or {})})

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        # The page of an import has no form.
        return super().get_fieldsets(request, obj) if obj is None else ()

    def confirm(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Confirms an import; the second of two clicks changes nothing."""
        found = self._found(request, object_id)
        if not self.reach(request, "add").includes(found.organization_id):
            raise PermissionDenied
        if request.method == "POST":
            uploads.confirm(found.pk, by=cast("User", request.user))
        return _to_page(found.pk)

    def refused_rows(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Serves the report of refused cells as CSV."""
        found = self._found(request, object_id)
        response = _csv_file(f"refused-{found.kind}.csv")
        rows = csv.writer(response)
        rows.writerow(("line", "column", "reason"))
        rows.writerows(
            (line or "", _harmless(column), _harmless(reason))
            for line, column, reason in found.problems
        )
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

    def _found(self, request: HttpRequest, object_id: str) -> DataImport:
        key = unquote(object_id)
        found = None if "\0" in key else self.get_queryset(request).filter(pk=key).first()
        if found is None:
            raise Http404
        return cast("DataImport", found)

    def _shown(self, request: HttpRequest, found: DataImport) -> dict[str, Any]:
        has_failed = found.status == ImportStatus.FAILED
        may_confirm = self.reach(request, "add").includes(found.organization_id)
        return {
            "title": f"{_('Import')}: {found}",
            # Not as Django reads it later: the worker may have changed it meanwhile.
            "original": found,
            "subtitle": None,
            "is_running": found.status in uploads.RUNNING,
            "is_ready": found.status == ImportStatus.READY,
            "is_done": found.status == ImportStatus.DONE,
            "may_confirm": may_confirm and found.status == ImportStatus.READY,
            "counts": _counts(found),
            "failure": found.problems[0][-1] if has_failed and found.problems else "",
            "problems": None if has_failed else _problems(found),
            "previewed": _previewed(found),
            "more_problems": max(0, found.problem_count - SHOWN_PROBLEMS),
            "max_problems": MAX_PROBLEMS,
            "expires_at": found.created_at + uploads.CONFIRM_WITHIN,
        }


def _previewed(found: DataImport) -> dict[str, Any]:
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


def _harmless(cell: str) -> str:
    """Returns a cell that a spreadsheet does not evaluate as a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def _to_page(import_id: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(admin_urls.page_url("workspace_dataimport_change", import_id))
