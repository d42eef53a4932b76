"""A project of the gateway as an MCP endpoint: its address, its bodies and its errors."""

import json
from typing import Any

import pytest
from django.test import Client

from foundation.limits import Limit
from gateway.models import Project
from mcp_protocol.revisions import HANDSHAKE, Revision
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.mcp import McpClient
from tools_registry.pipeline import surfaces
from workspace import organizations
from workspace.models import Organization, User

ORIGIN = "http://127.0.0.1:8000"
UNKNOWN = "prj_" + "A" * 22
# The bodies that the gateway's document prints, with the request's id.
INITIALIZE = {
    "protocolVersion": "2024-11-05",
    "capabilities": {},
    "clientInfo": {"name": "my-client", "version": "1.0.0"},
}
INITIALIZED = (
    b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05",'
    b'"capabilities":{"tools":{}},"serverInfo":{"name":"airlock","version":"1.0.0"}}}'
)
LISTED = {
    "name": "list_users",
    "description": "List all users",
    "inputSchema": {
        "type": "object",
        "properties": {"limit": {"type": "integer", "description": "Maximum results"}},
    },
}


@pytest.fixture
def ada(db: None) -> User:  # noqa: ARG001  asked for: it opens the database
    return User.objects.create_user("ada@acme.example", "correct horse battery staple")


@pytest.fixture
def acme(ada: User) -> Organization:
    return organizations.create("Acme Rockets", owner=ada)


@pytest.fixture
def project(acme: Organization, ada: User) -> Project:
    return project_rows.project(acme, ada, project_rows.LIST_USERS)


@pytest.mark.parametrize(
    "name", [UNKNOWN, "gateway", "gateway:", "gateway:prj_short", f"gateway:gateway:{UNKNOWN}"]
)
def test_a_name_that_no_project_can_have_is_that_of_no_surface(name: str) -> None:
    found = surfaces.find(f"gateway:{UNKNOWN}")
    assert found is not None
    assert found.name == f"gateway:{UNKNOWN}"
    assert surfaces.find(name) is None


def token_for(project: Project, user: User, *, days: int = 0) -> str:
    return mcp_tokens.issue(
        user,
        project.organization,
        f"/{project.pk}",
        name="Laptop",
        days=days,
        address="203.0.113.7",
    ).secret


@pytest.fixture
def token(project: Project, ada: User) -> str:
    return token_for(project, ada)


@pytest.fixture
def client(project: Project, token: str) -> McpClient:
    return project_rows.client(f"/{project.pk}", token).with_revision(Revision.V2024_11_05)


def test_initialize_and_the_list_are_the_bodies_of_the_document(client: McpClient) -> None:
    assert client.request("initialize", INITIALIZE).body == INITIALIZED
    assert client.request("initialize").body == INITIALIZED

    listed = client.request("tools/list", request_id=2)

    expected = {"jsonrpc": "2.0", "id": 2, "result": {"tools": [LISTED]}}
    assert listed.body == json.dumps(expected, separators=(",", ":")).encode()


@pytest.mark.parametrize("revision", HANDSHAKE[1:])
def test_later_revisions_are_negotiated_and_offer_tools_only(
    client: McpClient, revision: Revision
) -> None:
    reply = client.with_revision(revision).request(
        "initialize", {**INITIALIZE, "protocolVersion": revision}
    )

    assert reply.result["protocolVersion"] == revision
    tasks: Any = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    announced = {"tasks": tasks} if revision is Revision.V2025_11_25 else {}
    assert reply.result["capabilities"] == {"tools": {"listChanged": False}, **announced}
    info = reply.result["serverInfo"]
    assert info["name"] == "airlock"
    kinds = [icon["mimeType"] for icon in info.get("icons", ())]
    assert kinds == (["image/png", "image/svg+xml"] if "description" in info else [])


def test_the_newest_revision_discovers_and_lists(client: McpClient) -> None:
    newest = client.with_revision(Revision.V2026_07_28)

    assert newest.request("server/discover").result["capabilities"]["tools"] is not None
    assert newest.tool_names() == ["list_users"]
    for method, params in (("tools/list", {}), ("server/discover", {})):
        meta = newest.request(method, params).result["_meta"]
        assert meta["io.modelcontextprotocol/serverInfo"]["name"] == "airlock"


def test_the_errors_are_those_of_the_table(client: McpClient, settings: Any) -> None:
    assert client.send(b"{").code == -32700
    assert client.send({"jsonrpc": "1.0", "id": 1, "method": "ping"}).code == -32600
    assert client.request("no/such").code == -32601
    assert (client.call("no_such").code, client.call("no_such").status) == (-32601, 200)
    assert client.with_revision(Revision.V2026_07_28).call("no_such").code == -32602

    invalid = client.call("list_users", {"limit": "ten"})

    assert (invalid.status, invalid.code, invalid.error["message"]) == (
        200,
        -32602,
        "Invalid params",
    )
    assert invalid.error["data"]["field"] == "limit"
    assert invalid.error["data"]["reason"]
    settings.HALO_RATE_GATEWAY_OTHER = Limit(1, 60)
    client.request("ping")
    assert client.request("ping").status == 429


