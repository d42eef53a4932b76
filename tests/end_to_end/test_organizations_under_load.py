"""Six organizations at once: each answer and each row is of the organization that called.

Clients list and call while an admin turns switches and connections are revoked: by default for a
third of a minute, and for a whole one with HALO_TEST_LOAD_SECONDS=60. On a busy machine it takes
longer, until each organization has lists, and calls that its switch has refused and permitted.
"""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import cycle
from pathlib import Path
from secrets import token_hex

import httpx2
import pytest

from tests.drivers.fixture_server import Laboratory
from tests.drivers.oauth_client import REVOKE
from tests.drivers.tenants import Revoked, Row, Tenant, client_of, create_tenants, rows
from tests.tools_registry.test_subscriptions_process import SwitchAdmin

pytestmark = pytest.mark.process

SECONDS = float(os.environ.get("HALO_TEST_LOAD_SECONDS") or 20)
MAX_SECONDS = 6 * SECONDS
ORGANIZATIONS = 6
# More often would revoke every connection before the end.
TURNS_EVERY = max(0.1, SECONDS / 200)


class Load:
    """What runs at once against one server, until the time is over or something failed."""

    def __init__(
        self, running: Laboratory, tenants: list[Tenant], super_admin: str, existing: Path
    ) -> None:
        self._server = running.server
        self._tenants = tenants
        self._super_admin = super_admin
        self._existing = existing
        self._is_over = threading.Event()

    def run(self) -> None:
        works = [self._turn_switches, self._revoke]
        steady = [(self._call, tenant, -1) for tenant in self._tenants]
        revoked = [(self._call, tenant, 0) for tenant in self._tenants]
        with ThreadPoolExecutor(len(works) + len(steady) + len(revoked)) as pool:
            begun = [pool.submit(work) for work in works]
            begun += [pool.submit(*each) for each in (*steady, *revoked)]
            start = time.monotonic()
            while not any(each.done() for each in begun):
                self._is_over.wait(0.1)
                passed = time.monotonic() - start
                is_enough = passed > SECONDS and all(map(has_seen_enough, self._tenants))
                if is_enough or passed > MAX_SECONDS:
                    break
            self._is_over.set()
            for each in begun:
                each.result()

    def _call(self, tenant: Tenant, first: int) -> None:
        """Call with one connection after the other; the last one is never revoked."""
        for connection in tenant.connections[first:]:
            url = self._server.mcp_url
            with client_of(tenant, connection, url, self._existing) as client:
                try:
                    while not self._is_over.is_set():
                        client.do_everything()
                except Revoked:
                    continue
                return

    def _turn_switches(self) -> None:
        with closing(SwitchAdmin(self._server.url, self._super_admin)) as admin:
            for number, tenant in enumerate(cycle(self._tenants)):
                is_on = number // len(self._tenants) % 2
                admin.switch(tenant.switch, **({"enabled": "on"} if is_on else {}))
                if self._is_over.wait(TURNS_EVERY):
                    return

    def _revoke(self) -> None:
        """Revoke all connections but the last, an organization after the other."""
        with httpx2.Client(base_url=self._server.url, timeout=30) as http:
            for number in range(len(self._tenants[0].connections) - 1):
                for tenant in self._tenants:
                    if self._is_over.wait(TURNS_EVERY):
                        return
                    connection = tenant.connections[number]
                    connection.is_being_revoked.set()
                    form = {"token": connection.token, "client_id": tenant.client_id}
                    assert http.post(REVOKE, data=form).status_code == 200
                    connection.is_revoked.set()


def test_no_organization_sees_or_records_anything_of_another(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    existing = tmp_path / "existing"
    existing.touch()
    super_admin = f"root-{token_hex(4)}@example.com"
    tenants = create_tenants(laboratory, ORGANIZATIONS, super_admin=super_admin)
    Load(laboratory, tenants, super_admin, existing).run()

    for tenant in tenants:
        assert has_seen_enough(tenant), "too little to mean anything"
        assert tenant.turned_away
    answered = [row for tenant in tenants for row in tenant.answered]
    recorded, ended = partition(rows(laboratory, tenants))
    assert sorted(recorded) == sorted(answered)
    assert ended <= {request for tenant in tenants for request in tenant.turned_away}


def has_seen_enough(tenant: Tenant) -> bool:
    outcomes = {(tool, outcome) for _, _, _, tool, outcome, _ in tenant.answered}
    both = {("crm.find_contact", end) for end in ("success", "refused")}
    return tenant.lists > 3 and both <= outcomes


def partition(recorded: list[Row]) -> tuple[list[Row], set[str]]:
    """The rows of answered calls, and the requests whose token ended while they waited."""
    ended = {row[0] for row in recorded if row[-1] == "token_ended"}
    return [row for row in recorded if row[0] not in ended], ended
