"""The filters of the lists of recorded rows."""

from collections.abc import Iterator
from typing import Any, ClassVar, Final
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workspace.administration.access import Reach
from workspace.administration.scoped import offered_rows
from workspace.models import (
    UNRESOLVED,
    Company,
    Conversation,
    Customer,
    Organization,
    TicketStatus,
)

Choices = list[tuple[str, Any]]
REFERENCES: Final = ("customer", "company", "conversation")
UNRESOLVED_NAME: Final = "unresolved"


class OneOrganization(admin.SimpleListFilter):
    """The organization whose rows are listed: always one, so that an index gives their order.

    Without a choice it is the visitor's own, else the first by name. A list that is narrowed to
    one customer or the like is one organization's anyway.
    """

    title, parameter_name = _("organization"), "organization__id__exact"
    # The template shows the choice even if it is the first.
    is_always_chosen = True

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.is_narrowed = any(request.GET.get(name) for name in REFERENCES)
        self.own = frozenset(getattr(request.user, "active_roles", {}))
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        rows = offered_rows(Organization, model_admin.reach(request, "view", "change"))
        return list(rows.order_by("name", "pk").values_list("pk", "name"))

    def has_output(self) -> bool:
        return True

    @property
    def chosen_organization(self) -> UUID | None:
        if self.value():
            try:
                return UUID(self.value())
            except ValueError as error:
                raise IncorrectLookupParameters(error) from error
        keys: list[Any] = [] if self.is_narrowed else [key for key, _name in self.lookup_choices]
        return next((key for key in keys if key in self.own), next(iter(keys), None))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return (
            queryset
            if self.chosen_organization is None
            else queryset.filter(organization=self.chosen_organization)
        )

    def choices(self, changelist: Any) -> Iterator[Any]:
        for key, name in self.lookup_choices:
            link = changelist.get_query_string({self.parameter_name: key}, [*REFERENCES])
            yield {
                "selected": key == self.chosen_organization,
                "query_string": link,
                "display": name,
            }


class ReferenceFilter(admin.SimpleListFilter):
    """Rows of one customer, company or conversation; links from their pages lead to it."""

    model: ClassVar[type[Model]]

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.reach: Reach = model_admin.reach(request, "view", "change")
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:  # noqa: ARG002
        key = self.value()
        if not key:
            return []
        # A name is shown to those who may see the row; for others there is no such row.
        rows: QuerySet[Any] = self.reach.limit(QuerySet(self.model), "organization")
        row = rows.filter(pk=key).first()
        return [(key, str(row) if row else key)]

    def has_output(self) -> bool:
        return bool(self.value())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return queryset.filter(**{str(self.parameter_name): self.value()})


class OfCustomer(ReferenceFilter):
    title, parameter_name, model = _("customer"), "customer", Customer


class OfCompany(ReferenceFilter):
    title, parameter_name, model = _("company"), "company", Company


class OfConversation(ReferenceFilter):
    title, parameter_name, model = _("conversation"), "conversation", Conversation


class TicketStatusFilter(admin.SimpleListFilter):
    """One status, or every status of a ticket that is not resolved."""

    title, parameter_name = _("status"), "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:  # noqa: ARG002
        return [(UNRESOLVED_NAME, _("Not resolved")), *TicketStatus.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        value = self.value()
        if value is None:
            return queryset
        if value == UNRESOLVED_NAME:
            return queryset.filter(status__in=UNRESOLVED)
        return queryset.filter(status=value)
