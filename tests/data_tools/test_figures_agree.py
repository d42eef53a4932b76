"""Figures, curves, lists and plain SQL have the same numbers, whatever happens to days of the past.

The days are longer ago than any clock of these tests is ahead: the database has a clock of its own.
"""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.utils import timezone

from customers import kpis, tasks
from tests.drivers.data_tools import answer
from tests.drivers.mcp import McpClient
from tests.ingestion import app as own_app
from tests.ingestion.app import App
from workspace.models import (
    Conversation,
    Customer,
    Event,
    KpiChange,
    KpiSnapshot,
    Organization,
    Ticket,
)

BERLIN, SYDNEY = ZoneInfo("Europe/Berlin"), ZoneInfo("Australia/Sydney")
DAY = timedelta(days=1)
TABLES = {
    "tickets": ("workspace_ticket", "created_at", "status <> 'spam'"),
    "new_customers": (
        "workspace_customer",
        "coalesce(signed_up_at, first_seen, created_at)",
        "erased_at IS NULL",
    ),
    "conversations": ("workspace_conversation", "started_at", "1 = 1"),
}
CURVES = {"tickets": "tickets", "new_customers": "new_users", "conversations": "conversations"}


def middle() -> date:
    return (timezone.now() - 460 * DAY).date()


def moment_at(hour: float, days: int = 0) -> datetime:
    """A time of day in Berlin, so many days after the middle one."""
    moment = datetime.combine(middle() + days * DAY, time(), BERLIN)
    return (moment + timedelta(hours=hour)).astimezone(UTC)


@pytest.fixture
def app(db: None) -> App:  # noqa: ARG001  asked for: it opens the database
    """An organization in Berlin with rows on 11 days, some at midnight, and their snapshots."""
    app = own_app.create_app()
    organization = app.organization
    organization.time_zone = BERLIN.key
    organization.save()
    moments = [moment_at(hour, days) for days in range(-5, 6) for hour in (0, 9, 23.5)]
    for moment in moments:
        Ticket.objects.create(organization=organization, subject="Help", created_at=moment)
        Customer.objects.create(organization=organization, signed_up_at=moment)
        Conversation.objects.create(organization=organization, started_at=moment)
    people = list(Customer.objects.filter(organization=organization)[:2])
    Event.objects.bulk_create(
        Event(organization=organization, customer=people[n % 2], event_type="click", at=moment)
        for n, moment in enumerate(moments)
    )
    kpis.refresh(organization, middle() - 9 * DAY, middle() + 9 * DAY)
    assert not KpiChange.objects.filter(organization=organization, kind="tickets").exists()
    tasks.refresh_changed_kpis()
    return app


def list_answers(app: App, first: date, last: date) -> dict[str, dict[str, int]]:
    """What each tool, and SQL, says of a period, by figure."""
    mcp = McpClient(app.grant.token("data:read"))
    period = {"from_": first.isoformat(), "to": last.isoformat()}
    found: dict[str, dict[str, int]] = {}
    for metric, curve in CURVES.items():
        series = answer(mcp, "data_query_activity_time_series", metric=curve, **period)
        found[metric] = {
            "curve": sum(point["value"] for point in series["items"]),
            "sql": count_rows(app.organization, metric, first, last),
        }
    for metric in ("tickets", "new_customers"):
        items = answer(mcp, "data_query_metrics", metric=metric, compare="none", **period)["items"]
        found[metric]["metrics"] = items[0]["value"]
    found["tickets"]["search"] = answer(mcp, "data_search_tickets", **period)["total"]
    users = {"time_field": "signed_up_at", **period}
    found["new_customers"]["search"] = answer(mcp, "data_search_users", **users)["total"]
    found["conversations"]["search"] = answer(mcp, "data_search_transcripts", **period)["total"]
    return found


def count_rows(organization: Organization, metric: str, first: date, last: date) -> int:
    zone = ZoneInfo(Organization.objects.get(pk=organization.pk).time_zone)
    bounds = [datetime.combine(day, time(), zone).astimezone(UTC) for day in (first, last + DAY)]
    table, column, condition = TABLES[metric]
    statement = (
        f"SELECT count(*) FROM {table} WHERE organization_id = %s AND {condition} "  # noqa: S608  constants only
        f"AND {column} >= %s AND {column} < %s"
    )
    key = organization.pk if connection.vendor == "postgresql" else organization.pk.hex
    with connection.cursor() as cursor:
        cursor.execute(statement, [key, *map(connection.ops.adapt_datetimefield_value, bounds)])
        return int(cursor.fetchone()[0])


