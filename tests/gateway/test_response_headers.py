"""What a result says of the headers of the API's response: ids, versions, totals, the next page."""

import json
from typing import Any

import pytest

from gateway import credentials
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site
from tests.drivers.schemas import conforms
from tests.gateway import shop
from tests.gateway.shop import Shop

SECRET = "s3cret-k3y"


def listing(parameters: list[dict[str, Any]], **found: Any) -> dict[str, Any]:
    described = shop.document()
    described["paths"]["/items"]["get"] = {
        "operationId": "listItems",
        "parameters": parameters,
        "responses": {"200": {"description": "Found.", **found}},
    }
    return described


def query(name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, **more}


PAGED = [
    query("q", {"type": "string"}),
    query("page", {"type": "integer"}),
    query("per_page", {"type": "integer", "minimum": 1}),
    query("tags", {"type": "array", "items": {"type": "string"}}),
    query("archived", {"type": "boolean"}),
    query("since", {"type": "string", "format": "date"}),
    query(
        "at",
        {"type": "object", "properties": {"number": {"type": "integer"}}},
        style="deepObject",
    ),
]


def call_with_headers(
    opened: Shop, tool: str = "listItems", arguments: Any = None, **headers: str
) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    opened.site.script(sites.saying([{"id": 1}], headers=named))
    return opened.mcp.call(tool, arguments or {}).result


def test_a_read_has_its_version_and_its_totals(open_shop: Shop) -> None:
    result = call_with_headers(open_shop, ETag='"v3"', X_Total_Count="57", X_Powered_By="Tests")
    shown = {"etag": '"v3"', "x-total-count": "57"}
    assert result["_meta"]["responseHeaders"] == shown
    body, line = (block["text"] for block in result["content"])
    assert body == '[{"id": 1}]'
    assert line == 'Response headers: etag: "v3" | x-total-count: 57'
    assert result["structuredContent"] == {"items": [{"id": 1}]}


@pytest.mark.parametrize("status", [201, 202])
def test_a_change_without_a_body_says_what_was_made(open_shop: Shop, status: int) -> None:
    open_shop.site.script(sites.sending(b"", status, {"Location": "/h/etag/7", "Retry-After": "5"}))
    result = open_shop.mcp.call("createItem", {"title": "Ink"}).result
    assert result["isError"] is False
    assert result["_meta"]["responseHeaders"] == {"location": "/h/etag/7", "retry-after": "5"}
    said, line = (block["text"] for block in result["content"])
    assert said.endswith("without content.")
    assert line == "Response headers: location: /h/etag/7 | retry-after: 5"


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_every_revision_has_the_line_and_meta(open_shop: Shop, revision: Revision) -> None:
    open_shop.site.script(sites.saying({"id": "7"}, headers={"ETag": '"v3"'}))
    reply = open_shop.mcp.with_revision(revision).call("getItem", {"id": "7"})
    conforms(reply.result, revision, "CallToolResult")
    assert reply.result["_meta"]["responseHeaders"] == {"etag": '"v3"'}
    assert reply.result["content"][-1]["text"] == 'Response headers: etag: "v3"'


def test_an_answer_without_such_headers_is_its_body_alone(open_shop: Shop) -> None:
    result = call_with_headers(
        open_shop, Set_Cookie="session=abc", WWW_Authenticate="Basic", Server="x"
    )
    assert len(result["content"]) == 1
    assert "_meta" not in result


def test_headers_that_the_document_declares_are_shown_but_never_cookies(
    grant: shop.Grant, site: Site
) -> None:
    header = {"schema": {"type": "string"}}
    declared = {
        "X-RateLimit-Left": header,
        "Set-Cookie": header,
        "WWW-Authenticate": header,
        "Content-Type": header,
    }
    project = shop.create_project(grant, site, listing([], headers=declared))
    with shop.endpoint(grant, project) as mcp:
        opened = Shop(grant, site, project, mcp)
        result = call_with_headers(
            opened, X_RateLimit_Left="9", Set_Cookie="session=abc", WWW_Authenticate="Basic"
        )
    assert result["_meta"]["responseHeaders"] == {"x-ratelimit-left": "9"}
    assert "abc" not in json.dumps(result)


