"""Equal work: what our server does around a tool, written by hand with the least code.

The token with all rows that must be active, the limits, the gate, and the audit row, in that order,
for every call and without caching. Connections last, and there is no ORM.
"""

import hashlib
import os
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import orjson
import psycopg
import tools
from redis import Redis
from redis.exceptions import NoScriptError

from bench.work import RecordedTool, Statement, Work

OFF: Final = "not_connected"
Row: TypeAlias = tuple[Any, ...]


class Refusal(Exception):
    """The refusal of a call by a layer of the gate."""

    def __init__(self, reason: str, layer: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.layer, self.message = reason, layer, message


class Database(threading.local):
    """A connection and a cursor for each thread; every statement commits by itself.

    A thread keeps one cursor for good: a new one for every statement costs half as much again.
    """

    def __init__(self, work: Work) -> None:
        # As the product's connections have it (`foundation/db/postgresql/base.py`).
        planning = "-c random_page_cost=1.1"
        connection = psycopg.connect(work.database, autocommit=True, options=planning)
        self._cursor: psycopg.RawCursor[Row] = psycopg.RawCursor(connection)
        self._recorded_at = work.at

    def rows(self, statement: Statement) -> list[Row]:
        """The rows for the recorded values, with times as far from now as they were then."""
        return self.rows_for(statement, self.values(statement))

    def values(self, statement: Statement) -> list[Any]:
        passed = datetime.now(UTC) - self._recorded_at
        return [
            value + passed if isinstance(value, datetime) else value for value in statement.values
        ]

    def rows_for(self, statement: Statement, values: Sequence[Any]) -> list[Row]:
        self._cursor.execute(statement.text, values, prepare=True, binary=True)
        return self._cursor.fetchall()

    def write(self, text: str, values: Sequence[Any]) -> None:
        self._cursor.execute(text, values, prepare=True)


class Limits:
    """All rate limit buckets of a call at once: one script, one round trip."""

    def __init__(self, work: Work) -> None:
        self._client, self._work = Redis.from_url(work.redis), work
        self._sha = hashlib.sha1(work.script.encode(), usedforsecurity=False).hexdigest()

    def charge(self) -> bool:
        """Whether all buckets of the caller have room; they are charged if so."""
        work, client = self._work, self._client
        keys = [work.key_prefix + _digest(identity) for identity in work.identities]
        try:
            reading = client.evalsha(self._sha, len(keys), *keys, *work.numbers)
        except NoScriptError:
            reading = client.eval(work.script, len(keys), *keys, *work.numbers)
        return bool(reading[0])


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of a token."""

    scopes: frozenset[str]
    mcp_server_on: bool


class Authentication:
    """The token with everything that its validity depends on."""

    def __init__(self, work: Work, database: Database) -> None:
        self._statement = next(iter(work.tools.values())).authenticate
        self._resource, self._database = work.resource, database
        self._checksum = _checksum(work.token)

    def find_caller(self, token: str) -> Caller | None:
        """The principal of a token now; None for an unknown token."""
        statement, checksum = self._statement, _checksum(token)
        values = [
            checksum if value == self._checksum else value
            for value in self._database.values(statement)
        ]
        rows = self._database.rows_for(statement, values)
        row = {name: rows[0][place] for name, place in statement.columns.items()} if rows else {}
        if not row or row["a.resource"] != self._resource:
            return None
        # Both are the same here; what grants what is compared as far as these tools need it.
        scopes = frozenset(row["t.scope"].split()).intersection(row["a.scope"].split())
        return Caller(scopes, row["f.enabled"] is None or row["f.enabled"])


class EqualWork:
    """One tool with all that our server does around it; blocks, for a thread."""

    def __init__(self, tool: RecordedTool, work: Work, database: Database, limits: Limits) -> None:
        self._tool, self._database, self._limits = tool, database, limits
        self._answer = tools.BUILDERS[tool.name](tool, work, database.rows)

    def run(self, caller: Caller, arguments: Mapping[str, Any], origin: Mapping[str, str]) -> Any:
        """Limits, gate, tool and audit row. Raises Refusal, once that is recorded."""
        clock, ending = time.perf_counter(), dict[str, Any]()
        try:
            self._admit(caller)
            return self._answer(arguments)
        except Refusal as refusal:
            ending = {"outcome": "refused", "reason": refusal.reason, "layer": refusal.layer}
            raise
        finally:
            self._record(clock, {"arguments": orjson.dumps(arguments).decode(), **origin, **ending})

    def _admit(self, caller: Caller) -> None:
        """Charge the limits, and go through every layer of the gate. Raises Refusal."""
        if not self._limits.charge():
            raise Refusal("rate_limited", "rate_limit", "Too many requests. Try again later.")
        if not caller.mcp_server_on:
            raise Refusal("feature_disabled", "flag", "The MCP server is switched off.")
        if self._tool.gate is not None:
            self._require_switches(self._tool.gate)
        if caller.scopes.isdisjoint(self._tool.scopes):
            raise Refusal("scope_denied", "scope", "This token does not carry the scope.")

    def _require_switches(self, gate: Statement) -> None:
        rows, place = self._database.rows(gate), gate.columns
        if not rows or rows[0][place["i.connection"]] == OFF:
            raise Refusal("not_connected", "connection", "The integration is not connected.")
        if not rows[0][place["i.actions_on"]]:
            raise Refusal("integration_disabled", "integration", "Actions are switched off.")
        if all(row[place["t.action"]] != self._tool.action for row in rows):
            raise Refusal("agent_disabled", "agent", "The action is not enabled.")

    def _record(self, clock: float, columns: Mapping[str, Any]) -> None:
        """Write the audit row: that of the recorded call, with everything that is of this one."""
        audit = self._tool.audit
        row = dict(zip(audit.columns, self._database.values(audit), strict=True))
        row |= {
            "id": _time_ordered(),
            "duration_us": int((time.perf_counter() - clock) * 1_000_000),
            "request_id": _time_ordered().hex,
            **columns,
        }
        self._database.write(audit.text, list(row.values()))


def _checksum(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _digest(identity: str) -> str:
    return hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()


def _time_ordered() -> uuid.UUID:
    """Return a new UUIDv7 (RFC 9562 section 5.7)."""
    moment = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10)) & ~(0xF << 76) & ~(0b11 << 62)
    return uuid.UUID(int=moment << 80 | random | 0x7 << 76 | 0b10 << 62)
