"""Clients with open WebSockets, in a process of their own, controlled by lines of JSON.

{"act": "open", "url": ..., "tokens": [...]}   -> how many are open
{"act": "closed"}   -> when the first one was closed (monotonic), and with which code
"""

import asyncio
import json
import sys
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect

PROJECT: Final = "prj_" + "a" * 22
AT_ONCE: Final = 20
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


class Clients:
    """All open sockets, and the first of them that was closed."""

    def __init__(self) -> None:
        self._closed: asyncio.Future[tuple[float, int | None]] | None = None
        self._reading: list[asyncio.Task[None]] = []
        self._places = asyncio.Semaphore(AT_ONCE)

    async def open(self, url: str, tokens: list[str]) -> int:
        self._closed = asyncio.get_running_loop().create_future()
        await asyncio.gather(*(self._one(f"{url}&token={token}") for token in tokens))
        return len(self._reading)

    async def closed(self) -> tuple[float, int | None]:
        return await self._closed if self._closed is not None else (0.0, None)

    async def _one(self, url: str) -> None:
        async with self._places:
            socket = await connect(url, compression=None, open_timeout=60, max_queue=1)
            await socket.send(json.dumps(INITIALIZE))
            await socket.recv()
        self._reading.append(asyncio.create_task(self._read(socket)))

    async def _read(self, socket: ClientConnection) -> None:
        await socket.wait_closed()
        if self._closed is not None and not self._closed.done():
            self._closed.set_result((asyncio.get_running_loop().time(), socket.close_code))


async def main() -> None:
    clients, loop = Clients(), asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order: dict[str, Any] = json.loads(line)
        if order["act"] == "open":
            seen: object = await clients.open(order["url"], order["tokens"])
        else:
            seen = await clients.closed()
        sys.stdout.write(json.dumps(seen) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
