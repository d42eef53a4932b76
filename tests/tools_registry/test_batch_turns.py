"""A batch at the edge: its members take turns with everybody else who needs a thread."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.asgi import Wire, application, opened, scope_of
from tests.drivers.mcp import HOST, McpClient
from tests.drivers.toolbox import begun_mark
from tests.tools_registry.test_asgi_process import until
from tools_registry.asgi import McpApplication

pytestmark = pytest.mark.usefixtures("lab")

BATCHES = Revision.V2025_03_26


def scope(client: McpClient) -> dict[str, Any]:
    headers = {
        "Host": HOST,
        "Content-Type": "application/json",
        "Authorization": f"Bearer {client.token}",
        "MCP-Protocol-Version": BATCHES.value,
    }
    return scope_of("POST", headers.items())


def waiting_for(file: Path, request_id: int) -> dict[str, Any]:
    params = {"name": "wait", "arguments": {"file": str(file)}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


async def answered_between(app: McpApplication, client: McpClient, folder: Path) -> Wire:
    """The answer to a batch, after that to a request that came while its first member ran."""
    first, second = folder / "first", folder / "second"
    batch = json.dumps([waiting_for(first, 1), waiting_for(second, 2)]).encode()
    ping = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "ping"}).encode()
    async with opened(app, scope(client), batch) as whole:
        await asyncio.to_thread(until, begun_mark(first).exists)
        async with opened(app, scope(client), ping) as other:
            await asyncio.sleep(0.05)  # until it stands in line
            first.touch()
            await other.until(lambda: bool(other.body))
            assert not whole.status
        second.touch()
        await whole.until(lambda: bool(whole.body))
    return whole


def test_who_comes_meanwhile_waits_for_one_member_and_not_for_the_batch(
    mcp: McpClient, tmp_path: Path
) -> None:
    with application() as app:  # with one thread for all
        wire = asyncio.run(answered_between(app, mcp, tmp_path))
    assert [(one["id"], "result" in one) for one in wire.reply.json] == [(1, True), (2, True)]
