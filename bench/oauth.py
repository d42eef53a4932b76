"""`./run bench oauth`: refresh grants and registrations against the real server on PostgreSQL.

Exits with 1 if a refresh was refused, or a token family has not exactly one active token.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import scratch, starting
from bench.scratch import Server

POSTGRESQL: Final = "postgres://postgres@127.0.0.1:5432/postgres"
REDIS: Final = "redis://127.0.0.1:6379/15"
SCOPE: Final = "docs:read setup:read data:read"
WARM_UP_SECONDS: Final = 2.0
WHOLE: Final = "Every family holds exactly one living refresh token."
RAISED: Final = {
    f"HALO_RATE_{name}": "1000000/s" for name in ("TOKEN", "REGISTER", "REGISTER_ATTEMPTS", "IP")
}

Families = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Load:
    """How hard to press: connections, seconds, and how many families take turns."""

    concurrency: int
    seconds: float
    families: int


@dataclass(frozen=True)
class Measured:
    """One act's answers, and the CPU seconds of web processes and PostgreSQL meanwhile."""

    seen: Mapping[str, Any]
    web: float
    postgresql: float

    def count(self, status: int) -> int:
        return int(self.seen["statuses"].count(status))

    def refused(self, status: int) -> int:
        return len(self.seen["statuses"]) - self.count(status)

    def percentile(self, percent: int) -> float:
        """Milliseconds within which so many of a hundred answers came."""
        times: list[float] = self.seen["milliseconds"]
        return statistics.quantiles(times, n=100)[percent - 1]


def main() -> int:
    options = _options()
    load = Load(options.concurrency, options.seconds, options.families)
    with tempfile.TemporaryDirectory() as folder, scratch.database(options.database) as database:
        redis = scratch.redis_if_up(os.environ.get("REDIS_URL") or REDIS)
        processes = {"HALO_PROCESSES": str(options.processes)}
        starting.start(Path(folder), database, RAISED | redis | processes)
        given = _families(load.families)
        with scratch.serving(options.processes, Path(folder) / "server.log") as server:
            warm = _measured("refresh", server, database, given, _short(load))
            refreshes = _measured("refresh", server, database, warm.seen["families"], load)
            registrations = _measured("register", server, database, [], load)
        faults = _faults(refreshes.seen["families"])
    sys.stdout.write(_report(load, options.processes, refreshes, registrations))
    sys.stdout.write("\n".join(faults or [WHOLE]) + "\n")
    return 1 if faults or refreshes.refused(200) or registrations.refused(201) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench oauth", description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--families", type=int, default=64)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--database", default=os.environ.get("DATABASE_URL") or POSTGRESQL)
    return parser.parse_args()


def _short(load: Load) -> Load:
    return Load(load.concurrency, WARM_UP_SECONDS, load.families)


def _families(count: int) -> Families:
    """Clients with a secret, each with one person's consent in one organization."""
    from workspace import organizations  # noqa: PLC0415  settings first
    from workspace.models import User  # noqa: PLC0415  the same

    owner = User.objects.create_user("bench@example.com")
    organizations.found("Bench", owner=owner)
    return [_family() for _ in range(count)]


def _family() -> Mapping[str, str]:
    from oauth import addresses, scopes  # noqa: PLC0415
    from oauth.clients import clients  # noqa: PLC0415
    from oauth.clients.client_metadata import ClientMetadata  # noqa: PLC0415  settings first
    from oauth.grants import authorizations, tokens  # noqa: PLC0415
    from oauth.models import AuthorizationRequest  # noqa: PLC0415
    from workspace.models import Membership  # noqa: PLC0415

    said = {"redirect_uris": ["http://127.0.0.1:33418/callback"], "client_name": "Load"}
    secret = {"token_endpoint_auth_method": "client_secret_post"}
    metadata = ClientMetadata.parse(said | secret, app_schemes=frozenset())
    registered = clients.register(metadata, address="127.0.0.1")
    asked = AuthorizationRequest(client=registered.client, resource=addresses.resource())
    scope = scopes.parse(SCOPE)
    root = authorizations.give(asked, Membership.objects.select_related().get(), scope)
    return {
        "client_id": registered.client.client_id,
        "client_secret": registered.secret or "",
        "refresh_token": tokens.issue(root, scope).refresh,
    }


def _measured(act: str, server: Server, database: str, families: Families, load: Load) -> Measured:
    web, postgresql = server.cpu_seconds(), scratch.postgresql_cpu_seconds(database)
    seen = _drive(act, server, families, load)
    return Measured(
        seen,
        server.cpu_seconds() - web,
        scratch.postgresql_cpu_seconds(database) - postgresql,
    )


def _drive(act: str, server: Server, families: Families, load: Load) -> Mapping[str, Any]:
    order = {"act": act, "url": server.url, "families": list(families)}
    bounds = {"concurrency": load.concurrency, "seconds": load.seconds}
    driven = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        cwd=scratch.ROOT,
        input=json.dumps(order | bounds),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=load.seconds + 60,
    )
    seen: Mapping[str, Any] = json.loads(driven.stdout)
    return seen


def _faults(families: Families) -> list[str]:
    """Returns the token families whose rows differ from what their clients received."""
    from foundation import ids  # noqa: PLC0415  settings first
    from oauth.models import RefreshToken  # noqa: PLC0415

    faults = []
    for family in families:
        rows = RefreshToken.objects.filter(authorization__client__client_id=family["client_id"])
        living = list(rows.filter(used_at=None).values_list("token_checksum", flat=True))
        right = living == [ids.sha256_hex(family["refresh_token"])]
        if not right or rows.count() != 1 + family["given"]:
            faults.append(f"{family['client_id']}: {len(living)} living, {rows.count()} rows")
    return faults


def _report(load: Load, processes: int, refreshes: Measured, registrations: Measured) -> str:
    lines = [
        f"{processes} web processes, {load.concurrency} connections, {load.seconds:g} s each",
        *_lines("refresh grants", refreshes, 200),
        *_lines("registrations", registrations, 201),
    ]
    return "\n".join([*lines, ""])


def _lines(name: str, measured: Measured, status: int) -> list[str]:
    done = measured.count(status)
    # Of none at all there is no mean, but the report still says so.
    each = max(done, 1)
    both = measured.web + measured.postgresql
    speed = f"{done / measured.seen['seconds']:.0f}/s"
    times = f"p50 {measured.percentile(50):.1f} ms, p99 {measured.percentile(99):.1f} ms"
    alone = f"{done / measured.web:.0f}/s of the web processes' own time"
    costs = f"web {1000 * measured.web / each:.2f} ms"
    return [
        f"{name}: {done} answered with {status}, {measured.refused(status)} otherwise",
        f"  {speed}, {times}",
        f"  per vCPU: {alone}, {done / both:.0f}/s with PostgreSQL's",
        f"  CPU each: {costs}, PostgreSQL {1000 * measured.postgresql / each:.2f} ms",
    ]


if __name__ == "__main__":
    sys.exit(main())
