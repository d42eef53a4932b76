"""A second surface: its own credential kind, two layers, one source and other error codes."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from audit.models import ActionExecution
from foundation import ids
from halo_mcp import mounts
from halo_mcp.asgi import Application
from halo_mcp.mounts import SURFACES
from mcp_protocol import errors
from mcp_protocol.revisions import REVISIONS
from oauth import credentials
from oauth.credentials import Verifier
from oauth.principal import Principal, Unauthenticated
from tests.drivers.asgi import app_transport, application
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry.api import Arguments, Facts, ToolContext, Toolset
from tools_registry.endpoint.surface import WORKSPACE_SURFACE, McpSurface
from tools_registry.pipeline import gate
from tools_registry.registry import Catalogue, ToolsetSource

KEY, PATH = "tiny_" + "k" * 43, "/tiny"
TINY = Toolset(scope="setup:read", title="Tiny")
READS = Toolset(scope="docs:read", title="Reads")


@TINY.tool(title="Double", description="Doubles.", input_schema={"type": "object"})
def double(_context: ToolContext, arguments: Arguments) -> Facts:
    return Facts({"doubled": 2 * arguments["n"]})


@READS.tool(title="Read", description="Reads.", input_schema={"type": "object"})
def read(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts({})


def surface(grant: Grant) -> McpSurface:
    access = credentials.ACCESS_TOKEN_VERIFIERS["halo_at_"]
    token = grant.token("setup:read")

    def verify(checksum: str) -> Principal:
        if checksum != ids.sha256_hex(KEY):
            raise Unauthenticated("invalid_token")
        return replace(access.verify(ids.sha256_hex(token)), credential="tiny_")

    return replace(
        WORKSPACE_SURFACE,
        name="tiny",
        credentials={"tiny_": Verifier(verify, access.recheck, access.recheck_grant)},
        catalogue=Catalogue(lambda: [ToolsetSource([TINY, READS])]),
        layers={name: gate.DEFAULT_LAYERS[name] for name in ("destructive", "scope")},
        codes=replace(
            errors.HALO,
            unauthorized=-31901,
            forbidden=dict.fromkeys(REVISIONS, -31900),
            unknown_tool=dict.fromkeys(REVISIONS, -31902),
        ),
        challenges=SimpleNamespace(
            unauthorized_challenge=lambda _error=None, *, host: f'Bearer realm="tiny@{host}"',
            insufficient_scope=lambda scope, *, host: f'Bearer scope="{scope}", realm="{host}"',
        ),
        instructions="Doubles numbers.",
    )


@pytest.fixture
def tiny(grant: Grant) -> Iterator[McpClient]:
    with ExitStack() as stack:
        app = Application(
            stack.enter_context(application()), {**SURFACES, ("", PATH): surface(grant)}
        )
        yield McpClient(KEY).with_transport(app_transport(app, PATH))


def test_a_second_surface_lists_and_calls_its_own_tools(tiny: McpClient, grant: Grant) -> None:
    assert tiny.tool_names() == ["double"]
    assert tiny.call("double", {"n": 21}).facts == {"doubled": 42}
    row = ActionExecution.objects.latest("pk")
    assert (row.surface, row.tool, row.outcome) == ("tiny", "double", "success")
    assert UUID(row.organization_id) == grant.organization.pk


def test_a_second_surface_refuses_with_its_own_layers_and_codes(
    tiny: McpClient, grant: Grant
) -> None:
    refused = tiny.call("read")
    assert (refused.status, refused.code) == (403, -31900)
    assert refused.error["data"] == {"reason": "scope_denied", "layer": "scope"}
    assert tiny.call("search_docs", {"query": "x"}).code == -31902
    assert tiny.request("no/such").code == -32601
    assert {row.surface for row in ActionExecution.objects.all()} == {"tiny"}
    # Its layers have no flag, so that the switch of the workspace server is none of its business.
    grant.switch_off("mcp_server")
    assert tiny.call("double", {"n": 1}).facts == {"doubled": 2}


def test_credentials_of_one_surface_are_unknown_at_the_other(tiny: McpClient, grant: Grant) -> None:
    stranger = tiny.holding(grant.token()).call("double", {"n": 1})
    assert (stranger.status, stranger.code) == (401, -31901)
    assert stranger.headers["www-authenticate"].startswith('Bearer realm="tiny@')
    assert McpClient(KEY).call("search_docs", {"query": "x"}).status == 401


def test_a_surface_of_one_host_shares_its_path_with_that_of_every_other(
    grant: Grant, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, ".tiny.example"]
    with application() as endpoint:
        mounted = {**SURFACES, ("*.tiny.example", "/api/mcp"): surface(grant)}
        mcp = McpClient(KEY).with_transport(app_transport(Application(endpoint, mounted)))
        there = replace(mcp, headers={"Host": "acme.Tiny.example:8000"})
        assert there.call("double", {"n": 2}).facts == {"doubled": 4}
        assert mcp.call("double", {"n": 2}).status == 401
        assert mcp.holding(grant.token()).call("search_docs", {"query": "x"}).status == 200


def test_a_surface_of_one_host_behind_wsgi_is_not_found_at_another(
    grant: Grant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALLOWED_HOSTS = ["acme.tiny.example", "other.example"]
    mounted = {("*.tiny.example", "/api/mcp"): surface(grant)}
    monkeypatch.setattr("halo_mcp.mounts.SURFACES", mounted)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    statuses = [
        Client()
        .post(
            "/api/mcp",
            message,
            content_type="application/json",
            headers={"Host": host, "Authorization": f"Bearer {KEY}"},
        )
        .status_code
        for host in ("acme.tiny.example", "other.example")
    ]
    assert statuses == [200, 404]


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("a.example", "own"),
        ("A.EXAMPLE:443", "own"),
        ("a.example.", "own"),
        ("b.example", "any"),
        ("xa.example", "any"),
        ("[::1]:8000", "any"),
        ("", "any"),
    ],
)
def test_a_host_is_compared_without_its_port_and_case(host: str, name: str) -> None:
    own, for_any = replace(WORKSPACE_SURFACE, name="own"), replace(WORKSPACE_SURFACE, name="any")
    mounted = {("", "/x"): for_any, ("a.example", "/x"): own}
    found = mounts.find(mounted, host, "/x")
    assert found is not None
    assert found.name == name
    assert mounts.find(mounted, host, "/x/") is None
