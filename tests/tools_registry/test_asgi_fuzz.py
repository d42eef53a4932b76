"""Whatever is sent, the endpoint answers; what fails on our side is never a stranger's doing."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.models import ActionExecution
from foundation.limits import Limit
from mcp_protocol.revisions import REVISIONS
from tests.drivers.asgi import application, exchange, scope_of
from tests.drivers.grants import Grant
from tests.drivers.mcp import HOST, Reply
from tools_registry.endpoint.asgi import McpApplication

FUZZ = settings(
    max_examples=120,
    deadline=None,
    # One database and one application serve every example on purpose.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ANSWERS = {200, 202, 204, 400, 401, 403, 404, 405, 413, 415, 421}

# Any code point, lone surrogates and NUL among them.
TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**40, -(2**63), 1e308, -0.0])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
TOOLS = ["search_docs", "read_doc", "setup_get_jwt_sample", "echo", "check", "count_up", "fail"]
METHODS = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "server/discover",
    "resources/list",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "notifications/x",
]
META = st.fixed_dictionaries(
    {},
    optional={
        "io.modelcontextprotocol/protocolVersion": st.sampled_from(REVISIONS) | JSON,
        "io.modelcontextprotocol/clientCapabilities": st.just({}) | JSON,
        "io.modelcontextprotocol/logLevel": st.sampled_from(["debug", "nonsense"]) | JSON,
        "progressToken": JSON,
        "bound_email": JSON,
    },
)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "query": TEXT | JSON,
        "page_size": NUMBERS,
        "page": TEXT,
        "language": st.sampled_from(["node", "python"]) | JSON,
        "value": JSON,
        "whole": NUMBERS,
        "to": st.integers(-3, 3),
        "how": st.sampled_from(["raises", "huge", "nan", "integration"]),
    },
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(TOOLS) | TEXT | JSON,
        "arguments": ARGUMENTS | JSON,
        "_meta": META | JSON,
        "protocolVersion": st.sampled_from(REVISIONS) | JSON,
        "cursor": JSON,
    },
)
MESSAGE = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | JSON},
    optional={
        "id": st.integers(0, 9) | JSON,
        "method": st.sampled_from(METHODS) | TEXT | JSON,
        "params": PARAMS | JSON,
        "result": JSON,
    },
)
SAID = MESSAGE | st.lists(MESSAGE, max_size=4) | JSON
BODY = SAID.map(lambda said: json.dumps(said).encode()) | st.binary(max_size=60)
LATIN = st.text(st.characters(max_codepoint=255), max_size=40)
HEADER = st.one_of(
    st.tuples(st.just("Accept"), st.just("application/json, text/event-stream") | LATIN),
    st.tuples(st.just("MCP-Protocol-Version"), st.sampled_from(REVISIONS) | LATIN),
    st.tuples(st.just("Mcp-Method"), st.sampled_from(METHODS) | LATIN),
    st.tuples(st.just("Mcp-Name"), st.sampled_from(TOOLS) | LATIN),
    st.tuples(st.just("Content-Type"), st.just("application/json") | LATIN),
    st.tuples(
        st.sampled_from(
            [
                "Content-Encoding",
                "Content-Length",
                "Cookie",
                "Mcp-Param-Region",
                "Mcp-Session-Id",
                "Origin",
                "X-Forwarded-For",
                "X-Request-Id",
            ]
        ),
        LATIN,
    ),
)
JSON_TYPE = ("Content-Type", "application/json")
VERB = st.sampled_from(["POST"] * 12 + ["GET", "HEAD", "OPTIONS", "PUT", ""])


@dataclass(frozen=True)
class FuzzRequest:
    """One HTTP request, but for who sends it."""

    verb: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes

    def reply(self, app: McpApplication, *who: tuple[str, str]) -> Reply:
        typed = any(name == "Content-Type" for name, _ in self.headers)
        headers = [*who, *self.headers, *([] if typed else [JSON_TYPE])]
        scope = scope_of(self.verb, headers, query=self.query)
        return assert_understood(exchange(app, scope, [self.body]).reply)


SENT = st.builds(FuzzRequest, VERB, LATIN, st.lists(HEADER, max_size=5), BODY)


def assert_understood(reply: Reply) -> Reply:
    """The reply, if it is one of the protocol: JSON, events or nothing, with a known status."""
    assert reply.status in ANSWERS, reply
    if reply.headers.get("content-type") == "text/event-stream":
        assert reply.events
    elif reply.body:
        assert isinstance(reply.json, dict | list)
    assert reply.headers["x-request-id"]
    return reply


@pytest.fixture
def app(settings: Any) -> Any:
    for name in ("TOOLS_LIST", "TOOLS_CALL", "OTHER", "IP"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1_000_000, 60))
    with application() as app:
        yield app


@pytest.fixture
def token(grant: Grant) -> str:
    return grant.token()


@pytest.mark.usefixtures("lab")
@FUZZ
@given(sent=SENT)
def test_whatever_a_known_client_sends_is_answered_and_what_is_refused_is_recorded(
    app: McpApplication, token: str, sent: FuzzRequest
) -> None:
    before = ActionExecution.objects.count()
    reply = sent.reply(app, ("Host", HOST), ("Authorization", f"Bearer {token}"))
    # An origin that is not allowed is refused before the token is looked at.
    came_in = sent.verb == "POST" and reply.status not in {401, 403}
    if came_in and reply.status >= 400:
        assert ActionExecution.objects.count() == before + 1


@pytest.mark.django_db
@FUZZ
@given(sent=SENT, authorization=st.none() | LATIN)
def test_whatever_a_stranger_sends_is_answered_and_leaves_no_row(
    app: McpApplication, sent: FuzzRequest, authorization: str | None
) -> None:
    who = [("Host", HOST)]
    who += [("Authorization", authorization)] if authorization is not None else []
    assert sent.reply(app, *who).status in {200, 204, 401, 403, 405}
    assert not ActionExecution.objects.exists()


@pytest.mark.django_db
@FUZZ
@given(host=LATIN, remote=LATIN)
def test_whatever_host_and_address_are_claimed_is_answered(
    app: McpApplication, host: str, remote: str
) -> None:
    reply = exchange(app, scope_of("POST", [("Host", host)], client=(remote, 1))).reply
    assert assert_understood(reply).status in {401, 421}
