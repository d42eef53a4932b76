"""Health and contacts of companies, from what an organization sends over the API only."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from tests.drivers.data_tools import answer
from tests.drivers.mcp import McpClient
from tests.ingestion.app import App
from workspace.models import Company, Customer


def add_company(server: App, name: str, health: int | None, **traits: Any) -> None:
    sent = {"name": name, "health_score": health, **traits}
    assert server.post("companies", {"company_id": name, "traits": sent}).status == 200
    person = {"user_id": f"{name}-1", "company_id": name, "traits": {"name": f"{name} One"}}
    assert server.post("identify", person).status == 200


def test_the_renewals_to_worry_about_are_found(app: App) -> None:
    server, soon = app.server(), (timezone.now() + timedelta(days=20)).date().isoformat()
    for name, health in (("Acme", 81), ("Beta", 12), ("Gamma", None), ("Delta", 40)):
        add_company(server, name, health, renewal_date=soon, renewal_status="up_for_renewal")
    mcp = McpClient(app.grant.token("data:read"))
    worst = {"sort": "health_asc", "from_": "-0d", "to": "+90d", "time_field": "renewal_date"}
    found = answer(mcp, "data_search_companies", **worst)
    assert [one["name"] for one in found["items"]] == ["Beta", "Delta", "Acme", "Gamma"]
    low = answer(mcp, "data_search_companies", max_health=40)
    assert {one["name"] for one in low["items"]} == {"Beta", "Delta"}
    figure = answer(mcp, "data_query_metrics", metric="average_health")["items"][0]
    assert figure["value"] == round((81 + 12 + 40) / 3, 1)


def test_a_health_score_is_a_whole_number_up_to_100(app: App) -> None:
    server = app.server()
    for score in (101, -1, 50.5, "good", True):
        sent = {"company_id": "a", "traits": {"health_score": score}}
        assert server.post("companies", sent).refusal == (400, "traits.health_score"), score


def test_a_customer_was_last_contacted_when_a_teammate_wrote(app: App) -> None:
    server = app.server()
    add_company(server, "Acme", None)
    new = {"subject": "Help", "message": "It fails.", "user_id": "Acme-1"}
    ticket = server.post("tickets/create", new).json["ticket_id"]

    def reply(**message: Any) -> None:
        assert server.post(f"tickets/{ticket}/messages", message).status == 200

    reply(message="Look here.", author="agent")
    reply(message="A note.", author="teammate", internal=True)
    reply(message="Still fails.", author="customer")
    assert not Customer.objects.exclude(last_contacted_at=None).exists()
    before = timezone.now()
    reply(message="I fix it.", author="teammate")
    mcp = McpClient(app.grant.token("data:read"))
    shown = answer(mcp, "data_find_user", user="Acme-1")["user"]["last_contacted_at"]
    assert datetime.fromisoformat(shown) >= before.replace(microsecond=0)
    company = answer(mcp, "data_find_company", company="Acme")["company"]
    assert company["last_contacted_at"] == shown


def test_a_chat_with_a_teammate_is_a_contact_at_its_own_time(app: App) -> None:
    server = app.server()
    add_company(server, "Acme", None)
    times = [datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (9, 10, 11)]
    authors = ["customer", "teammate", "customer"]
    for session, shift in (("second", timedelta(0)), ("first", timedelta(days=-9))):
        messages = [
            {"author": author, "text": "Hello", "at": (at + shift).isoformat()}
            for author, at in zip(authors, times, strict=True)
        ]
        chat = {"session_id": session, "user_id": "Acme-1", "messages": messages}
        assert server.post("chat/transcripts", chat).status == 200
    for row in (Customer.objects.get(), Company.objects.get()):
        assert row.last_contacted_at == times[1]
