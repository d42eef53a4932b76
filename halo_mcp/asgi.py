"""The ASGI application that a server runs: MCP surfaces, and Django's WSGI handler for the rest.

Django's ASGI handler is not used: it costs about a millisecond a request and holds a thread for
each open stream (docs/decisions/0003-serving.md).
"""

import asyncio
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Final

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

from django.conf import settings
from django.db import connections

from foundation.asgi import Receive, Scope, Send
from halo_mcp import wsgi

django_application = wsgi.application

from agents.edge import AgentApplication  # noqa: E402  apps first
from console import outages  # noqa: E402  apps first
from foundation import journal, queueing  # noqa: E402  apps first
from foundation.concurrency import job_threads  # noqa: E402  apps first
from halo_mcp import checks, mounts  # noqa: E402  apps first
from halo_mcp.mounts import SURFACES, Mounts  # noqa: E402  apps first
from halo_mcp.server import health  # noqa: E402  apps first
from halo_mcp.server.page_pools import POOLS  # noqa: E402  apps first
from halo_mcp.server.wsgi_bridge import WsgiBridge  # noqa: E402  apps first
from tools_registry.endpoint.asgi import McpApplication  # noqa: E402  apps first
from tools_registry.endpoint.websocket.open_sockets import OpenSockets  # noqa: E402  apps first
from tools_registry.pipeline import changes_in_flight  # noqa: E402  apps first

# What pages have started may end before the server does, as requests may (`launch.py`).
JOB_SECONDS: Final = 10.0
BODY_SECONDS: Final = 30.0


class Application:
    """Routes by host and path.

    It speaks the lifespan protocol so that its threads end with the server. `body_seconds` is for
    the bodies that Django reads.
    """

    def __init__(
        self, mcp: McpApplication, mounted: Mounts = SURFACES, body_seconds: float = BODY_SECONDS
    ) -> None:
        self._mcp = mcp
        self._sockets = OpenSockets(mcp, mounts.find_for_socket)
        self._mounted = mounted
        self._agents = AgentApplication()
        self._ended_at: float | None = None
        self._probes = health.Probes()
        self._django = WsgiBridge(
            django_application,
            threads=settings.HALO_CORE_THREADS,
            apart=POOLS,
            max_body=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
            seconds=body_seconds,
            uploads=settings.HALO_UPLOADS,
            overloaded=outages.answer_program,
            cross_origin=re.compile(settings.CORS_URLS_REGEX),
            session_cookie=settings.SESSION_COOKIE_NAME,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http" if scope["path"] in health.PATHS:
                await self._probes(scope, send)
            case "http":
                # Whether this host may be used at all is checked later.
                host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
                surface = mounts.find(self._mounted, host, scope["path"])
                if surface is not None:
                    await self._mcp(scope, receive, send, surface)
                elif (below := mounts.agents_subpath(host, scope["path"])) is not None:
                    await self._agents(scope, receive, send, below)
                else:
                    await self._django(scope, receive, send)
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                await self._sockets(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        # A server that is started without `./run` runs these checks too.
        if problems := await asyncio.to_thread(_find_problems):
            await receive()
            await send({"type": "lifespan.startup.failed", "message": "\n".join(problems)})
            return
        # What an earlier process could not store (`foundation/journal.py`).
        await asyncio.to_thread(journal.replay)
        while (await receive())["type"] != "lifespan.shutdown":
            self._handle_stop_signals()
            await send({"type": "lifespan.startup.complete"})
        self._mcp.close()
        self._agents.close()
        self._django.close()
        self._probes.close()
        for wait, seconds in (
            (changes_in_flight.wait_until_idle, settings.HALO_STOP_SECONDS),
            (job_threads.wait_until_idle, JOB_SECONDS),
        ):
            await asyncio.to_thread(wait, self._remaining(seconds))
        await asyncio.to_thread(queueing.wait_until_published, queueing.LAST_SECONDS)
        await send({"type": "lifespan.shutdown.complete"})

    def _handle_stop_signals(self) -> None:
        """Ends open streams as soon as the process receives a stop signal.

        The server notifies an application only once every response is complete, which streams never
        are.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for ending in (signal.SIGINT, signal.SIGTERM):
            _handle_too(ending, partial(loop.call_soon_threadsafe, self._end))

    def _remaining(self, seconds: float) -> float:
        """What is left of so many seconds since the stop signal, and at least one."""
        passed = 0.0 if self._ended_at is None else time.monotonic() - self._ended_at
        return max(seconds - passed, 1.0)

    def _end(self) -> None:
        if self._ended_at is None:
            self._ended_at = time.monotonic()
        self._sockets.end()
        self._mcp.end()
        self._agents.end()
        self._django.end()


def _find_problems() -> list[str]:
    try:
        return checks.problems()
    finally:
        # The thread may not run again.
        connections.close_all()


def _handle_too(ending: signal.Signals, action: Callable[[], object]) -> None:
    before = signal.getsignal(ending)
    if not callable(before):
        return  # no event loop then: the signal ends the process

    def handle(number: int, frame: FrameType | None) -> None:
        action()
        before(number, frame)

    signal.signal(ending, handle)


application = Application(McpApplication())
