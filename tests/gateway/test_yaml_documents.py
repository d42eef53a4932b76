"""Documents in YAML: what their authors write without quotes where text is meant."""

from typing import Any

from gateway import projects
from tests.drivers.fake_vendors.site import Site
from tests.gateway import shop

DOCUMENT = """
openapi: 3.1.0
info: {title: Shop, version: 1.10}
x-versions: &versions [1.10, 2, "3"]
x-usual: &usual 1.10
paths:
  /items:
    get:
      operationId: listItems
      parameters:
        - name: version
          in: query
          schema: {enum: [1.10, 1e3, 0123, true, x], default: 1.10, type: string}
        - name: code
          in: query
          schema: {type: string, default: 0123}
        - name: shared
          in: query
          schema: {type: [string, "null"], enum: *versions, default: *usual}
        - name: maybe
          in: query
          schema: {type: string, nullable: true, enum: [0x1F, 1_000, 1.0, null]}
        - {name: number, in: query, schema: {type: number, enum: [1.10, 2], default: 1.10}}
        - {name: either, in: query, schema: {type: [string, number], default: 1.10}}
        - {name: count, in: query, schema: {type: integer, enum: *versions}}
      responses: {"200": {description: Found.}}
"""


def test_choices_and_defaults_of_text_are_as_they_are_written(
    grant: shop.Grant, site: Site
) -> None:
    project = projects.create(
        grant.organization,
        owner=grant.user,
        document_text=DOCUMENT,
        name="Shop",
        target_url=f"{site.url}/v1",
        policy="allow",
    ).project
    with shop.endpoint(grant, project) as mcp:
        (tool,) = mcp.request("tools/list").result["tools"]
        given = {"version": "1.10", "code": "0123", "shared": "2", "maybe": "1.0", "number": 1.1}
        reply = mcp.call("listItems", given)
        refused = mcp.call("listItems", {"version": "1.1"})
    listed: dict[str, Any] = tool["inputSchema"]["properties"]
    assert listed["version"] == {
        "type": "string", "enum": ["1.10", "1e3", "0123", "true", "x"], "default": "1.10",
    }  # fmt: skip
    assert listed["code"] == {"type": "string", "default": "0123"}
    assert listed["shared"]["anyOf"][0]["enum"] == ["1.10", "2", "3"]
    assert listed["shared"]["default"] == "1.10"
    assert listed["maybe"]["anyOf"] == [
        {"type": "string", "enum": ["0x1F", "1_000", "1.0"]},
        {"type": "null"},
    ]
    assert listed["number"]["default"] == 1.1
    assert listed["either"]["default"] == 1.1
    assert listed["count"]["description"] == "One of: 1.1, 2, 3."
    assert not reply.result["isError"], reply.body
    (seen,) = site.seen
    assert seen.query == {name: [str(value)] for name, value in given.items()}
    assert refused.result["isError"]
