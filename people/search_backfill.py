"""Computes the words of people who have none: those of earlier versions, and after some updates."""

from typing import Final

from django.db.models import Q

from customers import bulk_writes
from foundation import leases
from people.models import Person

# The advisory lock of the task: "hrwd".
LOCK: Final = 0x68727764


def fill_search_texts() -> int:
    """Fills `search_text` where it is missing; returns of how many people.

    Ends early when the process is stopped, or if another one does the same.
    """
    field = Person._meta.get_field("search_text")
    filled = 0
    for count in bulk_writes.renew_column(
        Person, "search_text", field.sources, field.make_row_words, Q(search_text=None), lock=LOCK
    ):
        filled += count
        if leases.is_stopping():
            break
    return filled
