"""The audit log in the admin, read-only."""

from typing import Any, Final
from urllib.parse import unquote_plus

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from audit import call_list, call_page, list_filters, record
from audit.call_list import EXPORTS, CallList
from audit.models import ActionExecution, SecurityEvent
from foundation import peer
from workspace.administration.scoped import ReadOnlyAdmin


@admin.register(ActionExecution)
class ActionExecutionAdmin(ReadOnlyAdmin):
    organization_lookup = "organization_id"
    list_display = (
        *("started_at", "tool_or_method", "result", "client_name", "user_email"),
        *("organization", "surface", "milliseconds"),
    )
    list_filter = (
        list_filters.OutcomeFilter,
        list_filters.ReasonFilter,
        list_filters.IntegrationFilter,
        list_filters.ToolFilter,
        list_filters.SurfaceFilter,
        list_filters.OrganizationFilter,
        list_filters.ClientFilter,
        list_filters.ActorFilter,
        list_filters.PeriodFilter,
    )
    # Only to display the search form: `search` looks for exact values.
    search_fields = ("=request_id", "=authorization_id", "=client_id", "=user_email")
    search_help_text = _(
        "Exact matches only: a request id, an authorization id, a client id or an email address."
    )
    # The key determines the order; any other order would sort the whole table.
    sortable_by = ()
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50

    def get_changelist(self, request: HttpRequest, **_more: Any) -> type[CallList]:  # noqa: ARG002
        return CallList

    def search(
        self,
        request: HttpRequest,  # noqa: ARG002  as in the base class
        queryset: QuerySet[Any],
        term: str,
    ) -> tuple[QuerySet[Any], bool]:
        return call_list.search(queryset, term) if term.strip() else queryset, False

    def get_urls(self) -> list[URLPattern]:
        export = self.admin_site.admin_view(self.export_view)
        ours = path("export.<str:kind>", export, name="audit_actionexecution_export")
        return [ours, *super().get_urls()]

    def export_view(self, request: HttpRequest, kind: str) -> HttpResponseBase:
        """Returns the filtered list as a file of at most MAX_EXPORTED rows; records the export."""
        if kind not in EXPORTS:
            raise Http404
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            shown = self.get_changelist_instance(request)
        except IncorrectLookupParameters as error:
            raise BadRequest("A filter in the address is not valid.") from error
        person = str(request.user.pk)
        own = self.reach(request, "view", "change").organizations
        # Encoded, an email address is not found when its customer is erased.
        filters = unquote_plus(request.META.get("QUERY_STRING", ""))
        forwarded = request.headers.get("X-Forwarded-For")
        record.security_event(
            "audit_exported",
            address=peer.client_address(request.META.get("REMOTE_ADDR", ""), forwarded),
            subject=person,
            organization_id=str(*own) if len(own) == 1 else "",
            user_id=person,
            detail=f"{kind} by {request.user}: {filters}",
        )
        content_type, written = EXPORTS[kind]
        rows = call_list.export_rows(shown.queryset)
        return StreamingHttpResponse(
            written(rows),
            content_type=content_type,
            headers={"Content-Disposition": f'attachment; filename="audit-log.{kind}"'},
        )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        filters = request.GET.urlencode()
        links = {"export_query": filters, "exports": tuple(EXPORTS)}
        return super().changelist_view(request, {**links, **(extra_context or {})})

    def render_change_form(
        self, request: HttpRequest, context: Any, *rest: Any, **more: Any
    ) -> Any:
        context["call"] = call_page.build(more["obj"], self.get_queryset(request))
        return super().render_change_form(request, context, *rest, **more)

    @admin.display(description=_("call"))
    def tool_or_method(self, row: ActionExecution) -> str:
        return row.tool or row.method

    @admin.display(description=_("result"))
    def result(self, row: ActionExecution) -> SafeString:
        return call_page.badge(row)

    @admin.display(description=_("organization"))
    def organization(self, row: ActionExecution) -> str:
        return row.organization_name

    @admin.display(description=_("ms"))
    def milliseconds(self, row: ActionExecution) -> str:
        return call_page.milliseconds(row)


class RecentKindsFilter(admin.SimpleListFilter):
    """Offers the kinds of the newest events: all kinds would be a scan of the table."""

    title, parameter_name = _("kind"), "kind"
    AMONG: Final = 1_000

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = model_admin.get_queryset(request).order_by("-last_at")
        kinds = {*newest.values_list("kind", flat=True)[: self.AMONG], self.value() or ""}
        return [(kind, kind) for kind in sorted(kinds - {""})]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return queryset.filter(kind=self.value()) if self.value() else queryset

    def has_output(self) -> bool:
        return True


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most MAX_COUNTED rows: counting more costs more than the page."""

    MAX_COUNTED: Final = 2_000

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows[: self.MAX_COUNTED].count())


@admin.register(SecurityEvent)
class SecurityEventAdmin(ReadOnlyAdmin):
    organization_lookup = "organization_id"
    list_display = ("last_at", "kind", "count", "detail", "client_id", "address_prefix")
    list_filter = (RecentKindsFilter, "last_at")
    search_fields = ("=address_prefix", "=client_id", "=subject", "=user_id")
    search_help_text = _("Exact matches only: a network, a client id, a subject or a user id.")
    sortable_by = ()
    ordering = ("-last_at", "-pk")
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
