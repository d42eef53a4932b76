"""The official client connects to a project of the gateway, against the real server process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from tests.clients.token_storage import MemoryTokenStorage
from tests.drivers.evaluation import evaluate
from tests.drivers.person import Person
from tests.drivers.server import Server
from tests.end_to_end.test_official_client import CALLBACK, ConsentBrowser

pytestmark = pytest.mark.process

# A project of the organization of the first start, and an MCP token for it.
MADE = """
from oauth import mcp_tokens
from tests.drivers import project_rows
from workspace.models import Organization, User

organization = Organization.objects.order_by("created_at").first()
owner = User.objects.filter(memberships__organization=organization).first()
project = project_rows.project(organization, owner, name="{name}")
token = mcp_tokens.issue(
    owner, organization, f"/{{project.pk}}", name="Laptop", days=1, address=""
)
print(project.pk, token.secret)
"""


@asynccontextmanager
async def connect(address: str, mode: str, **how: Any) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(timeout=30, **how) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def create_project(server: Server, name: str) -> tuple[str, str]:
    project_id, secret = evaluate(server.env, MADE.format(name=name)).split()
    return project_id, secret


async def tools_at(address: str, mode: str, **how: Any) -> list[str]:
    async with connect(address, mode, **how) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_with_an_mcp_token_lists_the_tools(server: Server, mode: str) -> None:
    project_id, secret = create_project(server, f"Token {mode}")
    headers = {"Authorization": f"Bearer {secret}"}

    listed = asyncio.run(tools_at(f"{server.url}/{project_id}", mode, headers=headers))

    assert listed == ["delete_user", "list_users"]


@pytest.mark.parametrize("path", ["/", "/api/mcp/"])
def test_a_client_signs_in_to_a_project_at_either_address(server: Server, path: str) -> None:
    project_id, _ = create_project(server, f"Sign-in {path}")
    person = Person(untick=frozenset({f"projects:{project_id}:delete_user"}))
    browser = ConsentBrowser(person)
    address = f"{server.url.replace('127.0.0.1', 'localhost')}{path}{project_id}"
    sign_in = OAuthClientProvider(
        address,
        OAuthClientMetadata(
            client_name="End to end",
            redirect_uris=[CALLBACK],
            grant_types=["authorization_code", "refresh_token"],
            token_endpoint_auth_method="none",
        ),
        MemoryTokenStorage(),
        redirect_handler=browser.redirect,
        callback_handler=browser.callback,
    )

    listed = asyncio.run(tools_at(address, "auto", auth=sign_in))

    person.browser.close()
    assert listed == ["list_users"]
