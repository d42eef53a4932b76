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


def test_r110_a_project_of_hundreds_of_tools_is_one_page(grant: shop.Grant, site: Site) -> None:
    project = shop.created(grant, site, shop.document(paths=many(250)))
    with shop.endpoint(grant, project) as mcp:
        listed = mcp.request("tools/list").result
    assert len(listed["tools"]) == 250
    assert "nextCursor" not in listed
