"""The suite's `authorization` command against the real server process.

The suite prints the address that a person has to open and waits for the browser on a callback of
its own, so a person stands by who signs in, approves and goes where the server sends them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import httpx2

from tests.conformance import suite, verdict
from tests.conformance.verdict import Report
from tests.drivers.person import Person
from tests.drivers.server import RAISED, Server, free_port, running

REQUIRED: Final = {
    "authorization-server-metadata-endpoint": (
        "authorization-server-metadata",
        "authorization-server-metadata-cimd",
    ),
    "authorization-code-grant": ("authorization-code-grant",),
}


def report(command: Sequence[str], folder: Path) -> Report:
    """Start a server in an empty folder and run the suite on it."""
    with running(folder, RAISED) as server:
        return run(server, command, folder / "results")


def run(server: Server, command: Sequence[str], results: Path) -> Report:
    """Run the suite on a server; its results go to a folder, which it makes."""
    port = free_port()
    words = ["authorization", "--url", server.url, "--port", str(port)]
    words += ["--client-id", client_of(server, f"http://127.0.0.1:{port}/callback")]
    with suite.start_program([*command, *words, "--output-dir", str(results)]) as output:
        printed = attend(output, f"{server.mcp_url}/oauth/authorize?")
    return Report(verdict.add_missing(REQUIRED, verdict.read(results)), printed)


def client_of(server: Server, redirect_uri: str) -> str:
    """Register the client that the suite is going to be.

    A public one: the suite sends no secret to a server that offers "none" next to other methods.
    """
    asked = {
        "client_name": "MCP conformance",
        "redirect_uris": [redirect_uri],
        "token_endpoint_auth_method": "none",
    }
    reply = httpx2.post(f"{server.mcp_url}/oauth/register", json=asked, timeout=30)
    reply.raise_for_status()
    return str(reply.json()["client_id"])


def attend(output: IO[str], authorize: str) -> str:
    """Be the suite's person when it asks for one; returns all that it printed."""
    printed = []
    for line in output:
        printed.append(line)
        if line.startswith(authorize):
            Person().visit(line.strip())
    return "".join(printed)
