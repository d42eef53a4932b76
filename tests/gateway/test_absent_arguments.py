"""Arguments that models fill in with null or empty text in place of leaving them out."""

from typing import Any

import pytest

from gateway.models import ProjectTool
from tests.drivers.fake_vendors.site import Site
from tests.gateway import shop

PARAMETERS = [
    {"name": "q", "in": "query", "schema": {"type": "string"}},
    {"name": "limit", "in": "query", "schema": {"type": "integer"}},
    {"name": "state", "in": "query", "schema": {"type": "string", "enum": ["open", "closed"]}},
    {"name": "any", "in": "query", "schema": {"type": "string", "enum": ["", "x"]}},
    {"name": "acl", "in": "query", "allowEmptyValue": True, "schema": {"type": "string"}},
    {"name": "X-Region", "in": "header", "schema": {"type": "string"}},
    {
        "name": "note",
        "in": "query",
        "schema": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Note"},
    },
    {"name": "sort", "in": "query", "schema": {"$ref": "#/components/schemas/Word"}},
    {"name": "term", "in": "query", "required": True, "schema": {"type": "string"}},
]


def listing(grant: shop.Grant, site: Site) -> Any:
    described = shop.document(components={"schemas": {"Word": {"type": "string"}}})
    described["paths"]["/items"]["get"]["parameters"] = PARAMETERS
    return shop.create_project(grant, site, described)


@pytest.mark.parametrize("empty", ["", None], ids=["text", "null"])
def test_empty_text_for_an_optional_parameter_counts_as_absent(
    grant: shop.Grant, site: Site, empty: str | None
) -> None:
    given = {"q": empty, "limit": empty, "state": empty, "X-Region": empty, "term": "x"}
    given |= {"note": empty, "sort": empty}
    with shop.endpoint(grant, listing(grant, site)) as mcp:
        reply = mcp.call("listItems", given)
    assert not reply.result["isError"], reply.body
    (seen,) = site.seen
    assert "x-region" not in seen.headers
    assert seen.query == {"term": ["x"]}


def test_empty_text_is_sent_where_the_document_takes_it(grant: shop.Grant, site: Site) -> None:
    with shop.endpoint(grant, listing(grant, site)) as mcp:
        reply = mcp.call("listItems", {"acl": "", "any": "", "term": ""})
        assert not reply.result["isError"], reply.body
        mcp.call("createItem", {"title": ""})
    read, write = site.seen
    assert read.query == {"acl": [""], "any": [""], "term": [""]}
    assert write.json == {"title": ""}


def test_a_tool_of_an_earlier_version_sends_what_it_is_given(grant: shop.Grant, site: Site) -> None:
    project = listing(grant, site)
    row = ProjectTool.objects.get(project=project, name="listItems")
    del row.operation["may_be_empty"]
    row.save()
    with shop.endpoint(grant, project) as mcp:
        mcp.call("listItems", {"q": "", "acl": "", "term": "x"})
    (seen,) = site.seen
    assert seen.query == {"q": [""], "acl": [""], "term": ["x"]}
