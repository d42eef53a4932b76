"""The audit log in the admin, read-only."""

from typing import Any
from urllib.parse import unquote_plus

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from audit import call_list, call_page, event_list, event_names, list_filters, record
from audit.call_list import EXPORTS, CallList
from audit.event_list import EventList
from audit.models import ActionExecution, SecurityEvent
from foundation import peer
from workspace.administration import row_names
from workspace.administration.scoped import ReadOnlyAdmin


@admin.register(ActionExecution)
class ActionExecutionAdmin(ReadOnlyAdmin):
    organization_lookup = "organization_id"
    list_display = (
        *("started_at", "tool_or_method", "result", "person", "client"),
        *("organization", "place", "milliseconds"),
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
        row = more["obj"]
        row.names = event_names.load_calls(request, [row])
        context["call"] = call_page.build(row, self.get_queryset(request))
        return super().render_change_form(request, context, *rest, **more)

    @admin.display(description=_("call"))
    def tool_or_method(self, row: ActionExecution) -> str:
        return row.tool or row.method

    @admin.display(description=_("result"))
    def result(self, row: ActionExecution) -> SafeString:
        return call_page.badge(row)

    @admin.display(description=_("person"))
    def person(self, row: ActionExecution) -> SafeString:
        return call_page.person(row)

    @admin.display(description=_("client"))
    def client(self, row: ActionExecution) -> SafeString:
        return call_page.client(row)

    @admin.display(description=_("organization"))
    def organization(self, row: ActionExecution) -> SafeString:
        return row.names.link(event_names.ORGANIZATION, row.organization_id)

    @admin.display(description=_("surface"))
    def place(self, row: ActionExecution) -> SafeString | str:
        project = event_names.project_of(row)
        return row.names.link(event_names.PROJECT, project) if project else row.surface

    @admin.display(description=_("ms"))
    def milliseconds(self, row: ActionExecution) -> str:
        return call_page.milliseconds(row)


@admin.register(SecurityEvent)
class SecurityEventAdmin(ReadOnlyAdmin):
    organization_lookup = "organization_id"
    list_display = (
        *("last_at", "kind", "person", "subject_link", "detail", "organization", "client"),
        *("count", "address_prefix"),
    )
    list_filter = (
        event_list.TopicFilter,
        event_list.RecentKindsFilter,
        event_list.RecentOrganizationsFilter,
        event_list.SubjectFilter,
        "last_at",
    )
    search_fields = ("=address_prefix", "=client_id", "=subject", "=user_id")
    search_help_text = _("Exact matches only: a network, a client id, a subject or a user id.")
    sortable_by = ()
    ordering = ("-last_at", "-pk")
    paginator = event_list.BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    readonly_fields = ("person", "subject_link", "organization", "client")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    *("kind", "person", "subject_link", "detail", "organization", "client"),
                    *("count", "first_at", "last_at", "address_prefix"),
                )
            },
        ),
        (
            _("Identifiers"),
            {"fields": ("subject", "organization_id", "client_id", "user_id", "minute", "slot")},
        ),
    )

    def get_changelist(self, request: HttpRequest, **_more: Any) -> type[EventList]:  # noqa: ARG002
        return EventList

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row.names = event_names.load_events(request, [row])
        return row

    @admin.display(description=_("by"))
    def person(self, row: SecurityEvent) -> SafeString:
        return row.names.link(row_names.USER, row.user_id)

    @admin.display(description=_("about"))
    def subject_link(self, row: SecurityEvent) -> SafeString | str:
        subject = event_names.subject_of(row)
        return "" if subject is None else row.names.link(*subject)

    @admin.display(description=_("organization"))
    def organization(self, row: SecurityEvent) -> SafeString:
        return row.names.link(event_names.ORGANIZATION, row.organization_id)

    @admin.display(description=_("client"))
    def client(self, row: SecurityEvent) -> SafeString:
        return row.names.link(event_names.CLIENT, row.client_id)
