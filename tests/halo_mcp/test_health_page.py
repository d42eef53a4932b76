"""What supervisors and load balancers read, and what a stranger learns from it."""

import threading
from typing import Any

import orjson
import pytest
from django.db import OperationalError
from django.test import Client

from halo_mcp.server import health
from tests.drivers import in_process_server


def get(path: str, method: str = "GET") -> tuple[int, Any]:
    status, headers, body = in_process_server.request(method, path, [("host", "203.0.113.9")], b"")
    assert headers["cache-control"] == "no-store"
    return status, orjson.loads(body) if body else None


def refuse() -> None:
    raise OperationalError("password of halo at db.internal is wrong")


def test_a_process_that_runs_is_healthy_whatever_its_stores_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "_stores", lambda: {"database": refuse})

    assert get("/health") == get("/healthz") == (200, {"status": "ok"})


@pytest.mark.django_db
def test_a_process_whose_stores_can_be_written_to_is_ready() -> None:
    assert health.find_missing_stores() == []


def test_a_process_without_a_store_is_not_ready_and_says_only_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "_stores", lambda: {"database": refuse, "files": lambda: None})
    monkeypatch.setattr(health, "FRESH_SECONDS", 0.0)

    assert get("/readyz") == (503, {"status": "not ready", "missing": ["database"]})


def test_a_folder_that_cannot_be_written_to_is_not_ready(settings: Any, tmp_path: Any) -> None:
    settings.HALO_DATA_DIR = tmp_path / "gone"

    assert "files" in health.find_missing_stores()


def test_a_store_that_does_not_answer_is_missing_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(health, "SECONDS", 0.05)
    monkeypatch.setattr(health, "_stores", lambda: {"redis": is_over.wait})

    assert health.find_missing_stores() == ["redis"]
    is_over.set()


@pytest.mark.parametrize("path", ["/health", "/healthz", "/readyz"])
def test_health_and_readiness_are_only_read(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_stores", dict)
    # The result of another test is not used.
    monkeypatch.setattr(health, "FRESH_SECONDS", 0.0)

    assert get(path, "HEAD") == (200, None)
    assert get(path, "POST")[0] == 405


def test_without_an_asgi_server_django_answers_the_same(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_stores", lambda: {"database": refuse})

    assert (client.get("/health").status_code, client.get("/health").json()) == (
        200,
        {"status": "ok"},
    )
    assert client.get("/healthz").json() == {"status": "ok"}
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["missing"]) == (503, ["database"])
    assert client.post("/readyz").status_code == 405
