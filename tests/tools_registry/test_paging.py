"""Long lists in pages: nothing twice, nothing left out, and a cursor that opens for its owner."""

from collections.abc import Iterator
from typing import Any

import pytest

from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers import grants
from tests.drivers.fixture_tools import NOTHING
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import Facts, ResourceBody, Toolset, text_message
from tools_registry.endpoint import paging

MANY = 7
LISTS = {
    "tools/list": ("tools", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
    "prompts/list": ("prompts", "name"),
}


def many_resources() -> Toolset:
    """Seven of everything, declared in no order."""
    made = Toolset(scope="docs:read", title="Many")
    for number in (3, 1, 6, 0, 5, 2, 4):
        message = {"title": f"Number {number}", "description": "One of many."}

        def tool(_context: Any, _given: Any) -> Facts:
            return Facts(None)

        def read(_context: Any, _given: Any) -> ResourceBody:
            return ResourceBody("")

        def say(_context: Any, _given: Any) -> list[Any]:
            return [text_message("x")]

        tool.__name__ = read.__name__ = say.__name__ = f"one_{number}"
        made.tool(**message, input_schema=NOTHING)(tool)
        made.resource(uri=f"paging://{number}", **message)(read)
        made.template(uri_template=f"paging://{number}/{{name}}", **message)(read)
        made.prompt(**message)(say)
    return made


@pytest.fixture(autouse=True)
def _many() -> Iterator[None]:
    with registry.including(many_resources()):
        yield


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "PAGE_SIZE", 3)


def walk_pages(client: McpClient, method: str) -> Iterator[list[str]]:
    """The pages of a list, by what names each thing."""
    member, key = LISTS[method]
    params: dict[str, str] = {}
    while True:
        result = client.request(method, params).result
        yield [one[key] for one in result[member]]
        if "nextCursor" not in result:
            return
        params = {"cursor": result["nextCursor"]}


@pytest.mark.parametrize("method", LISTS)
def test_a_usual_list_is_one_page(mcp: McpClient, method: str) -> None:
    assert len(list(walk_pages(mcp, method))) == 1


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("method", LISTS)
def test_the_pages_of_a_list_are_the_list(
    mcp: McpClient, method: str, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = mcp.with_revision(revision)
    (whole,) = walk_pages(client, method)
    monkeypatch.setattr(paging, "PAGE_SIZE", 3)
    pages = list(walk_pages(client, method))
    assert [one for page in pages for one in page] == whole
    assert len(whole) >= MANY
    assert all(0 < len(page) <= 3 for page in pages)


@pytest.mark.usefixtures("small")
def test_a_page_begins_behind_the_last_thing_shown_even_if_that_is_gone(mcp: McpClient) -> None:
    early = Toolset(scope="docs:read")
    early.prompt(title="A", description="B", name="one_2_and_a_bit")(
        lambda _c, _g: [text_message("x")]
    )
    shown = mcp.request("prompts/list").result
    assert [one["name"] for one in shown["prompts"]] == ["one_0", "one_1", "one_2"]
    with registry.including(early):
        added = mcp.request("prompts/list", {"cursor": shown["nextCursor"]}).result["prompts"]
    later = mcp.request("prompts/list", {"cursor": shown["nextCursor"]}).result["prompts"]
    assert [one["name"] for one in added] == ["one_2_and_a_bit", "one_3", "one_4"]
    assert [one["name"] for one in later] == ["one_3", "one_4", "one_5"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("method", LISTS)
@pytest.mark.parametrize("cursor", ["", "x", "2", "AQ==", "\N{SNOWMAN}", 5, [], {}, "A" * 9_000])
def test_what_is_no_cursor_is_refused(mcp: McpClient, method: str, cursor: Any) -> None:
    reply = mcp.request(method, {"cursor": cursor})
    assert (reply.status, reply.code, reply.error["data"]["field"]) == (200, -32602, "cursor")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "spoilt",
    [
        lambda cursor: cursor[:-1],
        lambda cursor: cursor + "A",
        lambda cursor: cursor + "=-TAMPERED",
        lambda cursor: cursor + "\n",
        lambda cursor: ("B" if cursor[20] == "A" else "A").join([cursor[:20], cursor[21:]]),
    ],
    ids=["cut", "longer", "trailed", "line-break", "changed"],
)
def test_a_changed_cursor_is_refused(mcp: McpClient, spoilt: Any) -> None:
    cursor = mcp.request("tools/list").result["nextCursor"]
    assert mcp.request("tools/list", {"cursor": spoilt(cursor)}).code == -32602


@pytest.mark.usefixtures("small")
def test_a_cursor_of_another_list_is_refused(mcp: McpClient) -> None:
    cursor = mcp.request("tools/list").result["nextCursor"]
    assert mcp.request("prompts/list", {"cursor": cursor}).code == -32602


@pytest.mark.usefixtures("small")
def test_a_cursor_of_another_connection_is_refused(mcp: McpClient) -> None:
    cursor = mcp.request("tools/list").result["nextCursor"]
    stranger = McpClient(grants.make_grant("actions:*").token())
    assert stranger.request("tools/list", {"cursor": cursor}).code == -32602


@pytest.mark.usefixtures("small")
def test_a_cursor_tells_nothing(mcp: McpClient) -> None:
    first, second = (mcp.request("tools/list").result["nextCursor"] for _ in range(2))
    assert first != second
    assert "one_" not in first


def test_a_page_ends_before_it_takes_more_bytes_than_a_page_may(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = walk_pages(mcp, "tools/list")
    monkeypatch.setattr(paging, "PAGE_BYTES", 2_000)
    pages = list(walk_pages(mcp, "tools/list"))
    assert [one for page in pages for one in page] == whole
    assert len(pages) > 1
    assert any(len(page) > 1 for page in pages)
    # A tool that takes more than a page is one alone.
    monkeypatch.setattr(paging, "PAGE_BYTES", 1)
    assert list(walk_pages(mcp, "tools/list")) == [[one] for one in whole]
