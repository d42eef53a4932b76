"""Equal work: what our server does around a tool, written by hand with the least code.

The token with all rows that must be active, the limits, the gate, and the audit row, in that order,
for every call and without caching.
"""

import hashlib
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import databases
import tools
from databases import Database
from limits import Limits
from order import Order, Statement, ToolOrder, Values

OFF: Final = "not_connected"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; ids as the columns have them in `known`, as text in `named`."""

    known: Mapping[str, Any]
    named: Mapping[str, str]
    email: str
    client_id: str
    client_name: str
    scopes: frozenset[str]
    mcp_server_on: bool


class Refusal(Exception):
    """What a layer says to a call that it does not let through."""

    def __init__(self, reason: str, layer: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.layer, self.message = reason, layer, message


@dataclass(frozen=True, slots=True)
class Call:
    caller: Caller
    arguments: Mapping[str, Any]
    revision: str
    address: str


class Authentication:
    """The token with everything that its validity depends on."""

    def __init__(self, statement: Statement, resource: str, database: Database) -> None:
        self._asked, self._resource, self._database = statement, resource, database

    def caller(self, token: str) -> Caller | None:
        """The principal of a token now; None for an unknown token."""
        asked = self._asked
        known = {"token": hashlib.sha256(token.encode()).hexdigest(), "now": self._database.now()}
        rows = self._database.rows(asked.text, asked.values(known))
        if not rows or rows[0][asked.columns["a.resource"]] != self._resource:
            return None
        return _caller(rows[0], asked.columns)


class Work:
    """One tool with all that our server does around it; blocks, for a thread."""

    def __init__(self, tool: ToolOrder, order: Order, database: Database, counted: Limits) -> None:
        self._tool, self._database, self._limits = tool, database, counted
        self._answer = tools.build(tool, order, database)

    def run(self, call: Call) -> Any:
        """Limits, gate, tool and audit row. Raises Refusal, once that is recorded."""
        clock = time.perf_counter()
        try:
            self._charge(call)
            self._admit(call)
            value = self._answer(call.caller.known, call.arguments)
        except Refusal as refusal:
            self._record(call, clock, refusal)
            raise
        self._record(call, clock)
        return value

    def _charge(self, call: Call) -> None:
        """Raises Refusal once a bucket is spent."""
        if not self._limits.charge({**call.caller.named, "address": call.address}):
            raise Refusal("rate_limited", "rate_limit", "Too many requests. Try again later.")

    def _admit(self, call: Call) -> None:
        """Ask every layer of the gate. Raises Refusal."""
        if not call.caller.mcp_server_on:
            raise Refusal("feature_disabled", "flag", "The MCP server is switched off.")
        if self._tool.gate is not None:
            self._require_switches(self._tool.gate, call.caller)
        if call.caller.scopes.isdisjoint(self._tool.scopes):
            raise Refusal("scope_denied", "scope", "This token does not carry the scope.")

    def _require_switches(self, asked: Statement, caller: Caller) -> None:
        rows = self._database.rows(asked.text, asked.values(caller.known))
        at = asked.columns
        if not rows or rows[0][at["i.connection"]] == OFF:
            raise Refusal("not_connected", "connection", "The integration is not connected.")
        if not rows[0][at["i.actions_on"]]:
            raise Refusal("integration_disabled", "integration", "Actions are switched off.")
        if all(row[at["t.action"]] != self._tool.action for row in rows):
            raise Refusal("agent_disabled", "agent", "The action is not enabled.")

    def _record(self, call: Call, clock: float, refusal: Refusal | None = None) -> None:
        """Write the row of a call that is over."""
        written = self._row(call, clock, refusal)
        values = [written[column] for column in self._tool.audit.columns]
        self._database.write(self._tool.audit.text, values)

    def _row(self, call: Call, clock: float, refusal: Refusal | None) -> Values:
        caller = call.caller
        return {
            "id": self._database.key(_time_ordered()),
            "started_at": self._database.now(),
            "duration_us": int((time.perf_counter() - clock) * 1_000_000),
            "organization_id": caller.named["organization"],
            "actor_kind": "mcp_client",
            "surface": "workspace",
            "client_id": caller.client_id,
            "client_name": caller.client_name,
            "user_id": caller.named["user"],
            "user_email": caller.email,
            "authorization_id": caller.named["authorization"],
            "token_id": caller.named["token_id"],
            "bound_customer_id": "",
            "method": "tools/call",
            "tool": self._tool.name,
            "integration": self._tool.integration,
            "action": self._tool.action,
            "arguments": self._database.json(call.arguments),
            "outcome": "refused" if refusal else "success",
            "reason": refusal.reason if refusal else "",
            "layer": refusal.layer if refusal else "",
            "detail": "",
            "upstream_status": None,
            "row_count": None if refusal else self._tool.row_count,
            "request_id": _time_ordered().hex,
            "revision": call.revision,
            "address": call.address,
        }


def _caller(row: databases.Row, at: Mapping[str, int]) -> Caller:
    known = {
        "organization": row[at["a.organization_id"]],
        "authorization": row[at["a.id"]],
        "user": row[at["u.id"]],
        "token_id": row[at["t.id"]],
    }
    enabled = row[at["f.enabled"]]
    return Caller(
        known=known,
        named={name: databases.text(key) for name, key in known.items()},
        email=row[at["u.email"]],
        client_id=row[at["c.client_id"]],
        client_name=row[at["c.name"]],
        # Both are the same here; what grants what is compared as far as these tools need it.
        scopes=frozenset(row[at["t.scope"]].split()).intersection(row[at["a.scope"]].split()),
        mcp_server_on=enabled is None or bool(enabled),
    )


def _time_ordered() -> uuid.UUID:
    """Return a new UUIDv7 (RFC 9562 section 5.7)."""
    moment = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10)) & ~(0xF << 76) & ~(0b11 << 62)
    return uuid.UUID(int=moment << 80 | random | 0x7 << 76 | 0b10 << 62)
