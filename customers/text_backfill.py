"""Computes search words and keys of names of rows that have none, or those of an earlier version.

Rows are written in batches while old and new processes serve. Until a row is reached, searches find
it by what the earlier version stored. One thread at a time writes words, and one writes keys.
"""

from collections.abc import Iterator
from typing import Any, Final, cast

from django.db.models import Model, Q

from customers import bulk_writes
from customers.bulk_writes import BatchRuns
from customers.identification.field_values import MAX_EMAIL
from customers.lookup_keys import email_key
from foundation.text.columns import SearchTextField
from foundation.text.names import name_key
from workspace.models import (
    Company,
    ConversationMessage,
    Customer,
    KnowledgeChunk,
    Lead,
    Ticket,
    TicketMessage,
)

SEARCHED: Final[tuple[type[Model], ...]] = (
    Ticket,
    TicketMessage,
    ConversationMessage,
    Lead,
    KnowledgeChunk,
)
NAMED: Final[tuple[type[Model], ...]] = (Customer, Company)
UNFILLED: Final = Q(search_text=None)
UNKEYED: Final = Q(email_key=None)
# The advisory locks of the two tasks: "text" and "name".
TEXT_LOCK: Final = 0x74657874
NAME_LOCK: Final = 0x6E616D65


def _fill() -> Iterator[int]:
    for model in SEARCHED:
        field = cast("SearchTextField", model._meta.get_field("search_text"))
        yield from bulk_writes.renew_column(
            model, "search_text", field.sources, field.make_row_words, UNFILLED, lock=TEXT_LOCK
        )

    yield from bulk_writes.renew_column(
        Ticket, "email_key", ("metadata",), _address_key, UNKEYED, lock=TEXT_LOCK
    )


def _address_key(ticket: Ticket) -> str:
    """Returns the address that a ticket of an earlier version keeps; no server has proven it."""
    sent = ticket.metadata.get("email", "")
    is_address = isinstance(sent, str) and "@" in sent and len(sent) <= MAX_EMAIL
    return email_key(sent) if is_address else ""


def _renew_keys() -> Iterator[int]:
    def key(row: Any) -> str:
        return name_key(row.name)

    for model in NAMED:
        yield from bulk_writes.renew_column(model, "name_key", ("name",), key, Q(), lock=NAME_LOCK)


_filling: Final = BatchRuns(_fill)
_renewing: Final = BatchRuns(_renew_keys)


def fill_search_texts() -> int:
    """Fills `search_text` where it is missing, for half a minute; returns of how many rows."""
    return _filling.run()


def renew_name_keys() -> int:
    """Writes the keys of names that are not those of this version; returns how many.

    A run ends after half a minute. The others then follow in the next runs, before those that have
    been read.
    """
    return _renewing.run()
