"""Clients that listen and one that calls, in a process of their own, controlled by lines of JSON.

{"act": "open", ...}   -> how many streams were acknowledged
{"act": "call", ...}   -> milliseconds of each tools/call, one after the other
{"act": "notified", ...}   -> seconds from now until the last stream was notified of a change
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

VERSION: Final = "2026-07-28"
ACKNOWLEDGED: Final = b"notifications/subscriptions/acknowledged"
CHANGED: Final = b"notifications/tools/list_changed"
TIMEOUT: Final = 60  # seconds
AT_ONCE: Final = 50
META: Final = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Line:
    """One connection to the server."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._token = parts.hostname, parts.port, token

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            self._host, self._port, limit=4096
        )

    async def post(self, method: str, name: str, params: Mapping[str, Any]) -> None:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        content = json.dumps(body).encode()
        named = f"Mcp-Name: {name}\r\n" if name else ""
        head = (
            f"POST /api/mcp HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {VERSION}\r\nMcp-Method: {method}\r\n{named}"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        self._writer.write(head.encode() + content)
        await self._writer.drain()

    async def read_until(self, mark: bytes) -> None:
        """Read past the line that holds a mark. Raises EOFError when the server ends first."""
        async with asyncio.timeout(TIMEOUT):
            while mark not in (line := await self._reader.readline()):
                if not line:
                    raise EOFError

    async def read_answer(self) -> None:
        """Read a whole answer that is no stream."""
        async with asyncio.timeout(TIMEOUT):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await self._reader.readexactly(length)
        if b'"isError":false' not in body:
            raise ValueError(body)

    def close(self) -> None:
        self._writer.close()


class Clients:
    """What one order after the other does."""

    def __init__(self) -> None:
        self._listening: list[Line] = []

    async def open(self, url: str, tokens: Sequence[str]) -> int:
        """A stream for each token, not too many at a time; returns how many listen now."""
        room = asyncio.Semaphore(AT_ONCE)

        async def listen(token: str) -> None:
            line = Line(url, token)
            async with room:
                await line.open()
                await line.post(
                    "subscriptions/listen", "", {"notifications": {"toolsListChanged": True}}
                )
                await line.read_until(ACKNOWLEDGED)
            self._listening.append(line)

        await asyncio.gather(*map(listen, tokens))
        return len(self._listening)

    async def call(self, url: str, token: str, count: int) -> list[float]:
        """So many calls on one connection; returns the milliseconds of each."""
        line = Line(url, token)
        await line.open()
        times = []
        params = {"name": "search_docs", "arguments": {"query": "rate limits"}}
        for _ in range(count):
            since = time.perf_counter()
            await line.post("tools/call", "search_docs", params)
            await line.read_answer()
            times.append((time.perf_counter() - since) * 1000)
        line.close()
        return times

    async def notified(self) -> float:
        """Seconds until every stream was notified of a change."""
        since = time.perf_counter()
        await asyncio.gather(*(line.read_until(CHANGED) for line in self._listening))
        return time.perf_counter() - since


async def obey() -> None:
    clients = Clients()
    loop = asyncio.get_running_loop()
    while order := await loop.run_in_executor(None, sys.stdin.readline):
        given = json.loads(order)
        seen = await getattr(clients, given.pop("act"))(**given)
        sys.stdout.write(json.dumps(seen) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(obey())
