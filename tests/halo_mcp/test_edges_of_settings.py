"""The smallest and the largest accepted value of each number and rate, with what depends on it.

Settings are built from the environment as a start builds them, and put in place of those of this
process. The numbers of one journey are set together, and rates one by one: with another rate, a
second call may be refused.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final
from unittest.mock import patch

import pytest
import time_machine

from audit import retention as audit_retention
from audit.tasks import finish_interrupted
from customers.tasks import prune_data
from foundation import limits
from gateway import projects, quota
from halo_mcp import bootstrap, env
from mcp_protocol.revisions import Revision
from oauth import tasks as oauth_tasks
from oauth.credentials import ACCESS_TOKEN_VERIFIERS, authenticate
from retrieval.documents import process
from tests.agents import application as agents
from tests.drivers import billing
from tests.drivers.asgi import app_transport, application
from tests.drivers.built_settings import build
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site, sending
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.oauth_client import Browser, OAuthClient, answer
from tests.drivers.web_site import WebSite
from tests.gateway import shop
from tests.ingestion import app as sdk
from tests.people.api.program import Program
from tests.people.mcp import endpoint as hr
from tests.tools_registry.test_elicitation_by_result import ask, assert_asked
from tests.workspace.test_knowledge import HTML, PAGE, add, find_headings, read_here, sitemap
from tools_registry.endpoint.streams.listen_streams import OPEN as LISTENING
from tools_registry.endpoint.websocket.handshake import OPEN as CONNECTED

NOW: Final = datetime(2026, 6, 1, 12, tzinfo=UTC)
REFUSED: Final = 429
# Read by the process that starts others, or when a module is imported, and not while it serves.
BY_A_START: Final = {
    *("PORT", "HALO_PROCESSES", "HALO_DATABASE_CONNECTIONS", "HALO_STOP_SECONDS"),
}


class Journeys:
    """What a person or a program does, with the fixtures of one test."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self.fixture = request.getfixturevalue

    @property
    def grant(self) -> Grant:
        grant: Grant = self.fixture("grant")
        return grant

    def call_tools(self) -> None:
        self.fixture("lab")
        with application() as app:
            client = McpClient(self.grant.token()).with_transport(app_transport(app, "/api/mcp"))
            works(client.request("ping").status)
            works(client.request("tools/list").status, may_be_refused=True)
            params = {"name": "data_find_user", "arguments": {"email": "ada@example.com"}}
            works(client.request("tools/call", params).status, may_be_refused=True)
        principal = authenticate(f"Bearer {self.grant.token()}", ACCESS_TOKEN_VERIFIERS)
        assert LISTENING.acquire(principal)
        LISTENING.release(principal)

    def ask_a_person(self) -> None:
        self.fixture("lab")
        client = McpClient(self.grant.token()).with_revision(Revision.V2026_07_28)
        assert assert_asked(ask(client, "greet"))["inputRequests"]

    def request_a_refund(self) -> None:
        stripe: Stripe = self.fixture("stripe")
        case = billing.request_refund(McpClient(self.grant.token()), stripe)
        assert case.approve().status == "done"

    def connect_a_client(self) -> None:
        user = self.grant.user
        browser, client = Browser(user), OAuthClient()
        works(browser.open("/signin").status_code, redirects=True)
        works(client.register().status_code)
        page = browser.open(client.authorize_address())
        exchanged = client.exchange(answer(browser.decide(page))["code"])
        works(exchanged.status_code)
        tokens = exchanged.json()
        works(client.ping(tokens["access_token"]), may_be_refused=True)
        works(client.refresh(tokens["refresh_token"]).status_code, may_be_refused=True)
        works(client.register().status_code, may_be_refused=True)
        works(browser.open(client.authorize_address()).status_code, may_be_refused=True)

    def delete_what_is_old(self) -> None:
        self.grant.token()
        prune_data()
        audit_retention.prune()
        finish_interrupted()
        oauth_tasks.prune_spent_credentials()
        oauth_tasks.prune_unused_clients()
        oauth_tasks.forget_replies()

    def read_people(self) -> None:
        program = Program(self.grant.organization)
        works(program.get("people").status)
        works(program.get("people").status, may_be_refused=True)
        works(hr.client(program).request("tools/list").status)

    def send_a_ticket(self) -> None:
        app = sdk.create_app()
        app.trust_pages()
        page, path = app.page(), f"config?org_id={app.organization.pk}"
        works(page.send("GET", path, b"").status)
        works(page.send("GET", path, b"").status, may_be_refused=True)

    def talk_to_an_agent(self) -> None:
        app = agents.with_key(self.grant.organization)
        works(app.create().status)
        works(app.create().status, may_be_refused=True)

    def use_a_project(self) -> None:
        with sites.serving(Site()) as site:
            site.script(sending(b"[]", headers={"Content-Type": "application/json"}))
            project = shop.create_project(self.grant, site, SMALL)
            projects.reimport(project, shop.text(SMALL), self.grant.user)
            with shop.endpoint(self.grant, project) as client:
                works(client.request("ping").status)
                works(client.request("tools/list").status, may_be_refused=True)
                called = client.request("tools/call", {"name": "listItems", "arguments": {}})
                works(called.status, may_be_refused=True)
        assert quota.take(self.grant.organization.pk)
        principal = authenticate(f"Bearer {self.grant.token()}", ACCESS_TOKEN_VERIFIERS)
        assert CONNECTED.acquire(principal)
        CONNECTED.release(principal)

    def search_knowledge(self) -> None:
        with sites.serving(WebSite()) as web, patch.object(process, "read_all", read_here):
            self.fixture("settings").HALO_KNOWLEDGE_PRIVATE_HOSTS = {
                web.url.removeprefix("http://")
            }
            web.script(sitemap("urlset", f"{web.url}/a"), sending(PAGE, headers=HTML))
            source = add(self.grant, None, kind="sitemap", url=f"{web.url}/sitemap.xml")
        assert source.status == "ready", source.error
        assert find_headings(self.grant, "slack")

    def start(self) -> None:
        bootstrap.reach_what_settings_name()


