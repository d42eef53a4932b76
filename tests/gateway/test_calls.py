"""Calls of a project's tools against a real HTTP service on the loopback."""

import json
import socket
import time
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest

from audit.models import ActionExecution
from gateway import projects, source
from gateway.models import ProjectTool
from gateway.openapi.wire import names
from tests.drivers import grants
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site, serving
from tests.gateway import shop
from tests.gateway.shop import Shop

UNKNOWN = "The outcome is unknown"


def text_of_call(shop: Shop, tool: str, **arguments: object) -> str:
    """The first text block of a result, which may be a failure."""
    reply = shop.mcp.call(tool, arguments)
    return str(reply.result["content"][0]["text"])


def test_tools_are_listed_and_a_read_returns_what_the_api_says(open_shop: Shop) -> None:
    open_shop.site.script(sites.sending(b'{"items": [1,  2.50]}'))
    assert open_shop.mcp.tool_names() == ["createItem", "getItem", "listItems"]
    assert text_of_call(open_shop, "listItems", q="a b&c") == '{"items": [1,  2.50]}'
    (seen,) = open_shop.site.seen
    assert (seen.method, seen.path, seen.query) == ("GET", "/v1/items", {"q": ["a b&c"]})
    assert "authorization" not in seen.headers
    row = ActionExecution.objects.latest("pk")
    assert (row.surface, row.tool) == (f"gateway:{open_shop.project.pk}", "listItems")
    assert row.outcome == "success"


def test_a_write_sends_the_body_as_json_and_is_recorded_before_it_runs(open_shop: Shop) -> None:
    open_shop.site.script(sites.saying({"id": "7"}, 201))
    assert json.loads(text_of_call(open_shop, "createItem", title="Ink", price=2.5)) == {"id": "7"}
    (seen,) = open_shop.site.seen
    assert (seen.method, seen.path, seen.json) == (
        "POST",
        "/v1/items",
        {"title": "Ink", "price": 2.5},
    )
    assert open_shop.mcp.call("createItem", {"price": 1}).result["isError"]
    assert len(open_shop.site.seen) == 1


def test_an_idempotency_key_is_sent_where_the_operation_has_the_header(
    grant: shop.Grant, site: Site
) -> None:
    described = shop.document()
    described["paths"]["/items"]["post"]["parameters"] = [
        {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    ]
    project = shop.create_project(grant, site, described)
    with shop.endpoint(grant, project) as mcp:
        for _ in range(2):
            mcp.call("createItem", {"title": "Ink"})
        mcp.call("listItems", {})
    keys = [seen.headers.get("idempotency-key") for seen in site.seen]
    assert keys[0]
    assert keys[1] not in {None, keys[0]}
    assert keys[2] is None


def test_what_an_operation_declares_is_read_once_for_all_of_its_calls(
    grant: shop.Grant, site: Site
) -> None:
    described = shop.document()
    words = {"type": "array", "items": {"type": "string"}}
    described["paths"]["/items"]["get"]["parameters"] = [
        {"name": "words", "in": "query", "schema": words}
    ]
    project = shop.create_project(grant, site, described)
    place = patch.object(names, "SchemaPlace", wraps=names.SchemaPlace)
    with shop.endpoint(grant, project) as mcp, place as read:
        for word in ("ink", "paper", "wax"):
            mcp.call("listItems", {"words": [word]})
    assert [seen.query for seen in site.seen] == [{"words": [w]} for w in ("ink", "paper", "wax")]
    assert read.from_schema.call_count == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (sites.sending(b"", 204), "without content"),
        (sites.GARBAGE, "airport"),
        (sites.busy("7"), "7"),
        (sites.saying({"error": "no such item"}, 404), "404"),
        (sites.saying({"detail": "broken"}, 500), "500"),
        (sites.resetting, "gave no answer"),
        (sites.sending(b"{}", headers={"Content-Encoding": "br"}), "gave no answer"),
        (sites.BOMB, "gave no answer: the answer is too large"),
        (sites.sending(b" " * (11 * sites.MEBIBYTE)), "gave no answer: the answer is too large"),
    ],
    ids=["204", "html", "429", "404", "500", "reset", "coding", "bomb", "huge"],
)
def test_an_answer_of_any_kind_becomes_a_result(
    open_shop: Shop, answer: sites.Answer, expected: str
) -> None:
    open_shop.site.script(answer)
    assert expected in text_of_call(open_shop, "listItems")
    open_shop.site.script(answer)
    text = text_of_call(open_shop, "createItem", title="Ink")
    assert expected in text
    assert (UNKNOWN in text) == ("gave no answer" in expected)


