"""The demo data: the same each time, continued after an interruption, and of one organization."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from django.utils import timezone

from customers import kpis
from customers.demo import activity, conversations, history, planted, seeding, tickets
from customers.demo.world import SIZES, Size, World
from customers.demo.writing import RowBatch
from halo_mcp import bootstrap
from workspace import organizations
from workspace.models import (
    Agent,
    Company,
    Conversation,
    Customer,
    DemoSeed,
    Feedback,
    KpiSnapshot,
    Lead,
    Membership,
    Organization,
    Ticket,
    User,
)

AS_OF = datetime(2026, 11, 19, 14, 20, tzinfo=UTC)
# Enough for every kind of row; `small` itself is in test_demo_questions.py.
TINY = Size(companies=8, customers=40, leads=14, conversations=30, tickets=60, events=200)


REFRESH = kpis.refresh
# The ids of these follow from the organization; other rows are numbered by the database.
NAMED = (Customer, Company, Lead, Ticket, Conversation, Feedback)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "small", TINY)  # type: ignore[arg-type]  read-only but for tests
    # Of the 549 days of key figures, which take longer than all the rest, those of the last month.
    monkeypatch.setattr(kpis, "refresh", _refresh_last_month)


def _refresh_last_month(organization: Organization, first: date, last: date) -> int:
    return REFRESH(organization, max(first, AS_OF.date() - timedelta(days=30)), last)


@pytest.fixture
def organization(db: None) -> Organization:  # noqa: ARG001  the fixture's name is its work
    return _create_organization("Wren")


def _create_organization(name: str) -> Organization:
    owner = User.objects.create_user(f"owner@{name.lower()}.example", name="Olga")
    found = organizations.create(name, owner=owner)
    found.time_zone = "Europe/Berlin"
    found.save()
    return found


def _seed(organization: Organization) -> None:
    for _ in seeding.run(seeding.plan(organization, "small", AS_OF)):
        pass


# What differs from run to run: numbers of the database, and when rows were written.
WHEN_RUN = {"id", "finished_at", "taken_at"}


def _digest(organization: Organization) -> str:
    """The hash of all rows, without the numbers that the database gives them and their order."""
    lines = []
    for model in seeding.DELETED:
        columns = [field.attname for field in model._meta.concrete_fields]
        fields = ["title"] if "knowledge" in model._meta.db_table else columns
        fields = [name for name in fields if name not in WHEN_RUN or model in NAMED]
        rows = QuerySet(model).filter(organization=organization).values_list(*fields)
        lines += [f"{model.__name__} {row}" for row in rows]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _command(*words: str) -> str:
    printed = StringIO()
    call_command("seed_demo", *words, stdout=printed)
    return printed.getvalue()


def test_the_same_organization_and_moment_get_the_same_rows(organization: Organization) -> None:
    _seed(organization)
    first = _digest(organization)
    seeding.clear(organization)
    assert not any(seeding.count(organization).values())

    _seed(organization)

    assert _digest(organization) == first


def test_an_interrupted_run_is_continued_and_ends_with_the_same_rows(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    _seed(organization)
    uninterrupted = _digest(organization)
    seeding.clear(organization)
    seed = seeding.plan(organization, "small", AS_OF)
    with monkeypatch.context() as failing:
        failing.setattr(conversations, "write", _write_half)
        with pytest.raises(KeyboardInterrupt):
            list(seeding.run(seed))
    seed.refresh_from_db()
    assert seeding.count(organization)["customers"] == TINY.customers
    assert 0 < seed.parts_done < len(history.parts(World(seed)))

    (unfinished,) = seeding.list_unfinished("small")
    list(seeding.run(unfinished))

    assert _digest(organization) == uninterrupted


def _write_half(world: World, batch: RowBatch, numbers: range) -> None:
    tickets.write(world, batch, numbers)
    batch.store()
    raise KeyboardInterrupt


def test_two_runs_at_the_same_time_store_each_part_once(organization: Organization) -> None:
    seed = seeding.plan(organization, "small", AS_OF)
    first, second = seeding.run(seed), seeding.run(DemoSeed.objects.get(pk=seed.pk))

    steps = list(zip(first, second, strict=True))

    assert all(one == other for one, other in steps)
    assert seeding.count(organization)["customers"] == TINY.customers


def test_the_command_fills_an_organization_once(organization: Organization) -> None:
    assert f"{TINY.customers} customers" in _command()
    before = _digest(organization)

    assert "already" in _command("--organization", organization.slug)
    with pytest.raises(CommandError, match="Use --reset"):
        _command("--size", "large")

    assert _digest(organization) == before


@pytest.mark.parametrize("answer", ["", "y", "another-organization"])
def test_a_reset_deletes_nothing_without_the_short_name(
    organization: Organization, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    Customer.objects.create(organization=organization, name="Ada")
    monkeypatch.setattr("builtins.input", lambda _question: answer)

    with pytest.raises(CommandError, match="Nothing was deleted"):
        _command("--reset")

    assert Customer.objects.get().name == "Ada"


def test_a_reset_replaces_everything_after_a_question(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = Customer.objects.create(organization=organization, name="Ada")
    questions: list[str] = []

    def confirm(question: str) -> str:
        questions.append(question)
        return organization.slug

    monkeypatch.setattr("builtins.input", confirm)
    printed = _command("--reset")

    assert "demo data or not: 1 customers" in printed
    assert len(questions) == 1
    assert not Customer.objects.filter(pk=ada.pk).exists()
    assert Customer.objects.count() == TINY.customers


def test_a_reset_for_scripts_asks_nothing(organization: Organization) -> None:
    _command()
    seeds = DemoSeed.objects.values_list("as_of", flat=True)
    DemoSeed.objects.update(as_of=AS_OF)

    _command("--reset", "--yes")

    assert seeds.get() > AS_OF
    assert Membership.objects.filter(organization=organization).count() == 1 + 4
    assert Agent.objects.filter(organization=organization).count() == 2


def test_demo_data_is_not_mixed_with_other_data(organization: Organization) -> None:
    Customer.objects.create(organization=organization)

    with pytest.raises(CommandError, match="has data already: 1 customers"):
        _command()

    assert Customer.objects.count() == 1


def test_rows_of_another_organization_are_not_touched(organization: Organization) -> None:
    other = _create_organization("Other")
    for each in (organization, other):
        _seed(each)
    before = _digest(other)

    _command("--organization", organization.slug, "--reset", "--yes")
    assert _digest(other) == before
    seeding.clear(organization)

    assert _digest(other) == before
    assert Membership.objects.filter(organization=other).count() == 1 + 4


def test_one_of_several_organizations_has_to_be_named(organization: Organization) -> None:
    _create_organization("Other")

    with pytest.raises(CommandError, match="other, wren"):
        _command()
    with pytest.raises(CommandError, match="'nobody'"):
        _command("--organization", "nobody")
    assert not any(seeding.count(organization).values())


@pytest.mark.django_db
def test_the_first_start_fills_the_demo_organization_once() -> None:
    assert bootstrap.bootstrap() is not None
    demo = Organization.objects.get()
    before = _digest(demo)

    assert bootstrap.bootstrap() is None

    assert (demo.time_zone, demo.currency) == ("Europe/Berlin", "EUR")
    assert Customer.objects.filter(organization=demo).count() == TINY.customers
    assert KpiSnapshot.objects.filter(organization=demo, metric="mrr", value__gt=0).exists()
    assert _digest(demo) == before


@pytest.mark.django_db
def test_a_start_continues_what_the_first_one_did_not_finish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(conversations, "write", _write_half)
        with pytest.raises(KeyboardInterrupt):
            bootstrap.bootstrap()

    bootstrap.bootstrap()

    seed = DemoSeed.objects.get()
    assert seed.finished_at is not None
    assert Ticket.objects.filter(organization=seed.organization).count() >= TINY.tickets


@pytest.mark.django_db
def test_a_first_start_without_demo_data_leaves_the_organization_empty(settings: Any) -> None:
    settings.HALO_DEMO_DATA = "off"
    bootstrap.bootstrap()
    settings.HALO_DEMO_DATA = "small"

    bootstrap.bootstrap()

    assert not any(seeding.count(Organization.objects.get()).values())


@pytest.mark.django_db
def test_an_organization_that_is_no_demo_is_not_filled_by_a_start() -> None:
    other = _create_organization("Other")

    bootstrap.bootstrap()

    assert not any(seeding.count(other).values())


@pytest.mark.parametrize(
    "now",
    [
        "2026-11-23T00:00:30+01:00",  # a Monday
        "2027-01-01T00:05:00+01:00",  # the first minutes of a year
        "2027-03-28T04:00:00+02:00",  # the clock has gone forward in this night
        "2027-10-31T02:30:00+01:00",  # and back in this one
        "2028-02-29T12:00:00+01:00",
        "2027-03-20T12:00:00+01:00",  # in March, before its end
    ],
)
def test_nothing_is_dated_after_the_moment_of_seeding(organization: Organization, now: str) -> None:
    seed = DemoSeed(organization=organization, size="small", as_of=datetime.fromisoformat(now))
    batch = RowBatch()
    planted.write(World(seed), batch)
    for write in (conversations.write, tickets.write, activity.write):
        write(World(seed), batch, range(60))

    assert max(_times(batch)) <= seed.as_of


def _times(batch: RowBatch) -> Iterator[datetime]:
    for rows in batch.rows.values():
        for row in rows:
            yield from (value for value in row.values() if isinstance(value, datetime))


@pytest.mark.django_db
def test_the_end_of_the_history_is_now() -> None:
    seed = seeding.plan(_create_organization("Wren"), "small")

    assert abs((timezone.now() - seed.as_of).total_seconds()) < 60
