"""What conversations say about the product and the AI agents, over many of them at once."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from customers import questions
from data_tools.query import (
    AGENT,
    COMPANY,
    DETAIL,
    PAGE,
    RANK,
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
    listing,
    optional_choice,
    periods,
    results,
    time_of,
    who,
)
from tools_registry.api import Facts, Json, Toolset
from workspace import access
from workspace.models import (
    BAD_MOODS,
    BADNESS,
    AuthorKind,
    Conversation,
    ConversationOutcome,
    Rating,
)

TOOLSET: Final = Toolset(scope="data:read", title="Conversation insight")

PAGE_VIEW: Final = "page_view"
# A ranking is made of the newest conversations of the period, at most of so many.
MAX_RANKED: Final = 2_000
MAX_EXAMPLES: Final = 3
# Below this an agent does not trust its answer (the default threshold of escalation).
LOW_CONFIDENCE: Final = 50
RANKING: Final = results.schema(
    items=results.LIST,
    returned=results.WHOLE,
    total=results.WHOLE,
    considered=results.WHOLE,
    period=results.OBJECT,
)


@data_tool(
    TOOLSET,
    title="Rank pages before conversations",
    description=(
        "The pages that people viewed last before they began a conversation: where help is "
        "missing. What they asked: data_top_unresolved_questions."
    ),
    arguments={
        "within_minutes": integer(1, 120, default=30),
        "outcome": filter_choice(*ConversationOutcome.values),
        **time_of("last_30_days"),
        **RANK,
    },
    result=RANKING,
)
def data_top_pages_before_chat(call: DataToolCall) -> Facts:
    filters = Filters(call)
    filters.add_equal("outcome", "outcome", unless="any")
    found, period = _newest(call, filters)
    viewed = found.annotate(page=_last_page(call)).values_list("pk", "page")[:MAX_RANKED]
    rows = list(viewed)
    by_page: dict[str, list[str]] = defaultdict(list)
    for key, page in rows:
        if page:
            by_page[page].append(key)
    many = sum(map(len, by_page.values()))
    ranked = sorted(by_page.items(), key=lambda item: (-len(item[1]), item[0]))
    items = [
        {
            "page_url": call.text(page),
            "conversations": len(keys),
            "share": round(len(keys) / many, 4),
            "transcript_ids": keys[:MAX_EXAMPLES],
        }
        for page, keys in ranked
    ]
    return _ranking(call, items, rows, period, {})


@data_tool(
    TOOLSET,
    title="Rank unresolved questions",
    description=(
        "Questions on which the AI agents failed, grouped by similar words: gaps in the knowledge "
        "base. The conversations: data_search_transcripts."
    ),
    arguments={
        "reason": choice("any", "escalated", "abandoned", "low_confidence", "bad_rating"),
        **COMPANY,
        **AGENT,
        **time_of("last_30_days"),
        **RANK,
    },
    result=RANKING,
)
def data_top_unresolved_questions(call: DataToolCall) -> Facts:
    filters = Filters(call)
    _name(filters, call, {"company": who.COMPANIES, "agent": who.AGENTS})
    filters.add("reason", _unresolved_condition(call))
    found, period = _newest(call, filters)
    rows = list(found.exclude(question="").values_list("pk", "question", "customer")[:MAX_RANKED])
    items = []
    for numbers in questions.group_similar([question for _, question, _ in rows]):
        asked = [rows[number] for number in numbers]
        items.append(
            {
                "question": call.text(_usual([question for _, question, _ in asked])),
                "count": len(asked),
                "users": len({customer for *_, customer in asked if customer}),
                "transcript_ids": [key for key, *_ in asked[:MAX_EXAMPLES]],
            }
        )
    return _ranking(call, items, rows, period, filters.shown)


@data_tool(
    TOOLSET,
    title="List conversations in a bad mood",
    description=(
        "Conversations with confused, frustrated or angry customers, worst first. Answers that "
        "were rated badly: data_list_negative_feedback."
    ),
    arguments={
        "mood": choice("any", *BAD_MOODS),
        **USER,
        **COMPANY,
        **AGENT,
        **time_of("last_30_days"),
        "group_by": optional_choice("mood", "company", "agent"),
        **PAGE,
        **DETAIL,
    },
)
def data_low_sentiment_conversations(call: DataToolCall) -> Facts:
    filters = Filters(call)
    filters.add_equal("mood", "mood", unless="any")
    _name(filters, call, {"user": who.USERS, "company": who.COMPANIES, "agent": who.AGENTS})
    rows = access.conversations(call.access).filter(mood__in=BAD_MOODS)
    return listing.answer(
        call,
        Listing(
            noun="conversations in a bad mood",
            rows=rows.select_related("customer", "company").annotate(badness=BADNESS),
            filters=filters,
            order=RowOrder("badness"),
            items=lambda page: _conversations(call, page),
            time="started_at",
            groupings={
                "mood": groups.column("mood"),
                "company": groups.reference("company", access.companies(call.access)),
                "agent": groups.reference("agent", access.agents(call.access)),
            },
        ),
    )


def _newest(
    call: DataToolCall, filters: Filters
) -> tuple[QuerySet[Conversation], periods.QueryPeriod]:
    """The conversations of the period that the filters let through, newest first."""
    period = periods.from_call(call)
    rows = access.conversations(call.access).filter(filters.combine_without())
    within = period.q(Conversation, "started_at", call.zone)
    return rows.filter(within).order_by("-started_at", "pk"), period


def _ranking(
    call: DataToolCall,
    items: Sequence[Mapping[str, Json]],
    rows: Sequence[Any],
    period: periods.QueryPeriod,
    searched: Mapping[str, Json],
) -> Facts:
    """The first of the items; `total` is how many there are, `considered` over how many rows."""
    shown = items[: call.arguments["page_size"]]
    shown = shown[: results.fitting(shown)]
    hints = []
    if len(rows) == MAX_RANKED:
        hints.append(f"Only the newest {MAX_RANKED} conversations of the period are considered.")
    if not items:
        hints.append(f"{len(rows)} conversations match, none of them has one. Widen the period.")
    return results.answer(
        call,
        items=list(shown),
        returned=len(shown),
        rows=len(shown),
        total=len(items),
        considered=len(rows),
        period=period.describe(call, "started_at"),
        searched=searched,
        hints=hints,
    )


def _last_page(call: DataToolCall) -> Coalesce:
    """The address of the last page view before, in the session or else of the customer."""
    views = access.events(call.access).filter(
        event_type=PAGE_VIEW,
        at__lte=OuterRef("started_at"),
        at__gte=OuterRef("started_at") - timedelta(minutes=call.arguments["within_minutes"]),
    )
    newest = views.exclude(page_url="").order_by("-at", "-pk").values("page_url")
    # The exclusion is implied by what follows; with it the index of sessions is used.
    in_session = newest.exclude(session_id="").filter(session_id=OuterRef("session_id"))[:1]
    of_customer = newest.filter(customer=OuterRef("customer"))[:1]
    return Coalesce(Subquery(in_session), Subquery(of_customer))


def _unresolved_condition(call: DataToolCall) -> Q:
    bad = access.feedback(call.access).filter(conversation=OuterRef("pk"), rating=Rating.BAD)
    reasons = {
        "escalated": Q(outcome=ConversationOutcome.ESCALATED),
        "abandoned": Q(outcome=ConversationOutcome.ABANDONED),
        "low_confidence": Q(confidence__lt=LOW_CONFIDENCE),
        "bad_rating": Q(Exists(bad)),
    }
    reason = call.arguments["reason"]
    if reason != "any":
        return reasons[reason]
    return Q.create(list(reasons.values()), connector=Q.OR)


def _usual(asked: Sequence[str]) -> str:
    """The question that was asked most often in these words; of several, the newest."""
    return Counter(asked).most_common(1)[0][0]


def _name(filters: Filters, call: DataToolCall, kinds: Mapping[str, who.RowKind[Any]]) -> None:
    columns = {"user": "customer"}
    for argument, kind in kinds.items():
        if row := who.find_row(call, kind):
            column = columns.get(argument, argument)
            filters.add(argument, Q(**{column: row.pk}), shown=who.reference(row))


def _conversations(call: DataToolCall, page: Sequence[Conversation]) -> list[dict[str, Json]]:
    worst = _worst_messages(call, page)
    return [
        {
            "id": row.pk,
            "started_at": call.when(row.started_at),
            "user": who.reference(row.customer),
            "company": who.reference(row.company),
            "mood": row.mood,
            "outcome": row.outcome,
            "ai_score": row.score,
            "worst_message": worst.get(row.pk),
        }
        for row in page
    ]


def _worst_messages(call: DataToolCall, page: Sequence[Conversation]) -> dict[str, Json]:
    """The customer's message with the lowest sentiment, by conversation."""
    rated = access.conversation_messages(call.access).filter(
        conversation__in=[row.pk for row in page],
        author_kind=AuthorKind.CUSTOMER,
        sentiment__isnull=False,
    )
    found = rated.order_by("-sentiment", "-position").values_list("conversation", "pk")
    # The last one of each conversation is kept.
    worst = dict(found)
    texts = access.conversation_messages(call.access).filter(pk__in=worst.values())
    return {
        row.conversation_id: {"message_id": row.position, "text": call.text(row.text)}
        for row in texts
    }
