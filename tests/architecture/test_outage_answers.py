"""While the database fails, every address says so in the form of its surface, and nothing else."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver

from foundation.store_failures import MESSAGE
from mcp_protocol.revisions import Revision
from tests.agents import application
from tests.architecture.test_url_inventory import ADMIN, list_routes
from tests.drivers import grants, project_rows
from tests.drivers.mcp import McpClient
from tests.drivers.oauth_client import HERE, Browser, OAuthClient
from tests.people.api.program import Program
from tests.people.mcp import endpoint
from workspace.models import User

# As long as those that are issued: what is no credential needs no row to be refused.
SECRET = "x" * 43
UUID = "01890a5d-ac96-774b-bcce-b302099a8057"
# An example for each converter of the URL map.
EXAMPLES = {
    "project": "prj_0123456789abcdefghijkl",
    "uuid": UUID,
    "slug": "demo",
    "str": "prj_0123456789abcdefghijkl",
    "int": "1",
    "path": "1/change",
}
# They report the state of the stores themselves.
PROBES = {"/health", "/healthz", "/readyz"}
# What needs no row: documents, files, forms for strangers, and addresses that moved.
WITHOUT_STORE = re.compile(
    r"/docs|/docs/images/.*|/admin|/connections/|/signin/inactive"
    r"|/admin/tools_registry/billingrequest/.*|/admin/jsi18n/"
    r"|/api/sdk/openapi\.json|/w/demo/api/v1/openapi\.json|/w/demo/auth\.md"
    r"|/api/mcp/oauth/scopes|/(?:api/mcp/)?(?:prj_\w+/)?\.well-known/.*|/w/demo/api/mcp/\.well-known/.*"
    r"|/(?:w/demo/)?(?:api/mcp/)?(?:prj_\w+/)?server-card"
)


@contextmanager
def failing_database() -> Iterator[None]:
    """Every statement of the application fails, as after a lost connection."""

    def fail(*_statement: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    with connection.execute_wrapper(fail):
        yield


def paths() -> list[str]:
    """One address for each route of the URL map, with examples for its converters."""
    return sorted({_example(route) for route, _ in list_routes(get_resolver())} - PROBES)


def _example(route: str) -> str:
    if "^" in route:
        route = re.sub(r"\(\?P<\w+>\.\*\)|\(\.\*\)", "example", route)
        route = re.sub(r"\(\?P<(\w+)>.*?\)", "auth", route)
        route = re.sub(r"[\^$?]|\\Z", "", route).replace("\\", "")
    return "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: EXAMPLES[found[1] or "str"], route)


def is_oauth(reply: HttpResponse) -> bool:
    body = json.loads(reply.content)
    return bool(body == {"error": "temporarily_unavailable", "error_description": MESSAGE})


def is_sdk(reply: HttpResponse) -> bool:
    return bool(json.loads(reply.content) == {"error": "unavailable", "reason": MESSAGE})


def is_hr(reply: HttpResponse) -> bool:
    error = json.loads(reply.content)["error"]
    is_named = error["request_id"] == reply["X-Request-ID"]
    return is_named and (error["code"], error["message"]) == ("unavailable", MESSAGE)


def is_json_rpc(reply: HttpResponse) -> bool:
    body = json.loads(reply.content)
    # Only the body of a request has an id.
    request_id = 1 if reply.request["REQUEST_METHOD"] == "POST" else None  # type: ignore[attr-defined]  # of the test client
    return (body["jsonrpc"], body["id"], body["error"]["code"]) == ("2.0", request_id, -32603)


def is_page(reply: HttpResponse) -> bool:
    page = reply.content.decode()
    return (
        "<h1>This page is temporarily unavailable</h1>" in page
        and "script-src" in reply.headers["Content-Security-Policy"]
    )


# The first that matches a path says how its surface reports an outage.
SURFACES: Mapping[str, Callable[[HttpResponse], bool]] = {
    r"(?:/api/mcp)?/oauth/(?:token|revoke)|(?:/api/mcp/oauth)?/register": is_oauth,
    r"/api/sdk/.*": is_sdk,
    r"/w/demo/api/v1/.*": is_hr,
    r"/api/mcp|/w/demo/api/mcp|/prj_\w+|/api/mcp/prj_\w+": is_json_rpc,
    r".*": is_page,
}
BODIES = {
    is_oauth: ("application/x-www-form-urlencoded", "grant_type=refresh_token&client_id=x"),
    is_page: ("application/x-www-form-urlencoded", "name=typed"),
    is_json_rpc: (
        "application/json",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ),
}
REGISTRATION = json.dumps({"redirect_uris": ["http://localhost/callback"]})


def form_of(path: str) -> Callable[[HttpResponse], bool]:
    return next(form for pattern, form in SURFACES.items() if re.fullmatch(pattern, path))


def send(browser: Client, method: str, path: str) -> HttpResponse:
    form = form_of(path)
    kind, body = BODIES.get(form, ("application/json", "{}"))
    if path.endswith("register"):
        kind, body = "application/json", REGISTRATION
    bearer = {
        is_hr: f"hhr_live_{SECRET}",
        is_sdk: f"halo_sk_{SECRET}",
        is_json_rpc: f"hhr_live_{SECRET}" if "/w/" in path else f"halo_at_{SECRET}",
    }.get(form)
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    if method == "GET":
        return browser.get(path, {"org_id": UUID}, headers=headers)  # type: ignore[return-value]  # of the test client
    return browser.generic(method, path, body, kind, headers=headers)  # type: ignore[return-value]


@pytest.fixture
def browser(db: None) -> Client:  # noqa: ARG001  opens the database
    """A person who is signed in, of the operators."""
    browser = Client(raise_request_exception=False, **HERE)
    browser.force_login(User.objects.create_superuser("root@example.com", "x"))
    return browser


@pytest.mark.parametrize("form", dict.fromkeys(SURFACES.values()), ids=lambda form: form.__name__)
def test_every_address_reports_an_outage_in_the_form_of_its_surface(
    browser: Client, form: Callable[[HttpResponse], bool]
) -> None:
    for path in [path for path in paths() if form_of(path) is form]:
        with failing_database():
            # Every page of the admin reads its session first, whatever the method.
            methods = ("GET",) if path.startswith(f"/{ADMIN}") else ("GET", "POST")
            methods += ("PATCH", "DELETE") if form is is_sdk else ()
            replies = [send(browser, method, path) for method in methods]
        # Others refuse the method, or nothing has to be read.
        outages = [reply for reply in replies if reply.status_code >= 500]
        assert outages or WITHOUT_STORE.fullmatch(path), f"{path}: {replies[-1].content!r}"
        for reply in outages:
            assert (reply.status_code, form(reply)) == (503, True), f"{path}: {reply.content!r}"
            assert int(reply["Retry-After"]) > 0
            assert "Quote" not in reply.content.decode()


MCP = ["/api/mcp", "project", "hr"]


@pytest.fixture(params=MCP)
def mcp(request: pytest.FixtureRequest, db: None) -> McpClient:  # noqa: ARG001  opens the database
    grant = grants.make_grant("actions:*")
    if request.param == "project":
        row = project_rows.project(grant.organization, grant.user)
        return project_rows.client(f"/{row.pk}", "halo_mt_unknown")
    if request.param == "hr":
        return endpoint.client(Program(grant.organization))
    return McpClient(grant.token())


@pytest.mark.parametrize("request_id", ["of a client", 7])
@pytest.mark.parametrize("revision", list(Revision))
def test_json_rpc_errors_have_the_id_of_the_request(
    mcp: McpClient, revision: Revision, request_id: Any
) -> None:
    with failing_database():
        reply = mcp.with_revision(revision).request("tools/list", request_id=request_id)
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.json["id"] == request_id
    assert reply.error == {
        "code": -32603,
        "message": MESSAGE,
        "data": {"reason": "temporarily_unavailable", "retryAfterSeconds": 1},
    }


def test_each_request_of_a_batch_has_an_error_of_its_own(db: None) -> None:  # noqa: ARG001  opens the database
    client = McpClient(grants.make_grant().token(), Revision.V2025_03_26)
    batch = [{"jsonrpc": "2.0", "id": one, "method": "ping"} for one in ("a", "b")]
    with failing_database():
        reply = client.send([*batch, {"jsonrpc": "2.0", "method": "notifications/initialized"}])
    assert reply.status == 503
    assert [one["id"] for one in reply.json] == ["a", "b"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/aap/meta", "/aap/sessions", "/aap/session/x"])
def test_agents_report_an_outage_as_their_errors(path: str) -> None:
    app = application.with_key(grants.make_grant().organization)
    with failing_database():
        answer = app.send("GET", path.removeprefix("/aap"))
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert answer.error == MESSAGE


def test_a_page_says_whether_something_may_have_been_saved(browser: Client) -> None:
    with failing_database():
        assert "Nothing was saved." in browser.post("/connections/revoke").content.decode()
        page = browser.get("/connections").content.decode()
    assert '<a class="button" href="">Try again</a>' in page
    assert "saved" not in page


@pytest.mark.django_db
def test_a_page_does_not_deny_what_was_written_before_the_outage(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_after_a_change(*_given: object, **_named: object) -> None:
        User.objects.filter(email="root@example.com").update(name="Root")
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("oauth.grants.connections.revoke_all", fail_after_a_change)
    page = browser.post("/connections/revoke").content.decode()
    assert "What you sent may not have been saved." in page
    assert "Nothing was saved" not in page


@pytest.mark.django_db
def test_an_outage_is_reported_by_redirect_once_its_address_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, person = OAuthClient(), grants.make_grant().user
    assert client.register().status_code == 201

    def fail(*_given: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("oauth.consent.remembered.find", fail)
    reply = Browser(person).open(client.authorize_address(state="kept"))
    assert reply.status_code == 302
    target = urlsplit(reply["Location"])
    assert f"{target.scheme}://{target.netloc}{target.path}" == client.redirect_uri
    parameters = parse_qs(target.query)
    assert (parameters["error"], parameters["state"]) == (["temporarily_unavailable"], ["kept"])
    assert "code" not in parameters


def test_admin_pages_are_among_those_that_are_tried() -> None:
    assert sum(path.startswith(f"/{ADMIN}") for path in paths()) > 50
