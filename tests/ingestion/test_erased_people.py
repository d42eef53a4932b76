"""A person who was erased stays away: late events, updates, tickets, chats and files."""

import json
from datetime import timedelta
from io import StringIO
from typing import Protocol

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from customers import tasks
from customers.privacy import erasure, suppression
from customers.privacy.erasure import PrivacyActor
from foundation import sealing
from tests.ingestion import app as own_app
from tests.ingestion.app import App, IngestionAnswer
from tests.workspace.customer_pages import CUSTOMERS, send, words
from workspace.models import Customer, ErasedName, Event, Lead, Ticket, User

ADA = {"user_id": "ada_1", "traits": {"email": "Ada@kunde.example", "name": "Ada"}}
MESSAGE = {"author": "customer", "text": "Hello"}


class Door(Protocol):
    """A request that names Ada."""

    def __call__(self, server: App, *, is_allowed: bool) -> IngestionAnswer: ...


def _identify(server: App, *, is_allowed: bool) -> IngestionAnswer:
    return server.post("identify", ADA | {"allow_erased": is_allowed})


def _identify_address(server: App, *, is_allowed: bool) -> IngestionAnswer:
    sent = {"user_id": "other", "traits": {"email": "ADA@kunde.example"}}
    return server.post("identify", sent | {"allow_erased": is_allowed})


def _capture_lead(server: App, *, is_allowed: bool) -> IngestionAnswer:
    return server.post(
        "identify", {"traits": {"email": "ada@kunde.example"}, "allow_erased": is_allowed}
    )


def _create_ticket(server: App, *, is_allowed: bool) -> IngestionAnswer:
    sent = {"subject": "Hi", "user_id": "ada_1", "allow_erased": is_allowed}
    return server.post("tickets/create", sent)


def _create_ticket_by_address(server: App, *, is_allowed: bool) -> IngestionAnswer:
    sent = {"subject": "Hi", "email": "ada@kunde.example", "allow_erased": is_allowed}
    return server.post("tickets/create", sent)


def _store_transcript(server: App, *, is_allowed: bool) -> IngestionAnswer:
    sent = {"session_id": "s", "user_id": "ada_1", "messages": [MESSAGE]}
    return server.post("chat/transcripts", sent | {"allow_erased": is_allowed})


SINGLE: dict[str, tuple[Door, str]] = {
    "identify": (_identify, "user_id"),
    "identify by address": (_identify_address, "traits.email"),
    "lead": (_capture_lead, "traits.email"),
    "ticket": (_create_ticket, "user_id"),
    "ticket by address": (_create_ticket_by_address, "email"),
    "transcript": (_store_transcript, "user_id"),
}


def erase(app: App, external_id: str = "ada_1") -> None:
    customer = Customer.objects.get(organization=app.organization, external_id=external_id)
    begun = erasure.begin(app.organization.pk, customer.pk, PrivacyActor("test"))
    erasure.finish(begun.pk)


@pytest.fixture
def server(app: App) -> App:
    """A server of an organization that has erased Ada."""
    server = app.server()
    assert server.post("identify", ADA).status == 200
    erase(app)
    return server


@pytest.mark.parametrize("door", SINGLE)
def test_a_request_about_an_erased_person_is_refused(server: App, door: str) -> None:
    post, field = SINGLE[door]
    refused = post(server, is_allowed=False)
    assert refused.refusal == (409, field)
    until = ErasedName.objects.latest("until").until
    assert f"The name is refused until {until:%Y-%m-%d}." in refused.json["reason"]
    assert not any(model.objects.exists() for model in (Customer, Lead, Ticket))


@pytest.mark.parametrize("door", SINGLE)
def test_a_server_can_store_an_erased_person_again(server: App, door: str) -> None:
    post, _ = SINGLE[door]
    assert post(server, is_allowed=True).status == 200
    assert post(server, is_allowed=False).status == 200


@pytest.mark.usefixtures("server")
def test_a_page_cannot_allow_an_erased_person(app: App) -> None:
    page = app.page("ada_1", email="Ada@kunde.example")
    assert page.post("identify", ADA | {"allow_erased": True}).status == 409
    stored = app.page("bea_1").post("identify", {"user_id": "bea_1", "allow_erased": True})
    assert [one["field"] for one in stored.json["ignored"]] == ["allow_erased"]


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("door", ["lead", "ticket by address"])
def test_the_answer_to_a_page_without_a_token_does_not_say_who_was_erased(
    app: App, door: str
) -> None:
    post, field = SINGLE[door]
    refused = post(app.page(), is_allowed=False)
    assert refused.refusal == (409, field)
    assert "erased" not in refused.json["reason"]


