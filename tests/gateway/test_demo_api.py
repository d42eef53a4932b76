"""The demo API as a process of its own: every operation of its document, and how it ends."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
from django.core.management import CommandError, call_command

from gateway.demo_api.server import DemoServer

ROOT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG\r\n\x1a\n\x00\xff\r\n--\n"
TIMEOUT = 30


@contextmanager
def start_demo_api() -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "manage.py", "demo_api", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            printed = (line for line in process.stdout if "Demo API is at" in line)
            yield process, next(printed).split()[-1]
        finally:
            process.kill()


@pytest.mark.process
@pytest.mark.once
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_every_operation_of_the_document_answers_until_a_signal(ending: signal.Signals) -> None:
    with start_demo_api() as (process, url):
        with httpx2.Client(base_url=url, trust_env=False, headers={"X-Api-Key": "demo"}) as client:
            document = client.get("/openapi.json", headers={"X-Api-Key": "none"}).json()
            called = call_each(client)

        process.send_signal(ending)

        assert process.wait(TIMEOUT) == 0
        assert process.stdout is not None
        assert process.stdout.read().endswith("Stopped.\n")
    declared = {
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
    }
    assert document["servers"] == [{"url": url}]
    assert set(called) == declared


def call_each(client: httpx2.Client) -> dict[str, Any]:
    """The answers by the name of the operation."""
    new = {"title": "Piranesi", "author": "Susanna Clarke", "price_cents": 1400}
    key = {"Idempotency-Key": "k1"}
    created = client.post("/books", json=new, headers=key)
    assert created.status_code == 201
    book = created.json()
    assert client.post("/books", json=new, headers=key).json() == book
    assert client.post("/books", json=new | {"stock": 1}, headers=key).status_code == 409
    page = client.get("/books", params={"q": "PIRANESI", "limit": 1}).json()
    assert (page["total"], page["books"][0]["id"]) == (1, book["id"])
    assert len(client.get("/books", params={"limit": 2, "offset": 1}).json()["books"]) == 2
    path = f"/books/{book['id']}"
    changed = client.patch(path, json={"stock": 3}).json()
    in_dollars = client.get(path, headers={"X-Currency": "USD"}).json()
    assert in_dollars == changed | {"price_cents": 1540, "currency": "USD"}
    stored = client.put(f"{path}/cover", files={"file": ("a.png", PNG, "image/png")}).json()
    assert stored == {"id": book["id"], "type": "image/png", "bytes": len(PNG)}
    cover = client.get(f"{path}/cover")
    assert (cover.headers["content-type"], cover.content) == ("image/png", PNG)
    deleted = client.delete(path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert client.get(path).status_code == 404
    return {
        "create_book": book,
        "list_books": page,
        "get_book": in_dollars,
        "update_book": changed,
        "upload_cover": stored,
        "get_cover": cover,
        "delete_book": deleted,
    }


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with DemoServer(0) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        with httpx2.Client(base_url=server.url, headers={"X-Api-Key": "demo"}) as opened:
            yield opened
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/books", {"headers": {"X-Api-Key": "wrong"}}, 401),
        ("GET", "/books?limit=0", {}, 422),
        ("GET", "/books?limit=1e3", {}, 422),
        ("GET", f"/books?offset={'9' * 5000}", {}, 422),
        ("GET", "/books/1", {"headers": {"X-Currency": "XXX"}}, 422),
        ("GET", "/books/%7Bid%7D", {}, 404),
        ("GET", "/books/99999999999", {}, 404),
        ("GET", "/books/1/cover", {}, 404),
        ("PUT", "/books/1", {}, 404),
        ("POST", "/books", {"content": b"{"}, 400),
        ("POST", "/books", {"json": [1]}, 422),
        ("POST", "/books", {"json": {"title": "only"}}, 422),
        ("POST", "/books", {"json": {"id": 5}}, 422),
        ("PATCH", "/books/1", {"json": {"stock": True}}, 422),
        ("PATCH", "/books/1", {"json": {"stock": -1}}, 422),
        ("PUT", "/books/1/cover", {"content": b"raw"}, 422),
        ("PUT", "/books/1/cover", {"files": {"other": b"x"}}, 422),
    ],
)
def test_bad_input_gets_a_clear_error(
    client: httpx2.Client, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    reply = client.request(method, path, **options)

    assert reply.status_code == status
    assert reply.json()["error"].endswith(".")


def test_a_body_that_is_too_large_is_not_read(client: httpx2.Client) -> None:
    connection = HTTPConnection(client.base_url.host, client.base_url.port, timeout=TIMEOUT)
    connection.putrequest("POST", "/books")
    connection.putheader("Content-Length", "9" * 12)
    connection.endheaders()

    with connection.getresponse() as reply:
        assert (reply.status, reply.getheader("Connection")) == (413, "close")
    connection.close()


def test_a_port_that_is_taken_is_a_clear_error(client: httpx2.Client) -> None:
    with pytest.raises(CommandError, match="cannot be listened on"):
        call_command("demo_api", port=client.base_url.port)
