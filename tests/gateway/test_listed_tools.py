"""What `tools/list` holds of a project: all its tools at once, and what their arguments may be."""

from typing import Any

from tests.drivers.fake_vendors.site import Site
from tests.gateway import shop


def many(number: int) -> dict[str, Any]:
    return {
        f"/things/{one}": {
            "get": {
                "operationId": f"getThing{one}",
                "summary": f"Returns thing {one}.",
                "responses": {"200": {"description": "Found."}},
            }
        }
        for one in range(number)
    }


def test_a_project_of_hundreds_of_tools_is_one_page(grant: shop.Grant, site: Site) -> None:
    project = shop.create_project(grant, site, shop.document(paths=many(250)))
    with shop.endpoint(grant, project) as mcp:
        listed = mcp.request("tools/list").result
    assert len(listed["tools"]) == 250
    assert "nextCursor" not in listed


LIMITED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "exclusive-of-3.0": (
        {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        {"type": "number", "description": "Greater than 0."},
    ),
    "exclusive-of-3.1": (
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9, "description": "Size"},
        {"type": "integer", "description": "Size. Greater than 0. Less than 9."},
    ),
    "multiple": (
        {"type": "integer", "multipleOf": 5, "minimum": 5},
        {"type": "integer", "minimum": 5, "description": "A multiple of 5."},
    ),
    "unique": (
        {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        {"type": "array", "items": {"type": "string"}, "description": "No item twice."},
    ),
    "members": (
        {"type": "object", "minProperties": 1, "maxProperties": 3},
        {"type": "object", "description": "Members: at least 1. Members: at most 3."},
    ),
    "nullable": (
        {"type": ["number", "null"], "multipleOf": 0.5},
        {
            "anyOf": [{"type": "number"}, {"type": "null"}],
            "description": "A multiple of 0.5.",
        },
    ),
    "of-another-type": (
        {"type": "string", "multipleOf": 5, "uniqueItems": True},
        {"type": "string"},
    ),
    "numbers-by-title": (
        {"oneOf": [{"const": 1, "title": "one"}, {"const": 2, "title": "two"}]},
        {
            "anyOf": [
                {"type": "integer", "description": "one. One of: 1."},
                {"type": "integer", "description": "two. One of: 2."},
            ]
        },
    ),
    "choices-of-numbers": (
        {"enum": [0.5, 1]},
        {"type": "number", "description": "One of: 0.5, 1."},
    ),
    "one-boolean": ({"const": True}, {"type": "boolean", "description": "One of: true."}),
}


def test_what_is_checked_of_an_argument_is_listed(grant: shop.Grant, site: Site) -> None:
    schema = {"type": "object", "properties": {name: one for name, (one, _) in LIMITED.items()}}
    described = shop.document()
    described["paths"]["/items"]["post"]["requestBody"] = {
        "content": {"application/json": {"schema": schema}}
    }
    project = shop.create_project(grant, site, described)
    with shop.endpoint(grant, project) as mcp:
        tools = mcp.request("tools/list").result["tools"]
    (tool,) = (one for one in tools if one["name"] == "createItem")
    listed = tool["inputSchema"]["properties"]
    assert listed == {name: one for name, (_, one) in LIMITED.items()}