def assert_agreement(app: App) -> None:
    for span in ((-5, 5), (-1, 1), (0, 0), (3, 9)):
        first, last = (middle() + days * DAY for days in span)
        for metric, found in list_answers(app, first, last).items():
            assert len(set(found.values())) == 1, (metric, span, found)


def move_to_sydney(app: App) -> None:
    app.organization.time_zone = SYDNEY.key
    app.organization.save()


def write_older_rows(app: App) -> None:
    server = app.server()
    moment = moment_at(10).isoformat()
    ticket = {"subject": "Late", "email": "a@x.example", "created_at": moment}
    assert server.post("tickets/create", ticket).status == 200
    identified = {"user_id": "late", "traits": {"signed_up_at": moment}}
    assert server.post("identify", identified).status == 200
    chat = {
        "session_id": "late",
        "started_at": moment,
        "messages": [{"text": "Hi", "author": "customer", "at": moment}],
    }
    assert server.post("chat/transcripts", chat).status == 200, chat


def mark_spam(app: App) -> None:
    ticket = Ticket.objects.filter(organization=app.organization, created_at=moment_at(9)).get()
    path = f"tickets/{ticket.pk}"
    assert app.server().send("PATCH", path, json.dumps({"status": "spam"}).encode()).status == 200


def move_rows(app: App) -> None:
    moment, later = moment_at(9), moment_at(9, 2)
    of = {"organization": app.organization}
    assert Ticket.objects.filter(created_at=moment, **of).update(created_at=later) == 1
    assert Customer.objects.filter(signed_up_at=moment, **of).update(signed_up_at=later) == 1
    assert Conversation.objects.filter(started_at=moment, **of).update(started_at=later) == 1


def delete_rows(app: App) -> None:
    moment, of = moment_at(9), {"organization": app.organization}
    Ticket.objects.get(created_at=moment, **of).delete()
    Customer.objects.get(signed_up_at=moment, **of).delete()
    Conversation.objects.get(started_at=moment, **of).delete()


@pytest.mark.parametrize(
    "change", [move_to_sydney, write_older_rows, mark_spam, move_rows, delete_rows]
)
def test_every_tool_has_the_number_of_the_table(app: App, change: Callable[[App], None]) -> None:
    assert_agreement(app)
    change(app)
    assert_agreement(app)
    tasks.refresh_changed_kpis()
    assert not KpiChange.objects.filter(organization=app.organization).exists()
    assert_agreement(app)
    zone = Organization.objects.get(pk=app.organization.pk).time_zone
    snapshots = KpiSnapshot.objects.filter(organization=app.organization, metric="tickets")
    assert set(snapshots.values_list("time_zone", flat=True)) == {zone}
    assert snapshots.count() >= 19


def test_snapshots_are_what_is_read_of_days_without_a_change(app: App) -> None:
    stored = KpiSnapshot.objects.filter(organization=app.organization, day=middle())
    stored.filter(metric="tickets").update(value=100)
    found = list_answers(app, middle(), middle())["tickets"]
    assert (found["metrics"], found["curve"], found["sql"]) == (100, 100, 3)


def test_customers_at_the_end_follow_those_who_started_earlier(app: App) -> None:
    mcp = McpClient(app.grant.token("data:read"))
    period = {"from_": middle().isoformat(), "to": (middle() + 8 * DAY).isoformat()}

    def count() -> Any:
        asked = answer(mcp, "data_query_metrics", metric="customers", compare="none", **period)
        return asked["items"][0]["value"]

    assert count() == 33
    lost = Customer.objects.filter(organization=app.organization, signed_up_at=moment_at(9, -5))
    lost.update(churned_at=moment_at(9, -3), lifecycle="churned")
    app.server().post(
        "identify", {"user_id": "x", "traits": {"signed_up_at": "2020-01-01T00:00:00Z"}}
    )
    app.server().post(
        "identify", {"user_id": "y", "traits": {"signed_up_at": "2020-01-01T00:00:00Z"}}
    )
    assert count() == 34
    tasks.refresh_changed_kpis()
    assert count() == 34
    levels = KpiSnapshot.objects.filter(organization=app.organization, metric="customers")
    assert levels.get(day=middle() + 8 * DAY).value == 34


def test_people_who_become_known_later_were_active_then(app: App) -> None:
    mcp = McpClient(app.grant.token("data:read"))
    period = {"from_": middle().isoformat(), "to": middle().isoformat()}

    def count() -> Any:
        curve = answer(mcp, "data_query_activity_time_series", metric="active_users", **period)
        return curve["items"][0]["value"]

    visitor = Event.objects.create(organization=app.organization, event_type="x", at=moment_at(12))
    tasks.refresh_changed_kpis()
    assert count() == 2
    visitor.customer = app.grant.customer(external_id="visitor")
    visitor.save()
    assert count() == 3
    tasks.refresh_changed_kpis()
    assert count() == 3
    month = KpiSnapshot.objects.filter(
        organization=app.organization, metric="active_users_month", day=middle().replace(day=1)
    )
    assert month.get().value == 3


