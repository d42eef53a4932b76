"""The list of calls in the admin, with keyset pagination, and its exports."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from audit import event_names, listing
from audit.list_filters import is_key
from audit.listing import MatchingKeys
from audit.models import ActionExecution
from foundation.spreadsheets import escape_cell

BEFORE: Final = "before"
MAX_EXPORTED: Final = 10_000
AT_ONCE: Final = 500
COLUMNS: Final = (
    *(item.attname for item in ActionExecution._meta.concrete_fields),
    "source",
    "route",
)


class CallList(ChangeList):
    """A page of calls, newest first. `older` and `newest` are links; there is no count."""

    def __init__(self, request: HttpRequest, *rest: Any, **more: Any) -> None:
        self.before = _key(request.GET.get(BEFORE))
        super().__init__(request, *rest, **more)
        self.title = str(self.opts.verbose_name_plural)

    def get_filters_params(self, params: Any = None) -> Any:
        found = super().get_filters_params(params)
        found.pop(BEFORE, None)
        return found

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        # A changed filter starts at the newest call.
        return super().get_query_string({BEFORE: None, **(new_params or {})}, remove)

    def get_results(self, request: HttpRequest) -> None:
        rows = self.queryset
        if self.before is not None:
            rows = rows.filter(pk__lt=self.before)
        self.found = listing.newest(rows, self.list_per_page)
        self.result_list = load_rows(self.found)
        names = event_names.load_calls(request, self.result_list)
        for row in self.result_list:
            row.names = names
        self.result_count = self.full_result_count = len(self.result_list)
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = self.multi_page = False
        self.paginator = self.model_admin.get_paginator(request, self.result_list, 1)

    @property
    def search_end_time(self) -> Any:
        """The time of the oldest row that was read, if the search ended early."""
        stop = self.found.continue_from
        return None if stop is None else listing.moment(stop)

    @property
    def older(self) -> str:
        """The link to older calls, or to continue the search; empty at the end."""
        last = self.found.keys[-1] if self.found.has_more else self.found.continue_from
        return "" if last is None else self.get_query_string({BEFORE: str(last)})

    @property
    def newest(self) -> str:
        return "" if self.before is None else self.get_query_string()


def load_rows(found: MatchingKeys) -> list[ActionExecution]:
    """Returns the rows of the result, newest first, without their arguments."""
    rows = ActionExecution.objects.order_by().defer("arguments").in_bulk(list(found.keys))
    return [rows[key] for key in found.keys if key in rows]


def search(rows: QuerySet[ActionExecution], text: str) -> QuerySet[ActionExecution]:
    """Returns the rows with this request id, authorization id, client id or user's address."""
    text = text.strip()
    if "@" in text and "://" not in text:
        return rows.filter(user_email=text.lower())
    found = Q(request_id=text) | Q(client_id=text)
    if is_key(text):
        # With and without hyphens: request ids have none, ids of rows have them.
        key = UUID(text)
        found = found | Q(request_id=key.hex) | Q(authorization_id=str(key))
    return rows.filter(found)


def export_rows(rows: QuerySet[ActionExecution]) -> Iterator[ActionExecution]:
    """Yields the newest rows of the list, at most MAX_EXPORTED, read in parts."""
    left, before = MAX_EXPORTED, listing.GREATEST
    while left > 0:
        found = listing.newest(rows.filter(pk__lt=before), min(AT_ONCE, left))
        by_key = ActionExecution.objects.order_by().in_bulk(list(found.keys))
        yield from (by_key[key] for key in found.keys)
        left -= len(found.keys)
        last = found.keys[-1] if found.has_more else found.continue_from
        if last is None:
            return
        before = last


def as_csv(rows: Iterator[ActionExecution]) -> Iterator[str]:
    """Yields CSV lines with a header; cells that a spreadsheet would execute are escaped."""
    yield _line(COLUMNS)
    for row in rows:
        yield _line([_cell(value) for value in _values(row)])


def as_json(rows: Iterator[ActionExecution]) -> Iterator[str]:
    """Yields one JSON array of objects, in parts."""
    separator = "["
    for row in rows:
        values = dict(zip(COLUMNS, _values(row), strict=True))
        yield separator + json.dumps(values, cls=DjangoJSONEncoder)
        separator = ",\n"
    yield "]\n" if separator != "[" else "[]\n"


EXPORTS: Final[dict[str, tuple[str, Callable[[Iterator[ActionExecution]], Iterator[str]]]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "json": ("application/json", as_json),
}


def _values(row: ActionExecution) -> list[Any]:
    return [getattr(row, name) for name in COLUMNS]


def _cell(value: Any) -> str:
    if isinstance(value, dict | list):
        return escape_cell(json.dumps(value, ensure_ascii=False))
    text = "" if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)
    return escape_cell(text)


def _line(cells: Any) -> str:
    written = io.StringIO()
    csv.writer(written).writerow(cells)
    return written.getvalue()


def _key(text: str | None) -> UUID | None:
    if text is None:
        return None
    try:
        return UUID(text)
    except ValueError as error:
        raise IncorrectLookupParameters(error) from error
