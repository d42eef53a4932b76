"""`./run bench gateway`: tools/call of a read that runs at once, with the API on loopback.

In turns: this server's gateway, a bare loop of httpx in one process that calls the API itself, and
FastMCP's server over the same OpenAPI document. Then calls of this server's gateway while another
project of the organization has all the calls in progress that it may have, to an API that hangs.

Exits with 1 if a response was wrong, a call of ours has no audit row or the full pool slows down
the calls of the other project, with 2 if a server cannot be started, with 3 if the machine was too
busy.
"""

import argparse
import io
import json
import sys
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from bench import full_pool, harness, load, peer_environment, protocol, servers
from bench.comparison import Comparison, Contestant, Way
from bench.harness import Bench
from bench.measures import Turn
from bench.protocol import Request
from bench.servers import Server

LIMITS: Final = ("GATEWAY_CALL", "GATEWAY_LIST", "GATEWAY_OTHER")
# A project may have a quarter of the calls to APIs.
SETTINGS: Final = {"HALO_VENDOR_CALLS": "64"}
HANGING: Final = "/hanging"
SERVERS: Final = ("ours", "httpx", "fastmcp")
# Exit codes, the least severe first.
SEVERITY: Final = (harness.GOOD, harness.NOISY, harness.MISSED)
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


async def api(scope: Any, receive: Any, send: Any) -> None:
    """The API that is called, an ASGI application: one book as JSON, from memory.

    Below HANGING it never answers.
    """
    assert scope["type"] == "http"  # noqa: S101  uvicorn goes on without a lifespan
    if scope["path"].startswith(HANGING):
        while (await receive())["type"] != "http.disconnect":
            pass
        return
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
        code = comparison.report()
        ours = contestants.get("ours")
        if ours is None or code == harness.MISSED:
            return code
        url, request = _hanging_project(document, api_server.url, ours)
        return max(code, full_pool.compare(bench, ours, WAY, url, request), key=SEVERITY.index)


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
        project = _import_project(document, api_server.url, tenant_slug())
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


def _hanging_project(document: Path, api_url: str, ours: Contestant) -> tuple[str, Request]:
    """The address of another project of the organization, whose API hangs, and a call of it."""
    project = _import_project(document, api_url + HANGING, tenant_slug(), "--name", "Hanging")
    origin = ours.url.removesuffix(urlsplit(ours.url).path)
    tool, revision = WAY
    request = protocol.call_tool(revision, tool, {"id": BOOK["id"]}, project["token"])
    return origin + urlsplit(project["mcp_url"]).path, request


@cache
def tenant_slug() -> str:
    """The organization of all projects of a run."""
    from bench import tenant  # noqa: PLC0415  settings first

    return tenant.create_organization().slug


def _import_project(document: Path, target: str, slug: str, *more: str) -> dict[str, Any]:
    """A project whose calls run at once, imported as an operator does."""
    from django.core.management import call_command  # noqa: PLC0415  settings first

    words = ["import", str(document), "--target", target, "--policy", "allow", "--json"]
    words += ["--organization", slug, *more]
    printed = io.StringIO()
    call_command("gateway", *words, stdout=printed)
    project: dict[str, Any] = json.loads(printed.getvalue())
    return project


if __name__ == "__main__":
    harness.run(main)
