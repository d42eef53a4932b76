"""The companies and people of the demo data: who they are, and when they came and left."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from customers.demo.dates import DAYS, Dates
from customers.demo.texts import Dice, read

SEAT_PRICES: Final = {"free": 0, "starter": 12, "pro": 29, "enterprise": 59}
PLANS: Final = ("free", "starter", "starter", "starter", "pro", "pro", "pro", "pro", "enterprise")
PLANS_WITHOUT_COMPANY: Final = ("free", "free", "starter", "starter", "pro")
WITHOUT_COMPANY: Final = 0.15
COMPANIES_LEFT, PEOPLE_LEFT, PEOPLE_WITHOUT_COMPANY_LEFT = 0.1, 0.04, 0.28
AFTER_AN_INCIDENT: Final = 0.3
MIN_DAYS: Final = 40
NOT_SEEN_LATELY: Final = 0.15


@dataclass(slots=True)
class Firm:
    """A company. `joined` and `left` are numbers of days; `left` is None while it stays."""

    number: int
    name: str
    domain: str
    industry: str
    plan: str
    employees: int
    joined: int
    left: int | None
    health: int
    team: int = 0

    @property
    def seats(self) -> int:
        return max(self.team, self.employees // 4)

    @property
    def mrr(self) -> int:
        return 0 if self.left is not None else SEAT_PRICES[self.plan] * self.seats


@dataclass(slots=True)
class DemoPerson:
    """A customer. `last_seen` is the number of the last day on which they used the product."""

    number: int
    first: str
    name: str
    email: str
    role: str
    firm: Firm | None
    plan: str
    joined: int
    left: int | None
    last_seen: int


class Population:
    """All companies and people, the same for the same size and dates."""

    def __init__(self, companies: int, customers: int, dates: Dates) -> None:
        self.dates = dates
        self.dice = Dice("population")
        self.firms = self._firms(companies)
        self.people: list[DemoPerson] = []
        self._taken: set[str] = set()
        self._fill(customers)
        self._by_joined = sorted(self.people, key=lambda person: person.joined)
        self._joined = [person.joined for person in self._by_joined]

    def active(self, day: int, dice: Dice) -> DemoPerson:
        """Returns somebody who came before a day and used the product on it or later."""
        so_far = bisect_left(self._joined, day)
        for _ in range(30):
            person = self._by_joined[int(dice.random() * so_far)]
            if person.last_seen >= day:
                return person
        return self.people[0]

    def _firms(self, many: int) -> list[Firm]:
        planted = read("planted")["companies"]
        firms = [Firm(number, left=None, **each) for number, each in enumerate(planted)]
        names = _company_names(many - len(planted))
        return firms + [
            self._firm(len(planted) + number, name) for number, name in enumerate(names)
        ]

    def _firm(self, number: int, name: tuple[str, str, str]) -> Firm:
        dice = self.dice
        joined = (
            min(self.dates.pick(dice), DAYS - 1) if dice.chance(0.8) else dice.pick_number(0, 20)
        )
        left = self._leaving(joined) if dice.chance(COMPANIES_LEFT) else None
        return Firm(
            number=number,
            name=name[0],
            domain=name[1],
            industry=name[2],
            plan=dice.pick(PLANS),
            employees=int(4 + dice.random() ** 3 * 400),
            joined=joined,
            left=left,
            health=dice.pick_number(3, 30) if left is not None else _health(dice),
        )

    def _leaving(self, joined: int) -> int | None:
        """Returns the day on which somebody who joined then leaves; None if it is still to come."""
        dice = self.dice
        first = joined + MIN_DAYS
        if first >= DAYS:
            return None
        if dice.chance(AFTER_AN_INCIDENT):
            incident = dice.pick((self.dates.slow_boards, self.dates.no_sign_in))
            day = self.dates.number(incident) + dice.pick_number(3, 25)
            if first <= day < DAYS:
                return day
        return dice.pick_number(first, DAYS - 1)

    def _fill(self, many: int) -> None:
        for each in read("planted")["people"]:
            firm = self.firms[each["company"]]
            self._add(each["name"], each["role"], firm, joined=firm.joined, last_seen=DAYS)
        planted_companies = len(read("planted")["companies"])
        for firm in self.firms[planted_companies:]:
            self._add_anybody(firm)
        while len(self.people) < many:
            alone = self.dice.chance(WITHOUT_COMPANY)
            self._add_anybody(None if alone else self._some_firm())

    def _some_firm(self) -> Firm:
        # A few companies have many people, most have few.
        return self.firms[int(len(self.firms) * self.dice.random() ** 1.6)]

    def _add_anybody(self, firm: Firm | None) -> None:
        dice, names = self.dice, read("names")
        name = f"{dice.pick(names['first'])} {dice.pick(names['last'])}"
        joined = self._joining(firm)
        left = self._choose_departure(firm, joined)
        if left is not None:
            last_seen = max(joined, left - dice.pick_number(1, 12))
        elif dice.chance(NOT_SEEN_LATELY):
            last_seen = max(joined, DAYS - dice.pick_number(35, 200))
        else:
            last_seen = max(joined, DAYS - int(dice.random() ** 3 * 30))
        role = dice.pick(names["roles"])
        self._add(name, role, firm, joined=joined, last_seen=last_seen, left=left)

    def _joining(self, firm: Firm | None) -> int:
        dice = self.dice
        if firm is None:
            return self.dates.pick(dice)
        if firm.team == 0:
            return firm.joined
        last = DAYS if firm.left is None else firm.left - 1
        return dice.pick_number(firm.joined, last)

    def _choose_departure(self, firm: Firm | None, joined: int) -> int | None:
        if firm is not None and firm.left is not None:
            return firm.left
        share = PEOPLE_LEFT if firm is not None else PEOPLE_WITHOUT_COMPANY_LEFT
        return self._leaving(joined) if self.dice.chance(share) else None

    def _add(
        self,
        name: str,
        role: str,
        firm: Firm | None,
        *,
        joined: int,
        last_seen: int,
        left: int | None = None,
    ) -> None:
        number = len(self.people)
        first, _, last = name.partition(" ")
        domain = firm.domain if firm else self.dice.pick(read("names")["free_mail"])
        local = first.lower() if number == 0 else f"{first}.{last}".lower()
        email = f"{local}@{domain}"
        if email in self._taken:
            email = f"{local}{number}@{domain}"
        self._taken.add(email)
        plan = firm.plan if firm else self.dice.pick(PLANS_WITHOUT_COMPANY)
        if firm:
            firm.team += 1
        self.people.append(
            DemoPerson(number, first, name, email, role, firm, plan, joined, left, last_seen)
        )


def _health(dice: Dice) -> int:
    if not dice.chance(0.8):
        return dice.pick_number(8, 55)
    return max(0, int(100 - abs(dice.gauss(0, 1)) * 28))


def _company_names(many: int) -> Sequence[tuple[str, str, str]]:
    """Returns invented names with domain and industry; no two have the same first word."""
    names: dict[str, Any] = read("names")
    starts, middles, ends = names["stems"]
    industries = list(names["industries"].items())
    total = len(starts) * len(middles) * len(ends)
    # A number that has no factor in common with the total meets every combination once.
    numbers = (number * 7919 % total for number in range(many))
    made = []
    for number in numbers:
        start, rest = divmod(number, len(middles) * len(ends))
        middle, end = divmod(rest, len(ends))
        stem = f"{starts[start]}{middles[middle]}{ends[end]}"
        industry, words = industries[number % len(industries)]
        word = words[number // len(industries) % len(words)]
        made.append((f"{stem} {word}", f"{stem.lower()}.example", industry))
    return made
