"""Completion: only what the caller may see, at most 100 values, and never a failure."""

from pathlib import Path
from typing import Any

import pytest

from documentation.index import refresh
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply

REVIEW = {"type": "ref/prompt", "name": "review_write"}
TELL = {"type": "ref/prompt", "name": "tell"}
PAGE = {"type": "ref/resource", "uri": "docs://{page}"}
BOOK = {"type": "ref/resource", "uri": "lab://books/{book}/text"}
FAILING = {"type": "ref/resource", "uri": "lab://unlisted/{name}"}


def complete(client: McpClient, ref: Any, name: Any, value: Any = "", **params: Any) -> Reply:
    argument = {"name": name, "value": value}
    return client.request("completion/complete", {"ref": ref, "argument": argument, **params})


def values(reply: Reply) -> list[str]:
    found: list[str] = reply.result["completion"]["values"]
    return found


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_tool_names_are_offered_to_a_review(mcp: McpClient, revision: Revision) -> None:
    reply = complete(mcp.with_revision(revision), REVIEW, "tool", "DOC")
    assert reply.result["completion"] == {
        "values": ["read_doc", "search_docs"],
        "total": 2,
        "hasMore": False,
    }


@pytest.mark.usefixtures("lab")
def test_only_tools_that_can_be_seen_are_offered(mcp: McpClient, grant: Grant) -> None:
    assert values(complete(mcp, REVIEW, "tool", "crm.")) == []
    grant.connect("crm", enabled=("find_contact", "delete_contact"))
    assert values(complete(mcp, REVIEW, "tool", "crm.")) == ["crm.find_contact"]


def test_pages_are_offered_those_that_begin_so_first(mcp: McpClient, tmp_path: Path) -> None:
    for slug in ("a-token", "tokens", "scopes"):
        (tmp_path / f"{slug}.md").write_text(f"# {slug}\n\nText.\n")
    refresh(tmp_path)
    assert values(complete(mcp, PAGE, "page", "TO")) == ["tokens", "a-token"]
    instance = {"type": "ref/resource", "uri": "docs://tokens"}
    assert values(complete(mcp, instance, "page", "s")) == ["scopes", "tokens"]


@pytest.mark.usefixtures("books")
def test_no_more_than_a_hundred_values_are_returned_and_how_many_there_are(mcp: McpClient) -> None:
    completion = complete(mcp, BOOK, "book").result["completion"]
    assert len(completion["values"]) == 100
    assert (completion["total"], completion["hasMore"]) == (150, True)


@pytest.mark.usefixtures("books")
def test_what_is_filled_in_already_is_known(mcp: McpClient) -> None:
    context = {"arguments": {"prefix": "tome"}}
    assert values(complete(mcp, TELL, "topic", context=context))[0] == "tome 0"


@pytest.mark.usefixtures("books")
@pytest.mark.parametrize(("ref", "name"), [(TELL, "tone"), (FAILING, "name")])
def test_an_argument_without_completion_or_with_a_failing_one_offers_nothing(
    mcp: McpClient, ref: Any, name: str
) -> None:
    reply = complete(mcp, ref, name)
    assert reply.result["completion"] == {"values": [], "total": 0, "hasMore": False}


@pytest.mark.usefixtures("books")
@pytest.mark.parametrize("ref", [TELL, BOOK, {"type": "ref/prompt", "name": "crm.greet"}])
@pytest.mark.django_db
def test_what_the_caller_may_not_see_is_unknown(ref: Any) -> None:
    narrow = McpClient(grants.make_grant("docs:read").token())
    hidden = complete(narrow, ref, "topic")
    unknown = complete(narrow, {**ref, "name": "no_such", "uri": "no://such"}, "topic")
    assert (hidden.status, hidden.code) == (200, -32602)
    assert hidden.error == unknown.error


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": REVIEW},
        {"ref": REVIEW, "argument": {"name": "tool"}},
        {"ref": REVIEW, "argument": {"name": "nothing", "value": ""}},
        {"ref": REVIEW, "argument": {"name": "tool", "value": 5}},
        {"ref": REVIEW, "argument": {"name": "tool", "value": "x" * 1_001}},
        {"ref": REVIEW, "argument": []},
        {"ref": {"type": "ref/tool", "name": "x"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": []}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/resource", "uri": 5}, "argument": {"name": "a", "value": ""}},
        {"ref": "x", "argument": {"name": "a", "value": ""}},
        {"ref": REVIEW, "argument": {"name": "tool", "value": ""}, "context": 5},
        {
            "ref": REVIEW,
            "argument": {"name": "tool", "value": ""},
            "context": {"arguments": {"a": 5}},
        },
    ],
)
def test_params_that_do_not_fit_are_refused(
    mcp: McpClient, revision: Revision, params: Any
) -> None:
    reply = mcp.with_revision(revision).request("completion/complete", params)
    assert (reply.status, reply.code) == (200, -32602)
