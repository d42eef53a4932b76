"""Conversations of the demo data, the pages before them, and their ratings."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from customers.demo import tickets
from customers.demo.dates import later
from customers.demo.texts import Dice, phrases, topics, unknown_topics
from customers.demo.threads import DemoMessage, Talk, add_conversation, person_columns, so_far
from customers.demo.world import HELPER, World
from customers.demo.writing import RowBatch
from workspace.models import (
    AuthorKind,
    ConversationOutcome,
    Event,
    Feedback,
    GivenBy,
    Mode,
    Mood,
    Rating,
)

# Every fifth conversation becomes a ticket, every ninth is about what the AI agent does not know.
ESCALATED_EVERY: Final = 5
UNKNOWN_EVERY: Final = 9
ABANDONED: Final = 0.17
PAGES_BEFORE: Final = 2
RATED, RATED_BY_TRAINER = 0.3, 0.06
MODES: Final = (*(Mode.CHAT,) * 17, Mode.VOICE, Mode.VOICE, Mode.LIVEHELP)
APP: Final = "https://app.wrenboard.example"
MOODS: Final = {
    ConversationOutcome.RESOLVED: (*(Mood.HAPPY,) * 8, *(Mood.NEUTRAL,) * 9, Mood.CONFUSED),
    ConversationOutcome.ABANDONED: (Mood.NEUTRAL, Mood.NEUTRAL, Mood.CONFUSED, Mood.FRUSTRATED),
    ConversationOutcome.ESCALATED: (
        *(Mood.NEUTRAL, Mood.NEUTRAL, Mood.CONFUSED, Mood.CONFUSED),
        *(Mood.FRUSTRATED, Mood.FRUSTRATED, Mood.FRUSTRATED, Mood.ANGRY),
    ),
}
# Sentiment of what is said in a mood, and the AI score of a conversation in it.
SENTIMENTS: Final[Mapping[str, tuple[float, int]]] = {
    Mood.HAPPY: (0.7, 92),
    Mood.NEUTRAL: (0.1, 76),
    Mood.CONFUSED: (-0.25, 55),
    Mood.FRUSTRATED: (-0.55, 36),
    Mood.ANGRY: (-0.85, 18),
}
# What a resolved conversation is worth more than others.
OUTCOME_SCORES: Final[Mapping[str, int]] = {
    ConversationOutcome.RESOLVED: 8,
    ConversationOutcome.ABANDONED: -6,
    ConversationOutcome.ESCALATED: -8,
}


def write(world: World, batch: RowBatch, numbers: range) -> None:
    dice = Dice(f"conversations {numbers.start}")
    for number in numbers:
        _write_one(world, batch, dice, number)


def _write_one(world: World, batch: RowBatch, dice: Dice, number: int) -> None:
    is_known = number % UNKNOWN_EVERY != 0
    topic = dice.pick(topics() if is_known else unknown_topics())
    day = world.dates.pick(dice)
    talk = Talk(world, dice, world.population.active(day, dice), topic)
    start = world.dates.moment(day, dice)
    outcome = _outcome(number, dice, is_known=is_known)
    mood = dice.pick(MOODS[outcome])
    thread = [*so_far(_thread(talk, start, outcome, mood, is_known=is_known), world.dates.now)]
    conversation, session = world.reference("conv_", number), world.reference("s_", number)
    columns = {
        "id": conversation,
        "session_id": session,
        **_assessment_columns(dice, outcome, mood, is_known=is_known),
        **person_columns(world, talk.person),
    }
    add_conversation(world, batch, columns, thread)
    _add_pages(world, batch, talk, session, start)
    _rate(world, batch, dice, columns, thread)
    if outcome == ConversationOutcome.ESCALATED:
        confidence = columns["confidence"]
        tickets.add_escalated(world, batch, talk, number, before=thread, confidence=confidence)


def _outcome(number: int, dice: Dice, *, is_known: bool) -> ConversationOutcome:
    if number % ESCALATED_EVERY == 0:
        return ConversationOutcome.ESCALATED
    is_abandoned = dice.chance(ABANDONED) or not is_known
    return ConversationOutcome.ABANDONED if is_abandoned else ConversationOutcome.RESOLVED


def _assessment_columns(
    dice: Dice, outcome: ConversationOutcome, mood: Mood, *, is_known: bool
) -> dict[str, Any]:
    score = SENTIMENTS[mood][1] + OUTCOME_SCORES[outcome] + dice.pick_number(-7, 7)
    if not is_known:
        confidence = dice.pick_number(8, 38)
    elif outcome == ConversationOutcome.ESCALATED:
        confidence = dice.pick_number(25, 70)
    else:
        confidence = dice.pick_number(58, 98)
    return {
        "mode": dice.pick(MODES),
        "mood": mood,
        "outcome": outcome,
        "confidence": confidence,
        "score": max(0, min(100, score)),
    }


def _thread(
    talk: Talk, start: datetime, outcome: str, mood: str, *, is_known: bool
) -> list[DemoMessage]:
    dice, topic = talk.dice, talk.topic
    feeling = SENTIMENTS[mood][0]
    asked = DemoMessage(
        start, AuthorKind.CUSTOMER, talk.person.name, talk.one_of(topic.questions), feeling / 2
    )
    thread = [asked, _make_answer(talk, start, topic.answers if is_known else phrases("unsure"))]
    if is_known and dice.chance(0.6):
        followup = talk.one_of(topic.followups)
        thread.append(_customer_said(talk, thread[-1].at, followup, feeling / 2))
        thread.append(_make_answer(talk, thread[-1].at, topic.resolutions))
    if outcome == ConversationOutcome.ABANDONED and dice.chance(0.6):
        return thread
    thread.append(_customer_said(talk, thread[-1].at, talk.one_of(phrases(mood)), feeling))
    if is_known and feeling < 0:
        thread.append(_make_answer(talk, thread[-1].at, topic.answers))
        again = talk.one_of(phrases(mood))
        thread.append(_customer_said(talk, thread[-1].at, again, feeling))
    if outcome == ConversationOutcome.ESCALATED:
        at = later(thread[-1].at, dice, 0.3)
        thread.append(DemoMessage(at, AuthorKind.AGENT, HELPER, talk.one_of(phrases("handover"))))
    return thread


def _customer_said(talk: Talk, after: datetime, text: str, feeling: float) -> DemoMessage:
    at = later(after, talk.dice, 1)
    sentiment = round(max(-1, min(1, feeling + talk.dice.random() * 0.2 - 0.1)), 2)
    return DemoMessage(at, AuthorKind.CUSTOMER, talk.person.name, text, sentiment)


def _make_answer(talk: Talk, after: datetime, texts: Any) -> DemoMessage:
    opening, ending = (
        talk.dice.pick(phrases(kind)) for kind in ("agent_openings", "agent_endings")
    )
    at = after + timedelta(seconds=talk.dice.pick_number(3, 15))
    return DemoMessage(at, AuthorKind.AGENT, HELPER, f"{opening}{talk.one_of(texts)}{ending}")


def _add_pages(world: World, batch: RowBatch, talk: Talk, session: str, start: datetime) -> None:
    """Adds the pages that somebody opened in the minutes before they began to chat."""
    for before in sorted((talk.dice.random() * 20 for _ in range(PAGES_BEFORE)), reverse=True):
        batch.add(
            Event,
            organization_id=world.organization.pk,
            customer_id=world.customer(talk.person),
            session_id=session,
            event_type="page_view",
            page_url=APP + talk.dice.pick(talk.topic.pages),
            at=start - timedelta(minutes=before),
        )


def _rate(
    world: World,
    batch: RowBatch,
    dice: Dice,
    columns: Mapping[str, Any],
    thread: Sequence[DemoMessage],
) -> None:
    answers = [place for place, said in enumerate(thread, 1) if said.kind == AuthorKind.AGENT]
    for giver, share in ((GivenBy.CUSTOMER, RATED), (GivenBy.TRAINER, RATED_BY_TRAINER)):
        if not answers or not dice.chance(share):
            continue
        is_good = SENTIMENTS[columns["mood"]][0] > 0 and dice.chance(0.9)
        kind = "good" if is_good else "bad" if giver == GivenBy.CUSTOMER else "trainer"
        add_feedback(
            world,
            batch,
            columns["id"],
            position=dice.pick(answers),
            rating=Rating.GOOD if is_good else Rating.BAD,
            comment=dice.pick(phrases(f"comments_{kind}")),
            given_by=giver,
            at=min(world.dates.now, later(thread[-1].at, dice, 3)),
            customer_id=columns["customer_id"],
            company_id=columns["company_id"],
        )


def add_feedback(
    world: World, batch: RowBatch, conversation: str, *, given_by: str, **columns: Any
) -> None:
    """Adds the rating of a message; a conversation has at most one of each giver."""
    batch.add(
        Feedback,
        id="fb_" + conversation.removeprefix("conv_") + given_by[0],
        organization_id=world.organization.pk,
        conversation_id=conversation,
        agent_id=world.helper,
        given_by=given_by,
        **columns,
    )
