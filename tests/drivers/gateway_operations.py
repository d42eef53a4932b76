"""Operations as an import of an OpenAPI document gives them, made by hand."""

from typing import Any

from gateway.openapi.shapes import OpenApiOperation, Parameter, Place

STYLES: dict[str, Any] = {
    "path": ("simple", False),
    "query": ("form", True),
    "header": ("simple", False),
    "cookie": ("form", True),
}


def operation(**changes: Any) -> OpenApiOperation:
    """A GET of /things, changed as said."""
    facts = {
        "key": "GET /things",
        "name": "list_things",
        "operation_id": "listThings",
        "method": "get",
        "path": "/things",
        "title": "List things",
        "description": "",
        "full_schema": {"type": "object"},
        "listed_schema": {"type": "object", "properties": {}},
    }
    return OpenApiOperation(**(facts | changes))


def parameter(name: str, place: Place, **changes: Any) -> Parameter:
    """A parameter with the style that its place has by default (OpenAPI 3.1.1)."""
    style, explode = STYLES[place]
    facts = {"argument": name, "name": name, "place": place, "style": style, "explode": explode}
    return Parameter(**(facts | changes))
