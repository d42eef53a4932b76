"""Messages of tickets and of conversations: in order, and the parts that a search has found."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from django.db.models import Q, QuerySet

from customers import words
from data_tools.query import filters, texts
from data_tools.query.call import DataToolCall, invalid_argument
from foundation.text.words import WordQuery, parse_query
from tools_registry.api import Json
from workspace.models import AuthorKind, ConversationMessage, TicketMessage

M = TypeVar("M", TicketMessage, ConversationMessage)
Item = dict[str, Json]

MAX_DETAILED: Final = 20_000
MAX_EXCERPT: Final = 200
MAX_DETAILED_EXCERPT: Final = 500
MAX_EXCERPTS: Final = 3
BY_CUSTOMER: Final = Q(author_kind=AuthorKind.CUSTOMER)


def terms(query: str | None) -> WordQuery:
    """Returns what `query` looks for, or nothing without it. Raises ValidationFailure."""
    if query is None:
        return WordQuery()
    found = parse_query(query)
    if not 0 < len(found.groups) <= filters.MAX_TERMS:
        raise invalid_argument("query", f"send 1 to {filters.MAX_TERMS} words.")
    return found


def item(call: DataToolCall, message: TicketMessage | ConversationMessage) -> Item:
    """A message of a thread; `cut` says that the text goes on."""
    text = texts.clean(message.text)
    sent = texts.cut(text, MAX_DETAILED if call.is_detailed else texts.MAX_CONCISE)
    return {
        "id": message.position,
        "at": call.when(message.at),
        "author": author(message),
        "text": sent,
        "cut": True if sent != text else None,
    }


def author(message: TicketMessage | ConversationMessage) -> Item:
    return {"kind": message.author_kind, "name": message.author_name}


def excerpts(
    call: DataToolCall,
    messages: QuerySet[M],
    parent: str,
    parents: Sequence[Any],
    found: WordQuery,
) -> Mapping[str, list[Item]]:
    """Returns what the first messages say that have these words, by the id of what they belong to.

    Without words, `messages` are quoted from their beginning.
    """
    of_parents = messages.filter(**{f"{parent}__in": [one.pk for one in parents]})
    matches = words.matching(of_parents, found, are_few=True)
    # Texts may be long, so those are read that are shown.
    shown: dict[str, list[int]] = defaultdict(list)
    for pk, owner in matches.order_by("position").values_list("pk", f"{parent}_id"):
        if len(shown[owner]) < (MAX_EXCERPTS if found else 1):
            shown[owner].append(pk)
    read = messages.in_bulk([pk for pks in shown.values() for pk in pks])
    return {owner: [_excerpt(call, read[pk], found) for pk in pks] for owner, pks in shown.items()}


def _excerpt(
    call: DataToolCall, message: TicketMessage | ConversationMessage, found: WordQuery
) -> Item:
    longest = MAX_DETAILED_EXCERPT if call.is_detailed else MAX_EXCERPT
    return {
        "message_id": message.position,
        "author": author(message),
        "text": words.excerpt(texts.clean(message.text), found, longest),
    }
