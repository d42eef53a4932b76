"""Fills an organization with demo data, part by part, so that an interrupted run can continue."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection, transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from customers.demo.history import DemoPart, parts
from customers.demo.world import SIZES, World
from customers.demo.writing import RowBatch
from workspace import changes
from workspace.models import (
    Agent,
    Company,
    Conversation,
    ConversationMessage,
    Customer,
    DemoSeed,
    Event,
    Feedback,
    KnowledgeChunk,
    KnowledgePage,
    KnowledgeSource,
    KpiSnapshot,
    Lead,
    Organization,
    Ticket,
    TicketMessage,
    User,
    row_key,
)

# Rows before those that they refer to.
DELETED: Final[tuple[type[Model], ...]] = (
    *(Feedback, TicketMessage, Ticket, ConversationMessage, Conversation, Event, Lead),
    *(KnowledgeChunk, KnowledgePage, KnowledgeSource, KpiSnapshot, Customer, Company, DemoSeed),
)
COUNTED: Final[tuple[type[Model], ...]] = (
    *(Customer, Company, Lead, Ticket, Conversation, Event, KnowledgeSource),
)


class HasData(Exception):
    """The organization has customers or other rows already; demo data is not mixed with them."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: the part that was stored last, its number, and how many there are."""

    part: str
    done: int
    total: int


def plan(organization: Organization, size: str, as_of: datetime | None = None) -> DemoSeed:
    """Notes that an organization gets demo data that ends at `as_of`. Raises HasData."""
    if size not in SIZES:
        raise ValueError(size)
    if any(count(organization).values()):
        raise HasData
    as_of = (as_of or timezone.now()).replace(microsecond=0)
    return DemoSeed.objects.create(organization=organization, size=size, as_of=as_of)


def list_unfinished(size: str) -> list[DemoSeed]:
    """Returns what was planned or interrupted of a size."""
    seeds = DemoSeed.objects.filter(size=size, finished_at=None)
    return list(seeds.select_related("organization"))


def run(seed: DemoSeed) -> Iterator[Progress]:
    """Stores what is missing. It may be stopped after each part, and continued by another run."""
    world = World(seed)
    todo = parts(world)
    for number, part in enumerate(todo):
        if number >= seed.parts_done:
            _store(world, part, number)
        yield Progress(part.name, number + 1, len(todo))
    DemoSeed.objects.filter(pk=seed.pk).update(finished_at=timezone.now())
    changes.publish([world.organization.pk])


def _store(world: World, part: DemoPart, number: int) -> None:
    with transaction.atomic():
        seeds = DemoSeed.objects.select_for_update()
        # Another process may have stored this part in the meantime.
        if seeds.filter(pk=world.organization.pk, parts_done=number).exists():
            batch = RowBatch()
            part.write(world, batch)
            batch.store()
            seeds.filter(pk=world.organization.pk).update(parts_done=number + 1)


def count(organization: Organization) -> dict[str, int]:
    """Returns how many rows of each kind an organization has, by their plural name."""
    return {str(model._meta.verbose_name_plural): _rows(model, organization) for model in COUNTED}


@transaction.atomic
def clear(organization: Organization) -> None:
    """Deletes everything that an organization has recorded, demo data or not, and the demo team."""
    seed = DemoSeed.objects.filter(pk=organization.pk).first()
    with connection.cursor() as cursor:
        for model in DELETED:
            table = connection.ops.quote_name(model._meta.db_table)
            statement = f"DELETE FROM {table} WHERE organization_id = %s"  # noqa: S608  our names
            cursor.execute(statement, [row_key(organization.pk)])
    if seed is not None:
        world = World(seed)
        Agent.objects.filter(pk=world.helper).delete()
        User.objects.filter(pk__in=[teammate.id for teammate in world.team]).delete()


def _rows(model: type[Model], organization: Organization) -> int:
    return QuerySet(model).filter(organization=organization).count()
