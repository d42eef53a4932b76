"""data_search_transcripts and data_get_transcript: conversations and what was said in them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from customers import words
from data_tools.query import (
    ALL_TIME,
    PAGE,
    PAGE_OF_MESSAGES,
    AgentName,
    CompanyName,
    DataToolCall,
    Detail,
    Filters,
    Listing,
    Page,
    Query,
    RowOrder,
    TimeRange,
    UserName,
    data_tool,
    groups,
    invalid_argument,
    listing,
    messages,
    number_limits,
    one_of,
    results,
    text,
    texts,
    who,
)
from foundation.text.words import WordQuery
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
ORDERS: Final = {
    **listing.orders_by_time("started_at"),
    "ai_score_asc": RowOrder("score"),
    "ai_score_desc": RowOrder("-score", "-pk"),
    RELEVANCE: RowOrder("-rank"),
}
QUERY_IN: Final = ("messages",)
MAX_POSITION: Final = 100_000
# So many messages are counted to rank conversations.
MAX_RANKED: Final = 2_000
DELETED: Final = "The messages of this conversation were deleted after their retention period."
SAID_BY: Final = {
    "anyone": Q(),
    "customer": messages.BY_CUSTOMER,
    "agent": Q(author_kind__in=(AuthorKind.AGENT, AuthorKind.TEAMMATE)),
}


@dataclass(frozen=True, slots=True)
class ConversationFilters:
    """What conversations are chosen by, besides words and time."""

    user: UserName | None = None
    company: CompanyName | None = None
    agent: AgentName | None = None
    mode: Mode | Literal["any"] | None = None
    outcome: tuple[ConversationOutcome | Literal["any"], ...] | None = None
    mood: tuple[Mood | Literal["any"], ...] | None = None


EVERY_CONVERSATION: Final = ConversationFilters()


@data_tool(
    TOOLSET,
    title="Search conversations",
    description=(
        "Search conversations by words said, customer, outcome, mood or time. "
        "The whole text of one: data_get_transcript. Tickets: data_search_tickets."
    ),
)
def data_search_transcripts(
    call: DataToolCall,
    *,
    query: Query | None = None,
    said_by: Annotated[
        str, one_of(*SAID_BY, description="Who said the words; agent: AI or teammate")
    ] = "anyone",
    chosen_by: ConversationFilters = EVERY_CONVERSATION,
    time: TimeRange = ALL_TIME,
    sort: Annotated[str, one_of(*ORDERS, description="ai_score_asc: the worst first")] = NEWEST,
    group_by: Literal["outcome", "mood", "agent", "company", "day"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    found = messages.terms(query)
    said = access.conversation_messages(call.access).filter(SAID_BY[said_by])
    filters, max_total = _make_filters(call, chosen_by), None
    rows = access.conversations(call.access)
    if sort == RELEVANCE:
        if not found:
            raise invalid_argument("sort", f"relevance needs query. Without it use {NEWEST}.")
        rows = _rank_by_matches(rows, filters, words.matching(said, found))
    elif found:
        condition, max_total = words.having(said, found, "conversation")
        filters.add("query", condition)
    # Without words, what the customer said first, unless the call names another author.
    is_any = not found and said_by == "anyone"
    quoted = said.filter(messages.BY_CUSTOMER) if is_any else said
    conversations = Listing(
        noun="conversations",
        rows=rows.select_related("customer", "company", "agent"),
        filters=filters,
        order=ORDERS[sort],
        items=lambda rows: _items(call, rows, quoted, found, sort),
        time="started_at",
        groupings={
            "outcome": groups.column("outcome"),
            "mood": groups.column("mood"),
            "agent": groups.reference("agent", access.agents(call.access)),
            "company": groups.reference("company", access.companies(call.access)),
            "day": groups.day("started_at", call.zone),
        },
        max_total=max_total,
        query=found,
        query_in=QUERY_IN,
    )
    return listing.answer(call, conversations, page, time, group_by)


@data_tool(
    TOOLSET,
    title="Get a conversation",
    description=(
        "One conversation with its messages, the oldest first, and how they were rated. "
        "Find ids with data_search_transcripts."
    ),
    result=results.schema(
        transcript=results.OBJECT,
        items=results.LIST,
        returned=results.WHOLE,
        total=results.WHOLE,
        at_least=results.WHOLE,
        next_cursor=results.TEXT,
    ),
)
def data_get_transcript(
    call: DataToolCall,
    transcript_id: Annotated[str, text(64)],
    message_id: Annotated[int, number_limits(1, MAX_POSITION)] | None = None,
    page: Page = PAGE_OF_MESSAGES,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    named = transcript_id.strip()
    rows = access.conversations(call.access).select_related("customer", "company", "agent")
    conversation = rows.filter(pk=named).first()
    if conversation is None:
        reason = f"No transcript {texts.line(named)}. Find ids with data_search_transcripts."
        raise NotFound(reason)
    filters = Filters()
    if message_id is not None:
        filters.add("message_id", Q(position__gte=message_id))
    thread = Listing(
        noun="messages of this conversation",
        rows=access.conversation_messages(call.access).filter(conversation=conversation),
        filters=filters,
        order=RowOrder("position"),
        items=lambda rows: _messages(call, conversation, rows),
        members={"transcript": _profile(call, conversation)},
        why_none=DELETED if conversation.message_count else "",
    )
    return listing.answer(call, thread, page)


def _make_filters(call: DataToolCall, chosen_by: ConversationFilters) -> Filters:
    filters = Filters()
    filters.add_row("user", who.find_row(call, who.USERS, chosen_by.user), "customer")
    filters.add_row("company", who.find_row(call, who.COMPANIES, chosen_by.company))
    filters.add_row("agent", who.find_row(call, who.AGENTS, chosen_by.agent))
    filters.add_equal("mode", chosen_by.mode, unless="any")
    filters.add_choices("outcome", chosen_by.outcome)
    filters.add_choices("mood", chosen_by.mood)
    return filters


def _rank_by_matches(
    rows: QuerySet[Conversation],
    filters: Filters,
    matches: QuerySet[ConversationMessage],
) -> QuerySet[Conversation]:
    """Adds `rank`, the number of messages with the words, and the condition that there is one.

    Raises ValidationFailure if there are too many such messages to be counted.
    """
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
    quoted: QuerySet[ConversationMessage],
    found: WordQuery,
    sort: str,
) -> list[Item]:
    excerpts = messages.excerpts(call, quoted, "conversation", rows, found)
    is_by_score = ORDERS[sort].key == "score"
    return [
        {
            **_conversation(call, row),
            **({"ai_score": row.score} if is_by_score else {}),
            "excerpts": excerpts.get(row.pk),
        }
        for row in rows
    ]


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
