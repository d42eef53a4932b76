"""Computes the words of people who have none: those of earlier versions, and after some updates."""

from collections.abc import Iterator
from typing import Final

from django.db.models import Q

from customers import bulk_writes
from customers.bulk_writes import BatchRuns
from people.models import Person

# The advisory lock of the task: "hrwd".
LOCK: Final = 0x68727764


def _fill() -> Iterator[int]:
    field = Person._meta.get_field("search_text")
    yield from bulk_writes.renew_column(
        Person, "search_text", field.sources, field.make_row_words, Q(search_text=None), lock=LOCK
    )


_filling: Final = BatchRuns(_fill)


def fill_search_texts() -> int:
    """Fills `search_text` where it is missing, for half a minute; returns of how many people."""
    return _filling.run()
