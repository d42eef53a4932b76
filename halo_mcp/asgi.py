"""The application a server runs: /api/mcp ahead of Django, everything else through its WSGI side.

Django's ASGI handler costs about a millisecond a request and holds a thread per open stream
(docs/decisions/0003-serving.md), so it stands in front of nothing.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

from a2wsgi import WSGIMiddleware
from django.conf import settings

from halo_mcp import wsgi

django_application = wsgi.application

from halo_mcp import checks  # noqa: E402  apps first
from halo_mcp.whole_requests import WholeRequests  # noqa: E402  apps first
from tools_registry.asgi import McpApplication  # noqa: E402  apps first
from tools_registry.asgi_types import Receive, Scope, Send  # noqa: E402  apps first

MCP_PATH = "/api/mcp"


class Application:
    """Routes by path; speaks the lifespan protocol so that its threads end with the server."""

    def __init__(self, mcp: McpApplication) -> None:
        self._mcp = mcp
        django = WSGIMiddleware(
            django_application,  # type: ignore[arg-type]  # the stubs call its iterable a response
            workers=settings.HALO_CORE_THREADS,
        )
        self._django = WholeRequests(
            django,  # type: ignore[arg-type]  # its own names for the same types
            most=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http" if scope["path"] == MCP_PATH:
                await self._mcp(scope, receive, send)
            case "http":
                await self._django(scope, receive, send)
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                # Nothing is served here yet; a refusal before accept is a 403 (ASGI websocket).
                await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        # A server that is started by itself would serve what `./run` refuses to.
        if problems := await asyncio.to_thread(checks.problems):
            await receive()
            await send({"type": "lifespan.startup.failed", "message": "\n".join(problems)})
            return
        while (await receive())["type"] != "lifespan.shutdown":
            self._hear_endings()
            await send({"type": "lifespan.startup.complete"})
        self._mcp.close()
        await send({"type": "lifespan.shutdown.complete"})

    def _hear_endings(self) -> None:
        """Have what is open end as soon as the process is told to.

        The server says so to an application only once every answer is complete, which streams would
        never be.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for ending in (signal.SIGINT, signal.SIGTERM):
            _hear_as_well(ending, partial(loop.call_soon_threadsafe, self._end))

    def _end(self) -> None:
        self._mcp.end()
        self._django.end()


def _hear_as_well(ending: signal.Signals, act: Callable[[], object]) -> None:
    before = signal.getsignal(ending)
    if not callable(before):
        return  # nobody waits for answers then: the signal ends the process by itself

    def heard(number: int, frame: FrameType | None) -> None:
        act()
        before(number, frame)

    signal.signal(ending, heard)


application = Application(McpApplication())