def test_a_large_list_is_cut_at_whole_items(open_shop: Shop) -> None:
    items = [{"id": number, "text": "x" * 1_000} for number in range(3_000)]
    open_shop.site.script(sites.saying(items))
    content = open_shop.mcp.call("listItems", {}).result["content"]
    kept = json.loads(content[0]["text"])
    assert kept == items[: len(kept)]
    assert 0 < len(kept) < len(items)
    assert "cut" in content[-1]["text"].lower() or "items" in content[-1]["text"]


def test_a_slow_api_is_given_up_and_a_write_to_it_has_an_unknown_outcome(
    open_shop: Shop, settings: Any
) -> None:
    settings.HALO_GATEWAY_TIMEOUT_SECONDS = 1
    for answer in (sites.silent(open_shop.site.over), sites.dripping(open_shop.site.over)):
        open_shop.site.script(answer)
        began = time.monotonic()
        assert "did not respond in time" in text_of_call(open_shop, "listItems")
        assert time.monotonic() - began < 10
    open_shop.site.script(sites.silent(open_shop.site.over))
    assert UNKNOWN in text_of_call(open_shop, "createItem", title="Ink")


def test_a_connection_that_was_never_made_has_a_known_outcome(
    grant: shop.Grant, site: Site
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    project = shop.create_project(grant, site, target_url=f"http://127.0.0.1:{port}")
    with shop.endpoint(grant, project) as mcp:
        text = mcp.call("createItem", {"title": "Ink"}).result["content"][0]["text"]
    assert "the connection failed" in text
    assert UNKNOWN not in text


def test_an_answer_that_ends_before_its_length_is_a_failure(open_shop: Shop) -> None:
    def short(handler: Any) -> None:
        handler.send_response_only(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"a": 1}')

    open_shop.site.script(short)
    assert "gave no answer" in text_of_call(open_shop, "listItems")


@pytest.mark.parametrize("elsewhere", ["http://169.254.169.254/latest", "https://evil.example/x"])
def test_a_redirect_is_not_followed(open_shop: Shop, elsewhere: str) -> None:
    moved = {"Location": f"{elsewhere}?token=s3cret"}
    for status in (301, 302, 303, 307, 308):
        open_shop.site.script(sites.sending(b"", status, moved))
        result = open_shop.mcp.call("createItem", {"title": "Ink"}).result
        text = result["content"][0]["text"]
        assert result["isError"]
        assert str(status) in text
        assert elsewhere in text
        assert "s3cret" not in text
        assert (UNKNOWN in text) == (status < 307)
    assert {seen.method for seen in open_shop.site.seen} == {"POST"}


def test_a_read_that_is_redirected_says_where_to(open_shop: Shop) -> None:
    open_shop.site.script(sites.sending(b"", 307, {"Location": "https://files.example/a.pdf"}))
    result = open_shop.mcp.call("getItem", {"id": "7"}).result
    assert not result.get("isError")
    assert "https://files.example/a.pdf" in result["content"][0]["text"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_read_is_followed_within_its_origin(open_shop: Shop, status: int) -> None:
    for location in ("/v1/items/8?full=1", f"{open_shop.site.url}/v2/renamed"):
        moved = sites.sending(b"moved", status, {"Location": location})
        open_shop.site.script(moved, sites.saying({"id": "8"}))
        result = open_shop.mcp.call("getItem", {"id": "7"}).result
        assert not result["isError"]
        assert json.loads(result["content"][0]["text"]) == {"id": "8"}
        before, after = open_shop.site.seen[-2:]
        assert (before.path, after.path) == ("/v1/items/7", urlsplit(location).path)
        assert after.headers == before.headers


def test_a_read_that_is_redirected_in_a_circle_has_failed(open_shop: Shop) -> None:
    open_shop.site.usual = sites.sending(b"", 302, {"Location": "/v1/items/7"})
    result = open_shop.mcp.call("getItem", {"id": "7"}).result
    assert result["isError"]
    assert "redirected the request more than 3 times" in result["content"][0]["text"]
    assert len(open_shop.site.seen) == 4


def test_a_get_that_is_no_read_is_not_repeated_elsewhere(open_shop: Shop) -> None:
    ProjectTool.objects.filter(project=open_shop.project, name="getItem").update(is_read=False)
    projects.touch(open_shop.project.pk)
    open_shop.site.script(sites.sending(b"", 302, {"Location": "/v1/items/8"}))
    result = open_shop.mcp.call("getItem", {"id": "7"}).result
    assert result["isError"]
    assert "which was not followed" in result["content"][0]["text"]
    assert len(open_shop.site.seen) == 1


def test_a_redirect_to_another_origin_takes_no_credential_along(
    open_shop: Shop,
) -> None:
    with serving(Site()) as other:
        open_shop.site.script(sites.sending(b"", 302, {"Location": other.url}))
        text_of_call(open_shop, "listItems")
        assert other.seen == []


@pytest.mark.parametrize("hosts", [frozenset(), frozenset({"127.0.0.1:1"})])
def test_private_addresses_are_refused_unless_an_operator_named_them(
    open_shop: Shop, settings: Any, hosts: frozenset[str]
) -> None:
    settings.HALO_GATEWAY_PRIVATE_HOSTS = hosts
    assert "gave no answer: only https URLs are fetched" in text_of_call(open_shop, "listItems")
    assert open_shop.site.seen == []


def test_another_organization_has_no_tool_of_a_project(open_shop: Shop) -> None:
    stranger = grants.make_grant()
    client = open_shop.mcp.holding(stranger.token())
    assert client.tool_names() == []
    assert client.call("listItems", {}).code == open_shop.mcp.call("noSuchTool", {}).code


def test_a_change_of_the_tools_is_seen_by_the_next_request(open_shop: Shop) -> None:
    tools = {row.name: row for row in open_shop.project.tools.all()}
    rest = [row.pk for name, row in tools.items() if name != "getItem"]
    projects.set_tools(open_shop.project, enabled=rest, reads=[], by=None)
    assert open_shop.mcp.tool_names() == ["createItem", "listItems"]
    assert open_shop.mcp.call("getItem", {"id": "1"}).code == -32601
    ProjectTool.objects.filter(name="listItems").update(needs_review=True)
    projects.touch(open_shop.project.pk)
    assert open_shop.mcp.tool_names() == ["createItem"]
    refused = open_shop.mcp.call("listItems", {})
    assert refused.error["data"] == {"reason": "tool_changed", "layer": "tool"}


def test_a_tool_that_has_not_changed_is_the_same_object(open_shop: Shop) -> None:
    offered = shop.ProjectSource(open_shop.project.pk)
    organization = open_shop.grant.organization.pk
    before = {tool.name: tool for tool in offered.tools(organization)}
    row = ProjectTool.objects.get(name="getItem")
    row.is_read = False
    row.save()
    projects.touch(open_shop.project.pk)
    after = {tool.name: tool for tool in offered.tools(organization)}
    assert after["listItems"] is before["listItems"]
    assert after["getItem"].mutates
    assert not before["getItem"].mutates


def test_addresses_of_projects_that_do_not_exist_push_out_no_tools(open_shop: Shop) -> None:
    organization = open_shop.grant.organization.pk
    before = shop.ProjectSource(open_shop.project.pk).tools(organization)
    for number in range(source.MAX_LOADED + 1):
        assert shop.ProjectSource(f"unknown{number}").tools(organization) == ()
    after = shop.ProjectSource(open_shop.project.pk).tools(organization)
    assert before
    assert [tool is same for tool, same in zip(after, before, strict=True)] == [True] * len(before)


def test_a_tool_that_was_stored_with_costly_patterns_refuses_calls(
    grant: shop.Grant, site: Site
) -> None:
    project = shop.create_project(grant, site)
    row = ProjectTool.objects.get(project=project, name="listItems")
    row.operation["full_schema"]["properties"]["q"]["pattern"] = r"^\p{Han}{1,300}$"
    row.save()
    with shop.endpoint(grant, project) as mcp:
        reply = mcp.call("listItems", {"q": "a"})
    assert b"cannot be checked" in reply.body
    assert site.seen == []


ALTERNATIVES = {"type": "array", "items": {"oneOf": [{"const": at} for at in range(700)]}}
PATTERNS = {"type": "string", "allOf": [{"pattern": f"^b|{at}"} for at in range(400)]}


@pytest.mark.parametrize(
    ("described", "large", "small"),
    [(ALTERNATIVES, [5] * 7_500, [5] * 50), (PATTERNS, "b" * 130_000, "b" * 500)],
    ids=["alternatives", "patterns"],
)
def test_arguments_that_would_take_long_to_validate_are_refused(
    grant: shop.Grant, site: Site, described: Any, large: Any, small: Any
) -> None:
    project = shop.create_project(grant, site)
    row = ProjectTool.objects.get(project=project, name="listItems")
    row.operation["full_schema"]["properties"]["q"] = described
    row.save()
    with shop.endpoint(grant, project) as mcp:
        refused = mcp.call("listItems", {"q": large})
        facts = json.loads(refused.result["content"][0]["text"])
        assert (facts["code"], facts["field"]) == (-32602, "arguments")
        assert "too many or too long" in facts["message"]
        assert site.seen == []
        mcp.call("listItems", {"q": small})
    assert len(site.seen) == 1
