"""What conversations say about the product and the AI agents, over many of them at once."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from customers import questions
from data_tools.query import (
    LAST_30_DAYS,
    PAGE,
    AgentName,
    CompanyName,
    DataToolCall,
    Detail,
    Filters,
    Listing,
    Page,
    PageSize,
    QueryPeriod,
    RowOrder,
    TimeRange,
    UserName,
    data_tool,
    groups,
    listing,
    number_limits,
    one_of,
    periods,
    results,
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

Reason: TypeAlias = Literal["any", "escalated", "abandoned", "low_confidence", "bad_rating"]

PAGE_VIEW: Final = "page_view"
# A ranking is made of the newest conversations of the period, at most of so many.
MAX_RANKED: Final = 2_000
MAX_EXAMPLES: Final = 3
# Below this an agent does not trust its answer (the default threshold of escalation).
LOW_CONFIDENCE: Final = 50
AT_LEAST: Final = (
    "Grouped by words: the same question in other words is another group, so a count is a lower "
    "bound. Add up groups about one subject."
)
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
    result=RANKING,
)
def data_top_pages_before_chat(
    call: DataToolCall,
    *,
    within_minutes: Annotated[int, number_limits(1, 120)] = 30,
    outcome: ConversationOutcome | Literal["any"] | None = None,
    time: TimeRange = LAST_30_DAYS,
    page_size: PageSize = 10,
) -> Facts:
    filters = Filters()
    filters.add_equal("outcome", outcome, unless="any")
    period = periods.from_call(call, time)
    last_page = _last_page(call, timedelta(minutes=within_minutes))
    viewed = _newest(call, filters, period).annotate(page=last_page).values_list("pk", "page")
    rows = list(viewed[:MAX_RANKED])
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
    return _ranking(call, items[:page_size], rows, period, {}, total=len(items))


@data_tool(
    TOOLSET,
    title="Rank unresolved questions",
    description=(
        "Questions on which the AI agents failed, grouped by similar words: gaps in the knowledge "
        "base. The conversations: data_search_transcripts."
    ),
    result=RANKING,
)
def data_top_unresolved_questions(
    call: DataToolCall,
    *,
    reason: Reason = "any",
    company: CompanyName | None = None,
    agent: AgentName | None = None,
    time: TimeRange = LAST_30_DAYS,
    page_size: PageSize = 10,
) -> Facts:
    filters = Filters()
    filters.add_row("company", who.find_row(call, who.COMPANIES, company))
    filters.add_row("agent", who.find_row(call, who.AGENTS, agent))
    filters.add("reason", _unresolved_condition(call, reason))
    period = periods.from_call(call, time)
    found = _newest(call, filters, period)
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
    return _ranking(
        call,
        items[:page_size],
        rows,
        period,
        filters.shown,
        total=len(items),
        hints=[AT_LEAST] if len(items) > 1 else [],
    )


@data_tool(
    TOOLSET,
    title="List conversations in a bad mood",
    description=(
        "Conversations with confused, frustrated or angry customers, worst first. Answers that "
        "were rated badly: data_list_negative_feedback."
    ),
)
def data_low_sentiment_conversations(
    call: DataToolCall,
    *,
    mood: Annotated[str, one_of("any", *BAD_MOODS)] = "any",
    user: UserName | None = None,
    company: CompanyName | None = None,
    agent: AgentName | None = None,
    time: TimeRange = LAST_30_DAYS,
    group_by: Literal["mood", "company", "agent"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    filters = Filters()
    filters.add_equal("mood", mood, unless="any")
    filters.add_row("user", who.find_row(call, who.USERS, user), "customer")
    filters.add_row("company", who.find_row(call, who.COMPANIES, company))
    filters.add_row("agent", who.find_row(call, who.AGENTS, agent))
    rows = access.conversations(call.access).filter(mood__in=BAD_MOODS)
    conversations = Listing(
        noun="conversations in a bad mood",
        rows=rows.select_related("customer", "company").annotate(badness=BADNESS),
        filters=filters,
        order=RowOrder("badness"),
        items=lambda rows: _conversations(call, rows),
        time="started_at",
        groupings={
            "mood": groups.column("mood"),
            "company": groups.reference("company", access.companies(call.access)),
            "agent": groups.reference("agent", access.agents(call.access)),
        },
    )
    return listing.answer(call, conversations, page, time, group_by)


def _newest(call: DataToolCall, filters: Filters, period: QueryPeriod) -> QuerySet[Conversation]:
    """The conversations of the period that the filters let through, newest first."""
    rows = access.conversations(call.access).filter(filters.combine_without())
    within = period.q(Conversation, "started_at", call.zone)
    return rows.filter(within).order_by("-started_at", "pk")


def _ranking(
    call: DataToolCall,
    items: Sequence[Mapping[str, Json]],
    rows: Sequence[Any],
    period: QueryPeriod,
    searched: Mapping[str, Json],
    *,
    total: int,
    hints: Sequence[str] = (),
) -> Facts:
    """The first items; `total` is how many there are, `considered` over how many rows."""
    shown = items[: results.fitting(items)]
    limits = []
    if len(rows) == MAX_RANKED:
        limits.append(f"Only the newest {MAX_RANKED} conversations of the period are considered.")
    if not items:
        limits.append(f"{len(rows)} conversations match, none of them has one. Widen the period.")
    return results.answer(
        call,
        items=list(shown),
        returned=len(shown),
        rows=len(shown),
        total=total,
        considered=len(rows),
        period=period.describe(call, "started_at"),
        searched=searched,
        hints=[*limits, *hints],
    )


def _last_page(call: DataToolCall, within: timedelta) -> Coalesce:
    """The address of the last page view before, in the session or else of the customer."""
    views = access.events(call.access).filter(
        event_type=PAGE_VIEW,
        at__lte=OuterRef("started_at"),
        at__gte=OuterRef("started_at") - within,
    )
    newest = views.exclude(page_url="").order_by("-at", "-pk").values("page_url")
    # The exclusion is implied by what follows; with it the index of sessions is used.
    in_session = newest.exclude(session_id="").filter(session_id=OuterRef("session_id"))[:1]
    of_customer = newest.filter(customer=OuterRef("customer"))[:1]
    return Coalesce(Subquery(in_session), Subquery(of_customer))


def _unresolved_condition(call: DataToolCall, reason: Reason) -> Q:
    bad = access.feedback(call.access).filter(conversation=OuterRef("pk"), rating=Rating.BAD)
    reasons = {
        "escalated": Q(outcome=ConversationOutcome.ESCALATED),
        "abandoned": Q(outcome=ConversationOutcome.ABANDONED),
        "low_confidence": Q(confidence__lt=LOW_CONFIDENCE),
        "bad_rating": Q(Exists(bad)),
    }
    if reason != "any":
        return reasons[reason]
    return Q.create(list(reasons.values()), connector=Q.OR)


def _usual(asked: Sequence[str]) -> str:
    """The question that was asked most often in these words; of several, the newest."""
    return Counter(asked).most_common(1)[0][0]


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
