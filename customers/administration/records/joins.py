"""The list of joins, and the page of a join with “Undo”."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from customers.administration.records.filters import OfCustomer, OneOrganization
from customers.administration.records.lists import FoundRecords, RecordPages
from customers.administration.records.pages import RecordPage
from customers.identification import join_undo, joins
from customers.identification.join_undo import CannotUndo, NoSuchJoin
from foundation import admin_urls
from foundation.db import storable
from workspace.administration.access import reach
from workspace.administration.facts import Fact, drop_empty_facts, fact_of
from workspace.models import Join

PAGE = "admin/workspace/join/undo.html"
CHANGE_CUSTOMER = "workspace.change_customer"


class JoinAdmin(RecordPages):
    # A record has an address of its customer, and the row of one who was merged.
    shown = Q(customer__erased_at__isnull=True)
    id_prefix = "join_"
    change_form_template = "admin/workspace/join/change_form.html"
    list_display = (
        *("rule", "customer_link", "source", "row_counts", "origin", "actor"),
        *("joined_at", "undone_at"),
    )
    list_filter = (OneOrganization, OfCustomer)
    list_select_related = ("customer",)
    ordering = ("-joined_at", "id")
    search_fields = ("=source",)
    search_help_text = _("A session, an email address, or the id of a customer who was merged.")

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_http_methods(["GET", "POST"])(self.undo_view))
        ours = path("<path:object_id>/undo/", view, name="workspace_join_undo")
        return [ours, *super().get_urls()]

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:  # noqa: ARG002  the list's signature
        return FoundRecords(rows.filter(source=term))

    def page(self, request: HttpRequest, row: Join) -> RecordPage:  # noqa: ARG002
        return RecordPage(drop_empty_facts(_facts(row)))

    def render_change_form(
        self, request: HttpRequest, context: Any, *rest: Any, **more: Any
    ) -> Any:
        row = more["obj"]
        context["may_undo"] = row.undone_at is None and _may_undo(request, row)
        return super().render_change_form(request, context, *rest, **more)

    @admin.display(description=_("rows"))
    def row_counts(self, row: Join) -> str:
        return _list_counts(row)

    def undo_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Undoes the join after a confirmation."""
        key = unquote(object_id)
        if storable.has_unstorable_text(key):
            raise Http404
        join = self.get_queryset(request).filter(pk=key).first()
        if join is None:
            raise Http404
        if not _may_undo(request, join):
            raise PermissionDenied
        if request.method != "POST":
            return self._undo_page(request, join)
        try:
            join_undo.undo(join.organization_id, join.pk, str(request.user))
        except NoSuchJoin:
            raise Http404 from None
        except CannotUndo as problem:
            messages.error(request, str(problem))
        else:
            self.log_change(request, join, "Undid the join.")
            messages.success(request, _("The join was undone. It is not made again by itself."))
        return HttpResponseRedirect(admin_urls.row_url(join))

    def _undo_page(self, request: HttpRequest, join: Join) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Undo this join?"),
            "opts": self.opts,
            "row": join,
            "counts": joins.count_rows(join),
        }
        return TemplateResponse(request, PAGE, context)


def _may_undo(request: HttpRequest, join: Join) -> bool:
    return reach(request.user, CHANGE_CUSTOMER).includes(join.organization_id)


def _list_counts(join: Join) -> str:
    return ", ".join(f"{name}: {many}" for name, many in joins.count_rows(join).items())


def _facts(row: Join) -> Iterator[Fact]:
    yield Fact(_("Rule"), row.get_rule_display())
    yield fact_of(_("Customer"), row.customer)
    yield Fact(_("Source"), row.source)
    yield Fact(_("Rows"), _list_counts(row))
    yield Fact(_("From"), row.get_origin_display())
    yield Fact(_("By"), row.actor)
    yield Fact(_("Joined"), row.joined_at)
    yield Fact(_("Undone"), row.undone_at)
    yield Fact(_("Undone by"), row.undone_by)
    yield Fact(_("Organization"), str(row.organization))
    yield Fact(_("Join id"), row.pk)
