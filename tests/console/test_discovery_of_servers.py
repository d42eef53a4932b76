"""Server card, catalog and registry: how programs find the endpoints without a hint."""

import json
from io import StringIO
from typing import Any

import jsonschema
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client

from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.built_settings import build
from tests.drivers.mcp import McpClient
from workspace.models import Organization

PROJECT = "prj_" + "a" * 22
CARD = "/api/mcp/server-card"
CARDS = [CARD, f"/{PROJECT}/server-card", f"/api/mcp/{PROJECT}/server-card"]
CARDS_OF_ALL = [*CARDS, "/w/acme/api/mcp/server-card"]
CATALOG = "/.well-known/ai-catalog.json"
HOST = {"host": "127.0.0.1:8000"}
PUBLIC = {"HALO_PUBLIC_URL": "https://halo.example.com", "PUBLIC_HOST": "halo.example.com"}
PROOF = "v=MCPv1; k=ed25519; p=" + "A" * 43 + "="

# SEP-2127, schema.ts, and the schema 2025-12-11 of server.json: what both require of a server.
ICON = {
    "type": "object",
    "required": ["src"],
    "properties": {"src": {"pattern": "^(https://|data:image/)"}, "sizes": {"type": "array"}},
}
SERVER: dict[str, Any] = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "remotes"],
    "properties": {
        "name": {
            "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
            "minLength": 3,
            "maxLength": 200,
        },
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"pattern": r"^\d+\.\d+\.\d+$"},
        "icons": {"type": "array", "items": ICON},
        "remotes": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["type", "url"],
                "properties": {
                    "type": {"const": "streamable-http"},
                    "url": {"pattern": "^https?://"},
                    "headers": {"type": "array", "items": {"required": ["name"]}},
                },
            },
        },
    },
}


def document(path: str, **headers: str) -> HttpResponse:
    response: HttpResponse = Client().get(path, headers={**HOST, **headers})
    return response


def card(path: str) -> dict[str, Any]:
    response = document(path)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/mcp-server-card+json"
    body: dict[str, Any] = json.loads(response.content)
    jsonschema.validate(body, SERVER)
    assert body["$schema"].endswith("/schemas/v1/server-card.schema.json")
    return body


