"""data_list_negative_feedback: the answers that customers or trainers rated, first of all badly."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from django.db.models import OuterRef, Subquery

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
    RowOrder,
    TimeRange,
    UserName,
    data_tool,
    groups,
    listing,
    messages,
    results,
    who,
)
from tools_registry.api import Facts, Json, Toolset
from workspace import access
from workspace.models import Feedback, GivenBy, Rating

TOOLSET: Final = Toolset(scope="data:read", title="Feedback")

Item = dict[str, Json]

RATINGS: Final = {"any": Rating.values}


@data_tool(
    TOOLSET,
    title="List negative feedback",
    description=(
        "Answers that customers or trainers rated badly, with the question and the comment; with "
        "rating also good ones. Conversations in a bad mood: data_low_sentiment_conversations."
    ),
)
def data_list_negative_feedback(
    call: DataToolCall,
    *,
    rating: Literal["bad", "good", "any"] = "bad",
    given_by: Literal["anyone"] | GivenBy = "anyone",
    user: UserName | None = None,
    company: CompanyName | None = None,
    agent: AgentName | None = None,
    time: TimeRange = LAST_30_DAYS,
    group_by: Literal["agent", "company", "rating", "given_by"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    filters = Filters()
    filters.add_equal("given_by", given_by, unless="anyone")
    filters.add_row("user", who.find_row(call, who.USERS, user), "customer")
    filters.add_row("company", who.find_row(call, who.COMPANIES, company))
    filters.add_row("agent", who.find_row(call, who.AGENTS, agent))
    rows = access.feedback(call.access).filter(rating__in=RATINGS.get(rating, [rating]))
    ratings = Listing(
        noun=f"{rating} ratings" if rating in Rating.values else "ratings",
        rows=rows.select_related("customer"),
        filters=filters,
        order=RowOrder("-at"),
        items=lambda rows: _items(call, rows),
        time="at",
        groupings={
            "agent": groups.reference("agent", access.agents(call.access)),
            "company": groups.reference("company", access.companies(call.access)),
            "rating": groups.column("rating"),
            "given_by": groups.column("given_by"),
        },
    )
    return listing.answer(call, ratings, page, time, group_by)


def _items(call: DataToolCall, rows: Sequence[Feedback]) -> list[Item]:
    rated = _find_rated_answers(call, rows)
    return [
        {
            "id": row.pk,
            "at": call.when(row.at),
            "rating": row.rating,
            "given_by": row.given_by,
            "comment": call.text(row.comment),
            "question": call.text(rated[row.pk][0]),
            "answer": call.text(rated[row.pk][1]),
            "transcript_id": row.conversation_id,
            "message_id": row.position,
            "user": results.reference(row.customer),
        }
        for row in rows
    ]


def _find_rated_answers(
    call: DataToolCall, rows: Sequence[Feedback]
) -> Mapping[str, tuple[str, str]]:
    """The rated answers by feedback, each after the question that the customer asked before."""
    said = access.conversation_messages(call.access).filter(conversation=OuterRef("conversation"))
    before = said.filter(messages.BY_CUSTOMER, position__lt=OuterRef("position"))
    found = (
        access.feedback(call.access)
        .filter(pk__in=[row.pk for row in rows])
        .annotate(
            question=Subquery(before.order_by("-position").values("text")[:1]),
            answer=Subquery(said.filter(position=OuterRef("position")).values("text")[:1]),
        )
        .values_list("pk", "question", "answer")
    )
    return {pk: (question or "", answer or "") for pk, question, answer in found}
