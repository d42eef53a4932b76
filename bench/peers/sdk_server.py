"""The official SDK's server: stateless, JSON instead of event streams, one tool.

Two factories for uvicorn: `empty` knows its token by heart and does nothing else, `equal` does the
work that our server does. Both as fast as the SDK's own interface lets them be: its low-level
server, no tracing, schemas checked by a compiled validator, the bearer ahead of its routing.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import jsonschema_rs
import mcp_types as types
import order
import orjson
from bearer import Application, Bearer, Verify, in_memory
from calls import Call, Refusal, Work
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

PATH: Final = "/api/mcp"
INVALID_PARAMS: Final = -32602
REFUSED: Final = -32002

Context: TypeAlias = ServerRequestContext[Any, Any]
Parameters: TypeAlias = types.CallToolRequestParams
Answer: TypeAlias = Callable[[Context, Parameters], Awaitable[types.CallToolResult]]


class Greeting:
    """The one tool."""

    def __init__(self, work: Mapping[str, Any]) -> None:
        self.name: str = work["tool"]
        self.schema: Mapping[str, Any] = work["schema"]
        self._is_valid = jsonschema_rs.validator_for(dict(self.schema)).is_valid

    async def answer(self, _context: Context, parameters: Parameters) -> types.CallToolResult:
        arguments = parameters.arguments or {}
        if parameters.name != self.name:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {parameters.name}")
        if not self._is_valid(arguments):
            raise MCPError(INVALID_PARAMS, "Invalid arguments.")
        facts = {"greeting": f"Hello, {arguments['name']}."}
        text = orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode()
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def listed(self, _context: Context, _parameters: Any) -> types.ListToolsResult:
        tool = types.Tool(name=self.name, input_schema=dict(self.schema))
        return types.ListToolsResult(tools=[tool])


class Guarded:
    """The tool behind everything that our server does with a call."""

    def __init__(self, greeting: Greeting, work: Work) -> None:
        self._greeting, self._work = greeting, work

    async def answer(self, context: Context, parameters: Parameters) -> types.CallToolResult:
        clock = time.perf_counter()
        call = _call(context, parameters)
        try:
            await self._work.charge(call)
            await self._work.admit(call)
            result = await self._greeting.answer(context, parameters)
        except Refusal as refusal:
            await self._work.record(call, clock, refusal)
            data = {"reason": refusal.reason, "layer": refusal.layer}
            raise MCPError(REFUSED, refusal.message, data) from refusal
        await self._work.record(call, clock)
        return result


def empty() -> Application:
    told = order.read()
    greeting = Greeting(told.work)
    return _application(greeting, greeting.answer, in_memory(told.token))


def equal() -> Application:
    told = order.read()
    greeting, work = Greeting(told.work), Work(told)

    @asynccontextmanager
    async def lasting(_server: Server[None]) -> AsyncIterator[None]:
        await work.open()
        yield
        await work.close()

    guarded = Guarded(greeting, work)
    return _application(greeting, guarded.answer, work.authenticate, lifespan=lasting)


def _application(greeting: Greeting, answer: Answer, verify: Verify, **more: Any) -> Application:
    server: Server[Any] = Server(
        "bench",
        version="1.0",
        on_call_tool=answer,
        on_list_tools=greeting.listed,
        # Else its tools/list is asked with every call of the newer wire.
        get_tool_input_schema={greeting.name: greeting.schema}.get,
        **more,
    )
    server.middleware.clear()  # spans that nobody collects
    lives = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True
    )
    return Bearer(verify, lives=lives, serves=server.session_manager.asgi_app)


def _call(context: Context, parameters: Parameters) -> Call:
    assert context.request is not None  # noqa: S101  over HTTP there is one
    scope = context.request.scope
    return Call(
        caller=scope["caller"],
        tool=parameters.name,
        arguments=parameters.arguments or {},
        revision=context.protocol_version,
        address=scope["client"][0],
    )
