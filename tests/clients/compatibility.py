"""The table of docs/compatibility.md, written from a run of every real client.

    python -m tests.clients.compatibility

Ends with 1 where a client did not come through; its row then says so.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final

from tests.clients.matrix import MATRIX, RealClient
from tests.clients.real_client_flow import QUESTION, Findings, Tour
from tests.drivers.evaluation import evaluate
from tests.drivers.server import RAISED, ROOT, Server, running

PAGE: Final = ROOT / "docs" / "compatibility.md"
RULE: Final = "|---|---|---|---|---|---|"
PASSED: Final = "passed"
FAILED: Final = "failed"
LAST_CALL: Final = """
import json
from audit.models import ActionExecution
row = ActionExecution.objects.filter(method="tools/call").first()
print(json.dumps([row.revision, row.tool, row.outcome, row.arguments]))
"""


@dataclass(frozen=True)
class Trip:
    """What a client found, and the revision that the server recorded of its last call."""

    client: RealClient
    findings: Findings
    revision: str


def take_trip(client: RealClient, server: Server, folder: Path) -> Trip:
    """Send a client to a server. Raises Unavailable, or AssertionError with what it said."""
    findings = client.travel(Tour(server.mcp_url, folder))
    revision, *call = json.loads(evaluate(server.env, LAST_CALL))
    assert call == ["search_docs", "success", {"query": QUESTION}]
    return Trip(client, findings, revision)


def row(client: RealClient, server: Server) -> str:
    """The line of a client after it was sent."""
    with tempfile.TemporaryDirectory(prefix="halo-client-") as folder:
        try:
            trip = take_trip(client, server, Path(folder))
        except Exception as problem:  # noqa: BLE001  whatever it is, it belongs to this client
            sys.stderr.write(f"{client.label}: {problem}\n")
            return line(client, "-", FAILED)
    return line(client, trip.revision, PASSED if trip.revision == client.revision else FAILED)


def line(client: RealClient, revision: str, result: str) -> str:
    cells = (client.name, f"`{client.package}`", client.version, client.setting, revision, result)
    return f"| {' | '.join(cells)} |"


def replace_rows(page: str, rows: Sequence[str], rule: str = RULE) -> str:
    """The page with these rows in the table with this rule."""
    before, found, after = page.partition(f"\n{rule}\n")
    assert found, "the page has no table"
    rest = after.splitlines()
    while rest and rest[0].startswith("|"):
        rest.pop(0)
    return "\n".join([before + found.rstrip("\n"), *rows, *rest]) + "\n"


def main() -> int:
    rows: list[str] = []
    for settings, clients in groupby(MATRIX, key=attrgetter("server")):
        with (
            tempfile.TemporaryDirectory(prefix="halo-clients-") as folder,
            running(Path(folder), {**RAISED, **settings}) as server,
        ):
            rows += [row(client, server) for client in clients]
    PAGE.write_text(replace_rows(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    sys.stdout.write("\n".join(rows) + "\n")
    return 0 if all(each.endswith(f" {PASSED} |") for each in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
