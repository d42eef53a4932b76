"""A batch at the edge: its members take turns with everybody else who needs a thread."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import Revision
from oauth import credentials
from oauth.models import AccessToken
from tests.drivers.asgi import Wire, application, open_request, scope_of
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import HOST, McpClient
from tests.tools_registry.test_asgi_process import wait_until
from tools_registry.endpoint import asgi as edge
from tools_registry.endpoint.asgi import McpApplication
from tools_registry.pipeline import calls
from tools_registry.vendors import slots

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


async def answer_between(app: McpApplication, client: McpClient, folder: Path) -> Wire:
    """The answer to a batch, after that to another batch that came while its first member ran."""
    first, second = folder / "first", folder / "second"
    batch = json.dumps([waiting_for(first, 1), waiting_for(second, 2)]).encode()
    ping = json.dumps([{"jsonrpc": "2.0", "id": 3, "method": "ping"}]).encode()
    async with open_request(app, scope(client), batch) as whole:
        await asyncio.to_thread(wait_until, begun_mark(first).exists)
        async with open_request(app, scope(client), ping) as other:
            await asyncio.to_thread(wait_until, lambda: app._vendors._unfinished == 2)  # queued
            first.touch()
            await other.wait_until(lambda: bool(other.body))
            assert not whole.status
        second.touch()
        await whole.wait_until(lambda: bool(whole.body))
    return whole


def test_who_comes_meanwhile_waits_for_one_member_and_not_for_the_batch(
    mcp: McpClient, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HALO_VENDOR_CALLS = 1
    monkeypatch.setattr(edge, "REFUSING_THREADS", 0)  # one thread for all batches
    monkeypatch.setattr(slots, "MAX_WAITING", 0)
    with application() as app:
        wire = asyncio.run(answer_between(app, mcp, tmp_path))
    assert [(one["id"], "result" in one) for one in wire.reply.json] == [(1, True), (2, True)]


def test_a_member_is_answered_with_what_the_token_may_do_by_then(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "FRESH_SECONDS", 0)
    recheck, seen = credentials.recheck, []

    def revoked_after_the_first(*given: Any) -> Any:
        seen.append(given)
        if len(seen) > 1:
            AccessToken.objects.all().delete()
        return recheck(*given)

    monkeypatch.setattr(credentials, "recheck", revoked_after_the_first)
    ping = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (1, 2)]
    first, second = mcp.with_revision(BATCHES).send(ping).json
    assert first["result"] == {}
    assert second["error"]["code"] == -32001
    assert ActionExecution.objects.get().outcome == "protocol_error"


def test_a_call_whose_token_ended_while_it_waited_is_unauthorized(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "FRESH_SECONDS", 0)
    recheck = credentials.recheck

    def delete_and_recheck(*given: Any) -> Any:
        AccessToken.objects.all().delete()
        return recheck(*given)

    monkeypatch.setattr(credentials, "recheck", delete_and_recheck)
    reply = mcp.call("setup_get_install_snippet")
    assert (reply.status, reply.error["code"]) == (401, -32001)
    assert 'error="invalid_token"' in reply.headers["www-authenticate"]
    assert ActionExecution.objects.get().reason == "token_ended"
