"""The rows that questions are asked about: Acme, Globex, one long thread, a prompt injection.

Their texts are in `texts/planted.json`. A `when` there is a day, counted from the beginning of this
or the last week or quarter or from today, and a time of the organization's zone.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final

from customers.demo.activity import UPGRADE, UPGRADING_PLANS
from customers.demo.conversations import APP, add_feedback
from customers.demo.dates import DAYS, Dates, later
from customers.demo.texts import Dice, details, phrases, read, unknown_topics
from customers.demo.threads import (
    DemoMessage,
    Talk,
    add_conversation,
    add_ticket,
    person_columns,
    so_far,
)
from customers.demo.world import HELPER, World
from customers.demo.writing import RowBatch
from workspace.models import (
    Agent,
    AgentKind,
    AuthorKind,
    ConversationOutcome,
    Event,
    GivenBy,
    Membership,
    Mood,
    TicketPriority,
    TicketStatus,
    User,
)

# Apart from the numbers of other conversations, tickets and events.
FIRST: Final = 20_000_000
# What is felt in a mood, from -1 to 1.
SENTIMENTS: Final[Mapping[str, float]] = {
    Mood.HAPPY: 0.6,
    Mood.NEUTRAL: 0.1,
    Mood.CONFUSED: -0.3,
    Mood.FRUSTRATED: -0.6,
    Mood.ANGRY: -0.9,
    "": 0.1,
}
# How often each of the first topics that the AI agent knows nothing about came up this month.
UNKNOWN_LATELY: Final = (6, 5, 4)
UPGRADES_LATELY: Final = 7
MINUTES_BEFORE_MARIA_CHATS: Final = 22


def write_team(world: World, batch: RowBatch) -> None:
    """Writes the AI agent, and the people who answer; they have no password and cannot sign in."""
    organization = world.organization
    batch.add(
        Agent,
        id=world.helper,
        organization_id=organization.pk,
        kind=AgentKind.CUSTOMER_FACING,
        name=HELPER,
        created_at=world.dates.midnights[0],
    )
    for teammate in world.team:
        email = f"{teammate.name.lower().replace(' ', '.')}@{organization.slug}.example"
        User.objects.create_user(email, id=teammate.id, name=teammate.name)
        Membership.objects.create(user_id=teammate.id, organization=organization)


def write(world: World, batch: RowBatch) -> None:
    planted, dice = read("planted"), Dice("planted")
    journey = planted["journey"]
    for number, scene in enumerate([*planted["conversations"], journey["conversation"]]):
        _add_conversation(world, batch, dice, number, scene)
    escalated = world.reference("conv_", FIRST + len(planted["conversations"]))
    _add_ticket(world, batch, dice, 0, journey["ticket"], conversation_id=escalated)
    for number, scene in enumerate(planted["tickets"], 1):
        _add_ticket(world, batch, dice, number, scene)
    _add_long_thread(world, batch, dice, planted["long_thread"])
    _add_journey(world, batch, dice, journey)
    _add_unknown(world, batch, dice)
    _add_upgrades(world, batch, dice)


def moment(dates: Dates, when: Mapping[str, Any]) -> datetime:
    """Returns the time that a `when` names."""
    if when["from"] == "now":
        return dates.now - timedelta(minutes=when["minutes"])
    firsts: dict[str, date] = {
        "today": dates.today,
        "this_week": dates.this_week(),
        "last_week": dates.last_week(),
        "this_quarter": (dates.last_quarter() + timedelta(days=95)).replace(day=1),
        "last_quarter": dates.last_quarter(),
    }
    day = firsts[when["from"]] + timedelta(days=when["days"])
    return dates.to_utc(day, when["hour"], when.get("minute", 0), when.get("second", 0))


def _add_conversation(
    world: World, batch: RowBatch, dice: Dice, number: int, scene: Mapping[str, Any]
) -> None:
    person = world.population.people[scene["person"]]
    feeling = SENTIMENTS[scene["mood"]]
    thread, at = [], moment(world.dates, scene["when"])
    for kind, text in scene["said"]:
        is_customer = kind == AuthorKind.CUSTOMER
        name, sentiment = (person.name, feeling) if is_customer else (HELPER, None)
        thread.append(DemoMessage(at, kind, name, text, sentiment))
        at = later(at, dice, 0.4)
    conversation = world.reference("conv_", FIRST + number)
    columns = {name: scene[name] for name in ("mood", "outcome", "confidence", "score")}
    session = {"id": conversation, "session_id": world.reference("s_", FIRST + number)}
    add_conversation(world, batch, session | columns | person_columns(world, person), thread)
    if "rating" in scene:
        rating, comment = scene["rating"]
        add_feedback(
            world,
            batch,
            conversation,
            given_by=GivenBy.CUSTOMER,
            position=max(place for place, said in enumerate(thread, 1) if said.name == HELPER),
            rating=rating,
            comment=comment,
            at=at,
            **person_columns(world, person),
        )


def _add_ticket(
    world: World, batch: RowBatch, dice: Dice, number: int, scene: Mapping[str, Any], **more: Any
) -> None:
    person = world.population.people[scene["person"]]
    answering = world.answering("Support", number)
    thread, at = [], moment(world.dates, scene["when"])
    for kind, text in scene["said"]:
        author = person.name if kind == AuthorKind.CUSTOMER else answering.name
        is_note = kind == "note"
        said_by = AuthorKind.TEAMMATE if is_note else kind
        thread.append(DemoMessage(at, said_by, author, text, is_internal=is_note))
        at = later(at, dice, 12)
    columns = {
        "id": world.reference("tkt_", FIRST + number),
        "subject": scene["subject"],
        "status": scene["status"],
        "priority": scene.get("priority", TicketPriority.NORMAL),
        "category": scene["category"],
        "inbox": "Support",
        "source": "widget" if more else "email",
        "assignee_id": answering.id if len(thread) > 1 else None,
        **person_columns(world, person),
        **more,
    }
    add_ticket(world, batch, columns, [*so_far(thread, world.dates.now)])


def _add_long_thread(world: World, batch: RowBatch, dice: Dice, scene: Mapping[str, Any]) -> None:
    person = world.population.people[scene["person"]]
    answering = world.answering("Support", 0)
    start = world.dates.to_utc(world.dates.today - timedelta(days=scene["days"]), 9, 30)
    gap = (world.dates.now - timedelta(hours=20) - start) / scene["messages"]
    thread = []
    for number in range(scene["messages"]):
        values = details(dice) | {"b": 1 + number * 14 // scene["messages"]}
        is_customer = number == 0 or dice.chance(0.55)
        kind = AuthorKind.CUSTOMER if is_customer else AuthorKind.TEAMMATE
        name = person.name if is_customer else answering.name
        text = dice.pick(scene[kind]).format_map(values)
        thread.append(DemoMessage(start + gap * number, kind, name, text))
    columns = {
        "id": world.reference("tkt_", FIRST + 1000),
        "subject": scene["subject"],
        "category": scene["category"],
        "status": TicketStatus.IN_PROGRESS,
        "inbox": "Support",
        "source": "email",
        "assignee_id": world.owner or answering.id,
        **person_columns(world, person),
    }
    add_ticket(world, batch, columns, thread)


def _add_journey(world: World, batch: RowBatch, dice: Dice, journey: Mapping[str, Any]) -> None:
    """Adds what Maria did in the product before she wrote."""
    chat = moment(world.dates, journey["conversation"]["when"])
    at = chat - timedelta(minutes=MINUTES_BEFORE_MARIA_CHATS)
    number = FIRST + len(read("planted")["conversations"])
    for kind, page, element, metadata in journey["events"]:
        batch.add(
            Event,
            organization_id=world.organization.pk,
            customer_id=world.customer(world.population.people[0]),
            session_id=world.reference("s_", number),
            event_type=kind,
            page_url=APP + page,
            element_selector=element,
            metadata=metadata,
            at=at,
        )
        at += timedelta(seconds=dice.pick_number(20, 130))


def _add_unknown(world: World, batch: RowBatch, dice: Dice) -> None:
    number = FIRST + 100
    for topic, many in zip(unknown_topics(), UNKNOWN_LATELY, strict=False):
        for _ in range(many):
            day = DAYS - dice.pick_number(1, 24)
            talk = Talk(world, dice, world.population.active(day, dice), topic)
            start = world.dates.moment(day, dice)
            answered = start + timedelta(seconds=dice.pick_number(4, 12))
            thread = [
                DemoMessage(
                    start, AuthorKind.CUSTOMER, talk.person.name, dice.pick(topic.questions), 0.0
                ),
                DemoMessage(answered, AuthorKind.AGENT, HELPER, dice.pick(phrases("unsure"))),
            ]
            columns = {
                "id": world.reference("conv_", number),
                "session_id": world.reference("s_", number),
                "mood": Mood.NEUTRAL,
                "outcome": ConversationOutcome.ABANDONED,
                "confidence": dice.pick_number(8, 30),
                "score": dice.pick_number(40, 60),
                **person_columns(world, talk.person),
            }
            add_conversation(world, batch, columns, thread)
            number += 1


def _add_upgrades(world: World, batch: RowBatch, dice: Dice) -> None:
    """Adds clicks on the upgrade button in the last days."""
    able = [
        person
        for person in world.population.people
        if person.plan in UPGRADING_PLANS
        and person.last_seen > DAYS - UPGRADES_LATELY > person.joined
    ]
    for number, person in enumerate(able[:UPGRADES_LATELY]):
        day = DAYS - 1 - number % 6
        batch.add(
            Event,
            organization_id=world.organization.pk,
            customer_id=world.customer(person),
            session_id=world.reference("s_", FIRST + 500 + number),
            event_type="click",
            page_url=f"{APP}/pricing",
            element_selector=UPGRADE,
            at=world.dates.moment(day, dice),
        )
