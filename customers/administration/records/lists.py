"""The base of the lists of recorded rows: one organization at a time, a bounded count, few reads.

A list never counts further than `MAX_COUNTED` rows and never sorts by a column without an index.
It reads the keys of a page first, from an index, and then the rows of that page only.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import InvalidPage, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from customers.administration.records.filters import OneOrganization
from workspace.administration import searching
from workspace.administration.facts import link_to
from workspace.administration.scoped import ReadOnlyAdmin, ScopedAdmin

MAX_COUNTED: Final = 10_000
# Up to so many rows, one statement reads their keys and so counts them.
FEW: Final = 1_000


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """The rows that a search has found, and up to where counting them is cheap."""

    rows: QuerySet[Any]
    max_counted: int = MAX_COUNTED


class RecordList(ChangeList):
    """A page of rows. `is_more` says that there are more than `result_count`, where it ends."""

    model_admin: Any
    list_select_related: Any
    is_more = False
    max_counted = MAX_COUNTED

    def __init__(self, request: HttpRequest, *rest: Any, **more: Any) -> None:
        super().__init__(request, *rest, **more)
        # Columns of times are functions that carry the name of their field.
        columns: list[Any] = [one for one in self.list_display if _name(one) in self._sortable]
        self.sortable_by = columns

    @property
    def _sortable(self) -> Any:
        return self.model_admin.sortable_by

    def get_ordering_field(self, field_name: Any) -> Any:
        return (
            super().get_ordering_field(field_name) if _name(field_name) in self._sortable else None
        )

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        # Django's own search has no way to say how far its rows can be counted.
        term, self.query = self.query.strip(), ""
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        self.query = term
        if not term:
            return rows
        if searching.is_too_long(request, term):
            return rows.none()
        prefix = self.model_admin.id_prefix
        if prefix and term.startswith(prefix):
            # An id names its row in whichever organization and whatever the filters say.
            by_key = self.root_queryset.filter(pk=term)
            if by_key.exists():
                return by_key
        found: FoundRecords = self.model_admin.find(rows, self._organization, term)
        self.max_counted = found.max_counted
        return found.rows

    @property
    def _organization(self) -> UUID | None:
        """The organization of the rows, unless they are those of a customer or the like."""
        chosen = (
            one.chosen_organization for one in self.filter_specs if isinstance(one, OneOrganization)
        )
        return next(chosen, None)

    @property
    def minimum_count(self) -> str:
        """The count of a list that has more rows than it counts."""
        return f"{self.result_count:,}+"

    def get_results(self, request: HttpRequest) -> None:  # noqa: ARG002  Django's signature
        keys = self._keys()
        is_narrowed = bool(self.query) or self.has_active_filters
        # Where the two differ, Django shows the number of results next to the search.
        self.full_result_count = None if is_narrowed else self.result_count
        self.show_full_result_count = False
        self.can_show_all = False
        self.show_admin_actions = True
        self.multi_page = self.result_count > self.list_per_page
        rows = self.root_queryset.select_related(*self.list_select_related or ())
        by_key = rows.in_bulk(keys)
        self.result_list = [by_key[key] for key in keys if key in by_key]

    def _keys(self) -> list[Any]:
        """Returns the keys of the page, and sets how many pages there are."""
        rows = self.queryset.values_list("pk", flat=True)
        filters = (f"{name}__exact" for name in self.model_admin.uncounted)
        if any(name in self.filter_params for name in filters):
            self.max_counted = min(FEW, self.max_counted)
        limit = min(FEW, self.max_counted)
        first = list(rows[: limit + 1])
        found = len(first)
        if found > limit and limit < self.max_counted:
            found = self.queryset.order_by()[: self.max_counted + 1].count()
        self.is_more = found > self.max_counted
        self.result_count = min(found, self.max_counted)
        self.paginator = Paginator(range(self.result_count), self.list_per_page)
        try:
            page = self.paginator.page(self.page_num)
        except InvalidPage as error:
            raise IncorrectLookupParameters(error) from error
        start, end = max(page.start_index() - 1, 0), page.end_index()
        return first[start:end] if end <= len(first) else list(rows[start:end])


class RecordListAdmin(ScopedAdmin):
    """The list of one kind of recorded rows.

    `find` narrows rows to what a search term means; `id_prefix` is how ids of the model
    begin; empty for a model whose ids are internal.
    """

    organization_lookup = "organization"
    id_prefix: ClassVar[str] = ""
    sortable_by: ClassVar[Any] = ()
    # The filters that no index serves: the rows that they leave are counted to FEW only.
    uncounted: ClassVar[tuple[str, ...]] = ()
    show_full_result_count = False
    # Half of the time of a page is its rows.
    list_per_page = 25

    def get_changelist(self, request: HttpRequest, **_more: Any) -> type[RecordList]:  # noqa: ARG002
        return RecordList

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
        """Returns those of the rows that a search finds; `organization` is theirs, if known."""
        raise NotImplementedError


class OwnerColumns:
    """The columns of a list with links to the customer and the company that a row belongs to."""

    @admin.display(description=_("customer"))
    def customer_link(self, row: Any) -> SafeString | str:
        return link_to(row.customer)

    @admin.display(description=_("company"))
    def company_link(self, row: Any) -> SafeString | str:
        return link_to(row.company)


class RecordPages(OwnerColumns, ReadOnlyAdmin, RecordListAdmin):
    """Rows that the product's own writers write: a list, and a page that shows a row."""

    change_form_template = "admin/workspace/record.html"
    # The page shows facts in place of a form.
    fields: ClassVar[Any] = ("id",)

    def page(self, request: HttpRequest, row: Any) -> Any:
        """Returns what the page of a row shows: `facts`, `panels` and `thread`."""
        raise NotImplementedError

    def render_change_form(
        self, request: HttpRequest, context: Any, *rest: Any, **more: Any
    ) -> Any:
        context["page"] = self.page(request, more["obj"])
        return super().render_change_form(request, context, *rest, **more)


def _name(column: Any) -> str:
    return str(getattr(column, "__name__", column))
