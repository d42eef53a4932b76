"""Organizations on a running server that differ in all they have, and what clients of them see.

A client records what it was answered; `rows` are the audit rows that these answers must have.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import httpx2

from mcp_protocol.revisions import Revision
from tests.drivers.fixture_server import Laboratory
from tests.drivers.mcp import McpClient, Reply, http_transport
from tests.drivers.server import PASSWORD

SAME = "same@example.com"
SPARES = 40
# Every organization has one action whose switch is turned all the time, crm.find_contact, and two
# that are on in some of them only.
CREATE, WAIT = "crm.create_deal", "counter.stand_by"
FOUND = """
import json
from django.contrib.auth import get_user_model
from django.db import transaction
from oauth.models import Authorization
from tests.drivers import grants
from tools_registry.models import ActionToggle

get_user_model().objects.create_superuser({email!r}, {password!r})

def another(grant):
    copy = Authorization.objects.get(pk=grant.authorization.pk)
    copy.pk, copy._state.adding = Authorization._meta.pk.get_default(), True
    copy.save()
    one = grants.Grant(grant.user, grant.organization, grant.membership, grant.client, copy)
    return {{"id": str(copy.pk), "token": one.token()}}

def create_tenant(number):
    grant = grants.make_grant()
    grant.connect("crm", enabled=("find_contact", *(["create_deal"] if number % 2 else [])))
    grant.connect("counter", enabled=("stand_by",) if number % 4 > 1 else ())
    toggle = ActionToggle.objects.get(agent__organization=grant.organization, action="find_contact")
    return {{
        "number": number,
        "id": str(grant.organization.pk),
        "widget_key": grant.organization.widget_key,
        "customer": grant.customer(email={same!r}, name=f"Customer of {{number}}").pk,
        "client_id": grant.client.client_id,
        "switch": f"{{toggle.pk}} {{toggle.agent_id}}",
        "connections": [another(grant) for _ in range({spares})],
    }}

with transaction.atomic():
    print(json.dumps([create_tenant(number) for number in range({many})]))
"""
ROWS = """
import json
from audit.models import ActionExecution
columns = ("request_id", "organization_id", "authorization_id", "tool", "outcome", "reason")
rows = ActionExecution.objects.filter(organization_id__in={organizations!r})
print(json.dumps(list(rows.values_list(*columns))))
"""
# The columns above of one row.
Row = tuple[str, str, str, str, str, str]


@dataclass
class Connection:
    """A token of an organization, and how far its revocation is."""

    id: str
    token: str = field(repr=False)
    is_being_revoked: Event = field(default_factory=Event)
    is_revoked: Event = field(default_factory=Event)


@dataclass
class Tenant:
    """One organization, what only it has, and what its clients were answered."""

    number: int
    id: str
    widget_key: str
    customer: str
    client_id: str
    switch: str
    connections: list[Connection]
    answered: list[Row] = field(default_factory=list)
    lists: int = 0
    turned_away: set[str] = field(default_factory=set)

    @property
    def steady(self) -> dict[str, bool]:
        """The actions whose switches nobody turns, and whether they are on."""
        return {CREATE: self.number % 2 == 1, WAIT: self.number % 4 > 1}


def create_tenants(running: Laboratory, many: int, *, super_admin: str) -> list[Tenant]:
    """So many organizations, and a super admin of the deployment with this address."""
    code = FOUND.format(email=super_admin, password=PASSWORD, same=SAME, spares=SPARES, many=many)
    message = json.loads(running.evaluate(code))
    return [
        Tenant(**{**one, "connections": [Connection(**each) for each in one["connections"]]})
        for one in message
    ]


def rows(running: Laboratory, tenants: list[Tenant]) -> list[Row]:
    """Every audit row of a call of these organizations."""
    code = ROWS.format(organizations=[tenant.id for tenant in tenants])
    return [tuple(row) for row in json.loads(running.evaluate(code))]


class Revoked(Exception):
    """The token of this connection is not accepted any more."""


@dataclass
class TenantClient:
    """One client of an organization with one connection; checks and records every answer."""

    tenant: Tenant
    connection: Connection
    mcp: McpClient
    existing: Path

    def do_everything(self) -> None:
        """One request of each kind. Raises Revoked."""
        self.list_tools()
        self.read_keys()
        self.read_customer()
        self.call_switched("crm.find_contact")
        self.call_switched(CREATE, is_on=self.tenant.steady[CREATE])
        arguments = {"file": str(self.existing)}
        self.call_switched(WAIT, arguments, is_on=self.tenant.steady[WAIT])

    def list_tools(self) -> None:
        names = {one["name"] for one in self._request("tools/list").result["tools"]}
        assert {name: name in names for name in self.tenant.steady} == self.tenant.steady
        self.tenant.lists += 1

    def read_keys(self) -> None:
        """A shipped tool that returns what is the organization's own."""
        reply = self._call("setup_get_install_snippet")
        facts = reply.facts
        assert (facts["widget_key"], self.tenant.id in reply.body.decode()) == (
            self.tenant.widget_key,
            True,
        )

    def read_customer(self) -> None:
        """Customers of all organizations have the same address."""
        reply = self._call("whom", meta={"bound_email": SAME})
        expected = (self.tenant.customer, f"Customer of {self.tenant.number}")
        assert (reply.facts["id"], reply.facts["name"]) == expected

    def call_switched(self, tool: str, arguments: Any = None, *, is_on: bool | None = None) -> None:
        """A call that the switch permits or not; None where it is being turned."""
        reply = self._call(tool, arguments)
        assert is_on in {None, "result" in reply.json}, reply.body

    def _call(self, tool: str, arguments: Any = None, meta: Any = None) -> Reply:
        params = {"name": tool, "arguments": arguments or {}, "_meta": meta or {}}
        reply = self._request("tools/call", params)
        outcome, reason = "success", ""
        if "error" in reply.json:
            outcome, reason = "refused", reply.error.get("data", {}).get("reason")
            assert reason == "agent_disabled", (reply.status, reply.body)
        number = reply.headers["x-request-id"]
        row = (number, self.tenant.id, self.connection.id, tool, outcome, reason)
        self.tenant.answered.append(row)
        return reply

    def _request(self, method: str, params: Any = None) -> Reply:
        was_revoked = self.connection.is_revoked.is_set()
        reply = self.mcp.request(method, params)
        if reply.status == 401:
            assert self.connection.is_being_revoked.is_set()
            self.tenant.turned_away.add(reply.headers["x-request-id"])
            raise Revoked
        assert not was_revoked, "a revoked token was accepted"
        return reply


@contextmanager
def client_of(
    tenant: Tenant, connection: Connection, url: str, existing: Path
) -> Iterator[TenantClient]:
    """A client with a connection that lasts; `existing` is a file that some tool waits for."""
    revision = (Revision.V2025_11_25, Revision.V2026_07_28)[tenant.number % 2]
    with httpx2.Client() as http:
        mcp = McpClient(connection.token, revision, http_transport(url, http.request))
        yield TenantClient(tenant, connection, mcp, existing)
