"""Equal work: what our server does around a tool, by hand and with as little as it takes.

The token with all that stands behind it, the limits, the gate, and the audit row, in that order,
with every call and with nothing kept from one to the next.
"""

import hashlib
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import databases
import limits
from order import Order, Values

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
    tool: str
    arguments: Mapping[str, Any]
    revision: str
    address: str


class Work:
    """The hot path of one server process."""

    def __init__(self, order: Order) -> None:
        self._database = databases.build(order.database)
        self._limits = limits.build(order)
        self._resource = order.work["resource"]
        self._integration, self._action = order.work["integration"], order.work["action"]
        kinds = ("*", f"{self._integration}:*", f"{self._integration}:{self._action}")
        self._needed = frozenset(f"actions:{kind}" for kind in kinds)
        self._authenticate = order.statement("authenticate")
        self._gate = order.statement("gate")
        self._audit = order.statement("audit")

    async def open(self) -> None:
        await self._database.open()

    async def close(self) -> None:
        await self._database.close()
        await self._limits.close()

    async def authenticate(self, token: str) -> Caller | None:
        """Who stands behind a token now; None for nobody."""
        asked = self._authenticate
        known = {"token": hashlib.sha256(token.encode()).hexdigest(), "now": self._database.now()}
        rows = await self._database.rows(asked.text, asked.values(known))
        if not rows or rows[0][asked.columns["a.resource"]] != self._resource:
            return None
        return _caller(rows[0], asked.columns)

    async def charge(self, call: Call) -> None:
        """Raises Refusal once a bucket is spent."""
        if not await self._limits.charge({**call.caller.named, "address": call.address}):
            raise Refusal("rate_limited", "rate_limit", "Too many requests. Try again later.")

    async def admit(self, call: Call) -> None:
        """Ask every layer of the gate. Raises Refusal."""
        asked = self._gate
        rows = await self._database.rows(asked.text, asked.values(call.caller.known))
        refusal = self._refusal(call.caller, rows)
        if refusal is not None:
            raise refusal

    async def record(self, call: Call, clock: float, refusal: Refusal | None = None) -> None:
        """Write the row of a call that is over."""
        written = self._row(call, clock, refusal)
        values = [written[column] for column in self._audit.columns]
        await self._database.write(self._audit.text, values)

    def _refusal(self, caller: Caller, rows: list[databases.Row]) -> Refusal | None:
        at = self._gate.columns
        if not caller.mcp_server_on:
            return Refusal("feature_disabled", "flag", "The MCP server is switched off.")
        if not rows or rows[0][at["i.connection"]] == OFF:
            return Refusal("not_connected", "connection", "The integration is not connected.")
        if not rows[0][at["i.actions_on"]]:
            return Refusal("integration_disabled", "integration", "Actions are switched off.")
        if all(row[at["t.action"]] != self._action for row in rows):
            return Refusal("agent_disabled", "agent", "The action is not enabled.")
        if caller.scopes.isdisjoint(self._needed):
            return Refusal("scope_denied", "scope", "This token does not carry the scope.")
        return None

    def _row(self, call: Call, clock: float, refusal: Refusal | None) -> Values:
        caller = call.caller
        return {
            "id": self._database.key(_time_ordered()),
            "started_at": self._database.now(),
            "duration_us": int((time.perf_counter() - clock) * 1_000_000),
            "organization_id": caller.named["organization"],
            "actor_kind": "mcp_client",
            "client_id": caller.client_id,
            "client_name": caller.client_name,
            "user_id": caller.named["user"],
            "user_email": caller.email,
            "authorization_id": caller.named["authorization"],
            "token_id": caller.named["token_id"],
            "bound_customer_id": "",
            "method": "tools/call",
            "tool": call.tool,
            "integration": self._integration,
            "action": self._action,
            "arguments": self._database.json(call.arguments),
            "outcome": "refused" if refusal else "success",
            "reason": refusal.reason if refusal else "",
            "layer": refusal.layer if refusal else "",
            "detail": "",
            "upstream_status": None,
            "row_count": None,
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
        named={name: _text(key) for name, key in known.items()},
        email=row[at["u.email"]],
        client_id=row[at["c.client_id"]],
        client_name=row[at["c.name"]],
        # Both are `actions:*` here; what grants what is compared as far as this tool needs it.
        scopes=frozenset(row[at["t.scope"]].split()).intersection(row[at["a.scope"]].split()),
        mcp_server_on=enabled is None or bool(enabled),
    )


def _text(key: uuid.UUID | str) -> str:
    # SQLite keeps the digits alone.
    return str(uuid.UUID(key) if isinstance(key, str) else key)


def _time_ordered() -> uuid.UUID:
    """A UUIDv7 (RFC 9562 section 5.7), drawn anew each time."""
    moment = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10)) & ~(0xF << 76) & ~(0b11 << 62)
    return uuid.UUID(int=moment << 80 | random | 0x7 << 76 | 0b10 << 62)
