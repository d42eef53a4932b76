"""The API that `./run bench gateway` calls: one book as JSON, from memory."""

import json
from typing import Any, Final

BOOK: Final = {
    "id": 7,
    "title": "Invisible Cities",
    "author": "Italo Calvino",
    "price": {"amount": 1050, "currency": "EUR"},
    "in_stock": True,
}
BODY: Final = json.dumps(BOOK).encode()
HEADERS: Final = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
PARAMETER: Final = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}


def document(target: str) -> dict[str, Any]:
    """The OpenAPI document of the API at an address."""
    response = {"description": "The book.", "content": {"application/json": {}}}
    operation = {
        "operationId": "get_book",
        "summary": "Get a book",
        "parameters": [PARAMETER],
        "responses": {"200": response},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Books", "version": "1"},
        "servers": [{"url": target}],
        "paths": {"/books/{id}": {"get": operation}},
    }


async def application(scope: Any, receive: Any, send: Any) -> None:
    """The ASGI application."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})
