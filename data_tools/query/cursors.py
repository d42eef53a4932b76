"""Cursors of lists: where the next page begins, sealed for one caller and one set of arguments."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import orjson

from data_tools.query.arguments import PRESENTATION
from data_tools.query.call import DataToolCall, invalid_argument
from data_tools.query.periods import QueryPeriod
from foundation import sealed_text
from foundation.sealing import SealBroken

# How a sort key is read back, by the name of its type.
READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "NoneType": lambda _text: None,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "Decimal": Decimal,
    "float": float,
    "int": int,
    "str": str,
}


@dataclass(frozen=True, slots=True)
class Cursor:
    """The period of the first page, and the sort keys of the last row sent, a unique one last."""

    period: QueryPeriod
    keys: tuple[Any, ...]


def seal(call: DataToolCall, cursor: Cursor) -> str:
    """Returns a cursor as text that only a call with the same arguments can use."""
    period = cursor.period
    bounds = [bound and bound.isoformat() for bound in (period.start, period.end)]
    value = [period.name, bounds, *map(_serialize_value, cursor.keys)]
    return sealed_text.seal(orjson.dumps(value), context=_context(call))


def read_cursor(call: DataToolCall, sealed: str | None) -> Cursor | None:
    """Returns the cursor that a call sent, or None. Raises ValidationFailure."""
    if sealed is None:
        return None
    try:
        value = sealed_text.unseal(sealed, context=_context(call))
    except SealBroken:
        reason = "made with other arguments. Repeat them or leave it out."
        raise invalid_argument("cursor", reason) from None
    name, bounds, *keys = orjson.loads(value)
    start, end = (bound and datetime.fromisoformat(bound) for bound in bounds)
    return Cursor(QueryPeriod(name, start, end), tuple(map(_read, keys)))


def _context(call: DataToolCall) -> bytes:
    # How much of each row is sent does not change which rows follow.
    kept = {name: one for name, one in call.arguments.items() if name not in PRESENTATION}
    caller = [str(call.access.organization_id), call.access.customer_id, call.tool, kept]
    digest = hashlib.sha256(orjson.dumps(caller, option=orjson.OPT_SORT_KEYS))
    return b"data cursor:" + digest.digest()


def _serialize_value(value: Any) -> list[str]:
    text = value.isoformat() if isinstance(value, date) else str(value)
    return [type(value).__name__, text]


def _read(written: list[str]) -> Any:
    kind, text = written
    return READ[kind](text)
