"""Arguments as models write them: null for what is left out, and values as text."""

from typing import Any

import pytest

from approvals.models import ApprovalRequest
from gateway.models import PolicyRule, Project
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.fake_vendors.site import Seen, Site
from tests.drivers.grants import Grant
from tests.gateway import shop
from tests.gateway.test_project_pages import browser_of

TEXT, WHOLE, NUMBER, FLAG = ({"type": one} for one in ("string", "integer", "number", "boolean"))
SCHEMAS = {
    "Size": WHOLE,
    "Maybe": {"anyOf": [WHOLE, {"type": "null"}]},
    "Deep": {"$ref": "#/components/schemas/Size"},
}
LINE = {
    "type": "object",
    "properties": {"count": WHOLE, "gift": FLAG, "note": TEXT},
    "required": ["count"],
}
IBAN = {
    "type": "object",
    "properties": {"iban": TEXT},
    "required": ["iban"],
    "additionalProperties": False,
}
ORDER = {
    "type": "object",
    "properties": {
        "title": TEXT,
        "weight": NUMBER,
        "size": {"$ref": "#/components/schemas/Deep"},
        "maybe": {"$ref": "#/components/schemas/Maybe"},
        "either": {"oneOf": [WHOLE, TEXT]},
        "grade": {"enum": [1, 2.5]},
        "urgent": FLAG,
        "codes": {"type": "array", "items": WHOLE},
        "words": {"type": "array", "items": TEXT},
        "lines": {"type": "array", "items": LINE},
        "pay": {"anyOf": [{**LINE, "additionalProperties": False}, IBAN]},
        "meta": {"type": "object", "additionalProperties": WHOLE},
        "big": {"type": "integer", "format": "int64"},
    },
    "additionalProperties": False,
}
READ: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "number": ({"weight": "-12.50"}, {"weight": -12.5}),
    "whole-number": ({"weight": "3.00", "size": "40"}, {"weight": 3, "size": 40}),
    "boolean": ({"urgent": "False"}, {"urgent": False}),
    "list": ({"codes": "[4, 5]"}, {"codes": [4, 5]}),
    "items": ({"codes": ["4", 5]}, {"codes": [4, 5]}),
    "list-of-texts": ({"words": '["4", "true"]'}, {"words": ["4", "true"]}),
    "nested": (
        {"lines": '[{"count": "2", "gift": "true", "note": "7"}]'},
        {"lines": [{"count": 2, "gift": True, "note": "7"}]},
    ),
    "in-an-alternative": ({"pay": {"count": "2"}}, {"pay": {"count": 2}}),
    "nullable": ({"maybe": "7", "urgent": "true"}, {"maybe": 7, "urgent": True}),
    "enum": ({"grade": "2.5"}, {"grade": 2.5}),
    "any-member": ({"meta": {"a": "1"}}, {"meta": {"a": 1}}),
    "null": ({"title": None, "urgent": True}, {"urgent": True}),
    "null-inside": (
        {"lines": [{"count": 1, "gift": None}], "title": "a"},
        {"lines": [{"count": 1}], "title": "a"},
    ),
    "null-in-an-alternative": ({"pay": {"count": 1, "note": None}}, {"pay": {"count": 1}}),
    "null-that-is-a-value": ({"maybe": None, "title": None}, {"maybe": None}),
    # The schema takes text: the text stays, also next to one that is read.
    "text-stays": (
        {"title": "5", "either": "6", "size": "1"},
        {"title": "5", "either": "6", "size": 1},
    ),
    "long-number-stays": (
        {"big": "9007199254740993", "size": "1"},
        {"big": "9007199254740993", "size": 1},
    ),
}
REFUSED = {
    "leading-zero": {"size": "007"},
    "part-of-a-number": {"weight": "1,000"},
    "exponent": {"weight": "1e3"},
    "fraction-of-a-whole-number": {"size": "1.5"},
    "word": {"urgent": "yes"},
    "digit-for-a-boolean": {"urgent": "1"},
    "words-for-a-list": {"words": "a, b"},
    "object-for-a-list": {"codes": "{}"},
    "item": {"codes": '["x"]'},
    "null-that-is-required": {"lines": [{"count": None}]},
}


def document() -> dict[str, Any]:
    described = shop.document(components={"schemas": SCHEMAS})
    post = described["paths"]["/items"]["post"]
    post["requestBody"] = {"content": {"application/json": {"schema": ORDER}}}
    described["paths"]["/items"]["get"]["parameters"] = [
        {"name": "limit", "in": "query", "schema": WHOLE},
        {"name": "sort", "in": "query", "schema": TEXT},
        {"name": "ids", "in": "query", "schema": {"type": "array", "items": WHOLE}},
    ]
    return described


def call_and_get_request(
    grant: Grant, site: Site, tool: str, arguments: dict[str, Any]
) -> Seen | None:
    with shop.endpoint(grant, shop.create_project(grant, site, document())) as mcp:
        mcp.call(tool, arguments)
    return site.seen[0] if site.seen else None


@pytest.mark.parametrize(("given", "body"), READ.values(), ids=READ)
def test_what_a_model_writes_is_read_as_the_schema_wants(
    grant: Grant, site: Site, given: dict[str, Any], body: dict[str, Any]
) -> None:
    seen = call_and_get_request(grant, site, "createItem", given)
    assert seen is not None
    assert repr(sorted(seen.json.items())) == repr(sorted(body.items()))


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_what_could_mean_more_than_one_thing_is_refused(
    grant: Grant, site: Site, given: dict[str, Any]
) -> None:
    assert call_and_get_request(grant, site, "createItem", given) is None


def test_parameters_are_read_in_the_same_way(grant: Grant, site: Site) -> None:
    arguments = {"limit": "20", "sort": None, "ids": "[1, 2]"}
    seen = call_and_get_request(grant, site, "listItems", arguments)
    assert seen is not None
    assert seen.query == {"limit": ["20"], "ids": ["1", "2"]}


def test_an_approver_and_a_rule_read_what_is_sent(grant: Grant, site: Site) -> None:
    project = shop.create_project(grant, site, document())
    Project.objects.update(self_approval=True)
    PolicyRule.objects.create(
        project=project,
        position=0,
        pattern="createItem",
        effect="require_approval",
        conditions=[{"pointer": "/weight", "operator": ">", "value": 100}],
    )
    path = f"/{project.pk}"
    token = mcp_tokens.issue(grant.user, grant.organization, path, name="x", days=0, address="")
    mcp = project_rows.client(path, token.secret)
    first = mcp.call("createItem", {"weight": "150", "codes": "[1]"}).facts
    second = mcp.call("createItem", {"weight": 150, "codes": [1], "title": None}).facts
    assert first["requestId"] == second["requestId"]
    row = ApprovalRequest.objects.get()
    assert row.arguments == {"weight": 150, "codes": [1]}
    browser_of(grant.user).post(f"/requests/{row.pk}/approve")
    mcp.call("createItem", {"weight": "99"})
    assert [seen.json for seen in site.seen] == [{"weight": 150, "codes": [1]}, {"weight": 99}]
