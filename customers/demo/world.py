"""What every part of the demo data is made from: the size, the dates, the people and the ids."""

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Final
from zoneinfo import ZoneInfo

from customers.demo.dates import Dates
from customers.demo.population import DemoPerson, Firm, Population
from customers.demo.texts import read
from workspace.models import DemoSeed, Organization

HELPER: Final = "Wren"


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows of each kind; about five messages come with each ticket and conversation."""

    companies: int
    customers: int
    leads: int
    conversations: int
    tickets: int
    events: int


SIZES: Final[Mapping[str, Size]] = {
    "small": Size(60, 400, 120, 500, 600, 15_000),
    "large": Size(20_000, 100_000, 15_000, 80_000, 200_000, 2_000_000),
}


@dataclass(frozen=True, slots=True)
class Teammate:
    """Somebody of the organization who answers customers."""

    id: uuid.UUID
    name: str
    inbox: str


class World:
    """One run of the demo data. The same seed row leads to the same rows."""

    def __init__(self, seed: DemoSeed) -> None:
        self.organization: Organization = seed.organization
        self.size = SIZES[seed.size]
        self.dates = Dates(seed.as_of, ZoneInfo(self.organization.time_zone))

    @cached_property
    def population(self) -> Population:
        return Population(self.size.companies, self.size.customers, self.dates)

    @cached_property
    def team(self) -> list[Teammate]:
        return [
            Teammate(self.uuid("teammate", number), name, inbox)
            for number, (name, inbox) in enumerate(read("names")["team"])
        ]

    @cached_property
    def owner(self) -> uuid.UUID | None:
        """The id of the first person of the organization, who has a few tickets too."""
        members = self.organization.memberships.exclude(user__in=[one.id for one in self.team])
        return members.order_by("pk").values_list("user", flat=True).first()

    def answering(self, inbox: str, number: int) -> Teammate:
        """Returns who answers in an inbox; several take turns."""
        members = [member for member in self.team if member.inbox == inbox] or self.team
        return members[number % len(members)]

    @cached_property
    def helper(self) -> uuid.UUID:
        """The id of the AI agent that talks to customers."""
        return self.uuid("agent", 0)

    def customer(self, person: DemoPerson) -> str:
        return "u_" + _text(self._digest("customer", person.number, 32))

    def company(self, firm: Firm | None) -> str | None:
        return None if firm is None else self.reference("co_", firm.number)

    def reference(self, prefix: str, number: int) -> str:
        """Returns an id in the form of `ids.reference`; it follows from the organization."""
        return prefix + _text(self._digest(prefix, number, 16))

    def uuid(self, kind: str, number: int) -> uuid.UUID:
        return uuid.UUID(bytes=self._digest(kind, number, 16), version=4)

    def _digest(self, kind: str, number: int, size: int) -> bytes:
        key = self.organization.pk.bytes
        return blake2b(f"{kind}:{number}".encode(), digest_size=size, key=key).digest()


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
