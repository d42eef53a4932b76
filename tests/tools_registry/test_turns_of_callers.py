"""Callers take turns at the threads of a process: hundreds of requests of one hold up no other."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from audit.models import ActionExecution
from tests.drivers import grants
from tests.drivers.asgi import application, open_request, scope_of
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import HOST, McpClient
from tests.tools_registry.test_asgi_process import wait_until
from tools_registry.endpoint import asgi as edge
from tools_registry.endpoint.asgi import McpApplication

pytestmark = pytest.mark.usefixtures("lab")

QUICK = "setup_get_install_snippet"


def scope(client: McpClient) -> dict[str, Any]:
    headers = {
        "Host": HOST,
        "Content-Type": "application/json",
        "Authorization": f"Bearer {client.token}",
    }
    return scope_of("POST", headers.items())


def body_of_call(tool: str, **arguments: str) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ).encode()


async def send_many_and_one(
    app: McpApplication, many: McpClient, single: McpClient, awaited: Path
) -> None:
    """While one call of `many` holds the thread, it sends three more, and then `single` one."""
    sent = [(many, body_of_call(QUICK))] * 3 + [(single, body_of_call(QUICK))]
    async with AsyncExitStack() as wires:
        slow = body_of_call("wait", file=str(awaited))
        open_wires = [await wires.enter_async_context(open_request(app, scope(many), slow))]
        await asyncio.to_thread(wait_until, begun_mark(awaited).exists)
        for number, (client, body) in enumerate(sent, start=2):
            open_wires.append(
                await wires.enter_async_context(open_request(app, scope(client), body))
            )
            queued = number
            await asyncio.to_thread(wait_until, lambda: app._core._unfinished == queued)  # noqa: B023  awaited at once
        await asyncio.to_thread(awaited.touch)
        for wire in open_wires:
            await wire.wait_until(lambda: bool(wire.body))  # noqa: B023  awaited at once


def test_a_caller_waits_for_one_request_of_another_and_not_for_all_of_them(
    mcp: McpClient, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HALO_CORE_THREADS = 1
    monkeypatch.setattr(edge, "CORE_OVERFLOW", 0)
    other = grants.make_grant()
    with application() as app:
        asyncio.run(send_many_and_one(app, mcp, mcp.holding(other.token()), tmp_path / "go"))
    rows = ActionExecution.objects.filter(tool=QUICK).order_by("pk")
    is_single = [str(row.organization_id) == str(other.organization.pk) for row in rows]
    assert is_single == [False, True, False, False]