def test_events_of_an_erased_person_are_ignored_and_others_stored(server: App) -> None:
    sent = [
        {"event_type": "late", "user_id": name} if name else {"event_type": "late"}
        for name in ("ada_1", "bea_1", "", "ada_1")
    ]
    answer = server.post("events", {"events": sent})
    assert (answer.status, answer.json["stored"]) == (200, 2)
    fields = [one["field"] for one in answer.json["ignored"]]
    assert fields == ["events[0].user_id", "events[3].user_id"]
    assert list(Customer.objects.values_list("external_id", flat=True)) == ["bea_1"]
    again = server.post("events", {"events": sent, "allow_erased": True})
    assert (again.json["stored"], Event.objects.count()) == (4, 6)


def test_a_bulk_update_leaves_an_erased_person_out(server: App) -> None:
    users = [
        {"user_id": "bea_1", "traits": {"name": "Bea", "unknown": None}},
        ADA,
        {"user_id": "carl_1", "traits": {"email": "ada@kunde.example"}},
        {"user_id": "dora_1"},
    ]
    answer = server.post("users/update", {"users": users})
    assert (answer.status, answer.json["created"]) == (200, 2)
    fields = [one["field"] for one in answer.json["ignored"]]
    assert fields == ["users[1].user_id", "users[1].traits.email", "users[2].traits.email"]
    names = set(Customer.objects.values_list("external_id", flat=True))
    assert names == {"bea_1", "dora_1"}
    allowed = server.post("users/update", {"users": users, "allow_erased": True})
    assert (allowed.json["created"], allowed.json["ignored"]) == (2, [])


@pytest.mark.usefixtures("server")
def test_another_organization_is_not_concerned() -> None:
    assert own_app.create_app().server().post("identify", ADA).status == 200


def test_an_address_that_another_customer_has_is_not_refused(app: App) -> None:
    server = app.server()
    for name in ("ada_1", "eve_1"):
        server.post("identify", {"user_id": name, "traits": {"email": "shared@kunde.example"}})
    erase(app)
    shared = {"user_id": "new_1", "traits": {"email": "shared@kunde.example"}}
    assert server.post("identify", shared).status == 200
    assert server.post("identify", {"user_id": "ada_1"}).refusal == (409, "user_id")


@pytest.mark.usefixtures("server")
def test_a_file_does_not_bring_an_erased_person_back(client: Client, app: App) -> None:
    client.force_login(User.objects.create_superuser("root@example.com"))
    rows = "external_id,email\nada_1,\nnew_1,ADA@kunde.example\nbea_1,bea@kunde.example\n"
    page = words(send(client, app.organization, rows))
    assert page.count("This person was erased.") == 2
    assert "external_id" in page


def test_a_person_can_enter_an_erased_customer_again(client: Client, app: App, server: App) -> None:
    client.force_login(User.objects.create_superuser("root@example.com"))
    given = {"organization": str(app.organization.pk), "external_id": "ada_1"}
    assert (
        client.post(f"{CUSTOMERS}add/", given | {"email": "ada@kunde.example"}).status_code == 302
    )
    assert server.post("identify", ADA).status == 200


def test_the_time_ends(server: App) -> None:
    ErasedName.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert server.post("identify", {"user_id": "ada_1"}).status == 200
    tasks.prune_data()
    assert not ErasedName.objects.exists()


def test_nothing_is_kept_if_the_time_is_zero(app: App, settings: Settings) -> None:
    settings.HALO_ERASED_PEOPLE_DAYS = 0
    server = app.server()
    server.post("identify", ADA)
    erase(app)
    assert not ErasedName.objects.exists()
    assert server.post("identify", ADA).status == 200


@pytest.mark.usefixtures("server")
def test_what_is_kept_is_exported_as_hashes_only(app: App) -> None:
    said = StringIO()
    named = ("refused", "--organization", app.organization.slug)
    call_command("customer", *named, stdout=said)
    rows = [json.loads(line) for line in said.getvalue().splitlines()]
    assert sorted(row["kind"] for row in rows) == ["email", "user_id"]
    assert "ada" not in said.getvalue().lower()
    of_one = StringIO()
    call_command("customer", *named, "ADA@kunde.example", stdout=of_one)
    assert [json.loads(line)["kind"] for line in of_one.getvalue().splitlines()] == ["email"]


def test_a_hash_is_found_after_the_sealing_key_was_rotated(
    app: App, server: App, settings: Settings
) -> None:
    settings.HALO_SEALING_KEYS = [sealing.new_key(), *settings.HALO_SEALING_KEYS]
    names = suppression.make_names(["ada_1"])
    assert [*suppression.find(app.organization.pk, names)] == names
    assert server.post("identify", ADA).status == 409
