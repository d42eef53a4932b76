"""Companies, customers and leads of the demo data."""

from datetime import date, datetime, timedelta
from typing import Any, Final

from customers.demo.dates import DAYS
from customers.demo.population import SEAT_PRICES, DemoPerson, Firm
from customers.demo.texts import Dice, details, read
from customers.demo.world import World
from customers.demo.writing import RowBatch
from customers.lookup_keys import email_key
from foundation.text.names import name_key
from workspace.models import Company, Customer, Lead, LeadStatus, Lifecycle, RenewalStatus, Term

TRIAL_DAYS: Final = 14
CONVERTED: Final = 0.3
LEADS_THIS_MONTH: Final = 12
GOOD_HEALTH, BAD_HEALTH = 70, 35


def write_companies(world: World, batch: RowBatch, numbers: range) -> None:
    dice = Dice(f"companies {numbers.start}")
    for firm in world.population.firms[numbers.start : numbers.stop]:
        joined = world.dates.moment(firm.joined, dice)
        batch.add(
            Company,
            id=world.company(firm),
            organization_id=world.organization.pk,
            external_id=f"org_{1000 + firm.number}",
            name=firm.name,
            name_key=name_key(firm.name),
            domain=firm.domain,
            industry=firm.industry,
            employee_count=firm.employees,
            health_score=firm.health,
            team_size=firm.team,
            plan=firm.plan,
            mrr=firm.mrr,
            arr=firm.mrr * 12,
            signed_up_at=joined,
            created_at=joined,
            updated_at=joined,
            custom_fields={"monthly_spend": firm.mrr, "seats": firm.seats},
            **_contract(firm, world.dates.today, dice),
        )


def _contract(firm: Firm, today: date, dice: Dice) -> dict[str, Any]:
    if firm.plan == "free":
        return {}
    is_yearly = firm.plan == "enterprise" or firm.number % 3 == 0
    if firm.left is not None:
        ended = today - timedelta(days=DAYS - firm.left)
        return {"renewal_status": RenewalStatus.LOST, "renewal_date": ended, "on_contract": False}
    # A year after they came, in the middle of their month of contract.
    anniversary = (DAYS - firm.joined) % 365
    left = 365 - anniversary if is_yearly else dice.pick_number(1, 31)
    return {
        "renewal_status": _renewal_status(firm, left, dice),
        "renewal_date": today + timedelta(days=left),
        "contract_term": Term.ANNUAL if is_yearly else Term.MONTHLY,
        "payment_terms": Term.ANNUAL if is_yearly and dice.chance(0.6) else Term.MONTHLY,
        "on_contract": is_yearly,
    }


def _renewal_status(firm: Firm, days: int, dice: Dice) -> str:
    if firm.health < BAD_HEALTH:
        return RenewalStatus.SET_TO_CANCEL if dice.chance(0.3) else RenewalStatus.AT_RISK
    if days <= 30:  # noqa: PLR2004  a month
        return RenewalStatus.UP_FOR_RENEWAL if dice.chance(0.6) else RenewalStatus.IN_PROGRESS
    if firm.health >= GOOD_HEALTH and dice.chance(0.25):
        return RenewalStatus.EXPANSION_OPPORTUNITY
    return RenewalStatus.RENEWED if dice.chance(0.3) else RenewalStatus.LIKELY_TO_RENEW


def write_customers(world: World, batch: RowBatch, numbers: range) -> None:
    dice = Dice(f"customers {numbers.start}")
    for person in world.population.people[numbers.start : numbers.stop]:
        joined = world.dates.moment(person.joined, dice)
        seen = max(joined, world.dates.moment(person.last_seen, dice))
        mrr = 0 if person.left is not None else SEAT_PRICES[person.plan]
        batch.add(
            Customer,
            id=world.customer(person),
            organization_id=world.organization.pk,
            external_id=f"usr_{10_000 + person.number}",
            email=person.email,
            email_key=email_key(person.email),
            name=person.name,
            name_key=name_key(person.name),
            company_id=world.company(person.firm),
            role=person.role,
            plan=person.plan,
            mrr=mrr,
            arr=mrr * 12,
            signed_up_at=joined,
            created_at=joined,
            first_seen=joined,
            last_seen=seen,
            updated_at=seen,
            source=dice.pick(("widget", "widget", "api", "import")),
            custom_fields=_traits(dice),
            context=_context(person, dice),
            **_lifecycle(world, person, dice),
        )


def _traits(dice: Dice) -> dict[str, Any]:
    return {
        "language": dice.pick(("en", "de", "en", "fr", "nl", "pl")),
        "boards": dice.pick_number(1, 40),
        "newsletter": dice.chance(0.4),
    }


def _context(person: DemoPerson, dice: Dice) -> dict[str, Any]:
    if person.plan not in {"pro", "enterprise"}:
        return {}
    state = "connected" if dice.chance(0.8) else "error"
    return {
        "sso": {"label": "Single sign-on", "type": "integration", "value": state},
        "features": {
            "label": "Features in use",
            "type": "list",
            "value": ["boards", "timelines", *(["automations"] if dice.chance(0.5) else [])],
        },
    }


def _lifecycle(world: World, person: DemoPerson, dice: Dice) -> dict[str, Any]:
    if person.left is not None:
        left = world.dates.moment(person.left, dice)
        return {"lifecycle": Lifecycle.CHURNED, "churned_at": left}
    is_trial = DAYS - person.joined < TRIAL_DAYS and person.firm is None
    return {"lifecycle": Lifecycle.TRIAL if is_trial else Lifecycle.ACTIVE}


def write_leads(world: World, batch: RowBatch, numbers: range) -> None:
    dice, names = Dice(f"leads {numbers.start}"), read("names")
    for number in numbers:
        created = _pick_capture_time(world, number, dice)
        customer = world.population.people[-1 - number] if dice.chance(CONVERTED) else None
        if customer is not None and number >= LEADS_THIS_MONTH:
            joined = world.dates.midnights[customer.joined]
            created = max(
                world.dates.midnights[0], joined - timedelta(days=dice.pick_number(1, 20))
            )
        else:
            customer = None
        first, last = dice.pick(names["first"]), dice.pick(names["last"])
        domain = f"{last.lower()}-{dice.pick(names['stems'][2])}.example"
        email = customer.email if customer else f"{first}@{domain}".lower()
        batch.add(
            Lead,
            id=world.reference("lead_", number),
            organization_id=world.organization.pk,
            email=email,
            email_key=email_key(email),
            name=customer.name if customer else f"{first} {last}",
            fields=_lead_fields(dice),
            source=dice.pick(names["lead_sources"]),
            status=LeadStatus.CONVERTED if customer else LeadStatus.OPEN,
            customer_id=world.customer(customer) if customer else None,
            created_at=created,
            converted_at=world.dates.midnights[customer.joined] if customer else None,
        )


def _pick_capture_time(world: World, number: int, dice: Dice) -> datetime:
    dates = world.dates
    if number >= LEADS_THIS_MONTH:
        return dates.moment(dates.pick(dice), dice)
    # Some came this month, however young it is; the first at its very beginning.
    month = dates.midnight(dates.today.replace(day=1))
    return month + (dates.now - month) * (number / LEADS_THIS_MONTH)


def _lead_fields(dice: Dice) -> dict[str, Any]:
    values = details(dice)
    question = dice.pick(read("names")["lead_questions"]).format_map(values)
    return {"company_size": values["n"], "question": question}
