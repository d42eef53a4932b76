"""Requests about a customer whom another transaction has locked."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import pytest
from django.db import connection, transaction

from customers.privacy import erasure
from customers.privacy.erasure import PrivacyActor
from tests.ingestion.app import App
from tests.ingestion.test_joins import chat, customer
from tests.oauth.test_row_locks import (
    run_in_a_thread,
    wait_until_somebody_waits,
    while_another_spends,
)
from workspace.models import Conversation, Customer, Ticket

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite has one writer at a time anyway"
    ),
]
MAIL = "anna@x.example"


@pytest.fixture
def server(app: App) -> App:
    found = app.server()
    found.post("identify", {"user_id": "anna_1", "traits": {"email": MAIL}})
    return found


@pytest.mark.parametrize(
    ("author", "status"), [({"user_id": "anna_1"}, 409), ({"email": MAIL}, 200)]
)
def test_a_ticket_next_to_an_erasure_is_not_that_of_the_erased_customer(
    app: App, server: App, author: dict[str, str], status: int
) -> None:
    pk = customer("anna_1").pk
    answer = while_another_spends(
        lambda: erasure.begin(app.organization.pk, pk, PrivacyActor("test")),
        lambda: server.post("tickets/create", {"subject": "S", **author}),
    )
    assert answer.status == status, answer.json
    assert [row.customer for row in Ticket.objects.all()] == [None] * (status == 200)


def test_a_transcript_that_waits_for_its_customer_has_not_locked_the_conversation(
    server: App,
) -> None:
    server.post("chat/transcripts", chat("s_1", user_id="anna_1"))
    done = Event()
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            Customer.objects.select_for_update().get()
            send = partial(server.post, "chat/transcripts", chat("s_1"))
            waiting = threads.submit(run_in_a_thread, send, done)
            wait_until_somebody_waits()
            assert not done.is_set()
            assert Conversation.objects.select_for_update(nowait=True).get().message_count == 1
        assert waiting.result(60).status == 200
