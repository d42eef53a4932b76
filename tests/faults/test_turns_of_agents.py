"""Turns of agents that run while the database breaks: they end in the form of the protocol.

What a client was sent is in the history afterwards, once, and no call of a tool is made twice.
"""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import httpx2
import pytest

from agents.loop import UNAVAILABLE
from tests.agents import provider_server
from tests.agents.provider_server import Call, Provider, Says, TextPart
from tests.faults.proxy import Fault
from tests.faults.test_outcomes import ANSWER_SECONDS, DatabaseProxyDeployment, start_deployment
from tests.tools_registry.test_asgi_process import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("DATABASE_URL", "").startswith("postgres"),
        reason="connections to PostgreSQL break",
    ),
]

# Prints the key of an application of a new organization, whose agents use the model at an address.
PREPARE = """
import json, secrets
from agents import language_models
from agents.models import LanguageModel
from documentation import index
from django.conf import settings
from oauth import server_keys
from oauth.models import KeyKind
from workspace import organizations
from workspace.models import User
index.refresh(settings.HALO_DOCS_SOURCE)
owner = User.objects.create_user(f"agents-{{secrets.token_hex(4)}}@example.com")
office = organizations.create("Agents", owner=owner)
model = LanguageModel(organization=office, provider="openai", model="a-model", base_url={url!r})
language_models.seal_key(model, "a-key")
model.save()
row = server_keys.build_row(office, "App", ["docs:read"], 1, KeyKind.AGENTS)
print(json.dumps(server_keys.issue(row, user=None, address="").secret))
"""
# The calls of tools of a session, and its turns with their tokens.
ROWS = """
import json
from audit.models import ActionExecution
from agents.models import SessionTurn
calls = ActionExecution.objects.filter(tool="search_docs", detail__contains={session!r})
calls = calls.values_list("outcome", flat=True)
turns = SessionTurn.objects.filter(session={session!r}).order_by("id")
print(json.dumps([[*calls], [*turns.values_list("stop_reason", "output_tokens")]]))
"""
QUESTION = {"role": "user", "content": "How do scopes work?"}
BODY = {
    "agent": {"name": "documentation", "tools": [{"name": "search_docs", "trust": True}]},
    "messages": [QUESTION],
    "stream": "delta",
}
SEARCH = Call("c1", "search_docs", '{"query": "scopes"}')
# The output of each response of the provider.
TOKENS = 7
FAILED = ("turn_stop", {"stopReason": "error", "error": UNAVAILABLE})

Event: TypeAlias = tuple[str, Any]


class AgentApplication:
    """An application with the key of an organization, and the model that its agents use."""

    def __init__(self, deployment: DatabaseProxyDeployment, provider: Provider) -> None:
        self.deployment = deployment
        self.provider = provider
        key = deployment.read(PREPARE, url=provider.url)
        self.http = httpx2.Client(
            base_url=f"{deployment.server.url}/aap/",
            headers={"Authorization": f"Bearer {key}"},
            timeout=ANSWER_SECONDS,
        )

    @contextmanager
    def stream(self) -> Iterator[Iterator[Event]]:
        """The events of the first turn of a new session, as they come."""
        with self.http.stream("PUT", "session", json=BODY) as answer:
            assert answer.status_code == 200
            yield _read_events(answer)

    def history(self, session: str) -> Any:
        return self.http.get(f"session/{session}").json()["history"]["full"]

    def continue_with(self, session: str, text: str) -> httpx2.Response:
        body = {"messages": [{"role": "user", "content": text}]}
        return self.http.post(f"session/{session}", json=body)

    def rows(self, session: str) -> Any:
        return self.deployment.read(ROWS, session=session)


def _read_events(answer: httpx2.Response) -> Iterator[Event]:
    name = ""
    for line in answer.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def read_until(events: Iterator[Event], last: str) -> list[Event]:
    """The events up to the first of this name."""
    found = []
    for event in events:
        found.append(event)
        if event[0] == last:
            break
    return found


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentApplication]:
    folder = tmp_path_factory.mktemp("agents")
    with (
        provider_server.serving("openai") as provider,
        start_deployment(folder, HALO_RATE_AGENTS="100000/m") as deployment,
    ):
        app = AgentApplication(deployment, provider)
        with app.http:
            yield app


def lose_database(app: AgentApplication, wait: Callable[[Iterator[Event]], list[Event]]) -> str:
    """Runs a turn whose model answers while the database is away, which it is until `wait` returns.

    It ends with an error. Returns the session, whose history is what the client was sent before.
    """
    released = threading.Event()
    app.provider.answers = [
        Says([SEARCH], stop="calls"),
        Says([TextPart("Half of it.")], released=released),
        Says([TextPart("Read this.")]),
    ]
    with app.stream() as events:
        begun = dict(read_until(events, "text_delta"))
        with app.deployment.database.fault(Fault.CUT):
            released.set()
            before = wait(events)
        *pieces, stop = [*before, *events]
    assert stop == FAILED
    assert {name for name, _data in pieces} <= {"text_delta"}
    session = str(begun["session_start"]["sessionId"])
    wait_until(lambda: app.http.get(f"session/{session}").status_code == 200)
    question, call, result = app.history(session)
    assert question == QUESTION
    assert call["content"][0]["toolCallId"] == begun["tool_call"]["toolCallId"]
    assert result["content"] == begun["tool_result"]["content"]
    return session


@pytest.mark.daily
def test_a_turn_that_loses_the_database_ends_with_an_error_and_its_session_goes_on(
    app: AgentApplication,
) -> None:
    def count_failures() -> int:
        return app.deployment.server.log.read_text().count("turn_failed")

    def wait_until_it_fails(_events: Iterator[Event]) -> list[Event]:
        wait_until(lambda: count_failures() > failures)
        return []

    failures = count_failures()
    session = lose_database(app, wait_until_it_fails)
    assert app.continue_with(session, "Go on").json()["stopReason"] == "end_turn"
    assert app.history(session)[-1]["content"] == "Read this."
    assert app.rows(session) == [["success"], [["error", TOKENS], ["end_turn", TOKENS]]]


@pytest.mark.daily
def test_a_turn_that_ends_while_the_database_is_away_is_stored_later(app: AgentApplication) -> None:
    session = lose_database(app, lambda events: read_until(events, "turn_stop"))
    # Its lease ends within a minute.
    wait_until(lambda: app.continue_with(session, "Go on").status_code == 200)
    assert app.history(session)[-1]["content"] == "Read this."
    wait_until(
        lambda: app.rows(session) == [["success"], [["error", TOKENS], ["end_turn", TOKENS]]]
    )
