"""FastMCP's server, empty: stateless, JSON instead of event streams, one tool, a token by heart."""

import json
from typing import Annotated, Final

import order
from bearer import Application, Bearer, in_memory
from fastmcp import FastMCP
from pydantic import Field

PATH: Final = "/api/mcp"

Name = Annotated[str, Field(min_length=1, max_length=100)]


def empty() -> Application:
    given = order.read()
    (tool,) = given.tools()
    server = FastMCP("bench", version="1.0")

    # Async: others it would send to a thread.
    @server.tool(name=tool.name, output_schema=None)
    async def hello(name: Name) -> str:
        return json.dumps({"greeting": f"Hello, {name}."}, indent=2)

    application = server.http_app(path=PATH, stateless_http=True, json_response=True)
    return Bearer(in_memory(given.token), lives=application, serves=application)
