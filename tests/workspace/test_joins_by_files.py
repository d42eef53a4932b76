"""What an imported file joins: another id of a customer, tickets and earlier addresses."""

import pytest
from django.test import Client

from tests.drivers.grants import Grant
from tests.ingestion.app import App
from tests.workspace.customer_pages import send, words
from workspace.models import Customer, CustomerAlias, Event, Join, Ticket

HEAD = "external_id,email,previous_id\n"


@pytest.fixture
def server(grant: Grant, client: Client) -> App:
    """The server of an organization whose admin has signed in."""
    client.force_login(grant.user)
    return App(grant).server()


def test_a_file_merges_the_customer_with_a_previous_id(server: App, client: Client) -> None:
    organization = server.organization
    events = [{"event_type": one, "user_id": one} for one in ("old_1", "new_1")]
    server.post("events", {"events": events})
    file = HEAD + "new_1,ada@x.example,old_1\nnew_2,bo@x.example,old_2\n"
    assert "1 new 1 changed" in words(send(client, organization, file))
    ada, bo = Customer.objects.order_by("external_id")
    assert {row.customer for row in Event.objects.all()} == {ada}
    assert [one.origin for one in Join.objects.all()] == ["import", "import"]
    assert server.post("identify", {"user_id": "old_2"}).json["id"] == bo.pk
    assert "2 unchanged" in words(send(client, organization, file))
    # The old id in a file names the customer, and does not become the id again.
    page = send(client, organization, "external_id,name\nold_1,Ada\n")
    assert "1 changed" in words(page)
    ada.refresh_from_db()
    assert (ada.name, ada.external_id) == ("Ada", "new_1")


def test_a_file_joins_tickets_and_keeps_the_earlier_address(server: App, client: Client) -> None:
    for address in ("ada@old.example", "ada@new.example"):
        server.post("tickets/create", {"email": address, "subject": address})
        row = f"external_id,email\nnew_1,{address}\n"
        send(client, server.organization, row)
    ada = Customer.objects.get()
    assert {row.customer for row in Ticket.objects.all()} == {ada}
    assert CustomerAlias.objects.get().value == "ada@old.example"


def test_a_previous_id_of_another_row_is_refused(server: App, client: Client) -> None:
    file = HEAD + "new_1,,new_2\nnew_2,,\n"
    page = words(send(client, server.organization, file))
    assert "It is already used on line 2" in page
    assert not Customer.objects.exists()
