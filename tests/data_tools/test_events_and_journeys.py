"""Product events, and what one customer did in order."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from customers import companies
from data_tools import events
from tests.drivers.data_tools import answer
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from workspace.models import Company, Conversation, Customer, Event, Feedback, Rating, Ticket

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def maria(grant: Grant) -> Customer:
    acme = companies.keep(Company(organization=grant.organization, name="Acme"))
    return grant.customer(name="Maria Keller", email="maria@acme.example", company=acme)


def event(customer: Customer, minutes: int, kind: str = "page_view", **facts: Any) -> Event:
    return Event.objects.create(
        organization_id=customer.organization_id,
        customer=customer,
        event_type=kind,
        at=START + minutes * MINUTE,
        **facts,
    )


@pytest.fixture
def visits(grant: Grant, maria: Customer) -> list[Event]:
    other = grant.customer(name="Somebody Else")
    return [
        event(maria, 0, page_url="https://app.example/Billing?tab=1", session_id="s1"),
        event(maria, 1, "click", element_selector="#upgrade", metadata={"plan": "pro"}),
        event(other, 2, "click", element_selector="#upgrade"),
        event(other, 3, page_url="https://app.example/home"),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [3, 2, 1, 0]),
        ({"event_type": "click"}, [2, 1]),
        ({"page_url": "/billing"}, [0]),
        ({"element_selector": "#upgrade", "user": "maria@acme.example"}, [1]),
        ({"company": "Acme"}, [1, 0]),
        ({"session_id": "s1"}, [0]),
        ({"from_": "2026-11-20T09:02:00Z"}, [3, 2]),
    ],
)
def test_events_are_found_by_what_is_known_of_them(
    mcp: McpClient, visits: list[Event], arguments: dict[str, Any], expected: list[int]
) -> None:
    period = {} if "from_" in arguments else {"period": "all_time"}
    found = answer(mcp, "data_search_events", **period, **arguments)
    assert [one["id"] for one in found["items"]] == [visits[number].pk for number in expected]
    assert found["total"] == len(expected)


def test_people_of_an_event_are_counted_beyond_the_groups_that_are_shown(
    mcp: McpClient, grant: Grant
) -> None:
    for number in range(60):
        event(grant.customer(external_id=str(number)), number % 7, "export")
    for number in range(60, 63):
        event(grant.customer(external_id=str(number)), 1, "export")
        event(grant.customer(external_id=f"again {number}"), 2, "export")
    Event.objects.filter(customer__external_id="7").update(customer=None)
    asked = {"event_type": "export", "period": "all_time", "group_by": "user"}
    result = answer(mcp, "data_search_events", **asked)
    assert (result["total"], result["distinct"], len(result["groups"])) == (66, 65, 50)
    shown = sum(group["value"] != "(none)" for group in result["groups"])
    assert result["other"] == 66 - sum(group["count"] for group in result["groups"])
    assert result["hints"] == [
        f"other: {result['other']} events of {65 - shown} more values of user."
    ]


def test_events_with_a_page_are_counted_up_to_a_limit(
    mcp: McpClient, visits: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MAX_UNINDEXED", 1)
    assert answer(mcp, "data_search_events", period="all_time")["total"] == len(visits)
    found = answer(mcp, "data_search_events", period="all_time", page_url="app.example")
    assert (found["at_least"], found["returned"]) == (1, 2)


def test_who_clicked_an_element_is_a_group_of_each_person(
    mcp: McpClient, maria: Customer, visits: list[Event]
) -> None:
    again = event(maria, 5, "click", element_selector="#upgrade")
    asked = {"element_selector": "#upgrade", "period": "all_time", "group_by": "user"}
    groups = answer(mcp, "data_search_events", **asked)["groups"]
    assert groups[0] == {"value": {"id": maria.pk, "name": "Maria Keller"}, "count": 2}
    assert (groups[1]["count"], len(groups), again.pk > visits[-1].pk) == (1, 2, True)


@pytest.mark.usefixtures("visits")
def test_only_the_detailed_form_has_the_metadata(mcp: McpClient) -> None:
    asked = {"event_type": "click", "user": "maria@acme.example", "period": "all_time"}
    (concise,) = answer(mcp, "data_search_events", **asked)["items"]
    (detailed,) = answer(mcp, "data_search_events", **asked, response_format="detailed")["items"]
    assert "metadata" not in concise
    assert detailed["metadata"] == {"plan": "pro"}


@pytest.fixture
def journey(grant: Grant, maria: Customer) -> None:
    """Three page views in a row, a conversation with a rating, a page view, a ticket."""
    organization = grant.organization
    for minute in range(3):
        event(maria, minute, page_url="https://app.example/billing")
    conversation = Conversation.objects.create(
        organization=organization,
        customer=maria,
        question="Why was I charged twice?",
        started_at=START + 5 * MINUTE,
    )
    Feedback.objects.create(
        organization=organization,
        customer=maria,
        conversation=conversation,
        position=2,
        rating=Rating.BAD,
        comment="No answer",
        at=START + 5 * MINUTE,
    )
    event(maria, 7, page_url="https://app.example/billing")
    Ticket.objects.create(
        organization=organization, customer=maria, subject="Charged twice", created_at=START + HOUR
    )


HOUR = timedelta(hours=1)
TITLES = [
    ("event", "page_view https://app.example/billing", 3),
    ("feedback", "bad No answer", None),
    ("transcript", "Why was I charged twice?", None),
    ("event", "page_view https://app.example/billing", None),
    ("ticket", "Charged twice", None),
]


def entries(result: Any) -> list[Any]:
    return [(one["kind"], one["title"], one.get("count")) for one in result["items"]]


@pytest.mark.usefixtures("journey")
def test_a_journey_is_everything_in_order_with_repeats_counted(mcp: McpClient) -> None:
    found = answer(mcp, "data_user_journey", user="maria@acme.example", sort="at_asc")
    assert entries(found) == TITLES
    assert (found["total"], found["searched"]["user"]["name"]) == (7, "Maria Keller")
    newest_first = answer(mcp, "data_user_journey", user="maria@acme.example")
    assert [one[:2] for one in entries(newest_first)] == [one[:2] for one in TITLES[::-1]]


@pytest.mark.usefixtures("journey")
@pytest.mark.parametrize("sort", ["at_asc", "at_desc"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_pages_of_a_journey_have_every_entry_once(mcp: McpClient, sort: str, size: int) -> None:
    asked: dict[str, Any] = {"user": "Maria Keller", "sort": sort, "page_size": size}
    page = answer(mcp, "data_user_journey", **asked)
    found = entries(page)
    while cursor := page.get("next_cursor"):
        page = answer(mcp, "data_user_journey", **asked, cursor=cursor)
        found += entries(page)
    assert found == (TITLES if sort == "at_asc" else TITLES[::-1])


@pytest.mark.usefixtures("journey")
def test_a_journey_before_a_moment_and_of_one_kind(mcp: McpClient) -> None:
    before = {"to": (START + 6 * MINUTE).isoformat(), "sort": "at_asc"}
    found = answer(mcp, "data_user_journey", user="maria@acme.example", **before)
    assert entries(found) == TITLES[:3]
    only = answer(mcp, "data_user_journey", user="maria@acme.example", include="tickets")
    assert entries(only) == TITLES[4:]


@pytest.mark.usefixtures("maria")
def test_a_journey_of_nothing_says_so(mcp: McpClient) -> None:
    found = answer(mcp, "data_user_journey", user="maria@acme.example")
    assert (found["items"], found["hints"]) == ([], ["Nothing was recorded of this customer."])
