"""FastMCP's server over an OpenAPI document: stateless, JSON instead of event streams, no token."""

import json
import os
from pathlib import Path
from typing import Any

import httpx2
from fastmcp import FastMCP


def application() -> Any:
    document = json.loads(Path(os.environ["BENCH_DOCUMENT"]).read_text())
    client = httpx2.AsyncClient(base_url=os.environ["BENCH_TARGET"])
    server = FastMCP.from_openapi(openapi_spec=document, client=client, name="bench")
    return server.http_app(path="/mcp", stateless_http=True, json_response=True)
