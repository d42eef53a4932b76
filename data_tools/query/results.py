"""The results of data tools: the envelope, its schema, and how much of it is sent."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import QuerySet

from data_tools.query.arguments import PRESENTATION, TIME
from data_tools.query.call import DataToolCall
from data_tools.query.texts import compact
from foundation.json_text import dumps
from tools_registry.api import Facts, Json, Schema
from workspace.models import Account

MAX_TOTAL: Final = 10_000
MAX_CHARACTERS: Final = 32_000
# Of these, for all but the items.
ENVELOPE_CHARACTERS: Final = 4_000
# Of an object that an organization filled.
MAX_MEMBERS: Final = 8_000

LIST: Final[Schema] = {"type": "array", "items": {"type": "object"}}
TEXTS: Final[Schema] = {"type": "array", "items": {"type": "string"}}
OBJECT: Final[Schema] = {"type": "object"}
TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer"}
TRUTH: Final[Schema] = {"type": "boolean"}


def schema(**members: Schema) -> Schema:
    """The schema of a result with these members, each of which may be left out."""
    ends = {"searched": OBJECT, "as_of": TEXT, "hints": TEXTS}
    return {"type": "object", "properties": {**members, **ends}, "required": ["as_of"]}


LISTED: Final[Mapping[str, Schema]] = {
    "items": LIST,
    "returned": WHOLE,
    "total": WHOLE,
    "at_least": WHOLE,
    "next_cursor": TEXT,
    "groups": LIST,
    "distinct": WHOLE,
    "other": WHOLE,
    "currency": TEXT,
    "period": OBJECT,
}
LISTING: Final[Schema] = schema(**LISTED)


def answer(
    call: DataToolCall,
    *,
    searched: Mapping[str, Json] | None = None,
    hints: Sequence[str] = (),
    rows: int = 0,
    last: Mapping[str, Json] | None = None,
    **members: Json,
) -> Facts:
    """Returns the result of a call: its members, what was searched and when.

    `searched` replaces what the arguments say. `rows` counts the rows for the audit row. `items` of
    nothing are kept: an empty list is an answer. The members of `last` come after the hints.
    """
    about = {
        name: value
        for name, value in call.arguments.items()
        if name not in PRESENTATION and name not in TIME
    }
    ends = {
        "searched": {**about, **(searched or {})},
        "as_of": call.when(call.now),
        "hints": list(hints),
        **(last or {}),
    }
    empty: dict[str, Json] = {"items": []} if members.get("items") == [] else {}
    value = {**empty, **compact({**members, **ends})}
    return Facts(value, row_count=rows, is_compact=True)


def reference(row: Any) -> dict[str, Json] | None:
    """A row as results refer to it: its id and its name. None without a row."""
    return row and {"id": str(row.pk), "name": str(row)}


def column_value(call: DataToolCall, value: Any) -> Json:
    """The value of a column as results show it."""
    if isinstance(value, datetime):
        return call.when(value)
    if isinstance(value, date):
        return day(value)
    return amount(value) if isinstance(value, Decimal) else value


def amount(money: Decimal | None) -> float | None:
    """An amount in major units of the organization's currency."""
    return None if money is None else float(money)


def day(value: date | None) -> str | None:
    return None if value is None else value.isoformat()


def renewal(account: Account) -> dict[str, Json]:
    """The contract of a customer or company."""
    return {
        "arr": amount(account.arr),
        "renewal_status": account.renewal_status,
        "renewal_date": day(account.renewal_date),
        "contract_term": account.contract_term,
        "payment_terms": account.payment_terms,
        "on_contract": account.on_contract,
    }


def limit_members(members: Mapping[str, Json], longest: int = MAX_MEMBERS) -> dict[str, Json]:
    """The members of an object that an organization filled, as many as fit; the rest is counted."""
    members = compact(members)
    kept: dict[str, Json] = {}
    for name, value in members.items():
        longest -= len(dumps({name: value}).decode())
        if longest < 0:
            return {**kept, "left_out": len(members) - len(kept)}
        kept[name] = value
    return kept


def count_rows(rows: QuerySet[Any], limit: int | None = None) -> dict[str, int]:
    """How many rows there are: `total`, or `at_least` where they are more than the limit."""
    limit = MAX_TOTAL if limit is None else limit
    many = rows.order_by()[: limit + 1].count()
    return {"total": many} if many <= limit else {"at_least": limit}


def fitting(items: Sequence[Mapping[str, Json]]) -> int:
    """How many of the items fit into one result, and always one."""
    left = MAX_CHARACTERS - ENVELOPE_CHARACTERS
    for place, item in enumerate(items):
        left -= len(dumps(compact(item)).decode()) + len(",")
        if left < 0:
            return max(place, 1)
    return len(items)
