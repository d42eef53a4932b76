"""What one call does besides its tool, taken from a call as it is made.

So the peer that does equal work runs the very statements and the script of the hot path, whatever
they become.
"""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection

from bench import wires
from bench.greeting import ACTION, ARGUMENTS, GREETING, INTEGRATION, SCHEMA, TEXT
from foundation import ids
from foundation.limits import Bucket, in_redis
from oauth import addresses, principal
from oauth.principal import Principal
from tools_registry import endpoint, rates, registry
from tools_registry.exchange import Complete, HttpRequest

ADDRESS: Final = "127.0.0.1"
HOST: Final = "127.0.0.1"
COLUMNS: Final = re.compile(r"SELECT (.*?)\s+FROM", re.DOTALL)
INSERTED: Final = re.compile(r"INSERT INTO \w+ \(([^)]*)\)")
# SQLite is given moments as text.
MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
# How the hot path says what it does, in order; one statement each.
ROLES: Final = ("authenticate", "gate", "audit")

Statement = tuple[str, Sequence[Any]]


def tool_name() -> str:
    (tool,) = GREETING.tools
    return tool.name


def of_a_call(token: str) -> Mapping[str, Any]:
    """Make one call in this process and say what it ran: for a peer, as JSON."""
    with registry.including(GREETING):
        ran = _ran_by_a_call(token)
    if len(ran) != len(ROLES):
        names = "\n".join(text for text, _ in ran)
        raise RuntimeError(f"a call ran {len(ran)} statements, not {len(ROLES)}:\n{names}")
    who = principal.authenticate(f"Bearer {token}")
    known = _known(who, token)
    return {
        "tool": tool_name(),
        "integration": INTEGRATION,
        "action": ACTION,
        "arguments": ARGUMENTS,
        "schema": SCHEMA,
        "text": TEXT,
        "resource": addresses.resource(),
        "statements": {
            role: _described(text, given, known)
            for role, (text, given) in zip(ROLES, ran, strict=True)
        },
        "limits": _limits(who),
    }


def _ran_by_a_call(token: str) -> list[Statement]:
    ran: list[Statement] = []

    def note(execute: Callable[..., Any], text: str, given: Any, many: Any, context: Any) -> Any:
        ran.append((text, list(given or ())))
        return execute(text, given, many, context)

    connection.ensure_connection()
    with connection.execute_wrapper(note):
        answer = endpoint.respond(_request(token))
    if not isinstance(answer, Complete) or wires.said(answer.body) != TEXT:
        raise RuntimeError(f"the call that is to be measured fails: {answer}")
    return ran


def _request(token: str) -> HttpRequest:
    request = wires.call(wires.MODERN, tool_name(), ARGUMENTS, token)
    headers = {**request.headers, "Host": HOST}
    return HttpRequest(
        method="POST",
        headers=tuple((name.lower(), value) for name, value in headers.items()),
        query="",
        body=request.body,
        address=ADDRESS,
        request_id=ids.uuid7().hex,
    )


def _known(who: Principal, token: str) -> Mapping[str, str]:
    """What a value of a statement stands for, by its text."""
    named = {
        "organization": who.organization_id,
        "authorization": who.authorization_id,
        "user": who.user_id,
        "token_id": who.token_id,
    }
    forms = {str(form): name for name, key in named.items() for form in (key, key.hex)}
    return {**forms, ids.sha256_hex(token): "token"}


def _described(text: str, given: Sequence[Any], known: Mapping[str, str]) -> Mapping[str, Any]:
    """A statement, the columns it reads or writes, and what each of its values is."""
    listed = COLUMNS.search(text) or INSERTED.search(text)
    if listed is None:
        raise RuntimeError(f"neither a SELECT nor an INSERT: {text}")
    return {
        "text": text.strip(),
        "columns": [column.strip() for column in listed[1].split(",")],
        "values": [_value(value, known) for value in given],
    }


def _value(value: Any, known: Mapping[str, str]) -> Mapping[str, Any]:
    if isinstance(value, datetime) or (isinstance(value, str) and MOMENT.fullmatch(value)):
        return {"is": "now"}
    text = str(value)
    if text in known:
        return {"is": known[text]}
    plain = isinstance(value, str | int | bool | None) and not isinstance(value, uuid.UUID)
    return {"is": "constant", "value": value if plain else text}


def _limits(who: Principal) -> Mapping[str, Any]:
    """The script, and the buckets of a call; a peer writes the caller's own ids into their keys."""
    buckets = [
        rates.of_chain(who, "tools/call"),
        *rates.of_organization(who, "tools/call"),
        rates.of_address(ADDRESS),
    ]
    return {
        "redis": settings.REDIS_URL,
        "script": in_redis.SCRIPT,
        "prefix": in_redis.KEY_PREFIX,
        "buckets": [_bucket(bucket, who) for bucket in buckets],
    }


def _bucket(bucket: Bucket, who: Principal) -> Mapping[str, Any]:
    key = bucket.key.replace(str(who.authorization_id), "{authorization}")
    return {
        "key": key.replace(str(who.organization_id), "{organization}").replace(
            ADDRESS, "{address}"
        ),
        "limit": str(bucket.limit),
        "count": bucket.limit.count,
        "milliseconds": bucket.limit.milliseconds,
        "cost": bucket.cost,
    }
