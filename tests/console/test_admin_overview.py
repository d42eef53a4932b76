"""The first page and the sidebar of the admin: what waits, and what happened today."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from approvals.models import ApprovalRequest
from console.templatetags import admin_overview
from tests.audit import calls
from tests.console.markup import read
from tools_registry.models import IntegrationMode
from workspace.models import Organization, User

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


@pytest.fixture
def place() -> Organization:
    return Organization.objects.create(name="Acme", slug="acme", widget_key="acme")


def figures(http: Client) -> dict[str, str]:
    """The figures of the first page by their labels."""
    cards = read(http.get("/admin/").content).one("ul", class_="halo-today").all("a")
    numbers = [card.one("b").text for card in cards]
    return {
        card.text.removeprefix(number).strip(): number
        for card, number in zip(cards, numbers, strict=True)
    }


def test_the_first_page_counts_calls_and_refusals_of_today_and_failing_connections(
    root: Client, place: Organization
) -> None:
    calls.put(timezone.now())
    calls.put(timezone.now(), outcome="refused", reason="scope_denied")
    calls.put(timezone.now() - timedelta(days=2), outcome="refused", reason="scope_denied")
    IntegrationMode.objects.create(organization=place, integration="stripe", connection="failing")
    IntegrationMode.objects.create(organization=place, integration="slack", connection="connected")

    assert figures(root) == {"Calls today": "2", "Refused today": "1", "Failing connections": "1"}


def test_a_count_of_today_ends_at_its_bound(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_overview, "MAX_COUNTED", 3)
    for _ in range(4):
        calls.put(timezone.now())

    assert figures(root)["Calls today"] == "3+"


def test_the_sidebar_leads_to_the_switches_and_to_why(root: Client) -> None:
    content = root.get("/admin/audit/actionexecution/").content.decode()
    links = read(content).one("ul", class_="halo-tasks").all("a")
    assert [one.text for one in links] == ["Pending requests", "Switches", "Why is a tool missing?"]
    assert all(root.get(one.attributes["href"]).status_code == 200 for one in links)


def test_staff_see_only_the_tasks_and_figures_that_they_may_open(client: Client) -> None:
    client.force_login(User.objects.create_user("staff@example.com", is_staff=True))
    content = client.get("/admin/").content.decode()
    assert "halo-today" not in content
    assert "halo-ways" not in content


def test_the_sidebar_counts_pending_requests(root: Client, place: Organization) -> None:
    for number, status in enumerate(("pending", "pending", "done")):
        ApprovalRequest.objects.create(organization=place, status=status, digest=str(number))

    content = root.get("/admin/audit/actionexecution/").content
    (pending, *_others) = read(content).one("ul", class_="halo-tasks").all("a")

    assert pending.text == "Pending requests 2"
    assert "2 approval requests" in root.get(pending.attributes["href"]).content.decode()
