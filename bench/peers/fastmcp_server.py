"""FastMCP's servers: stateless, JSON instead of event streams.

Two factories for uvicorn: `empty` has one tool and its token in memory, `of_openapi` the operations
of an OpenAPI document as tools and no token.
"""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import httpx2
from bearer import Application, Bearer, in_memory
from fastmcp import FastMCP
from pydantic import Field

from bench import work
from bench.protocol import PATH

Name = Annotated[str, Field(min_length=1, max_length=100)]


def empty() -> Application:
    recorded = work.read()
    (tool,) = recorded.tools
    server = FastMCP("bench", version="1.0")

    # Async: others it would send to a thread.
    @server.tool(name=tool, output_schema=None)
    async def hello(name: Name) -> str:
        return json.dumps({"greeting": f"Hello, {name}."}, indent=2)

    application = server.http_app(path=PATH, stateless_http=True, json_response=True)
    return Bearer(in_memory(recorded.token), lifespan=application, requests=application)


def of_openapi() -> Any:
    document = json.loads(Path(os.environ["BENCH_DOCUMENT"]).read_text())
    client = httpx2.AsyncClient(base_url=document["servers"][0]["url"])
    server = FastMCP.from_openapi(openapi_spec=document, client=client, name="bench")
    return server.http_app(path=PATH, stateless_http=True, json_response=True)