def test_figures_of_days_whose_rows_were_deleted_for_their_age_stay(
    app: App, settings: Any
) -> None:
    settings.HALO_RETENTION_TICKETS_DAYS = 30
    Ticket.objects.filter(organization=app.organization).delete()
    found = list_answers(app, middle(), middle())["tickets"]
    assert (found["metrics"], found["curve"], found["sql"]) == (3, 3, 0)
    tasks.refresh_changed_kpis()
    move_to_sydney(app)
    tasks.refresh_changed_kpis()
    assert list_answers(app, middle(), middle())["tickets"]["metrics"] == 3


def test_a_process_that_counted_before_a_change_does_not_hide_it(app: App) -> None:
    mark_spam(app)
    noted = KpiChange.objects.filter(organization=app.organization, kind="tickets")
    hours = set(noted.values_list("hour", flat=True))
    assert {moment_at(9).replace(minute=0)} == hours
    kpis.refresh(app.organization, middle() + 2 * DAY, middle() + 3 * DAY)
    assert noted.exists()
    kpis.refresh(app.organization, middle(), middle())
    assert not noted.exists()
    assert_agreement(app)


def test_an_organization_that_is_deleted_leaves_no_changes(app: App) -> None:
    key = app.organization.pk
    Organization.objects.filter(pk=key).delete()
    tasks.refresh_changed_kpis()
    assert not KpiChange.objects.filter(organization_id=key).exists()


def count_current(app: App) -> dict[str, Any]:
    """How many customers are current, as each tool says it."""
    mcp = McpClient(app.grant.token("data:read"))
    found = answer(mcp, "data_query_metrics", metric="customers", compare="none")
    groups = answer(mcp, "data_query_metrics", metric="customers", compare="none", group_by="plan")[
        "groups"
    ]
    lifecycles = answer(mcp, "data_search_users", group_by="lifecycle")["groups"]
    return {
        "figure": found["items"][0]["value"],
        "figure by plan": sum(group["customers"] for group in groups),
        "list": answer(mcp, "data_search_users")["total"],
        "groups": sum(one["count"] for one in lifecycles if one["value"] != "churned"),
        "company": answer(mcp, "data_find_company", company="acme")["activity"]["users"],
    }


def test_lists_and_figures_have_the_same_current_customers(app: App) -> None:
    Customer.objects.filter(organization=app.organization).delete()
    server = app.server()

    def identify(user_id: str, **traits: Any) -> None:
        sent = {"user_id": user_id, "company_id": "acme", "traits": traits}
        assert server.post("identify", sent).status == 200

    def join(previous_id: str, user_id: str) -> Any:
        return server.post("alias", {"previous_id": previous_id, "user_id": user_id}).json

    def assert_current(number: int) -> None:
        found = count_current(app)
        assert set(found.values()) == {number}, found

    for name in ("a", "b", "c", "d", "e"):
        identify(name, plan="pro")
    assert_current(5)
    identify("a", lifecycle="churned")
    identify("b", renewal_status="lost")
    identify("c", lifecycle="trial")
    assert_current(3)
    # Of another id of theirs nothing is known.
    joined = join("a", "a_new")
    join("b", "b_new")
    assert_current(3)
    path = f"joins/{joined['joins'][0]['id']}/undo"
    assert server.post(path).status == 200
    identify("a_new", plan="pro")
    assert_current(4)
    join("a", "a_new")
    assert_current(4)
    # One who is current stays so.
    join("b_new", "d")
    assert_current(4)
    assert Customer.objects.get(external_id="d").renewal_status == ""
    identify("b", lifecycle="active")
    identify("b_new", renewal_status="lost")
    assert_current(3)
    assert server.send("DELETE", "customers/e", b"").status == 200
    assert_current(2)


@pytest.mark.django_db
def test_the_database_has_the_triggers_that_note_changes() -> None:
    statements = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    }
    with connection.cursor() as cursor:
        cursor.execute(statements[connection.vendor])
        names = sorted(name for (name,) in cursor.fetchall() if "_kpi_" in name)
    assert names == sorted(
        f"workspace_{table}_kpi_{event}"
        for table in ("conversation", "customer", "event", "ticket")
        for event in ("delete", "insert", "update")
    )
