"""An MCP client of the HR endpoint of a workspace, with a key of its own."""

import json
from collections.abc import Mapping
from typing import Any

from mcp_protocol.revisions import Revision
from tests.drivers import in_process_server
from tests.drivers.mcp import McpClient, Reply
from tests.people.api.program import Program


def path_of(program: Program) -> str:
    return f"/w/{program.organization.slug}/api/mcp"


def client(program: Program, revision: Revision = Revision.V2025_11_25) -> McpClient:
    path = path_of(program)

    def send(method: str, headers: Mapping[str, str], body: bytes) -> Reply:
        return Reply(*in_process_server.request(method, path, headers.items(), body))

    return McpClient(program.secret, revision).with_transport(send)


def failure(reply: Reply) -> Any:
    """What a tool that failed says."""
    assert reply.result["isError"] is True, reply.body
    (block,) = reply.result["content"]
    return json.loads(block["text"])
