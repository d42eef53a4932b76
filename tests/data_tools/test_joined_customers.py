"""What the data tools say of merged customers, earlier addresses and tickets of no customer."""

from typing import Any

import pytest

from tests.drivers.data_tools import answer
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.ingestion.app import App
from workspace.models import Customer

BEA = "bea@kunde.example"


@pytest.fixture
def app(grant: Grant) -> App:
    """The app of the organization whose data is read."""
    return App(grant)


def hints(found: dict[str, Any]) -> str:
    return " ".join(found.get("hints", []))


def test_tickets_of_an_unverified_address_are_hinted(mcp: McpClient, app: App) -> None:
    server = app.server()
    mail = {"email": BEA, "subject": "Offer", "message": "How much?"}
    app.page().post("tickets/create", mail)
    app.page().post("tickets/create", mail)
    server.post("tickets/create", mail)
    item = answer(mcp, "data_search_tickets")["items"][-1]
    assert (item["author_email"], item["author_email_verified"]) == (BEA, False)
    server.post("identify", {"user_id": "bea_1", "traits": {"email": BEA}})
    found = answer(mcp, "data_find_user", user=BEA)
    assert found["activity"]["tickets"] == 1
    assert "2 tickets of this address belong to no customer" in hints(found)
    tickets = answer(mcp, "data_search_tickets", user=BEA)
    assert tickets["total"] == 1
    assert "author_email" not in tickets["items"][0]
    assert "2 tickets of this address belong to no customer" in hints(tickets)


def test_an_old_id_and_an_earlier_address_find_the_customer(mcp: McpClient, app: App) -> None:
    server = app.server()
    for address in ("dan@old.example", "dan@new.example"):
        server.post("identify", {"user_id": "dan_1", "traits": {"email": address}})
    server.post("events", {"events": [{"event_type": "a", "user_id": "dan_0"}]})
    old = Customer.objects.get(external_id="dan_0")
    server.post("alias", {"previous_id": "dan_0", "user_id": "dan_1"})
    dan = Customer.objects.get()
    for named in ("dan@old.example", "dan_0", old.pk):
        found = answer(mcp, "data_find_user", user=named, response_format="detailed")
        assert (found["match"], found["user"]["id"]) == ("exact", dan.pk)
    assert found["user"]["other_ids"] == ["dan_0"]
    assert found["user"]["earlier_emails"] == ["dan@old.example"]
    assert answer(mcp, "data_search_events", user="dan_0")["total"] == 1
    assert answer(mcp, "data_user_journey", user="dan_0")["total"] == 1


def test_an_address_that_only_a_page_has_claimed_is_marked(mcp: McpClient, app: App) -> None:
    app.trust_pages()
    app.page().post("identify", {"user_id": "m", "traits": {"email": "m@x.example"}})
    assert answer(mcp, "data_find_user", user="m")["user"]["email_verified"] is False
    app.server().post("identify", {"user_id": "m", "traits": {"email": "m@x.example"}})
    assert "email_verified" not in answer(mcp, "data_find_user", user="m")["user"]
