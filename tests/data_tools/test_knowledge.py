"""data_search_knowledge: passages to cite, and what to do where there are none."""

from typing import Any

import pytest

import knowledge
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient

TOOL = "data_search_knowledge"
REFUNDS = b"# Refunds\n\n## Yearly plans\n\nIn full within 30 days of the first payment."


@pytest.fixture
def source_id(grant: Grant) -> str:
    source = knowledge.add(
        grant.organization, kind="markdown", url="https://help.example.com/r", original=REFUNDS
    )
    knowledge.index(source.pk)
    return source.pk


def search(grant: Grant, meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
    mcp = McpClient(grant.token("data:read"))
    return mcp.call(TOOL, arguments, **({"meta": meta} if meta else {}))


def test_a_passage_has_what_a_citation_needs(grant: Grant, source_id: str) -> None:
    reply = search(grant, query="our refund policy")
    (item,) = reply.facts["items"]
    assert item.pop("id").isdigit()
    assert item.pop("score") > 0
    assert item == {
        "title": "Refunds - Yearly plans",
        "url": "https://help.example.com/r",
        "source": {"id": source_id, "name": "Refunds"},
        "position": 1,
        "text": "In full within 30 days of the first payment.",
    }


@pytest.mark.usefixtures("source_id")
def test_a_search_without_a_hit_names_the_documents(grant: Grant) -> None:
    value = search(grant, query="zebra crossing").facts
    assert value["items"] == []
    assert value["hints"] == ["No passage was found. Use other words. Documents: Refunds."]


def test_another_organization_s_source_is_like_no_source(source_id: str) -> None:
    others = make_grant("data:read")
    answers = [
        search(others, query="refund", source=each).facts["hints"]
        for each in (source_id, "ks_nobody")
    ]
    assert answers[0] == answers[1] == ["The knowledge base has no documents yet."]


@pytest.mark.usefixtures("source_id")
def test_a_call_that_is_bound_to_a_customer_is_refused(grant: Grant) -> None:
    customer = grant.customer(name="Ada")
    reply = search(grant, {"bound_end_user_id": customer.pk}, query="refund")
    assert "cannot be limited to one customer" in str(reply.json)
