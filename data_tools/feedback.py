"""data_list_negative_feedback: the answers that customers or trainers rated badly."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.db.models import OuterRef, Q, Subquery

from data_tools.query import (
    AGENT,
    COMPANY,
    DETAIL,
    PAGE,
    USER,
    DataToolCall,
    Filters,
    Listing,
    RowOrder,
    choice,
    data_tool,
    groups,
    listing,
    messages,
    optional_choice,
    results,
    time_of,
    who,
)
from tools_registry.api import Facts, Json, Toolset
from workspace import access
from workspace.models import Feedback, GivenBy, Rating

TOOLSET: Final = Toolset(scope="data:read", title="Feedback")

Item = dict[str, Json]


@data_tool(
    TOOLSET,
    title="List negative feedback",
    description=(
        "Answers that customers or trainers rated badly, with the question and the comment. "
        "Conversations in a bad mood: data_low_sentiment_conversations."
    ),
    arguments={
        "given_by": choice("anyone", *GivenBy.values),
        **USER,
        **COMPANY,
        **AGENT,
        **time_of("last_30_days"),
        "group_by": optional_choice("agent", "company"),
        **PAGE,
        **DETAIL,
    },
)
def data_list_negative_feedback(call: DataToolCall) -> Facts:
    filters = Filters(call)
    filters.add_equal("given_by", "given_by", unless="anyone")
    if user := who.find_row(call, who.USERS):
        filters.add("user", Q(customer=user.pk), shown=results.reference(user))
    if company := who.find_row(call, who.COMPANIES):
        filters.add("company", Q(company=company.pk), shown=results.reference(company))
    if agent := who.find_row(call, who.AGENTS):
        filters.add("agent", Q(agent=agent.pk), shown=results.reference(agent))
    bad = access.feedback(call.access).filter(rating=Rating.BAD)
    return listing.answer(
        call,
        Listing(
            noun="bad ratings",
            rows=bad.select_related("customer"),
            filters=filters,
            order=RowOrder("-at"),
            items=lambda rows: _items(call, rows),
            time="at",
            groupings={
                "agent": groups.reference("agent", access.agents(call.access)),
                "company": groups.reference("company", access.companies(call.access)),
            },
        ),
    )


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
