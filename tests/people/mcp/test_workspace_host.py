"""The host of a workspace: the short paths of its HR addresses, and nothing else."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from audit.models import ActionExecution
from halo_mcp import env
from mcp_protocol.revisions import Revision
from people import hosts
from tests.drivers import in_process_server
from tests.drivers.mcp import McpClient, Reply
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import path_of

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def host_of(program: Program) -> str:
    return f"{program.organization.slug}.localhost:8000"


def client_for_host(program: Program, host: str, path: str = "/api/mcp") -> McpClient:
    """A client that uses the host of a workspace."""

    def send(method: str, headers: Mapping[str, str], body: bytes) -> Reply:
        sent = {**headers, "Host": host}
        return Reply(*in_process_server.request(method, path, sent.items(), body))

    return McpClient(program.secret, Revision.V2025_11_25).with_transport(send)


def test_the_endpoint_and_the_api_answer_at_the_host(office: Office, program: Program) -> None:
    person = office.person()
    host = host_of(program)
    for path in ("/api/mcp", "/api/mcp/"):
        found = client_for_host(program, host, path).call("get_person", {"person_id": person.pk})
        assert found.facts["data"]["id"] == person.pk
    headers = {"Host": host, "Authorization": f"Bearer {program.secret}"}
    read = Client().get(f"/api/v1/people/{person.pk}", headers=headers)
    assert read.json()["data"]["id"] == person.pk
    assert Client().get("/api/v1/openapi.json", headers={"Host": host}).status_code == 200
    rows = ActionExecution.objects.order_by("pk")
    routes = [(one.source, one.route) for one in rows]
    assert routes == [
        ("mcp", "mcp:get_person"),
        ("mcp", "mcp:get_person"),
        ("api", "GET /api/v1/people/{person_id}"),
    ]


def test_the_addresses_of_the_document_are_those_of_the_workspace_that_was_asked(
    program: Program,
) -> None:
    headers = {"Authorization": f"Bearer {program.secret}"}
    workspace = f"/w/{program.organization.slug}"
    for host, prefix in ((host_of(program), ""), ("127.0.0.1:8000", workspace)):
        browser = Client(headers={**headers, "Host": host})
        document = browser.get(f"{prefix}/api/v1/openapi.json").json()
        (server,) = document["servers"]
        assert server["url"] == f"http://{host}{prefix}"
        (me,) = (path for path in document["paths"] if path.endswith("/me"))
        answer = browser.get(server["url"].removeprefix(f"http://{host}") + me)
        assert answer.status_code == 200


def test_pages_of_the_host_that_is_called_may_call_it_and_no_others(program: Program) -> None:
    host = host_of(program)
    for origin, status in (
        (f"http://{host}", 200),
        (f"https://{host}", 403),
        ("http://elsewhere.example", 403),
        (f"http://{host}.elsewhere.example", 403),
    ):
        reply = client_for_host(program, host).request("tools/list", headers={"Origin": origin})
        assert reply.status == status


def test_documents_and_challenges_name_the_host(program: Program) -> None:
    host = host_of(program)
    reply = client_for_host(program, host).holding(None).request("tools/list")
    assert reply.status == 401
    metadata = f"http://{host}{WELL_KNOWN}/api/mcp"
    assert f'resource_metadata="{metadata}", scope="' in reply.headers["www-authenticate"]
    headers = {"Host": host}
    addresses = (f"{WELL_KNOWN}/api/mcp", WELL_KNOWN, f"/api/mcp{WELL_KNOWN}")
    documents: list[Any] = [Client().get(one, headers=headers).json() for one in addresses]
    assert documents[0] == documents[1] == documents[2]
    assert documents[0]["resource"] == f"http://{host}/api/mcp"
    text = Client().get("/auth.md", headers=headers).content.decode()
    for address in (f"http://{host}/api/mcp\n", f"http://{host}/api/v1\n", metadata):
        assert address in text
    assert "/w/" not in text
    # On any other host the address has the workspace in its path.
    other = Client().get(f"/w/{program.organization.slug}/auth.md").content.decode()
    assert f"{path_of(program)}\n" in other


def test_a_key_of_another_workspace_is_refused_at_the_host(
    program: Program, other_office: Office
) -> None:
    host = host_of(program)
    theirs = Program(other_office.organization)
    assert client_for_host(theirs, host).request("tools/list").status == 401
    headers = {"Host": host, "Authorization": f"Bearer {theirs.secret}"}
    assert Client().get("/api/v1/people", headers=headers).status_code == 401
    # A path cannot name another workspace than the host does.
    path = path_of(theirs)
    assert Client().get(path.replace("mcp", "v1/people"), headers=headers).status_code == 404
    assert Client().post(path, headers=headers).status_code == 404


@pytest.mark.parametrize(
    "path", ["/", "/admin/", "/connections", "/oauth/token", "/health", "/prj_" + "a" * 22, "/w/x"]
)
def test_nothing_else_is_at_the_host(program: Program, path: str) -> None:
    headers = {"Host": host_of(program)}
    assert Client().get(path, headers=headers).status_code == 404
    assert Client().post(path, headers=headers).status_code == 404


@pytest.mark.parametrize("host", ["a.b.localhost", "A.B.LOCALHOST:8000", "a.b.localhost."])
def test_a_host_below_that_of_a_workspace_has_nothing(program: Program, host: str) -> None:
    for path in ("/", "/admin/", "/oauth/token", "/api/v1/people", path_of(program)):
        assert Client().get(path, headers={"Host": host}).status_code == 404
    headers = {"Host": host, "Authorization": f"Bearer {program.secret}"}
    for path in ("/api/mcp", path_of(program)):
        status, _headers, _body = in_process_server.request("POST", path, headers.items(), b"{}")
        assert status == 404


def test_the_case_and_a_last_dot_of_a_host_do_not_matter(program: Program) -> None:
    for host in (host_of(program).upper(), f"{program.organization.slug}.localhost."):
        assert client_for_host(program, host).request("tools/list").status == 200
        assert Client().get("/admin/", headers={"Host": host}).status_code == 404


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1:8000",
        ".localhost",
        "a.b.localhost",
        "a b.localhost",
        "x.localhost.evil",
    ],
)
def test_other_hosts_are_of_no_workspace(host: str) -> None:
    assert hosts.workspace_of(host) is None


def test_the_public_host_is_of_no_workspace(settings: Any) -> None:
    settings.HALO_PEOPLE_HOST, settings.PUBLIC_HOST = ".example.com", "app.example.com"
    assert hosts.workspace_of("app.example.com") is None
    assert hosts.workspace_of("Acme.example.com") == "acme"
    settings.HALO_PEOPLE_HOST = ""
    assert hosts.workspace_of("acme.example.com") is None


@pytest.mark.parametrize("given", ["example.com", "{workspace}", "x.{workspace}.com", "*.a.com"])
def test_a_pattern_without_a_workspace_is_refused(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("HALO_PEOPLE_HOST", given)
    with pytest.raises(ImproperlyConfigured, match="HALO_PEOPLE_HOST"):
        env.workspace_host("HALO_PEOPLE_HOST", is_local=False)
