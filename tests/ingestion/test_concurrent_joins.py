"""Joins and merges next to requests that name the same session or customer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection

from tests.ingestion.app import App, IngestionAnswer
from tests.ingestion.test_joins import VISIT, events_of
from workspace.models import Customer, CustomerAlias, Event, Join

pytestmark = pytest.mark.django_db(transaction=True)


def send_together(*requests: Callable[[], IngestionAnswer]) -> list[IngestionAnswer]:
    """Sends requests at the same moment, each from a thread of its own."""
    barrier = Barrier(len(requests))

    def send(request: Callable[[], IngestionAnswer]) -> IngestionAnswer:
        try:
            barrier.wait()
            return request()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(send, requests))


def test_a_session_that_two_customers_name_at_once_is_that_of_one(app: App) -> None:
    server = app.server()
    app.page().post("events", {"events": VISIT})
    identify = partial(server.post, "identify")
    sent = [{"user_id": one, "session_id": "s_anna"} for one in ("ada", "bo", "cy")]
    answers = send_together(*(partial(identify, one) for one in sent))
    assert {answer.status for answer in answers} == {200}
    assert len([answer for answer in answers if "joins" in answer.json]) == 1
    assert sorted(len(events_of(one["user_id"])) for one in sent) == [0, 0, 2]
    assert len(Join.objects.get().rows["events"]) == 2


@pytest.mark.parametrize("is_known", [True, False])
def test_events_next_to_an_alias_are_those_of_the_customer_who_stays(
    app: App, *, is_known: bool
) -> None:
    server = app.server()
    named = ("old_1", "new_1") if is_known else ("new_1",)
    for one in named:
        server.post("events", {"events": [{"event_type": "before", "user_id": one}]})
    event = {"event_type": "a", "user_id": "old_1"}
    answers = send_together(
        partial(server.post, "alias", {"previous_id": "old_1", "user_id": "new_1"}),
        *(partial(server.post, "events", {"events": [event]}) for _ in range(3)),
    )
    stored = [answer.status for answer in answers]
    # A request that cannot be decided is to be sent again.
    assert set(stored) <= {200, 503}
    if stored[0] == 200:
        assert Customer.objects.get().external_id == "new_1"
        assert CustomerAlias.objects.filter(key="old_1").count() == 1
        assert {row.customer_id for row in Event.objects.all()} == {Customer.objects.get().pk}
