"""The filters of the audit list: each is on one column that `audit/listing.py` supports."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final, TypeAlias
from uuid import UUID
from weakref import WeakKeyDictionary

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from audit import listing, periods
from audit.models import ActionExecution
from audit.outcomes import ActorKind, Outcome
from audit.periods import CalendarPeriod
from foundation import ids
from workspace.models import Organization

# The choices are read from the newest rows: all values would be a scan of the table, and a client
# that invents names of tools could fill the page with links.
AMONG: Final = 1_000
MAX_VALUES: Final = 40
RECENT: Final = (
    *("reason", "integration", "tool", "surface"),
    *("organization_id", "client_id", "client_name"),
)

Choices: TypeAlias = list[tuple[str, Any]]


class ColumnFilter(admin.SimpleListFilter):
    """Rows whose `column` holds the chosen value."""

    column: ClassVar[str]

    def queryset(
        self,
        request: HttpRequest,  # noqa: ARG002  Django's signature
        queryset: QuerySet[ActionExecution],
    ) -> QuerySet[ActionExecution]:
        value = self.value()
        return queryset if value is None else queryset.filter(**{self.column: value})

    def has_output(self) -> bool:
        # Django leaves out a filter without choices even if the URL has a value for it.
        return bool(self.lookup_choices) or self.value() is not None

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Returns the choices, and the chosen value if it is none of the newest."""
        yield from super().choices(changelist)
        value = self.value()
        if value is not None and value not in {str(key) for key, _label in self.lookup_choices}:
            link = changelist.get_query_string({self.parameter_name: value})
            yield {"selected": True, "query_string": link, "display": self.label_of(value)}

    def label_of(self, value: str) -> str:
        """Returns the label of a value that is not among the choices."""
        return value or str(_("none"))


class RecentValuesFilter(ColumnFilter):
    """The values of the newest rows."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        at = RECENT.index(self.column)
        values = {row[at] for row in recent(request, model_admin) if row[at]}
        return [(value, value) for value in sorted(values)[:MAX_VALUES]]


class OutcomeFilter(ColumnFilter):
    title, parameter_name, column = _("outcome"), "outcome", "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:  # noqa: ARG002
        return list(Outcome.choices)


class ActorFilter(ColumnFilter):
    title, parameter_name, column = _("actor"), "actor", "actor_kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:  # noqa: ARG002
        return list(ActorKind.choices)


class ReasonFilter(RecentValuesFilter):
    title, parameter_name, column = _("reason"), "reason", "reason"


class ToolFilter(RecentValuesFilter):
    title, parameter_name, column = _("tool"), "tool", "tool"


class SurfaceFilter(RecentValuesFilter):
    title, parameter_name, column = _("surface"), "surface", "surface"


class IntegrationFilter(RecentValuesFilter):
    title, parameter_name, column = _("integration"), "integration", "integration"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [*super().lookups(request, model_admin), ("", _("none"))]


class OrganizationFilter(RecentValuesFilter):
    title, parameter_name, column = _("organization"), "organization", "organization_id"

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.reach = model_admin.reach(request, "view")
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        values = [value for value, _label in super().lookups(request, model_admin)]
        names = organization_names(values)
        return sorted(((key, names.get(key, key)) for key in values), key=lambda one: one[1])

    def label_of(self, value: str) -> str:
        # The URL may name any organization; only names of the visitor's own are shown.
        is_own = is_key(value) and self.reach.includes(UUID(value))
        return organization_names([value]).get(value, value) if is_own else value


class ClientFilter(RecentValuesFilter):
    title, parameter_name, column = _("client"), "client", "client_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        rows = recent(request, model_admin)
        at, name = RECENT.index("client_id"), RECENT.index("client_name")
        names = {row[at]: row[name] or row[at] for row in rows if row[at]}
        return sorted(names.items(), key=lambda one: (one[1].casefold(), one[0]))[:MAX_VALUES]


class PeriodFilter(admin.SimpleListFilter):
    """A year, a month or a day, as a range of keys, in the time zone of the server."""

    title, parameter_name = _("date"), "period"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        ends = listing.span(model_admin.get_queryset(request))
        found = periods.choices(self._period(), *ends) if ends else []
        return [(one.text, one.label) for one in found]

    def has_output(self) -> bool:
        return bool(self.lookup_choices) or self.value() is not None

    def queryset(
        self,
        request: HttpRequest,  # noqa: ARG002  Django's signature
        queryset: QuerySet[ActionExecution],
    ) -> QuerySet[ActionExecution]:
        period = self._period()
        if period is None:
            return queryset
        low, high = ids.first_key(period.start), ids.first_key(period.end)
        return queryset.filter(pk__gte=low, pk__lt=high)

    def _period(self) -> CalendarPeriod | None:
        value = self.value()
        try:
            return None if value is None else CalendarPeriod.parse(value)
        except (ValueError, OverflowError) as error:
            raise IncorrectLookupParameters(error) from error


_recent: WeakKeyDictionary[HttpRequest, list[Any]] = WeakKeyDictionary()


def recent(request: HttpRequest, model_admin: Any) -> list[Any]:
    """Returns the values of RECENT in the newest rows that this user may see, cached by request."""
    if request not in _recent:
        rows = model_admin.get_queryset(request)
        _recent[request] = listing.recent_values(rows, RECENT, AMONG)
    return _recent[request]


def organization_names(keys: Iterable[str]) -> dict[str, str]:
    """Returns the names of these organizations, by their keys as audit rows store them."""
    found = Organization.objects.filter(pk__in=[key for key in keys if is_key(key)])
    return {str(key): name for key, name in found.values_list("pk", "name")}


def is_key(text: str) -> bool:
    """Returns whether the text is a UUID, in any spelling."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
