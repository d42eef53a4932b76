"""Requests for approval on a surface of its own, by a key instead of an OAuth grant."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone

from approvals import surface_rules
from approvals.models import ApprovalRequest
from approvals.surface_rules import SurfaceRules
from approvals.tasks import settle as settle_requests
from audit.models import ActionExecution
from foundation import ids
from foundation.admin_urls import page_url
from halo_mcp.asgi import Application
from oauth import scopes
from oauth.credentials import Verifier
from oauth.principal import Principal, Unauthenticated
from tests.drivers import billing, grants
from tests.drivers.asgi import app_transport, application
from tests.drivers.fixture_tools import NOTHING, TEXT, schema
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry.api import Arguments, Blocks, Facts, Result, ToolContext, Toolset
from tools_registry.endpoint.surface import WORKSPACE_SURFACE, McpSurface
from tools_registry.pipeline import gate, surfaces
from tools_registry.pipeline.surfaces import SurfaceFamily
from tools_registry.registry import Catalogue, ToolsetSource

SECRET = "keys_" + "k" * 43
SHELF = Toolset(scope="setup:read", title="Shelf")
CRM = Toolset(integration="crm", title="CRM")
ERASED: list[str] = []


@SHELF.tool(
    title="Erase",
    description="Erases.",
    input_schema=schema("name", name=TEXT),
    mutates=True,
    destructive=True,
)
def erase(_context: ToolContext, arguments: Arguments) -> Result:
    ERASED.append(arguments["name"])
    return Blocks([{"type": "text", "text": "erased"}], {"erased": arguments["name"]})


@CRM.tool(
    title="Erase a contact",
    description="Erases at a vendor.",
    input_schema=NOTHING,
    mutates=True,
    destructive=True,
)
def erase_contact(context: ToolContext, _arguments: Arguments) -> Result:
    ERASED.append("contact")
    return Facts({"key": context.call_id})


@SHELF.tool(
    title="Request",
    description="Requests a tool by its name.",
    input_schema=schema("tool", tool=TEXT, arguments={"type": "object"}),
)
def request(context: ToolContext, arguments: Arguments) -> Result:
    tool, given = arguments["tool"], arguments.get("arguments", {})
    made = context.request_approval(tool=tool, arguments=given, summary=f"Run {tool}", why="Old.")
    return Facts({"id": made.id, "status": made.status})


@dataclass
class Key:
    """A key of an organization; nothing of it is in the tables of OAuth."""

    grant: Grant
    id: UUID = field(default_factory=uuid4)
    scope: str = "setup:read"
    is_revoked: bool = False

    def verifier(self) -> Verifier:
        return Verifier(self._find_by_secret, self._find_by_id, self._find_by_id)

    def _find_by_secret(self, checksum: str) -> Principal:
        return self._principal(is_known=checksum == ids.sha256_hex(SECRET))

    def _find_by_id(self, key_id: UUID) -> Principal:
        return self._principal(is_known=key_id == self.id)

    def _principal(self, *, is_known: bool) -> Principal:
        if self.is_revoked or not is_known:
            raise Unauthenticated("invalid_token")
        return Principal(
            token_id=self.id,
            authorization_id=self.id,
            organization_id=self.grant.organization.pk,
            user_id=self.grant.user.pk,
            user_email=self.grant.user.email,
            client_id="key",
            client_name="A key",
            scope=scopes.parse(self.scope),
            mcp_server_on=True,
            credential="keys_",
        )


@dataclass
class Shelf:
    """The surface with its key, and the admin who decides."""

    key: Key
    mcp: McpClient
    desk: Client
    delivered: list[Any] = field(default_factory=list)

    def request(self, tool: str = "erase", **arguments: Any) -> str:
        made = self.mcp.call("request", {"tool": tool, "arguments": arguments}).facts
        assert made["status"] == "pending"
        request_id: str = made["id"]
        return request_id

    def approve(self, request_id: str) -> ApprovalRequest:
        url = page_url("approvals_approvalrequest_approve", request_id)
        assert self.desk.post(url).status_code == 302
        return ApprovalRequest.objects.get(pk=request_id)


def surface(key: Key, **more: Any) -> McpSurface:
    return replace(
        WORKSPACE_SURFACE,
        name="shelf",
        credentials={"keys_": key.verifier()},
        catalogue=Catalogue(lambda: [ToolsetSource([SHELF, CRM])]),
        **more,
    )


@pytest.fixture
def shelf(grant: Grant, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    key = Key(grant)
    mounted = surface(key)
    monkeypatch.setitem(surfaces._mounted, "shelf", mounted)
    ERASED.clear()
    with application() as endpoint:
        app = Application(endpoint, {("", "/shelf"): mounted})
        mcp = McpClient(SECRET).with_transport(app_transport(app, "/shelf"))
        shelf = Shelf(key, mcp, billing.browser_of(billing.decider()))

        def deliver(request: ApprovalRequest) -> None:
            shelf.delivered.append((str(request.pk), request.status, request.result))

        rules = SurfaceRules(deliver=deliver)
        monkeypatch.setitem(surface_rules._rules, SurfaceFamily("shelf"), rules)
        yield shelf


def test_a_key_requests_what_it_may_not_call_and_gets_its_result(shelf: Shelf) -> None:
    assert shelf.mcp.call("erase", {"name": "a"}).error["data"]["reason"] == "destructive_blocked"
    request_id = shelf.request(name="a")
    assert shelf.request(name="a") == request_id
    assert shelf.request(name="b") != request_id
    assert ERASED == []

    row = shelf.approve(request_id)

    assert ERASED == ["a"]
    content = [{"type": "text", "text": "erased"}]
    assert row.result == {"content": content, "structuredContent": {"erased": "a"}}
    assert (row.status, row.surface, row.integration) == ("done", "shelf", "")
    assert (row.credential, row.credential_id) == ("keys_", str(shelf.key.id))
    assert shelf.delivered == [(request_id, "done", row.result)]
    made = ActionExecution.objects.get(pk=row.execution_id)
    assert (made.tool, made.outcome, made.authorization_id) == (
        "erase",
        "success",
        str(shelf.key.id),
    )


def test_a_request_of_a_revoked_key_ends_with_it(shelf: Shelf) -> None:
    request_id = shelf.request(name="a")
    shelf.key.is_revoked = True
    row = shelf.approve(request_id)
    assert (row.status, ERASED) == ("declined", [])
    assert [status for _id, status, _ in shelf.delivered] == ["declined"]
    assert ActionExecution.objects.latest("pk").reason == "grant_ended"


def test_a_key_that_moved_to_another_organization_runs_nothing(shelf: Shelf) -> None:
    request_id = shelf.request(name="a")
    shelf.key.grant = grants.make_grant()
    assert shelf.approve(request_id).status == "declined"
    assert ERASED == []


def test_a_key_with_fewer_scopes_is_asked_for_those_of_the_requesting_tool(shelf: Shelf) -> None:
    request_id = shelf.request(name="a")
    shelf.key.scope = "docs:read"
    assert shelf.approve(request_id).status == "pending"
    assert ActionExecution.objects.latest("pk").reason == "scope_denied"
    assert ERASED == []


@pytest.mark.parametrize("tool", ["request", "search_docs", "nothing"])
def test_only_what_the_gate_of_the_surface_lets_an_approval_allow_is_requested(
    shelf: Shelf, tool: str
) -> None:
    reply = shelf.mcp.call("request", {"tool": tool})
    assert "The tool failed." in reply.error["message"]
    assert not ApprovalRequest.objects.exists()


def test_a_surface_names_the_layers_that_an_approval_passes(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def policy(tool: Any, _scope: Any, _switches: Any) -> gate.Decision:
        is_free = tool.name == "request"
        refused = gate.Decision(allowed=False, reason="policy", layer="policy")
        return gate.ALLOWED if is_free else refused

    layers = {"policy": policy, "scope": gate.DEFAULT_LAYERS["scope"]}
    mounted = surface(shelf.key, layers=layers, approvable=frozenset({"policy"}))
    monkeypatch.setitem(surfaces._mounted, "shelf", mounted)
    assert shelf.approve(shelf.request(name="a")).status == "done"
    assert ERASED == ["a"]


def test_a_tool_may_request_one_of_an_integration_whose_switches_count(
    shelf: Shelf, grant: Grant
) -> None:
    request_id = shelf.request("crm.erase_contact")
    assert shelf.approve(request_id).status == "pending"
    assert ActionExecution.objects.latest("pk").reason == "not_connected"
    grant.connect("crm", actions_on=False)
    shelf.approve(request_id)
    assert ActionExecution.objects.latest("pk").reason == "integration_disabled"
    grant.connect("crm")
    row = shelf.approve(request_id)
    assert (row.status, row.result) == ("done", {"key": row.idempotency_key})
    assert ERASED == ["contact"]


def test_a_request_that_expires_is_delivered_once(shelf: Shelf) -> None:
    request_id, other = shelf.request(name="a"), shelf.request(name="b")
    late = timezone.now() - timedelta(seconds=1)
    ApprovalRequest.objects.filter(pk=request_id).update(expires_at=late)
    assert [settle_requests(), settle_requests()] == [1, 0]
    assert shelf.delivered == [(request_id, "expired", None)]
    assert ApprovalRequest.objects.get(pk=other).status == "pending"


@pytest.mark.parametrize("decide", ["approve", "request"])
def test_a_request_that_is_found_expired_is_delivered(shelf: Shelf, decide: str) -> None:
    request_id = shelf.request(name="a")
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    if decide == "approve":
        assert shelf.approve(request_id).status == "expired"
    else:
        assert shelf.request(name="a") != request_id
    assert shelf.delivered == [(request_id, "expired", None)]
    assert ERASED == []


@pytest.mark.parametrize("is_sent", [True, False])
def test_a_request_that_a_crash_left_is_delivered_if_it_has_ended(
    shelf: Shelf, *, is_sent: bool
) -> None:
    request_id = shelf.request(name="a")
    long_ago = timezone.now() - timedelta(minutes=6)
    ApprovalRequest.objects.update(
        status="running", claim=uuid4(), claimed_at=long_ago, sent_at=long_ago if is_sent else None
    )
    assert settle_requests() == 1
    assert shelf.delivered == ([(request_id, "unknown", None)] if is_sent else [])
