"""Pages of lists: a cursor names the last row of a page, and the next page begins after it."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import Field, Model, Q, QuerySet

from foundation.db.storable import has_unstorable_text
from rest.errors import ApiError, field_error

PREFIX: Final = "cursor_"
DEFAULT_LIMIT: Final = 25
MAX_LIMIT: Final = 100
MAX_CURSOR: Final = 1_000


@dataclass(frozen=True, slots=True)
class PageOrder:
    """A column, and whether its largest value comes first; the id orders equal values.

    Of two orders of one list by the same column, one has a `name`, which its cursors carry.
    """

    column: str
    is_descending: bool = False
    name: str = ""

    @property
    def cursor_name(self) -> str:
        return self.name or self.column


NEWEST: Final = PageOrder("updated_at", is_descending=True)


@dataclass(frozen=True, slots=True)
class RowPage:
    """The rows of a page, and its place in the list."""

    rows: list[Any]
    pagination: Mapping[str, Any]


def build_page(rows: QuerySet[Any], query: Mapping[str, Any], order: PageOrder) -> RowPage:
    """Returns the page that a query asks for. Raises ApiError for a cursor that is none."""
    limit = query.get("limit", DEFAULT_LIMIT)
    if query.get("sort") == "updated_at_desc":
        order = NEWEST
    if cursor := query.get("cursor"):
        rows = rows.filter(_cursor_condition(rows.model, order, *_read(cursor, order)))
    sign = "-" if order.is_descending else ""
    found = list(rows.order_by(f"{sign}{order.column}", f"{sign}pk")[: limit + 1])
    has_more = len(found) > limit
    kept = found[:limit]
    following = _encode_cursor(kept[-1], order) if has_more else None
    pagination = {"next_cursor": following, "has_more": has_more, "limit": limit}
    return RowPage(kept, pagination)


def _cursor_condition(model: type[Model], order: PageOrder, value: Any, key: str) -> Q:
    column, comparison = order.column, "lt" if order.is_descending else "gt"
    field = model._meta.get_field(column)
    try:
        value = field.to_python(value) if isinstance(field, Field) else value
    except ValidationError:
        raise _invalid_cursor() from None
    beyond = Q(**{f"{column}__{comparison}": value})
    # By the first condition an index begins at the cursor, and not at the first row of the list.
    from_here = Q(**{f"{column}__{comparison}e": value})
    return from_here & (beyond | Q(**{column: value, f"pk__{comparison}": key}))


def _encode_cursor(row: Any, order: PageOrder) -> str:
    value = getattr(row, order.column)
    text = value if isinstance(value, str) else value.isoformat()
    packed = json.dumps([order.cursor_name, text, row.pk]).encode()
    return PREFIX + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _read(cursor: str, order: PageOrder) -> tuple[str, str]:
    packed = cursor.removeprefix(PREFIX)
    try:
        name, value, key = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    except (ValueError, TypeError, binascii.Error):
        raise _invalid_cursor() from None
    is_text = isinstance(value, str) and isinstance(key, str)
    if name != order.cursor_name or not is_text or has_unstorable_text([value, key]):
        raise _invalid_cursor()
    return value, key


def _invalid_cursor() -> ApiError:
    return field_error(400, "cursor", "Send next_cursor of the page before, with the same sort.")
