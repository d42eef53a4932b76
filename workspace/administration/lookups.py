"""Limits the query string of an admin list to the filters that the list declares."""

from collections.abc import Iterator
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.db.models import QuerySet
from django.http import HttpRequest

from workspace.administration import searching
from workspace.administration.times import TimesAdmin

# The suffixes that each kind of list filter uses in its links.
SUFFIXES: Final[dict[type[admin.FieldListFilter], tuple[str, ...]]] = {
    admin.RelatedFieldListFilter: ("__{target}__exact", "__isnull"),
    admin.BooleanFieldListFilter: ("__exact", "__isnull"),
    admin.ChoicesFieldListFilter: ("__exact", "__isnull"),
    admin.DateFieldListFilter: ("__gte", "__lt", "__isnull"),
    admin.EmptyFieldListFilter: ("__isempty",),
    admin.AllValuesFieldListFilter: ("", "__isnull"),
}
DATE_PARTS: Final = ("year", "month", "day")


class DeclaredLookupsAdmin(TimesAdmin):
    """A list whose address accepts the lookups of `list_filter` and `date_hierarchy` only.

    Django allows any lookup on local fields. `__regex` blocks the process on SQLite, where it runs
    as Python code, and `__startswith` reads out a column that no page shows, a character at a time.
    """

    # Facets run one COUNT over the whole table per filter value.
    show_facets = admin.ShowFacets.NEVER

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:  # noqa: ARG002  Django's signature
        return lookup in {*self._filter_lookups(request), *self._date_lookups()}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Finds nothing for a search that is too long to be run."""
        if searching.is_too_long(request, search_term):
            return queryset.none(), False
        return self.search(request, queryset, search_term)

    def search(
        self, request: HttpRequest, queryset: QuerySet[Any], term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Returns the rows that a search finds, and whether some are in it twice, as in Django."""
        return super().get_search_results(request, queryset, term)

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        """Refuses reverse relations, on which Django's own check raises AttributeError."""
        columns = {column.name for column in self.opts.concrete_fields}
        return to_field in columns and super().to_field_allowed(request, to_field)

    def _filter_lookups(self, request: HttpRequest) -> Iterator[str]:
        for declared in self.get_list_filter(request):
            if isinstance(declared, type) and issubclass(declared, admin.SimpleListFilter):
                if declared.parameter_name:
                    yield declared.parameter_name
            elif isinstance(declared, (tuple, list)):
                yield from self._field_lookups(str(declared[0]), declared[1])
            else:
                yield from self._field_lookups(str(declared), None)

    def _field_lookups(self, path: str, chosen: Any) -> Iterator[str]:
        field: Any = get_fields_from_path(self.model, path)[-1]
        kind = chosen or _default_filter(field)
        suffixes = next(SUFFIXES[base] for base in kind.__mro__ if base in SUFFIXES)
        for suffix in suffixes:
            target = field.target_field.name if "{target}" in suffix else ""
            yield path + suffix.format(target=target)

    def _date_lookups(self) -> Iterator[str]:
        if self.date_hierarchy:
            yield from (f"{self.date_hierarchy}__{part}" for part in DATE_PARTS)


def _default_filter(field: Any) -> type[admin.FieldListFilter]:
    """Returns the filter class that Django uses for a field that is given by name alone."""
    # Django has no public name for its table of filters.
    registered: Any = vars(admin.FieldListFilter)["_field_list_filters"]
    found: type[admin.FieldListFilter] = next(kind for test, kind in registered if test(field))
    return found