NEXT: dict[str, tuple[dict[str, Any], str, dict[str, Any] | None]] = {
    "number": ({"q": "ink"}, "/v1/items?q=ink&page=2", {"page": 2}),
    "relative": ({"q": "ink"}, "?q=ink&page=2", {"page": 2}),
    "other-host": ({}, "http://internal:8080/items?page=2", {"page": 2}),
    "other-path-of-the-same-list": ({}, "/repositories/5/items?page=2", {"page": 2}),
    "safe": ({}, "?page=9007199254740991", {"page": 9_007_199_254_740_991}),
    "rounded": ({}, "?page=-9007199254740992", {"page": "-9007199254740992"}),
    "eighteen-digits": ({"q": "a"}, "?q=a&page=765432109876543219", {"page": "765432109876543219"}),
    "more": ({"page": 2}, "?page=3&per_page=50", {"page": 3, "per_page": 50}),
    "left-out": ({"q": "a", "page": 1}, "?page=2", {"page": 2, "q": None}),
    "boolean": ({}, "?archived=true&page=2", {"archived": True, "page": 2}),
    "list": ({"tags": ["a"]}, "?tags=a&tags=b", {"tags": ["a", "b"]}),
    "same-list": ({"tags": ["a", "b"]}, "?tags=a&tags=b&page=2", {"page": 2}),
    "object": ({"at": {"number": 1}}, "?at[number]=2", {"at": {"number": 2}}),
    "undeclared": ({}, "?cursor=abc", None),
    "another-list": ({}, "/v1/orders?page=2", None),
    "itself": ({"page": 2}, "?page=2", None),
    "not-a-number": ({}, "?page=two", None),
    "not-a-url": ({}, "http://[x?page=2", None),
    "no-query": ({}, "/v1/items", None),
}


def test_the_next_page_is_arguments_of_the_same_tool(grant: shop.Grant, site: Site) -> None:
    project = shop.create_project(grant, site, listing(PAGED))
    with shop.endpoint(grant, project) as mcp:
        opened = Shop(grant, site, project, mcp)
        for case, (arguments, link, changed) in NEXT.items():
            header = f'</v1/items>; rel="first", <{link}>; title="a, b"; rel="last next"'
            result = call_with_headers(opened, arguments=arguments, Link=header)
            assert result["_meta"].get("nextPage") == changed, case
            line = result["content"][-1]["text"]
            assert "rel=" in result["_meta"]["responseHeaders"]["link"], case
            assert ("Next page: call again" in line) == (changed is not None), case
            if changed is None:
                continue
            # As they are: null is for an argument that is left out.
            again = call_with_headers(opened, arguments={**arguments, **changed})
            assert again["isError"] is False, case
            wanted = link.partition("?")[2]
            sent = opened.site.seen[-1].query
            assert sorted(f"{name}={one}" for name, of in sent.items() for one in of) == sorted(
                wanted.split("&")
            ), case


@pytest.mark.parametrize(
    "link",
    [
        '<?page=2>; rel="prev"',
        "?page=2; rel=next",
        '<?page=2>; rev="next"',
        "<",
        '<?page=2>; rel="next',
        "," * 5_000,
        "<" * 5_000,
    ],
)
def test_what_is_no_link_to_a_next_page_is_shown_alone(open_shop: Shop, link: str) -> None:
    result = call_with_headers(open_shop, Link=link)
    assert result["isError"] is False
    assert "nextPage" not in result["_meta"]


def test_the_key_of_the_api_is_in_no_header_and_no_argument(grant: shop.Grant, site: Site) -> None:
    described = listing(PAGED)
    described["components"] = {
        "securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "k"}}
    }
    described["security"] = [{"key": []}]
    project = shop.create_project(grant, site, described)
    (scheme,) = credentials.schemes_of(project)
    credentials.store(project, grant.user, scheme, SECRET)
    with shop.endpoint(grant, project) as mcp:
        opened = Shop(grant, site, project, mcp)
        result = call_with_headers(
            opened,
            ETag=f'"{SECRET}"',
            Location=f"https://u:p@x.example/a?token=t1#f-{SECRET}",
            Link=f'<?page=2&k={SECRET}>; rel="next"',
        )
        leaking = call_with_headers(opened, Link=f'<?q={SECRET}>; rel="next"')
    assert SECRET not in json.dumps([result, leaking])
    assert result["_meta"]["nextPage"] == {"page": 2}
    assert result["_meta"]["responseHeaders"]["location"] == "https://x.example/a?token=***"
    assert "nextPage" not in leaking["_meta"]


def test_long_headers_leave_room_for_the_body(open_shop: Shop, settings: Any) -> None:
    settings.HALO_MAX_RESULT_BYTES = 4_000
    rows = [{"id": number, "text": "x" * 50} for number in range(500)]
    long = {f"X-Total-{one}": "y" * 900 for one in ("Count", "Items", "Pages")}
    open_shop.site.script(sites.saying(rows, headers={"ETag": '"v3"', **long}))
    result = open_shop.mcp.call("listItems", {}).result
    assert result["isError"] is False
    kept = json.loads(result["content"][0]["text"])
    assert kept == rows[: len(kept)]
    assert result["_meta"]["responseHeaders"] == {"etag": '"v3"'}


def test_a_repeated_result_has_its_headers_again(open_shop: Shop) -> None:
    open_shop.site.script(sites.sending(b"", 201, {"Location": "/v1/items/7"}))
    meta = {"idempotency_key": "one"}
    first, again = (
        open_shop.mcp.call("createItem", {"title": "Ink"}, meta=meta).result for _ in range(2)
    )
    assert len(open_shop.site.seen) == 1
    assert again["content"] == first["content"]
    assert first["_meta"] == {"responseHeaders": {"location": "/v1/items/7"}}
    assert again["_meta"] == {**first["_meta"], "repeated": True}
