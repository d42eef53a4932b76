"""Tickets of the demo data: questions by mail, escalated conversations, incidents and spam."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from customers.demo.dates import DAYS, later
from customers.demo.population import DemoPerson
from customers.demo.texts import Dice, Topic, details, incidents, phrases, read, topics
from customers.demo.threads import DemoMessage, Talk, add_ticket, person_columns, so_far
from customers.demo.world import HELPER, Teammate, World
from customers.demo.writing import RowBatch
from workspace.models import AuthorKind, TicketPriority, TicketStatus

SPAM: Final = 0.04
INCIDENT_SHARES: Final = (0.05, 0.03)
FIRST_ANSWERED_BY_AI: Final = 0.2
ASSIGNED_TO_OWNER: Final = 0.06
URGENT, NOTED = 0.08, 0.07
SOURCES: Final = ("email", "email", "email", "widget", "widget", "api", "slack")
# How many days ago a ticket was made at most, and the statuses that it then has.
STATUSES: Final = (
    (
        2,
        (
            *(TicketStatus.OPEN,) * 8,
            *(TicketStatus.IN_PROGRESS,) * 4,
            *(TicketStatus.PRIORITY,) * 2,
            *(TicketStatus.RESOLVED,) * 5,
            TicketStatus.SNOOZED,
        ),
    ),
    (
        14,
        (
            *(TicketStatus.RESOLVED,) * 13,
            *(TicketStatus.OPEN,) * 2,
            *(TicketStatus.IN_PROGRESS,) * 3,
            TicketStatus.PRIORITY,
            TicketStatus.SNOOZED,
        ),
    ),
    (
        10_000,
        (*(TicketStatus.RESOLVED,) * 150, TicketStatus.IN_PROGRESS, TicketStatus.SNOOZED),
    ),
)
# Tickets that come from conversations have numbers of their own.
ESCALATED_FROM: Final = 10_000_000


def write(world: World, batch: RowBatch, numbers: range) -> None:
    dice = Dice(f"tickets {numbers.start}")
    for number in numbers:
        if dice.chance(SPAM):
            _add_spam(world, batch, dice, number)
        else:
            _add_question(world, batch, dice, number)


def write_incident(world: World, batch: RowBatch, which: int, numbers: range) -> None:
    """Writes the tickets of one of the two incidents; `numbers` are those of the tickets."""
    dice = Dice(f"incident {which} {numbers.start}")
    incident = incidents()[which]
    day = (world.dates.slow_boards, world.dates.no_sign_in)[which]
    for number in numbers:
        # Four of five write in the first hours, the others on the next day.
        late = timedelta(days=0 if dice.chance(0.8) else 1)
        hours = timedelta(minutes=int(dice.random() ** 2 * 400))
        start = world.dates.to_utc(day + late, 8 + (1 - which), 15) + hours
        person = world.population.active(world.dates.number(day + late), dice)
        _add_incident_ticket(
            world, batch, dice, number, incident=incident, person=person, start=start
        )


def _add_question(world: World, batch: RowBatch, dice: Dice, number: int) -> None:
    day = world.dates.pick(dice)
    person = world.population.active(day, dice)
    topic = dice.pick(topics())
    answering = world.answering(topic.inbox, number)
    talk = Talk(world, dice, person, topic, answering.name)
    age = DAYS - day
    status = dice.pick(next(statuses for days, statuses in STATUSES if age <= days))
    thread = _thread(talk, world.dates.moment(day, dice), answering)
    status, thread = _now(talk, status, thread)
    source = dice.pick(SOURCES)
    columns = {
        "id": world.reference("tkt_", number),
        "subject": talk.one_of(topic.subjects),
        "status": status,
        "source": source,
        "metadata": {"channel": source},
        **_routing_columns(world, dice, answering, topic.name, status),
        **person_columns(world, person),
    }
    add_ticket(world, batch, columns, thread)


def add_escalated(
    world: World,
    batch: RowBatch,
    talk: Talk,
    number: int,
    *,
    before: Sequence[DemoMessage],
    confidence: int,
) -> None:
    """Adds the ticket that a conversation ended in, with what was asked as its first message."""
    dice, topic = talk.dice, talk.topic
    answering = world.answering(topic.inbox, number)
    question = next(said for said in before if said.kind == AuthorKind.CUSTOMER)
    start = before[-1].at
    age = (world.dates.now - start) / timedelta(days=1)
    status = dice.pick(next(statuses for days, statuses in STATUSES if age <= days))
    opening = DemoMessage(start, AuthorKind.CUSTOMER, talk.person.name, question.text)
    by_team = Talk(world, dice, talk.person, topic, answering.name)
    thread = [opening, *_answers(by_team, start, answering)]
    status, thread = _now(by_team, status, thread)
    columns = {
        "id": world.reference("tkt_", ESCALATED_FROM + number),
        "subject": question.text[:120],
        "status": status,
        "source": "widget",
        "conversation_id": world.reference("conv_", number),
        "metadata": {
            "channel": "widget",
            "ai_confidence": confidence,
            "escalation_reason": "low_confidence" if confidence < 50 else "customer_asked",  # noqa: PLR2004  the default threshold
        },
        **_routing_columns(world, dice, answering, topic.name, status),
        **person_columns(world, talk.person),
    }
    add_ticket(world, batch, columns, thread)


def _add_incident_ticket(
    world: World,
    batch: RowBatch,
    dice: Dice,
    number: int,
    *,
    incident: Topic,
    person: DemoPerson,
    start: datetime,
) -> None:
    answering = world.answering("Support", number)
    talk = Talk(world, dice, person, incident, answering.name)
    opened = DemoMessage(start, AuthorKind.CUSTOMER, person.name, talk.mail(incident.openings))
    known = later(start, dice, 25)
    over = known + timedelta(hours=dice.pick_number(2, 6))
    thread = [
        opened,
        DemoMessage(known, AuthorKind.TEAMMATE, answering.name, talk.reply(incident.answers)),
        DemoMessage(over, AuthorKind.TEAMMATE, answering.name, talk.reply(incident.resolutions)),
    ]
    columns = {
        "id": world.reference("tkt_", number),
        "subject": talk.one_of(incident.subjects),
        "status": TicketStatus.RESOLVED,
        "priority": TicketPriority.PRIORITY if dice.chance(0.5) else TicketPriority.NORMAL,
        "source": dice.pick(SOURCES),
        "category": incident.name,
        "inbox": "Support",
        "assignee_id": answering.id,
        **person_columns(world, person),
    }
    add_ticket(world, batch, columns, thread)


def _add_spam(world: World, batch: RowBatch, dice: Dice, number: int) -> None:
    subject, text = dice.pick(read("phrases")["spam"])
    values = details(dice)
    at = world.dates.moment(world.dates.pick(dice), dice)
    columns = {
        "id": world.reference("tkt_", number),
        "subject": subject.format_map(values),
        "status": TicketStatus.SPAM,
        "source": "email",
        "inbox": "Support",
        "metadata": {"channel": "email"},
    }
    sender = f"offer{values['d']}@bulk-sender.example"
    said = DemoMessage(at, AuthorKind.CUSTOMER, sender, text.format_map(values))
    add_ticket(world, batch, columns, [said])


def _thread(talk: Talk, start: datetime, answering: Teammate) -> list[DemoMessage]:
    text = talk.mail(talk.topic.openings)
    opening = DemoMessage(start, AuthorKind.CUSTOMER, talk.person.name, text)
    return [opening, *_answers(talk, start, answering)]


def _answers(talk: Talk, start: datetime, answering: Teammate) -> list[DemoMessage]:
    """Returns what follows the first message until the ticket is resolved."""
    dice, topic, customer = talk.dice, talk.topic, talk.person.name
    thread: list[DemoMessage] = []
    at = later(start, dice, 95)
    if dice.chance(FIRST_ANSWERED_BY_AI):
        at = start + timedelta(seconds=dice.pick_number(20, 90))
        thread.append(DemoMessage(at, AuthorKind.AGENT, HELPER, talk.reply(topic.answers)))
        at = later(at, dice, 60)
    else:
        text = talk.reply(topic.answers)
        thread.append(DemoMessage(at, AuthorKind.TEAMMATE, answering.name, text))
    if dice.chance(NOTED):
        at = later(at, dice, 20)
        note = talk.one_of(phrases("notes"))
        thread.append(DemoMessage(at, AuthorKind.TEAMMATE, answering.name, note, is_internal=True))
    if dice.chance(0.55):
        at = later(at, dice, 300)
        thread.append(DemoMessage(at, AuthorKind.CUSTOMER, customer, talk.one_of(topic.followups)))
        at = later(at, dice, 200)
        thread.append(
            DemoMessage(at, AuthorKind.TEAMMATE, answering.name, talk.reply(topic.resolutions))
        )
    if dice.chance(0.3):
        at = later(at, dice, 400)
        thread.append(
            DemoMessage(at, AuthorKind.CUSTOMER, customer, talk.one_of(phrases("thanks")))
        )
    return thread


def _now(
    talk: Talk, status: TicketStatus, thread: list[DemoMessage]
) -> tuple[TicketStatus, list[DemoMessage]]:
    """Returns the status and messages as they are now: nothing is resolved before its last one."""
    if status == TicketStatus.OPEN:
        return status, thread[:1]
    written = list(so_far(thread, talk.world.dates.now))
    if status != TicketStatus.RESOLVED:
        return status, written[:2]
    is_over = len(written) == len(thread)
    return (status if is_over else TicketStatus.IN_PROGRESS), written


def _routing_columns(
    world: World, dice: Dice, answering: Teammate, category: str, status: TicketStatus
) -> dict[str, Any]:
    is_urgent = status == TicketStatus.PRIORITY or dice.chance(URGENT)
    is_assigned = status not in {TicketStatus.OPEN, TicketStatus.PRIORITY} or dice.chance(0.5)
    by_owner = dice.chance(ASSIGNED_TO_OWNER)
    assignee = world.owner if by_owner and world.owner else answering.id
    return {
        "priority": TicketPriority.PRIORITY if is_urgent else TicketPriority.NORMAL,
        "inbox": answering.inbox,
        "category": category,
        "assignee_id": assignee if is_assigned else None,
    }


def incident_numbers(tickets: int) -> tuple[int, int]:
    """Returns how many of so many tickets are about each of the two incidents."""
    first, second = INCIDENT_SHARES
    return int(tickets * first), int(tickets * second)
