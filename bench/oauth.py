"""`./run bench oauth`: refresh grants and registrations against the real server.

Exits with 1 if a refresh was refused, or a token family has not exactly one active token.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import httpx2

from bench import harness, load, measures
from bench.measures import Turn

TOKEN, REGISTER = "/api/mcp/oauth/token", "/api/mcp/oauth/register"
SCOPE: Final = "docs:read setup:read data:read"
LIMITS: Final = ("TOKEN", "REGISTER", "REGISTER_ATTEMPTS")
WARM_UP_SECONDS: Final = 2.0
OK, CREATED = 200, 201
WHOLE: Final = "Every family holds exactly one living refresh token."
DOCUMENT: Final = {
    "client_name": "Load",
    "redirect_uris": ["http://127.0.0.1:33418/callback"],
    "token_endpoint_auth_method": "client_secret_post",
}

Act = Callable[[httpx2.AsyncClient], Awaitable[bool]]


@dataclass
class Family:
    """A client, its newest refresh token, and how often it was given another."""

    client_id: str
    client_secret: str
    refresh_token: str
    given: int = 0

    async def refresh(self, http: httpx2.AsyncClient) -> bool:
        names = ("client_id", "client_secret", "refresh_token")
        form = {"grant_type": "refresh_token"} | {name: getattr(self, name) for name in names}
        response = await http.post(TOKEN, data=form)
        if response.status_code != OK:
            return False
        self.refresh_token = response.json()["refresh_token"]
        self.given += 1
        return True


def main() -> int:
    numbers = {"seconds": 15.0, "concurrency": 16, "families": 64, "processes": 2}
    options = harness.options_parser("oauth", __doc__, **numbers).parse_args()
    with harness.prepare(options, LIMITS) as bench:
        families = _create_families(options.families)
        waiting = list(families)

        async def refresh(http: httpx2.AsyncClient) -> bool:
            """Refresh the family with the oldest refresh; no other client uses it meanwhile."""
            family = waiting.pop(0)
            is_right = await family.refresh(http)
            waiting.append(family)
            return is_right

        async def register(http: httpx2.AsyncClient) -> bool:
            return bool((await http.post(REGISTER, json=DOCUMENT)).status_code == CREATED)

        with bench.serve(processes=options.processes) as server:

            def measure(act: Act) -> Turn:
                return measures.measure_cpu(
                    lambda: bench.cpu_seconds(server),
                    lambda: load.repeat(server.url, act, options.concurrency, options.seconds),
                )

            load.repeat(server.url, refresh, options.concurrency, WARM_UP_SECONDS)
            refreshes, registrations = measure(refresh), measure(register)
        faults = _faults(families)
    conditions = f"{options.processes} web processes, {options.concurrency} connections"
    lines = [
        f"{conditions}, {options.seconds:g} s each",
        *_report("refresh grants", refreshes, OK),
        *_report("registrations", registrations, CREATED),
        *(faults or [WHOLE]),
    ]
    sys.stdout.write("\n".join([*lines, ""]))
    return harness.MISSED if faults or refreshes.bad or registrations.bad else harness.GOOD


def _create_families(count: int) -> list[Family]:
    """Clients with a secret, each with one person's consent in one organization."""
    from bench import tenant  # noqa: PLC0415  settings first

    organization, families = tenant.create_organization(), []
    for _ in range(count):
        client, secret = tenant.register_client(DOCUMENT)
        (pair,) = tenant.create_grants(organization, SCOPE, client=client)
        families.append(Family(client.client_id, secret, pair.refresh))
    return families


def _faults(families: Sequence[Family]) -> list[str]:
    """The token families whose rows differ from what their clients received."""
    from foundation import ids  # noqa: PLC0415  settings first
    from oauth.models import RefreshToken  # noqa: PLC0415  the same

    faults = []
    for family in families:
        rows = RefreshToken.objects.filter(authorization__client__client_id=family.client_id)
        living = list(rows.filter(used_at=None).values_list("token_checksum", flat=True))
        if living != [ids.sha256_hex(family.refresh_token)] or rows.count() != 1 + family.given:
            faults.append(f"{family.client_id}: {len(living)} living, {rows.count()} rows")
    return faults


def _report(name: str, turn: Turn, status: int) -> list[str]:
    web, database = turn.cpu["server"], turn.cpu.get("postgresql", 0.0)
    alone, both = (1_000_000 / cpu if cpu else 0.0 for cpu in (web, web + database))
    return [
        f"{name}: {turn.answered - turn.bad} answered with {status}, {turn.bad} otherwise",
        f"  {turn.rate:.0f}/s, p50 {turn.p50:.1f} ms, p99 {turn.p99:.1f} ms",
        f"  per vCPU: {alone:.0f}/s of the web processes' own time, {both:.0f}/s with PostgreSQL's",
        f"  CPU each: web {web / 1000:.2f} ms, PostgreSQL {database / 1000:.2f} ms",
    ]


if __name__ == "__main__":
    harness.run(main)