SMALL: Final[dict[str, Any]] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.example/v1"}],
    "paths": {"/items": {"get": {"operationId": "listItems", "responses": {}}}},
}
NUMBERS: Final[dict[Callable[[Journeys], None], set[str]]] = {
    Journeys.start: BY_A_START,
    Journeys.call_tools: {
        *("HALO_CORE_THREADS", "HALO_STREAM_THREADS", "HALO_VENDOR_CALLS", "HALO_DATA_SECONDS"),
        *("HALO_MAX_BODY_BYTES", "HALO_MAX_RESULT_BYTES", "HALO_LISTENS_PER_CONNECTION"),
    },
    Journeys.ask_a_person: {"HALO_ASK_SECONDS"},
    Journeys.request_a_refund: {"HALO_BILLING_REQUEST_DAYS"},
    Journeys.connect_a_client: {
        *("HALO_ACCESS_TOKEN_SECONDS", "HALO_REFRESH_IDLE_DAYS", "HALO_REFRESH_MAX_DAYS"),
        *("HALO_REFRESH_REPLAY_SECONDS", "HALO_CODE_SECONDS", "HALO_CONSENT_SECONDS"),
        *("HALO_REMEMBER_CONSENT_DAYS", "HALO_MAX_REGISTER_BYTES"),
    },
    Journeys.delete_what_is_old: {
        *("HALO_CODE_KEEP_SECONDS", "HALO_UNUSED_CLIENT_DAYS", "HALO_AUDIT_INTERRUPTED_SECONDS"),
        *("HALO_AUDIT_RETENTION_DAYS", "HALO_RETENTION_EVENTS_DAYS"),
        *("HALO_RETENTION_MESSAGES_DAYS", "HALO_RETENTION_CONVERSATIONS_DAYS"),
        *("HALO_RETENTION_TICKETS_DAYS", "HALO_RETENTION_FEEDBACK_DAYS"),
        *("HALO_RETENTION_AGENT_SESSIONS_DAYS", "HALO_RETENTION_APPROVALS_DAYS"),
        *("HALO_RETENTION_CREDENTIALS_DAYS", "HALO_RETENTION_LEADS_DAYS"),
        "HALO_ERASED_PEOPLE_DAYS",
    },
    Journeys.read_people: {"HALO_PAGE_SECONDS", "HALO_HR_DAILY_ROWS"},
    Journeys.talk_to_an_agent: {"HALO_AGENT_THREADS"},
    Journeys.use_a_project: {
        *("HALO_GATEWAY_TIMEOUT_SECONDS", "HALO_GATEWAY_MAX_RESPONSE_BYTES"),
        *("HALO_GATEWAY_MAX_UPLOAD_BYTES", "HALO_GATEWAY_MAX_DOCUMENT_BYTES"),
        *("HALO_GATEWAY_MONTHLY_CALLS", "HALO_GATEWAY_KEPT_DOCUMENTS"),
        *("HALO_GATEWAY_SOCKETS_PER_CREDENTIAL", "HALO_GATEWAY_SOCKET_IDLE_SECONDS"),
    },
    Journeys.search_knowledge: {
        *("HALO_KNOWLEDGE_DAILY_SECONDS", "HALO_SITEMAP_PAGES", "HALO_VECTOR_MEMORY"),
    },
}
RATES: Final[dict[Callable[[Journeys], None], set[str]]] = {
    Journeys.call_tools: {
        *("HALO_RATE_TOOLS_LIST", "HALO_RATE_TOOLS_CALL", "HALO_RATE_OTHER", "HALO_RATE_IP"),
    },
    Journeys.connect_a_client: {
        *("HALO_RATE_REGISTER", "HALO_RATE_REGISTER_ATTEMPTS", "HALO_RATE_TOKEN"),
        *("HALO_RATE_AUTHORIZE", "HALO_RATE_SIGNIN"),
    },
    Journeys.read_people: {"HALO_RATE_HR_API"},
    Journeys.send_a_ticket: {"HALO_RATE_SDK"},
    Journeys.talk_to_an_agent: {"HALO_RATE_AGENTS"},
    Journeys.use_a_project: {
        *("HALO_RATE_GATEWAY_LIST", "HALO_RATE_GATEWAY_CALL", "HALO_RATE_GATEWAY_OTHER"),
    },
}


