"""The application a server runs: what goes ahead of Django, what goes to it, and how it ends."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from halo_mcp.asgi import Application
from tests.drivers.asgi import exchange, scope_of
from tests.drivers.mcp import HOST
from tools_registry.endpoint.asgi import McpApplication


@pytest.fixture
def application() -> Iterator[Application]:
    endpoint = McpApplication()
    yield Application(endpoint)
    endpoint.close()


async def run_protocol(application: Application, scope: dict[str, Any], *events: str) -> list[str]:
    """What the application says to a protocol of plain events."""
    received, coming = [], iter(events)

    async def receive() -> dict[str, Any]:
        return {"type": next(coming)}

    async def send(event: Any) -> None:
        received.append(event["type"])

    await application(scope, receive, send)
    return received


def test_the_endpoint_answers_ahead_of_django(application: Application) -> None:
    wire = exchange(application, scope_of("GET", [("Host", HOST)]))
    assert wire.reply.json["name"] == "halo-agents"
    # Django's middleware would have put this on it.
    assert "x-frame-options" not in wire.headers


@pytest.mark.parametrize("path", ["/api/mcp//", "/api/mcp/x", "/API/mcp", "/nothing"])
def test_every_other_path_goes_to_django(application: Application, path: str) -> None:
    scope = scope_of("GET", [("Host", HOST)]) | {
        "path": path,
        "root_path": "",
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
    }
    wire = exchange(application, scope)
    assert (wire.status, wire.headers["x-frame-options"]) == (404, "DENY")


def test_a_web_socket_at_no_address_of_a_project_is_turned_away(application: Application) -> None:
    scope = {"type": "websocket", "path": "/api/mcp", "headers": []}
    said = asyncio.run(run_protocol(application, scope, "websocket.connect"))
    assert said == ["websocket.close"]


def test_its_threads_end_with_the_server(application: Application) -> None:
    life = ("lifespan.startup", "lifespan.shutdown")
    said = asyncio.run(run_protocol(application, {"type": "lifespan"}, *life))
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    with pytest.raises(RuntimeError, match="after closing"):
        exchange(application, scope_of("GET", [("Host", HOST)]))
