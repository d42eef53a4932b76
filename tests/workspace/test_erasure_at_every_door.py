"""A person is named through every door of the product that takes text, and then erased.

The doors are found in the OpenAPI document of the SDK API, in the registry of tools and among the
addresses: a new one fails a test here until it is tried.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async
from django.apps import apps
from django.conf import settings
from django.core.management import get_commands
from django.test import Client

from agents.models import Session, SessionTurn
from agents.models_port import ModelRequest
from approvals.models import ApprovalRequest
from foundation.admin_urls import page_url
from ingestion.reference import remove_null
from oauth import server_keys
from oauth.models import KeyKind
from people.api.operations import ALL as OPERATIONS
from tests.agents.application import Application, says
from tests.agents.scripted import Script, calls, text
from tests.architecture import sources
from tests.architecture.test_url_inventory import PATHS
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.reviewed_project import open_reviewed_project
from tests.ingestion.app import App
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.workspace.privacy import erase, export_customer
from tools_registry import registry
from tools_registry.api import Tool
from workspace.models import Customer

EMAIL = "Juniper.Vance@vance.example"
TEXT = f"Ask {EMAIL} about it"
TOOLS = [tool for toolset in registry.native_toolsets() for tool in toolset.tools]

HR = "w/<slug:workspace>/api/v1/"
HR_WRITES = {
    HR + one.path.replace("{", "<str:").replace("}", ">")
    for one in OPERATIONS
    if one.method != "GET"
}
TRIED = {
    *(path for path in PATHS if path.startswith("api/sdk/")),
    *HR_WRITES,
    *("api/mcp", "api/mcp/<project:project_id>", "<project:project_id>"),
    *("requests/<uuid:request_id>/reject", "ask/<uuid:organization_id>/<str:name>"),
    "server-keys",
}
POLICY = "projects/<str:project_id>/policy"
# What the rest of the addresses take.
NOT_TRIED = {
    "no text that is stored": {
        *("", "admin", "ask", "ask/<uuid:organization_id>", "connections", "connections/", "docs"),
        *("connections/<uuid:connection_id>", "connections/<uuid:connection_id>/ask-again"),
        *("connections/<uuid:connection_id>/revoke", "connections/revoke", "docs/"),
        *("docs/<slug:folder>/<slug:slug>", "docs/<slug:slug>", "docs/images/<slug:name>.png"),
        *("api/mcp/oauth/scopes", "health", "healthz", "readyz", "jobs/<uuid:job_id>", "requests"),
        *("requests/<uuid:request_id>", "requests/<uuid:request_id>/withdraw", "usage"),
        *("requests/review", "requests/decide"),
        *("requests/<uuid:request_id>/approve", "w/<slug:workspace>/auth.md"),
        "^admin/tools_registry/billingrequest/(?P<rest>.*)$",
        *(path for path in PATHS if ".well-known" in path or path.endswith("/server-card")),
        *(path for path in PATHS if path.startswith(HR) and path not in HR_WRITES),
    },
    "what a client program says of itself": {
        *("api/mcp/oauth/authorize", "api/mcp/oauth/consent", "api/mcp/oauth/register"),
        *("api/mcp/oauth/revoke", "api/mcp/oauth/token", "oauth/authorize", "oauth/revoke"),
        *("oauth/token", "register", "token"),
    },
    "the name of a program of the organization": {
        *("service-clients", "service-clients/<uuid:client_id>/credentials"),
        *("service-clients/<uuid:client_id>/switch", "service-clients/<uuid:client_id>/delete"),
    },
    "accounts of the organization's own people": {
        path for path in PATHS if path.startswith(("signin", "signout", "account/"))
    },
    "it deletes a form that was kept, and keeps none": {"forms/discard"},
    "settings, which are named and left": {
        *("agent-keys", "agent-keys/<uuid:key_id>/revoke", "api-keys", "members/undo"),
        *("api-keys/<uuid:key_id>/revoke", "server-keys/<uuid:key_id>/revoke", "projects"),
        *("connections/tokens", "connections/tokens/<uuid:token_id>/revoke"),
        *("projects-tokens", "projects-tokens/<uuid:token_id>/revoke", "projects/new"),
        *("projects/<str:project_id>", "projects/<str:project_id>/credentials"),
        *("projects/<str:project_id>/credentials/test", "projects/<str:project_id>/delete"),
        *("projects/<str:project_id>/settings", "projects/<str:project_id>/tools", POLICY),
        *(f"{POLICY}/defaults", f"{POLICY}/undo", f"{POLICY}/<uuid:rule_id>"),
        *(f"{POLICY}/<uuid:rule_id>/delete", f"{POLICY}/<uuid:rule_id>/move"),
        *("projects/imports/<uuid:draft_id>", "projects/imports/<uuid:draft_id>/discard"),
        *("projects/<str:project_id>/servers", "approver-groups"),
        *("approver-groups/<uuid:group_id>", "approver-groups/<uuid:group_id>/delete"),
    },
    "calls of the HR API, on record as those of other tools": {"w/<slug:workspace>/api/mcp"},
}
# What the commands store that is a text.
COMMANDS = {
    "rows of customers, as the SDK API does": {"import_customers", "import_data", "seed_demo"},
    "settings, which are named and left": {
        *("agents", "create_client", "createapplication", "demo_api", "gateway"),
    },
    "facts about the organization's own people": {"bootstrap", "people", "seed_people"},
    "copies of the database, which are erased again after a restore": {"backup", "restore"},
    "none": {
        *("clearcimdapplications", "cleartokens", "customer", "identity_secret", "index_docs"),
        *("prune_audit", "prune_data"),
        *(
            "prune_oauth",
            "refresh_kpis",
            "reseal",
            "sdk_docs",
            "server_json",
            "up",
            "why",
            "worker",
        ),
    },
}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    return Script.for_an_agent(monkeypatch)


@pytest.fixture
def application(grant: Grant, script: Script) -> Application:  # noqa: ARG001  its agent
    row = server_keys.build_row(grant.organization, "App", ("data:read",), 1, KeyKind.AGENTS)
    return Application(
        grant.organization, row, server_keys.issue(row, user=None, address="").secret
    )


@pytest.fixture
def customer(grant: Grant) -> Customer:
    return grant.customer(email=EMAIL, name="Juniper Vance", external_id="app-user-8842")


@pytest.fixture
def neighbour(grant: Grant) -> Customer:
    return grant.customer(external_id="neighbour", email="neighbour@example.com")


def test_every_address_is_tried_or_has_a_reason() -> None:
    assert TRIED.union(*NOT_TRIED.values()) == PATHS
    assert TRIED.isdisjoint(set().union(*NOT_TRIED.values()))


def test_every_command_has_a_reason() -> None:
    own = {
        name
        for name, app in get_commands().items()
        if str(app).partition(".")[0] in sources.PACKAGES
    }
    assert set().union(*COMMANDS.values()) == own


def test_what_other_customers_wrote_does_not_name_the_person_any_more(
    grant: Grant, customer: Customer, neighbour: Customer
) -> None:
    server = App(grant).server()
    document = json.loads(Client().get("/api/sdk/openapi.json").content)
    ticket = ""
    # A ticket is made before a message is added to it.
    for path, methods in sorted(document["paths"].items()):
        for method, operation in methods.items():
            if "requestBody" not in operation:
                continue
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            where = path.removeprefix("/api/sdk/")
            body = _fill(schema, document["components"]["schemas"])
            where = where.replace("{ticket_id}", ticket)
            answer = server.send(method.upper(), where, json.dumps(body).encode())
            assert answer.status == 200, (where, answer.json)
            ticket = answer.json.get("ticket_id", ticket)
    assert len(_places()) > 10
    erase(grant, customer.pk)
    assert _places() == set()
    assert Customer.objects.get(pk=neighbour.pk).custom_fields["note"] == "Ask [erased] about it"


# What the neighbour's requests say where no free text may be. None: nothing.
FIXED = {
    "user_id": "neighbour",
    "company_id": "neighbours",
    "previous_id": "neighbour-before",
    "from_id": "neighbour-before",
    "into_id": "neighbour",
    "context": {"note": {"label": TEXT, "type": "status", "value": TEXT}},
    **dict.fromkeys(("id", "api_key", "user_token", "offset", "assignee")),
}


def _fill(schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str = "") -> Any:
    """A value of a schema, with the text wherever any text may be."""
    schema = remove_null(schema)
    if "$ref" in schema:
        return _fill(schemas[schema["$ref"].rpartition("/")[2]], schemas, name)
    if name in FIXED or "enum" in schema or "format" in schema:
        return FIXED[name] if name in FIXED else schema.get("enum", [None])[0]
    if "properties" in schema:
        made = {key: _fill(one, schemas, key) for key, one in schema["properties"].items()}
        return {key: value for key, value in made.items() if value is not None}
    kinds = {"boolean": True, "object": {"note": TEXT}, "string": TEXT[: schema.get("maxLength")]}
    if schema["type"] == "array":
        return [_fill(schema["items"], schemas)]
    return kinds.get(schema["type"], 1)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_calls_of_each_tool_do_not_name_the_person_any_more(
    grant: Grant, customer: Customer, tool: Tool
) -> None:
    mcp = McpClient(grant.token("actions:* docs:read setup:read data:read"))
    properties = tool.input_schema.get("properties", {})
    mcp.call(tool.name, dict.fromkeys(properties, TEXT))
    mcp.call(f"{tool.name} {EMAIL}", {})
    assert _places() >= {"audit.ActionExecution.tool"}
    erase(grant, customer.pk)
    assert _places() == set()


def test_a_form_of_a_tool_does_not_name_the_person_any_more(
    grant: Grant, customer: Customer
) -> None:
    browser = Client()
    browser.force_login(grant.user)
    browser.post(f"/ask/{grant.organization.pk}/search_docs", {"arg.query": TEXT})
    assert _places() >= {"audit.ActionExecution.arguments"}
    erase(grant, customer.pk)
    assert _places() == set()


def test_sessions_of_agents_do_not_name_the_person_any_more(
    grant: Grant, customer: Customer, script: Script
) -> None:
    row = server_keys.build_row(grant.organization, "App", ("data:read",), 1, KeyKind.AGENTS)
    app = Application(grant.organization, row, server_keys.issue(row, user=None, address="").secret)
    tool = {"name": "lookup", "description": TEXT, "inputSchema": {"type": "object"}}
    script.responses = [
        calls(("c1", "data_search_users", {"query": EMAIL}), text=TEXT),
        text(f"{EMAIL.upper()} is Juniper Vance"),
    ]
    session_id = app.create(
        TEXT,
        agent="scripted",
        server_tools={"data_search_users": True},
        tools=[tool],
        options={"language": TEXT},
    ).session_id
    script.responses = [text("Yes.")]
    other = app.create("Hello", agent="scripted").session_id
    app.turn(session_id, says(TEXT))
    assert _places() >= {
        *("agents.SessionMessage.content", "agents.Session.options", "agents.Session.client_tools"),
    }
    (exported_session,) = export_customer(grant, customer.pk)["agent_sessions"]
    assert "Juniper Vance" in json.dumps(exported_session["messages"])
    erase(grant, customer.pk)
    assert _places() == set()
    # What the tools answered is gone with the rest, not the name alone.
    assert app.send("GET", f"/session/{session_id}").status == 404
    assert app.send("GET", f"/session/{other}").status == 200
    assert SessionTurn.objects.count() == 3


@pytest.mark.parametrize(
    "other", ["maryan@vance.example", "an@vance.example.com", "ju.an@vance.example"]
)
def test_an_address_that_has_the_persons_in_it_is_another_one(
    grant: Grant, application: Application, other: str
) -> None:
    person = grant.customer(email="an@vance.example", external_id="app-user-9")
    session_id = application.create(f"Ask {other} about it", agent="scripted").session_id
    theirs = grant.customer(email=other, external_id="theirs", custom_fields={"to": other})
    document = export_customer(grant, person.pk)
    assert (document["agent_sessions"], document["mentions"]) == ([], [])
    erase(grant, person.pk)
    assert other in json.dumps(application.history(session_id))
    theirs.refresh_from_db()
    assert theirs.custom_fields == {"to": other}


def test_a_turn_that_is_running_stores_nothing_of_an_erased_person(
    grant: Grant, customer: Customer, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    respond = Script.respond

    async def erase_and_respond(script: Script, request: ModelRequest) -> Any:
        await sync_to_async(erase)(grant, customer.pk)
        async for piece in respond(script, request):
            yield piece

    monkeypatch.setattr(Script, "respond", erase_and_respond)
    answer = application.create(TEXT, agent="scripted", stream="none")
    assert answer.status < 500, answer.text
    assert _places() == set()
    assert not Session.objects.exists()


def test_requests_of_a_project_do_not_name_the_person_any_more(
    grant: Grant, customer: Customer
) -> None:
    with open_reviewed_project(grant) as project:
        request = project.request(name=TEXT)
        owner = project.owner()
        owner.post(f"/requests/{request.pk}/reject", {"note": TEXT})
    assert ApprovalRequest.objects.get().note == TEXT
    erase(grant, customer.pk)
    assert _places() == set()


def test_notes_about_leave_do_not_name_the_person_any_more(
    grant: Grant, customer: Customer
) -> None:
    office, program = Office(grant.organization), Program(grant.organization)
    person = office.person(manager=office.person())
    day = {"start_date": "2026-06-01", "end_date": "2026-06-01"}
    given = {"person_id": person.pk, "category_id": office.leave.pk} | day
    asked = program.post("time-off", given)
    declined = program.post(
        f"time-off/{asked.data['id']}/decline", {"response_note": TEXT}, If_Match=asked.etag
    )
    assert declined.status == 200, declined.body
    assert _places() >= {"people.TimeOff.response_note"}
    erase(grant, customer.pk)
    assert _places() == set()


def test_settings_that_name_the_person_are_listed_and_left(
    grant: Grant, customer: Customer
) -> None:
    browser = Client()
    browser.force_login(grant.user)
    form = {"organization": grant.organization.pk, "name": TEXT, "scopes": ["sdk:write"]}
    assert browser.post("/server-keys", form | {"kind": "sdk", "days": "30"}).status_code == 200
    page = browser.get(page_url("workspace_customer_erase", customer.pk)).content.decode()
    assert "api_keys: 1" in page
    document = export_customer(grant, customer.pk)
    assert [one["kind"] for one in document["left_as_they_are"]] == ["api_keys"]
    erase(grant, customer.pk)
    assert _places() == {"oauth.ServerKey.name"}


def _places() -> set[str]:
    """Where the person is named, but for the customer's own row: columns, Redis and files."""
    needle = EMAIL.lower()
    found = {
        f"{model._meta.label}.{name}"
        for model in apps.get_models()
        if model._meta.managed and not model._meta.proxy
        for row in model._base_manager.values()
        if not (model is Customer and row["email"] == EMAIL)
        for name, value in row.items()
        if needle in json.dumps(value, default=str, ensure_ascii=False).lower()
    }
    return found | {f"{place}" for place, held in _outside() if needle.encode() in held.lower()}


def _outside() -> Iterator[tuple[str, bytes]]:
    """What Redis holds, and the files of the data folder but the database."""
    if settings.REDIS_URL:
        client = redis.Redis.from_url(settings.REDIS_URL)
        for key in client.scan_iter():
            yield "Redis", key + (client.dump(key) or b"")
    for path in settings.HALO_DATA_DIR.rglob("*"):
        if path.is_file() and ".sqlite3" not in path.name:
            yield str(path), path.read_bytes()
