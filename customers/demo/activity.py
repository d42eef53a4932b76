"""What people did in the product: sessions of events."""

from datetime import datetime, timedelta
from typing import Any, Final

from customers.demo.conversations import APP
from customers.demo.population import DemoPerson
from customers.demo.texts import Dice
from customers.demo.world import World
from customers.demo.writing import RowBatch
from workspace.models import Event

PAGES: Final = (
    *("/boards", "/boards", "/boards", "/time", "/time", "/timeline", "/reports/time", "/people"),
    *("/settings/billing", "/automations", "/pricing", "/help/onboarding", "/help/exports"),
)
ELEMENTS: Final = (
    *("#new-task", "#new-task", "#timer", "#timer", "#search", "#invite", "button.archive-done"),
    *("[data-action=assign]", "[data-action=export]"),
)
FORMS: Final = ("form#task", "form#invite", "form#time-entry", "form#profile")
OWN_TYPES: Final = ("task_created", "task_created", "timer_started", "export_started")
ERRORS: Final = ("NetworkError", "429 Too Many Requests", "Upload failed", "saml_assertion_invalid")
UPGRADE: Final = "#upgrade"
UPGRADING_PLANS: Final = ("free", "starter")
BOARD_SHARE: Final = 0.35


def write(world: World, batch: RowBatch, numbers: range) -> None:
    """Writes as many events as there are numbers, in sessions of 1 to 6."""
    dice = Dice(f"events {numbers.start}")
    left, session = len(numbers), numbers.start
    while left > 0:
        many = min(left, dice.pick_number(1, 6))
        day = world.dates.pick(dice)
        person = world.population.active(day, dice)
        start = world.dates.moment(day, dice)
        _add_session(world, batch, dice, person, start=start, number=session, many=many)
        session, left = session + many, left - many


def _add_session(
    world: World,
    batch: RowBatch,
    dice: Dice,
    person: DemoPerson,
    *,
    start: datetime,
    number: int,
    many: int,
) -> None:
    at, customer = start, world.customer(person)
    session = world.reference("s_e", number)
    page = APP + "/boards"
    for _ in range(many):
        event = _event(dice, person, page)
        page = event["page_url"]
        batch.add(
            Event,
            organization_id=world.organization.pk,
            customer_id=customer,
            session_id=session,
            at=min(at, world.dates.now),
            **event,
        )
        at += timedelta(milliseconds=int(2000 + dice.random() * 90_000))


def _event(dice: Dice, person: DemoPerson, page: str) -> dict[str, Any]:
    """Returns what somebody does next on a page."""
    kind = dice.random()
    if kind < 0.55:  # noqa: PLR2004  shares of the types of events, here and below
        return {"event_type": "page_view", "page_url": _page(dice, person)}
    if kind < 0.83:  # noqa: PLR2004
        is_upgrade = person.plan in UPGRADING_PLANS and dice.chance(0.06)
        element = UPGRADE if is_upgrade else dice.pick(ELEMENTS)
        return {"event_type": "click", "page_url": page, "element_selector": element}
    if kind < 0.91:  # noqa: PLR2004
        form = dice.pick(FORMS)
        return {"event_type": "form_submit", "page_url": page, "element_selector": form}
    if kind < 0.98:  # noqa: PLR2004
        metadata = {"board": 100 + person.number % 40}
        return {"event_type": dice.pick(OWN_TYPES), "page_url": page, "metadata": metadata}
    return {"event_type": "error", "page_url": page, "metadata": {"message": dice.pick(ERRORS)}}


def _page(dice: Dice, person: DemoPerson) -> str:
    if dice.chance(BOARD_SHARE):
        return f"{APP}/boards/{100 + person.number % 40 + dice.pick_number(0, 2)}"
    return APP + dice.pick(PAGES)
