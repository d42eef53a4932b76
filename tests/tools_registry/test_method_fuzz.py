"""Whatever the params of a method are, each revision answers in its own shape."""

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foundation.limits import Limit
from mcp_protocol.negotiation import LOG_LEVELS
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.mcp import Headers, McpClient
from tests.drivers.schema_validation import RESULTS

FUZZ = settings(
    max_examples=150,
    deadline=None,
    # One database serves every example on purpose.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Any code point, lone surrogates and NUL among them.
TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["plan_lookups", "review_write", "tell", "crm.greet", "search_docs"])
URIS = st.sampled_from(["docs://{page}", "docs://tokens", "lab://rules"]) | TEXT.map(
    lambda text: f"lab://books/{quote(text, safe='', errors='replace')}/text"
)
TEXTS = st.fixed_dictionaries(
    {},
    optional={
        "question": TEXT | JSON,
        "tool": st.just("read_doc") | TEXT,
        "write": TEXT,
        "topic": st.sampled_from(["bees", "missing", "broken", "unauthorized"]) | TEXT | JSON,
        "query": TEXT,
    },
)
REF = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["ref/prompt", "ref/resource"]) | JSON,
        "name": NAMES | JSON,
        "uri": URIS | JSON,
    },
)
ARGUMENT = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["tool", "topic", "page", "book"]) | JSON,
        "value": TEXT | JSON,
    },
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": NAMES | TEXT | JSON,
        "arguments": TEXTS | JSON,
        "uri": URIS | TEXT | JSON,
        "ref": REF | JSON,
        "argument": ARGUMENT | JSON,
        "context": st.fixed_dictionaries({}, optional={"arguments": TEXTS | JSON}) | JSON,
        "cursor": TEXT | JSON,
        "level": st.sampled_from(sorted(LOG_LEVELS)) | JSON,
    },
)


@pytest.fixture(autouse=True)
def _high_limits(settings: Any) -> None:
    for name in ("TOOLS_LIST", "TOOLS_CALL", "OTHER", "IP"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1_000_000, 60))


@pytest.mark.usefixtures("books")
@FUZZ
@given(
    method=st.sampled_from(sorted(set(RESULTS) - {"initialize"})),
    revision=st.sampled_from(REVISIONS),
    params=PARAMS,
)
def test_every_method_answers_whatever_its_params_are(
    mcp: McpClient, method: str, revision: Revision, params: Any
) -> None:
    client = mcp.with_revision(revision)
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": client.params(params)}
    reply = client.send(message, headers=_mirror(client, method, params))
    assert reply.status in {200, 400, 403, 404}, reply
    assert "hunter2" not in reply.body.decode()


def _mirror(client: McpClient, method: str, params: Any) -> Headers:
    try:
        return client.mirror(method, params)
    except UnicodeEncodeError:
        # A lone surrogate cannot stand in a header: the mirror says so, and that is an answer.
        return {"Mcp-Method": method, "Mcp-Name": "unspeakable"}
