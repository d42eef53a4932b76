"""A strict client made of oauth4webapi: runs the script of the same name with node."""

import json
import subprocess
from pathlib import Path
from typing import IO, Any

from tests.clients.strict_flow import ASKED, CALLBACK, NARROWED, FlowOutcome, Journey, Refused
from tests.drivers import node

FOLDER = Path(__file__).parent
# The first with the Web Cryptography API where the library looks for it.
LEAST_NODE = 20


def command() -> list[str]:
    """The program and its script. Raises node.Unavailable, with what is lacking."""
    if not (FOLDER / "node_modules" / "oauth4webapi").is_dir():
        raise node.Unavailable("its packages are not installed: npm ci in tests/clients")
    return [node.program(LEAST_NODE), str(FOLDER / "oauth4webapi.mjs")]


def travel(journey: Journey) -> FlowOutcome:
    """Go the whole way. Raises Refused where the person says no or the library objects."""
    words = [journey.mcp_url, journey.auth_method, journey.ending, CALLBACK, ASKED, NARROWED]
    with subprocess.Popen(
        [*command(), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=node.plain_environment(),
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        message = conversation(journey, process.stdout, process.stdin)
        complaint = process.stderr.read()
    assert message, complaint
    if "refused" in message:
        raise Refused(message["refused"])
    return outcome(message["outcome"])


def conversation(journey: Journey, said: IO[str], answers: IO[str]) -> dict[str, Any]:
    """Open what the client wants opened until it has no more to say; returns its last words."""
    message: dict[str, Any] = {}
    for line in said:
        message = json.loads(line)
        if "open" in message:
            print(journey.browser(message.pop("open")), file=answers, flush=True)
    return message


def outcome(message: dict[str, Any]) -> FlowOutcome:
    lists = {"scopes": tuple(message["scopes"]), "tools": tuple(message["tools"])}
    return FlowOutcome(**(message | lists))
