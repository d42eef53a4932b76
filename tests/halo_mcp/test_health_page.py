"""What a load balancer asks, and what a stranger learns from it."""

import pytest
from django.db import OperationalError, connection
from django.test import Client


@pytest.mark.django_db
def test_a_process_that_reaches_its_database_is_healthy(client: Client) -> None:
    reply = client.get("/health")

    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})
    assert reply["Cache-Control"] == "no-store"


def test_a_process_without_its_database_is_not_and_does_not_say_why(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses() -> None:
        raise OperationalError("password of halo at db.internal is wrong")

    monkeypatch.setattr(connection, "cursor", refuses)

    reply = client.get("/health")

    assert (reply.status_code, reply.json()) == (503, {"status": "database"})


@pytest.mark.django_db
def test_health_may_be_asked_for_without_a_body(client: Client) -> None:
    assert client.head("/health").status_code == 200


def test_health_is_only_read(client: Client) -> None:
    assert client.post("/health").status_code == 405
