"""The official SDK's server: stateless, JSON instead of event streams.

Two factories for uvicorn: `empty` knows its token and its answers by heart and does nothing else,
`equal` does the work that our server does, in threads as ours. Both as fast as the SDK's own
interface lets them be: its low-level server, no tracing, schemas checked by a compiled validator,
the bearer ahead of its routing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeAlias

import databases
import jsonschema_rs
import limits
import mcp_types as types
import order
import orjson
from bearer import Application, Bearer, Verify, in_memory
from calls import Authentication, Call, Caller, Refusal, Work
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from order import Order, ToolOrder

PATH: Final = "/api/mcp"
INVALID_PARAMS: Final = -32602
REFUSED: Final = -32002
# As many as the server under test has for its calls, each with a database connection.
THREADS: Final = 4

Context: TypeAlias = ServerRequestContext[Any, Any]
Parameters: TypeAlias = types.CallToolRequestParams
# The JSON value of a tool.
Answer: TypeAlias = Callable[[Context, Parameters], Awaitable[Any]]


class Offered:
    """One tool with what answers a valid call of it."""

    def __init__(self, tool: ToolOrder, answer: Answer) -> None:
        self.schema = dict(tool.schema)
        self._is_valid = jsonschema_rs.validator_for(self.schema).is_valid
        self._answer, self._is_structured = answer, tool.is_structured

    async def call(self, context: Context, parameters: Parameters) -> types.CallToolResult:
        if not self._is_valid(parameters.arguments or {}):
            raise MCPError(INVALID_PARAMS, "Invalid arguments.")
        value = await self._answer(context, parameters)
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
        content = [types.TextContent(type="text", text=text)]
        structured = value if self._is_structured else None
        return types.CallToolResult(content=content, structured_content=structured)


def empty() -> Application:
    given = order.read()

    def answer(tool: ToolOrder) -> Answer:
        async def by_heart(_context: Context, _parameters: Parameters) -> Any:
            return tool.value

        return by_heart

    return _application(given, answer, in_memory(given.token))


def equal() -> Application:
    given = order.read()
    database, counted = databases.build(given.database), limits.build(given)
    threads = ThreadPoolExecutor(THREADS, "call")
    known = Authentication(given.tools()[0].authenticate, given.work["resource"], database)

    async def verify(token: str) -> Caller | None:
        return await asyncio.get_running_loop().run_in_executor(threads, known.caller, token)

    def answer(tool: ToolOrder) -> Answer:
        work = Work(tool, given, database, counted)

        async def in_a_thread(context: Context, parameters: Parameters) -> Any:
            call = _call(context, parameters)
            try:
                return await asyncio.get_running_loop().run_in_executor(threads, work.run, call)
            except Refusal as refusal:
                data = {"reason": refusal.reason, "layer": refusal.layer}
                raise MCPError(REFUSED, refusal.message, data) from refusal

        return in_a_thread

    return _application(given, answer, verify)


def _application(
    given: Order, answer: Callable[[ToolOrder], Answer], verify: Verify
) -> Application:
    tools = {tool.name: Offered(tool, answer(tool)) for tool in given.tools()}
    schemas = {name: tool.schema for name, tool in tools.items()}
    server: Server[Any] = Server(
        "bench",
        version="1.0",
        on_call_tool=partial(_called, tools),
        on_list_tools=partial(_listed, schemas),
        # Else its tools/list is asked with every call of the newer wire.
        get_tool_input_schema=schemas.get,
    )
    server.middleware.clear()  # spans that are not collected
    lives = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True
    )
    return Bearer(verify, lives=lives, serves=server.session_manager.asgi_app)


async def _called(
    tools: Mapping[str, Offered], context: Context, parameters: Parameters
) -> types.CallToolResult:
    tool = tools.get(parameters.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {parameters.name}")
    return await tool.call(context, parameters)


async def _listed(
    schemas: Mapping[str, Any], _context: Context, _parameters: Any
) -> types.ListToolsResult:
    tools = [types.Tool(name=name, input_schema=schema) for name, schema in schemas.items()]
    return types.ListToolsResult(tools=tools)


def _call(context: Context, parameters: Parameters) -> Call:
    assert context.request is not None  # noqa: S101  over HTTP there is one
    scope = context.request.scope
    return Call(
        caller=scope["caller"],
        arguments=parameters.arguments or {},
        revision=context.protocol_version,
        address=scope["client"][0],
    )
