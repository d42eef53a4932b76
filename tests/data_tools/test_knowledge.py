"""data_search_knowledge: passages to cite, and what to do where there are none."""

import datetime as dt
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
    assert reply.facts["fits"] is True
    assert item.pop("id").isdigit()
    assert 0 < item.pop("score") <= 1
    assert dt.datetime.fromisoformat(item.pop("read_at")).tzinfo
    assert item == {
        "title": "Refunds - Yearly plans",
        "path": "Yearly plans",
        "url": "https://help.example.com/r",
        "source": {"id": source_id, "name": "Refunds"},
        "position": 1,
        "text": "In full within 30 days of the first payment.",
    }


@pytest.mark.usefixtures("source_id")
def test_a_search_without_a_hit_names_the_documents(grant: Grant) -> None:
    value = search(grant, query="zebra crossing").facts
    assert (value["items"], value["fits"]) == ([], False)
    assert "nearest" not in value
    assert value["hints"] == [
        "Nothing in the knowledge base fits. Use other words. Documents: Refunds.",
        "No passage has: zebra, crossing.",
    ]


@pytest.mark.usefixtures("source_id")
def test_passages_that_do_not_fit_are_named_as_such_after_what_is_missing(grant: Grant) -> None:
    value = search(grant, query="yearly zebra crossing over bitcoin").facts
    assert (value["items"], value["fits"], value["returned"]) == ([], False, 0)
    assert [each["path"] for each in value["nearest"]] == ["Yearly plans"]
    assert value["hints"][0].startswith("Nothing in the knowledge base fits.")
    assert value["hints"][1] == "No passage has: zebra, crossing, bitcoin."
    assert value["hints"][-1].startswith("`nearest` has passages that do not fit")


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


def test_a_title_of_two_documents_is_answered_with_both_ids(grant: Grant, source_id: str) -> None:
    newer = knowledge.add(grant.organization, kind="markdown", original=REFUNDS, title="REFUNDS")
    reply = str(search(grant, query="refund", source="refunds").json)
    assert "is the title of 2 documents" in reply
    assert f"{newer.pk} (the newest" in reply
    assert source_id in reply


@pytest.mark.usefixtures("source_id")
def test_ignored_words_and_words_that_no_passage_has_are_named(grant: Grant) -> None:
    value = search(grant, query="what about refunds for the yearly plans of a zebra").facts
    assert value["items"]
    assert "No passage has: zebra." in value["hints"]
    assert set(value["searched"]["ignored_words"]) == {"what", "about", "for", "the", "of", "a"}
