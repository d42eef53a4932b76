"""The list of security events in the admin, its filters and the links to the history of a row."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from audit import event_names
from audit.models import SecurityEvent
from workspace.administration import row_names

ORGANIZATION: Final = "organization"
SUBJECT: Final = "subject"
TOPIC: Final = "topic"
GROUP_CHANGED: Final = "approver_group_changed"
# What people look for together: the kinds of events, by the value in the address.
TOPICS: Final[Mapping[str, tuple[Any, tuple[str, ...]]]] = {
    "projects": (_("Projects and policies"), (*event_names.PROJECT_KINDS, GROUP_CHANGED)),
    "policies": (_("Policies"), ("policy_changed", GROUP_CHANGED)),
    "members": (_("Members"), event_names.MEMBER_KINDS),
    "sign-in": (_("Sign-in methods"), event_names.SIGN_IN_KINDS),
    "switches": (_("Switches"), event_names.SWITCH_KINDS),
    "agents": (_("Agents"), event_names.AGENT_KINDS),
}


class EventList(ChangeList):
    """A page of events, with the names of what they are about."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[SecurityEvent] = [*self.result_list]
        names = event_names.load_events(request, rows)
        for row in rows:
            row.names = names
        self.result_list = rows


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most MAX_COUNTED rows: counting more costs more than the page."""

    MAX_COUNTED: Final = 2_000

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows[: self.MAX_COUNTED].count())


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


class RecentOrganizationsFilter(admin.SimpleListFilter):
    """Offers the organizations of the newest events, as `RecentKindsFilter` does."""

    title, parameter_name = _("organization"), ORGANIZATION

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = model_admin.get_queryset(request).order_by("-last_at")
        found = newest.values_list("organization_id", flat=True)[: RecentKindsFilter.AMONG]
        keys = {*found, self.value() or ""} - {""}
        names = row_names.load(request, [(event_names.ORGANIZATION, key) for key in keys])
        labels = [(key, names.text(event_names.ORGANIZATION, key)) for key in keys]
        return sorted(labels, key=itemgetter(1, 0))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return queryset.filter(organization_id=self.value()) if self.value() else queryset


class TopicFilter(admin.SimpleListFilter):
    """Events of the kinds that belong to one topic, such as all changes of members."""

    title, parameter_name = _("topic"), TOPIC

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:  # noqa: ARG002  Django's signature
        return [(value, label) for value, (label, _kinds) in TOPICS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        topic = self.value()
        if topic is None:
            return queryset
        _label, kinds = TOPICS.get(topic, ("", ()))
        return queryset.filter(kind__in=kinds)


class SubjectFilter(admin.SimpleListFilter):
    """Events about one row: its history. A link leads here; there is nothing to choose."""

    title, parameter_name = _("subject"), SUBJECT

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        subject = self.value()
        if not subject:
            return []
        newest = model_admin.get_queryset(request).filter(subject=subject).order_by("-last_at")
        event = newest.first()
        reference = event_names.subject_of(event) if event else None
        if reference is None:
            return [(subject, subject)]
        return [(subject, row_names.load(request, [reference]).text(*reference))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return queryset.filter(subject=self.value()) if self.value() else queryset

    def has_output(self) -> bool:
        return bool(self.value())
