"""Times that senders give: which message counts, wrong clocks, and when somebody was seen."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from foundation.admin_urls import row_url
from tests.drivers.data_tools import answer
from tests.drivers.mcp import McpClient
from tests.drivers.shown_forms import save
from tests.ingestion.app import App
from tests.workspace import customer_pages
from workspace.models import Company, Customer, Event, User

OLD, MIDDLE, NEW = (f"2026-03-0{day}T10:00:00Z" for day in (1, 2, 3))
IGNORED_REASON = "A newer message has set it."


def days_ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def identify(app: App, timestamp: str | None, **traits: Any) -> Any:
    body = {"user_id": "1", "traits": traits}
    sent = body | ({"timestamp": timestamp} if timestamp else {})
    written = app.server().post("identify", sent)
    assert written.status == 200, written.json
    return written.json


def test_an_older_message_never_overwrites_a_newer_one(app: App) -> None:
    identify(app, NEW, plan="pro", name="Ada")
    late = identify(app, OLD, plan="free", seats=3)
    customer = Customer.objects.get()
    assert (customer.plan, customer.name, customer.custom_fields) == ("pro", "Ada", {"seats": 3})
    assert late["stored"] == ["custom_fields.seats"]
    assert late["ignored"] == [{"field": "traits.plan", "reason": IGNORED_REASON}]


def test_each_trait_has_a_time_of_its_own(app: App) -> None:
    identify(app, NEW, plan="pro")
    identify(app, OLD, name="Old", seats=1)
    identify(app, MIDDLE, plan="middle", name="Middle", seats=2)
    customer = Customer.objects.get()
    assert (customer.plan, customer.name, customer.custom_fields) == ("pro", "Middle", {"seats": 2})


def test_a_message_without_a_time_is_the_newest(app: App) -> None:
    identify(app, None, plan="first")
    identify(app, None, plan="second")
    assert identify(app, NEW, plan="late")["ignored_count"] == 1
    assert Customer.objects.get().plan == "second"


def test_what_was_removed_does_not_come_back_by_an_older_message(app: App) -> None:
    identify(app, OLD, plan="pro", seats=1)
    identify(app, NEW, plan=None, seats=None)
    identify(app, MIDDLE, plan="pro", seats=2)
    customer = Customer.objects.get()
    assert (customer.plan, customer.custom_fields) == ("", {})


def test_the_number_of_removed_fields_that_are_remembered_is_limited(app: App) -> None:
    for start in range(0, 400, 200):
        names = [f"field-{number}" for number in range(start, start + 200)] + ["n" * 300]
        identify(app, None, **dict.fromkeys(names, 1))
        identify(app, None, **dict.fromkeys(names))
    times = Customer.objects.get().trait_times
    assert times is not None
    assert len(times) == 100


def test_context_and_company_follow_their_newest_message(app: App) -> None:
    server = app.server()

    def send(timestamp: str, company: str, value: int) -> Any:
        context = {"error": {"label": "Error", "value": value}}
        body = {"user_id": "1", "company_id": company, "context": context, "timestamp": timestamp}
        return server.post("users/update", {"users": [body]}).json

    send(NEW, "new", 2)
    late = send(OLD, "old", 1)
    assert [one["field"] for one in late["ignored"]] == [
        "users[0].company_id",
        "users[0].context.error",
    ]
    customer = Customer.objects.get()
    assert customer.company == Company.objects.get(external_id="new")
    assert customer.context["error"]["value"] == 2


def test_an_older_message_about_a_company_is_ignored(app: App) -> None:
    server = app.server()
    for timestamp, name in ((NEW, "New"), (OLD, "Old")):
        body = {"company_id": "acme", "traits": {"name": name}, "timestamp": timestamp}
        late = server.post("companies", body)
    assert Company.objects.get().name == "New"
    assert late.json["ignored"] == [{"field": "traits.name", "reason": IGNORED_REASON}]


def test_messages_of_one_batch_count_by_their_times(app: App) -> None:
    users = [
        {"user_id": "1", "traits": {"plan": plan}, "timestamp": timestamp}
        for plan, timestamp in (("new", NEW), ("old", OLD), ("middle", MIDDLE))
    ]
    updated = app.server().post("users/update", {"users": users})
    assert Customer.objects.get().plan == "new"
    assert [one["field"] for one in updated.json["ignored"]] == [
        "users[1].traits.plan",
        "users[2].traits.plan",
    ]


def test_an_older_lost_renewal_does_not_churn_who_came_back(app: App) -> None:
    identify(app, NEW, lifecycle="active")
    identify(app, OLD, renewal_status="lost")
    assert Customer.objects.get().lifecycle == "active"
    identify(app, NEW, renewal_status="lost")
    identify(app, MIDDLE, lifecycle="trial")
    customer = Customer.objects.get()
    assert customer.lifecycle == "churned"
    assert customer.churned_at == datetime.fromisoformat(NEW)


def test_a_page_corrects_its_clock_by_when_it_sent(app: App) -> None:
    for wrong in (datetime(1970, 1, 2, tzinfo=UTC), timezone.now() + timedelta(days=900)):
        body = {
            "sent_at": wrong.isoformat(),
            "events": [{"event_type": "a", "at": (wrong - timedelta(hours=1)).isoformat()}],
        }
        assert app.page().post("events", body).status == 200
        stored = Event.objects.latest("pk").at
        assert abs(stored - (timezone.now() - timedelta(hours=1))) < timedelta(minutes=5)


def test_a_request_that_took_seconds_keeps_its_times(app: App) -> None:
    sent_at, at = timezone.now() - timedelta(seconds=9), days_ago(1)
    body = {
        "sent_at": sent_at.isoformat(),
        "events": [{"event_type": "a", "at": at.isoformat()}],
    }
    app.server().post("events", body)
    assert Event.objects.get().at == at


def test_an_event_that_is_sent_again_is_the_same_whatever_the_clock(app: App) -> None:
    event = {"event_type": "a", "id": "e1", "at": days_ago(2).isoformat()}
    for hours in (5, 6):
        sent_at = (timezone.now() + timedelta(hours=hours)).isoformat()
        stored = app.server().post("events", {"sent_at": sent_at, "events": [event]})
        assert stored.status == 200
    assert stored.json["ignored_count"] == 1


ABSURD = ["1900-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1999-12-31T23:59:59Z"]
ABSURD += ["2190-01-01T00:00:00Z"]


@pytest.mark.parametrize("absurd", ABSURD)
def test_an_absurd_time_is_refused_by_name(app: App, absurd: str) -> None:
    server = app.server()
    message = {"author": "agent", "text": "Hello"}
    bodies: list[tuple[str, dict[str, Any], str]] = [
        ("events", {"events": [{"event_type": "a", "at": absurd}]}, "events[0].at"),
        ("identify", {"user_id": "1", "timestamp": absurd}, "timestamp"),
        ("companies", {"company_id": "1", "timestamp": absurd}, "timestamp"),
        ("users/update", {"users": [{"user_id": "1", "timestamp": absurd}]}, "users[0].timestamp"),
        ("chat/transcripts", {"session_id": "s", "started_at": absurd}, "started_at"),
        ("chat/transcripts", {"session_id": "s", "ended_at": absurd}, "ended_at"),
        (
            "chat/transcripts",
            {"session_id": "s", "messages": [message, message | {"at": absurd}]},
            "messages[1].at",
        ),
    ]
    for where, body, field in bodies:
        assert server.post(where, body).refusal == (400, field), where
    assert not Customer.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.parametrize("absurd", ["1970-01-01T00:00:00Z", "2190-01-01T00:00:00Z"])
def test_an_absurd_sign_up_is_refused_by_name(app: App, absurd: str) -> None:
    for where, body in (("identify", {"user_id": "1"}), ("companies", {"company_id": "1"})):
        refused = app.server().post(where, body | {"traits": {"signed_up_at": absurd}})
        assert refused.refusal == (400, "traits.signed_up_at")


def test_a_page_says_what_happened_in_the_last_30_days(app: App) -> None:
    page = app.page("1")
    for days, status in ((29, 200), (31, 400)):
        event = {"event_type": "a", "at": days_ago(days).isoformat()}
        assert page.post("events", {"events": [event]}).status == status
    assert page.post("identify", {"timestamp": days_ago(31).isoformat()}).status == 400
    server = {"events": [{"event_type": "a", "user_id": "1", "at": days_ago(900).isoformat()}]}
    assert app.server().post("events", server).status == 200


def test_a_little_ahead_is_now(app: App) -> None:
    at = timezone.now() + timedelta(hours=3)
    app.server().post("events", {"events": [{"event_type": "a", "at": at.isoformat()}]})
    assert Event.objects.get().at <= timezone.now()


def test_events_say_when_a_customer_was_seen(app: App) -> None:
    first, last = days_ago(300), days_ago(1)
    events = [
        {"event_type": "a", "user_id": "carl", "at": at.isoformat()}
        for at in (days_ago(50), last, first)
    ]
    app.server().post("events", {"events": events})
    customer = Customer.objects.get()
    assert (customer.first_seen, customer.last_seen) == (first, last)


def test_late_messages_do_not_make_a_customer_seen_later_or_first_today(app: App) -> None:
    server, first, last = app.server(), days_ago(300), days_ago(2)
    for at in (last, first, days_ago(40)):
        server.post("identify", {"user_id": "1", "timestamp": at.isoformat()})
    server.post("users/update", {"users": [{"user_id": "1", "traits": {"plan": "pro"}}]})
    customer = Customer.objects.get()
    assert (customer.first_seen, customer.last_seen) == (first, last)


def test_known_events_do_not_change_when_a_customer_was_seen(app: App) -> None:
    event = {"event_type": "a", "id": "e", "user_id": "1"}
    for times in ({"at": days_ago(5).isoformat()}, {}, {"at": days_ago(9).isoformat()}):
        app.server().post("events", {"events": [event | times]})
    customer, at = Customer.objects.get(), Event.objects.get().at
    assert (customer.first_seen, customer.last_seen) == (at, at)


def test_a_customer_who_wrote_in_a_chat_was_seen_then(app: App) -> None:
    at = days_ago(7)
    messages = [
        {"author": "agent", "text": "Hello", "at": days_ago(8).isoformat()},
        {"author": "customer", "text": "Hi", "at": at.isoformat()},
        {"author": "agent", "text": "Bye", "at": days_ago(6).isoformat()},
    ]
    app.server().post("chat/transcripts", {"session_id": "s", "user_id": "1", "messages": messages})
    customer = Customer.objects.get()
    assert (customer.first_seen, customer.last_seen) == (at, at)


def test_the_data_tools_find_who_only_sent_events(app: App) -> None:
    event = {"event_type": "a", "user_id": "carl", "at": days_ago(1).isoformat()}
    app.server().post("events", {"events": [event]})
    mcp = McpClient(app.grant.token("data:read"))
    found = answer(mcp, "data_search_users", period="last_7_days")
    assert found["total"] == 1


def test_what_a_person_entered_in_the_admin_is_not_undone_by_an_older_message(app: App) -> None:
    identify(app, OLD, name="Ada", role="admin")
    customer, admin = Customer.objects.get(), Client()
    admin.force_login(User.objects.create_superuser("root@example.com"))
    form = {"external_id": "1", "email": "", "hubspot": "", "stripe": ""}
    changed = save(admin, row_url(customer), form | {"name": "Ada Lovelace"})
    assert changed.status_code == 302
    late = identify(app, NEW, name="Ada L.", role="owner")
    customer.refresh_from_db()
    assert (customer.name, customer.role) == ("Ada Lovelace", "owner")
    assert [one["field"] for one in late["ignored"]] == ["traits.name"]


def test_what_a_file_imported_is_not_undone_by_an_older_message(app: App) -> None:
    admin = Client()
    admin.force_login(User.objects.create_superuser("root@example.com"))
    identify(app, OLD, name="Ada", role="admin")
    customer_pages.send(admin, app.organization, "external_id,name,mrr\n1,Ada Lovelace,5\n")
    identify(app, NEW, name="Ada L.", role="owner")
    customer = Customer.objects.get()
    assert (customer.name, customer.role, customer.mrr) == ("Ada Lovelace", "owner", 5)
