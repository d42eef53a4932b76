"""What a client did stands in Django admin, where an admin finds it by every filter."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from urllib.parse import urlencode

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.drivers.person import Person
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = pytest.mark.process

BOTH = {"search_docs", "setup_get_jwt_sample"}
LIST = "/admin/audit/actionexecution/"


@dataclass
class CallListAdmin:
    """An admin's browser on the list of calls."""

    person: Person
    server: Server

    def rows(self, **filters: str) -> list[str]:
        """The text of each row that the list shows under these filters."""
        url = f"{self.server.url}{LIST}?{urlencode(filters)}"
        reply = self.person.browser.get(url)
        # An unknown filter sends the browser back to the whole list.
        assert reply.status_code == 200, reply.headers.get("location")
        table = reply.text.partition('id="result_list"')[2].partition("</table>")[0]
        rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
        return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]

    def tools(self, client_name: str, **filters: str) -> set[str]:
        """Which of the client's two calls the list shows under these filters."""
        rows = [row for row in self.rows(**filters) if client_name in row]
        return {name for row in rows for name in BOTH if name in row}


@pytest.fixture
def admin(server: Server) -> Iterator[CallListAdmin]:
    person = Person()
    person._sign_in(f"{server.url}/signin")
    yield CallListAdmin(person, server)
    person.browser.close()


@pytest.fixture(scope="module")
def client_name(server: Server) -> str:
    """The name of a client that called one tool with success and was refused another."""
    name = f"Reader {token_hex(4)}"
    token = BareClient(server, name, scope="docs:read").connect(Person())

    async def session() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(server.mcp_url, http_client=http)
            async with Client(transport, mode="legacy") as client:
                await client.call_tool("search_docs", {"query": "scopes"})
                with pytest.raises(MCPError):
                    await client.call_tool("setup_get_jwt_sample", {"language": "python"})

    asyncio.run(session())
    return name


def test_the_calls_stand_in_the_list_with_who_made_them(
    admin: CallListAdmin, client_name: str
) -> None:
    refused, allowed = (row for row in admin.rows() if client_name in row)

    assert "search_docs" in allowed
    assert "Success" in allowed
    assert "setup_get_jwt_sample" in refused
    assert "scope_denied" in refused


@pytest.mark.parametrize(
    ("filters", "shown"),
    [
        ({"outcome": "success"}, {"search_docs"}),
        ({"outcome": "refused"}, {"setup_get_jwt_sample"}),
        ({"reason": "scope_denied"}, {"setup_get_jwt_sample"}),
        ({"tool": "search_docs"}, {"search_docs"}),
        ({"integration": ""}, BOTH),
        ({"integration": "linear"}, set()),
        ({"actor": "mcp_client"}, BOTH),
        ({"actor": "system"}, set()),
        ({"period": str(datetime.now(UTC).year)}, BOTH),
        ({"period": "2020"}, set()),
    ],
)
def test_each_filter_finds_what_it_names_and_nothing_else(
    admin: CallListAdmin, client_name: str, filters: dict[str, str], shown: set[str]
) -> None:
    assert admin.tools(client_name, **filters) == shown


def test_a_request_without_a_token_leaves_no_row(admin: CallListAdmin, server: Server) -> None:
    tool = f"nobody_{token_hex(4)}"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}

    for headers in ({}, {"Authorization": "Bearer halo_at_unknown"}):
        reply = httpx2.post(server.mcp_url, json=call, headers=headers, timeout=60)
        assert reply.status_code == 401

    assert admin.rows(tool=tool) == []


def test_a_person_who_is_no_admin_is_shown_no_calls(server: Server) -> None:
    reply = httpx2.get(f"{server.url}{LIST}", timeout=60)

    assert reply.status_code == 302
    assert "/admin/login/" in reply.headers["location"]