def works(status: int, *, may_be_refused: bool = False, redirects: bool = False) -> None:
    """A refusal by a limit is an answer; an error of the server is none."""
    accepted = {200, 201, 204} | ({REFUSED} if may_be_refused else set())
    assert status in accepted or (redirects and status == 302), status


@contextmanager
def put_in_place(settings: Any, **variables: str) -> Iterator[None]:
    """The settings that differ with these variables."""
    usual, other = build(), build(**variables)
    changed = {name: value for name, value in other.items() if usual[name] != value}
    for name, value in changed.items():
        setattr(settings, name, value)
    limits.reset_store()
    with time_machine.travel(NOW, tick=False):
        yield


def edges_of(names: set[str], which: int) -> dict[str, str]:
    return {name: env.edges[name][which] for name in names}


@pytest.mark.django_db
@pytest.mark.parametrize("which", [0, -1], ids=["smallest", "largest"])
@pytest.mark.parametrize("journey", NUMBERS, ids=lambda one: one.__name__)
def test_the_edges_of_numbers_work(
    request: pytest.FixtureRequest,
    settings: Any,
    journey: Callable[[Journeys], None],
    which: int,
) -> None:
    with put_in_place(settings, **edges_of(NUMBERS[journey], which)):
        journey(Journeys(request))


@pytest.mark.django_db
@pytest.mark.parametrize("which", [0, -1], ids=["smallest", "largest"])
@pytest.mark.parametrize(
    ("journey", "name"),
    [(journey, name) for journey, names in RATES.items() for name in sorted(names)],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_the_edges_of_rates_work(
    request: pytest.FixtureRequest,
    settings: Any,
    journey: Callable[[Journeys], None],
    name: str,
    which: int,
) -> None:
    with put_in_place(settings, **edges_of({name}, which)):
        journey(Journeys(request))


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in env.edges.items() for value in values],
)
def test_every_accepted_value_is_read(name: str, value: str) -> None:
    needed = {"HALO_EMBEDDER": "HALO_EMBEDDER_KEY", "HALO_RERANKER": "HALO_RERANKER_KEY"}
    more = {needed[name]: "key"} if name in needed else {}
    assert build(**{name: value}, **more)


def test_every_number_and_rate_has_a_journey() -> None:
    with_edges = {name for name, values in env.edges.items() if values}
    numbers = {name for name in with_edges if env.edges[name][0].isdigit()}
    rates = {name for name in with_edges if "/" in env.edges[name][0]}
    assert numbers == set.union(*NUMBERS.values())
    assert rates == set.union(*RATES.values())


@pytest.mark.parametrize("name", sorted(set.union(*NUMBERS.values())))
def test_what_is_beyond_the_edges_is_refused(name: str) -> None:
    least, most = map(int, env.edges[name])
    for value in (least - 1, most + 1):
        with pytest.raises(env.ImproperlyConfigured, match=rf"^{name}: "):
            build(**{name: str(value)})
