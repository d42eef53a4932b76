"""Records what a call does around its tool and in it, from real calls.

So the peer with equal work runs exactly the statements and the script of our calls.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection

from bench import wires
from bench.greeting import GREETING
from bench.tools import EVERY
from documentation.addresses import EXAMPLE
from foundation import ids
from foundation.limits import Bucket, in_redis
from oauth import addresses, credentials
from oauth.principal import Principal
from tools_registry import registry
from tools_registry.api import Tool
from tools_registry.endpoint import rates, respond
from tools_registry.endpoint.http import Complete, HttpRequest
from tools_registry.endpoint.surface import WORKSPACE_SURFACE

ADDRESS: Final = "127.0.0.1"
HOST: Final = "127.0.0.1"
COLUMNS: Final = re.compile(r"SELECT (.*?)\s+FROM", re.DOTALL)
INSERTED: Final = re.compile(r"INSERT INTO \w+ \(([^)]*)\)")
# SQLite is given moments as text.
MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
# The tables that tell the statements around a tool from those of the tool.
AUTHENTICATE: Final = "oauth_accesstoken"
GATE: Final = "tools_registry_integrationmode"
AUDIT: Final = "action_executions"
# From the begin of a call to a time that its statements mean by “now”.
NOW_SECONDS: Final = 60

Statement = tuple[str, Sequence[Any]]
Described = Mapping[str, Any]


def of_calls(names: Iterable[str], token: str) -> Mapping[str, Any]:
    """Make one call of each tool in this process and describe what it ran: for a peer, as JSON."""
    who = credentials.authenticate(f"Bearer {token}", credentials.VERIFIERS)
    with registry.including(GREETING):
        tools = {name: _of_a_call(name, token, who) for name in names}
    return {
        "resource": addresses.resource(),
        "public_url": settings.HALO_PUBLIC_URL,
        "example_address": EXAMPLE.pattern,
        "limits": _limits(who),
        "tools": tools,
    }


def _of_a_call(name: str, token: str, who: Principal) -> Described:
    ran, text = _ran_by_a_call(name, token)
    known = _known(who, token)
    tool = registry.WORKSPACE_CATALOGUE.find(name, who.organization_id)
    if tool is None:
        raise RuntimeError(f"there is no tool {name}")
    around = _around(tool, ran)
    own = ran[len(around) - 1 : -1]
    return {
        "arguments": EVERY[name],
        "schema": tool.input_schema,
        "integration": tool.integration,
        "action": tool.action,
        "scopes": _scopes(tool),
        "text": text,
        "value": json.loads(text),
        "is_structured": tool.output_schema is not None,
        "row_count": _row_count(around["audit"]),
        **{role: _described(one, known) for role, one in around.items()},
        "own": [_described(one, known) for one in own],
    }


def _around(tool: Tool, ran: Sequence[Statement]) -> Mapping[str, Statement]:
    """The statements around a tool by their role; its own are between the last two of them."""
    roles = {"authenticate": AUTHENTICATE} | ({"gate": GATE} if tool.integration else {})
    found = {role: ran[place] for place, role in enumerate(roles)} | {"audit": ran[-1]}
    for role, table in {**roles, "audit": AUDIT}.items():
        if table not in found[role][0]:
            texts = "\n".join(text for text, _ in ran)
            raise RuntimeError(f"{tool.name}: the statement of {role} is another one:\n{texts}")
    return found


def _row_count(audit: Statement) -> int | None:
    """The rows of the result, as the audit row has them."""
    text, given = audit
    listed = INSERTED.search(text)
    columns = [column.strip() for column in listed[1].split(",")] if listed else []
    return given[columns.index("row_count")]


def _scopes(tool: Tool) -> list[str]:
    """The scopes of which one permits the tool."""
    if not tool.integration:
        return [tool.scope]
    kinds = ("*", f"{tool.integration}:*", f"{tool.integration}:{tool.action}")
    return [f"actions:{kind}" for kind in kinds]


def _ran_by_a_call(name: str, token: str) -> tuple[list[Statement], str]:
    """The statements of a call, and the text that it answers."""
    ran: list[Statement] = []

    def note(execute: Callable[..., Any], text: str, given: Any, many: Any, context: Any) -> Any:
        ran.append((text, list(given or ())))
        return execute(text, given, many, context)

    connection.ensure_connection()
    with connection.execute_wrapper(note):
        answer = respond.respond(_request(name, token))
    text = wires.said(answer.body) if isinstance(answer, Complete) else None
    if text is None:
        raise RuntimeError(f"the call that is to be measured fails: {answer}")
    return ran, text


def _request(name: str, token: str) -> HttpRequest:
    request = wires.call(wires.MODERN, name, EVERY[name], token)
    headers = {**request.headers, "Host": HOST}
    return HttpRequest(
        method="POST",
        headers=tuple((name.lower(), value) for name, value in headers.items()),
        query="",
        body=request.body,
        address=ADDRESS,
        request_id=ids.uuid7().hex,
        surface=WORKSPACE_SURFACE,
    )


def _known(who: Principal, token: str) -> Mapping[str, str]:
    """The meaning of a value of a statement, by its text."""
    named = {
        "organization": who.organization_id,
        "authorization": who.authorization_id,
        "user": who.user_id,
        "token_id": who.token_id,
    }
    forms = {str(form): name for name, key in named.items() for form in (key, key.hex)}
    return {**forms, ids.sha256_hex(token): "token"}


def _described(statement: Statement, known: Mapping[str, str]) -> Described:
    """A statement, the columns it reads or writes, and what each of its values is."""
    text, given = statement
    listed = COLUMNS.search(text) or INSERTED.search(text)
    if listed is None:
        raise RuntimeError(f"neither a SELECT nor an INSERT: {text}")
    return {
        "text": text.strip(),
        "columns": [column.strip() for column in listed[1].split(",")],
        "values": [_value(value, known) for value in given],
    }


def _value(value: Any, known: Mapping[str, str]) -> Mapping[str, Any]:
    if isinstance(value, str) and MOMENT.fullmatch(value):
        value = datetime.fromisoformat(value).replace(tzinfo=UTC)
    if isinstance(value, datetime):
        seconds = (datetime.now(UTC) - value).total_seconds()
        return {"is": "now"} if seconds < NOW_SECONDS else {"is": "ago", "value": round(seconds)}
    text = str(value)
    if text in known:
        return {"is": known[text]}
    plain = isinstance(value, str | int | list | None) and not isinstance(value, uuid.UUID)
    return {"is": "constant", "value": value if plain else text}


def _limits(who: Principal) -> Mapping[str, Any]:
    """The script, and the buckets of a call; a peer writes the caller's own ids into their keys."""
    buckets = rates.buckets(who, WORKSPACE_SURFACE, "tools/call", ADDRESS)
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
