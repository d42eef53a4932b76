"""Sealing anew, under the first key, what an earlier one sealed, so that the earlier one can go.

Row by row, each in a transaction of its own: it may be stopped and run again, beside another run
and beside everybody's work. What is sealed under the first key already is passed over.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from foundation import sealing
from foundation.sealing import SealBroken

BATCH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Where sealed values are kept. `rows` are those that hold one; `write` saves the new value.

    `context` is what a row's value is sealed for. `read` may raise SealBroken.
    """

    name: str
    rows: Callable[[], "QuerySet[Any]"]
    read: Callable[[Any], bytes]
    write: Callable[[Any, bytes], None]
    context: Callable[[Any], bytes]


@dataclass(slots=True)
class Tally:
    """What became of a column's rows; `unreadable` are the keys of those that no key opens."""

    renewed: int = 0
    current: int = 0
    unreadable: list[str] = field(default_factory=list)


def renew(column: Column) -> Tally:
    """Seal a column's values anew where an earlier key sealed them."""
    tally = Tally()
    for key in _keys(column):
        try:
            renewed = _renew_one(column, key)
        except SealBroken:
            tally.unreadable.append(str(key))
            continue
        tally.renewed += renewed
        tally.current += not renewed
    return tally


def _keys(column: Column) -> Iterator[Any]:
    last: Any = None
    while True:
        rows = column.rows().order_by("pk")
        rest = rows if last is None else rows.filter(pk__gt=last)
        keys = list(rest.values_list("pk", flat=True)[:BATCH])
        yield from keys
        if len(keys) < BATCH:
            return
        last = keys[-1]


def _renew_one(column: Column, key: Any) -> bool:
    """Whether there was something to do; a row that went meanwhile needs nothing."""
    with transaction.atomic():
        row = column.rows().select_for_update().filter(pk=key).first()
        if row is None:
            return False
        sealed = column.read(row)
        if sealing.is_current(sealed):
            return False
        context = column.context(row)
        column.write(row, sealing.seal(sealing.unseal(sealed, context=context), context=context))
        return True
