"""Every address that a client may be given answers with a trailing slash as without it (P8)."""

import json
from typing import Any

import pytest
from django.test import Client

from oauth import addresses
from tests.drivers.mcp import McpClient
from tests.drivers.oauth_client import HERE, MCP

PROJECT = "prj_" + "a" * 22
ENDPOINTS = [
    f"{prefix}/{name}"
    for prefix in ("/api/mcp/oauth", "/oauth")
    for name in ("authorize", "token", "revoke")
] + ["/api/mcp/oauth/register", "/register"]
DOCUMENTS = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/api/mcp",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/api/mcp",
    f"/.well-known/oauth-protected-resource/{PROJECT}",
    f"/.well-known/oauth-protected-resource/api/mcp/{PROJECT}",
    "/api/mcp/.well-known/oauth-protected-resource",
    "/api/mcp/.well-known/oauth-authorization-server",
    f"/{PROJECT}/.well-known/oauth-protected-resource",
    f"/api/mcp/{PROJECT}/.well-known/oauth-authorization-server",
    "/api/mcp/server-card",
    f"/{PROJECT}/server-card",
    "/.well-known/ai-catalog.json",
    "/.well-known/nothing",
]
SURFACES = [MCP, f"/{PROJECT}", f"/api/mcp/{PROJECT}"]


def comparable_response(response: Any) -> tuple[Any, ...]:
    kept = ("Content-Type", "Location", "WWW-Authenticate", "Access-Control-Allow-Origin")
    is_page = response.get("Content-Type", "").startswith("text/html")
    body = b"" if is_page else response.content  # a page has a reference of its own
    return response.status_code, body, [response.get(name) for name in kept]


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["get", "post", "options", "delete"])
@pytest.mark.parametrize("path", [*ENDPOINTS, *DOCUMENTS, *SURFACES])
def test_p8_a_trailing_slash_changes_nothing(path: str, method: str) -> None:
    client = Client(**HERE, HTTP_ORIGIN="http://127.0.0.1:8000")
    without, with_slash = (getattr(client, method)(each) for each in (path, f"{path}/"))
    assert without.status_code not in {301, 302, 404} or path == "/.well-known/nothing"
    assert comparable_response(with_slash) == comparable_response(without)


def test_p8_a_request_to_the_address_with_a_slash_is_answered(mcp: McpClient) -> None:
    client = Client(**HERE, HTTP_AUTHORIZATION=f"Bearer {mcp.token}")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    reply = client.post(f"{MCP}/", json.dumps(ping), content_type="application/json")
    assert reply.json()["result"] == {}


@pytest.mark.parametrize("path", ["/", "/connections/", "/docs/", "/admin/", "//", "/api/mcp//"])
def test_p8_other_paths_are_left_as_they_are(path: str) -> None:
    assert addresses.strip_slash(path) == path
