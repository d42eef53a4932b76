"""Computes search words and keys of names of rows that have none, or those of an earlier version.

Rows are written in batches while old and new processes serve. Until a row is reached, searches find
it by what the earlier version stored. One thread at a time writes words, and one writes keys.
"""

import threading
import time
from collections.abc import Iterator
from typing import Any, Final, cast

from django.db.models import Model, Q

from customers import bulk_writes
from foundation import leases
from foundation.text.columns import SearchTextField
from foundation.text.names import name_key
from workspace.models import Company, ConversationMessage, Customer, Lead, TicketMessage

SEARCHED: Final[tuple[type[Model], ...]] = (TicketMessage, ConversationMessage, Lead)
NAMED: Final[tuple[type[Model], ...]] = (Customer, Company)
UNFILLED: Final = Q(search_text=None)
# Of a run that fills words; the next one goes on within two minutes. Keys are read in one run.
FILL_SECONDS: Final = 30.0
# The advisory locks of the two tasks: "text" and "name".
TEXT_LOCK: Final = 0x74657874
NAME_LOCK: Final = 0x6E616D65
_locks: Final = {key: threading.Lock() for key in (TEXT_LOCK, NAME_LOCK)}


def fill_search_texts() -> int:
    """Fills `search_text` where it is missing, for half a minute; returns of how many rows."""
    return _renew(TEXT_LOCK, _fill(), time.monotonic() + FILL_SECONDS)


def renew_name_keys() -> int:
    """Writes the keys of names that are not those of this version; returns how many."""
    return _renew(NAME_LOCK, _renew_keys())


def _renew(lock: int, batches: Iterator[int], until: float | None = None) -> int:
    """Writes batches until this time, or until the process is stopped; returns how many rows.

    Does nothing while another thread does the same.
    """
    if not _locks[lock].acquire(blocking=False):
        return 0
    try:
        renewed = 0
        for count in batches:
            renewed += count
            if leases.is_stopping() or (until is not None and time.monotonic() > until):
                break
        return renewed
    finally:
        _locks[lock].release()


def _fill() -> Iterator[int]:
    for model in SEARCHED:
        field = cast("SearchTextField", model._meta.get_field("search_text"))
        yield from bulk_writes.renew_column(
            model, "search_text", field.sources, field.make_row_words, UNFILLED, lock=TEXT_LOCK
        )


def _renew_keys() -> Iterator[int]:
    def key(row: Any) -> str:
        return name_key(row.name)

    for model in NAMED:
        yield from bulk_writes.renew_column(model, "name_key", ("name",), key, Q(), lock=NAME_LOCK)
