"""The official SDK's server: stateless, JSON instead of event streams.

Two factories for uvicorn: `empty` has its token and its answers in memory and does nothing else,
`equal` does the work that our server does, in threads as ours. Both as fast as the SDK's own
interface lets them be: its low-level server, no tracing, schemas checked by a compiled validator,
the bearer token ahead of its routing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias

import jsonschema_rs
import mcp_types as types
import orjson
from bearer import Application, Bearer, Verify, in_memory
from equal_work import Authentication, Caller, Database, EqualWork, Limits, Refusal
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from bench import work
from bench.protocol import PATH
from bench.work import RecordedTool, Work

INVALID_PARAMS: Final = -32602
REFUSED: Final = -32002
# As many as the server under test has for its calls, each with a database connection.
THREADS: Final = 4

Context: TypeAlias = ServerRequestContext[Any, Any]
# The JSON value of a call with these arguments.
Answer: TypeAlias = Callable[[Context, dict[str, Any]], Awaitable[Any]]


def empty() -> Application:
    recorded = work.read()

    def build(tool: RecordedTool) -> Answer:
        async def answer(_context: Context, _arguments: dict[str, Any]) -> Any:
            return tool.value

        return answer

    return _application(recorded, build, in_memory(recorded.token))


def equal() -> Application:
    recorded = work.read()
    database, limits = Database(recorded), Limits(recorded)
    threads = ThreadPoolExecutor(THREADS, "call")
    known = Authentication(recorded, database)

    async def verify(token: str) -> Caller | None:
        return await asyncio.get_running_loop().run_in_executor(threads, known.find_caller, token)

    def build(tool: RecordedTool) -> Answer:
        equal_work = EqualWork(tool, recorded, database, limits)

        async def answer(context: Context, arguments: dict[str, Any]) -> Any:
            assert context.request is not None  # noqa: S101  over HTTP there is one
            scope = context.request.scope
            origin = {"revision": context.protocol_version, "address": scope["client"][0]}
            try:
                run = asyncio.get_running_loop().run_in_executor
                return await run(threads, equal_work.run, scope["caller"], arguments, origin)
            except Refusal as refusal:
                data = {"reason": refusal.reason, "layer": refusal.layer}
                raise MCPError(REFUSED, refusal.message, data) from refusal

        return answer

    return _application(recorded, build, verify)


def _application(
    recorded: Work, build: Callable[[RecordedTool], Answer], verify: Verify
) -> Application:
    calls = {name: _checked(tool, build(tool)) for name, tool in recorded.tools.items()}
    schemas = {name: dict(tool.schema) for name, tool in recorded.tools.items()}

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        if params.name not in calls:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await calls[params.name](context, params.arguments or {})

    async def list_tools(_context: Context, _params: Any) -> types.ListToolsResult:
        tools = [types.Tool(name=name, input_schema=schema) for name, schema in schemas.items()]
        return types.ListToolsResult(tools=tools)

    server: Server[Any] = Server(
        "bench",
        version="1.0",
        on_call_tool=call_tool,
        on_list_tools=list_tools,
        # Else it lists its tools with every call of the newer revision.
        get_tool_input_schema=schemas.get,
    )
    server.middleware.clear()  # spans that are not collected
    lifespan = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True
    )
    return Bearer(verify, lifespan=lifespan, requests=server.session_manager.asgi_app)


def _checked(tool: RecordedTool, answer: Answer) -> Answer:
    """A call with valid arguments, and its result. Raises MCPError."""
    is_valid = jsonschema_rs.validator_for(dict(tool.schema)).is_valid

    async def call(context: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        if not is_valid(arguments):
            raise MCPError(INVALID_PARAMS, "Invalid arguments.")
        value = await answer(context, arguments)
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)],
            structured_content=value if tool.is_structured else None,
        )

    return call
