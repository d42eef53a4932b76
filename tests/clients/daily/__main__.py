"""Takes the pinned clients from sign-in to expired tokens; ./run verify clients starts it.

    python -m tests.clients.daily [--write-docs] [NAME ...]

Words choose clients whose names contain one of them. Prints a line a step and client, and what each
failed client said. Ends with 1 where a step of a client failed, a client could not be tried, or a
person had to consent again without a known reason. With --write-docs, the rows of the clients that
were run are written into the table of docs/compatibility.md.
"""

import argparse
import datetime as dt
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.clients.compatibility import PAGE
from tests.clients.daily import page, steps
from tests.clients.daily.installing import NotInstalled
from tests.clients.daily.pinned import CLIENTS, PinnedClient
from tests.clients.daily.steps import TOKEN_SECONDS, Step, StepOutcome, Verdict, Visit
from tests.clients.real_client_flow import Tour
from tests.drivers.accounts import open_account
from tests.drivers.node import Unavailable
from tests.drivers.server import RAISED, Server, running

# Most of the time a client waits for the end of a token.
AT_ONCE: Final = 4
# A driver stays from the sign-in until its token has expired.
CLIENT_SECONDS: Final = 300
SETTINGS: Final = {
    **RAISED,
    "HALO_ACCESS_TOKEN_SECONDS": str(TOKEN_SECONDS),
    # Metadata documents are on the internet, which not every machine reaches.
    "HALO_CIMD": "no",
}


@dataclass(frozen=True)
class ClientReport:
    client: PinnedClient
    outcomes: Mapping[Step, StepOutcome]
    errors: Sequence[str]

    @property
    def has_passed(self) -> bool:
        return all(
            outcome.verdict in {Verdict.WORKS, Verdict.NOTED}
            or (outcome.verdict is Verdict.SECOND_CONSENT and step in self.client.consents_again)
            for step, outcome in self.outcomes.items()
        )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run verify clients")
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args(arguments)
    chosen = [client for client in CLIENTS if is_chosen(client, given.names)]
    if not chosen:
        parser.error("no client has such a name.")
    failed = []
    for report in run(chosen):
        sys.stdout.write(describe(report))
        if given.write_docs:
            write_row(report)
        if not report.has_passed:
            failed.append(report.client.name)
    sys.stdout.write(f"\n{len(chosen) - len(failed)} passed, {len(failed)} failed\n")
    for name in failed:
        sys.stdout.write(f"failed: {name}\n")
    return 1 if failed else 0


def is_chosen(client: PinnedClient, names: Sequence[str]) -> bool:
    return not names or any(name.lower() in client.name.lower() for name in names)


def write_row(report: ClientReport) -> None:
    day = dt.datetime.now(dt.UTC).date().isoformat()
    row = page.line(report.client, day, report.outcomes)
    PAGE.write_text(page.replace_rows(PAGE.read_text("utf-8"), [row], CLIENTS), encoding="utf-8")


def run(clients: Sequence[PinnedClient]) -> Iterator[ClientReport]:
    """Several clients at once on one server, each with an organization of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="halo-clients-") as folder,
        running(Path(folder), SETTINGS) as server,
        ThreadPoolExecutor(AT_ONCE) as threads,
    ):
        yield from threads.map(lambda client: try_client(client, server), clients)


def try_client(client: PinnedClient, server: Server) -> ClientReport:
    sys.stderr.write(f"{client.name} {client.version} begins\n")
    account = open_account(server.env)
    with tempfile.TemporaryDirectory(prefix="halo-client-", ignore_cleanup_errors=True) as home:
        tour = Tour(server.mcp_url, Path(home), email=account.email, seconds=CLIENT_SECONDS)
        visit = Visit(tour, account, server.env)
        try:
            steps.go_through(visit, client.sign_in, client.opened, client.expiries)
        except (NotInstalled, Unavailable) as lacking:
            visit.errors.append(str(lacking))
            outcome = StepOutcome(Verdict.NOT_TRIED, "its packages could not be installed")
            visit.outcomes = dict.fromkeys(Step, outcome)
    sys.stderr.write(f"{client.name} ends\n")
    return ClientReport(client, visit.outcomes, visit.errors)


def describe(report: ClientReport) -> str:
    lines = [f"\n{report.client.name} {report.client.version}"]
    for step in Step:
        outcome = report.outcomes[step]
        note = f" ({outcome.note})" if outcome.note else ""
        lines.append(f"  {step}: {outcome.verdict}{note}")
    for error in report.errors:
        lines += [f"    {each}" for each in error.splitlines()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
