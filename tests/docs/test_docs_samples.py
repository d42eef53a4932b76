"""The samples of answers have the form that real answers have."""

import json
from typing import Any

import pytest
from django.conf import settings as deployed

from documentation.index import refresh
from foundation.limits import Limit
from tests.docs.doc_pages import ROOT, blocks, section
from tests.drivers import grants
from tests.drivers.mcp import McpClient

ENDPOINT = [json.loads(block.text) for block in blocks(ROOT / "docs" / "mcp-endpoint.md", "json")]
CALLS = {
    "search_docs": {"query": "replay revokes the token family", "page_size": 1},
    "read_doc": {"page": "tokens"},
    "setup_get_install_snippet": {},
    "setup_get_jwt_sample": {"language": "python"},
}

pytestmark = pytest.mark.django_db


def _sample(tool: str) -> Any:
    text = section("tools", tool).partition("```json\n")[2]
    return json.loads(text.partition("```")[0])


def _form(value: Any) -> Any:
    """A value without its texts and figures: names of members, and the form of a first item."""
    if isinstance(value, dict):
        return {name: _form(item) for name, item in value.items()}
    return [_form(item) for item in value[:1]] if isinstance(value, list) else type(value)


@pytest.mark.parametrize("tool", CALLS)
def test_the_sample_of_a_tool_has_the_form_of_its_answer(tool: str, mcp: McpClient) -> None:
    refresh(deployed.HALO_DOCS_SOURCE)
    assert _form(_sample(tool)) == _form(mcp.call(tool, CALLS[tool]).facts)


def test_the_search_sample_names_what_is_really_found(mcp: McpClient) -> None:
    refresh(deployed.HALO_DOCS_SOURCE)
    (found,) = mcp.call("search_docs", CALLS["search_docs"]).facts["results"]
    (shown,) = _sample("search_docs")["results"]
    assert {**shown, "snippet": "", "score": 0} == {**found, "snippet": "", "score": 0}


def test_the_descriptor_is_shown_as_it_is_served(mcp: McpClient) -> None:
    served = mcp.holding(None).http("GET")
    assert served.status == 200
    assert served.json in ENDPOINT


def test_a_missing_scope_is_shown_as_it_is_reported() -> None:
    narrow = McpClient(grants.make_grant("docs:read").token())
    refused = narrow.call("setup_get_jwt_sample")
    (shown,) = (block for block in ENDPOINT if "error" in block)
    assert refused.status == 403
    assert refused.error == shown["error"]


def test_a_spent_limit_is_shown_as_it_is_reported(mcp: McpClient, settings: Any) -> None:
    (shown,) = blocks(ROOT / "docs" / "rate-limits.md", "json")
    settings.HALO_RATE_TOOLS_LIST = Limit.parse("1/h")
    replies = [mcp.request("tools/list"), mcp.request("tools/list")]
    assert [reply.status for reply in replies] == [200, 429]
    assert replies[-1].error == json.loads(shown.text)["error"]
