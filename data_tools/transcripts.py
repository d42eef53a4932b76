"""data_search_transcripts and data_get_transcript: conversations and what was said in them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from customers import words
from data_tools.query import (
    AGENT,
    COMPANY,
    DETAIL,
    PAGE,
    QUERY,
    USER,
    DataToolCall,
    Filters,
    Listing,
    RowOrder,
    choice,
    data_tool,
    filter_choice,
    groups,
    integer,
    invalid_argument,
    listing,
    messages,
    optional_choice,
    results,
    text,
    texts,
    time_of,
    who,
)
from data_tools.query.arguments import page_of
from tools_registry.api import Facts, Json, NotFound, Toolset
from workspace import access
from workspace.models import (
    AuthorKind,
    Conversation,
    ConversationMessage,
    ConversationOutcome,
    GivenBy,
    Mode,
    Mood,
)

TOOLSET: Final = Toolset(scope="data:read", title="Conversations")

Item = dict[str, Json]

NEWEST: Final = "started_at_desc"
RELEVANCE: Final = "relevance"
GROUPS: Final = ("outcome", "mood", "agent", "company", "day")
MAX_POSITION: Final = 100_000
# So many messages are counted to rank conversations.
MAX_RANKED: Final = 2_000
DELETED: Final = "The messages of this conversation were deleted after their retention period."
SAID_BY: Final = {
    "anyone": Q(),
    "customer": messages.BY_CUSTOMER,
    "agent": Q(author_kind__in=(AuthorKind.AGENT, AuthorKind.TEAMMATE)),
}


@data_tool(
    TOOLSET,
    title="Search conversations",
    description=(
        "Search conversations by words said, customer, outcome, mood or time. "
        "The whole text of one: data_get_transcript. Tickets: data_search_tickets."
    ),
    arguments={
        **QUERY,
        "said_by": choice(*SAID_BY, description="Who said the words; agent: AI or teammate"),
        **USER,
        **COMPANY,
        **AGENT,
        "mode": filter_choice(*Mode.values),
        "outcome": filter_choice(*ConversationOutcome.values),
        "mood": filter_choice(*Mood.values),
        **time_of("all_time"),
        "sort": choice(NEWEST, RELEVANCE),
        "group_by": optional_choice(*GROUPS),
        **PAGE,
        **DETAIL,
    },
)
def data_search_transcripts(call: DataToolCall) -> Facts:
    found = messages.terms(call)
    said = access.conversation_messages(call.access).filter(SAID_BY[call.arguments["said_by"]])
    filters, max_total = _filters(call), None
    rows, order = access.conversations(call.access), RowOrder("-started_at")
    if call.arguments["sort"] == RELEVANCE:
        rows, order = (
            _rank_by_matches(call, rows, filters, words.matching(said, found)),
            RowOrder("-rank"),
        )
    elif found:
        condition, max_total = words.having(said, found, "conversation")
        filters.add("query", condition)
    return listing.answer(
        call,
        Listing(
            noun="conversations",
            rows=rows.select_related("customer", "company", "agent"),
            filters=filters,
            order=order,
            items=lambda rows: _items(call, rows, said, found),
            time="started_at",
            groupings={
                "outcome": groups.column("outcome"),
                "mood": groups.column("mood"),
                "agent": groups.reference("agent", access.agents(call.access)),
                "company": groups.reference("company", access.companies(call.access)),
                "day": groups.day("started_at", call.zone),
            },
            max_total=max_total,
        ),
    )


@data_tool(
    TOOLSET,
    title="Get a conversation",
    description=(
        "One conversation with its messages, the oldest first, and how they were rated. "
        "Find ids with data_search_transcripts."
    ),
    arguments={
        "transcript_id": text(longest=64),
        "message_id": integer(1, MAX_POSITION),
        **page_of(30),
        **DETAIL,
    },
    required=("transcript_id",),
    result=results.schema(
        transcript=results.OBJECT,
        items=results.LIST,
        returned=results.WHOLE,
        total=results.WHOLE,
        at_least=results.WHOLE,
        next_cursor=results.TEXT,
    ),
)
def data_get_transcript(call: DataToolCall) -> Facts:
    named = call.arguments["transcript_id"].strip()
    rows = access.conversations(call.access).select_related("customer", "company", "agent")
    conversation = rows.filter(pk=named).first()
    if conversation is None:
        reason = f"No transcript {texts.line(named)}. Find ids with data_search_transcripts."
        raise NotFound(reason)
    filters = Filters(call)
    if first := call.arguments.get("message_id"):
        filters.add("message_id", Q(position__gte=first))
    return listing.answer(
        call,
        Listing(
            noun="messages of this conversation",
            rows=access.conversation_messages(call.access).filter(conversation=conversation),
            filters=filters,
            order=RowOrder("position"),
            items=lambda rows: _messages(call, conversation, rows),
            members={"transcript": _profile(call, conversation)},
            why_none=DELETED if conversation.message_count else "",
        ),
    )


def _filters(call: DataToolCall) -> Filters:
    filters = Filters(call)
    if user := who.find_row(call, who.USERS):
        filters.add("user", Q(customer=user.pk), shown=results.reference(user))
    if company := who.find_row(call, who.COMPANIES):
        filters.add("company", Q(company=company.pk), shown=results.reference(company))
    if agent := who.find_row(call, who.AGENTS):
        filters.add("agent", Q(agent=agent.pk), shown=results.reference(agent))
    filters.add_equal("mode", "mode", unless="any")
    filters.add_equal("outcome", "outcome", unless="any")
    filters.add_equal("mood", "mood", unless="any")
    return filters


def _rank_by_matches(
    call: DataToolCall,
    rows: QuerySet[Conversation],
    filters: Filters,
    matches: QuerySet[ConversationMessage],
) -> QuerySet[Conversation]:
    """Adds `rank`, the number of messages with the words, and the condition that there is one.

    Raises ValidationFailure without words, and if there are too many such messages to be counted.
    """
    if "query" not in call.arguments:
        raise invalid_argument("sort", f"relevance needs query. Without it use {NEWEST}.")
    if filters.conditions:
        matches = matches.filter(
            conversation__in=rows.filter(filters.combine_without()).values("pk")
        )
    owners = words.owners(matches, "conversation", MAX_RANKED + 1)
    if len(owners) > MAX_RANKED:
        reason = f"over {MAX_RANKED} messages to rank. Add words or a company, or use {NEWEST}."
        raise invalid_argument("sort", reason)
    by_count: dict[int, list[str]] = defaultdict(list)
    for owner, many in Counter(owners).items():
        by_count[many].append(owner)
    cases = (When(pk__in=pks, then=Value(many)) for many, pks in by_count.items() if many > 1)
    rank = Case(*cases, default=Value(1), output_field=IntegerField())
    filters.add("query", Q(pk__in=set(owners)))
    return rows.annotate(rank=rank)


def _items(
    call: DataToolCall,
    rows: Sequence[Conversation],
    said: QuerySet[ConversationMessage],
    found: Sequence[str],
) -> list[Item]:
    # Without words, what the customer said first, unless the call names another author.
    is_any = not found and call.arguments["said_by"] == "anyone"
    quoted = said.filter(messages.BY_CUSTOMER) if is_any else said
    excerpts = messages.excerpts(call, quoted, "conversation", rows, found)
    return [{**_conversation(call, row), "excerpts": excerpts.get(row.pk)} for row in rows]


def _conversation(call: DataToolCall, row: Conversation) -> Item:
    """A conversation in a list."""
    item = {
        "id": row.pk,
        "started_at": call.when(row.started_at),
        "user": results.reference(row.customer),
        "company": results.reference(row.company),
        "agent": results.reference(row.agent),
        "outcome": row.outcome,
        "mood": row.mood,
    }
    return {**item, **_details(call, row)} if call.is_detailed else item


def _details(call: DataToolCall, row: Conversation) -> Item:
    return {
        "mode": row.mode,
        "session_id": row.session_id,
        "confidence": row.confidence,
        "ai_score": row.score,
        "messages": row.message_count,
        "ended_at": call.when(row.ended_at),
    }


def _profile(call: DataToolCall, row: Conversation) -> Item:
    """Everything about one conversation but its messages."""
    return {**_conversation(call, row), **_details(call, row)}


def _messages(
    call: DataToolCall, conversation: Conversation, rows: Sequence[ConversationMessage]
) -> list[Item]:
    ratings = _ratings(call, conversation, rows)
    return [{**messages.item(call, row), **ratings.get(row.position, {})} for row in rows]


def _ratings(
    call: DataToolCall, conversation: Conversation, rows: Sequence[ConversationMessage]
) -> Mapping[int, Item]:
    """What was said about each message, by its position: by the customer, and by a trainer."""
    given = access.feedback(call.access).filter(
        conversation=conversation, position__in=[row.position for row in rows]
    )
    ratings: dict[int, dict[str, Any]] = defaultdict(dict)
    for one in given:
        prefix = "" if one.given_by == GivenBy.CUSTOMER else "trainer_"
        ratings[one.position] |= {f"{prefix}rating": one.rating, f"{prefix}comment": one.comment}
    return ratings
