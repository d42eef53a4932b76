"""`./run bench gateway`: tools/call of a read that runs at once, with the API on loopback.

In turns: this server's gateway, a bare loop of httpx in one process that calls the API itself, and
FastMCP's server over the same OpenAPI document. Exits with 1 if a response was wrong or a call of
ours has no audit row, with 2 if a server cannot be started, with 3 if the machine was too busy.
"""

import argparse
import io
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from bench import harness, load, peer_environment, protocol, servers
from bench.comparison import Comparison, Contestant, Way
from bench.harness import Bench
from bench.measures import Turn
from bench.servers import Server

LIMITS: Final = ("GATEWAY_CALL", "GATEWAY_LIST", "GATEWAY_OTHER")
# One organization may have a share of the calls to APIs; here it is alone.
SETTINGS: Final = {"HALO_VENDOR_CALLS": "64"}
SERVERS: Final = ("ours", "httpx", "fastmcp")
WAY: Final = ("get_book", protocol.HANDSHAKE)
BOOK: Final = {
    "id": 7,
    "title": "Invisible Cities",
    "author": "Italo Calvino",
    "price": {"amount": 1050, "currency": "EUR"},
    "in_stock": True,
}
BODY: Final = json.dumps(BOOK).encode()
HEADERS: Final = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
OPERATION: Final = {
    "operationId": "get_book",
    "summary": "Get a book",
    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
    "responses": {"200": {"description": "The book.", "content": {"application/json": {}}}},
}


async def api(scope: Any, _receive: Any, send: Any) -> None:
    """The API that is called, an ASGI application: one book as JSON, from memory."""
    assert scope["type"] == "http"  # noqa: S101  uvicorn goes on without a lifespan
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


class BareLoop(Contestant):
    """As many requests at a time by httpx in this process, without a server between."""

    def drive(self, _way: Way, concurrency: int, seconds: int) -> Turn:
        async def get_book(http: httpx2.AsyncClient) -> bool:
            return bool((await http.get(f"/books/{BOOK['id']}")).json() == BOOK)

        return load.repeat(self.url, get_book, concurrency, seconds)

    def cpu_seconds(self, _bench: Bench) -> dict[str, float]:
        return {"server": time.process_time()}


def main() -> int:
    options = _options()
    with harness.prepare(options, LIMITS, SETTINGS) as bench, ExitStack() as stack:
        python, words = Path(sys.executable), ["bench.gateway:api"]
        api_server = stack.enter_context(servers.serve_uvicorn(python, words, bench.folder, {}))
        info = {"openapi": "3.1.0", "info": {"title": "Books", "version": "1"}}
        paths = {"paths": {"/books/{id}": {"get": OPERATION}}}
        document = bench.folder / "books.json"
        document.write_text(json.dumps({**info, "servers": [{"url": api_server.url}], **paths}))
        contestants = {
            name: _start(bench, name, document, api_server, stack) for name in options.servers
        }
        comparison = Comparison(bench, contestants)
        conditions = f"{options.store}, {options.processes} processes"
        comparison.measure(WAY, conditions, options.concurrency)
        comparison.check_records()
        return comparison.report()


def _options() -> argparse.Namespace:
    numbers = {"seconds": 4, "rounds": 3, "concurrency": 16, "processes": 2}
    parser = harness.options_parser("gateway", __doc__, **numbers)
    parser.add_argument("--servers", default=",".join(SERVERS), help="the first is the baseline")
    options = parser.parse_args()
    options.servers = options.servers.split(",")
    if unknown := set(options.servers) - {*SERVERS}:
        parser.error(f"argument --servers: unknown: {', '.join(sorted(unknown))}")
    return options


def _start(
    bench: Bench, name: str, document: Path, api_server: Server, stack: ExitStack
) -> Contestant:
    """A contestant that has answered rightly. Raises Unready."""
    if name == "httpx":
        return BareLoop(name, api_server.url, api_server, {})
    if name == "ours":
        project = _import_project(document, api_server.url)
        server = stack.enter_context(bench.serve(processes=bench.options.processes))
        path, token = urlsplit(project["mcp_url"]).path, project["token"]
    else:
        environment = {"BENCH_DOCUMENT": str(document)}
        factory = "fastmcp_server:of_openapi"
        serving = peer_environment.serve(factory, 1, bench.folder, environment)
        server, path, token = stack.enter_context(serving), protocol.PATH, "not-read"
    tool, revision = WAY
    requests = {WAY: protocol.call_tool(revision, tool, {"id": BOOK["id"]}, token)}
    contestant = Contestant(name, server.url + path, server, requests, writes=name == "ours")
    text = protocol.result_text(contestant.call(WAY).content)
    if text is None or json.loads(text) != BOOK:
        raise servers.Unready(f"{name} does not answer with the book: {text}")
    contestant.prove(WAY, text)
    return contestant


def _import_project(document: Path, target: str) -> dict[str, Any]:
    """A project whose calls run at once, imported as an operator does."""
    from django.core.management import call_command  # noqa: PLC0415  settings first

    from bench import tenant  # noqa: PLC0415  the same

    words = ["import", str(document), "--target", target, "--policy", "allow", "--json"]
    words += ["--organization", tenant.create_organization().slug]
    printed = io.StringIO()
    call_command("gateway", *words, stdout=printed)
    project: dict[str, Any] = json.loads(printed.getvalue())
    return project


if __name__ == "__main__":
    harness.run(main)