def test_the_alias_is_the_same_surface_with_metadata_of_its_own(
    client: McpClient, project: Project
) -> None:
    alias = client.with_transport(project_rows.path_transport(f"/api/mcp/{project.pk}"))

    assert alias.request("initialize", INITIALIZE).body == INITIALIZED
    challenge = alias.holding(None).request("ping").headers["www-authenticate"]
    assert (
        f'resource_metadata="{ORIGIN}/.well-known/oauth-protected-resource/api/mcp/{project.pk}"'
    ) in challenge


def test_without_a_token_every_id_is_challenged_alike(project: Project, http: Client) -> None:
    def refusal(project_id: str, bearer: str | None) -> tuple[int, str, str]:
        path = f"/{project_id}"
        reply = project_rows.client(path, bearer).request("initialize", INITIALIZE)
        metadata = http.get(f"/.well-known/oauth-protected-resource{path}")
        assert metadata.status_code == 200
        challenge = reply.headers["www-authenticate"].replace(project_id, "<id>")
        said = (reply.body + metadata.content).decode().replace(project_id, "<id>")
        return reply.status, challenge, said

    for bearer in (None, "halo_mt_" + "a" * 43, "halo_at_" + "a" * 43):
        assert refusal(project.pk, bearer) == refusal(UNKNOWN, bearer)
    status, challenge, _ = refusal(project.pk, None)
    assert status == 401
    assert f'resource_metadata="{ORIGIN}/.well-known/oauth-protected-resource/<id>"' in challenge
    assert 'scope="projects:<id>:*"' in challenge


@pytest.fixture
def http() -> Client:
    return Client(HTTP_HOST="127.0.0.1:8000")


def test_the_metadata_names_the_resource_as_it_was_entered(project: Project, http: Client) -> None:
    for path in (f"/{project.pk}", f"/api/mcp/{project.pk}"):
        for host in ("127.0.0.1:8000", "localhost:8000"):
            address = f"/.well-known/oauth-protected-resource{path}"
            document = http.get(address, HTTP_HOST=host).json()

            assert document["resource"] == f"http://{host}{path}"
            assert document["authorization_servers"] == [ORIGIN]
            assert document["scopes_supported"] == [f"projects:{project.pk}:*"]


def test_only_posts_are_answered(client: McpClient, project: Project) -> None:
    for method in ("GET", "HEAD", "DELETE", "PUT"):
        reply = client.http(method)
        assert (reply.status, reply.headers["allow"]) == (405, "POST, OPTIONS")
    assert client.holding(None).http("GET").status == 401
    assert client.holding(None).http("OPTIONS").status == 204
    for path in (f"/{project.pk}//", f"/{project.pk}x", f"/{project.pk[:-1]}", "/prj_"):
        assert project_rows.client(path).http("POST").status == 404, path


def test_servers_without_asgi_answer_too(http: Client, project: Project, token: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    for path in (f"/{project.pk}", f"/api/mcp/{project.pk}"):
        reply = http.post(
            path, body, content_type="application/json", HTTP_AUTHORIZATION=f"Bearer {token}"
        )
        assert reply.content == INITIALIZED


def test_a_token_is_refused_at_every_other_resource(
    client: McpClient, acme: Organization, ada: User
) -> None:
    other = project_rows.project(acme, ada, name="Other")

    for path in (f"/{other.pk}", f"/{UNKNOWN}", "/api/mcp"):
        assert (
            client.with_transport(project_rows.path_transport(path)).request("ping").status == 401
        ), path


def _end(how: str, project: Project, ada: User) -> None:
    match how:
        case "revoked":
            row = mcp_tokens.list_project_tokens(ada).get()
            assert mcp_tokens.revoke(row, user=ada, address="203.0.113.7")
        case "expired":
            mcp_tokens.list_project_tokens(ada).update(expires_at=project.created_at)
        case "left":
            ada.memberships.all().delete()
        case "deactivated":
            User.objects.filter(pk=ada.pk).update(is_active=False)
        case "suspended":
            Organization.objects.update(suspended_at=project.created_at)


@pytest.mark.parametrize("how", ["revoked", "expired", "left", "deactivated", "suspended"])
def test_a_token_is_refused_with_the_challenge_once_it_has_ended(
    client: McpClient, project: Project, ada: User, how: str
) -> None:
    assert client.request("ping").status == 200

    _end(how, project, ada)

    reply = client.request("ping")
    assert reply.status == 401
    assert 'error="invalid_token"' in reply.headers["www-authenticate"]


def test_a_token_notes_when_it_was_used(client: McpClient, ada: User) -> None:
    client.request("ping")

    row = mcp_tokens.list_project_tokens(ada).get()
    assert row.last_used_at is not None
    assert client.token is not None
    assert client.token not in repr(row.__dict__)
