"""Encrypts values of earlier keys again with the first key, so that they can be removed.

Each row has a transaction of its own. The command may be stopped, repeated, and run at the same
time as others and as normal operation. Values of the first key are skipped.
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
class SealedColumn:
    """A column with sealed values. `rows` are the rows with a value; `write` saves the new one.

    `rows` reads no other columns than these need, so that an older database can be checked too.

    `context` returns the sealing context of a row's value. `read` may raise SealBroken.
    """

    name: str
    rows: Callable[[], "QuerySet[Any]"]
    read: Callable[[Any], bytes]
    write: Callable[[Any, bytes], None]
    context: Callable[[Any], bytes]


@dataclass(slots=True)
class Tally:
    """The counts of a column; `unreadable` are the keys of rows that no key can decrypt."""

    renewed: int = 0
    current: int = 0
    unreadable: list[str] = field(default_factory=list)


def renew(column: SealedColumn) -> Tally:
    """Seals the values of a column again that an earlier key sealed."""
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


def check(column: SealedColumn) -> Tally:
    """Decrypts the values of a column and changes none."""
    tally = Tally()
    for row in column.rows().order_by("pk").iterator(BATCH):
        try:
            sealing.unseal(column.read(row), context=column.context(row))
        except SealBroken:
            tally.unreadable.append(str(row.pk))
        else:
            tally.current += 1
    return tally


def _keys(column: SealedColumn) -> Iterator[Any]:
    last: Any = None
    while True:
        rows = column.rows().order_by("pk")
        rest = rows if last is None else rows.filter(pk__gt=last)
        keys = list(rest.values_list("pk", flat=True)[:BATCH])
        yield from keys
        if len(keys) < BATCH:
            return
        last = keys[-1]


def _renew_one(column: SealedColumn, key: Any) -> bool:
    """Returns whether the row was changed; a row deleted in the meantime is skipped."""
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
