"""Computes the words of people who have none: those of earlier versions, and after some updates."""

from typing import Final, cast

from django.db.models import Q

from customers import bulk_writes
from foundation import leases
from people.models import Person
from people.search_words import PersonWordsField

# The advisory lock of the task: "hrwd".
TURN: Final = 0x68727764


def fill_search_texts() -> int:
    """Fills `search_text` where it is missing; returns of how many people.

    Ends early when the process is stopped, or if another one does the same.
    """
    field = cast("PersonWordsField", Person._meta.get_field("search_text"))
    filled = 0
    for count in bulk_writes.renew_column(
        Person, "search_text", field.sources, field.words, Q(search_text=None), turn=TURN
    ):
        filled += count
        if leases.is_stopping():
            break
    return filled