def test_the_card_says_what_the_server_says_once_connected(mcp: McpClient) -> None:
    (remote,) = (found := card(CARD))["remotes"]
    assert remote["url"] == "http://127.0.0.1:8000/api/mcp"
    result = mcp.with_revision(Revision.V2026_07_28).request("server/discover").result
    said = result["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert found["name"] == f"127.0.0.1/{said['name']}"
    for member in ("title", "version", "description", "icons", "websiteUrl"):
        assert found[member] == said[member]
    assert remote["supportedProtocolVersions"] == result["supportedVersions"]
    assert len(result["supportedVersions"]) == len(REVISIONS)


def test_a_name_begins_with_the_domain(settings: Any) -> None:
    for name, value in PUBLIC.items():
        setattr(settings, name, value)
    settings.ALLOWED_HOSTS = ["halo.example.com"]
    response = Client().get(CARD, headers={"host": "halo.example.com"})
    assert response.json()["name"] == "com.example.halo/halo-agents"
    assert response.json()["remotes"][0]["url"] == "https://halo.example.com/api/mcp"


@pytest.mark.parametrize("path", CARDS[1:])
def test_the_card_of_a_project_is_the_same_whether_it_exists_or_not(path: str) -> None:
    found = card(path)
    assert found["name"] == f"127.0.0.1/airlock.{PROJECT}"
    address = path.removesuffix("/server-card")
    assert found["remotes"][0]["url"] == f"http://127.0.0.1:8000{address}"


def test_the_card_of_a_workspace_says_which_header_takes_the_key(settings: Any) -> None:
    found = card("/w/acme/api/mcp/server-card")
    assert found["name"] == "127.0.0.1/hollyhr.acme"
    (remote,) = found["remotes"]
    assert remote["url"] == "http://127.0.0.1:8000/w/acme/api/mcp"
    (header,) = remote["headers"]
    assert header["name"] == "Authorization"
    assert header["isRequired"]
    assert header["isSecret"]
    assert "value" not in header
    settings.HALO_PEOPLE_HOST = ".localhost"
    own = Client().get(CARD, headers={"host": "acme.localhost:8000"}).json()
    assert own["remotes"][0]["url"] == "http://acme.localhost:8000/api/mcp"
    assert own["name"] == found["name"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", [CATALOG, "/.well-known/mcp/catalog.json"])
def test_the_catalog_leads_to_the_card_and_names_nothing_private(path: str) -> None:
    Organization.objects.create(name="Acme", slug="acme-hidden")
    response = document(path)
    assert response["Content-Type"] == "application/ai-catalog+json"
    body = json.loads(response.content)
    assert body["specVersion"] == "1.0"
    (entry,) = body["entries"]
    assert entry["identifier"] == "urn:air:127.0.0.1:mcp:halo-agents"
    assert entry["type"] == "application/mcp-server-card+json"
    assert card(entry["url"].removeprefix("http://127.0.0.1:8000"))
    assert "acme-hidden" not in response.content.decode()


@pytest.mark.parametrize("path", [*CARDS_OF_ALL, CATALOG])
def test_a_page_of_another_origin_reads_the_documents_and_revalidates_them(path: str) -> None:
    origin = {"origin": "https://directory.example"}
    response = document(path, **origin)
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "ETag" in response["Access-Control-Expose-Headers"]
    assert response["Cache-Control"] == "public, max-age=3600"
    again = document(path, **origin, **{"if-none-match": response["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    asked = {**origin, "access-control-request-method": "GET"}
    preflight = Client().options(path, headers={**HOST, **asked})
    assert "if-none-match" in preflight["Access-Control-Allow-Headers"]


@pytest.mark.parametrize("path", [*CARDS_OF_ALL, CATALOG, "/.well-known/mcp-registry-auth"])
def test_the_documents_are_for_reading(path: str) -> None:
    assert Client().head(path, headers=HOST).content == b""
    response = Client().post(path, headers=HOST)
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD, OPTIONS")


def test_the_registry_finds_the_proof_that_the_operator_has_set(settings: Any) -> None:
    path = "/.well-known/mcp-registry-auth"
    assert document(path).status_code == 404
    settings.HALO_MCP_REGISTRY_PROOF = PROOF
    response = document(path)
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode().strip() == PROOF


def test_a_proof_has_the_form_of_the_registry() -> None:
    assert build(HALO_MCP_REGISTRY_PROOF=PROOF)["HALO_MCP_REGISTRY_PROOF"] == PROOF
    for wrong in ("p=AAAA", f"{PROOF}\nx", PROOF.replace("ed25519", "rsa")):
        with pytest.raises(ImproperlyConfigured, match=r"^HALO_MCP_REGISTRY_PROOF: "):
            build(HALO_MCP_REGISTRY_PROOF=wrong)


def server_json(*words: str) -> dict[str, Any]:
    out, errors = StringIO(), StringIO()
    call_command("server_json", *words, stdout=out, stderr=errors)
    entry: dict[str, Any] = json.loads(out.getvalue())
    jsonschema.validate(entry, SERVER)
    return entry


def test_a_command_prints_the_entry_for_the_registry(settings: Any) -> None:
    settings.HALO_PUBLIC_URL = PUBLIC["HALO_PUBLIC_URL"]
    entry = server_json()
    assert entry["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert entry["name"] == "com.example.halo/halo-agents"
    assert entry["remotes"] == [
        {"type": "streamable-http", "url": "https://halo.example.com/api/mcp"}
    ]
    for icon in entry["icons"]:
        assert icon["src"].startswith("https://halo.example.com/")
    assert server_json("--name", "com.example/halo")["name"] == "com.example/halo"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://halo.example.com", "https://10.0.0.1", "https://halo"]
)
def test_a_server_that_the_registry_does_not_list_has_no_entry(settings: Any, url: str) -> None:
    settings.HALO_PUBLIC_URL = url
    with pytest.raises(CommandError, match="public https address"):
        call_command("server_json")


def test_a_name_that_the_registry_refuses_is_an_error(settings: Any) -> None:
    settings.HALO_PUBLIC_URL = PUBLIC["HALO_PUBLIC_URL"]
    with pytest.raises(CommandError, match=r"A name is like com\.example/halo"):
        call_command("server_json", "--name", "halo")
