"""The messages of a ticket or a conversation on its page: oldest first, a part at a time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workspace.models import AuthorKind, Feedback

AFTER, ONLY = "after", "message"
AT_ONCE: Final = 50
MAX_SHOWN: Final = 5_000
MAX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """One message; `whole` leads to all of a text that is cut."""

    position: int
    at: datetime
    kind: Any
    author: str
    text: str
    is_customer: bool = False
    is_internal: bool = False
    whole: str = ""
    ratings: Sequence[Feedback] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """A part of the messages; `earlier` and `later` are links, `total` counts all messages."""

    messages: Sequence[ThreadMessage]
    total: int
    earlier: str = ""
    later: str = ""

    @property
    def span(self) -> str:
        """Which messages are shown, if not all."""
        if not self.messages or len(self.messages) == self.total:
            return ""
        first, last = self.messages[0].position, self.messages[-1].position
        return str(_("%(first)s to %(last)s of %(total)s")) % {
            "first": first,
            "last": last,
            "total": self.total,
        }


def read_part(
    request: HttpRequest,
    messages: QuerySet[Any],
    total: int,
    ratings: QuerySet[Feedback] | None = None,
) -> Thread:
    """Returns the part of a thread that the address names. Raises BadRequest."""
    only, after = _number(request, ONLY), _number(request, AFTER)
    if only:
        rows = list(messages.filter(position=only).annotate(shown=Left("text", 1 << 20)))
        rated = _ratings_by_position(ratings, rows)
        shown = [_build_message(row, rated, 1 << 20) for row in rows]
        return Thread(shown, total, earlier="?")
    part = messages.filter(position__gt=after).order_by("position").defer("text")
    rows = list(part.annotate(shown=Left("text", MAX_SHOWN + 1))[: AT_ONCE + 1])
    has_more, rows = len(rows) > AT_ONCE, rows[:AT_ONCE]
    rated = _ratings_by_position(ratings, rows)
    return Thread(
        [_build_message(row, rated, MAX_SHOWN) for row in rows],
        total,
        earlier=_earlier(after),
        later=f"?{AFTER}={rows[-1].position}" if has_more else "",
    )


def _earlier(after: int) -> str:
    if not after:
        return ""
    return f"?{AFTER}={after - AT_ONCE}" if after > AT_ONCE else "?"


def _build_message(
    row: Any, rated: Mapping[int, Sequence[Feedback]], longest: int
) -> ThreadMessage:
    is_cut = len(row.shown) > longest
    return ThreadMessage(
        position=row.position,
        at=row.at,
        kind=row.get_author_kind_display(),
        author=row.author_name,
        text=row.shown[:longest],
        is_customer=row.author_kind == AuthorKind.CUSTOMER,
        is_internal=getattr(row, "is_internal", False),
        whole=f"?{ONLY}={row.position}" if is_cut else "",
        ratings=rated.get(row.position, ()),
    )


def _ratings_by_position(
    ratings: QuerySet[Feedback] | None, rows: Iterable[Any]
) -> Mapping[int, Sequence[Feedback]]:
    """Returns the ratings of messages by position."""
    found: dict[int, list[Feedback]] = defaultdict(list)
    positions = [row.position for row in rows]
    if ratings is not None and positions:
        for one in ratings.filter(position__in=positions).order_by("position", "given_by"):
            found[one.position].append(one)
    return found


def _number(request: HttpRequest, name: str) -> int:
    text = request.GET.get(name, "0")
    if not (text.isascii() and text.isdecimal()) or len(text) > MAX_DIGITS:
        raise BadRequest(f"{name} in the address is the number of a message.")
    return int(text)
