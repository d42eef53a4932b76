"""Records what a call does around its tool and in it, from real calls in this process.

So the peer with equal work runs exactly the statements and the script of our calls.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

from django.conf import settings
from django.db import connection

from bench import protocol
from bench.stores import Store
from bench.work import RecordedTool, Statement, Work
from documentation.addresses import EXAMPLE
from foundation import ids
from foundation.limits import in_redis
from oauth import addresses, credentials
from oauth.principal import Principal
from tools_registry import registry
from tools_registry.endpoint import rates, respond
from tools_registry.endpoint.http import CompleteAnswer, HttpRequest
from tools_registry.endpoint.surface import WORKSPACE_SURFACE

ADDRESS: Final = "127.0.0.1"
COLUMNS: Final = re.compile(r"SELECT (.*?)\s+FROM|INSERT INTO \w+ \(([^)]*)\)", re.DOTALL)
# The tables by which the statements around a tool are recognized.
AUTHENTICATE: Final = "oauth_accesstoken"
GATE: Final = "tools_registry_integrationmode"
AUDIT: Final = "action_executions"


def record_calls(calls: Mapping[str, Mapping[str, Any]], token: str, store: Store) -> Work:
    """Make one call of each tool in this process and describe the work of it for a peer."""
    principal = credentials.authenticate(f"Bearer {token}", credentials.ACCESS_TOKEN_VERIFIERS)
    buckets = rates.buckets(principal, WORKSPACE_SURFACE, "tools/call", ADDRESS)
    limits = [(each.limit.count, each.limit.milliseconds, each.cost) for each in buckets]
    return Work(
        at=datetime.now(UTC),
        token=token,
        organization=str(principal.organization_id),
        database=store.url,
        redis=store.redis,
        script=in_redis.SCRIPT,
        key_prefix=in_redis.KEY_PREFIX,
        identities=[f"{each.limit}|{each.key}" for each in buckets],
        numbers=[number for numbers in limits for number in numbers],
        resource=addresses.resource(),
        public_url=settings.HALO_PUBLIC_URL,
        example_address=EXAMPLE.pattern,
        tools={name: _record(name, calls[name], token, principal) for name in calls},
    )


def make_request(body: bytes, headers: Mapping[str, str]) -> HttpRequest:
    """A request as an edge hands it to the endpoint."""
    named = {**headers, "Host": ADDRESS}
    lines = tuple((name.lower(), value) for name, value in named.items())
    request_id = ids.uuid7().hex
    return HttpRequest("POST", lines, "", body, ADDRESS, request_id, WORKSPACE_SURFACE)


def _record(
    name: str, arguments: Mapping[str, Any], token: str, principal: Principal
) -> RecordedTool:
    tool = registry.WORKSPACE_CATALOGUE.find(name, principal.organization_id)
    if tool is None:
        raise RuntimeError(f"there is no tool {name}")
    ran, text = _run(protocol.call_tool(protocol.MODERN, name, arguments, token))
    tables = [AUTHENTICATE, *([GATE] if tool.integration else [])]
    for table, statement in zip((*tables, AUDIT), [*ran[: len(tables)], ran[-1]], strict=True):
        if table not in statement.text:
            raise RuntimeError(f"{name}: not the statement of {table}: {statement.text}")
    kinds = ("*", f"{tool.integration}:*", f"{tool.integration}:{tool.action}")
    scopes = [f"actions:{kind}" for kind in kinds] if tool.integration else [tool.scope]
    return RecordedTool(
        name=name,
        schema=tool.input_schema,
        action=tool.action,
        scopes=frozenset(scopes),
        text=text,
        value=json.loads(text),
        is_structured=tool.output_schema is not None,
        authenticate=ran[0],
        gate=ran[1] if tool.integration else None,
        audit=ran[-1],
        own=ran[len(tables) : -1],
    )


def _run(request: protocol.Request) -> tuple[list[Statement], str]:
    """The statements of a call, and the text that it answers."""
    ran: list[Statement] = []

    def note(execute: Callable[..., Any], sql: str, values: Any, many: Any, context: Any) -> Any:
        ran.append(_describe(sql, values or ()))
        return execute(sql, values, many, context)

    connection.ensure_connection()
    with connection.execute_wrapper(note):
        response = respond.respond(make_request(request.body, request.headers))
    text = protocol.result_text(response.body) if isinstance(response, CompleteAnswer) else None
    if text is None:
        raise RuntimeError(f"the call that is to be measured fails: {response}")
    return ran, text


def _describe(sql: str, values: Sequence[Any]) -> Statement:
    """A statement with PostgreSQL's own marks ($1, $2), without enumerations of models."""
    listed = COLUMNS.search(sql)
    if listed is None:
        raise RuntimeError(f"neither a SELECT nor an INSERT: {sql}")
    columns = [column.strip().replace('"', "") for column in (listed[1] or listed[2]).split(",")]
    first, *rest = sql.strip().split("%s")
    text = first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))
    plain = [value.value if isinstance(value, Enum) else value for value in values]
    return Statement(text, {name: place for place, name in enumerate(columns)}, plain)
